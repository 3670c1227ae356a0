"""fastText's module ``fasttext.FastText``: its functions, and ``_FastText``, the class of their models."""

from __future__ import annotations

import os
from typing import Any

from wordvec_ca.fasttext import low_level as fasttext
from wordvec_ca.fasttext.autotune import tuned_classifier
from wordvec_ca.fasttext.dictionary import BOW, EOS, EOW, tokenize
from wordvec_ca.fasttext.settings import SHOWN, SUPERVISED, UNSUPERVISED, settings
from wordvec_ca.fasttext.text_model import TextMeter, TextModel
from wordvec_ca.fasttext.training import train_classifier
from wordvec_ca.fasttext.word_vectors import train_word_vectors

__all__ = [
    "BOW",
    "EOS",
    "EOW",
    "eprint",
    "load_model",
    "tokenize",
    "train_supervised",
    "train_unsupervised",
]

_FastText, _Meter = TextModel, TextMeter
loss_name, model_name = fasttext.loss_name, fasttext.model_name


def eprint(*args: Any, **kwargs: Any) -> None:
    """Do nothing: programs replace this function to silence a warning of fastText, which this package does
    not give.
    """


def load_model(path: str | os.PathLike[str]) -> TextModel:
    """Read a ``.bin`` or ``.ftz`` of fastText, of any kind.

    Raises
    ------
    DataError
        The file is not a model of fastText, or is damaged: a ValueError.
    """
    return TextModel(model_path=path)


def train_supervised(*args: Any, **kwargs: Any) -> TextModel:
    """Train a classifier on a file of lines, each with one or more labels.

    Parameters
    ----------
    *args, **kwargs
        ``input``, the file, and fastText's options, in its order: ``settings.SUPERVISED`` has them and their
        defaults. With ``autotuneValidationFile`` options that are not given are chosen: see ``autotune``.

    Raises
    ------
    TypeError, ValueError
        An option is unknown or has a value that is not allowed.
    DataError
        The file cannot be used: a ValueError.
    """
    options, given = settings(args, kwargs, SUPERVISED)
    if options["autotuneValidationFile"]:
        model, options = tuned_classifier(options, given)
    else:
        model = train_classifier(options)
    return TextModel(args={name: options[name] for name in SHOWN}, model=model)


def train_unsupervised(*args: Any, **kwargs: Any) -> TextModel:
    """Train word vectors on a file, with the trainer of wordvec_ca.

    Parameters
    ----------
    *args, **kwargs
        ``input``, the file, and fastText's options, in its order: see ``settings.UNSUPERVISED``.

    Raises
    ------
    TypeError, ValueError
        An option is unknown or has a value that is not allowed.
    DataError
        The file cannot be used: a ValueError.
    """
    options, _ = settings(args, kwargs, UNSUPERVISED)
    return TextModel(args={name: options[name] for name in SHOWN}, model=train_word_vectors(options))
