"""Quantities as text for people: durations, which are also read, sizes and numbers of things."""

from __future__ import annotations

import math
import re

# Unit of a duration as people type it -> seconds.
SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def quantity(text: str, units: str) -> tuple[float, str] | None:
    """Return the number and the unit of a text such as ``1.5h``; None if it is none, zero, or has a unit that
    is not among ``units``, letters or signs.
    """
    found = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)([{units}])", text.strip())
    return (float(found[1]), found[2]) if found and float(found[1]) else None


def duration(seconds: float) -> str:
    """Return a duration as ``12.3 s``, ``45 min`` or ``3 h 5 min``; ``-`` if it is NaN or infinite."""
    if not math.isfinite(seconds):
        return "-"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 120 else f"{minutes} min"


def size(n_bytes: float) -> str:
    """Return a number of bytes in powers of 1000: ``1.5 GB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def counted(number: int, things: str) -> str:
    """Return a number of things: ``1 record``, ``1,204 malformed records``, ``1 record without text``."""
    if number == 1:
        noun, space, rest = things.partition(" without ")
        things = noun.removesuffix("s") + space + rest
    return f"{number:,} {things}"
