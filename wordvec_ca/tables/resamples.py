"""Models of resampled text in the space of the published vectors, from which intervals are computed.

``cawv train --resamples K`` trains K models, each on a bootstrap sample of the lines or documents, turns them
into one space and publishes their mean as an ordinary model directory. The same directory also contains the K
models, with 8 bits a number::

    resamples.npy                         int8 (K, n_words, vector_size)
    resamples_scales.npy                  float32 (K, n_words): a row times its scale is the vector
    resamples_attention_words.npy         int8 (K, n_words, columns): logits of word and place, if there are
    some resamples_attention_words_scales.npy  float32 (K, n_words)
    resamples_attention_slots.npy         float32 (K, places): logits of places

N-grams are not kept, so only known words have intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.files import check_sample, in_memory, map_npy, save_npy, scratch_array

CODES, SCALES = "resamples.npy", "resamples_scales.npy"
ATTENTION_CODES, ATTENTION_SCALES = "resamples_attention_words.npy", "resamples_attention_words_scales.npy"
ATTENTION_SLOTS = "resamples_attention_slots.npy"
RESAMPLE_FILES = {CODES, SCALES, ATTENTION_CODES, ATTENTION_SCALES, ATTENTION_SLOTS}

# Largest absolute value of a code.
LARGEST = 127


class EightBit(NamedTuple):
    """Rows of several models with 8 bits a number."""

    # shape (n_models, n_rows, n_columns), int8
    codes: np.ndarray
    # shape (n_models, n_rows), float32; A row of codes times its scale is the row of numbers.
    scales: np.ndarray

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the content of mapped files instead of the maps."""
        return EightBit, (in_memory(self.codes), in_memory(self.scales))

    @classmethod
    def empty(cls, n_models: int, n_rows: int, n_columns: int, path: Path | None = None) -> EightBit:
        """Return zeros, for `put` to fill. With ``path``, they are in files whose names begin with it."""
        shape, of_scales = (n_models, n_rows, n_columns), (n_models, n_rows)
        if path is None or 0 in shape:
            return cls(np.zeros(shape, np.int8), np.zeros(of_scales, np.float32))
        return cls(
            scratch_array(path.with_suffix(".codes"), np.int8, shape),
            scratch_array(path.with_suffix(".scales"), np.float32, of_scales),
        )

    def put(self, model: int, start: int, rows: np.ndarray) -> None:
        """Round rows of a model, and store them from row ``start`` on."""
        place = slice(start, start + len(rows))
        scales = np.abs(rows).max(axis=1, initial=0.0) / np.float32(LARGEST)
        self.scales[model, place] = scales
        self.codes[model, place] = np.rint(rows / np.where(scales > 0, scales, 1)[:, None])

    def numbers(self, model: int) -> np.ndarray:
        """Return the rows of a model, shape (n_rows, n_columns), float32."""
        rows = self.codes[model].astype(np.float32)
        rows *= np.asarray(self.scales[model])[:, None]
        return rows

    def check(self, shape: tuple[int, int], where: object) -> None:
        """Raise a DataError unless there are two models or more, each of the given shape."""
        fits = self.codes.dtype == np.int8 and self.scales.dtype == np.float32
        if not fits or self.codes.shape[1:] != shape or self.scales.shape != self.codes.shape[:2]:
            raise DataError(
                f"{where}: resampled models of shape {self.codes.shape} do not belong to a model of "
                f"shape {shape}"
            )


class Resamples:
    """Models of resampled text, in one space; of an attention model also the logits of words and places."""

    def __init__(
        self,
        vectors: EightBit,
        attention_words: EightBit | None = None,
        attention_slots: np.ndarray | None = None,
    ) -> None:
        self._vectors = vectors
        self.attention_words, self.attention_slots = attention_words, attention_slots

    def __len__(self) -> int:
        return len(self._vectors.codes)

    def __repr__(self) -> str:
        return f"Resamples({len(self)} models)"

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.vectors(number) for number in range(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        slots = self.attention_slots
        return {**self.__dict__, "attention_slots": None if slots is None else in_memory(slots)}

    def vectors(self, number: int) -> np.ndarray:
        """Return the vectors of one model, from 0, shape (n_words, vector_size), float32."""
        if not 0 <= number < len(self):
            raise ValueError(f"there is no resampled model {number}; they go from 0 to {len(self) - 1}")
        return self._vectors.numbers(number)

    def rows(self, index: slice | np.ndarray) -> Resamples:
        """Return all models with only some of their words."""
        words = self.attention_words
        return Resamples(
            EightBit(self._vectors.codes[:, index], self._vectors.scales[:, index]),
            None if words is None else EightBit(words.codes[:, index], words.scales[:, index]),
            self.attention_slots,
        )

    def save(self, folder: Path) -> None:
        """Write the files."""
        save_npy(folder / CODES, self._vectors.codes)
        save_npy(folder / SCALES, self._vectors.scales)
        if self.attention_words is not None and self.attention_slots is not None:
            save_npy(folder / ATTENTION_CODES, self.attention_words.codes)
            save_npy(folder / ATTENTION_SCALES, self.attention_words.scales)
            save_npy(folder / ATTENTION_SLOTS, self.attention_slots)

    @classmethod
    def load(cls, folder: Path, n_words: int, vector_size: int) -> Resamples | None:
        """Map the files of a model directory; None if it has none."""
        if not (folder / CODES).is_file():
            return None
        vectors = _mapped(folder, CODES, SCALES)
        vectors.check((n_words, vector_size), folder)
        if not (folder / ATTENTION_SLOTS).is_file():
            return cls(vectors)
        words = _mapped(folder, ATTENTION_CODES, ATTENTION_SCALES)
        words.check((n_words, words.codes.shape[-1]), folder)
        check_sample(folder / ATTENTION_SLOTS)
        slots = map_npy(folder / ATTENTION_SLOTS)
        if slots.ndim != 2 or len(slots) != len(vectors.codes) or slots.dtype != np.float32:
            raise DataError(f"{folder / ATTENTION_SLOTS} does not belong to {len(vectors.codes)} models")
        return cls(vectors, words, slots)


def _mapped(folder: Path, codes: str, scales: str) -> EightBit:
    for name in (codes, scales):
        check_sample(folder / name)
    try:
        found = EightBit(map_npy(folder / codes), map_npy(folder / scales))
    except FileNotFoundError as error:
        raise DataError(f"the model is incomplete: {str(error.filename)!r} is missing") from None
    if found.codes.ndim != 3:
        raise DataError(f"{folder / codes} should hold models of words, but has shape {found.codes.shape}")
    return found
