"""The documents of a model: their tags, and a row of parameters for each document."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wordvec_ca.corpus import DocumentTags, Tag
from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import (
    check_listed,
    check_sample,
    map_npy,
    release_pages,
    save_npy,
    scratch_array,
    write_npy_stream,
)
from wordvec_ca.kernels import aligned_zeros, padded
from wordvec_ca.models.directory import read_array
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.vectors import KeyedVectors

# Prefix of the tags of documents in a table that also contains words; gensim uses the same.
PREFIX = "*dt_"

# Default limit for the number of documents on a map: more hide each other.
SHOWN_DOCUMENTS = 2_000

# Number of rows that are initialised or saved at a time.
BLOCK_ROWS = 65_536

# File in the folder of a run with the current rows of documents.
WORK = "documents.work"

# Number of rows in a block; a checkpoint contains the blocks that were changed.
TOUCHED_ROWS = 256

# Number of bytes of rows that are used before their memory is returned to the system.
MAPPED_BYTES = 256 << 20


@dataclass
class DocumentRows:
    """The rows of the documents of a model.

    Attributes
    ----------
    tags : DocumentTags
    rows : ndarray of shape (n_documents, width), float32
        The vectors D, padded like the vectors of words.
    logits : ndarray of shape (n_documents,), float32
        Addition of each document to the logit of the document's place; 0 without attention.
    touched_blocks : ndarray of shape (n_blocks,), bool, or None
        For rows that are mapped from the folder of a run: whether each block of ``TOUCHED_ROWS`` rows differs
        from the last checkpoint.
    """

    tags: DocumentTags
    rows: np.ndarray
    logits: np.ndarray
    touched_blocks: np.ndarray | None = None
    _index: dict[Tag, int] | None = field(default=None, repr=False)
    _touched_rows: int = field(default=0, repr=False)

    @classmethod
    def zeros(cls, tags: DocumentTags, vector_size: int, folder: Path | None = None) -> DocumentRows:
        """Return documents whose rows are zero: in memory, or mapped from a file of a run's folder."""
        shape = tags.n, padded(vector_size)
        logits = np.zeros(tags.n, np.float32)
        if folder is None or not tags.n:
            return cls(tags, aligned_zeros(shape), logits)
        (folder / WORK).unlink(missing_ok=True)  # an earlier model may have it mapped
        rows = scratch_array(folder / WORK, np.float32, shape)
        return cls(tags, rows, logits, np.ones(-(-tags.n // TOUCHED_ROWS), np.bool_))

    def __len__(self) -> int:
        return self.tags.n

    def initialise(self, seed: int, vector_size: int) -> None:
        """Draw the rows uniformly from plus or minus 0.5 / vector_size, like the rows of words."""
        # "docs": other uses of the seed get other numbers
        rng = np.random.default_rng([seed, 0x646F6373])
        for start in range(0, len(self.rows), BLOCK_ROWS):
            self._release()
            rows = self.rows[start : start + BLOCK_ROWS, :vector_size]
            rows[:] = (rng.random(rows.shape, dtype=np.float32) - np.float32(0.5)) / np.float32(vector_size)

    def begin_with(self, former: DocumentRows) -> None:
        """Copy rows and logits from another model, whose documents are the first ones here."""
        size = min(self.rows.shape[1], former.rows.shape[1])
        for start in range(0, len(former), BLOCK_ROWS):
            self._release()
            rows = slice(start, min(start + BLOCK_ROWS, len(former)))
            self.rows[rows, :size] = former.rows[rows, :size]
        self.logits[: len(former)] = former.logits

    def touched(self, rows: np.ndarray) -> bool:
        """Record that training has changed some rows; return whether memory was returned to the system.

        Parameters
        ----------
        rows : ndarray of int64
            Numbers of the rows; -1 means that there is none.
        """
        if self.touched_blocks is None:
            return False
        self.touched_blocks[np.unique(rows[rows >= 0] // TOUCHED_ROWS)] = True
        self._touched_rows += len(rows)
        if 4 * self._touched_rows * self.rows.shape[1] < MAPPED_BYTES:  # 4 bytes a float32
            return False
        self._touched_rows = 0
        self._release()
        return True

    def _release(self) -> None:
        if self.touched_blocks is not None:
            release_pages(self.rows)

    def use_saved(self, folder: Path) -> None:
        """Map the rows from the saved model directory instead of from the run's folder."""
        if self.touched_blocks is not None:
            self.rows, self.touched_blocks = map_npy(folder / ModelFile.DOCUMENTS), None

    def _blocks(self, vector_size: int) -> Iterator[np.ndarray]:
        for start in range(0, len(self.rows), BLOCK_ROWS):
            yield self.rows[start : start + BLOCK_ROWS, :vector_size]
            self._release()

    @property
    def names(self) -> Sequence[Tag]:
        """The tag of each row."""
        return range(self.tags.n) if self.tags.names is None else self.tags.names

    def row(self, tag: Tag) -> int:
        """Return the row of a tag; a number may also be given as text, as on the command line, if the text is
        not a tag.

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
            # as given first: a tag may be the text "7", and another the number 7
            for name in (tag, int(tag) if str(tag).isdecimal() else tag):
                if name in self._index:
                    return self._index[name]
        raise DataError(f"there is no document {tag!r} among the {self.tags.n:,} of the model")

    def save(self, folder: Path, vector_size: int, *, attends: bool) -> None:
        """Write ``documents.npy``, and tags and logits if they differ from the defaults."""
        write_npy_stream(folder / ModelFile.DOCUMENTS, self._blocks(vector_size), vector_size)
        if attends:
            save_npy(folder / ModelFile.ATTENTION_DOCUMENTS, self.logits)
        if self.tags.names is not None:
            with open(folder / ModelFile.DOCUMENT_TAGS, "w", encoding="utf-8") as file:
                # default: JSON does not know NumPy's integers
                file.writelines(json.dumps(name, default=int) + "\n" for name in self.names)

    @classmethod
    def load(cls, folder: Path, vector_size: int, *, attends: bool) -> DocumentRows:
        """Read the documents of a model directory; their rows are memory-mapped, and cannot be trained.

        Parameters
        ----------
        folder : Path
        vector_size : int
        attends : bool
            Whether the model has attention logits.

        Raises
        ------
        DataError
            Files of documents are missing, damaged, or do not fit.
        """
        rows = _read_rows(folder, vector_size)
        names = _read_tags(folder / ModelFile.DOCUMENT_TAGS, len(rows))
        logits = np.zeros(len(rows), np.float32)
        if attends:
            logits[:] = read_array(folder / ModelFile.ATTENTION_DOCUMENTS, (len(rows),))
        return cls(DocumentTags(len(rows), names), rows, logits)


def document_vectors(directory: str | os.PathLike[str]) -> tuple[KeyedVectors, Callable[[Tag], int]]:
    """Return the memory-mapped document vectors of a model directory, and a function that finds rows."""
    tags = tags_of_model(directory)
    rows = _read_rows(Path(directory))
    documents = DocumentRows(tags, rows, np.zeros(tags.n, np.float32))
    return KeyedVectors([str(name) for name in documents.names], rows), documents.row


def document_logit(directory: str | os.PathLike[str], tag: Tag | None) -> float:
    """Return the addition of a document to the logit of the document's place; without a tag, the mean over
    all documents.
    """
    tags = tags_of_model(directory)
    logits = read_array(Path(directory) / ModelFile.ATTENTION_DOCUMENTS, (tags.n,))
    if tag is None:
        return float(logits.mean()) if len(logits) else 0.0
    return float(logits[DocumentRows(tags, np.zeros((0, 0), np.float32), logits).row(tag)])


def shown_documents(n: int, limit: int | None) -> list[int]:
    """Return the rows of the documents that are shown, evenly spaced, at most ``limit`` of them."""
    shown = n if limit is None else min(limit, n)
    return [row * n // max(1, shown) for row in range(shown)]


def table_of_both(words: KeyedVectors, documents: KeyedVectors, limit: int | None = None) -> KeyedVectors:
    """Return a table of the vectors of words, followed by those of documents, named `PREFIX` and tag."""
    rows = shown_documents(len(documents), limit)
    n = len(rows)
    if words.vector_size != documents.vector_size:
        raise DataError(
            f"the vectors of words have {words.vector_size} numbers and those of documents "
            f"{documents.vector_size}: only input rows of words are beside them, ",
            Option("vectors", "input"),
        )
    names = [PREFIX + documents.index_to_key[row] for row in rows]
    if taken := next((name for name in names if name in words.key_to_index), None):
        raise DataError(f"{taken!r} is a word, too: words and documents cannot be in one table")
    vectors = np.concatenate([words.vectors, documents.vectors[rows]])
    # A document occurs once; words keep their ranks, since documents come after all of them.
    counts = None if words.counts is None else np.append(words.counts, np.ones(n, words.counts.dtype))
    return KeyedVectors([*words.index_to_key, *names], vectors, counts, words.metadata)


def tags_of_model(directory: str | os.PathLike[str]) -> DocumentTags:
    """Return the tags of the documents of a model directory."""
    folder = Path(directory)
    if not (folder / ModelFile.DOCUMENTS).exists():
        raise DataError(f"{os.fspath(directory)!r} has no vectors of documents")
    n = len(_read_rows(folder))
    return DocumentTags(n, _read_tags(folder / ModelFile.DOCUMENT_TAGS, n))


def _read_rows(folder: Path, vector_size: int | None = None) -> np.ndarray:
    """Memory-map the vectors of documents; a DataError if they are missing, or not of this size."""
    check_listed(folder)
    return read_array(folder / ModelFile.DOCUMENTS, ("documents", vector_size or "dimensions"))


def _read_tags(path: Path, n: int) -> list[Tag] | None:
    """Return the tags in a file, which has one tag a line as JSON; None if there is no such file."""
    check_sample(path)
    if not path.exists():
        return None
    try:
        with open(path, encoding="utf-8") as file:
            names = [json.loads(line) for line in file]
    except (OSError, RecursionError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be used: {error}") from error
    if len(names) != n or not all(type(name) in (str, int) for name in names):
        raise DataError(f"{str(path)!r} does not hold a tag for each of {n} documents")
    return names
