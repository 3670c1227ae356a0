"""The lines of text files, as strings, and sentences that are lists of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path


class TextLines:
    """The lines of text files; can be read again, unless standard input is among them.

    Parameters
    ----------
    paths : iterable of path
        What :func:`wordvec_ca.text.find_files` takes: files, also compressed, directories, patterns, ``-``.
    field : str or sequence of str, optional
        The files are JSON lines or tables: read these fields of each record (``a.b``: of its object a).
    encoding : str, optional
        Encoding of the files; by default UTF-8.
    documents : bool, default False
        Whether the text of each record is one line, as models of documents read it.
    tag_field : str, optional
        The field with the tag of each record, whose text is then one line.

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
        documents: bool = False,
        tag_field: str | None = None,
    ) -> None:
        from wordvec_ca.text import find_files

        self.files = find_files(paths)
        self.field = field
        self.encoding = encoding
        self.documents = documents or tag_field is not None
        self.tag_field = tag_field
        self.repaired = 0
        self._tags: list[list[str | int]] = []

    def __iter__(self) -> Iterator[str | list[str]]:
        """Yield each line without its end, empty ones too; a list of words is yielded as its words."""
        from wordvec_ca.files import whole_lines
        from wordvec_ca.text import Records, TextFiles, TokenLines

        self.repaired = 0
        records = Records(documents=self.documents, tag_field=self.tag_field)
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
