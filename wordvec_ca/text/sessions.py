"""Sessions of a log: events, each with a session, a time and an item, become lists of items in their order.

The events are sorted on disk, so a log may be larger than memory; its different items must fit into it.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from hashlib import blake2b
from numbers import Integral, Real
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.errors import DataError, Option, OptionError
from wordvec_ca.showable import SECONDS, quantity
from wordvec_ca.text.records import Records, value_of
from wordvec_ca.text.word_lists import NotWords

# The value of ``order_by`` for events that are in the order of their file already.
AS_READ = "as-read"

# Number of files among which sessions are distributed; one at a time is sorted in memory.
PARTITIONS = 64

# Number of events that are held before they go to disk.
AT_ONCE = 1 << 17

EVENT = np.dtype([("session", "u8"), ("moment", "i8"), ("item", "i4")])

_MICROSECOND = 10**6

# Numbers from which a time since 1970 cannot be in seconds, milliseconds or microseconds: the year 5138.
_LARGEST = ((10**11, 1), (10**14, 10**3), (10**17, 10**6))


def check_test_last(test_last: str) -> tuple[float, float]:
    """Return the seconds, or the share of sessions, that are kept out of training: one of the two is 0."""
    found = quantity(test_last, "smhdw%")
    if not found or (found[1] == "%" and found[0] >= 100):
        raise OptionError(
            Option("test_last"),
            f" is {test_last!r}; it must be a time such as 12h, 1d, 2w, or a share of sessions such as 10%",
        )
    return (0.0, found[0] / 100) if found[1] == "%" else (found[0] * SECONDS[found[1]], 0.0)


class Events(Records):
    """The events of a log, which are taken from its records as they are read."""

    def __init__(self, group_by: str, order_by: str) -> None:
        super().__init__(group_field=group_by)
        self.order_field = None if order_by == AS_READ else order_by
        self.take_event = self._take
        self.found: list[tuple[Any, int, str]] = []
        self.dated: bool | None = None  # as the first time: a date, or a number
        self._scale = 0

    def _take(self, record: Mapping[str, Any], field: str) -> bool:
        """Store the event of a record; return whether it has an item and a session."""
        session, item = value_of(record, str(self.group_field)), value_of(record, field)
        if _is_missing(session) or _is_missing(item):
            return False
        moment = 0 if self.order_field is None else self._moment(value_of(record, self.order_field))
        self.found.append((_whole(session), moment, _written(item, field)))
        return True

    def _moment(self, value: Any) -> int:
        """Return a time as a number that sorts; NotWords if it is none, or of another kind than the first."""
        if isinstance(value, str):
            value = _parsed(value.strip())
        dated = not isinstance(value, int) and isinstance(value, date)  # int first: the usual case
        number = isinstance(value, Real) and not isinstance(value, bool)
        usable = dated or (number and (isinstance(value, Integral) or math.isfinite(value)))
        if not usable or self.dated not in (None, dated):
            of_date = "a date such as 2026-03-08 14:30"
            kind = {None: f"a number or {of_date}", True: of_date, False: "a number"}[self.dated]
            raise NotWords(f"cannot be used: its {self.order_field!r} is {value!r:.40}, not {kind}")
        self.dated = dated
        if dated:
            return _microseconds(value)
        # Fractions of a second are kept, but nanoseconds since 1970 already take all of 63 bits.
        self._scale = self._scale or (1 if abs(value) >= 10**14 else 1_000)
        scaled = round(value * self._scale)
        if abs(scaled) >= 2**63:
            raise NotWords(f"cannot be used: its {self.order_field!r} is {value!r:.40}, which is too large")
        return scaled

    def in_seconds(self, moments: float) -> float:
        """Return how many units of the stored times a second has, judged by the largest of them."""
        if self.dated:
            return _MICROSECOND
        scale = self._scale or 1
        if _is_date(digits := str(int(moments / scale))):
            raise OptionError(
                Option("test_last"),
                f" is a time, and the {self.order_field!r} of an event is {digits}, which looks like a date "
                "but is a number: write dates as 2026-03-08 14:30, or give a share of sessions such as 10%",
            )
        return scale * next((unit for least, unit in _LARGEST if abs(moments) / scale < least), 10**9)


class Sessions:
    """The lists of items of a log, one for each session; iteration yields those that are not held out.

    The order of the sessions depends on their names alone.
    """

    def __init__(self, pieces: Iterable[bytes], events: Events, test_last: str | None = None) -> None:
        self._pieces, self._events, self._test_last = pieces, events, test_last
        self._items: list[str] = []
        self._files: list[IO[bytes]] = []
        self._until: int | None = None
        self.tell: Callable[[], None] = lambda: None

    def __iter__(self) -> Iterator[list[str]]:
        return self._lists(held_out=False)

    def held_out(self) -> Iterator[list[str]]:
        """Yield the latest sessions, which are kept out of training."""
        return self._lists(held_out=True) if self._test_last else iter(())

    def _lists(self, *, held_out: bool) -> Iterator[list[str]]:
        if not self._files:
            self._sort()
        for file in self._files:
            events, starts, ends = _by_session(file)
            late = np.zeros(len(ends), bool)
            if self._until is not None:
                late = events["moment"][ends - 1] > self._until
            items = [self._items[number] for number in events["item"].tolist()]
            for start, end, is_late in zip(starts.tolist(), ends.tolist(), late.tolist(), strict=True):
                if is_late == held_out:
                    yield items[start:end]

    def _sort(self) -> None:
        """Distribute the events among files by their sessions, and find where the held-out time begins."""
        files: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in range(PARTITIONS)]  # noqa: SIM115
        numbers: dict[str, int] = {}
        place = 0
        try:
            for taken in self._taken():
                table = np.empty(len(taken), EVENT)
                table["session"] = [_digest(session) for session, _, _ in taken]
                table["moment"] = [moment for _, moment, _ in taken]
                table["item"] = [numbers.setdefault(item, len(numbers)) for _, _, item in taken]
                if self._events.order_field is None:
                    table["moment"] = np.arange(place, place + len(taken))
                place += len(taken)
                home = table["session"] % PARTITIONS
                for number in np.unique(home).tolist():
                    files[number].write(table[home == number].tobytes())
        except OSError as error:
            raise DataError(
                f"cannot sort the events in {tempfile.gettempdir()!r}: {error.strerror or error}; make room "
                "there, or set TMPDIR to a folder with more"
            ) from error
        self._items, self._files = list(numbers), files
        self._events["items"] = len(numbers)
        if self._test_last is not None:
            self._until = self._last_of_training(*check_test_last(self._test_last))

    def _taken(self) -> Iterator[list[tuple[Any, int, str]]]:
        """Yield the events, many at a time, while the log is read."""
        found = self._events.found
        for _ in self._pieces:
            if len(found) >= AT_ONCE:
                self.tell()
                yield found.copy()
                found.clear()
        if found:
            yield found.copy()
            found.clear()

    def _last_of_training(self, seconds: float, share: float) -> int:
        """Return the time after which a session that ends is held out."""
        lasts = []
        for file in self._files:
            events, _, ends = _by_session(file)
            lasts.append(events["moment"][ends - 1])
        last = np.sort(np.concatenate(lasts))
        if not len(last):
            return 0
        newest = int(last[-1])
        if share:
            until = int(last[max(0, len(last) - 1 - round(share * len(last)))])
        elif self._events.order_field is None:
            raise OptionError(
                Option("test_last"),
                f" is {self._test_last}, and without the times of the events (",
                Option("order_by"),
                ") only a share such as 10% can be held out",
            )
        else:
            until = newest - round(seconds * self._events.in_seconds(newest))
        n_late = int((last > until).sum())
        self._events["sessions held out"] = n_late
        if n_late in (0, len(last)):
            which = "all" if n_late else "none"
            raise OptionError(
                Option("test_last"),
                f" is {self._test_last}: {which} of the {len(last):,} sessions would be held out; "
                "give another time or share",
            )
        return until


def _by_session(file: IO[bytes]) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the events of a file, sorted, and where each session begins and ends."""
    file.seek(0)
    events = np.frombuffer(file.read(), EVENT)
    file.seek(0, 2)
    # lexsort is stable: events of the same moment stay in the order of the log
    events = events[np.lexsort((events["moment"], events["session"]))]
    change = np.flatnonzero(np.diff(events["session"])) + 1
    starts = np.concatenate(([0], change)) if len(events) else change
    return events, starts, np.concatenate((starts[1:], [len(events)])) if len(events) else starts


