"""The state of a run on a cluster, which a checkpoint stores beside the parameters."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.models import History, Point
from wordvec_ca.training import Clock


@dataclass
class RunState:
    """The place of a run, and what it has found so far."""

    run: str
    # Threads of a training task: the bits do not depend on the nodes of a later session.
    threads: int = 1
    # epoch, round: Number of the epoch, from 1, and of the next round in it, from 0. A round is what lies
    # between two merges; what a replica trains in it depends on these two numbers alone.
    epoch: int = 1
    round: int = 0
    # version, merges: Rounds that are done, and how many of them were merges of several replicas.
    version: int = 0
    merges: int = 0
    # tallies, before_epoch: Tallies of the training loop, now and when the epoch began.
    tallies: dict[str, float] = field(default_factory=dict)
    before_epoch: dict[str, float] = field(default_factory=dict)
    # Bytes of parameters that went from one node to another.
    bytes_moved: int = 0
    # Wall-clock seconds of each phase.
    took: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    valid_losses: list[float] = field(default_factory=list)
    history: History = field(default_factory=History)
    # Training time of the sessions before.
    seconds_before: float = 0.0
    sessions: int = 1
    # Those of the encoded shards: a resumed run checks that the text is the same.
    fingerprints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start_clock()

    def start_clock(self) -> None:
        """Continue the training time from its value at the end of the last session."""
        self._clock = Clock(self.seconds_before)

    @property
    def seconds(self) -> float:
        """Training time over all sessions."""
        return self._clock.seconds

    def add(self, tallies: Mapping[str, float]) -> None:
        """Add the tallies of a part."""
        for name, value in tallies.items():
            self.tallies[name] = self.tallies.get(name, 0.0) + value

    def phase_took(self, phase: str, since: float) -> None:
        """Add the time since a moment to a phase."""
        self.took[phase] = self.took.get(phase, 0.0) + time.monotonic() - since

    def mean(self, total: str, number: str, before: Mapping[str, float]) -> float:
        """Return one tally divided by another, counted since ``before``; nan if the divisor is 0."""
        n = self.tallies.get(number, 0.0) - before.get(number, 0.0)
        return (self.tallies.get(total, 0.0) - before.get(total, 0.0)) / n if n else math.nan

    def as_record(self) -> dict[str, Any]:
        """Return the state as values for JSON."""
        record = asdict(self)
        record["history"] = [list(point) for point in self.history.points]
        return {**record, "seconds_before": self.seconds}

    def begin_again(self) -> RunState:
        """Return the state of the same session before its training."""
        return RunState(
            self.run, self.threads, took=self.took, sessions=self.sessions, fingerprints=self.fingerprints
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any], run: str) -> RunState:
        """Return the state in a checkpoint."""
        if record.get("run") != run:
            raise DataError("the checkpoints are of another run")
        try:
            points = [Point.of([math.nan if v is None else v for v in p]) for p in record["history"]]
            state = cls(**{**record, "history": History(points)})
            if min(state.epoch, state.threads) < 1 or min(state.round, state.version) < 0:
                raise ValueError("its place is not in the text")
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the state in the checkpoint cannot be used: {error}") from error
        return state
