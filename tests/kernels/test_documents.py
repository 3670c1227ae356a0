"""Trees and rows of documents in the loop: against the reference, and central differences of the losses."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest

from wordvec_ca.kernels import HYPER_DTYPE, STATS, _sgns, aligned_zeros, huffman_paths, padded, sgns_reference

ISAS = _sgns.isas()
LINES = [1, 2, 60, 0, 5, 1, 120, 3, 3, 41, 7, 2]
"""Number of words of each document: none, one, fewer and more than windows and blocks."""
TAGS = [[3], [0, 1], [2, 4, 5], [6], [], [2], [7], [8, 3], [2, 2], [9], [10], [1]]
"""Rows of each document: one, several, shared, twice the same, none."""

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "pv-dbow": ("p", {"only_documents": 1}),
    "pv-dbow with words": ("p", {}),
    "pv-dm": ("m", {}),
    "pv-dm as word2vec": ("m", {"word2vec_update": 1}),
    "pv-dm sum": ("m", {"sum_rows": 1}),
    "pv-dm concatenated": ("s", {}),
    "pv-dm-attn": ("a", {"word_slots": 1, "use_slots": 1}),
    "pv-dm-attn by place": ("a", {"use_slots": 1, "word_stride": 0}),
    "pv-dm-attn by word": ("a", {"word_stride": 1}),
}
OF_WORDS: dict[str, tuple[str, dict[str, Any]]] = {
    "cbow": ("m", {}),
    "cbow as word2vec": ("m", {"word2vec_update": 1}),
    "cbow sum": ("m", {"sum_rows": 1}),
    "cbow sum as word2vec": ("m", {"sum_rows": 1, "word2vec_update": 1}),
    "skipgram": ("p", {}),
    "cwindow": ("s", {}),
    "cbow-attn": ("a", {"word_slots": 1, "use_slots": 1}),
}
"""Models without rows of documents, here with a tree; test_kernels.py has them without one."""


@dataclass
class Problem:
    """A text of documents and random parameters."""

    model: str
    d: int = 20
    n_words: int = 50
    window: int = 3
    drawn: int = 5
    hs: bool = False
    shared_by: int = 1
    shrink: bool = False
    spread: float = 0.4
    alpha: float = 0.05
    tag_slots: int = 2
    lines: list[int] = field(default_factory=lambda: LINES)
    tags: list[list[int]] = field(default_factory=lambda: TAGS)
    more: dict[str, Any] = field(default_factory=dict)
    pad: bool = True
    keep: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint32))

    def __post_init__(self) -> None:
        letter, options = (MODELS | OF_WORDS)[self.model]
        if self.model in OF_WORDS:
            self.tag_slots, self.tags = 0, [[] for _ in self.lines]
        width = padded(self.d) if self.pad else self.d
        beside = 2 * self.window + self.tag_slots if letter == "s" else 1
        slots = 2 * self.window
        columns = options.get("word_stride", padded(slots) if options.get("word_slots") else 0)
        self.counts = np.maximum(1, 1_000 // np.arange(1, self.n_words + 1))
        self.paths = huffman_paths(self.counts) if self.hs else None
        hyper = np.zeros(1, HYPER_DTYPE)
        values: dict[str, Any] = {
            "composition": ord(letter), "width": width, "out_width": beside * width, "bands": 1,
            "window": self.window, "drawn": self.drawn, "shared_by": self.shared_by, "merge_every": 2**31 - 1,
            "longest_path": self.paths.longest if self.paths else 0, "shrink_windows": self.shrink,
            "alpha_begin": self.alpha, "alpha_end": self.alpha, "attention_rate": 1.0, "attention_clip": 10.0,
            "most_tags": max(map(len, self.tags)), **options, "word_stride": columns, **self.more,
        }  # fmt: skip
        for name, value in values.items():
            hyper[name] = value
        self.hyper, self.width, self.beside, self.columns = hyper, width, beside, columns
        rng = np.random.default_rng(1)
        n_documents = 1 + max((tag for tags in self.tags for tag in tags), default=-1)

        def random(*shape: int, live: int | None = None) -> np.ndarray:
            array = np.zeros(shape)
            array[..., :live] = rng.uniform(-self.spread, self.spread, array[..., :live].shape)
            return array

        outputs = random(self.n_words, beside, width, live=self.d).reshape(self.n_words, -1)
        self.arrays = {
            "W": random(self.n_words, width, live=self.d),
            "O": outputs,
            "K": random(self.n_words, columns, live=min(slots, columns)) if columns else np.zeros((1, 16)),
            "s": random(1, padded(slots + 1), live=slots + 1),
            "N": random(self.n_words, beside, width, live=self.d).reshape(self.n_words, -1),
            "D": random(n_documents, width, live=self.d),
            "k": random(n_documents),
        }
        share = self.counts / self.counts.sum()
        self.pool = rng.choice(self.n_words, (97, self.drawn), p=share).astype(np.int32)
        self.words = [rng.choice(self.n_words, n, p=share).tolist() for n in self.lines]
        tokens, rows = [], []
        for words, tags in zip(self.words, self.tags, strict=True):
            tokens += [*words, -1, *[-2] * (len(tags) - 1)]
            rows += tags or [-1]
        self.tokens, self.rows = np.array(tokens, np.int32), np.array(rows, np.int64)

    def train(
        self, backend: str, dtype: type = np.float32, **changed: float
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        arrays = {name: aligned_zeros(array.shape, dtype) for name, array in self.arrays.items()}
        for name, array in arrays.items():
            array[:] = self.arrays[name]
        hyper = self.hyper.copy()
        for name, value in changed.items():
            hyper[name] = value
        shared = tuple(arrays[name] for name in "WOKs" + "N" * self.hs)
        more: dict[str, Any] = {}
        if self.model in MODELS:
            more["documents"] = (arrays["D"], arrays["k"], self.rows)
        if n := int(hyper["n_private"][0]):
            more["private"] = tuple(aligned_zeros((2, min(n, len(a)), a.shape[1])) for a in shared)
            for rows, array in zip(more["private"], shared, strict=True):
                rows[:] = array[: rows.shape[1]]
            more["lock"] = np.zeros(16, np.int32)
        rng, stats = np.array([12345, 94], np.uint64), np.zeros(len(STATS))
        call = (hyper, self.tokens, self.keep, self.pool, shared, rng, stats, self.paths)
        if backend == "reference":
            sgns_reference.train_chunk(*call, **more)
        else:
            _sgns.train_chunk(*call, **more, isa=backend)
        return arrays, np.append(stats, rng)


def settings() -> list[tuple[str, dict[str, Any]]]:
    """Return each model with sizes, numbers of readers, negatives and trees."""
    still = {"frozen": 1, "attention_rate": 0.0}
    of_documents: list[dict[str, Any]] = [
        {"shrink": True},
        {"d": 100, "window": 5, "drawn": 7, "spread": 0.1},
        {"hs": True, "drawn": 0},
        {"hs": True, "drawn": 3, "d": 64},
        {"more": still},
        {"hs": True, "drawn": 2, "more": still},
    ]
    of_words: list[dict[str, Any]] = [
        {"hs": True, "drawn": drawn, "d": d, "n_words": n_words, "spread": 4 / d, "alpha": 0.02}
        for drawn, (d, n_words) in product((0, 5), ((20, 50), (100, 9), (140, 300)))
    ]
    return [
        (model, {"shared_by": shared_by, **setting})
        for models, given in ((MODELS, of_documents), (OF_WORDS, of_words))
        for model, shared_by, setting in product(models, (1, 8), given)
        if shared_by == 1 or models[model][0] != "s"
    ]


@pytest.mark.parametrize(("model", "setting"), settings())
def test_compiled_loop_agrees_with_its_reference(model, setting):
    for sampled in (False, True):
        problem = Problem(model, **setting)
        if sampled:
            problem.keep = np.random.default_rng(5).integers(2**31, 2**32, problem.n_words, dtype=np.uint32)
        expected, counted = problem.train("reference")
        assert counted[0] > 50
        for isa in ISAS:
            found, stats = problem.train(isa)
            np.testing.assert_allclose(stats, counted, rtol=1e-5)
            for name, array in found.items():
                np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=1e-5, err_msg=name)
        moved = {name for name, array in expected.items() if not np.allclose(array, problem.arrays[name])}
        if problem.hyper["frozen"][0]:
            assert moved == {"D"} | ({"W"} if model == "pv-dbow with words" else set())
        else:
            assert ("D" in moved) == (model in MODELS)
            assert ("O" in moved) == (problem.drawn > 0)


def log_sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(-np.logaddexp(0.0, -z))


def plain_loss(problem: Problem, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return the loss of the text at fixed parameters, for a batch of parameter sets, from the equations."""
    w, o, k_words, s, n, d, k_documents = (arrays[name] for name in "WOKsNDk")
    hyper, window = problem.hyper[0], problem.window
    batch, total, cursor = len(w), 0.0, 94

    def predict(target: int, x: np.ndarray, first: bool) -> np.ndarray:
        nonlocal cursor
        loss = np.zeros(batch)
        if problem.drawn:
            loss -= log_sigmoid(np.sum(o[:, target] * x, 1))
            for word in problem.pool[cursor % 97]:
                if word != target:
                    loss -= log_sigmoid(-np.sum(o[:, word] * x, 1))
            cursor += 1
        if problem.paths is not None:
            for at in range(problem.paths.ends[target], problem.paths.ends[target + 1]):
                z = np.sum(n[:, problem.paths.nodes[at]] * x, 1)
                loss -= log_sigmoid(z if problem.paths.labels[at] else -z)
        return loss

    for words, tags in zip(problem.words, problem.tags, strict=True):
        for i, target in enumerate(words):
            places = [j for j in range(max(0, i - window), min(len(words), i + window + 1)) if j != i]
            if hyper["only_documents"]:
                places = []
            slots = [j - i + window - (j > i) for j in places]
            rows = [w[:, words[j]] for j in places] + [d[:, tag] for tag in tags]
            if not rows:
                continue
            letter = chr(hyper["composition"])
            if letter == "p":
                for row in rows:
                    total += predict(target, row, True)
                continue
            if letter == "s":
                x = np.zeros((batch, problem.beside, problem.width))
                for slot, row in zip([*slots, *range(2 * window, problem.beside)], rows, strict=False):
                    x[:, slot] = row
                total += predict(target, x.reshape(batch, -1), True)
                continue
            logits = np.zeros((batch, len(rows)))
            if letter == "a":
                for i_row, slot in enumerate(slots):
                    column = slot if hyper["word_slots"] else 0
                    logits[:, i_row] += s[:, 0, slot] * hyper["use_slots"]
                    if problem.columns:
                        logits[:, i_row] += k_words[:, words[places[i_row]], column]
                for t, tag in enumerate(tags):
                    logits[:, len(slots) + t] += s[:, 0, 2 * window] * hyper["use_slots"]
                    if problem.columns:
                        logits[:, len(slots) + t] += k_documents[:, tag]
            shares = np.exp(logits)
            if not hyper["sum_rows"]:
                shares /= shares.sum(1, keepdims=True)
            total += predict(target, sum(shares[:, [k]] * row for k, row in enumerate(rows)), True)
    return np.asarray(total)


