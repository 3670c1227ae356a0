"""When checkpoints of a run on a cluster are written, and how it goes on while its storage is away.

A node writes them while others train. Only when none could be written for ``storage_patience`` does the run
end; it can then be resumed from the last one.
"""

from __future__ import annotations

import time
from typing import Any

from wordvec_ca.cluster import tasks
from wordvec_ca.cluster.engine import Engine
from wordvec_ca.cluster.lock import Lock, LockLost
from wordvec_ca.cluster.rounds import Rounds
from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage
from wordvec_ca.showable import duration
from wordvec_ca.training import Checkpoints, Interval

SETTLED = 15.0
"""Seconds that a merge waits for a checkpoint under way: a version that is being written stays in memory
beside the next."""

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 120.0
"""Seconds before a checkpoint that failed is tried again; each pause is twice as long as the one before."""


class Checkpointing:
    """Has nodes write checkpoints beside the training."""

    def __init__(
        self,
        engine: Engine,
        rounds: Rounds,
        storage: Storage,
        lock: Lock,
        interval: Interval | None,
        patience: float,
    ) -> None:
        self._engine, self._rounds, self._lock = engine, rounds, lock
        # without patience of its own: what fails is tried again later, with the version of then
        self._storage, self._patience = Storage(storage.place), patience
        self._due, self._interval = Checkpoints(self._storage, interval), interval
        self._due.begin(rounds.position)
        self._writing: tuple[Any, float] | None = None
        self._next_try, self._pause = 0.0, FIRST_PAUSE
        self._away_since: float | None = None

    @property
    def away(self) -> float:
        """For how many seconds no checkpoint could be written; 0 if the last one was."""
        return 0.0 if self._away_since is None else time.monotonic() - self._away_since

    def step(self) -> None:
        """Begin a checkpoint of the version of now if one is due; call this between two rounds."""
        self.settle(0.0)
        if self._interval is None or self._writing is not None or time.monotonic() < self._next_try:
            return
        if self._away_since is not None or self._due.are_due(self._rounds.position):
            self._begin()

    def _begin(self) -> None:
        rounds = self._rounds
        node = rounds.nodes()[0]
        given = rounds.common, rounds.text, self._storage, self._lock.token, rounds.state.as_record()
        # beside the training: writing needs little of a processor
        (ref,) = self._engine.call(tasks.keep, *given, *rounds.copy_for(node), node=node, cpus=0)
        self._writing = ref, time.monotonic()
        self._due.begin(self._rounds.position)

    def settle(self, seconds: float = SETTLED) -> None:
        """Wait for the checkpoint under way, but not for storage that does not answer."""
        if self._writing is None:
            return
        ref, since = self._writing
        limit = time.monotonic() + seconds
        while not self._engine.wait([ref], min(1.0, max(0.0, limit - time.monotonic()))):
            if time.monotonic() >= limit:
                if time.monotonic() - since > self._patience + SETTLED:  # it hangs in the system
                    self._engine.drop([ref])
                return
        self._writing = None
        try:
            self._engine.get(ref)
        except LockLost:
            raise
        except DataError as error:
            self._failed(error)
        except self._engine.ray.exceptions.RayError:
            self._engine.notice("a checkpoint was lost with its node; the one before is kept")
            self._next_try = 0.0
        else:
            if self._away_since is not None:
                self._engine.notice(f"a checkpoint is written again, after {duration(self.away)}")
            self._away_since, self._pause = None, FIRST_PAUSE

    def _failed(self, error: DataError) -> None:
        self._away_since = self._away_since or time.monotonic()
        if self.away > self._patience:
            raise DataError(
                f"no checkpoint could be written for {duration(self.away)}: {error}; when "
                f"{self._storage.place!r} is there again, cawv train --resume {self._storage.place} goes on "
                "from the last one"
            ) from error
        self._next_try = time.monotonic() + self._pause
        self._engine.notice(
            f"{error}; the previous checkpoint is kept, the run goes on, and it is tried again in "
            f"{duration(self._pause)}"
        )
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def finish(self) -> None:
        """Write a last checkpoint before the model is saved, if the storage answers."""
        if self._interval is None:
            return
        try:
            self.settle()
            if self._writing is None:
                self._begin()
                self.settle(4 * SETTLED)
        except LockLost:
            raise
        except DataError as error:
            self._engine.notice(f"{error}; the previous checkpoint is kept")
