"""Readers of tagged corpora: CoNLL-U, CoNLL-X and other columns, word_TAG, Penn Treebank .mrg and .pos.

All words and tags are as in the file; only traces (``-NONE-``) are left out.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.lines import cells_of, excerpt, name_of
from wordvec_ca.files import Lines


@dataclass(frozen=True)
class TaggedCorpus:
    """Sentences with a tag for each word."""

    name: str
    sentences: list[list[str]]
    tags: list[list[str]]
    # Document (file) of each sentence, if the format names it; empty strings otherwise
    sources: list[str] = field(default_factory=list)
    columns: frozenset[int] = frozenset()  # those that the tags are from, counted from 1, if the file has any

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def n_tokens(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))

    def tag_set(self) -> list[str]:
        """Return the different tags, sorted."""
        return sorted({tag for tags in self.tags for tag in tags})

    def tag_note(self) -> str:
        """Return which tags these are: their column, their number, and the most frequent ones."""
        counts = Counter(chain.from_iterable(self.tags))
        frequent = ", ".join(tag for tag, _ in counts.most_common(3))
        return f"tags: {_named(self.columns)}{len(counts):,} different ({frequent}, ...)"

    def at(self, chosen: Iterable[int], name: str) -> TaggedCorpus:
        """Return the sentences with these numbers."""
        rows = list(chosen)
        sentences, tags = ([each[i] for i in rows] for each in (self.sentences, self.tags))
        return TaggedCorpus(name, sentences, tags, [self.sources[i] for i in rows], self.columns)


# What readers yield: a word, its tag and the column of that (0 without columns); the document of what
# follows; None after a sentence.
Token = tuple[str, str, int] | str | None

# The coarse tags of Universal Dependencies.
UNIVERSAL = frozenset(
    ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM")
    + ("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X")
)

# Up to so many, a tiny corpus may have as many different tags as words: the Penn Treebank has 45.
FEW_TAGS = 50

FORMATS = ("conllu", "conllx", "columns", "word_tag", "mrg", "pos")


def read_tagged(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002
    tag_column: int | None = None,
) -> TaggedCorpus:
    r"""Read a tagged corpus.

    Parameters
    ----------
    path : path-like
        Plain or compressed.
    format : str
        ``'auto'`` to recognise it by the first lines, or one of

        - ``'conllu'``: CoNLL-U, ten columns; ranges (``1-2``) and empty nodes (``1.1``) are left out;
        - ``'conllx'``: CoNLL-X, 2006, 2007, 2009 and the like: a number, the word, and more columns;
        - ``'columns'``: the word, the tag and possibly more columns (CoNLL-2000), a blank line after each
          sentence; a third column that ends in a file name's suffix (``wsj_0001.mrg``) names the document;
        - ``'word_tag'``: one sentence a line of ``word_TAG`` or ``word/TAG``;
        - ``'mrg'``: Penn Treebank trees;
        - ``'pos'``: Penn Treebank ``word/TAG`` with brackets and ``====`` lines.
    tag_column : int, optional
        Column of the tag, counted from 1. By default 5 (XPOS; 4, UPOS, where that is empty) in the formats
        with numbers. In ``columns`` it is 2, or 3 if the first 50 lines have universal tags (UPOS) in column
        2 and other tags in column 3, as files of word, UPOS and XPOS have.

    Returns
    -------
    TaggedCorpus

    Raises
    ------
    DataError
        With file and line: a line does not fit the format, a word has no tag, there is no sentence. With the
        column: it has so many different tags for so few different words that it cannot be that of the tags.
    ValueError
        The format is unknown.
    """
    if format == "auto":
        format = _recognise(path)  # noqa: A001
    if format in ("conllu", "conllx"):
        tokens = _numbered(path, tag_column, strict=format == "conllu")
    elif format == "columns":
        tokens = _columns(path, _column_of_tags(path) if tag_column is None else tag_column)
    elif format == "word_tag":
        tokens = _word_tag(path)
    elif format == "mrg":
        tokens = _trees(path)
    elif format == "pos":
        tokens = _penn_pos(path)
    else:
        raise ValueError(f"unknown format {format!r}; the formats are auto, {', '.join(FORMATS)}")
    corpus = TaggedCorpus(name_of(path), [], [], [])
    words: list[str] = []
    tags: list[str] = []
    source = ""
    columns: set[int] = set()
    for token in chain(tokens, [None]):
        if isinstance(token, tuple):
            words.append(token[0])
            tags.append(token[1])
            columns.add(token[2])
        elif token is not None:
            source = token
        elif words:
            corpus.sentences.append(words)
            corpus.tags.append(tags)
            corpus.sources.append(source)
            words, tags = [], []
    if not corpus.sentences:
        raise DataError(f"{path}: no sentences were found (read as {format})")
    corpus = replace(corpus, columns=frozenset(columns - {0}))
    n_tags, n_words = len(corpus.tag_set()), len(set(chain.from_iterable(corpus.sentences)))
    # Before any work: induction with so many states, or a classifier with so many classes, would take hours.
    if n_tags > max(FEW_TAGS, n_words / 2):
        raise DataError(
            f"{path}: {_named(corpus.columns)}{n_tags:,} different tags for {n_words:,} different words "
            f"(in {corpus.n_tokens:,}): are these the tags? expected a word and then its tag"
        )
    return corpus


def _named(columns: frozenset[int]) -> str:
    """Return the columns in words, as the beginning of a list."""
    return f"column {' or '.join(map(str, sorted(columns)))}, " if columns else ""


def _first_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the first 50 lines that are neither blank nor comments."""
    # A comment is "# text"; the Penn Treebank's tag "#" is in a column and never first in a file.
    return list(islice(Lines(path).filled("# "), 50))


