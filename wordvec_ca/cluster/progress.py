"""The progress of a run on a cluster, in total and by node: records for callbacks, lines for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from wordvec_ca.cluster.members import Member
from wordvec_ca.models import Callback, Progress
from wordvec_ca.specs.quantities import duration

LINE_EVERY = 10.0
"""Seconds between two lines about the nodes."""

WITHOUT_ANSWER = 5.0
"""Seconds after which the progress shows that a node does not answer."""


class ProgressReporter:
    """Reports the progress of the run to callbacks, and that of each node to people."""

    def __init__(self, callbacks: Sequence[Callback], notice: Callable[[str], None]) -> None:
        self.callbacks, self.notice = list(callbacks), notice
        self._last_line = time.monotonic()
        self._last_record = 0.0
        self.stopped = False

    def report(self, record: Progress) -> None:
        """Pass a record to the callbacks, at most once a second unless an epoch has ended."""
        if not record.epoch_ended and time.monotonic() - self._last_record < 1.0:
            return
        self._last_record = time.monotonic()
        for callback in self.callbacks:
            if callback(record):
                self.stopped = True

    def report_nodes(self, members: Sequence[Member], away: float = 0.0) -> None:
        """Report what each node does, and for how many seconds the storage was unreachable, if a report is
        due.
        """
        if time.monotonic() - self._last_line < LINE_EVERY:
            return
        self._last_line = time.monotonic()
        lasts = [f"storage has been unreachable for {duration(away)}"] if away >= 1 else []
        self.notice("; ".join([*lasts, *map(described, members)]) or "no node has joined yet")


def described(member: Member) -> str:
    """Return a short description of what a node does."""
    parts = [f"{member.name}:", str(member.status.get("activity", "starting"))]
    if member.quiet >= WITHOUT_ANSWER:
        parts.append(f"(no answer for {duration(member.quiet)})")
    if member.seconds:
        parts.append(f"{member.words / member.seconds / 1e6:.2f} M words/s")
    return " ".join(parts)
