"""Reads a corpus once: tokens get provisional ids while words are counted, and final ids afterwards.

The calling thread reads, decompresses and cuts the text into blocks; worker threads turn each block into
provisional ids, each worker with a lexicon of its own; the ids go to a temporary file in the order of the
text. When the whole text has been read, the lexicons are merged, rare words dropped and the final ids
written. The result does not depend on the number of workers, the size of the blocks, compression or how the
text is spread over files.
"""

from __future__ import annotations

import hashlib
import numbers
import os
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from functools import lru_cache
from itertools import count
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus.disk_lexicon import SpilledTypes, memory_for_types
from wordvec_ca.corpus.documents import DocumentStarts, DocumentTags, KeptTokens
from wordvec_ca.corpus.matches import (
    unmatched,
    warn_of_ligatures,
    warn_of_phrases,
    warn_of_twins,
    warn_of_vocabulary,
)
from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.corpus.sentence_file import ReadyIds, SentenceFile
from wordvec_ca.corpus.source import Source
from wordvec_ca.corpus.stats import CorpusStats, Encoding, begin_fingerprint
from wordvec_ca.corpus.vocab import MOST_RARE, Vocab, least_kept, lowest_count, save_lines
from wordvec_ca.errors import DataError, OptionWarning
from wordvec_ca.kernels import Lexicon, renumber, vocabulary_lines
from wordvec_ca.machine import free_memory
from wordvec_ca.text import (
    SegmentingProcesses,
    Sessions,
    TokenLines,
    cut_into_blocks,
    encoding_advice,
    in_order,
    is_segmenter,
    normal_word,
    prompt_exit,
    too_many_undecodable,
    watched,
    words_in,
    wrong_encoding,
)

if TYPE_CHECKING:
    from wordvec_ca.kernels import Renumbered, TextStats

# Approximate memory in bytes that a word takes while a vocabulary is built.
BYTES_PER_WORD = 200

ReadingProgress = Callable[[int, int | None, int], None]
FinalIds = Callable[[int], NDArray[np.int32]]


class NoWords(DataError):
    """A text cannot be trained on: it is empty, has no words, or has no words of the vocabulary."""