@pytest.mark.parametrize("model", [name for name in MODELS if "word2vec" not in name])
@pytest.mark.parametrize("hs", [False, True])
def test_updates_are_the_gradient(model, hs):
    problem = Problem(
        model, d=3, n_words=7, window=2, drawn=0 if hs else 2, hs=hs, pad=False,
        lines=[4, 1, 3], tags=[[0], [1, 2], [0, 3]],
    )  # fmt: skip
    sizes = {name: array.size for name, array in problem.arrays.items()}
    here = np.concatenate([array.ravel() for array in problem.arrays.values()])

    def loss(vectors):
        parts = np.split(vectors, np.cumsum(list(sizes.values()))[:-1], axis=1)
        named = zip(problem.arrays.items(), parts, strict=True)
        return plain_loss(problem, {name: part.reshape(-1, *array.shape) for (name, array), part in named})

    moved = np.eye(len(here)) * 1e-5
    gradient = (loss(here + moved) - loss(here - moved)) / 2e-5
    slopes = []
    for alpha in (2.0**-18, 2.0**-19):
        arrays, _ = problem.train("reference", np.float64, alpha_begin=alpha, alpha_end=alpha)
        slopes.append((np.concatenate([array.ravel() for array in arrays.values()]) - here) / alpha)
    assert np.abs(gradient).max() > 0.1
    np.testing.assert_allclose(2 * slopes[1] - slopes[0], -gradient, rtol=1e-5, atol=2e-6)


