"""Word vectors under fastText's names, trained by the trainer of wordvec_ca."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import Dictionary
from wordvec_ca.fasttext.labelled_text import encoded
from wordvec_ca.fasttext.model import Model
from wordvec_ca.fasttext.settings import stored_options
from wordvec_ca.fasttext.unsupervised import train_fasttext_model
from wordvec_ca.kernels import LINE_END
from wordvec_ca.specs.models import SPECS

ABSENT = -2


def train_word_vectors(options: dict[str, Any]) -> Model:
    """Train skip-gram or CBOW vectors with n-grams of characters."""
    spec = next((s for s in SPECS if s.name == options["model"] and s.fasttext_number is not None), None)
    if spec is None:
        raise ValueError(f"model is {options['model']!r}: Unrecognized model name")
    if options["loss"] not in ("ns", "hs"):
        raise ValueError(f"loss is {options['loss']!r}; word vectors are trained with ns or hs")
    if options["pretrainedVectors"]:
        raise ValueError(
            "pretrainedVectors is for classifiers: go on from vectors with cawv train --continue-from"
        )
    types, tokens = encoded(options["input"])
    counts, labels = types.counts(), types.begin_with(options["label"].encode())
    kept = np.flatnonzero((counts >= max(1, options["minCount"])) & ~labels)
    kept = kept[np.argsort(-counts[kept], kind="stable")]
    if not len(kept):
        raise DataError("Empty vocabulary: the file has no word that occurs as often as minCount says")
    stored = stored_options(options, spec.fasttext_number or 0)
    words = types.words()  # a list of all types: made once, since each call decodes every one of them
    found = train_fasttext_model(
        stored,
        [words[i] for i in kept.tolist()],
        counts[kept],
        _renumbered(types, tokens, kept),
        n_tokens=len(tokens),
        alpha=options["lr"],
        workers=options["thread"],
        seed=options["seed"],
        progress=options["verbose"] > 1,
    )
    dictionary = Dictionary(stored, found.words, found.counts, len(found.words), places=found.places)
    return Model(dictionary, found.inputs, found.outputs, len(tokens))


def _renumbered(types: Any, tokens: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the tokens as numbers of words of the vocabulary, with ``LINE_END`` after each line."""
    numbers = np.full(len(types), ABSENT, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    found = numbers[tokens]
    ends = np.flatnonzero(tokens == types.find(b"</s>")) + 1
    found = np.insert(found, ends, LINE_END)
    found = found[found != ABSENT]
    return np.ascontiguousarray(np.append(found, LINE_END), np.int32)
