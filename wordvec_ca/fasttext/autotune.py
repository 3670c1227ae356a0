"""Chooses the options of a classifier by trials within a time limit, judged on a separate file.

The first trial uses the defaults. Each further trial varies the best options so far, by less and less as time
passes. The search space is that of fastText's ``-autotune-validation``.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import encoded
from wordvec_ca.fasttext.model import Model
from wordvec_ca.fasttext.quantising import quantised_model
from wordvec_ca.fasttext.text_model import TextModel
from wordvec_ca.fasttext.training import Text, train_classifier
from wordvec_ca.training import TrainingDiverged

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
# Option -> the smallest and the largest value to try.
WIDTHS = {
    "epoch": (1, 100),
    "lr": (0.01, 5.0),
    "dim": (1, 1000),
    "wordNgrams": (1, 5),
    "bucket": (10_000, 10_000_000),
}

NGRAMS_OF_CHARACTERS = ((0, 0), (2, 5), (3, 6))
SUBQUANTISERS = (2, 4, 8, 16)


class TooLarge(DataError):
    """A model cannot be made small enough for the size limit."""


@dataclass(frozen=True)
class Objective:
    """A figure to optimise: F1, precision at a recall, or recall at a precision, of all labels or one."""

    kind: str
    at: float
    label: str

    @classmethod
    def parse(cls, text: str) -> Objective:
        """Parse fastText's name of a figure: ``f1``, ``f1:LABEL``, ``precisionAtRecall:30[:LABEL]``, ..."""
        found = re.fullmatch(r"f1(?::(.+))?", text)
        if found:
            return cls("f1", 0.0, found[1] or "")
        found = re.fullmatch(r"(precisionAtRecall|recallAtPrecision):([0-9.]+)(?::(.+))?", text)
        if not found:
            raise ValueError(
                f"autotuneMetric is {text!r}; it must be f1, f1:LABEL, precisionAtRecall:PERCENT[:LABEL] or "
                "recallAtPrecision:PERCENT[:LABEL]"
            )
        return cls(found[1], float(found[2]) / 100, found[3] or "")

    def of(self, model: Model, path: str, predictions: int) -> float:
        """Return the figure of a model on a file."""
        judged = TextModel(model=model)
        label = judged.get_label_id(self.label) if self.label else None
        if label is not None and label < 0:
            raise DataError(f"autotuneMetric names {self.label!r}, which is not a label of the text")
        if self.kind == "f1":
            return judged.measured(path, predictions, 0.0).f1(label)
        meter = judged.measured(path, -1, 0.0)
        at = meter.precision_at_recall if self.kind == "precisionAtRecall" else meter.recall_at_precision
        return at(self.at, label)


def tuned_classifier(options: dict[str, Any], given: set[str]) -> tuple[Model, dict[str, Any]]:
    """Return the best classifier that a search finds, and its options."""
    measure, most_bytes = (
        Objective.parse(options["autotuneMetric"]),
        size_of(str(options["autotuneModelSize"])),
    )
    text = Text(*encoded(options["input"]))
    rng = np.random.default_rng(options["seed"])
    started, budget = time.monotonic(), float(options["autotuneDuration"])
    best: tuple[float, Model, dict[str, Any]] | None = None
    longest, trials, first = 0.0, 0, dict(options)
    while not trials or time.monotonic() - started + longest < budget:
        begun = time.monotonic()
        share = min(1.0, (begun - started) / max(budget, 1e-9))
        tried = first if best is None else variation(best[2], given, share, rng, most_bytes > 0)
        trials += 1
        try:
            model = train_classifier({**tried, "verbose": 0}, text)
            if most_bytes:
                model = _shrunk(model, tried, most_bytes)
            score = measure.of(model, options["autotuneValidationFile"], options["autotunePredictions"])
        except (TooLarge, TrainingDiverged) as error:
            first = _halved(first, given, error) if best is None else first
            continue
        finally:
            longest = max(longest, time.monotonic() - begun) if trials > 1 else time.monotonic() - begun
        if best is None or score > best[0] or (math.isnan(best[0]) and not math.isnan(score)):
            best = score, model, tried
    if best is None:
        raise DataError("no trial gave a model: give autotune more time, or a smaller lr")
    return best[1], best[2]


def _halved(options: dict[str, Any], given: set[str], error: Exception) -> dict[str, Any]:
    """Return options with half the dimensions or half the rate; raise the error if the caller gave these."""
    name = "dim" if isinstance(error, TooLarge) else "lr"
    if name in given or options[name] < (2 if name == "dim" else 1e-3):
        raise error
    return {**options, name: options["dim"] // 2 if name == "dim" else options["lr"] / 2}


def variation(
    best: dict[str, Any], given: set[str], share: float, rng: np.random.Generator, codes: bool
) -> dict[str, Any]:
    """Return a variation of the best options, smaller as more of the time has passed."""
    tried = dict(best)
    width = 2.0 * (1 - share) + 0.4 * share
    for name in ("epoch", "lr", "dim", "wordNgrams", "bucket"):
        if name in given:
            continue
        least, most = WIDTHS[name]
        start = max(best[name], least) if name != "bucket" or best[name] else 2_000_000
        found = min(most, max(least, start * 2.0 ** rng.normal(0, width)))
        tried[name] = float(found) if name == "lr" else round(found)
    if not given & {"minn", "maxn"} and rng.random() < 0.3:
        tried["minn"], tried["maxn"] = NGRAMS_OF_CHARACTERS[rng.integers(len(NGRAMS_OF_CHARACTERS))]
    if codes and "dsub" not in given and rng.random() < 0.3:
        tried["dsub"] = int(SUBQUANTISERS[rng.integers(len(SUBQUANTISERS))])
    if tried["wordNgrams"] <= 1 and tried["maxn"] == 0:
        tried["bucket"] = 0
    return tried


def size_of(text: str) -> int:
    """Return the bytes of a size such as ``2M``; 0 for the empty string."""
    if not text:
        return 0
    found = re.fullmatch(r"([0-9]+)([KMG]?)", text.strip().upper())
    if not found:
        raise ValueError(
            f"autotuneModelSize is {text!r}; it must be a number of bytes, or one with K, M or G"
        )
    return int(found[1]) * UNITS[found[2]]


def _shrunk(model: Model, tried: dict[str, Any], most_bytes: int) -> Model:
    """Return the quantised model, with as many rows as fit into the size limit."""
    dim, part = tried["dim"], tried.get("dsub", 2)
    many_labels = model.dictionary.n_labels >= 256
    fixed = (
        4 * 256 * dim
        + 2_000
        + sum(len(word) + 10 for word in model.dictionary.words[model.dictionary.n_words :])
    )
    fixed += 4 * 256 * (dim + 1) if many_labels else 4 * dim * model.dictionary.n_labels
    fixed += (dim + 1) // 2 * model.dictionary.n_labels * many_labels
    words = model.dictionary.words[: model.dictionary.n_words]
    row = -(-dim // part) + 1 + max(8, 10 + sum(map(len, words)) / len(words))
    cutoff = int((most_bytes - fixed) / row)
    if cutoff < 100:
        raise TooLarge(f"a model of {dim} dimensions cannot have {most_bytes} bytes: give a smaller dim")
    options = {**tried, "qout": many_labels, "cutoff": cutoff, "retrain": True, "dsub": part, "qnorm": True}
    return quantised_model(model, options)
