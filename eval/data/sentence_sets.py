"""Readers of labelled sentences and of scored sentence pairs: SST trees and TSV, STS, STS-B and SICK."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.lines import excerpt, name_of
from wordvec_ca.files import Lines


@dataclass(frozen=True)
class LabelledSentences:
    """Texts with a class for each."""

    name: str
    labels: list[str]
    sentences: list[list[str]]  # Tokens
    dropped: int = 0  # Texts left out on reading (neutral ones of the binary SST)
    empty: int = 0  # Texts without a word, left out on reading: a set of thousands often has one

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class SentencePairs:
    """Pairs of sentences with a score of similarity."""

    name: str
    scores: list[float]
    first: list[list[str]]  # Tokens
    second: list[list[str]]
    unscored: int = 0  # Pairs left out because nobody scored them
    empty: int = 0  # Pairs with a sentence without a word, left out on reading

    def __len__(self) -> int:
        return len(self.scores)


_TOKEN = re.compile(
    r"""
      -[LR][RSC]B- | `` | '' | \.{2,} | -{2,}  # brackets, quotes, dots and dashes of the Penn Treebank
    | \w+?(?=n['’]t\b) | n['’]t\b            # do n't, as in the Penn Treebank
    | ['’](?:s|re|ve|ll|d|m)\b               # 's
    | \d+(?:[.,:/]\d+)+                      # 1,000.5
    | (?:\w\.){2,}                           # U.S.
    | \w+(?:-\w+)*                           # words, with hyphens inside
    | [^\w\s]                                # other signs alone
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenised(text: str) -> list[str]:
    r"""Split a text into words and signs.

    Contractions are split as in the Penn Treebank (``do n't``, ``it 's``), signs are tokens of their own,
    hyphens inside words and points inside numbers and abbreviations stay. The case is kept. ``\/`` becomes
    ``/``. Text that is already tokenised stays as it is, unless its tokeniser left something joined that this
    one splits.

    Examples
    --------
    >>> tokenised("Don't stop: it's 1,000.5 U.S. dollars.")
    ['Do', "n't", 'stop', ':', 'it', "'s", '1,000.5', 'U.S.', 'dollars', '.']
    """
    return _TOKEN.findall(text.replace("\\/", "/").replace("\\*", "*"))


def read_labelled(path: str | os.PathLike[str]) -> LabelledSentences:
    """Read ``label TAB text`` lines, split with ``tokenised``; blank lines are ignored."""

    def pairs() -> Iterator[tuple[str, list[str]]]:
        lines = Lines(path)
        for line in filter(str.strip, lines):
            label, tab, text = line.partition("\t")
            if not tab or not label.strip():
                raise lines.wrong(f"no label and tab in {excerpt(line)}", "expected label TAB text")
            yield label.strip(), tokenised(text)

    return _labelled(name_of(path), path, pairs())


def read_reviews(paths: Mapping[str, Path]) -> LabelledSentences:
    """Read texts from one file for each class, ``... TAB text``: the reviews of IMDB."""
    texts = (
        (label, tokenised(line.rpartition("\t")[2].replace("<br />", " ")))
        for label, path in paths.items()
        for line in Lines(path)
    )
    return _labelled("imdb", next(iter(paths.values())), texts)


def _labelled(
    name: str, path: str | os.PathLike[str], texts: Iterable[tuple[str, list[str]]], dropped: str = ""
) -> LabelledSentences:
    """Return the texts that have a word, counting the others, and those with the label ``dropped``."""
    labels, sentences, empty, left_out = [], [], 0, 0
    for label, words in texts:
        if not words:
            empty += 1
        elif label == dropped:
            left_out += 1
        else:
            labels.append(label)
            sentences.append(words)
    if len(set(labels)) < 2:
        raise DataError(f"{path}: {len(set(labels))} class(es); a classifier needs at least two")
    return LabelledSentences(name, labels, sentences, left_out, empty)


def read_texts(path: str | os.PathLike[str]) -> LabelledSentences:
    """Read labelled texts: trees of the Stanford Sentiment Treebank, or ``label TAB text``."""
    first = next(iter(Lines(path)))
    return read_sst_trees(path) if first.lstrip().startswith("(") else read_labelled(path)


def read_sst_trees(path: str | os.PathLike[str]) -> LabelledSentences:
    """Read sentences of the Stanford Sentiment Treebank, ``(3 (2 It) (4 ...))``, one tree a line."""
    lines = Lines(path)
    trees = (_sst_tree(lines, line) for line in filter(str.strip, lines))
    of_two = {"0": "0", "1": "0", "2": "neutral", "3": "1", "4": "1"}
    return _labelled(name_of(path), path, ((of_two[label], words) for label, words in trees), "neutral")


def _sst_tree(lines: Lines, line: str) -> tuple[str, list[str]]:
    """Return the label and the words of a tree."""
    root = re.match(r"\s*\(([0-4])\s", line)
    if root is None:
        raise lines.wrong(f"{excerpt(line)} does not start with a label", "expected (0 to (4, then the tree")
    depth, words = 0, []
    tokens = re.findall(r"[()]|[^\s()]+", line)
    for i, token in enumerate(tokens):
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0:
                raise lines.wrong("a bracket closes that was not opened", "expected one tree")
        elif i > 0 and tokens[i - 1] == "(":
            if token not in ("0", "1", "2", "3", "4"):
                raise lines.wrong(f"the label {excerpt(token)}", "labels are 0 to 4")
        else:
            words.append(token.replace("\\/", "/").replace("\\*", "*"))
        if depth == 0 and i < len(tokens) - 1:
            raise lines.wrong("something follows the tree", "expected one tree a line")
    if depth:
        raise lines.wrong(f"{depth} bracket(s) are not closed", "expected one tree a line")
    if not words:
        raise lines.wrong("a tree without words", "expected (label word) in it")
    return root.group(1), words


def read_sentence_pairs(path: str | os.PathLike[str]) -> SentencePairs:
    """Read scored sentence pairs."""
    # The columns are ``score TAB sentence TAB sentence``, or those of SICK's distribution (its header names
    # them), or those of the STS benchmark (genre, file, year, number, score, sentence, sentence). Further
    # columns and blank lines are ignored; pairs with an empty score are left out and counted.
    scores, first, second, unscored, empty = [], [], [], 0, 0
    at = (0, 1, 2)
    expected = "score TAB sentence TAB sentence"
    lines = Lines(path)
    for line in filter(str.strip, lines):
        columns = line.split("\t")
        if lines.number == 1 and columns[0].lower() == "pair_id":
            names = [name.lower() for name in columns]
            try:
                at = (names.index("relatedness_score"), names.index("sentence_a"), names.index("sentence_b"))
            except ValueError:
                raise lines.wrong(
                    f"the header {excerpt(line)}", "SICK's names sentence_A, sentence_B and relatedness_score"
                ) from None
            expected = "the columns that line 1 names"
            continue
        if lines.number == 1 and len(columns) >= 7 and not _is_number(columns[0]) and _is_number(columns[4]):
            at = (4, 5, 6)
            expected = "genre, file, year, number, score, sentence, sentence"
        if len(columns) <= max(at):
            raise lines.wrong(f"{len(columns)} column(s) in {excerpt(line)}", f"expected {expected}")
        if not columns[at[0]].strip():
            unscored += 1
            continue
        if not _is_number(columns[at[0]]):
            raise lines.wrong(f"the score {excerpt(columns[at[0]])} is not a number", f"expected {expected}")
        pair = [tokenised(columns[at[1]]), tokenised(columns[at[2]])]
        if not all(pair):
            empty += 1
            continue
        scores.append(float(columns[at[0]]))
        first.append(pair[0])
        second.append(pair[1])
    if len(scores) < 2:
        raise DataError(f"{path}: {len(scores)} scored pair(s); a correlation needs at least two")
    return SentencePairs(name_of(path), scores, first, second, unscored, empty)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
