"""Encodes sentences that are Python objects; their words are ordered by first occurrence.

Words of token lists may be any hashable objects (item ids, nodes of a graph), also empty strings.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus.encode import encode_corpus
from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.corpus.sentence_file import MAX_SENTENCE
from wordvec_ca.corpus.source import Corpus
from wordvec_ca.errors import DataError

# Number of sentences looked up at a time, with a few calls into Python for all of them.
SENTENCES_AT_ONCE = 1_000

# Number of tokens that are renumbered at a time.
TOKENS_AT_ONCE = 1 << 22

# Placeholder id of an unknown word until the word is dropped.
ABSENT = -2


@dataclass(frozen=True)
class ScannedCorpus:
    """A corpus with all its words, or all frequent ones, before a vocabulary is chosen."""

    # The words in the order of their first occurrence.
    words: list[Any]
    # shape (n_words,), int64; How often each word occurs.
    counts: NDArray[np.int64]
    # shape (n,), int32; Word ids, with -1 after each sentence.
    tokens: NDArray[np.int32]
    # sentences, raw_tokens: Numbers of sentences and of tokens.
    sentences: int
    raw_tokens: int
    # shape (n_words,), int64, or None; The id of each word in ``tokens``; None if that is its row.
    ids: NDArray[np.int64] | None = None
    # Number of different words, including rare ones that were left out; None if none were left out.
    raw_types: int | None = None

    def holds(self, words: Sequence[Any]) -> bool:
        """Return whether no occurrence of these words was left out."""
        return self.raw_types is None or set(self.words).issuperset(words)

    def chosen(self, index: Mapping[Any, int], file: IO[bytes] | None = None) -> NDArray[np.int32]:
        """Convert the tokens to rows of another list of words; tokens of other words are dropped."""
        rows = np.fromiter(map(index.get, self.words, repeat(ABSENT)), np.int32, len(self.words))
        final = np.full(len(self.words) + 1, -1, np.int32)  # the last element is for -1, a line end
        final[slice(-1) if self.ids is None else self.ids] = rows
        if file is None:
            parts = [kept_tokens(final[part]) for part in self._whole_sentences()]
            return np.concatenate(parts) if parts else np.zeros(0, np.int32)
        for part in self._whole_sentences():
            file.write(kept_tokens(final[part]).data)
        file.flush()
        return np.memmap(file, np.int32, "r") if file.tell() else np.zeros(0, np.int32)

    def _whole_sentences(self) -> Iterator[NDArray[np.int32]]:
        """Yield the tokens, some whole sentences at a time."""
        start, step = 0, TOKENS_AT_ONCE
        while start < len(self.tokens):
            ends = np.flatnonzero(self.tokens[start + step : start + step + MAX_SENTENCE + 1] < 0)
            stop = start + step + int(ends[0]) + 1 if len(ends) else len(self.tokens)
            yield self.tokens[start:stop]
            start = stop


@dataclass(frozen=True)
class ScannedDocuments:
    """Documents with all their words, before a vocabulary is chosen; for other attributes see
    `ScannedCorpus`.
    """

    words: list[Any]
    counts: NDArray[np.int64]
    # shape (n,), int32; Word ids, with -1 after each document, also after an empty one.
    tokens: NDArray[np.int32]
    # The tags of each document.
    tags: list[Sequence[Any]]
    # shape (n_documents,), int64; Number of words of each document.
    lengths: NDArray[np.int64]
    raw_types: None = None

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        return len(self.tags)

    @property
    def raw_tokens(self) -> int:
        """Number of words of all documents."""
        return int(self.lengths.sum())

    def chosen(self, index: Mapping[Any, int]) -> NDArray[np.int32]:
        """Convert the tokens to rows of another list of words; tokens of other words are dropped."""
        rows = np.fromiter(map(index.get, self.words, repeat(ABSENT)), np.int32, len(self.words))
        tokens = np.append(rows, np.int32(-1))[self.tokens]  # index -1 is the last element
        return np.asarray(tokens[tokens != ABSENT], np.int32)


def scan_documents(documents: Iterable[tuple[Sequence[Hashable], Sequence[Any]]]) -> ScannedDocuments:
    """Count and encode documents in one pass; none is dropped, and none is split."""
    ids: defaultdict[Any, int] = defaultdict()
    ids.default_factory = ids.__len__
    found, lengths = array("i"), array("q")
    tags: list[Sequence[Any]] = []
    for words, of_document in documents:
        found.extend(map(ids.__getitem__, words))
        found.append(-1)
        lengths.append(len(words))
        tags.append(of_document)
    return ScannedDocuments(*_counted(ids, found), tags, np.array(lengths, np.int64))


class _Ids(dict[Any, int]):
    """Ids of words; an unknown word gets the id ABSENT."""

    def __missing__(self, word: Any) -> int:
        return ABSENT


def scan_token_lists(sentences: Iterable[Iterable[Hashable]]) -> ScannedCorpus:
    """Count and encode sentences in one pass."""
    ids: defaultdict[Any, int] = defaultdict()
    ids.default_factory = ids.__len__
    found = array("i")
    n_sentences = raw_tokens = 0
    for batch in _batches(sentences):
        tokens, n_raw = _look_up(batch, ids)
        found.frombytes(tokens.tobytes())
        n_sentences += len(batch)
        raw_tokens += n_raw
    return ScannedCorpus(*_counted(ids, found), n_sentences, raw_tokens)


def _counted(
    ids: Mapping[Any, int], found: array[int]
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int32]]:
    """Return the words of a text, how often each occurs, and the text as ids."""
    tokens = np.frombuffer(found, np.int32) if len(found) else np.zeros(0, np.int32)
    return list(ids), np.bincount(tokens[tokens >= 0], minlength=len(ids)).astype(np.int64), tokens


def count_token_lists(
    sentences: Iterable[Iterable[Hashable]], pruned: Callable[[Counter[Any]], None] | None = None
) -> tuple[Counter[Any], int, int]:
    """Count the words of sentences that do not fit into memory or can be iterated only once."""
    counts: Counter[Any] = Counter()
    n_sentences = raw_tokens = 0
    for batch in _batches(sentences, SENTENCES_AT_ONCE if pruned is None else 1):
        counts.update(chain.from_iterable(batch))
        n_sentences += len(batch)
        raw_tokens += sum(map(len, batch))
        if pruned is not None:
            pruned(counts)
    return counts, n_sentences, raw_tokens


def scan_text(
    corpus: Corpus,
    *,
    cache_dir: str | os.PathLike[str],
    min_count: int = 1,
    workers: int | None = None,
) -> ScannedCorpus:
    """Count and encode a text in files that is split at white space and keeps its case."""
    options = TextOptions(tokenizer="whitespace", lowercase=False, min_count=min_count, workers=workers)
    encoded = encode_corpus(corpus, options, cache_dir=cache_dir)
    tokens, vocab = encoded.tokens, encoded.vocab
    assert isinstance(tokens, np.ndarray)
    first = np.zeros(len(vocab) + 1, np.int64)  # the last element is for -1
    for start in reversed(range(0, len(tokens), TOKENS_AT_ONCE)):
        part = tokens[start : start + TOKENS_AT_ONCE][::-1]
        first[part] = np.arange(start + len(part) - 1, start - 1, -1)  # the last assignment to a word stays
    order = np.argsort(first[:-1])
    words = vocab.words
    return ScannedCorpus(
        [words[i] for i in order.tolist()],
        vocab.counts[order],
        tokens,
        encoded.stats.lines,
        encoded.stats.raw_tokens,
        order,
        encoded.stats.raw_types if min_count > 1 else None,
    )


def fingerprint(sentences: Iterable[Iterable[Hashable]]) -> int:
    """Return a number that differs if the words of the sentences differ; much faster than a scan."""
    return hash(tuple(hash(tuple(sentence)) for sentence in sentences))


class LiveTokens:
    """Word ids of sentences, looked up while threads train on them. Each pass iterates over the sentences
    again.

    A pass may yield other sentences than the previous one, such as new random walks. There is no producer
    thread: a thread that runs out of tokens looks up the next sentences, while the others continue.
    """

    def __init__(
        self, sentences: Iterable[Iterable[Hashable]], index: Mapping[Any, int], expected: int
    ) -> None:
        self._sentences, self._ids = sentences, _Ids(index)
        self._expected = max(1, expected)
        self.raw_tokens = self.sentences = 0

    def __len__(self) -> int:
        """Return the approximate number of ids of a pass."""
        return self._expected

    def blocks(self) -> Generator[NDArray[np.int32]]:
        """Yield all ids of a pass, some at a time, with -1 after each sentence."""
        for batch in _batches(self._sentences):
            tokens, n_raw = _look_up(batch, self._ids)
            self.raw_tokens += n_raw
            self.sentences += len(batch)
            tokens = kept_tokens(tokens)
            if len(tokens):
                yield tokens


def kept_tokens(tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return tokens without absent words, and without sentences that are empty then."""
    tokens = tokens[tokens != ABSENT]
    ends = tokens < 0
    ends[1:] &= ends[:-1]  # of several line ends in a row, keep the first; keep none at the beginning
    return tokens[~ends] if ends.any() else tokens


