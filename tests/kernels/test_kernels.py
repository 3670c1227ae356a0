"""The training loop against its reference, against central differences, and against exact properties.

The losses here are written from the papers' equations, over a batch of parameter sets, and share no
line with the loop: windows, negatives, sigmoids and softmaxes are computed again in a plain way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordvec_ca import TrainConfig, train
from wordvec_ca.kernels import HYPER_DTYPE, STATS, _sgns, aligned_zeros, padded, sgns_reference
from wordvec_ca.kernels import pool as pool_module
from wordvec_ca.kernels.pool import NEAR, RARE, noise_mass, noise_pool
from wordvec_ca.specs.models import MODELS, SPECS, WORD_MODELS, models_with, spec_of
from wordvec_ca.training.chunks import Chunks

SHARED_BY = {spec.name: spec.shared_by for spec in SPECS if spec.shared_by}
AVERAGING = models_with("averages")
ISAS = _sgns.isas()
NO_KEEP = np.zeros(0, np.uint32)
NEVER = 2**31 - 1

VARIANTS = [
    ("cbow", "exact", "full"),
    ("cbow", "word2vec", "full"),
    ("skipgram", "exact", "full"),
    ("ssg", "exact", "full"),
    ("cwindow", "exact", "full"),
    *(
        ("cbow-attn", update, kind)
        for update in ("exact", "word2vec")
        for kind in ("full", "position", "word")
    ),
]
PAIRWISE = ("skipgram", "ssg")
EXACT_VARIANTS = [variant for variant in VARIANTS if variant[1] == "exact"]


def sharing(numbers: list[int], variants: list[tuple[str, str, str]]) -> list[tuple[str, str, str, int]]:
    """Return each variant with the numbers of predictions that share negatives, 1 for models that cannot."""
    return [(*v, n) for v in variants for n in numbers if n == 1 or v[0] in SHARED_BY]


@dataclass
class Problem:
    """A text, a vocabulary and parameters: everything that one call of the loop needs."""

    model: str = "cbow"
    update: str = "exact"
    attention: str = "full"
    d: int = 20
    n_words: int = 50
    window: int = 5
    drawn: int = 5
    shared_by: int = 1
    alpha: tuple[float, float] = (0.05, 0.01)
    rate: float = 1.0
    clip: float = 10.0
    shrink: bool = False
    n_private: int = 0
    merge_every: int = NEVER
    seed: int = 1
    aligned: bool = True  # rows padded to 64 bytes; the reference takes any width
    spread: float | None = None  # of all parameters; None: word2vec's initialisation
    n_tuples: int = 997
    keep: np.ndarray = field(default_factory=lambda: NO_KEEP)

    def __post_init__(self) -> None:
        width = padded(self.d) if self.aligned else self.d
        bands = 2 * self.window if self.model == "ssg" else 1
        parts = 2 * self.window if self.model == "cwindow" else 1
        slots = 2 * self.window
        of_words = {"full": slots, "position": 0, "word": 1}[self.attention]
        attends = self.model == "cbow-attn"
        columns = (padded(slots) if self.attention == "full" else of_words) if attends else 0
        hyper = np.zeros(1, HYPER_DTYPE)
        values = {
            "composition": spec_of(self.model).letter,
            "width": width,
            "out_width": parts * width,
            "bands": bands,
            "window": self.window,
            "shrink_windows": self.shrink,
            "drawn": self.drawn,
            "shared_by": self.shared_by,
            "alpha_begin": self.alpha[0],
            "alpha_end": self.alpha[1],
            "word2vec_update": self.update == "word2vec",
            "word_stride": columns,
            "word_slots": self.attention == "full",
            "use_slots": attends and self.attention != "word",
            "attention_rate": self.rate,
            "attention_clip": self.clip,
            "n_private": self.n_private,
            "merge_every": self.merge_every,
        }
        for name, value in values.items():
            hyper[name] = value
        self.hyper = hyper
        rng = np.random.default_rng(self.seed)
        self.inputs = np.zeros((self.n_words, width))
        self.outputs = np.zeros((self.n_words, bands * parts, width))
        self.word_logits = np.zeros((self.n_words, columns) if columns else (1, 16))
        self.slot_logits = np.zeros((1, padded(slots)))
        spread = 0.5 / self.d if self.spread is None else self.spread
        self.inputs[:, : self.d] = rng.uniform(-spread, spread, (self.n_words, self.d))
        if self.spread is not None:
            self.outputs[:, :, : self.d] = rng.uniform(-spread, spread, (*self.outputs.shape[:2], self.d))
            if columns:
                self.word_logits[:, :of_words] = rng.uniform(-spread, spread, (self.n_words, of_words))
            if hyper["use_slots"][0]:
                self.slot_logits[:, :slots] = rng.uniform(-spread, spread, slots)
        # frequent words occur twice in a tuple, and as targets; every model has the same pool
        rng = np.random.default_rng([self.seed, 1])
        share = 1 / np.arange(1, self.n_words + 1)
        self.share = share / share.sum()
        self.pool = rng.choice(self.n_words, (self.n_tuples, self.drawn), p=self.share).astype(np.int32)

    def text(self, lengths: list[int], seed: int = 2) -> np.ndarray:
        """Return lines of these lengths, a line end after each."""
        rng = np.random.default_rng(seed)
        parts = [np.append(rng.choice(self.n_words, n, p=self.share), -1) for n in lengths]
        return np.concatenate(parts).astype(np.int32)

    def arrays(self, dtype: type) -> tuple[np.ndarray, ...]:
        """Return copies of the parameters as the loop takes them."""
        given = (self.inputs, self.outputs.reshape(self.n_words, -1), self.word_logits, self.slot_logits)
        copies = tuple(aligned_zeros(array.shape, dtype) for array in given)
        for copy, array in zip(copies, given, strict=True):
            copy[:] = array
        return copies

    def train(self, backend: str, tokens: np.ndarray, dtype: type = np.float32, **changed: float) -> Trained:
        """Train on the text from this problem's parameters; backend: "reference" or an instruction set."""
        arrays = self.arrays(dtype)
        rng, stats = np.array([12345, self.n_tuples - 3], np.uint64), np.zeros(len(STATS))
        hyper = self.hyper.copy()
        for name, value in changed.items():
            hyper[name] = value
        rows = [min(self.n_private, len(array)) for array in arrays]
        private = tuple(aligned_zeros((2, n, array.shape[1])) for n, array in zip(rows, arrays, strict=True))
        lock = np.zeros(16, np.int32)
        call = (hyper, tokens, self.keep, self.pool, arrays, rng, stats)
        if backend == "reference":
            sgns_reference.train_chunk(*call)
        elif self.n_private:
            _sgns.train_chunk(*call, private=private, lock=lock, isa=backend)
        else:
            _sgns.train_chunk(*call, isa=backend)
        return Trained(*arrays, rng, stats)