class Reading:
    """One reading of a corpus: lexicons, counts and the temporary file of provisional ids."""

    def __init__(
        self,
        source: Source,
        options: TextOptions,
        vocab: Vocab | None = None,
        progress: ReadingProgress | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        whole_lines: bool = False,
    ) -> None:
        self.source = source
        self.options = options
        self.vocab = vocab
        self.progress = progress
        self.threads = options.threads
        self.phrases = phrases = options.loaded_phrases()
        self.stats = CorpusStats()
        self.segments = is_segmenter(options.tokenizer)
        self.whole_lines = whole_lines or phrases is not None or self.segments
        if vocab is not None:
            words_read = vocab.words
            if phrases is not None:  # parts of phrases need ids even if they are not in the vocabulary
                parts = {word for sequence in phrases.sequences for word in sequence}
                words_read = vocab.words + sorted(parts.difference(vocab.words))
            self.lexicons = [Lexicon(words_read)]  # it does not change any more, so all threads may use it
            if phrases is not None:
                self.lexicons[0].look_up_parts(phrases.table)
        else:
            self.lexicons = [Lexicon() for _ in range(1 if source.token_lists else self.threads)]
        self._numbers = list(
            range(len(self.lexicons))
        )  # number of the lexicon in each slot; a lexicon's number never changes
        self._next_number = count(len(self.lexicons))
        self._largest = (options.count_bytes or memory_for_types()) // len(self.lexicons)
        self._limits = options.min_count, options.max_final_vocab
        self._spilled = SpilledTypes(directory)
        self._line = 0  # line ends since the current file began
        self._joined = False  # whether a phrase has occurred
        self._repaired_sample = b""
        self.fingerprint = ""
        self.kept_tokens: KeptTokens | None = None

    def count(self) -> Vocab:
        """Read everything; return the vocabulary."""
        with closing(self._spilled):
            self._read_all()
            vocab, _ = self._merge(with_ids=False)
        self._add_kept(vocab.total_count)
        self._report_matches(vocab)
        return vocab

    def parts(self) -> Generator[bytes]:
        """Read everything; yield the types with their counts, as records, one part (`SpilledTypes`) at a
        time.
        """
        with closing(self._spilled):
            self._read_all()
            self._spill_all()
            for merged, _ in self._spilled.parts():
                yield bytes(merged.ranked_records(1))

    def write_vocab(self, path: str | os.PathLike[str]) -> int:
        """Read everything, write the vocabulary, of any size, to a file, and return its number of words."""
        with closing(self._spilled):
            self._read_all()
            if not self._spilled:
                vocab, _ = self._merge(with_ids=False)
                vocab.save(path)
                self._add_kept(vocab.total_count)
                return len(vocab)
            started = time.perf_counter()
            self._spill_all()
            counts, types = self._spilled.counts()
            least = least_kept(counts, *self._limits, types)
            kept = counts >= least
            save_lines(path, self._spilled.lines(least))
            self.stats.raw_types = int(types.sum())
            self.stats.seconds_merging = time.perf_counter() - started
            self._add_kept(int((counts * types)[kept].sum()))
            return int(types[kept].sum())

    def _read_all(self) -> None:
        with ThreadPoolExecutor(self.threads) as pool, prompt_exit(pool):
            for _ in self._read(pool):
                pass

    def _add_kept(self, tokens: int) -> None:
        self.stats.kept_tokens, self.stats.oov_tokens = tokens, self.stats.raw_tokens - tokens

    def encode(self, spill: IO[bytes], out: IO[bytes]) -> Encoding:
        """Read everything and write the final ids to ``out``."""
        blocks: list[tuple[int, int]] = []  # lexicon, number of ids
        with closing(self._spilled), ThreadPoolExecutor(self.threads) as pool, prompt_exit(pool):
            for lexicon, ids in self._read(pool):
                spill.write(ids.data)
                blocks.append((lexicon, len(ids)))
            vocab, final_of = self._merge(with_ids=True)

            started = time.perf_counter()
            digest = self._digest(vocab)
            longest, every_line = self.options.longest_line, self.options.documents
            written = SentenceFile(out, digest, longest, every_line=every_line)

            def work(
                block: tuple[NDArray[np.int32], NDArray[np.int32]],
            ) -> tuple[NDArray[np.int32], Renumbered]:
                ids, final = block
                return renumber(ids, final, longest, every_line)

            documents = self.source.documents
            if documents is not None:
                self.kept_tokens = KeptTokens(documents.lines, documents.numbers)

            def read_back() -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
                for lexicon, ids in _provisional(spill, blocks):
                    final = final_of(lexicon)
                    if self.kept_tokens is not None:
                        self.kept_tokens.add(ids, final)
                    yield ids, final

            for ids, found in in_order(pool, work, read_back(), 2 * self.threads):
                written.write(ids, found)
            out.flush()
        self.stats.seconds_renumbering = time.perf_counter() - started
        self._complete(written, vocab)
        return Encoding(vocab, self.stats, digest.hexdigest(), self._tags())

    def starts(self, tokens: NDArray[np.int32]) -> DocumentStarts | None:
        """Return where documents of several lines begin in the encoded text; None if each line is
        independent.
        """
        return None if self.kept_tokens is None else self.kept_tokens.starts(tokens)

    def stream(self) -> Generator[NDArray[np.int32]]:
        """Read everything; yield the final ids of the given vocabulary, some at a time, and store nothing."""
        assert self.vocab is not None
        vocab, final = self.vocab, self._given_ids(self.vocab)
        digest = self._digest(vocab)
        ready = ReadyIds()
        longest, every_line = self.options.longest_line, self.options.documents
        written = SentenceFile(ready, digest, longest, every_line=every_line)
        with ThreadPoolExecutor(self.threads) as pool, prompt_exit(pool):
            for _, ids in self._read(pool):
                written.write(*renumber(ids, final, longest, every_line))
                if ready.parts:
                    yield ready.take()
        self._complete(written, vocab)
        self.fingerprint = digest.hexdigest()

    def provisional(self) -> Iterator[NDArray[np.int32]]:
        """Read everything; yield ids of the given vocabulary, with ABSENT for words that are not in it."""
        with ThreadPoolExecutor(self.threads) as pool, prompt_exit(pool):
            for _, ids in self._read(pool):
                yield ids

    def _given_ids(self, vocab: Vocab) -> NDArray[np.int32]:
        """Return the ids of a given vocabulary, and -1 for parts of phrases that are not words of it."""
        ids = np.full(len(self.lexicons[0]), -1, dtype=np.int32)
        ids[: len(vocab)] = np.arange(len(vocab), dtype=np.int32)
        return ids

    def _tags(self) -> DocumentTags | None:
        """The documents of the lines that were read; None if the lines are not documents."""
        if not self.options.documents:
            return None
        if self.options.tag_field is None:
            return DocumentTags(self.stats.sentences)
        return DocumentTags.of(self.source.records.tags)

    def _digest(self, vocab: Vocab) -> hashlib.blake2b:
        return begin_fingerprint(vocab, self.options.tokenizer, lowercase=self.options.lowercase)

    def _report_matches(self, vocab: Vocab) -> None:
        """Warn if few of the given words or phrases occur, or if different words look the same."""
        if self.vocab is None:
            warn_of_twins(vocab, self.options)
            warn_of_ligatures(vocab, self.options)
        if self.phrases is not None:
            joined = sum("_".join(words) in vocab for words in self.phrases.sequences)
            self.stats.records |= {"given phrases": len(self.phrases), "joined phrases": joined}
            if not self._joined:
                warn_of_phrases(self.phrases, self.options)

    def _complete(self, written: SentenceFile, vocab: Vocab) -> None:
        """Add the statistics known after the final ids are written."""
        self._report_matches(vocab)
        self.stats.sentences, self.stats.split_lines = written.sentences, written.split
        self._add_kept(written.kept)
        if written.kept == 0:
            reason = unmatched(vocab.words, self.options)
            raise NoWords(
                f"none of the {len(vocab):,} words of the vocabulary occurs in the corpus "
                f"({self.stats.raw_tokens:,} tokens); ",
                *(reason or ("was it made with another tokenizer or case setting?",)),
            )
        if self.vocab is not None:
            warn_of_vocabulary(vocab, self.options, written.kept, self.stats.raw_tokens)

    def _read(self, pool: ThreadPoolExecutor) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """Yield (number of the lexicon, provisional ids) of each block, in the order of the text."""
        started = time.perf_counter()
        files = self.source.files
        if self.source.token_lists is not None:
            yield from self._read_token_lists(self.source.token_lists)
        else:
            pieces = self.source.text()
            if not self.segments:
                pieces = watched(pieces, self.options.tokenizer)
            free: SimpleQueue[int] = SimpleQueue()
            for worker in range(self.threads):
                free.put(worker % len(self.lexicons))

            def read(text: bytes) -> tuple[int, bytes, NDArray[np.int32], TextStats]:
                place = free.get()
                try:
                    ids, found = self._ids(text, self.lexicons[place], segmenting)
                    if self.phrases is not None:
                        n = self.lexicons[place].join(self.phrases.table, ids)
                        found["tokens"] -= len(ids) - n
                        self._joined |= n < len(ids)
                        ids = ids[:n]
                    number = self._numbers[place]
                    self._spill_if_large(place)
                finally:
                    free.put(place)
                return number, text, ids, found

            blocks = cut_into_blocks(pieces, self.options.block_bytes, whole_lines=self.whole_lines)
            with self._segmenting() as segmenting:
                for number, text, ids, found in in_order(pool, read, blocks, 2 * self.threads):
                    self._add(text, found)
                    yield number, ids
                    self._report()
        if self.stats.text_bytes == 0 and not self.stats.raw_tokens:
            where = files.named if files else "the iterable"
            raise NoWords(f"the corpus is empty: there is no text in {where}")
        if self.stats.raw_tokens == 0:
            raise NoWords("there is no word in the corpus: it is nothing but white space")
        self._check_encoding()
        self.stats.files = len(files.files) if files else 0
        self.stats.bytes = files.bytes_read if files else self.stats.text_bytes
        self.stats.records = dict(files.records if files else self.source.records)
        self.stats.seconds_reading = time.perf_counter() - started

    def _segmenting(self) -> AbstractContextManager[SegmentingProcesses | None]:
        if not self.segments:
            return nullcontext()
        return SegmentingProcesses(self.options.tokenizer, self.threads)

    def _ids(
        self, text: bytes, lexicon: Lexicon, segmenting: SegmentingProcesses | None
    ) -> tuple[NDArray[np.int32], TextStats]:
        """Return the ids of a block of text and the statistics of the block."""
        every_line = self.options.documents or self.source.documents is not None
        if isinstance(text, TokenLines):
            return lexicon.read_text(bytes(text), False, False, every_line)
        if segmenting is None:
            return lexicon.read_text(text, self.options.words, self.options.lowercase, every_line)
        segmented, repaired, first = segmenting.segment(text)
        ids, found = lexicon.read_text(segmented, False, self.options.lowercase, every_line)
        found["repaired"], found["first_repaired"] = found["repaired"] + repaired, first
        return ids, found

    def _check_encoding(self) -> None:
        """Raise an error if too much of a text could not be decoded; warn if a little could not."""
        bad = self.stats.repaired_utf8
        if not bad:
            return
        encoding = self.options.encoding
        words = words_in(self.stats.raw_tokens, self.stats.text_bytes)
        if too_many_undecodable(bad, words):
            raise wrong_encoding("the corpus", bad, words, self._repaired_sample, encoding)
        place = f", the first in {self.stats.first_repaired}" if self.stats.first_repaired else ""
        warnings.warn(
            OptionWarning(
                f"{bad:,} sequences that are not {encoding or 'UTF-8'} were read as U+FFFD{place}; ",
                *encoding_advice(self._repaired_sample, encoding),
            ),
            stacklevel=2,
        )

    def _read_token_lists(self, token_lists: Iterable[Any]) -> Iterator[tuple[int, NDArray[np.int32]]]:
        if isinstance(token_lists, Sessions):
            token_lists.tell = self._report  # sorting a large log takes minutes
        ids = np.empty(1 << 18, dtype=np.int32)
        n = 0
        for number, sentence in enumerate(token_lists, 1):
            tokens = _tokens(sentence, number)
            if (form := self.options.normalize) != "none":
                tokens = [normal_word(token, form) if isinstance(token, str) else token for token in tokens]
            if n + len(tokens) + 1 > len(ids):
                yield self._numbers[0], ids[:n]
                self._spill_if_large(0)
                self._report()
                ids = np.empty(max(1 << 18, len(tokens) + 1), dtype=np.int32)
                n = 0
            self._read_sentence(tokens, number, ids[n:])
            length = len(tokens) + 1
            if self.phrases is not None:
                length = self.lexicons[0].join(self.phrases.table, ids[n : n + length])
                self._joined |= length < len(tokens) + 1
            n += length
            self.stats.lines += 1
            self.stats.raw_tokens += length - 1
        yield self._numbers[0], ids[:n]
        self._report()

    def _read_sentence(self, tokens: list[Any], number: int, ids: NDArray[np.int32]) -> None:
        """Look up and count the words of a sentence; an integer becomes the word of its decimal digits."""
        lexicon = self.lexicons[0]
        try:
            try:
                lexicon.read_tokens(tokens, ids)
            except TypeError:  # the words before the first item that is not a str are counted already
                first = next(i for i, token in enumerate(tokens) if not isinstance(token, str))
                if not all(map(_is_word, tokens)):
                    raise
                lexicon.read_tokens(list(map(str, tokens[first:])), ids[first:])
        except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
            raise _bad_token(tokens, number) from error

    def _spill_if_large(self, place: int) -> None:
        """If a lexicon has grown too large, write it to disk and begin a new one."""
        if self.vocab is None and self.lexicons[place].nbytes > self._largest:
            self._spilled.add(self._numbers[place], self.lexicons[place])
            self.lexicons[place] = Lexicon()
            self._numbers[place] = next(self._next_number)

    def _spill_all(self) -> None:
        while self.lexicons:
            self._spilled.add(self._numbers.pop(), self.lexicons.pop())

    def _add(self, text: bytes, found: TextStats) -> None:
        """Add the counts of a block, and find the line of the first invalid sequence."""
        stats = self.stats
        begin = stats.text_bytes
        if found["repaired"] and not self._repaired_sample:
            self._repaired_sample = text[max(0, found["first_repaired"] - 1000) :][: 1 << 16]
        files = self.source.files
        if files is not None and stats.first_repaired is None:
            if found["repaired"]:
                name, start = files.place(begin + found["first_repaired"])
                lines = self._line if start < begin else 0
                before = text[max(start - begin, 0) : found["first_repaired"]]
                stats.first_repaired = f"{name}, line {lines + _line_ends(before) + 1}"
            _, start = files.place(begin + len(text) - 1)
            if start >= begin:
                self._line = _line_ends(text[start - begin :])
            else:
                self._line += found["lines"]
        stats.text_bytes += len(text)
        stats.lines += found["lines"]
        stats.raw_tokens += found["tokens"]
        stats.cut_tokens += found["cut"]
        stats.repaired_utf8 += found["repaired"]

    def _report(self) -> None:
        if self.progress is None:
            return
        files = self.source.files
        done = files.bytes_read if files else self.stats.text_bytes
        self.progress(done, files.bytes_total if files else None, self.stats.raw_tokens)

    def bytes_needed(self) -> int | None:
        """Estimate the disk space of both files from what has been read so far."""
        files = self.source.files
        if files is None or not files.bytes_total or not files.bytes_read:
            return None
        return int(8 * self.stats.raw_tokens * files.bytes_total / files.bytes_read)

    def _merge(self, *, with_ids: bool) -> tuple[Vocab, FinalIds]:
        """Return the vocabulary and, for each lexicon, a map of its types to final ids (or -1)."""
        started = time.perf_counter()
        if self.vocab is not None:
            vocab = self.vocab
            final = {0: self._given_ids(vocab)}
            final_of: FinalIds = final.__getitem__
        elif self._spilled:
            vocab, final_of = self._merge_spilled(with_ids=with_ids)
        else:
            whole = self.lexicons[0]
            ids: list[NDArray[np.int32] | None] = [None]
            for number in range(1, len(self.lexicons)):
                ids.append(whole.absorb(self.lexicons[number]))
                self.lexicons[number] = whole  # frees the memory of the other lexicon
            counts = whole.counts()
            occurring = counts[counts > 0]  # all occurrences of the other words were joined into phrases
            words, kept, order = whole.rank(least_kept(occurring, *self._limits))
            vocab = Vocab(words, kept, raw_tokens=int(counts.sum()), raw_types=len(occurring))
            vocab.rare = _rare(whole, len(words), lowest_count(occurring, 1, len(words) + MOST_RARE))
            target = np.full(len(counts), -1, dtype=np.int32)
            target[order] = np.arange(len(order), dtype=np.int32)
            final = {i: target if some is None else target[some] for i, some in enumerate(ids)}
            final_of = final.__getitem__
            self.stats.raw_types = len(occurring)
        self.lexicons = []
        self.stats.seconds_merging = time.perf_counter() - started
        return vocab, final_of

    def _merge_spilled(self, *, with_ids: bool) -> tuple[Vocab, FinalIds]:
        """Do the same as `_merge` with types on disk. Only the types of one part and the kept types are in
        memory.
        """
        self._spill_all()
        counts, types = self._spilled.counts()
        least = least_kept(counts, *self._limits, types)
        kept_types = int(types[counts >= least].sum())
        if kept_types * BYTES_PER_WORD > free_memory():
            raise DataError(
                f"{kept_types:,} of {int(types.sum()):,} words occur {least:,} times or more, too many for "
                f"the memory of this machine ({free_memory() / 1e9:,.1f} GB are free); raise min_count or "
                "set max_final_vocab (cawv vocab can write them all to a file)"
            )
        rarest = lowest_count(counts, 1, kept_types + MOST_RARE, types)
        whole = self._spilled.gather(rarest, with_ids=with_ids)
        words, kept, order = whole.rank(least)
        raw_types = int(types.sum())
        vocab = Vocab(words, kept, raw_tokens=int((counts * types).sum()), raw_types=raw_types)
        vocab.rare = _rare(whole, kept_types, rarest)
        target = np.full(len(whole) + 1, -1, dtype=np.int32)  # the last, -1, is for types not kept
        target[order] = np.arange(len(order), dtype=np.int32)
        self.stats.raw_types = raw_types

        @lru_cache(2 * self.threads)
        def final_of(number: int) -> NDArray[np.int32]:
            return target[self._spilled.ids(number)]

        return vocab, final_of


