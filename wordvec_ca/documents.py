"""A model of documents as a vectorizer of texts: it infers vectors instead of averaging vectors of words.

Input: a model directory with documents, and texts. Output: an inferred vector for each text, which is always
the same for the same text. It can be used wherever a ``SentenceVectorizer`` can.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError
from wordvec_ca.files import save_json
from wordvec_ca.machine import usable_cpus
from wordvec_ca.models import EmbeddingModel
from wordvec_ca.sentences import (
    Coverage,
    SearchIndex,
    Sentence,
    SentenceReader,
    TextLines,
    TokenIds,
    read_index_record,
)
from wordvec_ca.text import trusted_tokenizer
from wordvec_ca.training import Inference
from wordvec_ca.vectors import KeyedVectors

# The name of this method, beside those of `wordvec_ca.sentences.SentenceVectorizer`.
INFER = "infer"

RECORD = "sentences.json"


class DocumentVectorizer:
    """Turn texts into vectors by inference; used like a fitted ``SentenceVectorizer``.

    Parameters
    ----------
    model : EmbeddingModel or path
        A model of documents.
    epochs : int, optional
        Number of passes over a text; by default as in training.
    tokenizer : str, optional
        Tokenizer; by default that of the model.
    lowercase : bool, optional
        By default as in the model.
    threads : int, optional
        Number of threads; by default one for each processor. The vectors do not depend on it.

    Attributes
    ----------
    vectors_ : KeyedVectors
        The words of the model.
    coverage_ : Coverage
        Coverage of all texts that were transformed so far.

    Raises
    ------
    DataError
        The model has no documents, or cannot be read.
    """

    method_ = INFER

    def __init__(
        self,
        model: EmbeddingModel | str | os.PathLike[str],
        *,
        epochs: int | None = None,
        tokenizer: str | None = None,
        lowercase: bool | None = None,
        threads: int | None = None,
    ) -> None:
        found = model if isinstance(model, EmbeddingModel) else EmbeddingModel.load(model)
        config = found.config
        self.inference = Inference(found, epochs=epochs)
        self.tokenizer = trusted_tokenizer(config.tokenizer, tokenizer, "the model")
        self.lowercase = config.lowercase if lowercase is None else lowercase
        self.threads = threads or usable_cpus()
        # without n-grams: inference uses only words that have a row of their own
        rows = found.inputs[:, : config.vector_size]
        self.vectors_ = KeyedVectors(found.vocab.words, rows, found.vocab.counts, found.full_record())
        self.coverage_ = Coverage()
        self._reader = SentenceReader(self.vectors_, self.tokenizer, self.lowercase, None)

    def fit(self, X: Iterable[Sentence], y: Any = None) -> Self:
        """Do nothing: the vector of a text depends only on the text and the model."""
        return self

    def transform(self, X: Iterable[Sentence]) -> NDArray[np.float32]:
        """Return the vectors of texts.

        Parameters
        ----------
        X : iterable of str or of lists of str

        Returns
        -------
        ndarray of shape (n_texts, vector_size), float32
            Zeros for a text without a known word.
        """
        blocks = [block for block, _ in self.stream(X)]
        return np.concatenate([np.empty((0, self.vectors_.vector_size), np.float32), *blocks])

    def stream(self, sentences: Iterable[Sentence]) -> Iterator[tuple[NDArray[np.float32], Coverage]]:
        """Infer any number of texts, a batch at a time; see ``SentenceVectorizer.stream``."""
        for encoded in self._reader.read(sentences):
            coverage = encoded.coverage()
            self.coverage_ += coverage
            yield self.inference.rows(known_words(encoded), threads=self.threads), coverage

    def save(self, directory: str | Path) -> None:
        """Write ``sentences.json``, which `open_index` checks."""
        save_json(Path(directory) / RECORD, self._record())

    def open_index(self, directory: str | Path) -> SearchIndex:
        """Open an index that was built with this vectorizer, or one like it.

        Raises
        ------
        DataError
            The folder is not an index, is damaged, or was built with another model or with other options.
        """
        try:
            found = json.loads((Path(directory) / RECORD).read_text("utf-8"))
        except (OSError, RecursionError, ValueError) as error:
            raise DataError(f"{directory} is damaged: {error}; build the index again") from error
        if found != self._record():
            raise DataError(f"{directory} was made with another model or other options: build it again")
        return SearchIndex(directory, self, read_index_record(directory))

    def _record(self) -> dict[str, Any]:
        own = {"tokenizer": str(self.tokenizer), "lowercase": self.lowercase, "epochs": self.inference.epochs}
        return {"format": 1, "method": INFER, "model": self.inference.digest, **own}


def known_words(text: TokenIds) -> list[NDArray[np.int32]]:
    """Return the rows of the known words of each text."""
    ends = text.offsets[1:-1]
    return [np.ascontiguousarray(ids[ids >= 0]) for ids in np.split(text.ids, ends)][: len(text)]


def texts_of_training(
    metadata: Mapping[str, Any], tags: Container[str], field: str | None = None
) -> dict[str, str]:
    """Return the texts of some documents, read from the files of the training; none if these are gone."""
    # With ``field``, return that field of each record instead of its text; an error says why it cannot be
    # read.
    config = metadata.get("config") or {}
    corpus = (metadata.get("settings") or {}).get("corpus") or []
    read = field or config.get("field")
    tag_field = config.get("tag_field")
    try:
        lines = TextLines(corpus, field=read, encoding=config.get("encoding"), tag_field=tag_field)
        texts: dict[str, str] = {}
        for number, line in enumerate(lines):
            for tag in filter(tags.__contains__, lines.tags_of(number)):
                texts.setdefault(tag, line if isinstance(line, str) else " ".join(line))
    except (DataError, OSError):
        if field is not None:
            raise
        return {}
    return texts