@dataclass
class Trained:
    """The results of a call."""

    inputs: np.ndarray
    outputs: np.ndarray
    word_logits: np.ndarray
    slot_logits: np.ndarray
    rng: np.ndarray
    stats: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.inputs, self.outputs, self.word_logits, self.slot_logits

    @property
    def loss(self) -> float:
        return float(self.stats[STATS.index("loss")])


def assert_same_training(loop: Trained, reference: Trained) -> None:
    """Check what is promised: counts and generator are equal, loss and parameters to 1e-5."""
    np.testing.assert_array_equal(loop.rng, reference.rng)
    for name in ("examples", "words", "contexts", "weighed"):
        assert loop.stats[STATS.index(name)] == reference.stats[STATS.index(name)], name
    assert loop.loss == pytest.approx(reference.loss, rel=1e-5)
    assert loop.stats[4] == pytest.approx(reference.stats[4], rel=1e-5)
    for name, ours, theirs in zip(("W", "O", "K", "s"), loop.arrays, reference.arrays, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=name)


# ---- the compiled loop and its reference ---------------------------------------------------------

LINES = [1, 2, 60, 0, 5, 1, 300, 3, 3, 41, 7, 2]
"""Lengths of lines: empty, single words, shorter and longer than any window and block."""


@pytest.mark.parametrize(("model", "update", "kind", "shared_by"), sharing([1, 8], VARIANTS))
def test_compiled_loop_agrees_with_its_twin(model, update, kind, shared_by):
    shared = {"shared_by": shared_by}
    settings: list[dict[str, Any]] = [
        {"d": 20, "window": 5, "shrink": True, **shared},
        {"d": 48, "window": 3, "drawn": 19, **shared},
        {"d": 50, "window": 1, "n_words": 2_000, **shared},
        # words and negatives occur many times
        {"d": 7, "window": 20, "n_words": 9, "spread": 0.4, "alpha": (0.001, 2e-4), **shared},
        {"d": 140, "window": 9, "shrink": True, "drawn": 7, "shared_by": min(shared_by, 3)},
        {"d": 100, "window": 2, "drawn": 13, "shared_by": 1 if shared_by == 1 else 70},
    ]
    for setting, sampled in product(settings, (False, True)):
        problem = Problem(model, update, kind, **setting)
        if sampled:
            rng = np.random.default_rng(5)
            problem.keep = rng.integers(2**31, 2**32, problem.n_words, dtype=np.uint32)
        tokens = problem.text(LINES)
        reference = problem.train("reference", tokens)
        assert reference.stats[0] > 100
        for isa in ISAS:
            assert_same_training(problem.train(isa, tokens), reference)


@pytest.mark.parametrize("isa", ISAS)
def test_loops_of_common_widths_agree_with_the_twin(isa):
    for d in (50, 100, 300):
        problem = Problem("cbow-attn", d=d, window=9, shared_by=8, drawn=7)
        tokens = problem.text(LINES)
        assert_same_training(problem.train(isa, tokens), problem.train("reference", tokens))


# ---- gradients ------------------------------------------------------------------------------


