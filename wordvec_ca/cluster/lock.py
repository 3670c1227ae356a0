"""The lock of a run in its storage: one driver works on a run.

Object stores have no locks, and no clock is common to all machines. So a file names the driver that has the
run, by a token. A new run is refused while the file of another is there. Who resumes a run takes it over,
unless the other driver is seen to live on the same machine; that one finds another token before its next
checkpoint and before it saves, and ends.
"""

from __future__ import annotations

import datetime
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.files import Storage

LOCK_FILE = "lock.json"

SETTLING = 0.2
"""Seconds between writing a lock and reading it again: of two drivers that write at once the later has it."""

_held: set[str] = set()


class LockLost(DataError):
    """Another driver has the run."""


def _read(storage: Storage) -> dict[str, Any]:
    try:
        record = json.loads(storage.read(LOCK_FILE) or b"{}")
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def check_lock(storage: Storage, token: str) -> None:
    """Raise a `LockLost` if another driver has the run now."""
    record = _read(storage)
    if record.get("token") not in (None, token):
        raise LockLost(f"{storage.place!r}: {_holder(record)} has taken over this run; this one ends")


class Lock:
    """The lock of a run, held for the duration of the block.

    With ``takes_over``, a driver on another machine loses the run: whether it lives cannot be seen from here.
    """

    def __init__(
        self, storage: Storage, *, takes_over: bool, notice: Callable[[str], None] = lambda text: None
    ) -> None:
        self.storage, self.takes_over, self.notice = storage, takes_over, notice
        self.token = secrets.token_hex(8)

    def __enter__(self) -> Lock:
        other = _read(self.storage)
        if other:
            here = other.get("host") == socket.gethostname()
            if (here and _lives(other)) or not (here or self.takes_over):
                # a driver that dies within its first second leaves a lock alone
                dead = (
                    f"if it is dead, --resume takes the run over, or remove a {LOCK_FILE} that stands alone"
                )
                advice = "wait for it, or end it first" if here else dead
                raise LockLost(f"{self.storage.place!r}: {_holder(other)} works on this run; {advice}")
            if not here:
                self.notice(f"this run is taken over from {_holder(other)} which ends if it is still alive")
        record = {"host": socket.gethostname(), "pid": os.getpid(), "token": self.token, "since": time.time()}
        self.storage.write(LOCK_FILE, json.dumps(record).encode())
        time.sleep(SETTLING)
        check_lock(self.storage, self.token)
        _held.add(self.token)
        return self

    def __exit__(self, *exception: object) -> None:
        _held.discard(self.token)
        if _read(self.storage).get("token") == self.token:
            self.storage.remove(LOCK_FILE)
            self.storage.remove_folder()


def _lives(record: dict[str, Any]) -> bool:
    """Return whether the driver that wrote a lock lives on this machine."""
    pid = record.get("pid")
    if not isinstance(pid, int):
        return False
    if pid == os.getpid():  # an earlier run in this process, or a dead process whose number this one got
        return record.get("token") in _held
    if os.name == "nt":  # where os.kill ends what it is to look for
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _holder(record: dict[str, Any]) -> str:
    since = datetime.datetime.fromtimestamp(float(record.get("since") or 0), datetime.UTC)
    return (
        f"process {record.get('pid')} on {record.get('host')}, since {since.isoformat(timespec='seconds')},"
    )