def _column_of_tags(path: str | os.PathLike[str]) -> int:
    """Return 3 if column 2 has universal tags and column 3 has finer ones, else 2."""
    rows = list(map(cells_of, _first_lines(path)))
    if not all(len(row) > 2 and row[1] in UNIVERSAL for row in rows):
        return 2
    # Lemmas and names of documents have small letters; chunks are B-NP, I-NP or O; heads are numbers.
    others = {row[2] for row in rows} - UNIVERSAL - {"O", "_"}
    return 3 if others and not any(re.search(r"^[BI]-|^\d+$|[^\W\d_A-Z]", other) for other in others) else 2


def _recognise(path: str | os.PathLike[str]) -> str:
    """Tell the format from the first lines."""
    lines = _first_lines(path)
    if not lines:
        raise DataError(f"{path}: there are only blank lines and comments")
    first = lines[0].lstrip()
    if first.startswith("("):
        return "mrg"
    if first.startswith(("====", "[ ", "*x*")):
        return "pos"
    fields = list(map(cells_of, lines))
    if all(re.fullmatch(r"\d+([-.]\d+)?", row[0]) and len(row) >= 4 for row in fields):
        return "conllu" if all(len(row) == 10 for row in fields) else "conllx"
    # All tokens of the first line must match, but only most of the others: reading reports one without a tag.
    tagged = [[bool(re.fullmatch(r".+[_/][^_/]+", field)) for field in line.split()] for line in lines]
    if "\t" not in lines[0] and all(tagged[0]) and 2 * sum(map(sum, tagged)) > sum(map(len, tagged)):
        return "word_tag"
    if len(fields[0]) >= 2:
        return "columns"
    raise DataError(
        f"{path}: the format is not recognised from {excerpt(lines[0])}; expected CoNLL-U, columns (word TAB "
        "tag), word_TAG, or Penn Treebank .mrg or .pos"
    )


def _numbered(path: str | os.PathLike[str], tag_column: int | None, *, strict: bool) -> Iterator[Token]:
    place = 1
    lines = Lines(path)
    for line in lines:
        if not line.strip():
            yield None
            place = 1
            continue
        if line.startswith("#") and "\t" not in line:
            if line.startswith("# newdoc id ="):
                yield line.partition("=")[2].strip()
            continue
        columns = cells_of(line)
        if strict and len(columns) != 10:
            raise lines.wrong(f"{len(columns)} column(s)", "CoNLL-U has ten, separated by tabs")
        if re.fullmatch(r"\d+-\d+|\d+\.\d+", columns[0]):
            continue
        if columns[0] != str(place):
            raise lines.wrong(
                f"the word has the number {excerpt(columns[0])}",
                f"expected {place} (sentences must be separated by a blank line)",
            )
        if tag_column is not None:
            column = tag_column
        else:
            column = 5 if len(columns) > 4 and columns[4] not in ("_", "") else 4
        tag = columns[column - 1] if len(columns) >= column else ""
        if len(columns) < 2 or not columns[1]:
            raise lines.wrong("there is no word", "expected number, word, lemma, tag, ...")
        if tag in ("_", ""):
            raise lines.wrong(
                f"the word {excerpt(columns[1])} has no tag",
                "give the column of the tags, or a file with tags",
            )
        yield columns[1], tag, column
        place += 1


