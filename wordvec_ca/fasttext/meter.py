"""Quality of predicted labels: precision, recall and F1, over all labels or for one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Meter:
    """Predictions for lines with known labels."""

    n_examples: int  # Lines with a label and a word
    gold: np.ndarray  # (n_labels,), int64: Number of true occurrences of each label
    labels: np.ndarray  # (n_predictions,), int32: Predicted labels, line after line
    scores: np.ndarray  # (n_predictions,), float32: Probabilities, at most 1
    right: np.ndarray  # (n_predictions,), bool

    def precision(self, label: int | None = None) -> float:
        """Return the share of right predictions, of all labels or of one; NaN if there are no predictions."""
        return _ratio(*self._predictions(label))

    def recall(self, label: int | None = None) -> float:
        """Return the share of labels that were found; NaN if there are no labels."""
        return _ratio(self._predictions(label)[0], self._gold(label))

    def f1(self, label: int | None = None) -> float:
        """Return the harmonic mean of precision and recall."""
        right, predicted = self._predictions(label)
        return _ratio(2 * right, predicted + self._gold(label))

    def _predictions(self, label: int | None) -> tuple[int, int]:
        chosen = self.right if label is None else self.right[self.labels == label]
        return int(chosen.sum()), len(chosen)

    def _gold(self, label: int | None) -> int:
        return int(self.gold.sum() if label is None else self.gold[label])

    def scores_and_truth(self, label: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return scores in ascending order, and 1 for right predictions, else 0: of all labels or of one."""
        chosen = np.full(len(self.labels), True) if label is None else self.labels == label
        scores, truth = self.scores[chosen].astype(np.float64), self.right[chosen].astype(np.float64)
        order = np.lexsort((truth, scores))  # of equal scores the wrong ones first, as fastText sorts
        return scores[order], truth[order]

    def curve(self, label: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return precision and recall at each threshold, the highest first; the last pair, 1 and 0, is the
        one without predictions.
        """
        # As in fastText, thresholds beyond the one that finds all labels are left out.
        scores, truth = self.scores_and_truth(label)
        if not len(scores):
            return np.zeros(0), np.zeros(0)
        scores, found = scores[::-1], np.cumsum(truth[::-1])
        predicted = np.arange(1, len(found) + 1)
        last = np.append(scores[1:] != scores[:-1], True)  # the last of equal scores
        found, predicted = found[last], predicted[last]
        gold = self._gold(label)
        n = int(np.searchsorted(found, gold)) + 1
        precision, recall = found / predicted, (found / gold if gold else np.full(len(found), math.nan))
        return np.append(precision[:n], 1.0), np.append(recall[:n], 0.0)

    def precision_at_recall(self, wanted: float, label: int | None = None) -> float:
        """Return the best precision with at least this recall; 0 if no threshold reaches it."""
        precision, recall = self.curve(label)
        return float(precision[recall >= wanted].max(initial=0.0))

    def recall_at_precision(self, wanted: float, label: int | None = None) -> float:
        """Return the best recall with at least this precision; 0 if no threshold reaches it."""
        precision, recall = self.curve(label)
        return float(recall[precision >= wanted].max(initial=0.0))


def measured(model: Any, lines: Any, gold_labels: list[np.ndarray], k: int, threshold: float) -> Meter:
    """Predict the labels of lines and compare them with the true ones."""
    n_labels = model.dictionary.n_labels
    gold, labels, scores, right, n_examples = np.zeros(n_labels, np.int64), [], [], [], 0
    found = model.predict(lines, k, threshold)
    for i, own in enumerate(gold_labels):
        n = found.n_found[i]
        if n < 0 or not len(own):  # n < 0: the line has no known word, and fastText skips it
            continue
        n_examples += 1
        np.add.at(gold, own, 1)
        labels.append(found.labels[i, :n])
        # fastText adds 1e-5 to a probability before its logarithm, so one can be above 1
        scores.append(np.minimum(found.probabilities[i, :n], 1.0))
        right.append(np.isin(found.labels[i, :n], own))
    empty = np.zeros(0)
    return Meter(
        n_examples,
        gold,
        np.concatenate(labels) if labels else empty.astype(np.int32),
        np.concatenate(scores) if scores else empty.astype(np.float32),
        np.concatenate(right) if right else empty.astype(bool),
    )


def joined(meters: list[Meter]) -> Meter:
    """Combine several meters."""
    return Meter(
        sum(m.n_examples for m in meters),
        np.sum([m.gold for m in meters], axis=0),
        *(np.concatenate([getattr(m, name) for m in meters]) for name in ("labels", "scores", "right")),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
