"""A fixture of tests of several commands: a small file of vectors."""

from pathlib import Path

import numpy as np
import pytest

from wordvec_ca import KeyedVectors


@pytest.fixture
def vectors_of():
    """Return a function that writes vectors of given words to a file with counts, and returns its path."""

    def make(words, path="v.safetensors"):
        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(len(words), 6)).astype(np.float32) + 0.5
        KeyedVectors(words, matrix, range(len(words), 0, -1)).save(path)
        return Path(path)

    return make


@pytest.fixture
def text(command):
    """Return a corpus of 4,000 words in the working directory."""
    path = Path("c.txt")
    path.write_text("".join(f"w{i % 7} w{i % 11} w{i % 13} w{i % 17}\n" for i in range(1000)))
    return path
