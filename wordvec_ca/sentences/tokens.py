"""Sentences as rows of the word vectors: read from lines, tokenised, phrases joined, each token looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, groupby, islice, repeat
from pathlib import Path
from typing import Any, Literal, TypeAlias
from unicodedata import is_normalized, normalize

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.sentences.segmentation import PhraseDictionary
from wordvec_ca.sentences.word_vectors import (
    FIRST,
    NO_VECTOR,
    WordVectors,
    ngrams_in_use,
    number_unknown,
    renumbered,
)
from wordvec_ca.tables import NgramVectors
from wordvec_ca.text import TOKENIZERS, KnownWords, column_values, is_frame


class TextLines:
    """The lines of text files, or one line for each record; can be read again, but for standard input.

    Parameters
    ----------
    paths : iterable of path
        What :func:`wordvec_ca.text.find_files` takes: files, also compressed, directories, patterns, ``-``.
    field : str or sequence of str, optional
        The files are JSON lines or tables: read these fields of each record (``a.b``: of its object a).
    encoding : str, optional
        Encoding of the files; by default UTF-8.
    tag_field : str, optional
        The field with the tag of each record.

    Attributes
    ----------
    repaired : int
        Lines, in the last reading, that were not UTF-8 and were read with U+FFFD in place of the bad bytes.
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        *,
        field: str | Sequence[str] | None = None,
        encoding: str | None = None,
        tag_field: str | None = None,
    ) -> None:
        from wordvec_ca.text import find_files

        self.files = find_files(paths)
        self.field = field
        self.encoding = encoding
        self.tag_field = tag_field
        self.repaired = 0
        self._tags: list[list[str | int]] = []

    def __iter__(self) -> Iterator[str | list[str]]:
        """Yield each line without its end, empty ones too; a list of words is yielded as its words."""
        from wordvec_ca.files import whole_lines
        from wordvec_ca.text import Records, TextFiles, TokenLines

        self.repaired = 0
        records = Records(documents=True, tag_field=self.tag_field)
        self._tags = records.tags
        pieces = TextFiles(self.files, self.field, encoding=self.encoding, records=records).pieces()
        for kind, text in groupby(pieces, type):
            for line in whole_lines(text):
                try:
                    spelled = line.decode("utf-8")
                except UnicodeDecodeError:
                    self.repaired += 1
                    spelled = line.decode("utf-8", "replace")
                yield (spelled.split(" ") if spelled else []) if kind is TokenLines else spelled

    @property
    def tags(self) -> list[str] | None:
        """The tag of each line that has been read; several tags of a record have commas between them."""
        if self.tag_field is None:
            return None
        return [", ".join(map(str, tags)) for tags in self._tags]

    def tags_of(self, number: int) -> list[str]:
        """Return the tags of a line that has been read: without a field of tags its number, from 0."""
        return [str(number)] if self.tag_field is None else [str(tag) for tag in self._tags[number]]


@dataclass(frozen=True)
class Coverage:
    """How much of a text the vocabulary knows.

    Parameters
    ----------
    n_sentences, n_empty, n_all_oov : int
        Sentences; those without a token; those with tokens but without a known one.
    n_tokens, n_oov : int
        Tokens; those that have no vector.
    n_from_ngrams : int
        Tokens of words without a row, whose vector is made of n-grams.
    """

    n_sentences: int = 0
    n_empty: int = 0
    n_all_oov: int = 0
    n_tokens: int = 0
    n_oov: int = 0
    n_from_ngrams: int = 0

    @property
    def oov_rate(self) -> float:
        """Part of the tokens that have no vector (0 without tokens)."""
        return self.n_oov / self.n_tokens if self.n_tokens else 0.0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def __str__(self) -> str:
        """Return one line for people."""
        text = (
            f"{self.n_sentences:,} sentences ({self.n_empty:,} empty, {self.n_all_oov:,} without a known "
            f"word), {self.n_tokens:,} tokens, {100 * self.oov_rate:.2f} % unknown"
        )
        if self.n_from_ngrams:
            text += f", {100 * self.n_from_ngrams / self.n_tokens:.2f} % from n-grams"
        return text


