"""A corpus becomes a memory-mapped file of word ids: read once, counted and encoded at the same time."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordvec_ca import cache
from wordvec_ca.atomic_file import atomic_file
from wordvec_ca.encoding import MAX_SENTENCE, Corpus, CorpusStats, Progress, Reading, Source
from wordvec_ca.errors import DataError
from wordvec_ca.joining import Phrases
from wordvec_ca.kernels._text import Lexicon
from wordvec_ca.text import BLOCK_BYTES, TextFiles, is_words, tokenize
from wordvec_ca.token_stream import TokenStream
from wordvec_ca.vocab import Vocab, lowest_count

__all__ = [
    "MAX_SENTENCE",
    "Corpus",
    "CorpusPlan",
    "CorpusStats",
    "EncodedCorpus",
    "Progress",
    "count_corpus",
    "encode_corpus",
    "plan_corpus",
    "stream_corpus",
    "tokenize",
    "write_vocabulary",
]


class EncodedCorpus:
    """A corpus as word ids on disk, made by `encode_corpus`; a context manager that closes itself.

    Attributes
    ----------
    tokens : memmap of shape (n,), int32, read-only, or TokenStream
        Ids (rows of the vocabulary), -1 after each line; the last element is -1. A TokenStream reads them
        anew in each pass (see `stream_corpus`).
    vocab : Vocab
    stats : CorpusStats
    fingerprint : str
        Hexadecimal digest of tokens, vocabulary and tokeniser: equal if training would see the same.
    directory : Path or None
        Where ``tokens.i32``, ``vocab.tsv`` and ``cache.json`` are; None if they are not kept.
    reused : bool
        Whether an earlier cache was used.
    reason : str
        Why the text was read again, or what was reused.
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
    ) -> None:
        self.tokens = tokens
        self.vocab = vocab
        self.stats = stats
        self.fingerprint = fingerprint
        self.directory = directory
        self.reused = reused
        self.reason = reason

    def close(self) -> None:
        """Let go of the tokens; unless they are kept, their space is free once nobody holds the array."""
        self.tokens = np.empty(0, dtype=np.int32)

    def __enter__(self) -> EncodedCorpus:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"EncodedCorpus({self.stats.kept_tokens:,} tokens, {len(self.vocab):,} words)"


def encode_corpus(
    corpus: Corpus,
    *,
    tokenizer: str = "words",
    lowercase: bool = True,
    min_count: int = 5,
    max_final_vocab: int | None = None,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    field: str | None = None,
    count_memory: int | None = None,
    phrases: Phrases | str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str],
    keep: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> EncodedCorpus:
    r"""Read a corpus once; return its word ids, memory-mapped, and its vocabulary.

    Parameters
    ----------
    corpus : path, list of paths, binary stream, or iterable
        A path or a list of paths: files (plain, gzip, bzip2, xz or zstd, recognised by content), directories,
        patterns, or ``-`` for standard input; one sentence or paragraph a line. Or an open binary stream.
        Or any other iterable, one-shot or not, of token lists (taken as they are) or of str lines.
    tokenizer : {"words", "whitespace"}, default "words"
        How text is split (docs/tokenising.md); token lists are not.
    lowercase : bool, default True
        Map text to lower case; token lists are not.
    min_count : int, default 5
        Drop words that occur less often.
    max_final_vocab : int, optional
        Keep at most so many words, by raising ``min_count`` (see `Vocab.prune`).
    vocab : Vocab or path, optional
        Use exactly these words, with their counts and order; ``min_count`` and ``max_final_vocab`` then mean
        nothing (call ``vocab.prune`` for that).
    field : str, optional
        The files are JSON lines, and this field of each object is the text (docs/corpora.md).
    count_memory : int, optional
        MiB that different words and their counts may take while they are counted; beyond that they go to
        temporary files. By default a quarter of what is free, at most 1024. What comes out is the same.
    phrases : Phrases or path, optional
        Sequences of words that become one token each, joined by ``_`` (docs/corpora.md); a path is read with
        ``Phrases.load``.
    cache_dir : path
        Directory for ``tokens.i32`` and the temporary file; made if it is not there. Both together need up
        to 8 bytes a token.
    keep : bool, default False
        Leave ``tokens.i32``, ``vocab.tsv`` and ``cache.json`` in ``cache_dir`` and use them instead of the
        text if neither the files nor any of the options above have changed since (size, time and a digest of
        both ends of each file are compared). Only files can be recognised, not streams and iterables.
    workers : int, optional
        Threads that tokenise; by default one per usable CPU.
    progress : callable, optional
        Called with (bytes done, bytes in all or None, tokens so far) after each block.
    block_bytes : int, default 2**20
        About so much text is handed to a worker at a time.

    Returns
    -------
    EncodedCorpus

    Raises
    ------
    DataError
        The corpus is missing, unreadable, damaged, binary or without words; no word is frequent enough; a
        token list holds something that is not a word; or the disk is full.
    ValueError
        An option is out of range.
    """
    words = is_words(tokenizer)
    if phrases is not None and not isinstance(phrases, Phrases):
        phrases = Phrases.load(phrases)
    workers = _usable_cpus() if workers is None else workers
    _check(workers, block_bytes, min_count, max_final_vocab, count_memory)
    if vocab is not None and not isinstance(vocab, Vocab):
        vocab = Vocab.load(vocab)
    source = Source(corpus, field, workers)
    directory = Path(cache_dir)
    recipe = {}
    reason = "the cache is not to be kept"
    if keep:
        recipe = cache.recipe(
            source.files,
            vocab,
            tokenizer=tokenizer,
            lowercase=lowercase,
            min_count=min_count,
            max_final_vocab=max_final_vocab,
            field=field,
            phrases=None if phrases is None else phrases.digest,
        )
        found = cache.find(directory, recipe)
        if not isinstance(found, str):
            reason = "corpus, tokenizer and vocabulary are unchanged"
            return EncodedCorpus(_map(directory), *found, directory=directory, reused=True, reason=reason)
        reason = found

    memory = None if count_memory is None else count_memory << 20
    reading = Reading(
        source, words, lowercase, vocab, workers, progress, block_bytes, memory, directory, phrases
    )
    with (
        cache.directory_for(directory),
        cache.enough_disk(directory, reading.bytes_needed),
        cache.nameless_file(directory) as spill,
    ):
        if keep:
            with atomic_file(directory / "tokens.i32") as out:
                made = reading.encode(spill, out, min_count, max_final_vocab)
                cache.forget(directory)
            cache.remember(directory, recipe, made)
            tokens = _map(directory)
        else:
            with cache.nameless_file(directory) as out:
                made = reading.encode(spill, out, min_count, max_final_vocab)
                tokens = np.memmap(out, dtype=np.int32, mode="r")
    return EncodedCorpus(tokens, *made, directory=directory if keep else None, reused=False, reason=reason)


