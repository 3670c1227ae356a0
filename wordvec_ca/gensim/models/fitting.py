"""One call of ``train``: passes sentences, a ``TrainConfig`` and parameters to the trainer of wordvec_ca."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from wordvec_ca.corpus import DocumentTags, LiveTokens, Vocab, fingerprint, scan_token_lists
from wordvec_ca.gensim.models.ngram_rows import NgramRows, ngram_options
from wordvec_ca.gensim.models.vocabulary import (
    files_of,
    keep_probabilities,
    sample_share,
    scan_files,
    states_of,
)
from wordvec_ca.machine import usable_cpus
from wordvec_ca.models import EmbeddingModel, Progress, ResolvedConfig, TrainConfig
from wordvec_ca.training import Trainer

logger = logging.getLogger("gensim.models.word2vec")

WIDEST_WINDOW = 10_000
"""Number of words in the longest sentence; a wider window has no effect."""

FIRST_SENTENCES = 100
"""Number of sentences from which the mean length is estimated, if the number of words is unknown."""


@dataclass
class Corpus:
    """The sentences of one call of ``train``, as rows of the model.

    Attributes
    ----------
    tokens : ndarray of shape (n,), int32, or LiveTokens
    raw_tokens : int
        Words of an epoch, unknown ones included; words of all epochs so far if the tokens are live.
    tags : DocumentTags or None
        The document of each sentence.
    """

    tokens: np.ndarray | LiveTokens
    raw_tokens: int
    tags: DocumentTags | None = None


def corpus_of(
    model: Any,
    corpus_iterable: Any,
    corpus_file: Any,
    total_examples: int | None,
    total_words: int | None,
    *,
    live: bool,
) -> Corpus:
    """Return the sentences as rows of the model.

    Words of files and lists are looked up once. Anything else is iterated again in each epoch; with
    ``live`` lists are too, since callbacks may change them.
    """
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


def engine_of(model: Any, tags: DocumentTags | None = None) -> Any:
    """Return the parameters of a model as the training loop needs them: in aligned rows of whole vectors.

    They share memory with the arrays of the model where its rows are whole vectors, too; elsewhere they are
    copies, which `public_arrays` lists.
    """
    counts = np.maximum(np.asarray(model.wv.expandos["count"], np.int64), 1)
    words = model.wv.spelled() if getattr(model.wv, "bucket", 0) else model.wv.index_to_key
    engine: Any = EmbeddingModel(config_of(model), Vocab.as_given(words, counts), tags)
    if engine.subwords is None:
        engine.inputs = _aligned(model.wv, "vectors", engine.inputs)
    else:
        engine.inputs[:, : model.vector_size] = model.wv.vectors
    if engine.documents is not None:
        engine.documents.rows = _aligned(model.dv, "vectors", engine.documents.rows)
    if model.negative and not _is_concatenated(model):
        engine.outputs = _aligned(model, "syn1neg", engine.outputs)
    elif model.negative:
        _parts(model, engine.outputs)[:] = _rolled(model, model.syn1neg, -model.dm_tag_count)
    if model.hs:  # gensim numbers the nodes of the tree from the leaves, the loop from the root
        n_nodes = max(0, len(model.syn1) - 1)
        tags_last = -model.dm_tag_count if _is_concatenated(model) else 0
        _parts(model, engine.nodes)[:n_nodes] = _rolled(model, model.syn1[:n_nodes][::-1], tags_last)
    return engine


def _aligned(owner: Any, name: str, room: np.ndarray) -> np.ndarray:
    """Return an array of the model as the loop needs it: itself if possible, else copied into ``room``."""
    rows = getattr(owner, name)
    if rows.shape == room.shape:
        flags = rows.flags
        if rows.dtype == room.dtype and flags.c_contiguous and flags.writeable and not rows.ctypes.data % 64:
            return np.asarray(rows)
        setattr(owner, name, room)
    room[:, : rows.shape[1]] = rows
    return room


def public_arrays(model: Any, engine: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return arrays of the model that the engine has copies of, each with the copy.

    Programs read the model's arrays by their address (fse does), so they have no padding. An array that
    cannot be written, as one that is mapped from a file, is replaced.
    """
    pairs = [(model.wv, "vectors", engine.inputs)] if engine.subwords is None else []
    if engine.documents is not None:
        pairs.append((model.dv, "vectors", engine.documents.rows))
    if model.negative and not _is_concatenated(model):
        pairs.append((model, "syn1neg", engine.outputs))
    found = []
    for owner, name, rows in pairs:
        public = getattr(owner, name)
        if np.shares_memory(public, rows):
            continue
        if public.dtype != rows.dtype or not (public.flags.c_contiguous and public.flags.writeable):
            public = np.array(public, rows.dtype, order="C")
            setattr(owner, name, public)
        found.append((public, rows[:, : public.shape[1]]))
    return found


