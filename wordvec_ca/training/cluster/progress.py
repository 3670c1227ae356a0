"""How a run on a cluster goes, as a whole and on each node: records, lines for people, the history."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wordvec_ca.models import Callback, History, Point, Progress
from wordvec_ca.quantities import duration
from wordvec_ca.training.cluster.members import Member

LINE_EVERY = 10.0
"""Seconds between two lines about the nodes."""


class NodeHistory(History):
    """A history with one more column, ``words_by_node``: what each node has read so far.

    Parameters
    ----------
    points : list of Point, optional
        Those that are known already.
    words : list of str, optional
        Their column.
    """

    def __init__(self, points: list[Point] | None = None, words: list[str] | None = None) -> None:
        super().__init__(points)
        self.words = list(words or [])

    def add_nodes(self, record: Progress, members: Sequence[Member]) -> None:
        """Take up a record, and what the nodes have read."""
        self.add(record)
        del self.words[len(self.points) - 1 :]
        self.words.append(" ".join(f"{member.number}:{int(member.words)}" for member in members))

    def save(self, path: Path) -> None:
        """Write the points."""
        super().save(path)
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        lines = [f"{line}\t{words}" for line, words in zip(lines, self.words, strict=True)]
        path.write_text("\n".join([f"{header}\twords_by_node", *lines]) + "\n", encoding="utf-8")


class Speedometer:
    """Tells callbacks how far the run is, and people how far each node is.

    Parameters
    ----------
    callbacks : sequence of callable
        Receive each ``Progress``.
    notice : callable
        Receives lines about the nodes.
    """

    def __init__(self, callbacks: Sequence[Callback], notice: Callable[[str], None]) -> None:
        self.callbacks, self.notice = list(callbacks), notice
        self._last_line = time.monotonic()
        self._last_record = 0.0
        self.stopped = False

    def tell(self, record: Progress) -> None:
        """Hand a record to the callbacks, at most one in a second unless an epoch has ended."""
        if not record.epoch_ended and time.monotonic() - self._last_record < 1.0:
            return
        self._last_record = time.monotonic()
        for callback in self.callbacks:
            if callback(record):
                self.stopped = True

    def nodes(self, members: Sequence[Member], away: float = 0.0) -> None:
        """Say what each node does, and for how many seconds storage has been away, if it is time for that."""
        if time.monotonic() - self._last_line < LINE_EVERY:
            return
        self._last_line = time.monotonic()
        lasts = [f"storage has been away for {duration(away)}"] if away >= 1 else []
        self.notice("; ".join([*lasts, *map(described, members)]))


def described(member: Member) -> str:
    """Return what a node does, in some words."""
    parts = [f"{member.name}:", str(member.status.get("activity", "starting"))]
    if member.seconds:
        parts.append(f"{member.words / member.seconds / 1e6:.2f} M words/s")
    return " ".join(parts)


def progress_record(
    *,
    epoch: int,
    epochs: int,
    ended: bool,
    fraction: float,
    words: float,
    seconds: float,
    alpha: float,
    means: dict[str, float],
    valid_loss: float | None,
) -> Progress:
    """Return a record.

    Parameters
    ----------
    epoch, epochs : int
        As in ``Progress``.
    ended : bool
        Whether the epoch has.
    fraction : float
        Share of the run.
    words, seconds : float
        So far.
    alpha : float
        Learning rate.
    means : dict of str to float
        ``loss``, ``epoch_loss`` and ``concentration``; nan without.
    valid_loss : float or None
        On the held-out text.
    """
    concentration: Any = means["concentration"]
    return Progress(
        epoch=epoch,
        epochs=epochs,
        epoch_ended=ended,
        fraction=fraction,
        words=int(words),
        words_per_second=words / seconds if seconds > 0 else 0.0,
        seconds=seconds,
        eta=seconds * (1 - fraction) / fraction if fraction > 0 else math.nan,
        alpha=alpha,
        loss=means["loss"],
        epoch_loss=means["epoch_loss"],
        valid_loss=valid_loss,
        attention_concentration=None if math.isnan(concentration) else concentration,
    )