def _digest(session: Any) -> int:
    """Return 64 bits of a session's name; two of a billion sessions meet with a probability of .03."""
    return int.from_bytes(
        blake2b(str(session).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def _written(item: Any, field: str) -> str:
    """Return an item as text; NotWords if it is neither a text nor a number without fraction."""
    if isinstance(item, str) and (name := item.strip()):
        return name
    item = _whole(item)
    if isinstance(item, Integral) and not isinstance(item, bool):
        return str(item)
    raise NotWords(f"cannot be used: its {field!r} is {item!r:.40}, not the name or number of an item")


def _whole(value: Any) -> Any:
    """Return 17.0 as 17: pandas makes numbers with missing ones among them fractions."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value != value


def _parsed(text: str) -> int | float | datetime | str:
    """Return a time that is written as text as a number or a date; the text if it is neither."""
    if text.isdecimal():  # nearly all logs: an exception for each event would double the time
        return int(text)
    for kind in (int, float, datetime.fromisoformat):
        with suppress(ValueError):
            return kind(text)  # type: ignore[operator, no-any-return]
    return text


def _is_date(digits: str) -> bool:
    """Return whether a number is a date of our days, written without signs: 20260308, 20260308143000."""
    with suppress(ValueError, KeyError):
        form = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}[len(digits)]
        return 1990 <= datetime.strptime(digits, form).year < 2100
    return False


def _microseconds(value: date) -> int:
    """Return a date as microseconds since 1970; without a time zone it is taken as UTC."""
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * _MICROSECOND)
