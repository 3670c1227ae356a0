"""Which rows threads keep to themselves."""

from __future__ import annotations

import numpy as np
import pytest

from wordvec_ca.training.private_rows import DRIFT, LEAST_SHARE, LONGEST, TOKENS_PER_ROW, private_rows

ALL = np.zeros(0, np.uint32)
ZIPF = (10**8 / np.arange(1, 50_001)).astype(np.int64)


def test_one_worker_has_none() -> None:
    assert private_rows(ZIPF, ALL, 1, 1) == (0, 0)


@pytest.mark.parametrize("predictions", [1, 21])
def test_more_workers_and_more_predictions_merge_sooner(predictions: float) -> None:
    found = [private_rows(ZIPF, ALL, workers, predictions) for workers in (2, 3, 5, 8)]
    rows, intervals = zip(*found, strict=True)
    assert list(intervals) == sorted(intervals, reverse=True)
    assert intervals[0] > intervals[-1] >= 1
    assert all(n * TOKENS_PER_ROW <= interval for n, interval in found)
    assert all((n - 1) * interval <= DRIFT for n, interval in zip((2, 3, 5, 8), intervals, strict=True))
    assert rows[0] > rows[-1] >= 1
    assert intervals[0] <= private_rows(ZIPF, ALL, 2, 1)[1]


def test_wide_windows_have_more_rows() -> None:
    rows, interval = private_rows(ZIPF, ALL, 2, 1)
    more, same = private_rows(ZIPF, ALL, 2, 1, contexts=21)
    assert same == interval
    assert rows < more <= 3.5 * (rows + 1)  # as many times more work per token as merging them is more


def test_very_many_workers_share_all_rows() -> None:
    assert private_rows(ZIPF, ALL, 64, 1) == (0, 0)


def test_logits_of_places_are_never_summed_over_three_threads() -> None:
    assert private_rows(ZIPF, ALL, 2, 1, slots=True) == private_rows(ZIPF, ALL, 2, 1)
    assert private_rows(ZIPF, ALL, 3, 1, slots=True) == (0, 0)


def test_subsampling_lets_threads_drift_longer() -> None:
    steep = (10**9 / np.arange(1, 20_001) ** 2).astype(np.int64)  # the first word is most of the text
    keep = np.minimum(2.0**32 - 1, 2.0**32 * 10**6 / np.maximum(steep, 1)).astype(np.uint32)
    assert private_rows(steep, ALL, 4, 1)[1] < private_rows(steep, keep, 4, 1)[1]


def test_only_frequent_words_have_rows() -> None:
    counts = np.array([10**6, 10**6, *[10] * 1_000])
    assert private_rows(counts, ALL, 2, 1)[0] == 2
    assert counts[2] / counts.sum() < LEAST_SHARE
    flat = np.full(100_000, 7)
    assert private_rows(flat, ALL, 2, 1) == (1, LONGEST)
