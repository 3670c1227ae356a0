"""Analogies: a is to b as c is to which word? 3CosAdd and 3CosMul over whole question sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from wordvec_ca.eval.data.word_sets import Analogies
from wordvec_ca.eval.lookup import RULE, Vectors, rows_of, unit_rows, vocabulary_digest
from wordvec_ca.eval.report import Report, digest_of

# Answers are among this number of most frequent words, as in gensim.
MOST_CANDIDATES = 300_000

# Words of the vocabulary in one matrix product: with a thousand question words, 16 MB of cosines.
BLOCK = 4096

# A score below that of every answer.
LOWEST = np.float32(-1e30)

# Lets LLVM vectorise a maximum; it may assume that there is no NaN, and the cosines hold none.
REORDER = {"nnan", "nsz", "reassoc", "contract"}


@njit(nogil=True, cache=True, fastmath=REORDER)
def best_answers(
    cosines: np.ndarray, terms: np.ndarray, first: int, scores: np.ndarray, answers: np.ndarray
) -> None:
    """Improve the best answer to each question with the words of one block.

    3CosAdd: ``cos(x, b) - cos(x, a) + cos(x, c)``. 3CosMul: ``p(x, b) p(x, c) / (p(x, a) + 0.001)`` with
    ``p = (1 + cos) / 2``. The words of a question are not answers to it. Where two words score the same, the
    one with the lower row wins.

    References
    ----------
    Levy and Goldberg 2014, "Linguistic Regularities in Sparse and Explicit Word Representations", eq. 3, 4.
    """
    n_block = cosines.shape[1]
    score = np.empty(n_block, np.float32)
    half, small = np.float32(0.5), np.float32(0.001)
    for q in range(len(terms)):
        to_a, to_b, to_c = cosines[terms[q, 0, 0]], cosines[terms[q, 1, 0]], cosines[terms[q, 2, 0]]
        for method in range(2):
            if method == 0:
                for x in range(n_block):
                    score[x] = to_b[x] - to_a[x] + to_c[x]
            else:
                for x in range(n_block):
                    near = (half + half * to_b[x]) * (half + half * to_c[x])
                    score[x] = near / (half + half * to_a[x] + small)
            for i in range(3):
                own = terms[q, i, 1] - first
                if 0 <= own < n_block:
                    score[own] = LOWEST
            top = LOWEST
            for x in range(n_block):
                top = max(top, score[x])
            if top > scores[method, q]:
                x = 0
                while score[x] < top:
                    x += 1
                scores[method, q], answers[method, q] = top, first + x


def evaluate(
    vectors: Vectors,
    data: Analogies,
    *,
    seed: int = 1,
    workers: int = 2,
) -> Report:
    """Answer analogy questions.

    Notes
    -----
    The cosines between the few hundred different words of the questions and a block of the vocabulary are one
    product; every question then only adds three of its rows. Memory: one such block.
    """
    n_words = len(vectors.index_to_key)
    stop = min(n_words, MOST_CANDIDATES)
    words = [question[1:] for question in data.questions]
    distinct = list(dict.fromkeys(word for question in words for word in question))
    row_of = dict(zip(distinct, rows_of(vectors, distinct, first=stop).tolist(), strict=True))
    rows = np.array([[row_of[word] for word in question] for question in words], dtype=np.int64)
    covered = (rows >= 0).all(axis=1)
    asked, position = np.unique(rows[covered], return_inverse=True)
    position = position.reshape(-1, 4)
    add, mul = _answers(vectors, asked, rows[covered], position, stop, workers)

    sections = np.array([question[0] for question in data.questions], dtype=np.int64)
    right: dict[str, np.ndarray] = {}
    for name, answers in (("3cosadd", add), ("3cosmul", mul)):
        right[name] = np.full(len(words), np.nan)
        right[name][covered] = answers == rows[covered, 3]
    syntactic = np.array([name.startswith("gram") for name in data.sections])[sections]
    pair_ids: dict[tuple[str, str], int] = {}

    def pair(*words: str) -> int:
        return pair_ids.setdefault((min(words), max(words)), len(pair_ids))

    # A pair counts as the same unit on either side, in either order, and in every section.
    units = np.array([(pair(a, b), pair(c, d)) for a, b, c, d in words])
    report = Report.over(
        "analogy",
        data.name,
        covered,
        "questions",
        seed=seed,
        protocol=f"{RULE}; answers among the first {stop:,} words without the three given; questions with an "
        "unknown word are left out, and wrong in 3cosadd-all; intervals allow for questions that share a "
        "pair of words, on either side, and so depend on each other",
        items={
            **right,
            "3cosadd_or_wrong": np.nan_to_num(right["3cosadd"]),
            "semantic": np.where(syntactic, np.nan, right["3cosadd"]),
            "syntactic": np.where(syntactic, right["3cosadd"], np.nan),
        },
        units=units,
        digest=digest_of(data.questions, data.sections),
        candidates=stop,
        candidates_digest=vocabulary_digest(vectors, stop),
        details={"questions": len(words), "sections": {}},
    )
    report.measure("3cosadd", "mean", "3cosadd")
    report.measure("3cosmul", "mean", "3cosmul")
    report.measure("3cosadd-all", "mean", "3cosadd_or_wrong")
    for kind in ("semantic", "syntactic"):
        if not np.isnan(report.items[kind]).all():
            report.measure(kind, "mean", kind)
    for i, name in enumerate(data.sections):
        chosen = (sections == i) & covered
        report.details["sections"][name] = {
            "questions": int((sections == i).sum()),
            "covered": int(chosen.sum()),
            "3cosadd": float(right["3cosadd"][chosen].mean()) if chosen.any() else float("nan"),
            "3cosmul": float(right["3cosmul"][chosen].mean()) if chosen.any() else float("nan"),
        }
    return report


def _answers(
    vectors: Vectors, asked: np.ndarray, rows: np.ndarray, position: np.ndarray, stop: int, workers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best rows by 3CosAdd and by 3CosMul for each covered question."""
    kernel: Callable[..., None] = best_answers  # numba's decorator has no types
    n_questions = len(rows)
    scores = np.full((2, n_questions), LOWEST, dtype=np.float32)
    answers = np.full((2, n_questions), -1, dtype=np.int32)
    terms = np.stack([position[:, :3], rows[:, :3]], axis=2).astype(np.int32)
    questions = unit_rows(vectors, asked)
    edges = np.linspace(0, n_questions, workers + 1).astype(int)
    parts = [slice(start, end) for start, end in itertools.pairwise(edges) if start < end]
    with ThreadPoolExecutor(workers) as pool:
        for first in range(0, stop if n_questions else 0, BLOCK):
            block = unit_rows(vectors, np.arange(first, min(first + BLOCK, stop)))
            # A row with NaN has no direction and is not an answer: cosine -1 to everything.
            cosines = np.nan_to_num(questions @ block.T, nan=-1.0, posinf=-1.0, neginf=-1.0)
            tasks = [
                pool.submit(kernel, cosines, terms[part], first, scores[:, part], answers[:, part])
                for part in parts
            ]
            for task in tasks:
                task.result()
    return answers[0], answers[1]
