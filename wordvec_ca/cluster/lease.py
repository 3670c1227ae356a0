"""The lease of a run on shared storage: it names the driver at work, so that two drivers never work on one
run.

Neither Ray nor fsspec has one that fits: the two drivers may be in different clusters, and object stores do
not have locks (a run on one machine uses those of the system, ``files.take_lock``). A file names the host,
process and time of the driver, who renews it while it works. A lease is stale, and another driver takes it
over, if its process on this host is dead or if it is not renewed while the other driver watches it; clocks of
hosts need not agree. A driver reads its lease again after writing it and before each renewal, and stops if
the lease names another driver.
"""

from __future__ import annotations

import datetime
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage

LEASE_FILE = "lease.json"

RENEW_EVERY = 10.0
"""Seconds between two renewals."""

STALE_AFTER = 30.0
"""Seconds for which a lease of another host is watched; if it is not renewed meanwhile, it is stale."""

SETTLING = 0.2
"""Seconds between writing a new lease and reading it again: of two writers the later one keeps it."""

_held: set[str] = set()


class LeaseLost(DataError):
    """Another driver works on the run."""


class Lease:
    """The lease of a run, held for the duration of the block."""

    def __init__(self, storage: Storage, notice: Callable[[str], None] = lambda text: None) -> None:
        self.storage, self.notice, self.token = storage, notice, secrets.token_hex(8)
        self.since = time.time()
        self._lost: str | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Lease:
        other = self._other()
        if other is not None and not is_stale(other):
            self._watch(other)
        # two drivers may both have found no lease and written theirs: after a pause both read the same one
        self._write()
        time.sleep(SETTLING)
        self.check(now=True)
        _held.add(self.token)
        # at the start a refusal should end the run soon; from here on the usual patience applies
        self.storage = Storage(self.storage.place)
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._thread.start()
        return self

    def _watch(self, other: dict[str, Any]) -> None:
        """Wait until a lease proves to be stale."""
        refusal = f"{self.storage.place!r}: {holder(other)} works on this run; wait for it, or end it first"
        if other.get("host") == socket.gethostname():
            raise LeaseLost(refusal)
        self.notice(
            f"{holder(other)} may be at work on this run; waiting {STALE_AFTER:.0f} s for a sign of life"
        )
        limit = time.monotonic() + STALE_AFTER
        while time.monotonic() < limit:
            time.sleep(min(1.0, STALE_AFTER / 4))
            now = self._other()
            if now is None:
                return
            if now != other:
                raise LeaseLost(refusal)

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()
        _held.discard(self.token)
        # the lease of a driver that has taken over must stay
        if self._lost is None and self._read() is not None and self._other() is None:
            self.storage.remove(LEASE_FILE)
            self.storage.remove_folder()

    def check(self, *, now: bool = False) -> None:
        """Raise `LeaseLost` if another has taken the run over."""
        if now and self._lost is None and (other := self._other()) is not None:
            self._lost = holder(other)
        if self._lost is not None:
            raise LeaseLost(f"{self.storage.place!r}: {self._lost} has taken over this run; this one ends")

    def _renew(self) -> None:
        while not self._ended.wait(RENEW_EVERY):
            try:
                # read before writing: a renewal must not overwrite the lease of a driver that has taken over
                other = self._other()
                if other is not None:
                    self._lost = holder(other)
                    return
                self._write()
            except DataError:  # the storage does not answer at the moment
                pass

    def _write(self) -> None:
        record = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "token": self.token,
            "since": self.since,
            "renewed": time.time(),
        }
        self.storage.write(LEASE_FILE, json.dumps(record).encode())

    def _read(self) -> dict[str, Any] | None:
        try:
            record = json.loads(self.storage.read(LEASE_FILE) or b"null")
        except ValueError:
            return None
        return record if isinstance(record, dict) else None

    def _other(self) -> dict[str, Any] | None:
        """Return the lease on the storage if it belongs to another driver."""
        record = self._read()
        return None if record is None or record.get("token") == self.token else record


def is_stale(record: dict[str, Any]) -> bool:
    """Return whether it is certain that the driver that wrote a lease is dead."""
    pid = record.get("pid")
    if not isinstance(pid, int):
        return True
    if record.get("host") != socket.gethostname():
        return False  # its processes cannot be seen from here: the lease is watched instead
    if pid == os.getpid():  # an earlier run in this process, or a dead process whose number this one got
        return record.get("token") not in _held
    if os.name == "nt":  # where os.kill ends what it is to look for
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def holder(record: dict[str, Any]) -> str:
    """Return who holds a lease, for people."""
    since = datetime.datetime.fromtimestamp(float(record.get("since") or 0), datetime.UTC)
    return (
        f"process {record.get('pid')} on {record.get('host')}, since {since.isoformat(timespec='seconds')},"
    )