def _columns(path: str | os.PathLike[str], tag_column: int) -> Iterator[Token]:
    width, first = 0, True
    lines = Lines(path)
    for line in lines:
        if not line.strip():
            yield None
            first = True
            continue
        columns = cells_of(line)
        if first and columns[0] == "-DOCSTART-":
            continue
        width = width or len(columns)
        if len(columns) != width or width < tag_column:
            raise lines.wrong(
                f"{len(columns)} column(s) in {excerpt(line)}",
                f"expected {max(width, tag_column)}: word, tag, ... (and a blank line between sentences)",
            )
        if not columns[0] or not columns[tag_column - 1]:
            raise lines.wrong(f"an empty column in {excerpt(line)}", "expected word TAB tag")
        if width > 2 and first:
            yield columns[2] if re.fullmatch(r"\w+(\.\w+)?\d\d(\.\w+)?", columns[2]) else ""
        yield columns[0], columns[tag_column - 1], tag_column
        first = False


def _word_tag(path: str | os.PathLike[str]) -> Iterator[Token]:
    separator = ""
    lines = Lines(path)
    for line in lines:
        for token in line.split():
            separator = separator or ("_" if "_" in token else "/")
            word, _, tag = token.rpartition(separator)
            if not word or not tag:
                raise lines.wrong(f"{excerpt(token)} is not word{separator}TAG", "each word needs a tag")
            yield word, tag, 0
        yield None


def _penn_pos(path: str | os.PathLike[str]) -> Iterator[Token]:
    tag = ""
    lines = Lines(path)
    for line in lines:
        if line.startswith("*x*"):  # the copyright header of the distribution
            continue
        if line.startswith("="):
            yield None
            continue
        for token in line.split():
            if token in ("[", "]"):
                continue
            word, _, tag = token.rpartition("/")
            if not word or not tag:
                raise lines.wrong(f"{excerpt(token)} is not word/TAG", "each word needs a tag")
            tag = tag.partition("|")[0]  # "JJ|NN": the first of several
            yield _unescaped(word), tag, 0
        if not line.strip() and tag == ".":  # other blank lines are within a sentence
            yield None


def _trees(path: str | os.PathLike[str]) -> Iterator[Token]:
    """Leaves of bracketed trees: ``( (S (NP (DT The) ...)))``."""
    depth, opened = 0, 0
    empty = True
    label, leaf = "", ""  # of the innermost bracket that is open
    lines = Lines(path)
    for line in lines:
        if line.startswith("*x*"):
            continue
        for token in re.findall(r"[()]|[^\s()]+", line):
            if token == "(":
                if leaf:
                    raise lines.wrong(
                        f"a bracket opens after the word {excerpt(leaf)}", "expected (TAG word)"
                    )
                if depth == 0:
                    opened = lines.number
                depth += 1
                label = ""
            elif token == ")":
                if depth == 0:
                    raise lines.wrong("a bracket closes that was not opened", "expected ( first")
                depth -= 1
                if leaf and label != "-NONE-":
                    yield _unescaped(leaf), label, 0
                    empty = False
                label = leaf = ""
                if depth == 0:
                    if empty:
                        raise lines.wrong("a tree without words", "expected (TAG word) in it")
                    yield None
                    empty = True
            elif depth == 0:
                raise lines.wrong(f"{excerpt(token)} is outside of brackets", "expected (")
            elif not label:
                label = token
            elif not leaf:
                leaf = token
            else:
                raise lines.wrong(f"{excerpt(token)} follows the word {excerpt(leaf)}", "expected )")
    if depth:
        raise lines.wrong(f"{depth} bracket(s) of line {opened} are not closed", "the file is cut")


def _unescaped(word: str) -> str:
    r"""Undo the treebank's ``\/`` and ``\*``."""
    return word.replace("\\/", "/").replace("\\*", "*")
