"""Readers of tagged corpora: CoNLL-U, CoNLL-X and other columns, word_TAG, Penn Treebank .mrg and .pos.

All words and tags are as in the file; only traces (``-NONE-``) are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.lines import excerpt, malformed, name_of, numbered_lines


@dataclass(frozen=True)
class TaggedCorpus:
    """Sentences with a tag for each word."""

    name: str
    sentences: list[list[str]]
    tags: list[list[str]]
    # Document (file) of each sentence, if the format names it; empty strings otherwise
    sources: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def n_tokens(self) -> int:
        """Number of words."""
        return sum(map(len, self.sentences))

    def tag_set(self) -> list[str]:
        """Return the different tags, sorted."""
        return sorted({tag for tags in self.tags for tag in tags})

    def where(self, keep: Callable[[str], bool], name: str) -> TaggedCorpus:
        """Return the sentences from the documents for which ``keep`` is true."""
        chosen = [i for i, source in enumerate(self.sources) if keep(source)]
        return TaggedCorpus(
            name,
            [self.sentences[i] for i in chosen],
            [self.tags[i] for i in chosen],
            [self.sources[i] for i in chosen],
        )


Token = tuple[str, str] | str | None
"""What readers yield: a word with its tag, the document of what follows, None after a sentence."""

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
        with numbers, and 2 in ``columns``.

    Returns
    -------
    TaggedCorpus

    Raises
    ------
    DataError
        With file and line: a line does not fit the format, a word has no tag, there is no sentence.
    ValueError
        The format is unknown.
    """
    if format == "auto":
        format = _recognise(path)  # noqa: A001
    if format in ("conllu", "conllx"):
        tokens = _numbered(path, tag_column, strict=format == "conllu")
    elif format == "columns":
        tokens = _columns(path, 2 if tag_column is None else tag_column)
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
    for token in chain(tokens, [None]):
        if isinstance(token, tuple):
            words.append(token[0])
            tags.append(token[1])
        elif token is not None:
            source = token
        elif words:
            corpus.sentences.append(words)
            corpus.tags.append(tags)
            corpus.sources.append(source)
            words, tags = [], []
    if not corpus.sentences:
        raise DataError(f"{path}: no sentences were found (read as {format})")
    return corpus


def read_tagged_part(path: str | os.PathLike[str]) -> TaggedCorpus:
    """Read a tagged corpus whose name may give the column of the tags.

    Penn Treebank tags are the third column in the three-column files of Universal Dependencies, ``ud_*.tsv``.
    """
    of_ud = name_of(path).startswith("ud_") and os.fspath(path).removesuffix(".xz").endswith(".tsv")
    return read_tagged(path, tag_column=3 if of_ud else None)


def _recognise(path: str | os.PathLike[str]) -> str:
    """Tell the format from the first 50 lines that are neither blank nor comments."""
    # A comment is "# text"; the Penn Treebank's tag "#" is in a column and never first in a file.
    lines = list(
        islice((line for _, line in numbered_lines(path) if line.strip() and not line.startswith("# ")), 50)
    )
    if not lines:
        raise DataError(f"{path}: there are only blank lines and comments")
    first = lines[0].lstrip()
    if first.startswith("("):
        return "mrg"
    if first.startswith(("====", "[ ", "*x*")):
        return "pos"
    fields = [line.split("\t") if "\t" in line else line.split() for line in lines]
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
    for number, line in numbered_lines(path):
        if not line.strip():
            yield None
            place = 1
            continue
        if line.startswith("#") and "\t" not in line:
            if line.startswith("# newdoc id ="):
                yield line.partition("=")[2].strip()
            continue
        columns = line.split("\t") if "\t" in line else line.split()
        if strict and len(columns) != 10:
            raise malformed(path, number, f"{len(columns)} column(s)", "CoNLL-U has ten, separated by tabs")
        if re.fullmatch(r"\d+-\d+|\d+\.\d+", columns[0]):
            continue
        if columns[0] != str(place):
            raise malformed(
                path,
                number,
                f"the word has the number {excerpt(columns[0])}",
                f"expected {place} (sentences must be separated by a blank line)",
            )
        if tag_column is not None:
            tag = columns[tag_column - 1] if len(columns) >= tag_column else ""
        else:
            tag = columns[4] if len(columns) > 4 and columns[4] not in ("_", "") else (columns + [""] * 4)[3]
        if len(columns) < 2 or not columns[1]:
            raise malformed(path, number, "there is no word", "expected number, word, lemma, tag, ...")
        if tag in ("_", ""):
            raise malformed(
                path,
                number,
                f"the word {excerpt(columns[1])} has no tag",
                "give the column of the tags, or a file with tags",
            )
        yield columns[1], tag
        place += 1


