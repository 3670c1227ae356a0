"""The documents of a model: their tags, and a row of parameters for each."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wordvec_ca.corpus import DocumentTags, Tag
from wordvec_ca.errors import DataError
from wordvec_ca.files import map_npy, save_npy
from wordvec_ca.kernels import aligned_zeros, padded
from wordvec_ca.vectors import KeyedVectors, ModelFile

BLOCK_ROWS = 65_536
"""Rows that are initialised or saved at a time."""


@dataclass
class Documents:
    """The rows of the documents of a model.

    Attributes
    ----------
    tags : DocumentTags
    rows : ndarray of shape (n_documents, width), float32
        The vectors D, padded as those of words are.
    logits : ndarray of shape (n_documents,), float32
        What each adds to the logit of the document's place; 0 without attention.
    """

    tags: DocumentTags
    rows: np.ndarray
    logits: np.ndarray
    _index: dict[Tag, int] | None = field(default=None, repr=False)

    @classmethod
    def zeros(cls, tags: DocumentTags, vector_size: int) -> Documents:
        """Return documents whose rows are zero."""
        rows = aligned_zeros((tags.n, padded(vector_size)))
        return cls(tags, rows, np.zeros(tags.n, np.float32))

    def __len__(self) -> int:
        return self.tags.n

    def initialise(self, seed: int, vector_size: int) -> None:
        """Draw the rows uniformly from plus or minus 0.5 / vector_size, as those of words are."""
        rng = np.random.default_rng([seed, 0x646F6373])
        for start in range(0, len(self.rows), BLOCK_ROWS):
            rows = self.rows[start : start + BLOCK_ROWS, :vector_size]
            rows[:] = (rng.random(rows.shape, dtype=np.float32) - np.float32(0.5)) / np.float32(vector_size)

    def begin_with(self, former: Documents) -> None:
        """Take over the rows and logits of documents that are the first ones of these."""
        self.rows[: len(former)] = former.rows
        self.logits[: len(former)] = former.logits

    @property
    def names(self) -> Sequence[Tag]:
        """The tag of each row."""
        return range(self.tags.n) if self.tags.names is None else self.tags.names

    def row(self, tag: Tag) -> int:
        """Return the row of a tag; of a number that is not a tag itself as text, as commands have it, too.

        Raises
        ------
        DataError
            There is no such document.
        """
        if self.tags.names is None:
            number = int(tag) if str(tag).isdecimal() else -1
            if 0 <= number < self.tags.n:
                return number
        else:
            if self._index is None:
                self._index = {name: row for row, name in enumerate(self.tags.names)}
            for name in (tag, int(tag) if str(tag).isdecimal() else tag):
                if name in self._index:
                    return self._index[name]
        raise DataError(f"there is no document {tag!r} among the {self.tags.n:,} of the model")

    def save(self, folder: Path, vector_size: int, *, attends: bool) -> None:
        """Write ``documents.npy``, and what is not plain: tags and logits."""
        save_npy(folder / ModelFile.DOCUMENTS, self.rows[:, :vector_size])
        if attends:
            save_npy(folder / ModelFile.ATTENTION_DOCUMENTS, self.logits)
        if self.tags.names is not None:
            with open(folder / ModelFile.DOCUMENT_TAGS, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(_plain(name), ensure_ascii=True) + "\n" for name in self.names)

    @classmethod
    def load(cls, folder: Path, vector_size: int, *, attends: bool, padded_rows: bool = True) -> Documents:
        """Read the documents of a model directory.

        Parameters
        ----------
        folder : Path
        vector_size : int
        attends : bool
            Whether there are logits.
        padded_rows : bool, default True
            Whether the rows are copied to memory, padded, to be trained; else they are memory-mapped.

        Raises
        ------
        DataError
            They are missing, damaged, or do not fit.
        """
        try:
            rows = map_npy(folder / ModelFile.DOCUMENTS)
        except FileNotFoundError:
            raise DataError(
                f"the model is incomplete: {str(folder / ModelFile.DOCUMENTS)!r} is missing"
            ) from None
        if rows.ndim != 2 or rows.shape[1] != vector_size or rows.dtype != np.float32:
            raise DataError(
                f"{str(folder / ModelFile.DOCUMENTS)!r} has shape {rows.shape} and type {rows.dtype}; "
                f"expected (documents, {vector_size}), float32"
            )
        names = _read_tags(folder / ModelFile.DOCUMENT_TAGS, len(rows))
        logits = np.zeros(len(rows), np.float32)
        if attends:
            logits[:] = map_npy(folder / ModelFile.ATTENTION_DOCUMENTS).reshape(len(rows))
        tags = DocumentTags(len(rows), names)
        if not padded_rows:
            return cls(tags, rows, logits)
        documents = cls.zeros(tags, vector_size)
        documents.rows[:, :vector_size] = rows
        documents.logits[:] = logits
        return documents


def document_vectors(directory: str | os.PathLike[str]) -> tuple[KeyedVectors, Callable[[Tag], int]]:
    """Return the vectors of the documents of a model directory, memory-mapped, and what finds their rows.

    Parameters
    ----------
    directory : path

    Returns
    -------
    vectors : KeyedVectors
        Its keys are the tags as text.
    row_of : callable
        Returns the row of a tag; a DataError says that there is no such document.

    Raises
    ------
    DataError
        The model has no documents.
    """
    tags = tags_of_model(directory)
    rows = map_npy(Path(directory) / ModelFile.DOCUMENTS)
    documents = Documents(tags, rows, np.zeros(tags.n, np.float32))
    return KeyedVectors([str(name) for name in documents.names], rows), documents.row


def tags_of_model(directory: str | os.PathLike[str]) -> DocumentTags:
    """Return the documents of a model directory.

    Raises
    ------
    DataError
        It has none.
    """
    folder = Path(directory)
    if not (folder / ModelFile.DOCUMENTS).exists():
        raise DataError(f"{os.fspath(directory)!r} has no vectors of documents")
    n = len(map_npy(folder / ModelFile.DOCUMENTS))
    return DocumentTags(n, _read_tags(folder / ModelFile.DOCUMENT_TAGS, n))


def _plain(name: Tag) -> Tag:
    return name if isinstance(name, str) else int(name)


def _read_tags(path: Path, n: int) -> list[Tag] | None:
    """Return the tags in a file, one a line as JSON; None if there is no such file."""
    if not path.exists():
        return None
    try:
        with open(path, encoding="utf-8") as file:
            names = [json.loads(line) for line in file]
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be used: {error}") from error
    if len(names) != n or not all(type(name) in (str, int) for name in names):
        raise DataError(f"{str(path)!r} does not hold a tag for each of {n} documents")
    return names