def test_lines_that_do_not_fit_are_refused():
    problem = Problem("pv-dm")
    for rows in (problem.rows[1:], problem.rows + 1, np.append(problem.rows[1:], -2)):
        problem.rows = rows
        with pytest.raises(ValueError, match=r"document"):
            problem.train(ISAS[0])
    problem = Problem("pv-dm")
    with pytest.raises(ValueError, match="fit"):
        problem.train(ISAS[0], most_tags=2)


# ---- trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_words", [1, 2, 3, 10, 700])
def test_the_tree_is_gensims(n_words):
    word2vec = pytest.importorskip("gensim.models.word2vec")
    counts = np.random.default_rng(n_words).zipf(1.4, n_words).clip(1, 1_000)  # many are equal
    theirs = word2vec.KeyedVectors(1, n_words)
    theirs.index_to_key = list(range(n_words))
    theirs.expandos["count"] = counts
    word2vec._assign_binary_codes(theirs)
    ends, nodes, labels = huffman_paths(counts)
    for word in range(n_words if n_words > 1 else 0):
        here = slice(ends[word], ends[word + 1])
        np.testing.assert_array_equal(n_words - 2 - nodes[here], theirs.get_vecattr(word, "point"))
        np.testing.assert_array_equal(1 - labels[here], theirs.get_vecattr(word, "code"))