def _parts(model: Any, rows: np.ndarray) -> np.ndarray:
    """Remove the padding of rows with one or several vectors each: shape (n, vectors, vector_size)."""
    n_parts = model.layer1_size // model.vector_size
    return rows.reshape(len(rows), n_parts, -1)[:, :, : model.vector_size]


def _rolled(model: Any, rows: np.ndarray, places: int) -> np.ndarray:
    """Rotate the concatenated vectors of rows by ``places``: gensim has those of tags first, we last."""
    return np.roll(rows.reshape(len(rows), -1, model.vector_size), places, axis=1)


class Report:
    """Reports the progress of training to a model and its callbacks."""

    def __init__(self, model: Any, engine: Any, trainer: Trainer, callbacks: Sequence[Any]) -> None:
        self.model, self.engine, self.trainer, self.callbacks = model, engine, trainer, callbacks
        self.ngrams = None if engine.subwords is None else NgramRows(model.wv, engine)
        self.copies = public_arrays(model, engine)

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
        if self.callbacks:  # which may have changed vectors
            for public, rows in self.copies:
                rows[:] = public
        if (model.alpha, model.min_alpha) != rates:
            self.trainer.schedule.change_rates(max(model.alpha, model.min_alpha), model.min_alpha)

    def update(self) -> None:
        """Update the public attributes of the model."""
        model = self.model
        model.min_alpha_yet_reached = self.trainer.schedule.alpha(self.trainer.reached)
        if model.compute_loss:
            model.running_training_loss = self.trainer.tally("loss")
        for public, rows in self.copies:
            public[:] = rows
        model.wv.forget_norms()
        if self.ngrams is not None:
            self.ngrams.scatter_gains()
        tags_first = model.dm_tag_count if _is_concatenated(model) else 0
        if self.engine.documents is not None:
            model.dv.forget_norms()
        if tags_first and model.negative:
            outputs = _parts(model, self.engine.outputs).reshape(len(model.wv), -1)
            model.syn1neg[:] = _rolled(model, outputs, tags_first).reshape(model.syn1neg.shape)
        if model.hs:
            n_nodes = max(0, len(model.syn1) - 1)
            nodes = _parts(model, self.engine.nodes)[:n_nodes][::-1].reshape(n_nodes, -1)
            model.syn1[:n_nodes] = _rolled(model, nodes, tags_first).reshape(n_nodes, -1)


def fit(model: Any, corpus: Corpus, callbacks: Sequence[Any]) -> tuple[int, int]:
    """Train a model; return how many words were trained on, and how many were read."""
    engine = engine_of(model, corpus.tags)
    trainer = Trainer(engine, corpus.tokens, rates=row_rates(model))
    report = Report(model, engine, trainer, callbacks)
    started = time.perf_counter()
    for callback in callbacks:
        callback.on_epoch_begin(model)
    try:
        trainer.run([report])
    except KeyboardInterrupt:
        trainer.interrupt()
        raise
    finally:
        report.update()
        model.total_train_time += time.perf_counter() - started
    counts = engine.vocab.counts
    kept = float(np.dot(counts, keep_probabilities(counts, model.sample)) / counts.sum())
    raw = corpus.raw_tokens * engine.config.epochs
    if isinstance(corpus.tokens, LiveTokens):
        raw = corpus.tokens.raw_tokens
    if not raw and not model.train_count:
        logger.warning(
            "train() called with an empty iterator (if not intended, "
            "be sure to provide a corpus that offers restartable iteration = an iterable)."
        )
    return round(kept * trainer.tally("words")), raw


def row_rates(model: Any) -> np.ndarray | None:
    """Return the factor of each vector's gains, or None if all are 1."""
    factors = np.asarray(model.wv.vectors_lockf, np.float32)
    if (factors == 1).all():
        return None
    return np.resize(factors, len(model.wv))
