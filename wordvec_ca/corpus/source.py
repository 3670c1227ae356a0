"""Reads whatever a user passes as a corpus: files, a stream, lines, records or token lists."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import IO, Any

from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.files import is_read_once
from wordvec_ca.text import (
    Documents,
    Events,
    Line,
    ReadText,
    Records,
    Sessions,
    TextFiles,
    column_values,
    field_names,
    fields_with_text,
    find_files,
    frame_texts,
    in_normal_form,
    is_frame,
    is_stream,
    line_pieces,
    object_texts,
)

Corpus = str | os.PathLike[str] | IO[bytes] | ReadText | Documents | Iterable[Any]


class NumberedLines:
    """Yields the lines of documents one after the other, and stores where each document begins: the numbers,
    from 0, of the lines with which another one begins or continues, and the number of that document.
    """

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.lines = array("q")
        self.numbers = array("q")

    def __iter__(self) -> Iterator[Line]:
        last = None
        for place, (number, line) in enumerate(self.documents.numbered_lines()):
            if number != last:
                self.lines.append(place)
                self.numbers.append(number)
                last = number
            yield line


def _are_words(names: Sequence[Any]) -> bool:
    """Return whether strings given as paths must be the words of a sentence, since none could be a file."""
    return len(names) > 1 and not any(
        not isinstance(name, str) or re.search(r"[\s./\\:*?\[-]", name) or os.path.exists(name)
        for name in islice(names, 1_000)
    )


class Source:
    """What a user passed as a corpus: ``files``, or an iterable of lines, of records or of
    ``token_lists``.
    """

    # documents: The lines of documents, if the corpus has any (``group_by``, or a corpus of `Documents`).
    # identified: The files by which the corpus is recognised.
    # sorted_log: The sessions of a log, if some are held out.

    def __init__(self, corpus: Corpus, options: TextOptions) -> None:
        field = options.field
        self.documents = _documents(corpus, options)
        self.identified: TextFiles | None = None
        if self.documents is not None:
            if self.documents.documents.paths is not None:
                self.identified = TextFiles(find_files(self.documents.documents.paths))
            corpus, field = self.documents, None
        self.records = Records(documents=options.documents, tag_field=options.tag_field)
        if options.makes_sessions:
            self.records = Events(str(options.group_by), str(options.order_by))
        self.sorted_log: Sessions | None = None
        self.normalize = options.normalize
        how = (field, options.threads, options.encoding, self.records, options.normalize)
        self.files: TextFiles | None = None
        self.lines: Iterable[Any] | None = None
        self.pieces: Iterator[bytes] | None = None
        self.token_lists: Iterable[Any] | None = None
        if isinstance(corpus, NumberedLines):
            self._take_lines(iter(corpus), None)
        elif isinstance(corpus, str | os.PathLike):
            self.files = TextFiles(find_files([corpus]), *how)
        elif is_stream(corpus):
            self.files = TextFiles([corpus], *how)  # type: ignore[list-item]
        elif isinstance(corpus, bytes | bytearray):
            raise DataError(
                "the corpus is bytes; give a path, an open binary file (io.BytesIO(data)) or an iterable"
            )
        elif (
            isinstance(corpus, list | tuple)
            and corpus
            and all(isinstance(x, str | os.PathLike) for x in corpus)
        ):
            if _are_words(corpus):
                shown = ", ".join(map(repr, corpus[:3])) + (", …" if len(corpus) > 3 else "")
                raise DataError(
                    f"there is no file {corpus[0]!r}; a list of str is a list of paths. In Python a sentence "
                    f"is a list of words, and a corpus a list of sentences: [[{shown}], …]"
                )
            self.files = TextFiles(find_files(corpus), *how)
        elif isinstance(corpus, Mapping):  # of columns or splits: its keys would be read as text
            keys = ", ".join(map(repr, list(corpus)[:20]))
            raise DataError(f"the corpus is a {type(corpus).__name__} with the keys {keys}; give one value")
        elif is_frame(corpus):
            self.pieces = frame_texts(corpus, field_names(field), self.records)
        else:
            try:
                items = column_values(corpus) or iter(corpus)  # type: ignore[arg-type]
            except TypeError as error:
                raise DataError(
                    f"the corpus is a {type(corpus).__name__}; give a path, a list of paths or an iterable "
                    "of token lists"
                ) from error
            self._take_lines(items, field)
        self.identified = self.identified or self.files
        if isinstance(self.records, Events):
            pieces = self.files.pieces() if self.files is not None else self.pieces
            assert pieces is not None, "a corpus with a field is made of records"
            self.token_lists = Sessions(pieces, self.records, options.test_last)
            if options.test_last is not None:
                self.sorted_log = self.token_lists

    def _take_lines(self, items: Iterator[Any], field: str | tuple[str, ...] | None) -> None:
        """Accept lines, records or token lists; the first item determines the kind."""
        for first in items:
            both = chain([first], items)
            if isinstance(first, Mapping):
                self._take_records(both, first, field_names(field))
            elif field is not None:
                raise ValueError(
                    "field is for files of records and for mappings (dict), not for a Python iterable of "
                    f"{type(first).__name__}: yield the texts"
                )
            elif isinstance(first, str):
                self.lines = both
            else:
                self.token_lists = both
            break
        else:
            if self.identified is not None:
                raise DataError(f"the corpus is empty: there is no text in {self.identified.named}")
            raise DataError(
                "the corpus is empty: the iterable yields nothing (a generator can be used only once)"
            )

    def _take_records(
        self, records: Iterable[Any], first: Mapping[Any, Any], fields: tuple[str, ...] | None
    ) -> None:
        if fields is None:
            names = ", ".join(repr(name) for name in fields_with_text(first))
            raise DataError(
                f"the corpus yields mappings (dict) with the texts {names or '(none)'}; name those to read: "
                "field='text' or field=('title', 'text')"
            )
        self.pieces = object_texts(records, fields, self.records)

    def text(self) -> Iterator[bytes]:
        """Statistics of a corpus, collected while it was read."""
        if self.files is not None:
            return self.files.pieces()
        pieces = self.pieces
        if pieces is None:
            one_line = self.records.documents or self.documents is not None
            pieces = line_pieces(self.lines or (), documents=one_line)
        return in_normal_form(pieces, self.normalize)

    @staticmethod
    def check_repeatable(
        corpus: Corpus, why: str = "without a cache the text is read again in every epoch"
    ) -> None:
        """Raise a DataError if a corpus can be read only once."""
        given = corpus if isinstance(corpus, list | tuple) else [corpus]
        once = [name for name in given if isinstance(name, str | os.PathLike) and is_read_once(name)]
        if once:
            what = "standard input (-)" if once[0] == "-" else f"{os.fspath(once[0])!r} is a pipe: it"
        elif is_stream(corpus) or isinstance(corpus, Iterator):
            what = f"a {type(corpus).__name__}"
        else:
            return
        raise DataError(f"{what} can be read only once, but {why}; give files")


def sessions_of(corpus: Corpus, options: TextOptions) -> Sessions:
    """Return the sessions of a log."""
    sessions = Source(corpus, options).token_lists
    assert isinstance(sessions, Sessions), "the options make sessions"
    return sessions


def _documents(corpus: Corpus, options: TextOptions) -> NumberedLines | None:
    """Return the lines of a corpus that consists of documents; None if each line is independent."""
    if options.documents and (options.group_by is not None or isinstance(corpus, Documents)):
        raise DataError(
            "a model of documents takes each line, or each record, for a document; give the text itself, not "
            "groups of its lines"
        )
    if options.group_by is None or options.makes_sessions:
        return NumberedLines(corpus) if isinstance(corpus, Documents) else None
    try:
        return NumberedLines(
            Documents(corpus, options.group_by, field=options.field, encoding=options.encoding)
        )
    except ValueError as error:  # the corpus is not made of files
        raise OptionError(Option("group_by"), f" cannot be used: {error}") from error
