"""What a user may call a corpus: files, a stream, lines, records or token lists."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import IO, Any

from wordvec_ca.corpus.options import TextOptions
from wordvec_ca.errors import DataError
from wordvec_ca.files import is_read_once
from wordvec_ca.text import (
    ReadText,
    Records,
    TextFiles,
    column_values,
    field_names,
    fields_with_text,
    find_files,
    frame_texts,
    in_nfc,
    is_frame,
    is_stream,
    line_pieces,
    object_texts,
)

Corpus = str | os.PathLike[str] | IO[bytes] | ReadText | Iterable[Any]


class Source:
    """What a user may call a corpus: ``files``, or an iterable of lines, of records or of ``token_lists``.

    Parameters
    ----------
    corpus : Corpus
        As in ``encode_corpus``.
    options : TextOptions
        How it is read.
    """

    def __init__(self, corpus: Corpus, options: TextOptions) -> None:
        field = options.field
        self.records = Records(documents=options.documents, tag_field=options.tag_field)
        self.normalize = options.normalize
        how = (field, options.threads, options.encoding, self.records, options.normalize)
        self.files: TextFiles | None = None
        self.lines: Iterable[Any] | None = None
        self.pieces: Iterator[bytes] | None = None
        self.token_lists: Iterable[Any] | None = None
        if isinstance(corpus, str | os.PathLike):
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
            self.files = TextFiles(find_files(corpus), *how)
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
        """Return the text, in pieces cut anywhere; not of token lists."""
        if self.files is not None:
            return self.files.pieces()
        pieces = self.pieces
        if pieces is None:
            pieces = line_pieces(self.lines or (), documents=self.records.documents)
        return in_nfc(pieces) if self.normalize == "nfc" else pieces

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