def examples_of(tokens: np.ndarray, window: int) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Return (place, target, [(slot, context word), ..]) of each position with a context, by definition."""
    found = []
    for before, end in pairwise([-1, *np.flatnonzero(tokens < 0)]):
        line = tokens[before + 1 : end]
        for i, target in enumerate(line):
            offsets = [o for o in range(-window, window + 1) if o != 0 and 0 <= i + o < len(line)]
            places = [(o + window if o < 0 else o + window - 1, int(line[i + o])) for o in offsets]
            if places:
                found.append((i + before + 1, int(target), places))
    return found


def log_sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(-np.logaddexp(0.0, -z))


def plain_loss(
    problem: Problem, tokens: np.ndarray, arrays: tuple[np.ndarray, ...], *, times_words: bool = False
) -> np.ndarray:
    """Return the loss of the text at fixed parameters, for a batch of parameter sets.

    arrays: W (batch, words, d), O (batch, words, bands, d), K (batch, words, columns), s (batch, 1, slots).
    With ``times_words``, the loss of an example counts as often as it has context words.
    """
    inputs, outputs, word_logits, slot_logits = arrays
    batch, n_words = inputs.shape[:2]
    # each part of the text uses the tuples one after the other
    starts = len(tokens) * np.arange(problem.shared_by) // problem.shared_by
    cursors = [problem.n_tuples - 3] * problem.shared_by

    def predict(place: int, target: int, hidden: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return -log s(O_t . x) - sum log s(-O_n . x) over the negatives n that are not t."""
        loss = -log_sigmoid(np.sum(rows[:, target] * hidden, axis=1))
        part = int(np.searchsorted(starts, place, side="right")) - 1
        for word in problem.pool[cursors[part] % problem.n_tuples]:
            if word != target:
                loss -= log_sigmoid(-np.sum(rows[:, word] * hidden, axis=1))
        cursors[part] += 1
        return loss

    total = np.zeros(batch)
    for place, target, context in examples_of(tokens, problem.window):
        if problem.model in PAIRWISE:
            for slot, word in context:
                band = slot if problem.model == "ssg" else 0
                total += predict(place, target, inputs[:, word], outputs[:, :, band])
            continue
        if problem.model == "cwindow":
            beside = np.zeros((batch, 2 * problem.window, inputs.shape[2]))
            for slot, word in context:
                beside[:, slot] = inputs[:, word]
            total += predict(place, target, beside.reshape(batch, -1), outputs.reshape(batch, n_words, -1))
            continue
        logits = np.zeros((batch, len(context)))
        if problem.model == "cbow-attn":
            for i, (slot, word) in enumerate(context):
                if problem.attention != "word":
                    logits[:, i] += slot_logits[:, 0, slot]
                if problem.attention != "position":
                    logits[:, i] += word_logits[:, word, slot if problem.attention == "full" else 0]
            logits = np.clip(logits, -problem.clip, problem.clip)
        shares = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        hidden = sum(shares[:, i, None] * inputs[:, word] for i, (_, word) in enumerate(context))
        loss = predict(place, target, hidden, outputs[:, :, 0])
        total += loss * (len(context) if times_words else 1)
    return total


