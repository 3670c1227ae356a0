"""Models with the methods of fastText's Python module 0.9."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

import numpy as np

from wordvec_ca.fasttext.dictionary import EOS, encoded, lines_of, tokenize
from wordvec_ca.fasttext.low_level import LowLevel
from wordvec_ca.fasttext.meter import Meter, joined, measured
from wordvec_ca.fasttext.model import Model
from wordvec_ca.fasttext.quantising import quantised_model
from wordvec_ca.fasttext.settings import SHOWN, SUPERVISED
from wordvec_ca.kernels import TokenTypes
from wordvec_ca.vectors import highest

Path = str | os.PathLike[str]


class TextMeter:
    """Precision and recall of a model on a file, at every threshold."""

    def __init__(self, model: TextModel, meter: Meter) -> None:
        self.f, self.m = model, meter

    def _number(self, label: str | None) -> int | None:
        if not label:
            return None
        number = self.f.get_label_id(label)
        if number < 0:
            raise ValueError(f"the model has no label {label!r}")
        return number

    def score_vs_true(self, label: str | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of a label in ascending order, and 1 where it was right, else 0."""
        return self.m.scores_and_truth(self._number(label))

    def precision_recall_curve(self, label: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return precision and recall, the highest threshold first."""
        return self.m.curve(self._number(label))

    def precision_at_recall(self, recall: float, label: str | None = None) -> float:
        """Return the best precision with at least this recall."""
        return self.m.precision_at_recall(recall, self._number(label))

    def recall_at_precision(self, precision: float, label: str | None = None) -> float:
        """Return the best recall with at least this precision."""
        return self.m.recall_at_precision(precision, self._number(label))


class TextModel:
    """A model, read from a file or trained. The methods are those of fastText's Python module 0.9.

    Attributes
    ----------
    words, labels : list of str
    """

    def __init__(self, model_path: Path | None = None, args: Any = None, model: Model | None = None) -> None:
        self._model = Model.read(model_path) if model_path is not None else model
        self._words: list[str] | None = None
        self._labels: list[str] | None = None
        self._unit_words: np.ndarray | None = None
        self.set_args(args)

    @property
    def core(self) -> Model:
        """The model's dictionary and rows."""
        if self._model is None:
            raise RuntimeError("there is no model here yet: read one with load_model, or train one")
        return self._model

    @property
    def f(self) -> LowLevel:
        """The model under the names of fastText's compiled module: ``model.f.getWordId``, ..."""
        return LowLevel(self)

    def set_args(self, args: Any = None) -> None:
        """Set options as attributes."""
        if args is not None and not isinstance(args, dict):
            args = {name: getattr(args, name) for name in SHOWN if hasattr(args, name)}
        for name, value in (args or {}).items():
            setattr(self, name, value)

    # ---- what it is ---------------------------------------------------------------------------------------

    def is_quantized(self) -> bool:
        """Return whether rows are codes, as in a ``.ftz``."""
        return self.core.quantised

    def get_dimension(self) -> int:
        """Return the number of dimensions of a vector."""
        return self.core.options.dim

    def get_words(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """Return the words, and their counts if asked for."""
        d = self.core.dictionary
        words = _decoded(d.words[: d.n_words], on_unicode_error)
        return (words, d.counts[: d.n_words].copy()) if include_freq else words

    def get_labels(self, include_freq: bool = False, on_unicode_error: str = "strict") -> Any:
        """Return the labels, and their counts if asked for; for a model without labels, return the words."""
        d = self.core.dictionary
        if not self.core.supervised:
            return self.get_words(include_freq, on_unicode_error)
        labels = _decoded(d.words[d.n_words :], on_unicode_error)
        return (labels, d.counts[d.n_words :].copy()) if include_freq else labels

    @property
    def words(self) -> list[str]:
        """The words."""
        if self._words is None:
            self._words = list(self.get_words())
        return self._words

    @property
    def labels(self) -> list[str]:
        """The labels."""
        if self._labels is None:
            self._labels = list(self.get_labels())
        return self._labels

    def __contains__(self, word: str) -> bool:
        number = self.core.dictionary.number(word.encode())
        return 0 <= number < self.core.dictionary.n_words

    def get_word_id(self, word: str) -> int:
        """Return the number of a word, or -1 if it is unknown."""
        return self.core.dictionary.number(word.encode())

    def get_label_id(self, label: str) -> int:
        """Return the number of a label, or -1 if it is unknown."""
        d = self.core.dictionary
        return max(-1, d.number(label.encode()) - d.n_words)

    # ---- vectors ------------------------------------------------------------------------------------------

    def get_word_vector(self, word: str) -> np.ndarray:
        """Return the vector of a word, known or not, shape (dim,), float32."""
        return self.core.line.word_vector(word)

    def __getitem__(self, word: str) -> np.ndarray:
        return self.get_word_vector(word)

    def get_sentence_vector(self, text: str) -> np.ndarray:
        """Return the vector of a line, shape (dim,), float32.

        A classifier returns its hidden vector; other models return the mean of the vectors of the words,
        scaled to length 1.

        Raises
        ------
        ValueError
            The text has more than one line.
        """
        line = self.core.line
        return line.line_vector(text) if self.core.supervised else line.mean_of_units(text)

    def get_nearest_neighbors(
        self, word: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """Return the k words with the highest cosines with a word, and these cosines."""
        return self._nearest(self.get_word_vector(word), k, {word}, on_unicode_error)

    def get_analogies(
        self, wordA: str, wordB: str, wordC: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """Return the k words nearest to A - B + C, and their cosines.

        Parameters are fastText's.
        """
        query = np.zeros(self.get_dimension(), np.float32)
        for word, sign in ((wordA, 1), (wordB, -1), (wordC, 1)):
            vector = self.get_word_vector(word)
            query += sign * vector / np.float32(np.linalg.norm(vector) + 1e-8)
        return self._nearest(query, k, {wordA, wordB, wordC}, on_unicode_error)

    def _nearest(self, query: np.ndarray, k: int, left_out: set[str], errors: str) -> list[tuple[float, str]]:
        d = self.core.dictionary
        if self._unit_words is None:
            vectors = self.core.line.word_vectors(d.words[: d.n_words])
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            self._unit_words = vectors / np.where(lengths > 0, lengths, 1)
        length = float(np.linalg.norm(query))
        cosines = self._unit_words @ (query / (length if length > 1e-8 else 1.0))
        for word in left_out:
            number = d.number(word.encode())
            if 0 <= number < d.n_words:
                cosines[number] = -np.inf
        best = [i for i in highest(cosines, min(k, len(cosines))) if cosines[i] > -np.inf]
        return [(float(cosines[i]), d.words[i].decode("utf-8", errors)) for i in best]

    # ---- rows ---------------------------------------------------------------------------------------------

    def get_subword_id(self, subword: str) -> int:
        """Return the row of the bucket into which an n-gram falls."""
        d = self.core.dictionary
        types = TokenTypes()
        types.find(subword.encode())
        return d.n_words + (int(types.hashes()[0]) & 0xFFFFFFFF) % max(1, d.options.bucket)

    def get_subwords(self, word: str, on_unicode_error: str = "strict") -> tuple[list[str], np.ndarray]:
        """Return a word, if it is known, and its n-grams; and their rows of inputs."""
        d, encoded_word = self.core.dictionary, word.encode()
        number = d.number(encoded_word)
        own = [number] if 0 <= number < d.n_words else []
        if d.maxn <= 0:
            return [word] * len(own), np.array(own, np.int64)
        _, buckets, ngrams = d.buckets_of([encoded_word])
        rows = d.n_words + buckets
        if d.pruned:
            rows = d.rows_of_buckets(buckets)
            ngrams, rows = [n for n, row in zip(ngrams, rows, strict=True) if row >= 0], rows[rows >= 0]
        return [word] * len(own) + _decoded(ngrams, on_unicode_error), np.append(
            np.array(own, np.int64), rows
        )

    def get_input_vector(self, ind: int) -> np.ndarray:
        """Return a row of inputs, shape (dim,), float32."""
        rows = self.core.all_inputs()
        if not 0 <= ind < rows.shape[0]:
            raise IndexError(f"there is no row {ind}: there are {rows.shape[0]}")
        return np.array(rows[slice(ind, ind + 1)][0], np.float32)

    def get_input_matrix(self) -> np.ndarray:
        """Return all rows of inputs, shape (n_words + bucket, dim), float32.

        Raises
        ------
        ValueError
            The model is quantised.
        """
        self._refuse_codes()
        rows = self.core.all_inputs()
        return np.array(rows[slice(0, rows.shape[0])], np.float32)

    def get_output_matrix(self) -> np.ndarray:
        """Return all rows of outputs, shape (n_labels or n_words, dim), float32.

        Raises
        ------
        ValueError
            The model is quantised.
        """
        self._refuse_codes()
        return np.array(self.core.outputs, np.float32)

    def _refuse_codes(self) -> None:
        if self.is_quantized():
            raise ValueError("Can't get quantized Matrix: the rows of this model are codes")

    def set_matrices(self, input_matrix: np.ndarray, output_matrix: np.ndarray) -> None:
        """Replace inputs and outputs by matrices with the same numbers of rows.

        Raises
        ------
        ValueError
            A matrix has another number of rows than the model's, or the two have different widths.
        """
        self._refuse_codes()
        d = self.core.dictionary
        inputs, outputs = np.array(input_matrix, np.float32), np.array(output_matrix, np.float32)
        sizes = self.core.all_inputs().shape[0], self.core.outputs.shape[0]
        if (len(inputs), len(outputs)) != sizes or inputs.shape[1:] != outputs.shape[1:]:
            raise ValueError(f"matrices of {inputs.shape} and {outputs.shape} for {sizes} rows")
        d.options, d.places = d.options._replace(dim=inputs.shape[1]), None
        self._model = Model(d, inputs, outputs, self.core.n_tokens, self.core.version)
        self._unit_words = None

    # ---- labels -------------------------------------------------------------------------------------------

    def predict(
        self, text: str | list[str], k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> tuple[Any, Any]:
        """Return the k most probable labels of a line and their probabilities; for a list, two lists of them.

        Returns
        -------
        labels : tuple of str, or list of lists of str
        probabilities : ndarray of float64, or list of ndarrays of float32

        Raises
        ------
        ValueError
            A text has more than one line, the model is not a classifier, or k is 0.
        """
        if not isinstance(text, list):
            numbers, probabilities = self.core.line.predict(text, k, threshold)
            return tuple(self._names(numbers, on_unicode_error)), probabilities
        found = [self.core.line.predict(line, k, threshold) for line in text]
        labels = [self._names(numbers, on_unicode_error) for numbers, _ in found]
        return labels, [probabilities.astype(np.float32) for _, probabilities in found]

    def _names(self, numbers: list[int], errors: str) -> list[str]:
        """Return labels as str."""
        d = self.core.dictionary
        return [d.words[d.n_words + number].decode("utf-8", errors) for number in numbers]

    def get_line(self, text: str | list[str], on_unicode_error: str = "strict") -> tuple[Any, Any]:
        """Return the words and the labels of a line; for a list of lines, a list of each.

        Raises
        ------
        ValueError
            A text has more than one line.
        """
        if isinstance(text, list):
            pairs = [self.get_line(line, on_unicode_error) for line in text]
            return [words for words, _ in pairs], [labels for _, labels in pairs]
        if "\n" in text:
            raise ValueError("get_line processes one line at a time (remove '\\n')")
        d, words, labels = self.core.dictionary, [], []
        tokens = tokenize(text)
        for token in (token.encode() for token in [*takewhile(lambda t: t != EOS, tokens), EOS]):
            number = d.number(token)
            if number >= d.n_words if number >= 0 else token.startswith(d.label):
                labels += [token] if number >= 0 else []
            else:
                words.append(token)
        return _decoded(words, on_unicode_error), _decoded(labels, on_unicode_error)

    def measured(self, path: Path, k: int = 1, threshold: float = 0.0) -> Meter:
        """Compare the predictions for the lines of a file with their labels."""
        types, tokens = encoded(path)
        d = self.core.dictionary
        ends, made = lines_of(types, tokens), d.type_rows(types)
        labels = made.labels[tokens]
        places = np.flatnonzero(labels >= 0)
        if not len(places):
            warnings.warn(
                f"no line of {os.fspath(path)!r} has a label of the model, so nothing is measured: a label "
                f"begins with {d.label.decode('utf-8', 'replace')!r}",
                stacklevel=3,
            )
        gold = np.split(labels[places], np.searchsorted(places, ends[:-1])) if len(ends) else []
        step, meters = self.core.lines_at_once(k), []
        for start in range(0, max(1, len(ends)), step):
            begin = ends[start - 1] if start else 0
            some = ends[start : start + step]
            lines = d.lines(types, tokens[begin:], some - begin, made)
            meters.append(measured(self.core, lines, gold[start : start + step], k, threshold))
        return joined(meters)

    def test(self, path: Path, k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """Return the number of labelled lines in a file, and precision and recall of the first k labels."""
        meter = self.measured(path, k, threshold)
        return meter.n_examples, meter.precision(), meter.recall()

    def test_label(self, path: Path, k: int = 1, threshold: float = 0.0) -> dict[str, dict[str, float]]:
        """Return precision, recall and F1 of each label of a file."""
        meter = self.measured(path, k, threshold)
        seen = np.flatnonzero(meter.gold)
        return {
            self.labels[i]: {
                "precision": meter.precision(i),
                "recall": meter.recall(i),
                "f1score": meter.f1(i),
            }
            for i in np.union1d(seen, np.unique(meter.labels)).astype(int).tolist()
        }

    def get_meter(self, path: Path, k: int = -1) -> TextMeter:
        """Return precision and recall on a file at every threshold."""
        return TextMeter(self, self.measured(path, k, 0.0))

    def quantize(
        self,
        input: Path | None = None,  # noqa: A002
        qout: bool = False,
        cutoff: int = 0,
        retrain: bool = False,
        epoch: int | None = None,
        lr: float | None = None,
        thread: int | None = None,
        verbose: int | None = None,
        dsub: int = 2,
        qnorm: bool = False,
    ) -> None:
        """Turn rows into codes, so that the model is many times smaller.

        Parameters are fastText's.

        Raises
        ------
        ValueError
            The model is not a classifier, or is already quantised, or a text is missing.
        """
        if retrain and not input:
            raise ValueError("Need input file path if retraining")
        given = {"epoch": epoch, "lr": lr, "thread": thread}
        options = {name: value or getattr(self, name, SUPERVISED[name]) for name, value in given.items()}
        options |= {"input": input, "cutoff": cutoff, "retrain": retrain}
        options |= {"qout": qout, "dsub": dsub, "qnorm": qnorm}
        options["verbose"] = getattr(self, "verbose", 0) if verbose is None else verbose
        self._model = quantised_model(self.core, options)
        self._words = self._unit_words = None

    # ---- files --------------------------------------------------------------------------------------------

    def save_model(self, path: Path) -> None:
        """Write a ``.bin``, or a ``.ftz`` of a quantised model, which fastText reads too."""
        self.core.write(path)


def _decoded(words: Iterable[bytes], errors: str) -> list[str]:
    return [word.decode("utf-8", errors) for word in words]
