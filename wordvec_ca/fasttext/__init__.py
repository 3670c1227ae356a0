"""fastText's Python module, maintained: write ``import wordvec_ca.fasttext as fasttext``; no other line of a
program changes.

Input: a ``.bin`` or ``.ftz`` of fastText, or text to train on. Output: models with the names, arguments
and results of fastText's Python module 0.9, and files that fastText reads. It works with numpy 1 and 2.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.fasttext import FastText, util
from wordvec_ca.fasttext.dictionary import BOW, EOS, EOW
from wordvec_ca.fasttext.FastText import load_model, tokenize, train_supervised, train_unsupervised
