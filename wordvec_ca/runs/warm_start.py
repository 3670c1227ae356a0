"""Runs that begin with a model, a directory or a ``.bin`` of fastText, or with vectors from a file."""

from __future__ import annotations

import dataclasses
import os
import warnings
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.corpus import Corpus, ReadingProgress, Source, Vocab, count_corpus
from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.files import parse_words
from wordvec_ca.formats import (
    FastTextModel,
    FastTextOptions,
    detect_format,
    read_trainable_fasttext,
    training_options,
)
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, TrainConfig, read_config, read_record
from wordvec_ca.runs.texts import EARLIER, texts_of_runs
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.options import INHERITED, OPTIONS
from wordvec_ca.text import trusted_tokenizer
from wordvec_ca.training import LARGEST
from wordvec_ca.vectors import KeyedVectors

END_OF_LINE = b"</s>"


def former_config(path: str | os.PathLike[str]) -> ResolvedConfig:
    """Return the options with which a model was trained."""
    if _is_fasttext(path):
        return ResolvedConfig.of(config_of_fasttext(read_trainable_fasttext(path).options))
    return read_config(Path(path))


def former_vocab(path: str | os.PathLike[str]) -> Vocab:
    """Return the words of a model; of a ``.bin`` without ``</s>``, which does not occur in our texts."""
    if _is_fasttext(path):
        return _vocab_of_fasttext(read_trainable_fasttext(path), path)[0]
    record = read_record(Path(path))
    return Vocab.load_all(Path(path), record.get("raw_tokens", 0), record.get("raw_types", 0))


def former_model(path: str | os.PathLike[str]) -> EmbeddingModel:
    """Return a model with its parameters."""
    # The conversion of a ``.bin`` does not change the vectors of its words. N-grams that occur in the same
    # words get one row, the mean of their rows: fastText gave them the same steps, so they differ only in
    # their initial values. Buckets that no word uses, which still have random initial values, are left out.
    if not _is_fasttext(path):
        return EmbeddingModel.load(path)
    found = read_trainable_fasttext(path)
    vocab, rows = _vocab_of_fasttext(found, path)
    model = EmbeddingModel(config_of_fasttext(found.options), vocab)
    size = found.options.dim
    model.outputs[:, :size] = found.outputs[rows]
    if model.subwords is None:
        model.inputs[:, :size] = found.inputs[rows]
    else:
        keys = model.subwords.index.keys
        assert keys is not None
        of_buckets = np.asarray(found.inputs[found.n_words + keys.astype(np.int64)])
        words = np.arange(len(vocab))
        model.subwords.begin_with(words, np.asarray(found.inputs[rows]), np.arange(len(keys)), of_buckets)
        model.compose()
    return model


def config_of_fasttext(options: FastTextOptions) -> TrainConfig:
    """Convert fastText's options for word vectors to those of this package."""
    try:
        return TrainConfig(**training_options(options))
    except ValueError as error:
        raise DataError(f"the options of this fastText model cannot be used: {error}") from error


