"""Find the sentences of a collection that are nearest to a query.

The vectors of all sentences, of length one, are in one memory-mapped file; a query is one exact product with
it. So no sentence is missed, and a search needs only one score per sentence in memory besides the map.

An index is a directory::

    config.json                     sizes, what was indexed, with which version
    vectors.npy                     float32 or float16 (n_sentences, vector_size), rows of length one or zero
    text.bin, offsets.npy           the sentences in UTF-8, and where each begins: int64 (n_sentences + 1,)
    blank.npy                       int64, rows of sentences without a known word, never found
    tags.json                       the tags of the sentences, if the records of the text have them
    sentences.json, sentences.npz   the fitted SentenceVectorizer (v0.npy and others for ca-sem)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.files import html_table, in_memory, map_npy, replacing, save_npy, write_npy_stream
from wordvec_ca.sentences.ca_sem import REEMBEDDING_FILES
from wordvec_ca.sentences.tokens import Coverage, Sentence
from wordvec_ca.sentences.vectorizer import SentenceVectorizer
from wordvec_ca.sentences.word_vectors import WordVectors
from wordvec_ca.vectors import ApproximateNeighbours, directions, highest, row_products

# Files of an index; a directory with any other file is never replaced.
FILES = REEMBEDDING_FILES | {
    "config.json", "vectors.npy", "text.bin", "offsets.npy", "blank.npy", "tags.json",
    "sentences.json", "sentences.npz",
}  # fmt: skip

# Lengths of sentences collected in a list before they become an array.
BLOCK_ROWS = 16384


class Vectorizer(Protocol):
    """Interface of a converter from texts to vectors, such as a fitted ``SentenceVectorizer``."""

    @property
    def vectors_(self) -> WordVectors:
        """The vectors of the known words."""

    @property
    def method_(self) -> str:
        """The name of the method."""

    def transform(self, X: Iterable[Sentence]) -> NDArray[np.float32]:
        """Return a row for each text; zeros if no word is known."""

    def stream(self, sentences: Iterable[Sentence]) -> Iterator[tuple[NDArray[np.float32], Coverage]]:
        """Yield the rows of any number of texts, a batch at a time."""

    def save(self, directory: str | Path) -> None:
        """Write the files, besides the vectors, with which the index can be opened."""


@dataclass(frozen=True)
class Hit:
    """A sentence found.

    Parameters
    ----------
    score : float
        Cosine with the query.
    row : int
        Number of the sentence in the collection, from 0.
    text : str
        The sentence.
    tag : str, optional
        Its tag, if the records of the text have tags.
    """

    score: float
    row: int
    text: str
    tag: str | None = None


class SearchIndex:
    """Sentences that can be searched; made by :meth:`build`, opened by :meth:`load`.

    Attributes
    ----------
    vectors : memory map of shape (n_sentences, vector_size), float32 or float16
    vectorizer : Vectorizer
        Turns a query into a vector.
    record : dict
        ``config.json``.
    tags : list of str, or None
        The tag of each sentence, if the records of the text have tags.
    """

    def __init__(self, directory: str | Path, vectorizer: Vectorizer, record: dict[str, Any]) -> None:
        directory = Path(directory)
        self.vectorizer = vectorizer
        self.record = record
        try:
            self.vectors: NDArray[Any] = map_npy(directory / "vectors.npy")
            self._offsets: NDArray[np.int64] = map_npy(directory / "offsets.npy")
            self._blank: NDArray[np.int64] = np.array(map_npy(directory / "blank.npy"))
            tags = directory / "tags.json"
            self.tags: list[str] | None = json.loads(tags.read_text("utf-8")) if tags.exists() else None
            size = (directory / "text.bin").stat().st_size
            self._text: NDArray[np.uint8] = (
                np.memmap(directory / "text.bin", np.uint8, "r") if size else np.zeros(0, np.uint8)
            )
        except (OSError, ValueError) as error:
            raise DataError(f"{directory} is damaged: {error}; build the index again") from error
        if self.tags is not None and not (
            isinstance(self.tags, list) and len(self.tags) == len(self.vectors)
        ):
            raise DataError(f"{directory} is damaged: tags.json has not a tag for each row; build it again")
        lists = all(array.ndim == 1 and array.dtype == np.int64 for array in (self._offsets, self._blank))
        table = self.vectors.ndim == 2 and self.vectors.dtype.kind == "f"
        fits = lists and table and len(self._offsets) == len(self.vectors) + 1 and self._offsets[-1] == size
        if not fits or not ((self._blank >= 0) & (self._blank < len(self.vectors))).all():
            raise DataError(f"{directory} is damaged: its files do not fit together; build the index again")

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the content of mapped files instead of the maps."""
        return {
            name: in_memory(value) if isinstance(value, np.ndarray) else value
            for name, value in self.__dict__.items()
        }

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        shape = f"vector_size={self.vectors.shape[1]}, {self.vectors.dtype}"
        return f"SearchIndex({len(self)} sentences, {shape}, method={self.vectorizer.method_!r})"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the first sentences."""
        rows = [(row, self.text(row)) for row in range(min(5, len(self)))]
        return html_table(f"SearchIndex: {len(self):,} sentences", ("row", "sentence"), rows)

    @classmethod
    def build(
        cls,
        sentences: Iterable[Sentence],
        vectorizer: Vectorizer,
        directory: str | Path,
        *,
        dtype: Literal["float32", "float16"] = "float32",
        source: dict[str, Any] | None = None,
    ) -> Self:
        """Index sentences, read once and never held.

        Parameters
        ----------
        sentences : iterable of str or list of str
            The collection; also the texts that are shown. If it has an attribute ``tags`` when all have been
            read, as `TextLines` has, the hits have these tags.
        vectorizer : Vectorizer
            A ``SentenceVectorizer``, fitted, for instance on the same sentences.
        directory : path
            Folder to create; an older index in it is replaced when the new one is complete.
        dtype : {"float32", "float16"}
            float16 takes half the disk and memory; cosines are then right to about 0.001.
        source : dict, optional
            Description of the collection, for ``config.json``.

        Returns
        -------
        SearchIndex

        Raises
        ------
        DataError
            If there are no sentences, or ``directory`` holds something that is not an index.
        """
        if dtype not in ("float32", "float16"):
            raise ValueError(f"dtype={dtype!r}: it must be 'float32' or 'float16'")
        with replacing(directory, overwrite=True, files=FILES) as folder:
            record = _write(sentences, vectorizer, folder, dtype)
            record["source"] = source or {}
            (folder / "config.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return cls(directory, vectorizer, record)

    @classmethod
    def load(cls, directory: str | Path, vectors: WordVectors | str | Path) -> Self:
        """Open an index; nothing is read until it is searched.

        Parameters
        ----------
        directory : path
            What :meth:`build` made.
        vectors : KeyedVectors or path
            The word vectors that it was built with.

        Raises
        ------
        DataError
            There is no index, it is damaged, or the word vectors are different ones.
        """
        record = read_index_record(directory)
        return cls(directory, SentenceVectorizer.load(directory, vectors), record)

    def search(
        self, query: str, topn: int = 10, *, indexer: ApproximateNeighbours | None = None
    ) -> list[Hit]:
        """Return the sentences nearest to a query, best first; of equal ones the earlier.

        Parameters
        ----------
        query : str
            A sentence.
        topn : int
            How many at most.
        indexer : ApproximateNeighbours, optional
            An index over ``vectors``, which finds most of the nearest sentences without comparing every one.

        Raises
        ------
        DataError
            If no word of the query has a vector.
        """
        return self.search_many([query], topn, indexer=indexer)[0]

    def search_many(
        self, queries: list[str], topn: int = 10, *, indexer: ApproximateNeighbours | None = None
    ) -> list[list[Hit]]:
        """Search for several queries in one pass over the index.

        Parameters
        ----------
        queries : list of str
            Sentences.
        topn : int
            How many hits for each.
        indexer : ApproximateNeighbours, optional
            See `search`.

        Returns
        -------
        list of list of Hit
        """
        if topn < 1:
            raise ValueError(f"topn={topn}: it must be >= 1")
        targets = directions(self.vectorizer.transform(queries), centred=False)
        for query, target in zip(queries, targets, strict=True):
            if not target.any():
                raise DataError(
                    f"no word of the query {query[:80]!r} has a vector other than zero: use other words"
                )
        if indexer is not None:
            found = [indexer.nearest(target, topn) for target in targets]
            return [
                [self._hit(score, row) for row, score in zip(rows.tolist(), cosines.tolist(), strict=True)]
                for rows, cosines in found
            ]
        scores = row_products(self.vectors, targets, np.empty((len(queries), len(self)), np.float32))
        scores[:, self._blank] = -np.inf
        return [self._hits(row, topn) for row in scores]

    def _hits(self, scores: NDArray[np.float32], topn: int) -> list[Hit]:
        return [self._hit(float(scores[row]), row) for row in highest(scores, topn)]

    def _hit(self, score: float, row: int) -> Hit:
        return Hit(score, row, self.text(row), None if self.tags is None else self.tags[row])

    def text(self, row: int) -> str:
        """Return a sentence of the collection."""
        return bytes(self._text[self._offsets[row] : self._offsets[row + 1]]).decode("utf-8", "replace")


def read_index_record(directory: str | Path) -> dict[str, Any]:
    """Return ``config.json``.

    Raises
    ------
    DataError
        If there is no index, or it is of a newer format.
    """
    path = Path(directory) / "config.json"
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(
            f"{directory} is not a search index: it has no {path.name}; choose another"
        ) from error
    except (OSError, RecursionError, ValueError) as error:
        raise DataError(
            f"{directory} is not a search index ({error}): build one with 'cawv search'"
        ) from error
    if not isinstance(record, dict) or record.get("kind") != "search index":
        raise DataError(f"{directory} is not a search index: build one with 'cawv search'")
    if record.get("format") != 1:
        raise DataError(
            f"{path} has format {record.get('format')!r}; this program knows format 1: build again"
        )
    return record


def _write(
    sentences: Iterable[Sentence], vectorizer: Vectorizer, directory: Path, dtype: str
) -> dict[str, Any]:
    """Write all files except ``config.json``, and return the content of that file."""
    offsets: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    blank: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    n_rows = 0

    with open(directory / "text.bin", "wb") as file:

        def kept() -> Iterator[Sentence]:
            lengths: list[int] = []
            for sentence in sentences:
                text = sentence if isinstance(sentence, str) else " ".join(sentence)
                encoded = text.encode("utf-8", "replace")
                file.write(encoded)
                lengths.append(len(encoded))
                if len(lengths) == BLOCK_ROWS:
                    offsets.append(offsets[-1][-1] + np.cumsum(lengths))
                    lengths.clear()
                yield sentence
            if lengths:
                offsets.append(offsets[-1][-1] + np.cumsum(lengths))

        def rows() -> Iterator[NDArray[np.float32]]:
            nonlocal n_rows
            for block, _ in vectorizer.stream(kept()):
                blank.append(np.flatnonzero(~block.any(axis=1)) + n_rows)
                n_rows += len(block)
                yield directions(block, centred=False)

        size = vectorizer.transform([]).shape[1]
        write_npy_stream(directory / "vectors.npy", rows(), size, dtype)
    if n_rows == 0:
        raise DataError("there are no sentences to index: give at least one")
    save_npy(directory / "offsets.npy", np.concatenate(offsets))
    save_npy(directory / "blank.npy", np.concatenate(blank))
    if (tags := getattr(sentences, "tags", None)) is not None:
        (directory / "tags.json").write_text(json.dumps(tags), encoding="utf-8")
    vectorizer.save(directory)
    n_blank = sum(map(len, blank))
    return {
        "format": 1,
        "kind": "search index",
        "version": __version__,
        "n_sentences": n_rows,
        "n_blank": n_blank,
        "vector_size": size,
        "dtype": dtype,
    }
