"""Hierarchical softmax in the loop: against the reference, numerical gradients and gensim's tree."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

from wordvec_ca.kernels import HYPER_DTYPE, STATS, _sgns, aligned_zeros, huffman_paths, padded, sgns_reference
from wordvec_ca.specs.models import spec_of

ISAS = _sgns.isas()
LINES = [1, 2, 60, 0, 5, 1, 120, 3, 3, 41, 7, 2]
MODELS = [
    *(("cbow", {"word2vec_update": update, "sum_rows": total}) for update, total in product((0, 1), (0, 1))),
    ("skipgram", {}),
    ("cwindow", {}),
    ("cbow-attn", {}),
]


@dataclass
class Problem:
    """A text, counts, and random parameters of a model with hierarchical softmax."""

    model: str
    options: dict[str, int]
    d: int = 20
    n_words: int = 50
    window: int = 3
    drawn: int = 0
    shared_by: int = 1
    alpha: float = 0.05
    n_private: int = 0
    spread: float = 0.4
    pad: bool = True
    seed: int = 1

    def __post_init__(self) -> None:
        spec = spec_of(self.model)
        width, slots = padded(self.d) if self.pad else self.d, 2 * self.window
        out_width = width * spec.widths(self.window)
        self.counts = np.maximum(1, 1_000 // np.arange(1, self.n_words + 1))
        self.paths = huffman_paths(self.counts)
        rng = np.random.default_rng(self.seed)
        columns = padded(slots) if spec.attends else 16
        n_rows = {"W": self.n_words, "O": self.n_words, "K": self.n_words if spec.attends else 1, "s": 1}
        widths = {"W": width, "O": out_width, "K": columns, "s": padded(slots), "N": out_width}
        self.arrays = []
        for name, columns_of in widths.items():
            array = np.zeros((n_rows.get(name, self.n_words), columns_of))
            live = array.reshape(len(array), -1, width)[:, :, : self.d] if name in "WON" else array[:, :slots]
            live[:] = rng.uniform(-self.spread, self.spread, live.shape)
            self.arrays.append(array)
        self.pool = rng.integers(0, self.n_words, (97, self.drawn), dtype=np.int32)
        hyper = np.zeros(1, HYPER_DTYPE)
        values: dict[str, Any] = {
            "composition": spec.letter, "width": width, "out_width": out_width, "bands": 1,
            "window": self.window, "drawn": self.drawn, "longest_path": self.paths.longest,
            "shared_by": self.shared_by, "alpha_begin": self.alpha, "alpha_end": self.alpha,
            "attention_rate": 1.0, "attention_clip": 10.0, "merge_every": 5, "n_private": self.n_private,
            **self.options,
        }  # fmt: skip
        if spec.attends:
            values |= {"word_stride": columns, "word_slots": 1, "use_slots": 1}
        for name, value in values.items():
            hyper[name] = value
        self.hyper = hyper

    def text(self, lengths: list[int]) -> np.ndarray:
        share = self.counts / self.counts.sum()
        rng = np.random.default_rng(self.seed)
        lines = [np.append(rng.choice(self.n_words, n, p=share), -1) for n in lengths]
        return np.concatenate(lines).astype(np.int32)

    def train(
        self, backend: str, tokens: np.ndarray, dtype: type = np.float32, **changed: Any
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the parameters after training, and the tallies."""
        hyper = self.hyper.copy()
        for name, value in changed.items():
            hyper[name] = value
        arrays = [aligned_zeros(array.shape, dtype) for array in self.arrays]
        for copy, array in zip(arrays, self.arrays, strict=True):
            copy[:] = array
        n = int(hyper["n_private"][0])
        private = tuple(aligned_zeros((2, min(n, len(a)), a.shape[1])) for a in arrays)
        for rows, array in zip(private, arrays, strict=True):
            rows[:] = array[: rows.shape[1]]
        stats = np.zeros(len(STATS))
        keep, lock, rng = np.zeros(0, np.uint32), np.zeros(16, np.int32), np.array([7, 3], np.uint64)
        call = (hyper, tokens, keep, self.pool, tuple(arrays), rng, stats, self.paths)
        if backend == "reference":
            sgns_reference.train_chunk(*call)
        else:
            _sgns.train_chunk(*call, private, lock, isa=backend)
        return arrays, stats


@pytest.mark.parametrize("n_words", [1, 2, 3, 10, 700])
def test_the_tree_is_gensims(n_words: int) -> None:
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


def test_no_tree_has_shorter_paths() -> None:
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


@pytest.mark.parametrize(("model", "options"), MODELS)
@pytest.mark.parametrize(("drawn", "shared_by"), [(0, 1), (0, 6), (5, 1), (5, 6)])
def test_compiled_loop_agrees_with_its_twin(
    model: str, options: dict[str, int], drawn: int, shared_by: int
) -> None:
    if shared_by > 1 and spec_of(model).shared_by is None:
        shared_by = 1
    for d, n_words in ((20, 50), (100, 9), (140, 300)):
        problem = Problem(
            model, options, d=d, n_words=n_words, drawn=drawn, shared_by=shared_by, spread=4 / d, alpha=0.02
        )
        tokens = problem.text(LINES)
        expected, tallies = problem.train("reference", tokens)
        for isa in ISAS:
            arrays, stats = problem.train(isa, tokens)
            assert stats[0] == tallies[0]
            assert stats[1] == pytest.approx(tallies[1], rel=1e-5)
            for name, ours, theirs in zip("WOKsN", arrays, expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=name)
            assert (arrays[1] == problem.arrays[1].astype(np.float32)).all() == (drawn == 0)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("drawn", [0, 4])
def test_private_rows_of_one_thread_change_nothing(drawn: int, isa: str) -> None:
    for model in ("cbow", "skipgram"):
        problem = Problem(model, {}, drawn=drawn)
        tokens = problem.text(LINES)
        for ours, plain in zip(
            problem.train(isa, tokens, n_private=7)[0], problem.train(isa, tokens)[0], strict=True
        ):
            np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


def test_misuse_of_the_door_is_a_value_error() -> None:
    problem = Problem("cbow", {})
    tokens = problem.text([9])
    for changed in ({"longest_path": 0}, {"longest_path": -1}, {"drawn": 5}, {"bands": 6}):
        with pytest.raises(ValueError):
            problem.train(ISAS[0], tokens, **changed)
    problem.paths = huffman_paths(problem.counts[:-1])
    with pytest.raises(ValueError, match="Huffman"):
        problem.train(ISAS[0], tokens)