def _columns(path: str | os.PathLike[str], tag_column: int) -> Iterator[Token]:
    width, first = 0, True
    for number, line in numbered_lines(path):
        if not line.strip():
            yield None
            first = True
            continue
        columns = line.split("\t") if "\t" in line else line.split()
        if first and columns[0] == "-DOCSTART-":
            continue
        width = width or len(columns)
        if len(columns) != width or width < tag_column:
            raise malformed(
                path,
                number,
                f"{len(columns)} column(s) in {excerpt(line)}",
                f"expected {max(width, tag_column)}: word, tag, ... (and a blank line between sentences)",
            )
        if not columns[0] or not columns[tag_column - 1]:
            raise malformed(path, number, f"an empty column in {excerpt(line)}", "expected word TAB tag")
        if width > 2 and first:
            yield columns[2] if re.fullmatch(r"\w+(\.\w+)?\d\d(\.\w+)?", columns[2]) else ""
        yield columns[0], columns[tag_column - 1]
        first = False


def _word_tag(path: str | os.PathLike[str]) -> Iterator[Token]:
    separator = ""
    for number, line in numbered_lines(path):
        for token in line.split():
            separator = separator or ("_" if "_" in token else "/")
            word, _, tag = token.rpartition(separator)
            if not word or not tag:
                raise malformed(
                    path, number, f"{excerpt(token)} is not word{separator}TAG", "each word needs a tag"
                )
            yield word, tag
        yield None


def _penn_pos(path: str | os.PathLike[str]) -> Iterator[Token]:
    tag = ""
    for number, line in numbered_lines(path):
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
                raise malformed(path, number, f"{excerpt(token)} is not word/TAG", "each word needs a tag")
            tag = tag.partition("|")[0]  # "JJ|NN": the first of several
            yield _unescaped(word), tag
        if not line.strip() and tag == ".":  # other blank lines are within a sentence
            yield None


def _trees(path: str | os.PathLike[str]) -> Iterator[Token]:
    """Leaves of bracketed trees: ``( (S (NP (DT The) ...)))``."""
    depth, opened = 0, 0
    empty = True
    label, leaf = "", ""  # of the innermost bracket that is open
    number = 0
    for number, line in numbered_lines(path):
        if line.startswith("*x*"):
            continue
        for token in re.findall(r"[()]|[^\s()]+", line):
            if token == "(":
                if leaf:
                    raise malformed(
                        path, number, f"a bracket opens after the word {excerpt(leaf)}", "expected (TAG word)"
                    )
                if depth == 0:
                    opened = number
                depth += 1
                label = ""
            elif token == ")":
                if depth == 0:
                    raise malformed(path, number, "a bracket closes that was not opened", "expected ( first")
                depth -= 1
                if leaf and label != "-NONE-":
                    yield _unescaped(leaf), label
                    empty = False
                label = leaf = ""
                if depth == 0:
                    if empty:
                        raise malformed(path, number, "a tree without words", "expected (TAG word) in it")
                    yield None
                    empty = True
            elif depth == 0:
                raise malformed(path, number, f"{excerpt(token)} is outside of brackets", "expected (")
            elif not label:
                label = token
            elif not leaf:
                leaf = token
            else:
                raise malformed(
                    path, number, f"{excerpt(token)} follows the word {excerpt(leaf)}", "expected )"
                )
    if depth:
        raise malformed(
            path, number, f"{depth} bracket(s) of line {opened} are not closed", "the file is cut"
        )


def _unescaped(word: str) -> str:
    r"""Undo the treebank's ``\/`` and ``\*``."""
    return word.replace("\\/", "/").replace("\\*", "*")