Sentence = str | Sequence[str]
Tokenizer = str | Callable[[str], list[str]]

Form: TypeAlias = Literal["NFC", "NFD", ""]

# Sentences per batch; a batch takes a few MB of memory, little compared with the vectors.
BATCH = 8192


@dataclass(frozen=True)
class TokenIds:
    """Tokenised sentences as rows of the word vectors."""

    # (n_tokens,): row of each token, -1 for one without a vector; -2, -3, ... for ``others``
    ids: NDArray[np.int32]
    # (n_sentences + 1,): where each sentence starts in ``ids``
    offsets: NDArray[np.int64]
    # Words without a row, whose vectors are made of n-grams.
    others: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def batches(self) -> Iterator[TokenIds]:
        """Yield the sentences ``BATCH`` at a time."""
        for start in range(0, len(self), BATCH):
            offsets = self.offsets[start : start + BATCH + 1]
            yield TokenIds(self.ids[offsets[0] : offsets[-1]], offsets - offsets[0], self.others)

    def coverage(self) -> Coverage:
        """Return the coverage of the text."""
        lengths = np.diff(self.offsets)
        known = sums(self.ids != NO_VECTOR, self.offsets)
        return Coverage(
            n_sentences=len(lengths),
            n_empty=int((lengths == 0).sum()),
            n_all_oov=int(((lengths > 0) & (known == 0)).sum()),
            n_tokens=len(self.ids),
            n_oov=int((self.ids == NO_VECTOR).sum()),
            n_from_ngrams=int((self.ids <= FIRST).sum()),
        )


