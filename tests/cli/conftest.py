"""A fixture of tests of several commands: a small file of vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wordvec_ca.vectors import KeyedVectors


@pytest.fixture
def vectors_of() -> Callable[..., Path]:
    """Return a function that writes vectors of given words to a file with counts, and returns its path."""

    def make(words: list[str], path: Path | str = "v.safetensors") -> Path:
        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(len(words), 6)).astype(np.float32) + 0.5
        KeyedVectors(words, matrix, range(len(words), 0, -1)).save(path)
        return Path(path)

    return make
