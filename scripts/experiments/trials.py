"""Trials: a training run with one setting, done once and written down, so that an experiment can go on."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Setting = dict[str, Any]


class Trials:
    """Outcomes of training runs in a file of JSON lines.

    Parameters
    ----------
    path : Path
        The file; what is in it is not done again.
    minutes : float
        Nothing new is begun after this time.
    """

    def __init__(self, path: Path, minutes: float = math.inf) -> None:
        self.path = path
        self.deadline = time.monotonic() + 60 * minutes
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.done = {self.key(record["setting"]): record for record in map(json.loads, lines)}

    @staticmethod
    def key(setting: Setting) -> str:
        """Return a setting as a string."""
        return json.dumps(setting, sort_keys=True)

    def summary(self) -> str:
        """Return how many runs are finished, and how long they took together."""
        seconds = sum(record["seconds"] for record in self.done.values())
        return f"{len(self.done)} runs, which took {seconds / 60:.0f} minutes together."

    def outcome(self, setting: Setting, run: Callable[[Setting], dict[str, Any]]) -> dict[str, Any] | None:
        """Return the outcome of a setting, run if it is new; None if time is over."""
        key = self.key(setting)
        if key not in self.done:
            if time.monotonic() > self.deadline:
                return None
            began = time.monotonic()
            record = {"setting": setting, **run(setting)}
            record["seconds"] = round(time.monotonic() - began, 1)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as log:
                log.write(json.dumps(record) + "\n")
            print(json.dumps(record), file=sys.stderr, flush=True)
            self.done[key] = record
        return self.done[key]

    def with_best_rate(
        self,
        setting: Setting,
        rates: Sequence[float],
        seeds: Sequence[int],
        run: Callable[[Setting], dict[str, Any]],
        criterion: str,
    ) -> tuple[float, list[dict[str, Any]]] | None:
        """Choose the learning rate with the first seed, then run the others with it.

        Parameters
        ----------
        setting : dict
            All but ``rate`` and ``seed``.
        rates : sequence of float
        seeds : sequence of int
        run : callable
            Trains one setting; what it returns can be written as JSON.
        criterion : str
            Name of the figure that is to be high, taken on data that no table shows.

        Returns
        -------
        (float, list of dict) or None
            The rate, and an outcome for each seed that is finished; None if not all rates were tried.
        """
        tried = {rate: self.outcome({**setting, "rate": rate, "seed": seeds[0]}, run) for rate in rates}
        found = {rate: outcome for rate, outcome in tried.items() if outcome is not None}
        if len(found) < len(rates):
            return None
        best = max(rates, key=lambda rate: found[rate][criterion])
        more = [self.outcome({**setting, "rate": best, "seed": seed}, run) for seed in seeds[1:]]
        return best, [found[best], *(outcome for outcome in more if outcome is not None)]
