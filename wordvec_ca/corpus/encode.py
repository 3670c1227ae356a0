"""Encodes a corpus as a memory-mapped file of word ids. Its words are counted and encoded in one reading."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus import cache
from wordvec_ca.corpus.document_starts import DocumentStarts
from wordvec_ca.corpus.documents import DocumentTags
from wordvec_ca.corpus.options import EVERY_WORD, TextOptions
from wordvec_ca.corpus.reading import Reading, ReadingProgress
from wordvec_ca.corpus.sentence_file import MAX_SENTENCE
from wordvec_ca.corpus.source import Corpus, Source
from wordvec_ca.corpus.stats import CorpusStats
from wordvec_ca.corpus.stream import TokenStream
from wordvec_ca.corpus.vocab import Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file
from wordvec_ca.text import Documents, tokenize

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
    """A corpus as word ids on disk, made by `encode_corpus`; a context manager that closes it.

    Attributes
    ----------
    tokens : memmap of shape (n,), int32, read-only, or TokenStream
        Ids (rows of the vocabulary), -1 after each line; the last element is -1. A TokenStream reads them
        again in each pass (see `stream_corpus`).
    vocab : Vocab
    stats : CorpusStats
    fingerprint : str
        Hexadecimal digest of tokens, vocabulary and tokeniser: equal if training would get the same input.
    directory : Path or None
        Folder of ``tokens.i32``, ``vocab.tsv`` and ``cache.json``; None if they are not kept.
    reused : bool
        Whether an earlier cache was used.
    reason : str
        Why the text was read again, or which files were reused.
    documents : DocumentTags or None
        The documents of the lines, if the lines are documents.
    starts : DocumentStarts or None
        Where documents of several lines begin, if there are some (``group_by``, or a corpus of `Documents`).
    """

    def __init__(
        self,
        tokens: NDArray[np.int32] | TokenStream,
        vocab: Vocab,
        stats: CorpusStats,
        fingerprint: str,
        *,
        directory: Path | None,
        reused: bool,
        reason: str,
        documents: DocumentTags | None = None,
        starts: DocumentStarts | None = None,
    ) -> None:
        self.documents, self.starts = documents, starts
        self.tokens = tokens
        self.vocab = vocab
        self.stats = stats
        self.fingerprint = fingerprint if starts is None else f"{fingerprint}-{starts.digest}"
        self.directory = directory
        self.reused = reused
        self.reason = reason

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
    options = _ready(options)
    vocab = _loaded(vocab)
    source = Source(corpus, options)
    directory = Path(cache_dir)
    recipe = cache.recipe(source.identified, options, vocab) if keep else {}

    def kept() -> EncodedCorpus | str:
        found = cache.find(directory, recipe)
        if isinstance(found, str):
            return found
        reason = "corpus, tokenizer and vocabulary are unchanged"
        return EncodedCorpus(
            cache.tokens(directory),
            *found,
            directory=directory,
            reused=True,
            reason=reason,
            documents=cache.tags(directory, found),
            starts=cache.starts(directory),
        )

    if keep:  # the cache may be in a folder that is not writable
        with cache.locked(directory):
            if not isinstance(found := kept(), str):
                return found
    reading = Reading(source, options, vocab, progress, directory=directory)
    with ExitStack() as stack:
        stack.enter_context(cache.directory_for(directory))
        stack.enter_context(cache.explaining_full_disk(directory, reading.bytes_needed))
        if not keep:
            with cache.nameless_file(directory) as spill, cache.nameless_file(directory) as out:
                made = reading.encode(spill, out)
                tokens = np.memmap(out, dtype=np.int32, mode="r")
            reason = "the cache is not to be kept"
            starts = None if reading.kept_tokens is None else reading.kept_tokens.starts(tokens)
            return EncodedCorpus(
                *(tokens, *made),
                directory=None,
                reused=False,
                reason=reason,
                documents=reading.tags,
                starts=starts,
            )
        stack.enter_context(cache.locked(directory))
        if not isinstance(found := kept(), str):  # another run has encoded the same text meanwhile
            return found
        with cache.nameless_file(directory) as spill:
            with atomic_file(directory / cache.TOKENS, follow_links=False) as out:
                made = reading.encode(spill, out)
                cache.invalidate(directory)
            given = options.documents and options.tag_field
            starts = None
            if reading.kept_tokens is not None:
                starts = reading.kept_tokens.starts(cache.tokens(directory))
            cache.complete(directory, recipe, made, source.records.tags if given else None, starts)
        return EncodedCorpus(
            cache.tokens(directory),
            *made,
            directory=directory,
            reused=False,
            reason=found,
            documents=reading.tags,
            starts=starts,
        )


def reopen_corpus(
    cache_dir: str | os.PathLike[str], corpus: Corpus | None = None
) -> tuple[EncodedCorpus, str | None] | None:
    """Open the files that `encode_corpus` kept, without reading the text."""
    directory = Path(cache_dir)
    with cache.locked(directory):
        found = cache.reopen(directory, corpus)
        if isinstance(found, str):
            return None
        encoding, change = found
        tokens, documents = cache.tokens(directory), cache.tags(directory, encoding)
        starts = cache.starts(directory)
    reason = "the run continues"
    return EncodedCorpus(
        *(tokens, *encoding),
        directory=directory,
        reused=True,
        reason=reason,
        documents=documents,
        starts=starts,
    ), change


def stream_corpus(
    corpus: Corpus,
    options: TextOptions | None = None,
    *,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    progress: ReadingProgress | None = None,
) -> EncodedCorpus:
    """Encode as `encode_corpus` does, but without storing ids: every pass reads the text again.

    The text is read once to count its words (unless a vocabulary is given), once to learn how many ids it
    becomes, and then once per pass.
    """
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
    reason = "no cache was wanted"
    return EncodedCorpus(
        tokens, vocab, stats, tokens.fingerprint, directory=None, reused=False, reason=reason
    )


def count_corpus(
    corpus: Corpus, options: TextOptions = EVERY_WORD, *, progress: ReadingProgress | None = None
) -> tuple[Vocab, CorpusStats]:
    """Count the words of a corpus. Parameters and errors as in `encode_corpus`.

    Nothing is written, unless the different words do not fit into ``count_memory``: then they go to temporary
    files in the system's directory for these.
    """
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
    """Count the words of a corpus and write them to a file, even if they do not fit into memory.

    Parameters and errors are as in `encode_corpus`; ``Vocab.load`` reads the file ``output``.
    """
    options = _ready(options)
    reading = Reading(Source(corpus, options), options, None, progress)
    return reading.write_vocab(output), reading.stats


def _ready(options: TextOptions | None) -> TextOptions:
    """Return the options with their phrases loaded from the file."""
    options = options or TextOptions()
    return replace(options, phrases=options.loaded_phrases())


def _loaded(vocab: Vocab | str | os.PathLike[str] | None) -> Vocab | None:
    return vocab if vocab is None or isinstance(vocab, Vocab) else Vocab.load(vocab)
