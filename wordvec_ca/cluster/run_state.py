"""The state of a run on a cluster, which driver and rounds share and a checkpoint stores."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wordvec_ca.cluster.ledger import Ledger
from wordvec_ca.cluster.node_history import NodeHistory
from wordvec_ca.cluster.shards import Encoded
from wordvec_ca.corpus import CorpusStats
from wordvec_ca.errors import DataError
from wordvec_ca.models import Point
from wordvec_ca.training import Clock


@dataclass
class Totals:
    """Counts and times of a run so far.

    Attributes
    ----------
    tallies : dict of str to float
        The tallies of the training loop.
    before_epoch : dict of str to float
        The tallies when this epoch began.
    merges : int
        Number of merges committed.
    bytes_moved : int
        Parameters that went from one node to another.
    seconds : dict of str to float
        Wall-clock time of each phase.
    waiting : float
        Seconds that nodes were idle while others still trained, on average.
    """

    tallies: dict[str, float] = field(default_factory=dict)
    before_epoch: dict[str, float] = field(default_factory=dict)
    merges: int = 0
    bytes_moved: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    waiting: float = 0.0

    def add(self, trained: Mapping[str, float]) -> None:
        """Add tallies."""
        for name, value in trained.items():
            self.tallies[name] = self.tallies.get(name, 0.0) + value

    def took(self, phase: str, since: float) -> None:
        """Add the time since a moment to a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.monotonic() - since

    def mean(self, total: str, number: str, before: Mapping[str, float] | None = None) -> float:
        """Return one tally divided by another, counted since ``before``; nan if the divisor is 0."""
        before = before or {}
        n = self.tallies.get(number, 0.0) - before.get(number, 0.0)
        return (self.tallies.get(total, 0.0) - before.get(total, 0.0)) / n if n else math.nan


class RunState:
    """The state of a run.

    Attributes
    ----------
    ledger : Ledger
        Which tokens were merged.
    totals : Totals
        Counts and times.
    version : int
        Version of the parameters: how many merges were committed.
    encoded : dict of int to Encoded
        Tokens and fingerprint of each shard.
    losses, valid_losses : list of float
        Losses of the epochs before.
    history : NodeHistory
    sessions : int
        How often the run was started or resumed.
    """

    def __init__(self, run: str, epochs: int) -> None:
        self.run = run
        self.ledger = Ledger(epochs, [])
        self.totals = Totals()
        self.encoded: dict[int, Encoded] = {}
        self.sessions = 1
        self._seconds_before = 0.0
        self._clock = Clock(0.0)
        self._forget()

    def _forget(self) -> None:
        self.version = 0
        self.losses: list[float] = []
        self.valid_losses: list[float] = []
        self.history = NodeHistory()

    def start_over(self) -> None:
        """Go back to the beginning of the training."""
        self._forget()
        self.ledger = Ledger(self.ledger.epochs, self.ledger.tokens)
        self.totals.tallies, self.totals.before_epoch = {}, {}

    def start_clock(self) -> None:
        """Continue the training time from its value at the end of the last session."""
        self._clock = Clock(self._seconds_before)

    @property
    def seconds(self) -> float:
        """Training time over all sessions."""
        return self._clock.seconds

    @property
    def fraction(self) -> float:
        """Share of the run that is done."""
        return self.ledger.position / max(1, self.ledger.total * self.ledger.epochs)

    def as_record(self) -> dict[str, Any]:
        """Return what the run needs, besides the parameters, to continue from here, as values for JSON."""
        return {
            "run": self.run,
            "version": self.version,
            "ledger": self.ledger.as_dict(),
            "totals": asdict(self.totals),
            "losses": self.losses,
            "valid_losses": self.valid_losses,
            "history": [list(point) for point in self.history.points],
            "words_by_node": self.history.words,
            "seconds": self.seconds,
            "sessions": self.sessions,
            "encoded": {
                str(number): [found.tokens, found.stats.as_dict(), found.fingerprint]
                for number, found in self.encoded.items()
            },
        }

    def go_back(self, record: Mapping[str, Any]) -> None:
        """Restore the state from ``as_record``'s result."""
        if record.get("run") != self.run:
            raise DataError("the checkpoints are of another run")
        try:
            self.version = int(record["version"])
            self.ledger = Ledger.from_dict(record["ledger"])
            self.totals = Totals(**record["totals"])
            self.losses = [float(loss) for loss in record["losses"]]
            self.valid_losses = [float(loss) for loss in record["valid_losses"]]
            points = [Point.of([math.nan if v is None else v for v in p]) for p in record["history"]]
            self.history = NodeHistory(points, record["words_by_node"])
            self._seconds_before = float(record["seconds"])
            self.sessions = max(self.sessions, int(record["sessions"]))
            for number, (tokens, stats, fingerprint) in record["encoded"].items():
                self.encoded[int(number)] = Encoded(tokens, CorpusStats(**stats), fingerprint)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the state in the checkpoint cannot be used: {error}") from error
        self.start_clock()
