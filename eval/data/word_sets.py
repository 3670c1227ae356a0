"""Readers of word pairs with scores, word categories, and analogy questions."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.lines import cells_of, excerpt, name_of
from wordvec_ca.files import Lines


@dataclass(frozen=True)
class WordPairs:
    """Pairs of words with the mean score that people gave them."""

    name: str
    first: list[str]
    second: list[str]
    scores: list[float]


@dataclass(frozen=True)
class WordCategories:
    """Words, each with the class it belongs to."""

    name: str
    words: list[str]
    classes: list[str]
    # Words of the file that are left out, since no clustering can put them into two classes
    in_several_classes: list[str] = field(default_factory=list)
    repeated: int = 0  # Lines of the file that repeat a word with its class; they are ignored


@dataclass(frozen=True)
class Analogies:
    """Questions "a is to b as c is to d" in sections."""

    name: str
    sections: list[str]  # Names in the order of the file
    questions: list[tuple[int, str, str, str, str]]  # Index into ``sections``, then the four words


def read_word_pairs(path: str | os.PathLike[str]) -> WordPairs:
    """Read ``word TAB word TAB score`` lines.

    Further columns, blank lines and lines starting with ``#`` are ignored. Where a line has no tab the
    columns are separated by blanks.

    Raises
    ------
    DataError
        A line has fewer than three columns, an empty word, or a score that is not a finite number.
    """
    first, second, scores = [], [], []
    lines = Lines(path)
    for line in lines.filled():
        columns = cells_of(line)
        if len(columns) < 3:
            raise lines.wrong(
                f"{len(columns)} column(s) in {excerpt(line)}", "expected word TAB word TAB score"
            )
        left, right = columns[0].strip(), columns[1].strip()
        if not left or not right:
            raise lines.wrong(f"an empty word in {excerpt(line)}", "expected word TAB word TAB score")
        try:
            score = float(columns[2])
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise lines.wrong(
                f"the score {excerpt(columns[2])} is not a number",
                "expected word TAB word TAB score (put # before a header)",
            )
        first.append(left)
        second.append(right)
        scores.append(score)
    if len(scores) < 2:
        raise DataError(f"{path}: {len(scores)} word pair(s); a correlation needs at least two")
    return WordPairs(name_of(path), first, second, scores)


def read_categories(path: str | os.PathLike[str]) -> WordCategories:
    """Read ``word TAB class`` lines; blank lines and lines starting with ``#`` are ignored."""
    # Words of several classes are left out and counted (Battig and Montague 1969 have "orange" as a fruit
    # and as a colour).
    classes_of: dict[str, list[str]] = {}
    repeated = 0
    lines = Lines(path)
    for line in lines.filled():
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 2 or not all(columns):
            raise lines.wrong(f"{excerpt(line)} is not two columns", "expected word TAB class")
        of_word = classes_of.setdefault(columns[0], [])
        if columns[1] in of_word:
            repeated += 1
        else:
            of_word.append(columns[1])
    ambiguous = [word for word, of_word in classes_of.items() if len(of_word) > 1]
    words = [word for word, of_word in classes_of.items() if len(of_word) == 1]
    classes = [classes_of[word][0] for word in words]
    if len(set(classes)) < 2:
        without = f" without the {len(ambiguous)} word(s) of several classes" if ambiguous else ""
        raise DataError(f"{path}: {len(set(classes))} class(es){without}; clusters need at least two")
    return WordCategories(name_of(path), words, classes, ambiguous, repeated)


def read_analogies(path: str | os.PathLike[str]) -> Analogies:
    """Read questions in the format of ``questions-words.txt``."""
    # ``: name`` starts a section; other lines hold four words separated by blanks or tabs. Blank lines and
    # lines starting with ``#`` are ignored.
    sections: list[str] = []
    questions: list[tuple[int, str, str, str, str]] = []
    lines = Lines(path)
    for line in lines.filled():
        if line.startswith(":"):
            name = line[1:].strip()
            if not name:
                raise lines.wrong("a section without a name", "expected ': name'")
            sections.append(name)
            continue
        if not sections:
            raise lines.wrong(f"{excerpt(line)} comes before the first section", "start with a line ': name'")
        words = line.split()
        if len(words) != 4:
            raise lines.wrong(
                f"{len(words)} word(s) in {excerpt(line)}", "a question has four words: a b c d"
            )
        questions.append((len(sections) - 1, words[0], words[1], words[2], words[3]))
    if not questions:
        raise DataError(f"{path}: no questions; expected lines of four words under ': name' lines")
    return Analogies(name_of(path), sections, questions)
