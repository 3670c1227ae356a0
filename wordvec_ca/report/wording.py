"""Converts values of a record to text for people."""

from __future__ import annotations

import math
from typing import Any

from wordvec_ca.files import terminal_text


def visible(text: str) -> str:
    """Return text with escapes in place of control and similar characters, except line ends."""
    return "\n".join(map(terminal_text, text.split("\n")))


def shown(value: Any) -> str:
    """Return a value of the record for people."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        listed = ", ".join(shown(entry) for entry in value[:20])
        return f"{listed}, ... ({len(value)} in all)" if len(value) > 20 else listed or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {shown(entry)}" for key, entry in list(value.items())[:20]) or "none"
    return str(value)[:2_000]


def finite_numbers(value: Any) -> list[float]:
    """Return the numbers in a list of a record, or an empty list if it is not a list."""
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, int | float) and math.isfinite(entry)]
