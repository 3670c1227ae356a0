"""Encodes a corpus as a memory-mapped file of word ids, or as a stream of the same ids that is read again in
every epoch. Its words are counted and encoded in one reading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus import cache
from wordvec_ca.corpus.options import EVERY_WORD, TextOptions
from wordvec_ca.corpus.reading import Reading, ReadingProgress
from wordvec_ca.corpus.sentence_file import MAX_SENTENCE
from wordvec_ca.corpus.source import Corpus, Source
from wordvec_ca.corpus.stats import CorpusStats, Encoding
from wordvec_ca.corpus.vocab import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file
from wordvec_ca.text import Documents, Sessions, tokenize

# Number of tokens at the beginning that stay in memory, to inspect attention after training.
OPENING = 20_000


class TokenStream:
    """Word ids of a text that are never stored: each pass reads the text again, and must find the same ids.

    ``stats`` are of the first pass, which is made at once; ``opening`` has the first ids, some 20,000.
    """

    def __init__(self, begin: Callable[[], Reading]) -> None:
        self._begin = begin
        self._length = 0
        self.fingerprint = ""
        opening: list[NDArray[np.int32]] = []
        length = 0
        reading = begin()
        for ids in reading.stream():
            if length < OPENING:
                opening.append(ids[: OPENING - length])
            length += len(ids)
        self.opening = np.concatenate(opening)
        self.stats: CorpusStats = reading.stats
        self._length, self.fingerprint = length, reading.fingerprint

    def __len__(self) -> int:
        """Return the number of ids, those of line ends included."""
        return self._length

    def blocks(self) -> Generator[NDArray[np.int32]]:
        """Yield all ids, some at a time, with -1 after each line."""
        reading = self._begin()
        length = 0
        with closing(reading.stream()) as blocks:
            for ids in blocks:
                length += len(ids)
                if length > self._length:
                    break
                yield ids
        if length != self._length or reading.fingerprint != self.fingerprint:
            raise DataError(
                "the corpus has changed since its words were counted, and without a cache it is read in "
                "every epoch; leave it as it is while the run lasts, or train with a cache"
            )


__all__ = [
    "MAX_SENTENCE",
    "Corpus",
    "CorpusStats",
    "EncodedCorpus",
    "ReadingProgress",
    "count_corpus",
    "encode_corpus",
    "stream_corpus",
    "tokenize",
    "write_vocabulary",
]


class EncodedCorpus:
    """A corpus as word ids on disk, made by `encode_corpus`; a context manager that closes it."""

    # tokens: shape (n,), int32, read-only; Ids (rows of the vocabulary), -1 after each line, also the last. A
    # TokenStream reads them again in each pass (see `stream_corpus`).
    # fingerprint: Digest of tokens, vocabulary and tokeniser: equal if training would get the same input.
    # directory: Folder of ``tokens.i32``, ``vocab.tsv`` and ``cache.json``; None if they are not kept.
    # reused, reason: Whether an earlier cache was used; why the text was read again, or why not.
    # documents: The documents of the lines, if the lines are documents.
    # starts: Where documents of several lines begin, if there are some (``group_by``, or `Documents`).
    # sorted_log: The log that was read, if sessions of it are held out (``test_last``).

    def __init__(
        self,
        tokens: NDArray[np.int32] | TokenStream,
        encoding: Encoding,
        directory: Path | None,
        *,
        reused: bool,
        reason: str,
        sorted_log: Sessions | None = None,
    ) -> None:
        self.tokens = tokens
        self.vocab, self.stats, self.fingerprint, self.documents, self.starts = encoding
        if self.starts is not None:
            self.fingerprint += f"-{self.starts.digest}"
        self.directory, self.reused, self.reason = directory, reused, reason
        self.sorted_log = sorted_log

    def close(self) -> None:
        """Release the tokens. If the files are not kept, their space is freed once no array refers to it."""
        self.tokens = np.empty(0, dtype=np.int32)

    def __enter__(self) -> EncodedCorpus:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"EncodedCorpus({self.stats.kept_tokens:,} tokens, {len(self.vocab):,} words)"


def encode_corpus(
    corpus: Corpus,
    options: TextOptions | None = None,
    *,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str],
    keep: bool = False,
    progress: ReadingProgress | None = None,
) -> EncodedCorpus:
    r"""Read a corpus once; return its word ids, memory-mapped, and its vocabulary."""
    options, vocab = _ready(options), _loaded(vocab)
    source = Source(corpus, options)
    directory = Path(cache_dir)
    recipe = cache.recipe(source.identified, options, vocab) if keep else {}

    def kept() -> EncodedCorpus | str:
        found = cache.find(directory, recipe)
        if isinstance(found, str):
            return found
        if vocab is not None:  # the same words, but the counts of rare ones may have become others
            found = found._replace(vocab=vocab)
        reason = "corpus, tokenizer and vocabulary are unchanged"
        return EncodedCorpus(cache.tokens(directory), found, directory, reused=True, reason=reason)

    if keep:  # the cache may be in a folder that is not writable
        with cache.locked(directory):
            if not isinstance(found := kept(), str):
                return found
    reading, log = Reading(source, options, vocab, progress, directory=directory), source.sorted_log
    with ExitStack() as stack:
        stack.enter_context(cache.directory_for(directory))
        stack.enter_context(cache.explaining_full_disk(directory, reading.bytes_needed))
        if not keep:
            with cache.nameless_file(directory) as spill, cache.nameless_file(directory) as out:
                made = reading.encode(spill, out)
                tokens: NDArray[np.int32] = np.memmap(out, dtype=np.int32, mode="r")
            made = made._replace(starts=reading.starts(tokens))
            reason = "the cache is not to be kept"
            return EncodedCorpus(tokens, made, None, reused=False, reason=reason, sorted_log=log)
        stack.enter_context(cache.locked(directory))
        if not isinstance(found := kept(), str):  # another run has encoded the same text meanwhile
            return found
        with cache.nameless_file(directory) as spill:
            with atomic_file(directory / cache.TOKENS, follow_links=False) as out:
                made = reading.encode(spill, out)
                cache.invalidate(directory)
            made = made._replace(starts=reading.starts(cache.tokens(directory)))
            given = options.documents and options.tag_field
            cache.complete(directory, recipe, made, source.records.tags if given else None)
        tokens = cache.tokens(directory)
        return EncodedCorpus(tokens, made, directory, reused=False, reason=found, sorted_log=log)


def reopen_corpus(
    cache_dir: str | os.PathLike[str], corpus: Corpus | None = None
) -> tuple[EncodedCorpus, str | None] | None:
    """Open the files that `encode_corpus` kept, without reading the text."""
    directory = Path(cache_dir)
    with cache.locked(directory):
        found = cache.reopen(directory, corpus)
        if isinstance(found, str):
            return None
        tokens = cache.tokens(directory)
    encoding, change = found
    return EncodedCorpus(tokens, encoding, directory, reused=True, reason="the run continues"), change


def stream_corpus(
    corpus: Corpus,
    options: TextOptions | None = None,
    *,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    progress: ReadingProgress | None = None,
) -> EncodedCorpus:
    """Encode as `encode_corpus` does, but without storing ids: every pass reads the text again."""
    # The text is read once to count its words (unless a vocabulary is given), once to learn how many ids it
    # becomes, and then once per pass.
    Source.check_repeatable(corpus)
    options, vocab = _ready(options), _loaded(vocab)
    if options.group_by is not None or isinstance(corpus, Documents):
        raise DataError("where documents begin is kept with the encoded text: encode it")
    files = cache.identities(Source(corpus, options).files)
    counted: CorpusStats | None = None
    if vocab is None:
        reading = Reading(Source(corpus, options), options, None, progress)
        vocab = reading.count()
        counted = reading.stats

    def begin() -> Reading:
        source = Source(corpus, options)
        if change := cache.difference(files, cache.identities(source.files)):
            raise DataError(
                f"{change} since the run began, and without a cache the text is read again in every epoch; "
                "leave it as it is while the run lasts, or train with a cache"
            )
        return Reading(source, options, vocab)

    tokens = TokenStream(begin)
    stats = tokens.stats
    if counted is not None:
        seconds = counted.seconds_reading + stats.seconds_reading
        merging = counted.seconds_merging + stats.seconds_merging
        stats = replace(stats, raw_types=counted.raw_types, seconds_reading=seconds, seconds_merging=merging)
    encoding = Encoding(vocab, stats, tokens.fingerprint)
    return EncodedCorpus(tokens, encoding, None, reused=False, reason="no cache was wanted")


def count_corpus(
    corpus: Corpus, options: TextOptions = EVERY_WORD, *, progress: ReadingProgress | None = None
) -> tuple[Vocab, CorpusStats]:
    """Count the words of a corpus. Parameters and errors as in `encode_corpus`."""
    # Nothing is written, unless the different words do not fit into ``count_memory``: then they go to
    # temporary files in the system's directory for these.
    options = _ready(options)
    reading = Reading(Source(corpus, options), options, None, progress)
    return reading.count(), reading.stats


def write_vocabulary(
    corpus: Corpus,
    output: str | os.PathLike[str],
    options: TextOptions = EVERY_WORD,
    *,
    progress: ReadingProgress | None = None,
) -> tuple[int, CorpusStats]:
    """Count the words of a corpus and write them to a file, even if they do not fit into memory."""
    # Parameters and errors are as in `encode_corpus`; ``Vocab.load`` reads the file ``output``.
    options = _ready(options)
    reading = Reading(Source(corpus, options), options, None, progress)
    return reading.write_vocab(output), reading.stats


def _ready(options: TextOptions | None) -> TextOptions:
    """Return the options with their phrases loaded from the file."""
    options = options or TextOptions()
    return replace(options, phrases=options.loaded_phrases())


def _loaded(vocab: Vocab | str | os.PathLike[str] | None) -> Vocab | None:
    return vocab if vocab is None or isinstance(vocab, Vocab) else Vocab.load(vocab)
