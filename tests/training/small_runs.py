"""Functions that tests of training share: a small text, a comparison of models, the death of a run."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from wordvec_ca.models import EmbeddingModel, Progress


class Killed(BaseException):
    """Ends a run in a way that the program does not catch, so it cannot save anything."""


def killed_after(fraction: float) -> Callable[[Progress], None]:
    """Return a callback that ends a run at the first record after a share of it."""

    def kill(record: Progress) -> None:
        if record.fraction >= fraction:
            raise Killed

    return kill


def sentences(n: int = 600, *, seed: int = 1) -> list[list[str]]:
    """Return sentences of 4 to 20 words, in which each word determines the next, with a frequent word."""
    rng = random.Random(seed)
    text = []
    for _ in range(n):
        word = rng.randrange(60)
        line = []
        for _ in range(rng.randrange(2, 11)):
            word = (word * 7 + rng.randrange(3)) % 60
            line += [f"w{word}", "the"]
        text.append(line)
    return text


def same(a: EmbeddingModel, b: EmbeddingModel) -> bool:
    """Return whether all parameters are equal, bit for bit."""
    pairs = [*zip(a.shared, b.shared, strict=True), *zip(a.learnt.values(), b.learnt.values(), strict=True)]
    if a.documents is not None and b.documents is not None:
        size = a.config.vector_size  # rows that are mapped from a model directory are not padded
        pairs.append((a.documents.rows[:, :size], b.documents.rows[:, :size]))
        pairs.append((a.documents.logits, b.documents.logits))
    return a.vocab == b.vocab and all(np.array_equal(x, y) for x, y in pairs)