def sums(values: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add up ``values`` of shape (n_tokens,) within each sentence; 0 for an empty one."""
    running = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    return running[offsets[1:]] - running[offsets[:-1]]


def look_up(
    sentences: Sequence[Sequence[str]],
    key_to_index: Mapping[str, int],
    ngrams: NgramVectors | None = None,
) -> TokenIds:
    """Look up the tokens of sentences; n-grams, if given, make vectors of unknown words."""
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    tokens = chain.from_iterable(sentences)
    try:
        ids = np.fromiter(map(key_to_index.get, tokens, repeat(-1)), np.int32, int(offsets[-1]))  # type: ignore[arg-type]
    except TypeError as error:
        raise DataError(f"a token is not a string: {error}; give strings or lists of strings") from error
    if ids.size and ids.min() < 0:  # a token that is not a string is unknown
        odd = [kind for kind in set(map(type, chain.from_iterable(sentences))) if not issubclass(kind, str)]
        if odd:
            raise DataError(f"a token is a {odd[0].__name__}: give strings or lists of strings")
        if ngrams is not None:
            places = np.flatnonzero(ids < 0)
            every = list(chain.from_iterable(sentences))
            return TokenIds(
                ids, offsets, number_unknown(ids, places, [every[i] for i in places.tolist()], ngrams)
            )
    return TokenIds(ids, offsets)


def joined(parts: Sequence[TokenIds]) -> TokenIds:
    """Put batches of encoded sentences one after the other."""
    starts = np.cumsum([0, *(len(part.ids) for part in parts)])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
    places: dict[str, int] = {}
    ids = [renumbered(part.ids, part.others, places) for part in parts]
    return TokenIds(
        np.concatenate([np.empty(0, np.int32), *ids]),
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        tuple(places),
    )


class SentenceReader:
    """Turns sentences into rows of the word vectors, with the options of a `SentenceVectorizer`."""

    def __init__(
        self, vectors: WordVectors, tokenizer: Tokenizer, lowercase: bool, phrases: str | None
    ) -> None:
        self._vectors = vectors
        self._tokenizer = tokenizer
        self._lowercase = lowercase
        self._phrases = None if phrases is None else PhraseDictionary(vectors.key_to_index, phrases)
        self._known: KnownWords | None = None
        self._form: Form | None = None
        self._ngrams = ngrams_in_use(vectors)

    def read(self, sentences: Iterable[Sentence]) -> Iterator[TokenIds]:
        """Yield sentences as rows of the vectors, ``BATCH`` at a time.

        Raises
        ------
        DataError
            A sentence is neither a string nor a list of strings.
        """
        if isinstance(sentences, str | bytes) or not isinstance(sentences, Iterable):
            raise DataError(
                f"sentences is a {type(sentences).__name__}, {str(sentences)[:40]!r}: give a list"
            )
        if is_frame(sentences):
            raise DataError(f"sentences is a {type(sentences).__name__}: give a column of it")
        source = column_values(sentences) or iter(sentences)
        done = 0
        while batch := list(islice(source, BATCH)):
            batch = list(map(self._in_form_of_words, batch))
            kinds = set(map(type, batch))
            for kind in kinds:
                if not issubclass(kind, str | list | tuple):
                    where = next(i for i, sentence in enumerate(batch) if type(sentence) is kind)
                    raise DataError(
                        f"sentence {done + where} is a {kind.__name__}: give strings or lists of strings"
                    )
            if kinds == {str} and self._tokenizer in TOKENIZERS and self._phrases is None:
                yield self._read_strings(batch)
            else:
                tokens = [self._tokens(sentence) for sentence in batch]
                yield look_up(tokens, self._vectors.key_to_index, self._ngrams)
            done += len(batch)

    def _in_form_of_words(self, sentence: Any) -> Any:
        """Return a sentence in the normal form of Unicode that the known words have."""
        if isinstance(sentence, list | tuple):
            if all(isinstance(word, str) and word.isascii() for word in sentence):
                return sentence
            return [self._in_form_of_words(word) if isinstance(word, str) else word for word in sentence]
        if not isinstance(sentence, str) or sentence.isascii():
            return sentence
        if self._form is None:
            self._form = _form_of(self._vectors.index_to_key)
        return normalize(self._form, sentence) if self._form != "" else sentence

    def _read_strings(self, batch: list[Any]) -> TokenIds:
        """Tokenise and look up strings in C, without an object for each token."""
        if self._known is None:
            self._known = KnownWords(self._vectors.index_to_key)
        ids, offsets = self._known.read(list(map(_one_line, batch)), str(self._tokenizer), self._lowercase)
        if self._ngrams is None or ids.min(initial=0) >= 0:
            return TokenIds(ids, offsets)
        places = np.flatnonzero(ids < 0)
        words: list[str] = []  # only sentences with unknown tokens are tokenised again, for their words
        for sentence, begin, end in _groups(np.searchsorted(offsets, places, side="right") - 1):
            tokens = self._tokenize(_one_line(batch[sentence]))
            words += [tokens[place] for place in (places[begin:end] - offsets[sentence]).tolist()]
        return TokenIds(ids, offsets, number_unknown(ids, places, words, self._ngrams))

    def _tokens(self, sentence: Any) -> Sequence[str]:
        """Return the tokens of a string or list, phrases joined."""
        tokens: Sequence[str] = self._tokenize(sentence) if isinstance(sentence, str) else sentence
        return tokens if self._phrases is None else self._phrases.segment(tokens)

    def _tokenize(self, text: str) -> list[str]:
        if callable(self._tokenizer):
            return self._tokenizer(text)
        from wordvec_ca.text import tokenize

        return tokenize(text.encode("utf-8", "replace").decode("utf-8"), self._tokenizer, self._lowercase)


def _form_of(words: Iterable[str]) -> Form:
    """Return the normal form of Unicode that all words have; empty if there is none."""
    others = [word for word in words if not word.isascii()]
    if all(is_normalized("NFC", word) for word in others):
        return "NFC"
    return "NFD" if all(is_normalized("NFD", word) for word in others) else ""


def _groups(rising: NDArray[Any]) -> Iterator[tuple[int, int, int]]:
    """Yield each number of an ascending array with the begin and end of its occurrences."""
    begins = np.flatnonzero(np.diff(rising, prepend=-1))
    ends = np.append(begins[1:], len(rising))
    yield from zip(rising[begins].tolist(), begins.tolist(), ends.tolist(), strict=True)


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")
