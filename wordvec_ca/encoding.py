"""One reading of a corpus: tokens to provisional ids while counting, then provisional ids to final ones.

The calling thread reads, decompresses and cuts the text into blocks; worker threads turn each block into
provisional ids, each worker with a lexicon of its own; the ids go to a temporary file in the order of the
text. When all is read the lexicons are merged, rare words dropped and the final ids written. The result does
not depend on the number of workers, the size of the blocks, compression or how the text is spread over files.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import chain, count
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.in_order import in_order, prompt_exit
from wordvec_ca.joining import Phrases
from wordvec_ca.kernels._text import LINE_END, Lexicon, renumber
from wordvec_ca.spilled_types import SpilledTypes, free_memory, memory_for_types
from wordvec_ca.text import BLOCK_BYTES, TextFiles, cut_into_blocks, find_files, is_stream, line_pieces
from wordvec_ca.vocab import Vocab, lowest_count, nothing_left, save_lines

if TYPE_CHECKING:
    from wordvec_ca.kernels._text import Renumbered, TextStats

MAX_SENTENCE = 10_000
"""Tokens after which a line is split."""

BYTES_PER_WORD = 200
"""Memory that a word takes, more or less, while a vocabulary is made."""

Corpus = str | os.PathLike[str] | IO[bytes] | Iterable[Any]
Progress = Callable[[int, int | None, int], None]
FinalIds = Callable[[int], NDArray[np.int32]]


@dataclass(frozen=True)
class CorpusStats:
    """What was found while a corpus was read.

    Attributes
    ----------
    files : int
        Files read (0 for a Python iterable).
    bytes : int
        Bytes read, before decompression.
    text_bytes : int
        Bytes of text.
    lines : int
        Line ends in the text.
    sentences : int
        Lines written: those with a kept word, after splitting.
    raw_tokens, raw_types : int
        Tokens and different words in the text (``raw_types`` is 0 if a vocabulary was given: only its words
        were looked for).
    kept_tokens, oov_tokens : int
        Tokens in and out of the vocabulary; they add up to ``raw_tokens``.
    split_lines : int
        Cuts made in lines of more than ``MAX_SENTENCE`` kept tokens.
    cut_tokens : int
        Cuts made in tokens of more than 1,000 bytes.
    repaired_utf8 : int
        Invalid UTF-8 sequences that were read as U+FFFD.
    first_repaired : str or None
        File and line of the first of them.
    records : dict of str to int
        What was met in JSON lines and Wikipedia dumps, and how often (docs/corpora.md).
    seconds_reading, seconds_merging, seconds_renumbering : float
        Wall-clock time of the three stages.
    """

    files: int = 0
    bytes: int = 0
    text_bytes: int = 0
    lines: int = 0
    sentences: int = 0
    raw_tokens: int = 0
    raw_types: int = 0
    kept_tokens: int = 0
    oov_tokens: int = 0
    split_lines: int = 0
    cut_tokens: int = 0
    repaired_utf8: int = 0
    first_repaired: str | None = None
    records: dict[str, int] = field(default_factory=dict)
    seconds_reading: float = 0.0
    seconds_merging: float = 0.0
    seconds_renumbering: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that JSON can hold."""
        return asdict(self)


class Encoding(NamedTuple):
    """What an encoding consists of besides the ids."""

    vocab: Vocab
    stats: CorpusStats
    fingerprint: str


