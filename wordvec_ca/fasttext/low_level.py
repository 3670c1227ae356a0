"""fastText's compiled module, which programs use through ``model.f``; each of its functions calls a method
of this package.
"""

from __future__ import annotations

from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np

from wordvec_ca.fasttext.dictionary import tokenize
from wordvec_ca.fasttext.settings import SHOWN

loss_name = IntEnum("loss_name", ["hs", "ns", "softmax", "ova"])
model_name = IntEnum("model_name", ["cbow", "skipgram", "supervised"])

# fastText's name of a method -> the method of a model.
METHODS = {
    **{"isQuant": "is_quantized", "getWordId": "get_word_id", "getLabelId": "get_label_id"},
    **{"getSubwordId": "get_subword_id", "getNN": "get_nearest_neighbors", "getAnalogies": "get_analogies"},
    **{"getInputMatrix": "get_input_matrix", "getOutputMatrix": "get_output_matrix"},
    **{"setMatrices": "set_matrices", "saveModel": "save_model", "testLabel": "test_label"},
    **{"test": "test", "quantize": "quantize", "getMeter": "get_meter"},
}


def Vector(dim: int) -> np.ndarray:
    """Return an empty vector, which ``getWordVector`` and others fill."""
    return np.zeros(dim, np.float32)


class LowLevel:
    """A model with the names of fastText's compiled module. Lines may end with a line end, which fastText
    requires.
    """

    def __init__(self, model: Any) -> None:
        self._of = model

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"fastText's models have no {name!r} here; there are {', '.join(dir(self))}")
        return getattr(self._of, METHODS[name])

    def __dir__(self) -> list[str]:
        return sorted({*METHODS, *(name for name in vars(type(self)) if not name.startswith("_"))})

    def loadModel(self, path: str) -> None:
        """Read a file into this model."""
        self._of.__init__(path)  # as in fastText, which makes the model first

    def getArgs(self) -> SimpleNamespace:
        """Return the options in the file; if the model was trained here, those of training too."""
        shown = {name: getattr(self._of, name) for name in SHOWN if hasattr(self._of, name)}
        options = self._of.core.options
        names = {"loss": loss_name(options.loss), "model": model_name(options.model)}
        return SimpleNamespace(**shown | options._asdict() | names)

    def predict(
        self, text: str, k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> list[tuple[float, str]]:
        """Return pairs of probability and label."""
        labels, probabilities = self._of.predict(_line(text), k, threshold, on_unicode_error)
        return list(zip(probabilities.tolist(), labels, strict=True))

    def multilinePredict(
        self, lines: list[str], k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> tuple[list[list[str]], list[np.ndarray]]:
        """Return the labels and the probabilities of each line."""
        found: tuple[list[list[str]], list[np.ndarray]] = self._of.predict(
            [_line(line) for line in lines], k, threshold, on_unicode_error
        )
        return found

    def getWordVector(self, vector: np.ndarray, word: str) -> None:
        """Fill an array with the vector of a word."""
        vector[:] = self._of.get_word_vector(word)

    def getSentenceVector(self, vector: np.ndarray, text: str) -> None:
        """Fill an array with the vector of a line."""
        vector[:] = self._of.get_sentence_vector(_line(text))

    def getInputVector(self, vector: np.ndarray, ind: int) -> None:
        """Fill an array with a row of inputs."""
        vector[:] = self._of.get_input_vector(ind)

    def getSubwords(self, word: str, on_unicode_error: str = "strict") -> tuple[list[str], list[int]]:
        """Return the n-grams of a word and their rows."""
        ngrams, rows = self._of.get_subwords(word, on_unicode_error)
        return ngrams, rows.tolist()

    def getVocab(self, on_unicode_error: str = "strict") -> tuple[list[str], list[int]]:
        """Return the words and their counts."""
        words, counts = self._of.get_words(True, on_unicode_error)
        return words, counts.tolist()

    def getLabels(self, on_unicode_error: str = "strict") -> tuple[list[str], list[int]]:
        """Return the labels and their counts."""
        labels, counts = self._of.get_labels(True, on_unicode_error)
        return labels, counts.tolist()

    def getLine(self, text: str, on_unicode_error: str = "strict") -> tuple[list[str], list[str]]:
        """Return the words and the labels of a line."""
        found: tuple[list[str], list[str]] = self._of.get_line(_line(text), on_unicode_error)
        return found

    def multilineGetLine(
        self, lines: list[str], on_unicode_error: str = "strict"
    ) -> tuple[list[list[str]], list[list[str]]]:
        """Return the words and the labels of each line."""
        found: tuple[list[list[str]], list[list[str]]] = self._of.get_line(
            [_line(line) for line in lines], on_unicode_error
        )
        return found

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens of a text."""
        return tokenize(text)


def _line(text: str) -> str:
    """Return the first line of a text without its end."""
    return text.partition("\n")[0]


fasttext = LowLevel