def _batches(
    sentences: Iterable[Iterable[Hashable]], size: int = SENTENCES_AT_ONCE
) -> Iterator[list[Sequence[Hashable]]]:
    """Yield some sentences at a time, as sequences."""
    iterator = iter(sentences)
    while batch := list(islice(iterator, size)):
        yield [part if isinstance(part, list | tuple) else _words(part) for part in batch]


def _words(sentence: Any) -> list[Hashable]:
    """Return the words of a sentence that is not a list."""
    if isinstance(sentence, Mapping):
        names = ", ".join(map(repr, list(sentence)[:10]))
        raise DataError(
            f"a sentence is a {type(sentence).__name__} with the keys {names}, which would be its words; "
            "give lists of words"
        )
    return list(sentence.as_py() if hasattr(sentence, "as_py") else sentence)  # Arrow has as_py


def _look_up(batch: list[Sequence[Hashable]], ids: Mapping[Any, int]) -> tuple[NDArray[np.int32], int]:
    """Return the ids of some sentences, with -1 after each part of a sentence, and their number of tokens."""
    if max(map(len, batch)) > MAX_SENTENCE:
        batch = [
            part[at : at + MAX_SENTENCE] for part in batch for at in range(0, len(part) or 1, MAX_SENTENCE)
        ]
    lengths = np.fromiter(map(len, batch), np.int64, len(batch))
    n = int(lengths.sum())
    tokens = np.full(n + len(batch), -1, np.int32)
    words = np.ones(len(tokens), bool)
    words[np.cumsum(lengths + 1) - 1] = False
    tokens[words] = np.fromiter(map(ids.__getitem__, chain.from_iterable(batch)), np.int32, n)
    return tokens, n
