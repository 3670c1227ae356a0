"""Types of the compiled module ``_classifier``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LOSSES: dict[str, int]

class TokenTypes:
    """The types of a text as fastText splits it: bytes between ASCII white space and zeros.

    They are numbered in the order of their first occurrence. A table made of given words is closed: it does
    not grow.
    """

    def __init__(self, words: list[bytes] | None = None) -> None: ...
    def __len__(self) -> int: ...
    def find(self, word: bytes) -> int:
        """Return the number of a type. An open table adds an unknown one; a closed one returns a negative."""
    def read(self, text: bytes) -> NDArray[np.int32]:
        """Return the types of the tokens of a text; a line end is the token ``</s>``."""
    def words(self) -> list[bytes]: ...
    def counts(self) -> NDArray[np.int64]: ...
    def hashes(self) -> NDArray[np.int32]:
        """Return fastText's hash of each type, FNV-1a with signed bytes."""
    def begin_with(self, prefix: bytes) -> NDArray[np.bool_]: ...
    def numbers_in(self, other: TokenTypes) -> NDArray[np.int32]:
        """Return the number of each type in a closed table, or a negative number."""

class TextLines:
    """Lines ready for the loops.

    Parameters
    ----------
    tokens : types of the tokens, line by line
    ends : shape (n_lines,), where each line ends
    row_ends : shape (n_types + 1,); the rows of type t are rows[row_ends[t] : row_ends[t + 1]]
    rows : -1 for an n-gram that counts, but has no row
    labels : shape (n_types,), the label that a type is, -1 for a word, -2 for a type that is left out
    hashes : shape (n_types,)
    word_ngrams : the longest n-gram of words
    n_words : rows before those of buckets
    buckets : int
    places : shape (buckets,), the row of each bucket, counted from n_words, -1 for none
    n_places : number of rows from n_words on; all of ``places`` must be smaller, which is not checked
    skip_unknown : whether an n-gram of words without a row does not count
    """

    most_rows: int
    def __init__(
        self,
        tokens: Any,
        ends: Any,
        row_ends: Any,
        rows: Any,
        labels: Any,
        hashes: Any,
        word_ngrams: int,
        n_words: int,
        buckets: int,
        places: Any = None,
        n_places: int = 0,
        skip_unknown: bool = False,
    ) -> None: ...
    def __len__(self) -> int: ...
    def number_buckets(self, places: NDArray[np.int32]) -> int: ...

class RowMatrix:
    """A matrix of numbers (n, dim), or of codes (``formats.QuantisedRows``)."""

    def __init__(
        self,
        numbers: Any = None,
        codes: Any = None,
        centroids: Any = None,
        part: int = 0,
        norm_codes: Any = None,
        norms: Any = None,
    ) -> None: ...

class LineModel:
    """The labels or the vector of one line or word, in one call.

    Parameters
    ----------
    entries : closed; words, then labels
    inputs, outputs : outputs of a classifier, else None
    label : how labels begin
    n_words, n_labels, loss, min_n, max_n, word_ngrams, buckets : int
    tree : as in ``predict_labels``
    places : shape (buckets,), the row of each bucket, counted from n_words, -1 for none; None: its number
    skip_unknown : whether an n-gram without a row does not count
    """

    def __init__(
        self,
        entries: TokenTypes,
        inputs: RowMatrix,
        outputs: RowMatrix | None,
        label: bytes,
        *,
        n_words: int,
        n_labels: int,
        loss: int,
        tree: Any,
        min_n: int,
        max_n: int,
        word_ngrams: int,
        buckets: int,
        places: Any,
        skip_unknown: bool,
        isa: str,
    ) -> None: ...
    def predict(self, text: str, k: int, threshold: float) -> tuple[list[int], NDArray[np.float64]]:
        """Return the numbers of the k best labels of a line, and their probabilities; k is -1 for all labels.

        Raises
        ------
        ValueError
            The model is not a classifier, k is neither 1 or more nor -1, or there is a line end in the text.
        """
    def word_vector(self, text: str) -> NDArray[np.float32]:
        """Return the mean of the rows of a word, known or not."""
    def word_vectors(self, words: list[bytes]) -> NDArray[np.float32]:
        """Return the vectors of words, shape (n_words, dim)."""
    def line_vector(self, text: str) -> NDArray[np.float32]:
        """Return the mean of the rows of a line."""
    def mean_of_units(self, text: str) -> NDArray[np.float32]:
        """Return the mean of a line's word vectors, each scaled to length 1; zero vectors do not count."""

def predict(
    lines: TextLines,
    inputs: RowMatrix,
    outputs: RowMatrix,
    n_labels: int,
    loss: int,
    k: int,
    threshold: float,
    tree: Any,
    isa: str,
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32]]: ...
def learn(
    lines: TextLines,
    first: int,
    last: int,
    inputs: Any,
    outputs: Any,
    own_outputs: Any,
    copied_every: int,
    n_labels: int,
    loss: int,
    negative: int,
    path_ends: Any,
    path_nodes: Any,
    path_labels: Any,
    pool: Any,
    alpha: float,
    tokens_before: float,
    tokens_in_all: float,
    seed: int,
    scratch: Any,
    isa: str,
) -> tuple[float, int]: ...
