"""Parts of vectors: some dimensions, trained only with the context words in one ring of places.

Users write parts as ``NAME:PLACES:DIMENSIONS``, separated by commas, such as ``near:1-2:50,far:3-20:50``.
PLACES is ``3-20`` (from 3 to 20 words off the target), ``3-`` (from 3 to the end of the window) or ``2``
(from 1 to 2); if it is left out, a part extends from the end of the part before it to the end of the window.
Parts without DIMENSIONS share the remaining dimensions equally. So ``near:2,far`` are the two nearest places
on each side and all others, half of the dimensions each. Rings may overlap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wordvec_ca.errors import Option, OptionError

MOST_PARTS = 8
"""Largest number of parts; equal to ``MOST_RINGS`` in sgns.h."""

_PART = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]*)(:(?P<places>(?P<first>\d+)(?P<dash>-(?P<last>\d+)?)?))?(:(?P<size>\d+))?",
    re.ASCII,
)
_HOW = "write NAME:PLACES:DIMENSIONS, as in near:1-2:50,far:3-20:50, or in short near:2,far"


class Part(NamedTuple):
    """Some dimensions of a vector, and the ring of places with which they are trained.

    Attributes
    ----------
    name : str
        ``''`` for a vector in one part.
    nearest, farthest : int
        The ring: smallest and largest distance from the target, on both sides.
    begin, end : int
        The dimensions from ``begin`` to ``end``, without ``end``.
    """

    name: str
    nearest: int
    farthest: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        """Number of dimensions."""
        return self.end - self.begin

    @property
    def offsets(self) -> list[int]:
        """Return the places relative to the target, from left to right. Attention has a logit for each."""
        right = list(range(self.nearest, self.farthest + 1))
        return [-offset for offset in reversed(right)] + right

    @property
    def columns(self) -> slice:
        """The columns of this part in a matrix of vectors."""
        return slice(self.begin, self.end)

    def __str__(self) -> str:
        return f"{self.name}:{self.nearest}-{self.farthest}:{self.size}"


def parse_parts(text: str | None, window: int, vector_size: int) -> tuple[Part, ...]:
    """Parse the parts of a vector; None gives one part with the whole window.

    Examples
    --------
    >>> [str(part) for part in parse_parts("near:2,far", window=20, vector_size=101)]
    ['near:1-2:51', 'far:3-20:50']
    """
    if text is None:
        return (Part("", 1, window, 0, vector_size),)
    pieces = [piece.strip() for piece in str(text).split(",")]
    if len(pieces) > MOST_PARTS:
        raise OptionError(Option("parts"), f" has {len(pieces)} parts; at most {MOST_PARTS} are allowed")
    rings: list[tuple[str, int, int]] = []
    sizes: list[int | None] = []
    for piece in pieces:
        found = _PART.fullmatch(piece)
        if found is None:
            raise OptionError(Option("parts"), f" has {piece!r}: {_HOW}")
        first = int(found["first"] or (rings[-1][2] + 1 if rings else 1))
        last = int(found["last"] or window)
        if found["places"] and not found["dash"]:
            first, last = 1, first
        if not 1 <= first <= last <= window:
            raise OptionError(
                Option("parts"),
                f" has {piece!r}, places {first} to {last}: they must rise, and be between 1 and the "
                f"window, which is {window}",
            )
        rings.append((found["name"], first, last))
        sizes.append(int(found["size"]) if found["size"] else None)
    names = [name for name, _, _ in rings]
    if len(set(names)) < len(names):
        raise OptionError(
            Option("parts"), f" has two parts of one name: {', '.join(names)}; give each its own"
        )
    begin, made = 0, []
    for (name, first, last), size in zip(rings, _shared(sizes, vector_size), strict=True):
        made.append(Part(name, first, last, begin, begin + size))
        begin += size
    return tuple(made)


def _shared(sizes: Sequence[int | None], vector_size: int) -> list[int]:
    """Return the dimensions of each part; parts without a number share the remaining dimensions equally."""
    open_ones = sizes.count(None)
    left = vector_size - sum(size or 0 for size in sizes)
    wrong = left < open_ones if open_ones else left != 0
    if wrong or 0 in sizes:
        raise OptionError(
            Option("parts"),
            f" has the dimensions {', '.join('?' if size is None else str(size) for size in sizes)}; "
            f"they must be 1 or more each and add up to vector_size, which is {vector_size}",
        )
    portions = iter([left // open_ones + (i < left % open_ones) for i in range(open_ones)])
    return [next(portions) if size is None else size for size in sizes]


def written(parts: Sequence[Part]) -> str:
    """Return parts as text, with all places and dimensions filled in."""
    return ",".join(map(str, parts))


def parts_of_record(record: Mapping[str, Any]) -> tuple[Part, ...]:
    """Return the parts in the record of a model (``config.json``); an empty tuple if the vectors have one
    part.
    """
    config = record.get("config")
    if not isinstance(config, dict) or not config.get("parts"):
        return ()
    window, vector_size = config.get("window"), config.get("vector_size")
    if type(window) is not int or type(vector_size) is not int:
        raise ValueError(f"window and vector_size should be whole numbers: {window!r}, {vector_size!r}")
    return parse_parts(config["parts"], window, vector_size)