def _map(directory: Path) -> NDArray[np.int32]:
    return np.memmap(directory / "tokens.i32", dtype=np.int32, mode="r")


def stream_corpus(
    corpus: Corpus,
    *,
    tokenizer: str = "words",
    lowercase: bool = True,
    min_count: int = 5,
    max_final_vocab: int | None = None,
    vocab: Vocab | str | os.PathLike[str] | None = None,
    field: str | None = None,
    count_memory: int | None = None,
    phrases: Phrases | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> EncodedCorpus:
    """Give the ids that `encode_corpus` would, but store none: every pass over them reads the text anew.

    The text is read once to count its words (unless a vocabulary is given), once to learn how many ids it
    becomes, and then once per pass.

    Parameters
    ----------
    corpus, tokenizer, lowercase, min_count, max_final_vocab, vocab, field, count_memory, phrases, workers
        As in `encode_corpus`; but the corpus must be something that can be read again: files, or a collection
        such as a list.
    progress, block_bytes
        As in `encode_corpus`.

    Returns
    -------
    EncodedCorpus
        Its ``tokens`` are a `TokenStream`; the fingerprint is that of the encoded corpus.

    Raises
    ------
    DataError, ValueError
        As in `encode_corpus`; and a DataError if the corpus can be read only once.
    """
    Source.check_repeatable(corpus)
    if isinstance(vocab, str | os.PathLike):
        vocab = Vocab.load(vocab)
    words = is_words(tokenizer)
    if phrases is not None and not isinstance(phrases, Phrases):
        phrases = Phrases.load(phrases)
    workers = _usable_cpus() if workers is None else workers
    _check(workers, block_bytes, min_count, max_final_vocab, count_memory)
    files = cache.identities(Source(corpus, field, workers).files)
    counted: CorpusStats | None = None
    if vocab is None:
        source, memory = Source(corpus, field, workers), None if count_memory is None else count_memory << 20
        reading = Reading(
            source, words, lowercase, None, workers, progress, block_bytes, memory, phrases=phrases
        )
        vocab = reading.count(min_count, max_final_vocab)
        counted = reading.stats

    def begin() -> Reading:
        source = Source(corpus, field, workers)
        if change := cache.difference(files, cache.identities(source.files)):
            raise DataError(
                f"{change} since the run began, and without a cache the text is read anew in every epoch; "
                "leave it as it is while the run lasts, or train with a cache"
            )
        return Reading(source, words, lowercase, vocab, workers, None, block_bytes, phrases=phrases)

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
    corpus: Corpus,
    *,
    tokenizer: str = "words",
    lowercase: bool = True,
    min_count: int = 1,
    max_final_vocab: int | None = None,
    field: str | None = None,
    count_memory: int | None = None,
    phrases: Phrases | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> tuple[Vocab, CorpusStats]:
    """Count the words of a corpus. Parameters and errors as in `encode_corpus`.

    Nothing is written, unless there are more different words than ``count_memory`` has room for: then there
    are temporary files in the system's directory for them.

    Returns
    -------
    vocab : Vocab
    stats : CorpusStats
        With ``kept_tokens`` and ``oov_tokens`` for this vocabulary.
    """
    _check(workers, block_bytes, min_count, max_final_vocab, count_memory)
    reading = _counting(
        corpus, tokenizer, lowercase, field, count_memory, phrases, workers, progress, block_bytes
    )
    return reading.count(min_count, max_final_vocab), reading.stats


def write_vocabulary(
    corpus: Corpus,
    output: str | os.PathLike[str],
    *,
    tokenizer: str = "words",
    lowercase: bool = True,
    min_count: int = 1,
    max_final_vocab: int | None = None,
    field: str | None = None,
    count_memory: int | None = None,
    phrases: Phrases | str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> tuple[int, CorpusStats]:
    """Count the words of a corpus and write them to a file, even if they do not fit into memory.

    Parameters and errors as in `encode_corpus`; ``output`` is what ``Vocab.load`` reads.

    Returns
    -------
    n_words : int
    stats : CorpusStats
    """
    _check(workers, block_bytes, min_count, max_final_vocab, count_memory)
    reading = _counting(
        corpus, tokenizer, lowercase, field, count_memory, phrases, workers, progress, block_bytes
    )
    return reading.write_vocab(output, min_count, max_final_vocab), reading.stats


def _counting(
    corpus: Corpus,
    tokenizer: str,
    lowercase: bool,
    field: str | None,
    count_memory: int | None,
    phrases: Phrases | str | os.PathLike[str] | None,
    workers: int | None,
    progress: Progress | None,
    block_bytes: int,
) -> Reading:
    words = is_words(tokenizer)
    if phrases is not None and not isinstance(phrases, Phrases):
        phrases = Phrases.load(phrases)
    workers = _usable_cpus() if workers is None else workers
    memory = None if count_memory is None else count_memory << 20
    source = Source(corpus, field, workers)
    return Reading(source, words, lowercase, None, workers, progress, block_bytes, memory, phrases=phrases)


@dataclass(frozen=True)
class CorpusPlan:
    """What encoding a corpus will need, estimated from a sample.

    Attributes
    ----------
    files : int
    bytes : int
        Bytes of all files, before decompression.
    text_bytes, tokens : int
        Estimated bytes of text and tokens in it.
    cache_bytes : int
        Upper bound of the size of ``tokens.i32``, unless the sample misleads.
    peak_bytes : int
        The same with the temporary file that exists while encoding.
    """

    files: int
    bytes: int
    text_bytes: int
    tokens: int
    cache_bytes: int
    peak_bytes: int


def plan_corpus(
    corpus: Corpus, *, tokenizer: str = "words", field: str | None = None, sample_bytes: int = 1 << 22
) -> CorpusPlan | None:
    """Estimate the size of an encoded corpus from a sample spread over its files.

    Parameters
    ----------
    corpus, tokenizer, field
        As in `encode_corpus`.
    sample_bytes : int, default 4 MiB
        About so much text is read in all.

    Returns
    -------
    CorpusPlan or None
        None for standard input, streams and iterables, which can be read only once.
    """
    words = is_words(tokenizer)
    source = Source(corpus, field)
    if source.files is None or source.files.bytes_total is None:
        return None
    paths = [str(file) for file in source.files.files]
    spread = sorted(range(len(paths)), key=lambda i: i * 0.618034 % 1)  # neighbours are often alike
    read = text = ids = 0
    for i in spread[:256]:
        file = TextFiles([paths[i]], field)
        enough = text + sample_bytes // 8
        for piece in file.pieces():
            ids += len(Lexicon().read_text(piece, words, True)[0])
            text += len(piece)
            if text >= enough:
                break
        read += file.bytes_read
        if text >= sample_bytes:
            break
    total = source.files.bytes_total
    scale = total / max(read, 1)
    bound = int(ids * scale * 1.2) * 4 + 4096
    return CorpusPlan(
        files=len(paths),
        bytes=total,
        text_bytes=int(text * scale),
        tokens=int(ids * scale),
        cache_bytes=bound,
        peak_bytes=2 * bound,
    )


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check(
    workers: int | None,
    block_bytes: int,
    min_count: int,
    max_final_vocab: int | None,
    count_memory: int | None,
) -> None:
    if workers is not None and not 1 <= workers <= 1024:
        raise ValueError(f"workers must be 1 to 1024; got {workers}")
    if block_bytes < 1:
        raise ValueError(f"block_bytes must be 1 or more; got {block_bytes}")
    if count_memory is not None and count_memory < 1:
        raise ValueError(f"count_memory must be 1 (MiB) or more; got {count_memory}")
    lowest_count(np.empty(0, dtype=np.int64), min_count, max_final_vocab)