class Source:
    """What a user may call a corpus: ``files``, or an iterable of ``lines`` or of ``token_lists``.

    Parameters
    ----------
    corpus : Corpus
        As in ``encode_corpus``.
    field : str, optional
        The files are JSON lines; this field of each is the text.
    workers : int, default 1
        Threads or processes for what is slow to read.
    """

    def __init__(self, corpus: Corpus, field: str | None = None, workers: int = 1) -> None:
        self.files: TextFiles | None = None
        self.lines: Iterable[Any] | None = None
        self.token_lists: Iterable[Any] | None = None
        if isinstance(corpus, str | os.PathLike):
            self.files = TextFiles(find_files([corpus]), field, workers)
        elif is_stream(corpus):
            self.files = TextFiles([corpus], field, workers)  # type: ignore[list-item]
        elif isinstance(corpus, bytes | bytearray):
            raise DataError(
                "the corpus is bytes; give a path, an open binary file (io.BytesIO(data)) or an iterable"
            )
        elif (
            isinstance(corpus, list | tuple)
            and corpus
            and all(isinstance(x, str | os.PathLike) for x in corpus)
        ):
            self.files = TextFiles(find_files(corpus), field, workers)
        elif field is not None:
            raise ValueError("field is for files of JSON lines, not for a Python iterable: yield the texts")
        else:
            try:
                items = iter(corpus)  # type: ignore[arg-type]
            except TypeError as error:
                raise DataError(
                    f"the corpus is a {type(corpus).__name__}; give a path, a list of paths or an iterable "
                    "of token lists"
                ) from error
            for first in items:
                both = chain([first], items)
                if isinstance(first, str):
                    self.lines = both
                else:
                    self.token_lists = both
                break
            else:
                raise DataError(
                    "the corpus is empty: the iterable yields nothing (a generator can be used only once)"
                )

    @staticmethod
    def check_repeatable(
        corpus: Corpus, why: str = "without a cache the text is read again in every epoch"
    ) -> None:
        """Raise a DataError if a corpus can be read only once."""
        given = corpus if isinstance(corpus, list | tuple) else [corpus]
        if any(isinstance(name, str) and name == "-" for name in given):
            what = "standard input (-)"
        elif is_stream(corpus) or isinstance(corpus, Iterator):
            what = f"a {type(corpus).__name__}"
        else:
            return
        raise DataError(f"{what} can be read only once, but {why}; give files")