def _rare(lexicon: Lexicon, kept: int, least: int) -> bytes:
    """Return the lines of the words after the first ``kept``, down to a count."""
    if len(lexicon) == kept:
        return b""  # without ranking the words once more
    lines = b"".join(vocabulary_lines([np.frombuffer(lexicon.ranked_records(least), np.uint8)]))
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
    return lines[ends[kept - 1] + 1 :]


def _provisional(spill: IO[bytes], blocks: list[tuple[int, int]]) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Read the provisional ids back: (lexicon, ids) of each block."""
    spill.seek(0)
    for lexicon, n in blocks:
        yield lexicon, np.frombuffer(spill.read(4 * n), dtype=np.int32)


def _tokens(sentence: Any, number: int) -> list[Any]:
    if isinstance(sentence, Mapping):
        raise DataError(
            f"sentence {number} of the corpus is a {type(sentence).__name__}; it must be a list of words"
        )
    if isinstance(sentence, str | bytes):
        raise DataError(
            f"sentence {number} of the corpus is a {type(sentence).__name__}, but it began with token lists; "
            "give either token lists or str lines"
        )
    if hasattr(sentence, "as_py"):  # a list from Arrow
        sentence = sentence.as_py()
    try:
        return sentence if isinstance(sentence, list) else list(sentence)
    except TypeError as error:
        raise DataError(
            f"sentence {number} of the corpus is a {type(sentence).__name__}; it must be a list of str tokens"
        ) from error


def _is_word(token: Any) -> bool:
    return isinstance(token, str) or (isinstance(token, numbers.Integral) and not isinstance(token, bool))


def _bad_token(tokens: list[Any], number: int) -> DataError:
    for place, token in enumerate(tokens, 1):
        where = f"sentence {number} of the corpus, token {place}"
        if not _is_word(token):
            return DataError(f"{where}: {token!r:.80} is a {type(token).__name__}; tokens must be str or int")
        if isinstance(token, numbers.Integral):
            continue
        if token == "":
            return DataError(f"{where} is empty; drop empty tokens (use text.split(), not text.split(' '))")
        if any("\ud800" <= character <= "\udfff" for character in token):
            return DataError(f"{where}: {token!r} holds a lone surrogate, which is not Unicode text")
    return DataError(f"sentence {number} of the corpus holds a token that is too long")


def _line_ends(text: bytes) -> int:
    r"""Return how many line ends (``\n``, ``\r\n`` or ``\r``) there are."""
    return len(text.splitlines()) - (1 if text and text[-1:] not in b"\r\n" else 0)
