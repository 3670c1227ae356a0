"""Learning rates and options, chosen on data that no table shows."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from typing import Any

import numpy as np
from recipes import ATTENTION, COMMON, GRIDS, SEARCH, TUNE_RESTARTS
from records import append_line, claimed, read_lines
from study import lines_of, say

from wordvec_ca.corpus import EncodedCorpus, TextOptions, encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.eval import pos_induction, read_tagged
from wordvec_ca.models import TrainConfig
from wordvec_ca.runs import train


def encoded(text: Any, options: argparse.Namespace, name: str, lowercase: bool = False) -> EncodedCorpus:
    """Encode text as recipes need it."""
    return encode_corpus(
        text,
        TextOptions(
            tokenizer=COMMON["tokenizer"],
            lowercase=lowercase,
            min_count=COMMON["min_count"],
            workers=options.workers,
        ),
        cache_dir=options.output / "text" / name,
    )


class Tuning:
    """Chooses settings by part-of-speech induction on UD English-EWT dev, with a part of the text.

    Parameters
    ----------
    options : Namespace
    deadline : float
        Time on the monotonic clock after which nothing is trained.
    """

    def __init__(self, options: argparse.Namespace, deadline: float) -> None:
        self.options, self.deadline = options, deadline
        self.log = options.output / "tuning.jsonl"
        self.done = {record["key"]: record for record in read_lines(self.log)}
        self.text: EncodedCorpus | None = None

    def alphas(self) -> dict[str, float]:
        """Return the learning rate of each family that is finished."""
        found = {}
        for family, (base, rates) in GRIDS.items():
            scores = {alpha: self.score(family, {**base, "alpha": alpha}) for alpha in rates}
            if None not in scores.values():
                found[family] = max(rates, key=lambda alpha: scores[alpha] or 0.0)
        return found

    def attention(self, alpha: float) -> dict[str, Any] | None:
        """Return the options of the best attention recipe, or None if not all are finished."""
        found = []
        for ratio, more in SEARCH:
            chosen = {**more, "attention_alpha": ratio * alpha}
            value = self.score("attention, search", {**ATTENTION, "alpha": alpha, **chosen})
            if value is not None:
                found.append((value, chosen))
        return max(found, key=lambda pair: pair[0])[1] if len(found) == len(SEARCH) else None

    def score(self, family: str, chosen: dict[str, Any]) -> float | None:
        """Return V of a setting, trained if necessary; None if time is over or another process trains it."""
        key = json.dumps([family, chosen, self.options.tune_lines], sort_keys=True)
        if key not in self.done and time.monotonic() < self.deadline:
            cell = self.options.output / "tuning" / hashlib.sha1(key.encode()).hexdigest()
            with claimed(cell) as free:
                self.done.update({record["key"]: record for record in read_lines(self.log)})
                if free and key not in self.done:
                    record = {"key": key, "family": family, **chosen, **self._judged(chosen)}
                    append_line(self.log, record)
                    self.done[key] = record
                    say(f"tuning {family} {chosen}: V {record['v']:.4f} on UD EWT dev")
        return float(self.done[key]["v"]) if key in self.done else None

    def _judged(self, chosen: dict[str, Any]) -> dict[str, Any]:
        options = self.options
        if self.text is None:
            self.text = encoded(lines_of(options.corpus, options.tune_lines), options, "tuning")
        dev = read_tagged(options.data / "pos" / "ud_ewt.dev.tsv", tag_column=3)
        try:
            trained = train(self.text, TrainConfig(**{**COMMON, **chosen, "workers": options.workers}))
        except DataError as error:  # training diverged, which is a result too
            return {"v": 0.0, "failed": str(error)}
        report = pos_induction.evaluate(trained.vectors, dev, restarts=TUNE_RESTARTS, workers=options.workers)
        return {
            # Which restart has the highest likelihood depends on chance; the mean over restarts varies less.
            "v": float(np.mean([restart["v_measure"] for restart in report.details["restarts"]])),
            "v_likely": report.value,
            "concentration": trained.record.get("attention_concentration"),
        }