class Reading:
    """One reading of a corpus: lexicons, counts and the temporary file of provisional ids.

    Parameters
    ----------
    source : Source
        The corpus.
    words : bool
        Whether the tokenizer is "words".
    lowercase, vocab, workers, progress, block_bytes
        As in ``encode_corpus``.
    memory : int, optional
        Bytes that words and their counts may take; beyond them they go to disk.
    directory : path, optional
        Where they go then.
    phrases : Phrases, optional
        Joined into one token each.
    whole_lines : bool, default False
        Cut no line of less than ``LONGEST_RUN`` bytes into several blocks; so it is if there are phrases.
    """

    def __init__(
        self,
        source: Source,
        words: bool,
        lowercase: bool,
        vocab: Vocab | None,
        workers: int,
        progress: Progress | None,
        block_bytes: int = BLOCK_BYTES,
        memory: int | None = None,
        directory: str | os.PathLike[str] | None = None,
        phrases: Phrases | None = None,
        whole_lines: bool = False,
    ) -> None:
        self.source = source
        self.words = words
        self.lowercase = lowercase
        self.vocab = vocab
        self.workers = workers
        self.progress = progress
        self.block_bytes = block_bytes
        self.stats = CorpusStats()
        self.phrases = phrases
        self.whole_lines = whole_lines or phrases is not None
        if vocab is not None:
            words_read = vocab.words
            if phrases is not None:  # their parts must be seen even if they are no words of the vocabulary
                parts = {word for sequence in phrases.sequences for word in sequence}
                words_read = vocab.words + sorted(parts.difference(vocab.words))
            self.lexicons = [Lexicon(words_read)]  # closed: all threads may read with it
            if phrases is not None:
                self.lexicons[0].look_up_parts(phrases.table)
        else:
            self.lexicons = [Lexicon() for _ in range(1 if source.token_lists else workers)]
        self._numbers = list(
            range(len(self.lexicons))
        )  # of the lexicon in each place; each gets one for good
        self._next_number = count(len(self.lexicons))
        self._largest = (memory or memory_for_types()) // len(self.lexicons)
        self._spilled = SpilledTypes(directory)
        self._tally = {"text_bytes": 0, "lines": 0, "raw_tokens": 0, "cut_tokens": 0, "repaired_utf8": 0}
        self._line = 0  # line ends since the current file began
        self._first_repaired: str | None = None
        self.fingerprint = ""

    def count(self, min_count: int, max_final_vocab: int | None) -> Vocab:
        """Read everything; return the vocabulary."""
        with closing(self._spilled):
            self._read_all()
            vocab, _ = self._merge(min_count, max_final_vocab, with_ids=False)
        self._add_kept(vocab.total_count)
        return vocab

    def write_vocab(self, path: str | os.PathLike[str], min_count: int, max_final_vocab: int | None) -> int:
        """Read everything and write the vocabulary to a file, whatever its size; return its words."""
        with closing(self._spilled):
            self._read_all()
            if not self._spilled:
                vocab, _ = self._merge(min_count, max_final_vocab, with_ids=False)
                vocab.save(path)
                self._add_kept(vocab.total_count)
                return len(vocab)
            started = time.perf_counter()
            self._spill_all()
            counts, types = self._spilled.counts()
            least = max(1, lowest_count(counts, min_count, max_final_vocab, types))
            kept = counts >= least
            if not kept.any():
                raise nothing_left(counts, min_count, max_final_vocab, types)
            save_lines(path, self._spilled.lines(least))
            self.stats = replace(
                self.stats, raw_types=int(types.sum()), seconds_merging=time.perf_counter() - started
            )
            self._add_kept(int((counts * types)[kept].sum()))
            return int(types[kept].sum())

    def _read_all(self) -> None:
        with ThreadPoolExecutor(self.workers) as pool, prompt_exit(pool):
            for _ in self._read(pool):
                pass

    def _add_kept(self, tokens: int) -> None:
        self.stats = replace(self.stats, kept_tokens=tokens, oov_tokens=self.stats.raw_tokens - tokens)

    def encode(
        self, spill: IO[bytes], out: IO[bytes], min_count: int, max_final_vocab: int | None
    ) -> Encoding:
        """Read everything and write the final ids to ``out``."""
        blocks: list[tuple[int, int]] = []  # lexicon, number of ids
        with closing(self._spilled), ThreadPoolExecutor(self.workers) as pool, prompt_exit(pool):
            for lexicon, ids in self._read(pool):
                spill.write(ids.data)
                blocks.append((lexicon, len(ids)))
            vocab, final_of = self._merge(min_count, max_final_vocab, with_ids=True)

            started = time.perf_counter()
            digest = self._digest(vocab)
            written = SentenceFile(out, digest)

            def work(
                block: tuple[NDArray[np.int32], NDArray[np.int32]],
            ) -> tuple[NDArray[np.int32], Renumbered]:
                ids, final = block
                return renumber(ids, final, MAX_SENTENCE)

            read_back = ((ids, final_of(lexicon)) for lexicon, ids in _provisional(spill, blocks))
            for ids, found in in_order(pool, work, read_back, 2 * self.workers):
                written.write(ids, found)
            out.flush()
        self.stats = replace(self.stats, seconds_renumbering=time.perf_counter() - started)
        self._complete(written, vocab)
        return Encoding(vocab, self.stats, digest.hexdigest())

    def stream(self) -> Generator[NDArray[np.int32]]:
        """Read everything; yield the final ids of the given vocabulary, some at a time, and store nothing."""
        assert self.vocab is not None
        vocab, final = self.vocab, self._given_ids(self.vocab)
        digest = self._digest(vocab)
        ready = _Ready()
        written = SentenceFile(ready, digest)
        with ThreadPoolExecutor(self.workers) as pool, prompt_exit(pool):
            for _, ids in self._read(pool):
                written.write(*renumber(ids, final, MAX_SENTENCE))
                if ready.parts:
                    yield ready.take()
        self._complete(written, vocab)
        self.fingerprint = digest.hexdigest()

    def provisional(self) -> Iterator[NDArray[np.int32]]:
        """Read everything; yield the ids of the given vocabulary as they are, ABSENT among them."""
        with ThreadPoolExecutor(self.workers) as pool, prompt_exit(pool):
            for _, ids in self._read(pool):
                yield ids

    def _given_ids(self, vocab: Vocab) -> NDArray[np.int32]:
        """Return the ids of a given vocabulary, and -1 for parts of phrases that are no words of it."""
        ids = np.full(len(self.lexicons[0]), -1, dtype=np.int32)
        ids[: len(vocab)] = np.arange(len(vocab), dtype=np.int32)
        return ids

    def _digest(self, vocab: Vocab) -> hashlib.blake2b:
        digest = digest_vocab(vocab)
        digest.update(f"{self.words} {self.lowercase}".encode())
        return digest

    def _complete(self, written: SentenceFile, vocab: Vocab) -> None:
        """Add what is known after the final ids are written."""
        self.stats = replace(
            self.stats,
            sentences=written.sentences,
            split_lines=written.split,
            kept_tokens=written.kept,
            oov_tokens=self.stats.raw_tokens - written.kept,
        )
        if written.kept == 0:
            raise DataError(
                f"none of the {len(vocab):,} words of the vocabulary occurs in the corpus "
                f"({self.stats.raw_tokens:,} tokens); was it made with another tokenizer or case setting?"
            )

    def _read(self, pool: ThreadPoolExecutor) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Yield (number of the lexicon, provisional ids) of each block, in the order of the text."""
        started = time.perf_counter()
        files = self.source.files
        if self.source.token_lists is not None:
            yield from self._read_token_lists(self.source.token_lists)
        else:
            if files is not None:
                pieces = files.pieces()
            else:
                assert self.source.lines is not None
                pieces = line_pieces(self.source.lines)
            free: SimpleQueue[int] = SimpleQueue()
            for worker in range(self.workers):
                free.put(worker % len(self.lexicons))

            def read(text: bytes) -> tuple[int, bytes, NDArray[np.int32], TextStats]:
                place = free.get()
                try:
                    ids, found = self.lexicons[place].read_text(text, self.words, self.lowercase)
                    if self.phrases is not None:
                        n = self.lexicons[place].join(self.phrases.table, ids)
                        found["tokens"] -= len(ids) - n
                        ids = ids[:n]
                    number = self._numbers[place]
                    self._spill_if_large(place)
                finally:
                    free.put(place)
                return number, text, ids, found

            blocks = cut_into_blocks(pieces, self.block_bytes, whole_lines=self.whole_lines)
            for number, text, ids, found in in_order(pool, read, blocks, 2 * self.workers):
                self._add(text, found)
                yield number, ids
                self._report()
        if self._tally["text_bytes"] == 0 and not self._tally["raw_tokens"]:
            where = f"{len(files.files)} file(s), the first {files.place(0)[0]}" if files else "the iterable"
            raise DataError(f"the corpus is empty: there is no text in {where}")
        if self._tally["raw_tokens"] == 0:
            raise DataError("there is no word in the corpus: it is nothing but white space")
        self.stats = CorpusStats(
            files=len(files.files) if files else 0,
            bytes=files.bytes_read if files else self._tally["text_bytes"],
            first_repaired=self._first_repaired,
            records=dict(files.records) if files else {},
            seconds_reading=time.perf_counter() - started,
            **self._tally,
        )

    def _read_token_lists(self, token_lists: Iterable[Any]) -> Iterator[tuple[int, NDArray[np.int32]]]:
        ids = np.empty(1 << 18, dtype=np.int32)
        n = 0
        for number, sentence in enumerate(token_lists, 1):
            tokens = _tokens(sentence, number)
            if n + len(tokens) + 1 > len(ids):
                yield self._numbers[0], ids[:n]
                self._spill_if_large(0)
                self._report()
                ids = np.empty(max(1 << 18, len(tokens) + 1), dtype=np.int32)
                n = 0
            try:
                self.lexicons[0].read_tokens(tokens, ids[n:])
            except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
                raise _bad_token(tokens, number) from error
            length = len(tokens) + 1
            if self.phrases is not None:
                length = self.lexicons[0].join(self.phrases.table, ids[n : n + length])
            n += length
            self._tally["lines"] += 1
            self._tally["raw_tokens"] += length - 1
        yield self._numbers[0], ids[:n]
        self._report()

    def _spill_if_large(self, place: int) -> None:
        """Put a lexicon on disk and a new one in its place if it has grown too large."""
        if self.vocab is None and self.lexicons[place].nbytes > self._largest:
            self._spilled.add(self._numbers[place], self.lexicons[place])
            self.lexicons[place] = Lexicon()
            self._numbers[place] = next(self._next_number)

    def _spill_all(self) -> None:
        while self.lexicons:
            self._spilled.add(self._numbers.pop(), self.lexicons.pop())

    def _add(self, text: bytes, found: TextStats) -> None:
        """Count what was found in a block and find out where the first repair was."""
        tally = self._tally
        begin = tally["text_bytes"]
        files = self.source.files
        if files is not None and self._first_repaired is None:
            if found["repaired"]:
                name, start = files.place(begin + found["first_repaired"])
                lines = self._line if start < begin else 0
                before = text[max(start - begin, 0) : found["first_repaired"]]
                self._first_repaired = f"{name}, line {lines + _line_ends(before) + 1}"
            _, start = files.place(begin + len(text) - 1)
            if start >= begin:
                self._line = _line_ends(text[start - begin :])
            else:
                self._line += found["lines"]
        tally["text_bytes"] += len(text)
        tally["lines"] += found["lines"]
        tally["raw_tokens"] += found["tokens"]
        tally["cut_tokens"] += found["cut"]
        tally["repaired_utf8"] += found["repaired"]

    def _report(self) -> None:
        if self.progress is None:
            return
        files = self.source.files
        done = files.bytes_read if files else self._tally["text_bytes"]
        self.progress(done, files.bytes_total if files else None, self._tally["raw_tokens"])

    def bytes_needed(self) -> int | None:
        """Estimate the disk space of both files from what has been read so far."""
        files = self.source.files
        if files is None or not files.bytes_total or not files.bytes_read:
            return None
        return int(8 * self._tally["raw_tokens"] * files.bytes_total / files.bytes_read)

    def _merge(
        self, min_count: int, max_final_vocab: int | None, *, with_ids: bool
    ) -> tuple[Vocab, FinalIds]:
        """Return the vocabulary and what tells, for each lexicon, the final id (or -1) of its types."""
        started = time.perf_counter()
        if self.vocab is not None:
            vocab = self.vocab
            final = {0: self._given_ids(vocab)}
            final_of: FinalIds = final.__getitem__
        elif self._spilled:
            vocab, final_of = self._merge_spilled(min_count, max_final_vocab, with_ids=with_ids)
        else:
            whole = self.lexicons[0]
            ids: list[NDArray[np.int32] | None] = [None]
            for number in range(1, len(self.lexicons)):
                ids.append(whole.absorb(self.lexicons[number]))
                self.lexicons[number] = whole  # the memory of the other is free now
            counts = whole.counts()
            occurring = counts[counts > 0]  # others were joined wherever they occur
            least = max(1, lowest_count(occurring, min_count, max_final_vocab))
            words, kept, order = whole.rank(least)
            if not words:
                raise nothing_left(occurring, min_count, max_final_vocab)
            vocab = Vocab(words, kept, raw_tokens=int(counts.sum()), raw_types=len(occurring))
            target = np.full(len(counts), -1, dtype=np.int32)
            target[order] = np.arange(len(order), dtype=np.int32)
            final = {i: target if some is None else target[some] for i, some in enumerate(ids)}
            final_of = final.__getitem__
            self.stats = replace(self.stats, raw_types=len(occurring))
        self.lexicons = []
        self.stats = replace(self.stats, seconds_merging=time.perf_counter() - started)
        return vocab, final_of

    def _merge_spilled(
        self, min_count: int, max_final_vocab: int | None, *, with_ids: bool
    ) -> tuple[Vocab, FinalIds]:
        """Do the same with types on disk: in memory are those of a part, and those that are kept."""
        self._spill_all()
        counts, types = self._spilled.counts()
        least = max(1, lowest_count(counts, min_count, max_final_vocab, types))
        kept_types = int(types[counts >= least].sum())
        if kept_types == 0:
            raise nothing_left(counts, min_count, max_final_vocab, types)
        if kept_types * BYTES_PER_WORD > free_memory():
            raise DataError(
                f"{kept_types:,} of {int(types.sum()):,} words occur {least:,} times or more, too many for "
                f"the memory of this machine ({free_memory() / 1e9:,.1f} GB are free); raise min_count or "
                "set max_final_vocab (cawv vocab can write them all to a file)"
            )
        whole = self._spilled.gather(least, with_ids=with_ids)
        words, kept, order = whole.rank(least)
        raw_types = int(types.sum())
        vocab = Vocab(words, kept, raw_tokens=int((counts * types).sum()), raw_types=raw_types)
        target = np.full(len(whole) + 1, -1, dtype=np.int32)  # the last one is for what is not kept, -1
        target[order] = np.arange(len(order), dtype=np.int32)
        self.stats = replace(self.stats, raw_types=raw_types)

        @lru_cache(2 * self.workers)
        def final_of(number: int) -> NDArray[np.int32]:
            return target[self._spilled.ids(number)]

        return vocab, final_of


class SentenceFile:
    """Joins renumbered blocks; splits lines that go on from block to block after MAX_SENTENCE tokens."""

    def __init__(self, file: IO[bytes] | _Ready, digest: hashlib.blake2b) -> None:
        self.file = file
        self.digest = digest
        self.open = 0  # tokens of the line that has not ended yet
        self.sentences = self.split = self.kept = 0

    def write(self, ids: NDArray[np.int32], found: Renumbered) -> None:
        """Append a block."""
        head, rest = ids[: found["head"]], ids[found["head"] + found["closed"] :]
        while self.open + len(head) > MAX_SENTENCE:
            room = MAX_SENTENCE - self.open
            self._put(head[:room])
            self._end_line()
            self.split += 1
            head = head[room:]
        self._put(head)
        self.open += len(head)
        if found["closed"]:
            if self.open:
                self._end_line()
            self._put(rest)
            self.open = found["tail"]
        self.sentences += found["lines"]
        self.split += found["split"]
        self.kept += found["kept"]

    def _end_line(self) -> None:
        self._put(np.array([LINE_END], dtype=np.int32))
        self.sentences += 1
        self.open = 0

    def _put(self, ids: NDArray[np.int32]) -> None:
        self.file.write(ids.data)
        self.digest.update(ids.data)


class _Ready:
    """Ids on their way from a SentenceFile to whoever takes them."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.int32]] = []

    def write(self, data: memoryview) -> None:
        if len(data):
            self.parts.append(np.frombuffer(data, dtype=np.int32))

    def take(self) -> NDArray[np.int32]:
        ids = self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)
        self.parts = []
        return ids


