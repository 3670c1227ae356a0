"""Iterables of sentences from files: they can be iterated as often as needed."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from wordvec_ca.files import open_by_content

# Default for the largest number of tokens of a sentence.
MAX_WORDS_IN_BATCH = 10_000

READ_BYTES = 1 << 16


def lines_of(source: Any, encoding: str = "utf-8") -> Generator[str]:
    """Yield the lines of a file, which may be compressed, or of an open one from its start."""
    if isinstance(source, str | os.PathLike):
        with open_by_content(source) as file:
            yield from (line.decode(encoding) for line in file)
        return
    source.seek(0)
    yield from (line.decode(encoding) if isinstance(line, bytes) else line for line in source)


def tagged_brown(dirname: Any) -> Iterator[tuple[Path, int, list[str]]]:
    """Yield the file, the number of the line and the words of each sentence of NLTK's Brown corpus."""
    for path in sorted(file for file in Path(dirname).iterdir() if file.is_file()):
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            pairs = [token.split("/") for token in line.split() if token.count("/") == 1]
            words = [f"{word.lower()}/{tag[:2]}" for word, tag in pairs if tag[:2].isalpha()]
            if words:
                yield path, number, words


class LineSentence:
    """Sentences of a file, one a line, words between white space.

    If ``limit`` is not set, training reads the file itself, in threads, where it can.

    Parameters
    ----------
    source : path or binary file
        May be compressed if it is a path.
    max_sentence_length : int, default 10000
        Longer lines are split.
    limit : int, optional
        Read only this number of first lines.
    """

    def __init__(
        self, source: Any, max_sentence_length: int = MAX_WORDS_IN_BATCH, limit: int | None = None
    ) -> None:
        self.source, self.max_sentence_length, self.limit = source, max_sentence_length, limit

    def __iter__(self) -> Iterator[list[str]]:
        for line in islice(lines_of(self.source), self.limit):
            yield from _parts(line.split(), self.max_sentence_length)

    def files(self) -> list[str] | None:
        """Return the files that hold exactly these sentences, or None."""
        plain = isinstance(self.source, str | os.PathLike) and self.limit is None
        return [os.fspath(self.source)] if plain and self.max_sentence_length == MAX_WORDS_IN_BATCH else None


class PathLineSentences:
    """Sentences of all files of a folder, in the order of their names; see ``LineSentence``.

    Parameters
    ----------
    source : path
        A folder, or a file.
    max_sentence_length : int, default 10000
        Longer lines are split.
    limit : int, optional
        Read only this number of first lines of each file.

    Raises
    ------
    ValueError
        There is no such folder or file.
    """

    def __init__(
        self, source: Any, max_sentence_length: int = MAX_WORDS_IN_BATCH, limit: int | None = None
    ) -> None:
        self.source, self.max_sentence_length, self.limit = source, max_sentence_length, limit
        path = Path(source)
        if path.is_file():
            self.input_files = [str(path)]
        elif path.is_dir():
            self.input_files = [str(file) for file in sorted(path.iterdir()) if file.is_file()]
        else:
            raise ValueError("input is neither a file nor a path")

    def __iter__(self) -> Iterator[list[str]]:
        for name in self.input_files:
            yield from LineSentence(name, self.max_sentence_length, self.limit)

    def files(self) -> list[str] | None:
        """Return the files that hold exactly these sentences, or None."""
        plain = self.limit is None and self.max_sentence_length == MAX_WORDS_IN_BATCH
        return list(self.input_files) if plain and self.input_files else None


class Text8Corpus:
    """Sentences of a file that is one long line, cut after ``max_sentence_length`` words.

    Parameters
    ----------
    fname : path
    max_sentence_length : int, default 10000
        Words of a sentence.
    """

    def __init__(self, fname: Any, max_sentence_length: int = MAX_WORDS_IN_BATCH) -> None:
        self.fname, self.max_sentence_length = fname, max_sentence_length

    def __iter__(self) -> Iterator[list[str]]:
        words: list[str] = []
        rest = b""
        with open_by_content(self.fname) as file:
            while text := file.read(READ_BYTES):
                text = rest + text
                space = text.rfind(b" ") + 1
                rest = text[space:]
                words += text[:space].decode("utf-8").split()
                while len(words) >= self.max_sentence_length:
                    yield words[: self.max_sentence_length]
                    words = words[self.max_sentence_length :]
        words += rest.decode("utf-8").split()
        yield from _parts(words, self.max_sentence_length)


class BrownCorpus:
    """Sentences of the Brown corpus as NLTK has it: ``word/TAG`` becomes ``word/TA``, folded to lower case.

    Parameters
    ----------
    dirname : path
        The folder of its files.
    """

    def __init__(self, dirname: Any) -> None:
        self.dirname = dirname

    def __iter__(self) -> Iterator[list[str]]:
        for _, _, words in tagged_brown(self.dirname):
            yield words


def _parts(words: list[str], longest: int) -> Iterator[list[str]]:
    """Yield a sentence in parts of at most ``longest`` words."""
    for start in range(0, len(words), longest):
        yield words[start : start + longest]
