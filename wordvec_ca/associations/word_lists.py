"""Reads lists of words and pairs of words, and looks them up."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.files import open_by_content
from wordvec_ca.vectors import KeyedVectors

FILES = (".txt", ".tsv", ".csv", ".lst", ".gz", ".xz")
"""A list that ends in one of these suffixes is the name of a file, not a word."""


def read_words(source: str | os.PathLike[str] | Iterable[str]) -> list[str]:
    """Return the different words of a list.

    Parameters
    ----------
    source : str, path or iterable of str
        A file with one or more words on each line (lines that begin with ``#`` are comments), a string of
        words separated by commas, or the words themselves.

    Raises
    ------
    DataError
        There is no word, or the file is not UTF-8.
    """
    if not isinstance(source, str | os.PathLike):
        words = list(source)
    elif os.path.isfile(source):
        words = [word for line in _lines(source) for word in line.replace(",", " ").split()]
    elif isinstance(source, str) and os.sep not in source and not source.endswith(FILES):
        words = [word.strip() for word in source.split(",")]
    else:
        raise DataError(f"{source}: no such file; give a file of words, or words with commas between them")
    words = list(dict.fromkeys(word for word in words if word))
    if not words:
        raise DataError(f"{source!r} has no word; give a file of words, or words with commas between them")
    return words


def read_pairs(source: str | os.PathLike[str] | Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of words written ``he:she``.

    Parameters
    ----------
    source : str, path or iterable of str
        A file with a pair on each line (``he:she``, or two words separated by a tab or blanks), or the pairs
        themselves.

    Raises
    ------
    DataError
        Something is not a pair, or the file is not UTF-8.
    """
    is_file = isinstance(source, str | os.PathLike)
    pairs = []
    for number, text in enumerate(_lines(source) if isinstance(source, str | os.PathLike) else source, 1):
        if not text:
            continue
        words = [word.strip() for word in (text.split(":") if ":" in text else text.split())]
        if len(words) != 2 or not all(words) or words[0] == words[1]:
            where = f"{source}, line {number}: " if is_file else ""
            raise DataError(f"{where}{text!r} is not a pair of two different words, such as he:she")
        pairs.append((words[0], words[1]))
    return list(dict.fromkeys(pairs))


def _lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the lines of a file without comments and blanks around them."""
    with open_by_content(path) as stream:
        raw = stream.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{Path(path)}: byte {error.start + 1} is not UTF-8; convert the file, for example with: "
            "iconv -f latin1 -t utf-8"
        ) from None
    lines = (line.strip() for line in text.splitlines())
    return ["" if line.startswith("#") else line for line in lines]


def known_words(vectors: KeyedVectors, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that have vectors, spelled as in the vocabulary, and the words that have none.

    A word without a vector is looked up in lower case too, as `cawv nn` does.
    """
    found: dict[str, None] = {}
    missing = []
    for word in words:
        form = vectors.known_form(word)
        if form is None:
            missing.append(word)
        else:
            found[form] = None
    return list(found), missing
