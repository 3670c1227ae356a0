"""The interval between checkpoints, in seconds or in tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wordvec_ca.errors import Option, OptionError
from wordvec_ca.specs.quantities import SECONDS, quantity

DEFAULT_INTERVAL = "10m"

_TOKENS = {"k": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Interval:
    """How often a checkpoint is written."""

    # A checkpoint is due after this many seconds or tokens, whichever comes first; infinity for never
    seconds: float = math.inf
    tokens: float = math.inf
    # Whether the time between two checkpoints may grow, so that writing them takes only a small share of it
    stretch: bool = False


def parse_interval(text: str) -> Interval | None:
    """Convert ``10m`` (s, m, h, d) or ``5M`` (tokens; k, M, G) to an interval; None for ``never``."""
    if text in ("never", "0"):
        return None
    found = quantity(text, "smhdkMG")
    if not found:
        raise OptionError(
            Option("checkpoint_every"),
            f" is {text!r}; it must be a time such as 30s, 10m, 2h, or a number of tokens "
            "such as 500k, 5M, 1G, or never",
        )
    number, unit = found
    if unit in _TOKENS:
        return Interval(tokens=max(1, round(number * _TOKENS[unit])))
    return Interval(seconds=number * SECONDS[unit], stretch=text == DEFAULT_INTERVAL)