def flat(arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.concatenate([array.ravel() for array in arrays])


def central_differences(
    problem: Problem, tokens: np.ndarray, *, step: float = 1e-5, **options: Any
) -> np.ndarray:
    """Return the gradient of ``plain_loss``, all parameters flattened."""
    arrays = (problem.inputs, problem.outputs, problem.word_logits, problem.slot_logits)
    ends = np.cumsum([array.size for array in arrays])

    def loss(vectors: np.ndarray) -> np.ndarray:
        parts = np.split(vectors, ends[:-1], axis=1)
        return plain_loss(
            problem,
            tokens,
            tuple(p.reshape(-1, *a.shape) for p, a in zip(parts, arrays, strict=True)),
            **options,
        )

    moved = np.eye(ends[-1]) * step
    here = flat(arrays)
    return (loss(here + moved) - loss(here - moved)) / (2 * step)


def first_order_update(problem: Problem, tokens: np.ndarray) -> np.ndarray:
    """Return d(parameters)/d(alpha) at alpha 0 of one call of the float64 reference: minus the gradient.

    The loop takes a step per block, each from what the last one left; two small learning rates take
    the second order away.
    """
    start = flat(problem.arrays(np.float64))
    slopes = []
    for alpha in (2.0**-18, 2.0**-19):
        trained = problem.train("reference", tokens, np.float64, alpha_begin=alpha, alpha_end=alpha)
        slopes.append((flat(trained.arrays) - start) / alpha)
    return 2 * slopes[1] - slopes[0]


GRADIENT_LINES = [[4], [1, 2, 6], [9, 1], [3, 5, 0, 2], [7], [2, 2]]


@pytest.mark.parametrize(("model", "update", "kind", "shared_by"), sharing([1, 3, 100], EXACT_VARIANTS))
def test_updates_are_the_gradient(model, update, kind, shared_by):
    for trial, lengths in enumerate(GRADIENT_LINES):
        # words occur twice in windows, among negatives, and as target and negative
        small = {"d": 3, "n_words": 5, "window": 3, "drawn": 4, "spread": 0.8, "aligned": False}
        problem = Problem(model, update, kind, shared_by=shared_by, seed=trial, **small)
        tokens = problem.text(lengths, seed=trial)
        gradient = central_differences(problem, tokens)
        update_made = first_order_update(problem, tokens)
        start = 0
        for name, array in zip("WOKs", problem.arrays(np.float64), strict=True):
            part = slice(start, start + array.size)
            start += array.size
            error = np.abs(update_made[part] + gradient[part]).max()
            assert error <= 1e-6 * np.abs(gradient).max(), (name, trial, error)


@pytest.mark.parametrize(("model", "update", "kind"), [v for v in EXACT_VARIANTS if v[0] in AVERAGING])
def test_a_column_steps_from_the_parameters_before_it(model, update, kind):
    # all rows of O are different, as a row that occurs again is read as its first step has left it; s learns
    # from one part of the text after the other
    problem = Problem(
        model, update, kind, d=3, n_words=24, window=3, drawn=6, shared_by=4, aligned=False,
        spread=0.8, alpha=(1.0, 1.0),
    )  # fmt: skip
    problem.pool[:] = [12, 13, 14, 20, 21, 22]
    tokens = np.array([3, 7, 11, 19, -1], np.int32)
    moved = flat(problem.train("reference", tokens, np.float64).arrays) - flat(problem.arrays(np.float64))
    gradient = central_differences(problem, tokens)
    vectors = problem.inputs.size + problem.outputs.size
    assert np.abs(moved + gradient)[:vectors].max() <= 1e-6 * np.abs(gradient).max()


@pytest.mark.parametrize(
    ("model", "update"), [("cbow", "exact"), ("cbow-attn", "exact"), ("cbow-attn", "word2vec")]
)
def test_neighbours_learn_one_after_the_other(model, update):
    problem = Problem(
        model, update, d=5, n_words=30, window=3, drawn=4, aligned=False, spread=0.8, n_tuples=8,
        alpha=(0.75, 0.75), rate=0.0,
    )  # fmt: skip
    tokens = np.array([3, 7, 11, 19, 2, 9, 1, -1, 5, 8, 12, -1], np.int32)  # no word occurs twice
    trained = problem.train("reference", tokens, np.float64)
    inputs, outputs = problem.inputs.copy(), problem.outputs[:, 0].copy()
    first, second = tokens[:7].tolist(), tokens[8:11].tolist()
    cursor = problem.n_tuples - 3
    for line, place in [(first, k) for k in range(7)] + [(second, k) for k in range(3)]:
        reach = [d for d in (-3, -2, -1, 1, 2, 3) if 0 <= place + d < len(line)]
        words, columns = [line[place + d] for d in reach], [3 + d - (d > 0) for d in reach]
        logits = np.zeros(len(words))
        if model == "cbow-attn":
            logits += problem.word_logits[words, columns] + problem.slot_logits[0, columns]
        weights = np.exp(logits) / np.exp(logits).sum()
        x = weights @ inputs[words]
        target, grad = line[place], np.zeros(5)
        known = [target, *problem.pool[cursor % 8]]
        label = np.arange(5) == 0
        errors = (
            0.75 * (label - 1 / (1 + np.exp(-outputs[known] @ x))) * (label | (np.array(known) != target))
        )
        for word, error in zip(known, errors, strict=True):
            grad += error * outputs[word]
            outputs[word] += error * x
        inputs[words] += np.outer(weights * (len(words) if update == "word2vec" else 1), grad)
        cursor += 1
    np.testing.assert_allclose(trained.inputs, inputs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(trained.outputs, outputs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("backend", [*ISAS, "reference"])
def test_a_context_word_of_several_predictions_of_a_block_takes_all_their_steps(backend):
    problem = Problem(
        "skipgram", d=20, n_words=24, window=1, drawn=3, shared_by=4, spread=0.8, alpha=(0.7, 0.7)
    )
    problem.pool[:] = [20, 21, 22]
    # four parts of a line each: first they predict 4, 5, 6, 7 from 3, then 3 from these
    tokens = np.array([4, 3, -1, 5, 3, -1, 6, 3, -1, 7, 3, -1], np.int32)
    x, rows = problem.inputs[3], problem.outputs[:, 0]
    expected = x.copy()
    for target in (4, 5, 6, 7):
        for word in (target, 20, 21, 22):
            expected += 0.7 * ((word == target) - 1 / (1 + np.exp(-x @ rows[word]))) * rows[word]
    trained = problem.train(backend, tokens, np.float64 if backend == "reference" else np.float32)
    np.testing.assert_allclose(trained.inputs[3], expected, atol=1e-12 if backend == "reference" else 1e-5)


@pytest.mark.parametrize(("model", "update", "kind", "shared_by"), sharing([1, 5], VARIANTS))
def test_loss_is_the_sum_over_the_examples(model, update, kind, shared_by):
    small = {"d": 19, "n_words": 12, "window": 4, "drawn": 6, "spread": 0.7, "alpha": (0.0, 0.0)}
    problem = Problem(model, update, kind, shared_by=shared_by, **small)
    tokens = problem.text([17, 1, 4, 30])
    arrays = (problem.inputs, problem.outputs, problem.word_logits, problem.slot_logits)
    expected = plain_loss(problem, tokens, tuple(array[None] for array in arrays))[0]
    assert problem.train("reference", tokens, np.float64).loss == pytest.approx(expected, rel=1e-12)
    for isa in ISAS:
        assert problem.train(isa, tokens).loss == pytest.approx(expected, rel=1e-5)


# ---- frozen attention is CBOW ---------------------------------------------------------------


@pytest.mark.parametrize("isa", [*ISAS, "reference"])
@pytest.mark.parametrize("kind", ["full", "position", "word"])
@pytest.mark.parametrize("update", ["exact", "word2vec"])
def test_frozen_attention_is_cbow_bit_for_bit(update, kind, isa):
    for shared_by, window, shrink in ((1, 20, False), (1, 7, True), (8, 5, True)):
        setting: dict[str, Any] = {
            "d": 50,
            "n_words": 300,
            "window": window,
            "shrink": shrink,
            "drawn": 10,
            "shared_by": shared_by,
        }
        cbow = Problem("cbow", update, **setting)
        attention = Problem("cbow-attn", update, kind, rate=0.0, **setting)
        tokens = cbow.text([*LINES, 900])
        plain, frozen = cbow.train(isa, tokens), attention.train(isa, tokens)
        np.testing.assert_array_equal(plain.inputs, frozen.inputs)
        np.testing.assert_array_equal(plain.outputs, frozen.outputs)
        assert plain.loss == frozen.loss
        assert np.abs(plain.outputs).max() > 0.1
        assert not frozen.word_logits.any()
        assert not frozen.slot_logits.any()


# ---- conservation and gauge ------------------------------------------------------------------


def conserved(word_logits: np.ndarray, slot_logits: np.ndarray, slots: int) -> float:
    """Return by how much s_i = sum_w K[w, i] and sum_i s_i = 0 fail, relative to max |s|."""
    s = slot_logits[0, :slots].astype(np.float64)
    assert np.abs(s).max() > 0.01
    from_words = word_logits[:, :slots].sum(axis=0, dtype=np.float64)
    return float(max(np.abs(s - from_words).max(), abs(s.sum())) / np.abs(s).max())


@pytest.mark.parametrize("shared_by", [1, 8])
@pytest.mark.parametrize("update", ["exact", "word2vec"])
def test_float64_attention_is_conserved(update, shared_by):
    problem = Problem("cbow-attn", update, d=16, n_words=40, window=4, drawn=8, shared_by=shared_by, rate=0.0)
    for chunk in range(30):  # warm-up, then decay, with a rate of its own
        alpha = 0.1 * (1 - chunk / 30)
        tokens = problem.text([11] * 40, seed=chunk)
        rate = 0.3 if chunk > 3 else 0.0
        trained = problem.train(
            "reference", tokens, np.float64, alpha_begin=alpha, alpha_end=alpha, attention_rate=rate
        )
        problem.inputs, outputs, problem.word_logits, problem.slot_logits = trained.arrays
        problem.outputs = outputs.reshape(problem.outputs.shape)
    assert conserved(problem.word_logits, problem.slot_logits, 8) <= 1e-12


def losses(problem: Problem, tokens: np.ndarray) -> list[float]:
    """Return the loss in float64 and then on each instruction set, without training."""
    problem.hyper["alpha_begin"] = problem.hyper["alpha_end"] = 0.0
    return [
        problem.train("reference", tokens, np.float64).loss,
        *(problem.train(isa, tokens).loss for isa in ISAS),
    ]


def attentive() -> tuple[Problem, np.ndarray]:
    problem = Problem("cbow-attn", d=24, n_words=30, window=6, spread=0.9)
    return problem, problem.text([40, 3, 1, 9])


@pytest.mark.parametrize("size", [1e4, 1e38, np.inf])
def test_huge_logits_are_clipped(size):
    problem, tokens = attentive()
    rng = np.random.default_rng(3)
    problem.word_logits[:, :12] = rng.choice([-size, 0.0, size], (30, 12))
    problem.slot_logits[:] = 0
    read = Problem("cbow-attn", d=24, n_words=30, window=6, spread=0.9)
    read.word_logits = np.clip(problem.word_logits, -10, 10)
    read.slot_logits[:] = 0
    arrays = (read.inputs, read.outputs, read.word_logits, read.slot_logits)
    expected = plain_loss(read, tokens, tuple(array[None] for array in arrays))[0]
    problem.hyper["alpha_begin"] = 0.1
    for isa in ISAS:
        trained = problem.train(isa, tokens)
        assert np.isfinite(trained.inputs).all()
        assert np.isfinite(trained.outputs).all()
        assert not np.isnan(trained.word_logits).any()
    assert losses(problem, tokens) == pytest.approx([expected] * (1 + len(ISAS)), rel=1e-5)


# ---- word2vec's step and tied slots --------------------------------------------------


@pytest.mark.parametrize(("model", "kind"), [("cbow", "full"), ("cbow-attn", "full")])
def test_word2vec_update_is_n_times_the_gradient(model, kind):
    problem = Problem(model, "word2vec", kind, d=3, n_words=5, window=3, drawn=4, aligned=False, spread=0.8)
    tokens = problem.text([9, 2, 1, 4])
    moved = first_order_update(problem, tokens)
    plain = central_differences(problem, tokens)
    n_times = central_differences(problem, tokens, times_words=True)
    inputs = problem.inputs.size
    assert np.abs(moved[:inputs] + n_times[:inputs]).max() <= 1e-6 * np.abs(n_times).max()
    assert np.abs(moved[inputs:] + plain[inputs:]).max() <= 1e-6 * np.abs(plain).max()
    assert np.abs(plain - n_times)[:inputs].max() > 0.1 * np.abs(plain).max()


# ---- private rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("model", "update", "kind", "shared_by"), sharing([1, 6], VARIANTS))
def test_private_rows_of_one_thread_change_nothing(model, update, kind, shared_by, isa):
    setting: dict[str, Any] = {"d": 24, "n_words": 40, "window": 4, "spread": 0.4, "shared_by": shared_by}
    whole = Problem(model, update, kind, **setting)
    tokens = whole.text([30, 1, 12, 40, 7])
    expected = whole.train(isa, tokens)
    for n_private, merge_every in ((1, 5), (17, 1), (40, 33), (40, NEVER)):
        parted = Problem(model, update, kind, n_private=n_private, merge_every=merge_every, **setting)
        found = parted.train(isa, tokens)
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        np.testing.assert_array_equal(found.rng, expected.rng)
        for ours, theirs in zip(found.arrays, expected.arrays, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_merging_threads_lose_nothing():
    rounds, threads = 400, 3
    problem = Problem("cbow-attn", d=16, n_words=64, window=4, n_private=32)
    shared = tuple(aligned_zeros(array.shape) for array in problem.arrays(np.float32))
    lock = np.zeros(16, np.int32)
    line_end = np.array([-1], np.int32)
    failures: list[BaseException] = []

    def work(step):
        private = tuple(aligned_zeros((2, min(32, len(array)), array.shape[1])) for array in shared)
        rng, stats = np.zeros(2, np.uint64), np.zeros(len(STATS))
        try:
            for _ in range(rounds):
                for own, _base in private:
                    own += step  # whole numbers: sums are exact
                arguments = (problem.hyper, line_end, NO_KEEP, problem.pool, shared, rng, stats)
                _sgns.train_chunk(*arguments, private=private, lock=lock, isa=ISAS[0])
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(step,)) for step in range(1, threads + 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    for array in shared:
        private_rows = array[: min(32, len(array))]
        assert (private_rows == rounds * threads * (threads + 1) / 2).all()
        assert (array[32:] == 0).all()


@pytest.mark.parametrize("model", ["skipgram", "cbow-attn", "cwindow"])
def test_eight_workers_learn_what_one_learns(model):
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, 3_001)
    words = rng.choice(3_000, size=(8_000, 25), p=shares / shares.sum())
    corpus = [[f"w{word}" for word in line] for line in words]
    losses = []
    for workers in (1, 8):  # with a merge every few thousand tokens the loss is 5 % higher here, or diverges
        config = TrainConfig(
            **{"model": model, "vector_size": 50, "workers": workers, "shared_by": SHARED_BY.get(model)},
            **{"min_count": 1, "epochs": 1},
        )
        losses += train(corpus, config).record["loss_by_epoch"]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


# ---- negatives, sub-sampling, chunks --------------------------------------------------------


@given(
    counts=st.lists(st.integers(0, 10**7), min_size=1, max_size=60).filter(any),
    drawn=st.integers(1, 40),
    exponent=st.sampled_from([0.0, 0.75, 1.0, 0.5, -0.5]),
    burst=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=60)
def test_negatives_are_as_frequent_as_they_should(counts, drawn, exponent, burst, seed):
    pool = noise_pool(noise_mass(np.array(counts), exponent), drawn, burst=burst, draws=20_000, seed=seed)
    assert pool.shape == (max(1, 20_000 // drawn), drawn)
    assert pool.dtype == np.int32
    mass = np.array([float(count) ** exponent if count or exponent >= 0 else 0.0 for count in counts])
    expected = pool.size * mass / mass.sum()
    found = np.bincount(pool.ravel(), minlength=len(counts))
    assert np.abs(found - expected).max() <= 1 + 1e-6 * pool.size


def test_negatives_are_shuffled():
    pool = noise_pool(noise_mass(1_000_000 // np.arange(1, 200)), 7, draws=200_000)
    share = np.bincount(pool.ravel(), minlength=199) / pool.size
    blocks = np.array_split(pool, 20)
    for place in range(7):
        found = np.bincount(pool[:, place], minlength=199)
        assert ((found - len(pool) * share) ** 2 / (len(pool) * share)).sum() < 199 + 6 * np.sqrt(2 * 199)
    for block in blocks:
        found = np.bincount(block.ravel(), minlength=199)
        assert ((found - block.size * share) ** 2 / (block.size * share)).sum() < 199 + 6 * np.sqrt(2 * 199)
    other = noise_pool(noise_mass(1_000_000 // np.arange(1, 200)), 7, draws=200_000, seed=2)
    assert (pool != other).any()


def test_rare_negatives_come_in_bursts_and_all_evenly():
    pool = noise_pool(
        noise_mass(10**8 // np.arange(1, 100_001)), 4, burst=2, row_bytes=1_024, draws=1_000_000
    ).ravel()
    spread = NEAR // 1_024
    _, times = np.unique(pool, return_counts=True)
    rare = times * RARE < pool.size
    order = np.argsort(pool, kind="stable")  # the places of a word's draws, in order
    begins = np.cumsum(times) - times
    slack = 3_000  # a draw's rank differs from its place only by chance
    near = expected = 0
    for word in np.flatnonzero(rare)[:500]:
        gaps = np.diff(order[begins[word] : begins[word] + times[word]])
        assert gaps.max() <= 4 * pool.size / times[word] + 2 * spread + slack
        near += np.count_nonzero(gaps < spread + slack)
        expected += times[word] // 2
    assert near >= 0.97 * expected
    for word in np.flatnonzero(~rare):
        gaps = np.diff(order[begins[word] : begins[word] + times[word]])
        assert gaps.max() <= 2 * pool.size / times[word] + slack
    assert 0.3 < times[rare].sum() / pool.size < 0.9


@pytest.mark.parametrize("odd", [3, 5])
def test_every_part_of_the_pool_has_as_many_draws_of_rare_words(odd):
    pool = noise_pool(noise_mass(10**7 // np.arange(1, 60_001)), 5, burst=2, draws=500_000).ravel()
    times = np.bincount(pool)
    found = np.array([np.count_nonzero(times[part] == odd) for part in np.array_split(pool, 10)])
    assert np.abs(found / found.mean() - 1).max() < 0.06


def test_a_pool_made_piece_by_piece(monkeypatch):
    counts = np.array([10**6, 0, *10**5 // np.arange(1, 3_000), 0])
    monkeypatch.setattr(pool_module, "PIECE", 700)
    pool = noise_pool(noise_mass(counts), 3, draws=30_000)
    expected = pool.size * counts**0.75 / (counts**0.75).sum()
    assert np.abs(np.bincount(pool.ravel(), minlength=len(counts)) - expected).max() <= 1


@pytest.mark.filterwarnings("ignore:attention has collapsed")  # the text leaves attention little else to do
@pytest.mark.parametrize("n_words", [1, 2, 3])
def test_a_vocabulary_of_few_words_trains(n_words):
    corpus = [[f"w{i % n_words}" for i in range(12)] for _ in range(50)]
    for model in MODELS:
        options = {"window": 3, "vector_size": 8, "min_count": 1, "epochs": 1, "workers": 1}
        config = TrainConfig(model=model, shared_by=SHARED_BY.get(model), **options)
        found = train(corpus, config)
        assert np.isfinite(found.inputs).all()
        assert found.record["predictions"] > 0


@given(
    lengths=st.lists(st.one_of(st.integers(0, 12), st.integers(900, 2_500)), max_size=25),
    size=st.integers(1, 3_000),
    open_end=st.integers(0, 5),
)
@settings(deadline=None, max_examples=150)
def test_chunks_are_all_lines_once(lengths, size, open_end):
    lines = [np.append(np.zeros(n, np.int32), np.int32(-1)) for n in lengths] + [np.zeros(open_end, np.int32)]
    tokens = np.concatenate(lines)
    source = Chunks(tokens, size)
    found = []
    while (chunk := source.next()) is not None:
        found.append(chunk)
    assert [chunk.index for chunk in found] == list(range(len(found)))
    assert [chunk.start for chunk in found] == [0, *(chunk.stop for chunk in found)][: len(found)]
    assert (found[-1].stop if found else 0) == len(tokens)
    for chunk in found:
        assert chunk.stop == len(tokens) or tokens[chunk.stop - 1] < 0
        inside = tokens[chunk.start : chunk.stop - 1]
        # the chunk does not have one line too many
        assert chunk.stop - chunk.start <= size or (inside[size - 1 :] >= 0).all()
        assert chunk.stop - chunk.start >= size or chunk.stop == len(tokens)


# ---- the same again -------------------------------------------------------------------------

FINGERPRINTS = """
import hashlib
import numpy as np
from wordvec_ca.specs.models import SPECS
from wordvec_ca.models import TrainConfig

SHARED_BY = {spec.name: spec.shared_by for spec in SPECS if spec.shared_by}
from wordvec_ca.specs.models import MODELS
from wordvec_ca.runs import train

def fingerprints():
    rng = np.random.default_rng(4)
    corpus = [[f"w{word}" for word in rng.zipf(1.4, 20) if word < 400] for _ in range(1_000)]
    found = {}
    for model in MODELS:
        config = TrainConfig(
            model=model, window=5, vector_size=20, min_count=2, epochs=2, workers=1, seed=3,
            shared_by=SHARED_BY.get(model),
        )
        trained = train(corpus, config)
        parts = [array.tobytes() for array in trained.shared] + [repr(trained.vocab.words).encode()]
        found[model] = hashlib.sha256(b"".join(parts)).hexdigest()
    return found
"""


def test_one_worker_gives_the_same_bits_again():
    space: dict[str, Any] = {}
    exec(FINGERPRINTS, space)  # the same code that the other processes run
    here = space["fingerprints"]()
    assert len(set(here.values())) == len(MODELS)
    for seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        code = FINGERPRINTS + "\nprint(fingerprints())"
        there = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert there.stdout.strip() == str(here)


# ---- what must not pass in silence ----------------------------------------------------------


@pytest.mark.parametrize("backend", [*ISAS, "reference"])
@pytest.mark.parametrize("name", ["inputs", "outputs", "word_logits", "slot_logits"])
@pytest.mark.parametrize("shared_by", [1, 4])
def test_parameters_that_are_not_numbers_show_in_the_loss(shared_by, name, backend):
    problem = Problem("cbow-attn", spread=0.5, shared_by=shared_by)
    getattr(problem, name)[:] = np.nan
    assert np.isnan(problem.train(backend, problem.text([20, 30])).loss)


# ---- the entry -------------------------------------------------------------------------------


def call(problem: Problem, tokens: np.ndarray) -> dict[str, Any]:
    """Return the arguments of a good call."""
    arrays = problem.arrays(np.float32)
    return {
        "hyper": problem.hyper,
        "tokens": tokens,
        "keep": NO_KEEP,
        "pool": problem.pool,
        "shared": arrays,
        "private": tuple(aligned_zeros((2, 0, array.shape[1])) for array in arrays),
        "lock": np.zeros(16, np.int32),
        "rng": np.array([1, 2], np.uint64),
        "stats": np.zeros(len(STATS)),
        "isa": ISAS[0],
    }


def unaligned(array: np.ndarray) -> np.ndarray:
    return aligned_zeros((array.size + 1,))[1:].reshape(array.shape)


MISFITS: dict[str, Any] = {
    "unknown instruction set": lambda c: c.update(isa="avx"),
    "no hyper-parameters": lambda c: c.update(hyper=np.zeros(0, HYPER_DTYPE)),
    "hyper-parameters with another field": lambda c: c.update(
        hyper=c["hyper"].astype(
            [(name.replace("drawn", "taken"), *kind) for name, *kind in HYPER_DTYPE.descr]
        )
    ),
    "two records of hyper-parameters": lambda c: c.update(hyper=np.zeros(2, HYPER_DTYPE)),
    "hyper-parameters of another type": lambda c: c.update(hyper=np.zeros(1, np.float32)),
    "no parameters": lambda c: c.update(shared=()),
    "no private rows": lambda c: c.update(private=()),
    "parameters in float64": lambda c: c.update(shared=tuple(a.astype(np.float64) for a in c["shared"])),
    "read-only parameters": lambda c: [a.setflags(write=False) for a in c["shared"]],
    "rows not in one piece": lambda c: c.update(shared=(c["shared"][0][::2], *c["shared"][1:])),
    "inputs not aligned": lambda c: c.update(shared=(unaligned(c["shared"][0]), *c["shared"][1:])),
    "outputs not aligned": lambda c: c.update(
        shared=(c["shared"][0], unaligned(c["shared"][1]), *c["shared"][2:])
    ),
    "fewer output rows": lambda c: c.update(shared=(c["shared"][0], c["shared"][1][:9], *c["shared"][2:])),
    "tokens in int64": lambda c: c.update(tokens=c["tokens"].astype(np.int64)),
    "tokens in two dimensions": lambda c: c.update(tokens=c["tokens"][None]),
    "word outside the vocabulary": lambda c: c.update(tokens=np.array([1, 50, 2], np.int32)),
    "largest word id": lambda c: c.update(tokens=np.array([2**31 - 1], np.int32)),
    "thresholds for fewer words": lambda c: c.update(keep=np.zeros(9, np.uint32)),
    "no negatives": lambda c: c.update(pool=c["pool"][:0]),
    "other number of negatives": lambda c: c.update(pool=np.ascontiguousarray(c["pool"][:, 1:])),
    "tuple after the pool": lambda c: c.update(rng=np.array([1, 997], np.uint64)),
    "tuple before the pool": lambda c: c.update(rng=np.array([1, 2**64 - 1], np.uint64)),
    "short generator": lambda c: c.update(rng=np.zeros(1, np.uint64)),
    "short tallies": lambda c: c.update(stats=np.zeros(5)),
    "no lock": lambda c: c.update(lock=np.zeros(0, np.int32)),
}
WRONG_HYPER = [
    *({"composition": value} for value in (-1, 0, 5, 256 + ord("m"))),
    *({"width": value} for value in (0, 16, 20, 48, -32)),
    *({"out_width": value} for value in (0, 16, 64)),
    {"bands": 2},
    {"bands": 2, "out_width": 16},
    *({"window": value} for value in (0, -1, 30, 2**31 - 1)),
    *({"shared_by": value} for value in (0, -1, 2**31 - 1)),
    *({"drawn": value} for value in (0, 4, 6, -5)),
    *({"n_private": value} for value in (-1, 1, 10, 51)),
    *({"word_stride": value} for value in (1, 8, 32, -16)),
]


def test_the_record_of_hyper_parameters_is_the_compiled_struct():
    found = [(name, HYPER_DTYPE[name].char, HYPER_DTYPE.fields[name][1]) for name in HYPER_DTYPE.names]
    assert tuple(found) == _sgns.hyper_fields()
    assert HYPER_DTYPE.itemsize == found[-1][2] + 4


@pytest.mark.parametrize("misfit", MISFITS)
def test_misuse_of_the_door_is_a_value_error(misfit):
    problem = Problem("cbow-attn")
    arguments = call(problem, problem.text([20, 30]))
    _sgns.train_chunk(**arguments)
    MISFITS[misfit](arguments)
    with pytest.raises(ValueError):
        _sgns.train_chunk(**arguments)


@pytest.mark.parametrize("model", WORD_MODELS)
def test_hyper_parameters_that_do_not_fit_are_a_value_error(model):
    for values in WRONG_HYPER:
        problem = Problem(model)
        if all((problem.hyper[name] == value).all() for name, value in values.items()):
            continue
        if "word_stride" in values and not spec_of(model).attends:
            continue
        if values == {"window": 30} and not spec_of(model).knows_places:
            continue  # a model without places accepts any window
        arguments = call(problem, problem.text([20, 30]))
        for name, value in values.items():
            arguments["hyper"][name] = value
        before = [array.copy() for array in arguments["shared"]]
        with pytest.raises(ValueError):
            _sgns.train_chunk(**arguments)
        for array, was in zip(arguments["shared"], before, strict=True):
            np.testing.assert_array_equal(array, was)


@pytest.mark.parametrize("model", sorted(set(WORD_MODELS) - set(SHARED_BY)))
def test_ssg_and_cwindow_share_no_negatives(model):
    problem = Problem(model, shared_by=2)
    arguments = call(problem, problem.text([20, 30]))
    with pytest.raises(ValueError, match="do not fit"):
        _sgns.train_chunk(**arguments)
    with pytest.raises(ValueError, match="share no negatives"):
        problem.train("reference", arguments["tokens"])


@pytest.mark.parametrize("word", [50, 2**31 - 1])
def test_twin_refuses_words_outside_the_vocabulary(word):
    with pytest.raises(ValueError, match="outside the vocabulary"):
        Problem().train("reference", np.array([1, word, 2, -1], np.int32))


@pytest.mark.parametrize("backend", [*ISAS, "reference"])
@pytest.mark.parametrize("shared_by", [1, 9])
@pytest.mark.parametrize("tokens", [[], [-1], [-1, -1, 3, -1], [7]])
def test_text_without_any_context_changes_nothing(tokens, shared_by, backend):
    problem = Problem("cbow-attn", spread=0.5, shared_by=shared_by)
    trained = problem.train(backend, np.array(tokens, np.int32))
    for after, before in zip(trained.arrays, problem.arrays(np.float32), strict=True):
        np.testing.assert_array_equal(after, before)
    assert trained.stats[STATS.index("words")] == sum(token >= 0 for token in tokens)
    assert trained.stats.sum() == trained.stats[STATS.index("words")]
