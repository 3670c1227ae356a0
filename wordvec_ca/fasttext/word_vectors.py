"""Word vectors under fastText's names, from its options to a fastText model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import Dictionary, encoded
from wordvec_ca.fasttext.model import Model
from wordvec_ca.fasttext.settings import stored_options
from wordvec_ca.kernels import LINE_END
from wordvec_ca.models import EmbeddingModel, ResolvedConfig
from wordvec_ca.runs import config_of_fasttext, progress_display, style_for_python
from wordvec_ca.specs.models import SPECS
from wordvec_ca.training import Trainer

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
    config = replace(
        config_of_fasttext(stored),
        cbow_update="word2vec",  # fastText's rates, such as 0.05, are for this step
        alpha=options["lr"],
        epochs=stored.epoch,
        workers=options["thread"],
        seed=options["seed"],
        min_count=1,
    )
    chosen, counts = [words[i] for i in kept.tolist()], counts[kept]
    names = [word.decode("utf-8", "surrogateescape") for word in chosen]
    model = EmbeddingModel(ResolvedConfig.of(config), Vocab.as_given(names, counts))
    model.initialise()
    with progress_display(style_for_python() if options["verbose"] > 1 else "none") as (displays, _):
        Trainer(model, _renumbered(types, tokens, kept)).run(displays)
    inputs, places = model.inputs[:, : stored.dim], None
    if model.subwords is not None:
        index = model.subwords.index
        assert index.keys is not None
        rows = model.subwords.rows[:, : stored.dim]
        inputs = np.concatenate([rows[: len(chosen)], rows[index.rows]])
        places = np.full(stored.bucket, -1, np.int32)
        places[index.keys.astype(np.int64)] = np.arange(len(index.keys))
    outputs = np.zeros_like(inputs[: len(chosen)]) if config.hs else model.outputs[:, : stored.dim]
    dictionary = Dictionary(stored, chosen, counts, len(chosen), places=places)
    return Model(dictionary, np.ascontiguousarray(inputs), np.ascontiguousarray(outputs), len(tokens))


def _renumbered(types: Any, tokens: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the tokens as numbers of words of the vocabulary, with ``LINE_END`` after each line."""
    numbers = np.full(len(types), ABSENT, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    found = numbers[tokens]
    ends = np.flatnonzero(tokens == types.find(b"</s>")) + 1
    found = np.insert(found, ends, LINE_END)
    found = found[found != ABSENT]
    return np.ascontiguousarray(np.append(found, LINE_END), np.int32)
