"""A made-up agglutinative language: vectors of forms that were never seen, from their n-grams.

Each of 24 meanings has two stems with quite different spellings, one with back vowels and one with front
vowels; each stem differs in one letter from a stem of another meaning. A stem has 288 forms: number,
possession, case and polarity, whose endings follow the vowels of the stem. The context of a form tells its
meaning and its case. Some 30 % of the forms never occur. They are judged against known forms with the other
vowels: case by all such forms, meaning by those of the other stem. These have no n-gram in common with them,
so the control, which compares spellings, is at chance; so are vectors of whole words, which these forms do
not have.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.vectors import KeyedVectors

N_MEANINGS = 24
BACK, FRONT = "aou", "eiy"
NUMBERS, OWNERS, POLARITIES = ["", "lVr", "kVz"], ["", "Vm", "Vn", "sV", "mVz", "nVz"], ["", "dV"]
CASES = ["", "tV", "gVl", "rVk", "pV", "fVs", "hVt", "vVg"]


class Form(NamedTuple):
    """A form of a stem."""

    spelling: str
    meaning: int
    front: bool
    case: int


def language(rng: random.Random) -> list[Form]:
    """Return all forms."""
    forms = []
    for front, vowels in ((False, BACK), (True, FRONT)):
        stems: list[str] = []
        letters = "bcdfghjklmnpqrstvwxz" if front else "zxwvtsrqpnmlkjhgfdcb"
        while len(stems) < N_MEANINGS:  # stems come in pairs that differ in their last consonant
            begin = "".join(rng.choice(letters) + rng.choice(vowels) for _ in range(2)) + rng.choice(letters)
            vowel, (one, other) = rng.choice(vowels), rng.sample(letters, 2)
            stems += [begin + vowel + one, begin + vowel + other]
        meanings = list(range(N_MEANINGS))
        rng.shuffle(meanings)
        for stem, meaning in zip(stems, meanings, strict=True):
            for number, owner, case, polarity in product(NUMBERS, OWNERS, range(len(CASES)), POLARITIES):
                ending = (number + owner + polarity + CASES[case]).replace("V", vowels[0])
                forms.append(Form(stem + ending, meaning, front, case))
    once = Counter(form.spelling for form in forms)
    return [form for form in forms if once[form.spelling] == 1]


def corpus(rng: random.Random, forms: list[Form], n_lines: int) -> list[list[str]]:
    """Return lines in which a form is between words of its meaning and words of its case."""
    lines = []
    for form in rng.choices(forms, k=n_lines):
        topic = [f"T{form.meaning}{rng.choice('ABCD')}" for _ in range(2)]
        function = [f"C{form.case}{rng.choice('ABCD')}" for _ in range(2)]
        lines.append([*topic, form.spelling, *function])
    return lines


def bag_of_ngrams(spelling: str) -> dict[str, float]:
    """Return the n-grams of a word, as a sparse vector."""
    marked = f"<{spelling}>"
    return Counter(marked[i : i + n] for n in range(3, 7) for i in range(len(marked) - n + 1))


def by_spelling(words: list[str]) -> np.ndarray:
    """Return the control's vectors: bags of n-grams."""
    bags = [bag_of_ngrams(word) for word in words]
    column: dict[str, int] = {}
    for bag in bags:
        for gram in bag:
            column.setdefault(gram, len(column))
    vectors = np.zeros((len(words), len(column)), np.float32)
    for i, bag in enumerate(bags):
        for gram, n in bag.items():
            vectors[i, column[gram]] = n
    return vectors


def accuracy(vectors: np.ndarray, known: list[Form], unknown: list[Form], what: str) -> float:
    """Return how often the nearest mean of known forms with other vowels is that of the form's own kind."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    right = total = 0
    for front in (False, True):
        theirs = [i for i, form in enumerate(known) if form.front != front]
        kinds = sorted({getattr(known[i], what) for i in theirs})
        means = np.stack(
            [unit[[i for i in theirs if getattr(known[i], what) == kind]].mean(axis=0) for kind in kinds]
        )
        means -= means.mean(axis=0)  # what is common to all kinds does not tell them apart
        mine = [i for i, form in enumerate(unknown) if form.front == front]
        nearest = (unit[[len(known) + i for i in mine]] @ means.T).argmax(axis=1)
        right += sum(kinds[k] == getattr(unknown[i], what) for k, i in zip(nearest, mine, strict=True))
        total += len(mine)
    return right / total


@pytest.fixture(scope="module")
def world() -> tuple[list[Form], list[Form], list[list[str]]]:
    """Return forms that occur, forms that do not, and a text."""
    rng = random.Random(4)
    forms = language(rng)
    rng.shuffle(forms)
    cut = len(forms) * 3 // 10
    unknown, known = forms[:cut], forms[cut:]
    lines = corpus(rng, known, 60_000)
    return known, unknown, lines


@pytest.mark.slow
@pytest.mark.parametrize("model", ["skipgram", "cbow"])
def test_unseen_forms_are_grouped_with_their_meaning_and_their_case(world, model):
    known, unknown, lines = world
    options = {"model": model, "vector_size": 50, "window": 2, "sample": 0, "epochs": 5, "min_count": 1}
    made = train(lines, TrainConfig(**options, subwords=True, workers=1, lowercase=False))
    plain = train(lines[:2_000], TrainConfig(**{**options, "epochs": 1}, workers=1, lowercase=False))
    known = [form for form in known if form.spelling in made.vectors.key_to_index]
    assert not any(form.spelling in made.vectors.key_to_index for form in unknown)
    assert not any(form.spelling in plain.vectors for form in unknown)
    words = [form.spelling for form in (*known, *unknown)]
    vectors, control = made.vectors[words], by_spelling(words)
    assert isinstance(made.vectors, KeyedVectors)
    for what, chance in (("meaning", 1 / N_MEANINGS), ("case", 1 / len(CASES))):
        assert accuracy(vectors, known, unknown, what) >= 0.95
        assert accuracy(control, known, unknown, what) < 2.5 * chance