def _provisional(spill: IO[bytes], blocks: list[tuple[int, int]]) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Read the provisional ids back: (lexicon, ids) of each block."""
    spill.seek(0)
    for lexicon, n in blocks:
        yield lexicon, np.frombuffer(spill.read(4 * n), dtype=np.int32)


def _tokens(sentence: Any, number: int) -> list[Any]:
    if isinstance(sentence, str | bytes):
        raise DataError(
            f"sentence {number} of the corpus is a {type(sentence).__name__}, but it began with token lists; "
            "give either token lists or str lines"
        )
    try:
        return sentence if isinstance(sentence, list) else list(sentence)
    except TypeError as error:
        raise DataError(
            f"sentence {number} of the corpus is a {type(sentence).__name__}; it must be a list of str tokens"
        ) from error


def _bad_token(tokens: list[Any], number: int) -> DataError:
    for place, token in enumerate(tokens, 1):
        where = f"sentence {number} of the corpus, token {place}"
        if not isinstance(token, str):
            return DataError(f"{where}: {token!r} is a {type(token).__name__}; tokens must be str")
        if token == "":
            return DataError(f"{where} is empty; drop empty tokens (use text.split(), not text.split(' '))")
        if any("\ud800" <= character <= "\udfff" for character in token):
            return DataError(f"{where}: {token!r} holds a lone surrogate, which is not Unicode text")
    return DataError(f"sentence {number} of the corpus holds a token that is too long")


def _line_ends(text: bytes) -> int:
    r"""Return how many line ends (``\n``, ``\r\n`` or ``\r``) there are."""
    return len(text.splitlines()) - (1 if text and text[-1:] not in b"\r\n" else 0)


def digest_vocab(vocab: Vocab) -> hashlib.blake2b:
    """Return a digest of words and counts, to be continued or read."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update("\0".join(vocab.words).encode("utf-8"))
    digest.update(vocab.counts.astype("<i8").data)
    return digest
