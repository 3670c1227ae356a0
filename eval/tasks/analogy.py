"""Analogies: a is to b as c is to which word? 3CosAdd and 3CosMul over whole question sets."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from wordvec_ca.eval.data.word_sets import Analogies
from wordvec_ca.eval.lookup import RULE, Vectors, rows_of, unit_rows, vocabulary_digest
from wordvec_ca.eval.report import Report, digest_of

BLOCK = 4096
"""Words of the vocabulary in one matrix product: with a thousand question words, 16 MB of cosines."""


def evaluate(
    vectors: Vectors,
    data: Analogies,
    *,
    seed: int = 1,
    restrict_vocab: int | None = 300_000,
    workers: int = 2,
) -> Report:
    """Answer analogy questions.

    Notes
    -----
    The cosines between the few hundred different words of the questions and a block of the vocabulary are one
    product; every question then only adds three of its rows. Memory: one such block.
    """
    started = time.perf_counter()
    n_words = len(vectors.index_to_key)
    stop = n_words if restrict_vocab is None else min(n_words, restrict_vocab)
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
    report = Report(
        task="analogy",
        dataset=data.name,
        metrics={},
        n=int(covered.sum()),
        coverage=float(covered.mean()),
        coverage_of="questions",
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
        details={"questions": len(words), "oov_questions": int((~covered).sum()), "sections": {}},
    )
    for name, column in (
        ("3cosadd", "3cosadd"),
        ("3cosmul", "3cosmul"),
        ("3cosadd-all", "3cosadd_or_wrong"),
        ("semantic", "semantic"),
        ("syntactic", "syntactic"),
    ):
        if name in ("semantic", "syntactic") and np.isnan(report.items[column]).all():
            continue
        report.measure(name, "mean", column)
    for i, name in enumerate(data.sections):
        chosen = (sections == i) & covered
        report.details["sections"][name] = {
            "questions": int((sections == i).sum()),
            "covered": int(chosen.sum()),
            "3cosadd": float(right["3cosadd"][chosen].mean()) if chosen.any() else float("nan"),
            "3cosmul": float(right["3cosmul"][chosen].mean()) if chosen.any() else float("nan"),
        }
    if not covered.all():
        report.notes.append(
            f"{int((~covered).sum()):,} of {len(words):,} questions have a word without a vector"
        )
    report.seconds = time.perf_counter() - started
    return report


def _answers(
    vectors: Vectors, asked: np.ndarray, rows: np.ndarray, position: np.ndarray, stop: int, workers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best rows by 3CosAdd and by 3CosMul for each covered question."""
    from wordvec_ca.eval.tasks.analogy_answers import LOWEST, best_answers

    kernel: Callable[..., None] = best_answers
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
