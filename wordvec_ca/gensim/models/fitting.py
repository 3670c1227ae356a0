"""One call of ``train``: passes sentences, a ``TrainConfig`` and parameters to the trainer of wordvec_ca.

gensim keeps a row for each word and each bucket. The loop has one row for all n-grams that occur in
exactly the same words (``wordvec_ca.models.Subwords``): it starts as the mean of their rows, and its gain is
added to each of them.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from wordvec_ca.corpus import (
    DocumentTags,
    LiveTokens,
    Vocab,
    fingerprint,
    scan_token_lists,
)
from wordvec_ca.gensim.models.vocabulary import (
    files_of,
    sample_share,
    scan_files,
    states_of,
)
from wordvec_ca.machine import usable_cpus
from wordvec_ca.models import EmbeddingModel, Progress, ResolvedConfig, TrainConfig, keep_probabilities
from wordvec_ca.training import Trainer, copy_rows

logger = logging.getLogger("gensim.models.word2vec")

# Number of words in the longest sentence; a wider window has no effect.
WIDEST_WINDOW = 10_000

# Number of sentences from which the mean length is estimated, if the number of words is unknown.
FIRST_SENTENCES = 100


@dataclass
class Corpus:
    """The sentences of one call of ``train``, as rows of the model."""

    tokens: np.ndarray | LiveTokens  # (n,), int32, or LiveTokens
    # Words of an epoch, unknown ones included; words of all epochs so far if the tokens are live
    raw_tokens: int
    tags: DocumentTags | None = None  # The document of each sentence


def corpus_of(
    model: Any,
    corpus_iterable: Any,
    corpus_file: Any,
    total_examples: int | None,
    total_words: int | None,
    *,
    live: bool,
) -> Corpus:
    """Return the sentences as rows of the model."""
    # Words of files and lists are looked up once. Anything else is iterated again in each epoch; with
    # ``live`` lists are too, since callbacks may change them.
    index = model.wv.key_to_index
    files = [os.fspath(corpus_file)] if corpus_file is not None else files_of(corpus_iterable)
    known, scanned = model._scanned or ("", None)
    if files is not None:
        if scanned is None or known != states_of(files) or not scanned.holds(index):
            scanned = scan_files(files, model.workers)
            model._scanned = (states_of(files), scanned)
        with tempfile.TemporaryFile() as file:
            return Corpus(scanned.chosen(index, file), scanned.raw_tokens)
    model._scanned = None
    if isinstance(corpus_iterable, list | tuple) and not live:
        if scanned is None or known != fingerprint(corpus_iterable):
            scanned = scan_token_lists(corpus_iterable)
        return Corpus(scanned.chosen(index), scanned.raw_tokens)
    words, sentences = words_expected(model, corpus_iterable, total_examples, total_words)
    return Corpus(LiveTokens(corpus_iterable, index, words + sentences), 0)


def words_expected(
    model: Any, sentences: Iterable[Any], total_examples: int | None, total_words: int | None
) -> tuple[int, int]:
    """Return the numbers of known words and of sentences in an epoch, as far as they are known."""
    raw, n = model.corpus_total_words or 0, model.corpus_count or 0
    known = int(np.sum(model.wv.expandos["count"])) / raw if raw else 1.0
    if not (raw and n):
        first = [] if isinstance(sentences, Iterator) else list(islice(iter(sentences), FIRST_SENTENCES))
        raw, n = sum(len(list(words)) for words in first) or 10, len(first) or 1
    n_sentences = total_examples or int((total_words or 0) * n / raw)
    n_words = total_words if not total_examples else int(total_examples * raw / n)
    return int((n_words or 0) * min(1.0, known)), n_sentences


def config_of(model: Any) -> ResolvedConfig:
    """Return the options of wordvec_ca that correspond to a model's gensim options."""
    counts = np.asarray(model.wv.expandos["count"], np.int64)
    seed = int(model.seed) & (2**63 - 1)
    if model.train_count:  # otherwise each call would draw the same windows and negatives
        seed = int(np.random.SeedSequence([seed, model.train_count]).generate_state(1)[0])
    workers = usable_cpus() if model.workers < 1 else min(model.workers, usable_cpus())
    dbow_words = bool(model.sg and getattr(model, "dbow_words", 0))
    needs_window = not (hasattr(model, "dv") and model.sg) or dbow_words  # if not needed, karateclub gives 0
    config = TrainConfig(
        model=_name_of(model),
        vector_size=model.vector_size,
        vectors="input",
        window=min(model.window, WIDEST_WINDOW) if needs_window else 1,
        shrink_windows=model.shrink_windows and not _is_concatenated(model),  # as in gensim
        negative=model.negative,
        negatives="exact" if _has_own_negatives(model) else None,  # for rare words, in few epochs
        hs=bool(model.hs),
        ns_exponent=float(model.ns_exponent),
        sample=sample_share(counts, model.sample),
        alpha=max(model.alpha, model.min_alpha),
        min_alpha=model.min_alpha,
        epochs=int(model.epochs),
        workers=workers,
        seed=seed,
        min_count=1,
        cbow_update="word2vec",
        cbow_mean=bool(model.sg or model.cbow_mean),
        tokenizer="whitespace",
        lowercase=False,
        dbow_words=dbow_words,
        dm_tag_count=model.dm_tag_count if _is_concatenated(model) else 1,
        **ngram_options(model.wv),
    )
    return ResolvedConfig.of(config)


