"""The history of a run: its progress records, joined to a few hundred points that the model stores.

::

    history.tsv   a header with the names of the columns, then a line for each point; an empty field is nan
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wordvec_ca.errors import DataError

# Largest number of points of a run. Records that are close together are joined, so the file is below 40 kB.
MOST_POINTS = 400


class Point(NamedTuple):
    """A stretch of the run: its end, and measurements since the previous point.

    Attributes
    ----------
    seconds : float
        Training time up to the end of the stretch.
    fraction : float
        Share of the run, 0 to 1.
    epoch, words : int
        Current epoch, and number of words of text read so far in all epochs.
    alpha : float
        Learning rate.
    loss : float
        Mean loss per prediction since the previous point, in nats.
    valid_loss, attention_concentration : float
        As in ``Progress``; nan if there is no value.
    """

    seconds: float
    fraction: float
    epoch: int
    words: int
    alpha: float
    loss: float
    valid_loss: float = math.nan
    attention_concentration: float = math.nan

    @classmethod
    def of(cls, values: Sequence[float]) -> Point:
        """Return a point from its values, in the order of the file.

        Raises
        ------
        TypeError, ValueError, OverflowError
            The values are not numbers of the right types.
        """
        if any(math.isinf(value) for value in values):
            raise ValueError("a value is infinite")
        return cls._make([*map(float, values[:2]), int(values[2]), int(values[3]), *map(float, values[4:])])


class History:
    """The points of one run, in order.

    Parameters
    ----------
    points : iterable of Point
        The points known so far.
    """

    def __init__(self, points: list[Point] | None = None) -> None:
        self.points = list(points or [])

    def __len__(self) -> int:
        return len(self.points)

    def add(self, record: Progress) -> None:
        """Add a record as a new point, or join it to the last point if the two are close together."""
        values = (getattr(record, name) for name in Point._fields)
        point = Point._make(math.nan if value is None else value for value in values)
        if self.points and self._is_near(point, record.epoch_ended):
            last = self.points.pop()
            before = self.points[-1].words if self.points else 0
            point = _joined(last, last.words - before, point, point.words - last.words)
        self.points.append(point)

    def _is_near(self, point: Point, epoch_ended: bool) -> bool:
        """Return whether a point is in the same bin as the last point, or is only the end of an epoch."""
        last = self.points[-1]
        if _bin(point.fraction) == _bin(last.fraction):
            return True
        before = self.points[-2].words if len(self.points) > 1 else 0
        return epoch_ended and 4 * (point.words - last.words) < last.words - before

    def save(self, path: Path) -> None:
        """Write the points."""
        lines = ["\t".join(Point._fields)]
        for point in self.points:
            lines.append("\t".join(_written(value) for value in point))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> History:
        """Read the points; none if there is no file.

        Raises
        ------
        DataError
            The file is damaged.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError) as error:
            raise DataError(f"{str(path)!r} cannot be read: {error}") from error
        header, *lines = text.split("\n")
        names = header.split("\t")
        points = []
        for number, line in enumerate(lines, 2):
            if not line:
                continue
            try:
                fields = dict(zip(names, line.split("\t"), strict=True))
                values = [float(fields.get(name) or "nan") for name in Point._fields]
                points.append(Point.of(values))
            except ValueError as error:
                raise DataError(
                    f"{str(path)!r}, line {number}: not a point of a run: {line[:80]!r}"
                ) from error
        return cls(points)


def _written(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "" if math.isnan(value) else f"{value:.7g}"


def _bin(fraction: float) -> int:
    return min(int(fraction * MOST_POINTS), MOST_POINTS - 1)


def _joined(first: Point, first_words: int, second: Point, second_words: int) -> Point:
    """Return one point for two stretches; means are weighted by the number of words in each stretch."""

    def mean(a: float, b: float) -> float:
        if math.isnan(a) or math.isnan(b):
            return b if math.isnan(a) else a
        total = first_words + second_words
        return (a * first_words + b * second_words) / total if total else b

    return second._replace(
        loss=mean(first.loss, second.loss),
        attention_concentration=mean(first.attention_concentration, second.attention_concentration),
        valid_loss=first.valid_loss if math.isnan(second.valid_loss) else second.valid_loss,
    )


@dataclass(frozen=True)
class Progress:
    """State of a run at one moment; immutable.

    Attributes
    ----------
    epoch, epochs : int
        Current epoch, from 1, and number of epochs.
    epoch_ended : bool
        Whether this is the record at the end of an epoch.
    fraction : float
        Share of the whole run that is done, 0 to 1.
    words : int
        Words of text read in all epochs so far.
    words_per_second : float
        Mean rate since the start, in words of text per second of wall-clock time.
    seconds, eta : float
        Wall-clock seconds so far, and estimated until the end.
    alpha : float
        Learning rate.
    loss : float
        Mean loss per prediction since the previous record, in nats; nan without predictions.
    epoch_loss : float
        Mean loss per prediction in this epoch.
    valid_loss : float or None
        Loss on the held-out text, at the end of an epoch.
    attention_concentration : float or None
        Mean sum of squared attention weights of a window since the previous record: 1 / n if n words have
        equal attention, 1 if one word has all of it.
    """

    epoch: int
    epochs: int
    epoch_ended: bool
    fraction: float
    words: int
    words_per_second: float
    seconds: float
    eta: float
    alpha: float
    loss: float
    epoch_loss: float
    valid_loss: float | None = None
    attention_concentration: float | None = None

    @classmethod
    def now(cls, *, words: float, seconds: float, fraction: float, **others: Any) -> Progress:
        """Return a record with speed and remaining time computed from the work done; other arguments as in
        the class.
        """
        return cls(
            words=int(words),
            words_per_second=words / seconds if seconds > 0 else 0.0,
            seconds=seconds,
            fraction=fraction,
            eta=seconds * (1 - fraction) / fraction if fraction > 0 else math.nan,
            **others,
        )


Callback = Callable[[Progress], Any]
"""A function that receives each record. If it returns true, the run stops after the current chunks."""
