"""When and by which node checkpoints are written, and how a run continues while its storage is unreachable.

Training never waits for storage that does not answer: a checkpoint that makes no progress is abandoned before
the next merge and tried again later. The run ends, and can be resumed, only when no checkpoint could be
written for ``storage_patience``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from wordvec_ca.cluster.lease import Lease, LeaseLost
from wordvec_ca.cluster.members import Member, Members
from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage, seconds_away
from wordvec_ca.specs.quantities import duration
from wordvec_ca.training import Checkpoints, Interval

STALLED = 15.0
"""Seconds without a byte written after which a checkpoint is abandoned, so that the next merge can start."""

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 120.0
"""Seconds before a checkpoint that failed is tried again; each pause is twice as long as the one before."""


class StorageAway(DataError):
    """Shared storage has not answered for longer than ``storage_patience``."""


class BackgroundCall:
    """A call that runs in a thread of its own while training goes on."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self.value: Any = None
        self.error: Exception | None = None

        def work() -> None:
            try:
                self.value = action()
            except Exception as error:
                self.error = error

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def done(self, seconds: float = 0.0) -> bool:
        """Wait at most this many seconds and return whether the call has ended; raise its exception, if
        any.
        """
        self._thread.join(seconds)
        if self._thread.is_alive():
            return False
        if self.error is not None:
            raise self.error
        return True

    def wait(self, meanwhile: Callable[[], None]) -> Any:
        """Return the result of the action, or raise its exception; call ``meanwhile`` while waiting."""
        while not self.done(0.2):
            meanwhile()
        return self.value


class Checkpointing:
    """Has nodes write checkpoints beside the training."""

    def __init__(
        self,
        storage: Storage,
        interval: Interval | None,
        lease: Lease,
        members: Members,
        patience: float,
        state: Callable[[], dict[str, Any]],
        on_written: Callable[[], None] = lambda: None,
    ) -> None:
        self._storage, self._interval, self._lease = Storage(storage.place), interval, lease
        self._checkpoints = Checkpoints(self._storage, interval)
        self._members, self._patience, self._state = members, patience, state
        self._on_written = on_written
        self._next_try, self._pause = 0.0, FIRST_PAUSE
        self._away_since: float | None = None
        self._named: BackgroundCall | None = None
        self._writing: tuple[Member, Any] | None = None
        self._cleaning: BackgroundCall | None = None
        self._failed_at: set[Member] = set()
        self.seconds = 0.0

    def begin(self, position: int) -> None:
        """Start the clock."""
        self._checkpoints.begin(position)

    def forget(self) -> None:
        """Ignore the checkpoint being written, because the run goes back to an earlier one."""
        self._named = self._writing = None

    def away(self) -> float:
        """Return for how many seconds the storage was unreachable, for this machine or a node."""
        since = 0.0 if self._away_since is None else time.monotonic() - self._away_since
        nodes = [float(member.status.get("storage_away", 0.0)) for member in self._members.living]
        return max([since, seconds_away(), *nodes])

    def step(self, position: int, version: int) -> None:
        """Begin a checkpoint if it is due, or continue one; call this after a merge."""
        if self._interval is None or self._writing is not None:
            return
        if self._named is None:
            # naming asks shared storage, which may hang: training goes on, and a later step writes
            if self._is_due(position):
                self._named = BackgroundCall(self._name)
            return
        try:
            if not self._named.done():
                return
        except DataError as error:
            self._named = None
            self._fail(error)
            return
        self._write(self._named.value, version)
        self._checkpoints.begin(position)

    def _is_due(self, position: int) -> bool:
        if time.monotonic() < self._next_try:
            return False
        return self._away_since is not None or self._checkpoints.are_due(position)

    def _name(self) -> str:
        """Return the name of the next checkpoint, if this driver still holds the lease."""
        self._lease.check(now=True)
        return self._checkpoints.next_name()

    def _write(self, name: str, version: int) -> None:
        self._named = None
        # the state is that of this version, so only a node with its parameters may write them; a node whose
        # attempt failed may have lost its own way to storage, so another one is tried first
        able = [m for m in self._members.living if m.version == version]
        member = next((m for m in able if m not in self._failed_at), next(iter(able), None))
        if member is not None:
            self._writing = member, member.actor.write_checkpoint.remote(self._storage, name, self._state())

    def settle(self) -> None:
        """Wait for the checkpoint that is being written, unless the storage does not answer.

        Call this before a merge: a merge changes the parameters, so a checkpoint that is not complete by then
        is discarded.
        """
        if self._writing is None:
            return
        began = moved = time.monotonic()
        written = -1
        member, ref = self._writing
        try:
            while not self._members.ray.wait([ref], timeout=0.1)[0] and member.alive:
                self._members.ask()
                if (now := int(member.status.get("written", 0))) != written:
                    written, moved = now, time.monotonic()
                elif time.monotonic() - moved > STALLED:
                    raise DataError(f"{self._storage.place!r} accepts none of the checkpoint")
            if member not in self._members.results({member: ref}):
                self._members.notice(
                    "no checkpoint was written because its node was lost; the one before is kept"
                )
            else:
                self._succeed()
        except DataError as error:
            self._failed_at.add(member)
            self._fail(error)
        finally:
            self._writing = None
            self.seconds += time.monotonic() - began

    def _succeed(self) -> None:
        if self._away_since is not None:
            self._members.notice(f"a checkpoint is written again, after {duration(self.away())}")
        self._away_since, self._pause = None, FIRST_PAUSE
        self._failed_at.clear()
        self._on_written()
        # in the background, as storage may hang; a file that cannot be removed now is removed the next time
        self._cleaning = BackgroundCall(self._checkpoints.drop_old)

    def _fail(self, error: DataError) -> None:
        if isinstance(error, LeaseLost):
            raise error
        now = time.monotonic()
        self._away_since = self._away_since or now
        if now - self._away_since > self._patience:
            raise StorageAway(
                f"no checkpoint could be written for {duration(now - self._away_since)}: {error}; when "
                f"{self._storage.place!r} is there again, cawv train --resume {self._storage.place} goes on "
                "from the last one"
            ) from error
        self._next_try = now + self._pause
        self._members.notice(
            f"{error}; the previous checkpoint is kept, the run goes on, and it is tried again in "
            f"{duration(self._pause)}"
        )
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def finish(self, version: int) -> None:
        """Write a last checkpoint before the model is saved, but do not wait for storage that does not
        answer.
        """
        if self._interval is None:
            return
        try:
            self.settle()
            named, limit = self._named or BackgroundCall(self._name), time.monotonic() + STALLED
            while not named.done(0.2) and time.monotonic() < limit:
                self._members.ask()
            if named.done():
                self._write(named.value, version)
                self.settle()
        except StorageAway:
            pass
        except DataError as error:
            if isinstance(error, LeaseLost):
                raise
            self._members.notice(f"{error}; the previous checkpoint is kept")
