"""The vocabulary of a model: counts, chooses and sorts words as gensim does, also by a caller's rule."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from itertools import chain, compress, pairwise
from types import GeneratorType
from typing import Any

import numpy as np

from wordvec_ca.corpus import (
    NothingLeft,
    ScannedCorpus,
    count_token_lists,
    fingerprint,
    scan_text,
    scan_token_lists,
)
from wordvec_ca.files import content_words, html_table
from wordvec_ca.gensim.models.keyedvectors import KeyedVectors
from wordvec_ca.gensim.models.keys import Lifecycle
from wordvec_ca.gensim.models.sentences import LineSentence, PathLineSentences
from wordvec_ca.models import keep_probabilities, word_paths

logger = logging.getLogger("gensim.models.word2vec")

COMPRESSED = {".bz2", ".gz", ".xz", ".zst", ".zip"}


def files_of(corpus: Any) -> list[str] | None:
    """Return the files that hold a corpus and can be read in threads, or None."""
    return corpus.files() if type(corpus) in (LineSentence, PathLineSentences) else None


class Vocabulary(Lifecycle):
    """The words of a model, and rows of parameters for them; ``Word2Vec`` documents the attributes."""

    wv: KeyedVectors
    vector_size: int
    layer1_size: int
    hs: int
    negative: int
    ns_exponent: float
    seed: int
    min_count: int
    sample: float
    sorted_vocab: int
    max_final_vocab: int | None
    max_vocab_size: int | None
    workers: int
    corpus_count: int
    corpus_total_words: int | None
    syn1: np.ndarray
    syn1neg: np.ndarray

    def __init__(self) -> None:
        self.raw_vocab: dict[Any, int] = {}
        self.effective_min_count = self.min_count
        self._scanned: tuple[Any, ScannedCorpus] | None = None

    # ---- counting -----------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            ("words", len(self.wv)),
            ("vector_size", self.wv.vector_size),
            ("some words", ", ".join(map(str, content_words(self.wv.index_to_key, 10)))),
        ]
        return html_table(type(self).__name__, ("", ""), rows)

    def build_vocab(
        self,
        corpus_iterable: Any = None,
        corpus_file: Any = None,
        update: bool = False,
        progress_per: int = 10000,
        keep_raw_vocab: bool = False,
        trim_rule: TrimRule | None = None,
        **kwargs: Any,
    ) -> None:
        """Count the words of a corpus, choose those to keep and give them rows.

        Parameters are gensim's.

        Raises
        ------
        TypeError
            The corpus is missing or not iterable.
        RuntimeError
            ``update`` is given, but the model has no words yet.
        """
        self._check_corpus_sanity(corpus_iterable, corpus_file, passes=1)
        rare_too = update or keep_raw_vocab or trim_rule or self.max_final_vocab or kwargs
        total_words, corpus_count = self._scan(
            corpus_iterable, corpus_file, trim_rule, min_count=1 if rare_too else max(1, self.min_count)
        )
        self.corpus_count, self.corpus_total_words = corpus_count, total_words
        self.prepare_vocab(update=update, keep_raw_vocab=keep_raw_vocab, trim_rule=trim_rule, **kwargs)
        self.estimate_memory()
        self.prepare_weights(update=update)
        self.add_lifecycle_event("build_vocab", update=update, trim_rule=str(trim_rule))

    def build_vocab_from_freq(
        self,
        word_freq: Mapping[Any, int],
        keep_raw_vocab: bool = False,
        corpus_count: int | None = None,
        trim_rule: TrimRule | None = None,
        update: bool = False,
    ) -> None:
        """Choose words by given counts and give them rows.

        Parameters are gensim's.
        """
        self.corpus_count, self._scanned = corpus_count or 0, None
        self.raw_vocab = dict(word_freq)
        self.prepare_vocab(keep_raw_vocab=keep_raw_vocab, trim_rule=trim_rule, update=update)
        self.prepare_weights(update=update)

    def scan_vocab(
        self,
        corpus_iterable: Any = None,
        corpus_file: Any = None,
        progress_per: int = 10000,
        workers: int | None = None,
        trim_rule: TrimRule | None = None,
    ) -> tuple[int, int]:
        """Count the words of a corpus into ``raw_vocab``; return the numbers of words and sentences.

        Parameters are gensim's.
        """
        return self._scan(corpus_iterable, corpus_file, trim_rule, min_count=1)

    def _scan(
        self, corpus_iterable: Any, corpus_file: Any, trim_rule: TrimRule | None, *, min_count: int
    ) -> tuple[int, int]:
        """Do what ``scan_vocab`` does; leave out words of files that are rarer than ``min_count``."""
        files = [os.fspath(corpus_file)] if corpus_file is not None else files_of(corpus_iterable)
        self._scanned = None
        if self.max_vocab_size:
            sentences = corpus_iterable if files is None else chain.from_iterable(map(LineSentence, files))
            least = 1

            def prune(counts: Any) -> None:
                nonlocal least
                if len(counts) > (self.max_vocab_size or 0):
                    prune_vocab(counts, least, trim_rule)
                    least += 1

            self.raw_vocab, n_sentences, n_words = count_token_lists(_checked(sentences), prune)
        elif files is not None:
            scanned = scan_files(files, self.workers, min_count)
            n_sentences, n_words = scanned.sentences, scanned.raw_tokens
            self._scanned = (states_of(files), scanned)
            self.raw_vocab = dict(zip(scanned.words, scanned.counts.tolist(), strict=True))
        elif isinstance(corpus_iterable, list | tuple):
            scanned = scan_token_lists(_checked(corpus_iterable))
            n_sentences, n_words = scanned.sentences, scanned.raw_tokens
            self._scanned = (fingerprint(corpus_iterable), scanned)
            self.raw_vocab = dict(zip(scanned.words, scanned.counts.tolist(), strict=True))
        else:
            self.raw_vocab, n_sentences, n_words = count_token_lists(_checked(corpus_iterable))
        logger.info(
            "collected %i word types from a corpus of %i raw words and %i sentences",
            self._raw_types(),
            n_words,
            n_sentences,
        )
        return n_words, n_sentences

    def _check_corpus_sanity(self, corpus_iterable: Any, corpus_file: Any, passes: int) -> None:
        """Raise a TypeError if this is not a corpus, or cannot be read ``passes`` times."""
        if corpus_file is None and corpus_iterable is None:
            raise TypeError("Either one of corpus_file or corpus_iterable value must be provided")
        if corpus_file is not None and corpus_iterable is not None:
            raise TypeError("Both corpus_file and corpus_iterable must not be provided at the same time")
        if corpus_file is not None:
            if not os.path.isfile(corpus_file):
                raise TypeError(
                    f"Parameter corpus_file must be a valid path to a file, got {corpus_file!r} instead"
                )
            if os.path.splitext(corpus_file)[1].lower() in COMPRESSED:
                raise TypeError(
                    f"Training from compressed files is not supported with corpus_file: give "
                    f"sentences=LineSentence({os.fspath(corpus_file)!r}), which reads them as fast"
                )
        elif hasattr(corpus_iterable, "columns") or hasattr(corpus_iterable, "schema"):
            raise TypeError(
                f"The corpus_iterable is a {type(corpus_iterable).__name__}, of which the names of the "
                "columns would be the sentences: give a column of lists of words, as frame['tokens']"
            )
        elif isinstance(corpus_iterable, Mapping):
            raise TypeError(
                f"The corpus_iterable is a {type(corpus_iterable).__name__}, of which the keys would be the "
                "sentences: give one of its values"
            )
        elif not isinstance(corpus_iterable, Iterable):
            raise TypeError(
                "The corpus_iterable must be an iterable of lists of strings, "
                f"got {corpus_iterable!r} instead"
            )
        elif isinstance(corpus_iterable, GeneratorType) and passes > 1:
            raise TypeError(
                f"Using a generator as corpus_iterable can't support {passes} passes. "
                "Try a re-iterable sequence."
            )

    # ---- choosing -----------------------------------------------------------------------------------------

    def prepare_vocab(
        self,
        update: bool = False,
        keep_raw_vocab: bool = False,
        trim_rule: TrimRule | None = None,
        min_count: int | None = None,
        sample: float | None = None,
        dry_run: bool = False,
    ) -> dict[str, int]:
        """Choose the words to keep from ``raw_vocab``, and put them in order.

        Parameters are gensim's.

        Returns
        -------
        dict of str to int
            ``drop_unique``: number of dropped words. ``num_retained_words`` and ``retain_total``: number of
            the others, and of their occurrences. ``downsample_unique``: how many of them are sub-sampled.
            ``downsample_total``: number of occurrences after that.
        """
        min_count, sample = min_count or self.min_count, sample or self.sample
        least = min_count
        if self.max_final_vocab is not None and self.max_final_vocab < len(self.raw_vocab):
            counts = sorted(self.raw_vocab.values(), reverse=True)
            least = max(min_count, counts[self.max_final_vocab] + 1)
        self.effective_min_count = least
        kept = kept_words(self.raw_vocab, least, trim_rule)
        if not dry_run:
            if update:
                self._add_words(kept)
            else:
                self.min_count, self.sample = min_count, sample
                self.wv.index_to_key = list(kept)
                self.wv.key_to_index = {word: row for row, word in enumerate(kept)}
                self.wv.expandos = {"count": np.fromiter(kept.values(), np.int64, len(kept))}
                self.wv.vectors = self.wv.vectors[:0]
                if self.sorted_vocab:
                    self.wv.sort_by_descending_frequency()
            of_rows = self.wv.expandos["count"]
            keep = keep_probabilities(of_rows, sample_share(of_rows, sample))
            self.wv.expandos["sample_int"] = (keep * (2**32 - 1)).astype(np.uint32)
        found = np.fromiter(kept.values(), np.int64, len(kept))
        left = keep_probabilities(found, sample_share(found, sample))
        dropped = self._raw_types() - len(kept)
        logger.info("effective_min_count=%d retains %d unique words, drops %d", least, len(kept), dropped)
        logger.info("sample=%g downsamples %i most-common words", sample, int((left < 1).sum()))
        if not dry_run:
            if not keep_raw_vocab:
                self.raw_vocab = {}
            if self.hs:
                self.create_binary_tree()
        return {
            "drop_unique": dropped,
            "retain_total": int(found.sum()),
            "downsample_unique": int((left < 1).sum()),
            "downsample_total": int((left * found).sum()),
            "num_retained_words": len(kept),
        }

    def _raw_types(self) -> int:
        """Return the number of different words, including those too rare to be kept in ``raw_vocab``."""
        scanned = None if self._scanned is None else self._scanned[1]
        return (scanned and scanned.raw_types) or len(self.raw_vocab)

    def _add_words(self, kept: Mapping[Any, int]) -> None:
        """Append new words, and add the counts of known ones."""
        wv = self.wv
        for word in kept:
            if word not in wv.key_to_index:
                wv.key_to_index[word] = len(wv.index_to_key)
                wv.index_to_key.append(word)
        wv.allocate_vecattrs(["count"], [int])
        wv.allocate_vecattrs()
        rows = np.fromiter((wv.key_to_index[word] for word in kept), np.int64, len(kept))
        wv.expandos["count"][rows] += np.fromiter(kept.values(), np.int64, len(kept))

    # ---- rows ---------------------------------------------------------------------------------------------

    def prepare_weights(self, update: bool = False) -> None:
        """Make rows of parameters for all words, or with ``update`` for the new ones."""
        if update:
            self.update_weights()
        else:
            self.init_weights()

    def init_weights(self) -> None:
        """Draw new vectors, uniform within plus or minus 1 / vector_size; the other parameters are 0."""
        self.wv.vectors = self.wv.vectors[:0]
        self.wv.resize_vectors(seed=self.seed)
        shape = (len(self.wv), self.layer1_size)
        if self.hs:
            self.syn1 = np.zeros(shape, np.float32)
        if self.negative:
            self.syn1neg = np.zeros(shape, np.float32)

    def update_weights(self) -> None:
        """Give rows to words that have none yet; the others do not change.

        Raises
        ------
        RuntimeError
            The model has no words yet.
        """
        if not len(self.wv.vectors):
            raise RuntimeError(
                "You cannot do an online vocabulary-update of a model which has no prior vocabulary. "
                "First build the vocabulary of your model with a corpus before doing an online update."
            )
        new = np.zeros((len(self.wv) - len(self.wv.vectors), self.layer1_size), np.float32)
        self.wv.resize_vectors(seed=self.seed)
        if self.hs:
            self.syn1 = np.vstack([self.syn1, new])
        if self.negative:
            self.syn1neg = np.vstack([self.syn1neg, new])

    def reset_from(self, other_model: Any) -> None:
        """Take the words of another model, sharing its memory, and draw new vectors."""
        self.wv = self.wv.like_this()
        self.wv.index_to_key = other_model.wv.index_to_key
        self.wv.key_to_index = other_model.wv.key_to_index
        self.wv.expandos = other_model.wv.expandos
        self.corpus_count = other_model.corpus_count
        self.init_weights()

    @property
    def cum_table(self) -> np.ndarray:
        """Cumulative shares of the words among negatives, times 2**31 - 1: shape (n_words,), uint32."""
        counts = np.asarray(self.wv.expandos.get("count", np.zeros(0)), np.float64)
        mass = np.cumsum(counts**self.ns_exponent)
        return np.round(mass / (mass[-1] if len(mass) else 1) * (2**31 - 1)).astype(np.uint32)

    def make_cum_table(self, domain: int = 2**31 - 1) -> None:
        """Do nothing: ``cum_table`` is computed when it is read."""

    def create_binary_tree(self) -> None:
        """Set the attributes ``code`` and ``point`` of each word: its path in the Huffman tree."""
        counts = np.asarray(self.wv.expandos["count"], np.int64)
        ends, nodes, labels = word_paths(counts)
        points, codes = (len(counts) - 2 - nodes).astype(np.uint32), (1 - labels).astype(np.uint8)
        for name, values in (("code", codes), ("point", points)):
            of_words = np.empty(len(counts), object)
            for word, (begin, end) in enumerate(pairwise(ends.tolist())):
                of_words[word] = values[begin:end]
            self.wv.expandos[name] = of_words

    def estimate_memory(
        self, vocab_size: int | None = None, report: dict[str, int] | None = None
    ) -> dict[str, int]:
        """Return, and log, about how many bytes a model takes."""
        n_words, report = vocab_size or len(self.wv), dict(report or {})
        report["vocab"] = n_words * (700 if self.hs else 500)
        report["vectors"] = n_words * self.vector_size * 4
        if self.hs:
            report["syn1"] = n_words * self.layer1_size * 4
        if self.negative:
            report["syn1neg"] = n_words * self.layer1_size * 4
        report["total"] = sum(report.values())
        logger.info(
            "estimated required memory for %i words and %i dimensions: %i bytes",
            n_words,
            self.vector_size,
            report["total"],
        )
        return report


def scan_files(files: list[str], workers: int, min_count: int = 1) -> ScannedCorpus:
    """Count and encode the sentences of files; words rarer than ``min_count`` may be left out."""
    threads = workers if workers > 0 else None
    try:
        return scan_text(files, cache_dir=tempfile.gettempdir(), min_count=min_count, workers=threads)
    except NothingLeft:
        return scan_text(files, cache_dir=tempfile.gettempdir(), workers=threads)


def kept_words(counts: Mapping[Any, int], min_count: int, trim_rule: TrimRule | None) -> dict[Any, int]:
    """Return the words that are kept, with their counts."""
    if trim_rule is not None:
        return {
            word: count
            for word, count in counts.items()
            if keep_vocab_item(word, count, min_count, trim_rule)
        }
    numbers = np.fromiter(counts.values(), np.int64, len(counts))
    enough = numbers >= min_count
    return dict(zip(compress(counts, enough), numbers[enough].tolist(), strict=True))


def states_of(files: list[str]) -> list[tuple[str, int, int]]:
    """Return names, sizes and times of files, which stay equal as long as the files do not change."""
    return [(name, (state := os.stat(name)).st_size, state.st_mtime_ns) for name in files]


def sample_share(counts: np.ndarray, sample: float) -> float:
    """Return the threshold of sub-sampling as a share of all occurrences; 0 if nothing is sub-sampled."""
    if not sample or sample < 1:
        return float(sample or 0)
    threshold, total = int(sample * (3 + np.sqrt(5)) / 2), int(counts.sum())
    return threshold / total if threshold < total else 0.0


def _checked(sentences: Iterable[Any]) -> Iterable[Any]:
    """Return sentences; warn if the first is a str: each character would be a word."""
    iterator = iter(sentences)
    for first in iterator:
        if isinstance(first, str):
            logger.warning(
                "Each 'sentences' item should be a list of words (usually unicode strings). "
                "First item here is instead plain %s.",
                type(first),
            )
        return chain([first], iterator)
    return []


# Keep a word that is frequent enough.
RULE_DEFAULT = 0

# Drop a word.
RULE_DISCARD = 1

# Keep a word, however rare.
RULE_KEEP = 2

TrimRule = Callable[[Any, int, int], int]


def keep_vocab_item(word: Any, count: int, min_count: int, trim_rule: TrimRule | None = None) -> bool:
    """Return whether a word is kept."""
    verdict = RULE_DEFAULT if trim_rule is None else trim_rule(word, count, min_count)
    if verdict in (RULE_KEEP, RULE_DISCARD):
        return verdict == RULE_KEEP
    return count >= min_count


def prune_vocab(vocab: MutableMapping[Any, int], min_reduce: int, trim_rule: TrimRule | None = None) -> int:
    """Drop words of fewer than ``min_reduce`` occurrences, in place, and return how often they occurred."""
    dropped = [
        word for word, count in vocab.items() if not keep_vocab_item(word, count, min_reduce, trim_rule)
    ]
    return sum(vocab.pop(word) for word in dropped)