def _has_own_negatives(model: Any) -> bool:
    """Return whether each prediction draws its own negatives, although the model could share them."""
    return bool(model.negative and not model.sg and not hasattr(model, "dv"))


def _is_concatenated(model: Any) -> bool:
    """Return whether the output vectors of a model are longer than those of words."""
    return bool(not model.sg and getattr(model, "dm_concat", 0))


def _name_of(model: Any) -> Any:
    """Return wordvec_ca's name of the model."""
    if not hasattr(model, "dv"):
        return "skipgram" if model.sg else "cbow"
    return "pv-dbow" if model.sg else "pv-dm-concat" if _is_concatenated(model) else "pv-dm"


class PublicRows:
    """A public array of a model, and the rows of the training loop that correspond to it.

    Rows of the loop are padded to 64 bytes. Programs in C read public arrays by address, so these are
    contiguous. Both are the same memory if a vector fills its row, that is, if its size is a multiple of 16.

    A row of the loop may hold several vectors: gensim has the last ``turn`` of them first. It numbers nodes
    of the tree from the leaves, the loop from the root.
    """

    def __init__(
        self, owner: Any, name: str, rows: np.ndarray, size: int, *, turn: int = 0, nodes: bool = False
    ) -> None:
        self._owner, self._name, self._rows, self._turn, self._nodes = owner, name, rows, turn, nodes
        n_parts = getattr(owner, name).shape[1] // size
        self._parts = rows.reshape(len(rows), n_parts, rows.shape[1] // n_parts)[:, :, :size]
        if nodes:  # one less than there are words
            self._parts = self._parts[: len(rows) - 1][::-1]

    @property
    def _public(self) -> np.ndarray:
        public: np.ndarray = getattr(self._owner, self._name)
        return public

    @property
    def shared(self) -> bool:
        """Whether the public array is the memory of the loop."""
        return np.may_share_memory(self._public, self._rows)

    def begin(self) -> None:
        """Make the public array one that training can write to."""
        if self.shared:
            return
        if self._rows.shape == self._public.shape and not self._nodes and not self._turn:
            setattr(self._owner, self._name, self._rows)
        else:
            setattr(self._owner, self._name, np.require(self._public, np.float32, ["C", "W"]))

    def take(self) -> None:
        """Copy all rows of the public array to the loop."""
        if not self.shared:
            self.copy(np.arange(len(self._parts), dtype=np.int32), self._rows)

    def copy(self, numbers: np.ndarray, room: np.ndarray) -> None:
        """Copy rows of the public array, given by their numbers in the loop, to the beginning of an array."""
        size = self._parts.shape[2]
        public = self._public
        if self._nodes:
            numbers = np.int32(len(self._parts) - 1) - numbers
        if public.dtype != np.float32 or not public.flags.c_contiguous:
            public, numbers = (
                np.asarray(public[numbers], np.float32, "C"),
                np.arange(len(numbers), dtype=np.int32),
            )
        copy_rows(public, numbers, room, size, self._turn)

    def publish(self) -> None:
        """Copy all rows of the loop to the public array."""
        if not self.shared:
            public = self._public[: len(self._parts)].reshape(self._parts.shape)  # a view: it is contiguous
            public[:] = np.roll(self._parts, self._turn, axis=1) if self._turn else self._parts


def engine_of(model: Any) -> Any:
    """Return the parameters of a model as the training loop needs them."""
    return loop_of(model)[0]


def loop_of(
    model: Any, tags: DocumentTags | None = None, *, filled: bool = True
) -> tuple[Any, dict[str, PublicRows]]:
    """Return the parameters of a model as the loop needs them, and the public arrays, by their names
    there.
    """
    # The loop works on the memory of a public array if its rows need no padding; otherwise on a copy, which
    # is empty if it shall not be ``filled``.
    counts = np.maximum(np.asarray(model.wv.expandos["count"], np.int64), 1)
    words = model.wv.spelled() if getattr(model.wv, "bucket", 0) else model.wv.index_to_key
    engine: Any = EmbeddingModel(config_of(model), Vocab.as_given(words, counts), tags)
    size, public = model.vector_size, {}
    turn = model.dm_tag_count if _is_concatenated(model) else 0
    if engine.subwords is None:
        engine.inputs = _readable(model.wv.vectors, engine.inputs)
        public["inputs"] = PublicRows(model.wv, "vectors", engine.inputs, size)
    else:  # composed from the rows of words and n-grams: see `NgramRows`
        engine.inputs[:, :size] = model.wv.vectors
    if engine.documents is not None:
        first = model.dv.vectors[: len(engine.documents)]  # all, but for inference
        engine.documents.rows = _readable(first, engine.documents.rows)
        public["documents"] = PublicRows(model.dv, "vectors", engine.documents.rows, size)
    if model.negative:
        engine.outputs = engine.outputs if turn else _readable(model.syn1neg, engine.outputs)
        public["outputs"] = PublicRows(model, "syn1neg", engine.outputs, size, turn=turn)
    if model.hs:
        public["nodes"] = PublicRows(model, "syn1", engine.nodes, size, turn=turn, nodes=True)
    if filled:
        for each in public.values():
            each.take()
    return engine, public


def _readable(public: np.ndarray, room: np.ndarray) -> np.ndarray:
    """Return a public array if the loop can work on it as it is, else the room for a copy."""
    fits = public.shape == room.shape and public.dtype == room.dtype and public.ctypes.data % 64 == 0
    return public if fits and public.flags.c_contiguous and public.flags.writeable else room


class FitEvents:
    """Reports the progress of training to a model and its callbacks."""

    def __init__(
        self,
        model: Any,
        engine: Any,
        public: dict[str, PublicRows],
        trainer: Trainer,
        callbacks: Sequence[Any],
    ) -> None:
        self.model, self.engine, self.public = model, engine, public
        self.trainer, self.callbacks = trainer, callbacks
        self.ngrams = None if engine.subwords is None else NgramRows(model.wv, engine)

    def __call__(self, progress: Progress) -> None:
        """Receive one record of the trainer."""
        model = self.model
        if not progress.epoch_ended:
            logger.info(
                "EPOCH %i - PROGRESS: at %.2f%% of training, %.0f words/s",
                progress.epoch - 1,
                100 * progress.fraction,
                progress.words_per_second,
            )
            return
        logger.info("EPOCH %i: training on %i words so far", progress.epoch - 1, progress.words)
        self.update()
        rates = model.alpha, model.min_alpha
        for callback in self.callbacks:
            callback.on_epoch_end(model)
        if progress.epoch < progress.epochs:
            for callback in self.callbacks:
                callback.on_epoch_begin(model)
        if self.callbacks:  # they may have changed vectors
            for each in self.public.values():
                each.take()
        if (model.alpha, model.min_alpha) != rates:
            self.trainer.schedule.change_rates(max(model.alpha, model.min_alpha), model.min_alpha)

    def update(self) -> None:
        """Update the public attributes of the model."""
        model = self.model
        model.min_alpha_yet_reached = self.trainer.schedule.alpha(self.trainer.reached)
        if model.compute_loss:
            model.running_training_loss = self.trainer.tally("loss")
        model.wv.forget_norms()
        if self.ngrams is not None:
            self.ngrams.scatter_gains()
        if self.engine.documents is not None:
            model.dv.forget_norms()
        for each in self.public.values():
            each.publish()


def fit(model: Any, corpus: Corpus, callbacks: Sequence[Any]) -> tuple[int, int]:
    """Train a model; return how many words were trained on, and how many were read."""
    model._inference = None  # made for the parameters before training
    engine, public = loop_of(model, corpus.tags)
    for each in public.values():
        each.begin()
    trainer = Trainer(engine, corpus.tokens, rates=row_rates(model))
    report = FitEvents(model, engine, public, trainer, callbacks)
    started = time.perf_counter()
    for callback in callbacks:
        callback.on_epoch_begin(model)
    if callbacks:  # they may have changed vectors
        for each in public.values():
            each.take()
    try:
        trainer.run([report])
    except KeyboardInterrupt:
        trainer.interrupt()
        raise
    finally:
        report.update()
        model.total_train_time += time.perf_counter() - started
    counts = engine.vocab.counts
    kept = float(
        np.dot(counts, keep_probabilities(counts, sample_share(counts, model.sample))) / counts.sum()
    )
    raw = corpus.raw_tokens * engine.config.epochs
    if isinstance(corpus.tokens, LiveTokens):
        raw = corpus.tokens.raw_tokens
    if not raw and not model.train_count:
        logger.warning(
            "train() called with an empty iterator (if not intended, "
            "be sure to provide a corpus that offers restartable iteration = an iterable)."
        )
    if raw and not trainer.tally("examples"):
        warnings.warn(
            "not one prediction was made, so the vectors stay as they are: no sentence had two words left"
            + (f" after sub-sampling (sample is {model.sample:g})" if model.sample else ""),
            stacklevel=4,
        )
    return round(kept * trainer.tally("words")), raw


def row_rates(model: Any) -> np.ndarray | None:
    """Return the factor of each vector's gains, or None if all are 1."""
    factors = np.asarray(model.wv.vectors_lockf, np.float32)
    if (factors == 1).all():
        return None
    return np.resize(factors, len(model.wv))


def ngram_options(wv: Any) -> dict[str, Any]:
    """Return the n-gram options of a ``TrainConfig``; an empty dict for vectors without n-grams."""
    if not getattr(wv, "bucket", 0):
        return {}
    return {"subwords": True, "min_n": max(1, wv.min_n), "max_n": wv.max_n, "buckets": wv.bucket}


class NgramRows:
    """The rows of a model while it trains."""

    def __init__(self, wv: Any, engine: EmbeddingModel) -> None:
        assert engine.subwords is not None
        assert engine.subwords.index.keys is not None
        self._wv, self._subwords = wv, engine.subwords
        self._buckets = engine.subwords.index.keys.astype(np.int64)
        self._subwords.begin_with(
            np.arange(len(wv)),
            np.asarray(wv.vectors_vocab, np.float32),
            np.arange(len(self._buckets)),
            np.asarray(wv.vectors_ngrams[self._buckets], np.float32),
        )
        engine.compose()
        self._before = self._rows().copy()

    def _rows(self) -> np.ndarray:
        return self._subwords.rows[:, : self._wv.vector_size]

    def scatter_gains(self) -> None:
        """Add the gains since the last call to the rows of words and buckets, and compose the vectors."""
        wv = self._wv
        gains = self._rows() - self._before
        self._before += gains
        wv.vectors_vocab += gains[: len(wv)] * _factors(wv.vectors_vocab_lockf, np.arange(len(wv)))
        of_buckets = gains[self._subwords.index.rows]
        wv.vectors_ngrams[self._buckets] += of_buckets * _factors(wv.vectors_ngrams_lockf, self._buckets)
        wv.adjust_vectors()


def _factors(lockf: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the factors of some rows' gains, shape (n, 1)."""
    factors = np.asarray(lockf, np.float32)
    return factors[rows % len(factors), np.newaxis]