def _is_fasttext(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a fastText model, which is a file and not a folder."""
    return Path(path).is_file()


def _vocab_of_fasttext(found: FastTextModel, path: str | os.PathLike[str]) -> tuple[Vocab, np.ndarray]:
    """Return the words of a ``.bin``, the most frequent first, and their rows in the file."""
    rows = np.array([i for i in range(found.n_words) if found.words[i] != END_OF_LINE], np.int64)
    rows = rows[np.argsort(-found.counts[rows], kind="stable")]
    try:
        words = [found.words[row].decode("utf-8") for row in rows.tolist()]
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)!r} holds words that are not UTF-8: {error}") from error
    return Vocab(words, np.maximum(found.counts[rows], 1), raw_tokens=max(0, found.n_tokens)), rows


def continued_config(directory: str | os.PathLike[str], changes: Mapping[str, Any]) -> ResolvedConfig:
    """Return the configuration with which a model is trained further: its own, with some changes."""
    # Attention has no warm-up unless the changes set one. Options that belong to one corpus or machine
    # (``field``, ``count_memory``, ``workers``; see `remembered_fields`) or to one run (``resamples``,
    # ``anchored``) are not inherited. Learning rates are not inherited if ``cbow_update`` or ``cbow_mean``
    # changes, nor is ``shared_by`` if the model or ``negatives`` changes.
    former = former_config(directory)

    def changed(name: str) -> bool:
        return changes.get(name, getattr(former, name)) != getattr(former, name)

    renewed: dict[str, Any] = {}
    for name in TrainConfig.__dataclass_fields__:
        spec = OPTIONS[name]
        if spec.continued is not INHERITED:
            renewed[name] = spec.continued
        elif any(map(changed, spec.renewed_by)):
            renewed[name] = spec.default
    trusted_tokenizer(former.tokenizer, changes.get("tokenizer"), repr(os.fspath(directory)))
    config = TrainConfig.from_dict({**former.as_dict(), **renewed, **changes})
    resolved = ResolvedConfig.of(config)
    _check_same_shape(former, resolved, directory)
    return resolved


def _check_same_shape(
    former: ResolvedConfig, config: ResolvedConfig, directory: str | os.PathLike[str]
) -> None:
    applies = {
        "": False,
        "always": True,
        "places": former.spec.knows_places,
        "n-grams": former.subwords or config.subwords,
    }
    for name, spec in OPTIONS.items():
        if not applies[spec.shapes] or former.model not in spec.models:
            continue
        if getattr(former, name) != getattr(config, name):
            raise DataError(
                Option(name),
                f" is {getattr(former, name)!r} in {os.fspath(directory)!r}, but "
                f"{getattr(config, name)!r} was given: a model is trained further with the same; "
                "leave it out, or train a new model",
            )


def expanded_vocab(
    corpus: Corpus,
    config: TrainConfig,
    directory: str | os.PathLike[str],
    *,
    progress: ReadingProgress | None = None,
) -> Vocab:
    """Return the words of a model and of a new corpus, with their counts added up."""
    # All words of the model stay. Words that occur ``min_count`` times in the new corpus and the earlier
    # ones together are added; with ``max_final_vocab``, only the most frequent of them, up to that size of
    # the vocabulary. If the model was trained on this same corpus, the corpus is not counted again, and the
    # vocabulary stays the same.
    Source.check_repeatable(corpus, "a model is continued by reading the text twice, first for its words")
    every_word = dataclasses.replace(config.text_options(), min_count=1, max_final_vocab=None)
    found, _ = count_corpus(corpus, every_word, progress=progress)
    return joint_vocab(directory, found, config)


def joint_vocab(directory: str | os.PathLike[str], found: Vocab, config: TrainConfig) -> Vocab:
    """Return the words of a model and those found in a new corpus, as ``expanded_vocab`` does."""
    known = former_vocab(directory)
    rows = [found.index.get(word, -1) for word in known.words]
    here = np.append(found.counts, 0)[rows]
    if found.raw_tokens == known.raw_tokens and np.array_equal(here, known.counts):
        return known
    # A word that each day's text has once or twice gets in on the day on which its occurrences are enough.
    times = dict(zip(*parse_words(known.rare, ModelFile.RARE, foreign=False), strict=True))
    for word, n in zip(found.words, found.counts.tolist(), strict=True):
        if word not in known:
            times[word] = times.get(word, 0) + n
    others = Vocab.from_counts(times)
    n_new = int(np.searchsorted(-others.counts, -config.min_count, side="right"))
    if config.max_final_vocab is not None:
        n_new = min(n_new, max(0, config.max_final_vocab - len(known)))  # the most frequent words come first
    joint = Vocab(
        known.words + others.words[:n_new],
        np.concatenate([known.counts + here, others.counts[:n_new]]),
        raw_tokens=known.raw_tokens + found.raw_tokens,
        raw_types=max(known.raw_types, len(known) + len(others)),
    )
    joint.keep_rare(others.words[n_new:], others.counts[n_new:])
    return joint


def begin_from_model(model: EmbeddingModel, directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Copy the parameters of a saved model, word by word; words that it lacks keep their parameters."""
    former = former_model(directory)
    _check_same_shape(former.config, model.config, directory)
    here, there = _shared(model.vocab, former.vocab.index)
    for array, from_array in zip(model.shared[:3], former.shared[:3], strict=True):
        if len(array) == len(model.vocab) and len(from_array) == len(former.vocab):
            array[here] = from_array[there]
    if model.config.spec.attends:
        model.slot_logits[:] = former.slot_logits
    if model.documents is not None and former.documents is not None:
        model.documents.begin_with(former.documents)
    tree: dict[str, int] = {}
    if model.nodes is not None and former.nodes is not None:
        if len(here) < len(former.vocab):
            raise DataError(f"the words of {os.fspath(directory)!r} have changed since they were read")
        kept = model.join(former)
        tree = {"nodes_kept": kept, "nodes_new": len(model.vocab) - 1 - kept}
    if model.subwords is not None and former.subwords is not None:
        index, known = model.subwords.index, former.subwords.index
        ngrams, rows = index.shared_with(known)
        size = model.config.vector_size
        taken = former.subwords.rows[:, :size]
        model.subwords.begin_with(here, taken[there], ngrams, taken[rows])
        model.compose()
    return {
        "continued_from": os.path.abspath(directory),
        "words_kept": len(here),
        "words_new": len(model.vocab) - len(here),
        "words_rare": model.vocab.rare.count(b"\n"),
        BASE: _checksum(former),
        EARLIER: texts_of_runs(former.record),
        **tree,
    }


# Key, in the record, of the checksum of the model with which a run began. The model may be replaced by the
# run's own output, so its name does not tell which it was.
BASE = "base_crc32"


def _checksum(model: EmbeddingModel) -> int:
    """Return a checksum of the trained rows; with n-grams those of n-grams, since sums of them may differ in
    the last bit between processors.
    """
    rows = model.inputs if model.subwords is None else model.subwords.rows
    return zlib.crc32(np.ascontiguousarray(model.outputs).data, zlib.crc32(np.ascontiguousarray(rows).data))


def check_base(path: str | os.PathLike[str], checksum: int) -> None:
    """Raise a DataError if a model is not the one with which a recorded run began."""
    if _checksum(former_model(path)) != checksum:
        raise DataError(
            f"{os.fspath(path)!r} is another model than the one that the recorded run began with (that run, "
            "or a later one, may have replaced it): put that one back, or give ",
            Option("continue_from"),
            " to begin with this one",
        )


def anchor(
    model: EmbeddingModel, directory: str | os.PathLike[str], begun: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Move the words of a saved model back towards their old rows; the more new occurrences, the less."""
    # A word that occurred 90 times before and 10 times in the new text ends a tenth of the way from its old
    # rows to the trained ones. Rows are moved only after training, so training takes no longer
    # (docs/evidence, made-up-shop).
    former = former_model(directory)
    found = _checksum(former)
    if any(change.get(BASE, found) != found for change in begun):
        raise DataError(
            f"{os.fspath(directory)!r} is another model than the one that this run began with: put that one "
            "back and resume the run, or begin again"
        )
    here, there = _shared(model.vocab, former.vocab.index)
    new = 1.0 - former.vocab.counts[there] / model.vocab.counts[here]
    if not new.any():
        warnings.warn(
            OptionWarning(
                Option("anchored"),
                " leaves all words where they were: the text is the one that the model was trained on",
            ),
            stacklevel=2,
        )
    for array, from_array in zip(model.shared[:3], former.shared[:3], strict=True):
        if len(array) != len(model.vocab) or len(from_array) != len(former.vocab):
            continue
        for start in range(0, len(here), 65_536):
            rows, before = here[start : start + 65_536], from_array[there[start : start + 65_536]]
            share = new[start : start + 65_536, np.newaxis].astype(np.float32)
            array[rows] = before + share * (array[rows] - before)


def first_vectors(path: str | os.PathLike[str], vector_size: int) -> KeyedVectors:
    """Read initial vectors in any format that ``KeyedVectors.load`` reads."""
    form = "input" if os.path.isdir(path) and detect_format(path) == "model" else None
    vectors = KeyedVectors.load(path, vectors=form)  # from a model directory, take the input rows
    if vectors.vector_size != vector_size:
        raise DataError(
            f"the vectors in {os.fspath(path)!r} have {vectors.vector_size} dimensions and vector_size is "
            f"{vector_size}: set vector_size to {vectors.vector_size}"
        )
    return vectors


def begin_from_vectors(
    model: EmbeddingModel, vectors: KeyedVectors, path: str | os.PathLike[str]
) -> dict[str, Any]:
    """Copy vectors that were read from ``path`` into an initialised model, for the words that have one."""
    name, size = repr(os.fspath(path)), model.config.vector_size
    here, there = _shared(model.vocab, vectors.key_to_index)
    if not len(here):
        raise DataError(
            f"none of the {len(model.vocab):,} words of the corpus is in {name}; were its words split or "
            "folded otherwise?"
        )
    for start in range(0, len(here), 65_536):
        rows = vectors.vectors[there[start : start + 65_536]]
        if not np.isfinite(rows).all() or np.abs(rows).max() > LARGEST:
            raise DataError(f"{name} holds vectors with components that are not numbers or above {LARGEST:g}")
        model.inputs[here[start : start + 65_536], :size] = rows
    return {
        "init_vectors": os.path.abspath(path),
        "words_kept": len(here),
        "words_new": len(model.vocab) - len(here),
    }


def _shared(vocab: Vocab, index: Mapping[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the common words in the vocabulary and in the index."""
    pairs = [(i, index[word]) for i, word in enumerate(vocab.words) if word in index]
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]
