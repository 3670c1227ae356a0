"""Standard errors from subsamples: a statistic on four fifths of the items, many times (delete-d jackknife).

The bootstrap draws items with replacement. Items that are drawn twice always agree with themselves, so
clusters and classes agree more in its samples than in the data, and their agreement varies less: on 45 words
in 9 classes a centred bootstrap calls 12 to 18 % of equal models different at a nominal 5 %. Subsamples do
not have an item twice.

The variance of the statistic is ``(n - d) / d`` times that of the subsamples without d of n items (Shao and
Wu 1989, eq. 2.2). The delete-one jackknife fails for statistics that are not smooth, such as purity with its
maxima; with d a fixed share of n it is right for them too (Shao and Wu 1989, theorem 1; Shao and Tu 1995,
§2.3). A fifth was chosen by simulation among 1 item, .1, .2, .33 and .5 of the items:
`scripts/quality/calibration.py` writes the error rates.

References
----------
Shao and Wu 1989, "A General Theory for Jackknife Variance Estimation" (Annals of Statistics 17). Shao and Tu
1995, "The Jackknife and Bootstrap", §2.3. Politis and Romano 1994, "Large Sample Confidence Regions Based on
Subsamples under Minimal Assumptions" (Annals of Statistics 22): why subsampling needs no smoothness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array

from wordvec_ca.eval.statistics.clustering import contingency, many_to_ones_of, v_measures_of
from wordvec_ca.eval.statistics.resampling import evaluate_statistic, n_searches, of_each_search

# Share of the units that a subsample leaves out.
LEFT_OUT = 0.2

# Statistics of contingency tables of classes and clusters, many at a time.
OF_TABLES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "v-measure": v_measures_of,
    "many-to-one": many_to_ones_of,
    "purity": many_to_ones_of,
}

# Numbers that are held in memory at a time.
BLOCK = 4_000_000

# Smallest number of subsamples. With more searches fewer are drawn, since each subsample is evaluated for
# all searches.
FEWEST = 200


def subsampled(
    statistic: str,
    columns: Sequence[np.ndarray],
    units: np.ndarray | None = None,
    *,
    seed: int,
    resamples: int = 1000,
) -> tuple[np.ndarray, float]:
    """Compute a statistic on subsamples of the items."""
    unit = np.arange(len(columns[0])) if units is None else np.unique(units, return_inverse=True)[1]
    n = int(unit.max()) + 1 if len(unit) else 0
    if n < 2:
        return np.empty(0), float("nan")
    left_out = max(1, round(LEFT_OUT * n))
    rng = np.random.default_rng([seed, 0x5AB5])
    several = n_searches(columns)
    if several > 1:
        resamples = max(min(FEWEST, resamples), resamples // several)
    if statistic in OF_TABLES:
        values = _of_tables(statistic, columns, unit, _kept(rng, n, left_out, resamples))
    else:
        values = np.array(
            [
                evaluate_statistic(statistic, [column[row[unit]] for column in columns])
                for kept in _kept(rng, n, left_out, resamples)
                for row in kept
            ]
        )
    return values, float(np.sqrt((n - left_out) / left_out))


def _kept(rng: np.random.Generator, n: int, left_out: int, resamples: int) -> Iterator[np.ndarray]:
    """Yield blocks of rows of n truth values: which units a subsample keeps."""
    rows = max(1, BLOCK // n)
    for start in range(0, resamples, rows):
        keys = rng.random((min(rows, resamples - start), n), dtype=np.float32)
        kept = np.ones(keys.shape, dtype=bool)
        np.put_along_axis(kept, np.argpartition(keys, left_out - 1, axis=1)[:, :left_out], False, axis=1)
        yield kept


def _of_tables(
    statistic: str, columns: Sequence[np.ndarray], unit: np.ndarray, blocks: Iterator[np.ndarray]
) -> np.ndarray:
    """Return the statistic of the contingency table of each subsample, as the mean over the searches."""
    searches = [_Cells(classes, clusters, unit) for classes, clusters in of_each_search(columns)]
    parts = []
    for kept in blocks:
        values = [cells.statistics(OF_TABLES[statistic], kept) for cells in searches]
        parts.append(np.mean(values, axis=0))
    return np.concatenate(parts)


class _Cells:
    """The cells of a contingency table that each unit adds to."""

    def __init__(self, classes: np.ndarray, clusters: np.ndarray, unit: np.ndarray) -> None:
        classes, clusters = (np.unique(column, return_inverse=True)[1] for column in (classes, clusters))
        self._shape = contingency(classes, clusters).shape
        self._cells, cell = np.unique(classes * self._shape[1] + clusters, return_inverse=True)
        # Units by cells: the tables of all subsamples of a block are one product.
        shape = (int(unit.max()) + 1, len(self._cells))
        self._of_unit = csr_array((np.ones(len(unit)), (unit, cell)), shape=shape)

    def statistics(self, function: Callable[[np.ndarray], np.ndarray], kept: np.ndarray) -> np.ndarray:
        """Return the statistic of each subsample, (n_subsamples,)."""
        n_cells = self._shape[0] * self._shape[1]
        rows = max(1, BLOCK // n_cells)
        parts = []
        for start in range(0, len(kept), rows):
            found = kept[start : start + rows].astype(np.float64) @ self._of_unit
            tables = np.zeros((len(found), n_cells))
            tables[:, self._cells] = found
            parts.append(function(tables.reshape(-1, *self._shape)))
        return np.concatenate(parts)