def test_no_tree_has_shorter_paths():
    counts = np.random.default_rng(3).zipf(1.3, 500).clip(1, 10**6)
    heap, least = counts.tolist(), 0
    heapq.heapify(heap)
    while len(heap) > 1:  # the cost of a Huffman tree is the sum over its inner nodes
        both = heapq.heappop(heap) + heapq.heappop(heap)
        least += both
        heapq.heappush(heap, both)
    paths = huffman_paths(counts)
    assert (np.diff(paths.ends) * counts).sum() == least
    # so the probabilities of all words add up to 1 for every x
    assert (0.5 ** np.diff(paths.ends)).sum() == 1.0


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("drawn", [0, 4])
@pytest.mark.parametrize("model", ["cbow", "skipgram"])
def test_private_rows_of_one_thread_change_nothing(model, drawn, isa):
    problem = Problem(model, drawn=drawn, hs=True)
    parted, plain = (problem.train(isa, n_private=n, merge_every=5)[0] for n in (7, 0))
    for name, array in plain.items():
        np.testing.assert_allclose(parted[name], array, rtol=1e-5, atol=1e-6, err_msg=name)


def test_misuse_of_the_door_is_a_value_error():
    problem = Problem("cbow", drawn=0, hs=True)
    for changed in ({"longest_path": 0}, {"longest_path": -1}, {"drawn": 5}, {"bands": 6}):
        with pytest.raises(ValueError):
            problem.train(ISAS[0], **changed)
    problem.paths = huffman_paths(problem.counts[:-1])
    with pytest.raises(ValueError, match="Huffman"):
        problem.train(ISAS[0])
