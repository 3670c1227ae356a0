"""Word vectors under fastText's names, trained by the trainer of wordvec_ca."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import Dictionary
from wordvec_ca.fasttext.labelled_text import encoded
from wordvec_ca.fasttext.model import Model
from wordvec_ca.kernels import LINE_END, LOSSES
from wordvec_ca.model_specs import SPECS
from wordvec_ca.models import NS_EXPONENT, EmbeddingModel, ResolvedConfig, TrainConfig
from wordvec_ca.training import Trainer
from wordvec_ca.vectors import FastTextOptions

ABSENT = -2


def train_word_vectors(options: dict[str, Any]) -> Model:
    """Train skip-gram or CBOW vectors with n-grams of characters.

    Parameters
    ----------
    options : dict
        fastText's: see ``settings``.

    Raises
    ------
    ValueError
        The model or the loss is not one that can be trained.
    DataError
        The text cannot be read, or has no word of ``minCount``.
    """
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
        raise DataError("Empty vocabulary: no word occurs as often as minCount says; give a smaller minCount")
    words = [types.words()[i] for i in kept.tolist()]
    engine = _engine(options, words, counts[kept])
    Trainer(engine, _renumbered(types, tokens, kept)).run([])
    stored = FastTextOptions(
        model=spec.fasttext_number or 0,
        loss=LOSSES[options["loss"]],
        **{
            name: options[name]
            for name in FastTextOptions._fields
            if name in options and name not in ("loss", "model")
        },
    )
    inputs, places = _rows(engine, options)
    dictionary = Dictionary(stored, words, counts[kept], len(words), places=places)
    outputs = (
        engine.outputs[:, : options["dim"]]
        if options["loss"] == "ns"
        else np.zeros_like(inputs[: len(words)])
    )
    return Model(dictionary, inputs, np.ascontiguousarray(outputs), len(tokens))


def _engine(options: dict[str, Any], words: list[bytes], counts: np.ndarray) -> EmbeddingModel:
    """Return the parameters with which training begins."""
    ngrams = options["maxn"] > 0 and options["bucket"] > 0
    subwords: dict[str, Any] = (
        {"min_n": max(1, options["minn"]), "max_n": options["maxn"], "buckets": options["bucket"]}
        if ngrams
        else {}
    )
    config = TrainConfig(
        model=options["model"],
        vector_size=options["dim"],
        window=options["ws"],
        negative=options["neg"] if options["loss"] == "ns" else 0,
        hs=options["loss"] == "hs",
        ns_exponent=NS_EXPONENT,
        sample=min(options["t"], 1.0),
        alpha=options["lr"],
        epochs=options["epoch"],
        workers=options["thread"],
        seed=options["seed"],
        min_count=1,
        tokenizer="whitespace",
        lowercase=False,
        subwords=ngrams,
        **subwords,
    )
    names = [word.decode("utf-8", "surrogateescape") for word in words]
    engine = EmbeddingModel(ResolvedConfig.of(config), Vocab.as_given(names, counts))
    engine.initialise()
    return engine


def _renumbered(types: Any, tokens: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the tokens as words of the vocabulary, with an end behind each line."""
    numbers = np.full(len(types), ABSENT, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    found = numbers[tokens]
    ends = np.flatnonzero(tokens == types.find(b"</s>")) + 1
    found = np.insert(found, ends, LINE_END)
    found = found[found != ABSENT]
    return np.ascontiguousarray(np.append(found, LINE_END), np.int32)


def _rows(engine: EmbeddingModel, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows of words and of the buckets in use, and which bucket has which."""
    dim, n_words = options["dim"], len(engine.vocab)
    if engine.subwords is None:
        return np.ascontiguousarray(engine.inputs[:, :dim]), None
    index = engine.subwords.index
    assert index.keys is not None
    rows = engine.subwords.rows[:, :dim]
    places = np.full(options["bucket"], -1, np.int32)
    places[index.keys.astype(np.int64)] = np.arange(len(index.keys))
    return np.concatenate([rows[:n_words], rows[index.rows]]), places
