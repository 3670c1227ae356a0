"""Makes pandas data frames; pandas is imported for the first one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def data_frame(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Any:
    """Return a ``pandas.DataFrame``."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas") from error
    return pandas.DataFrame([list(row) for row in rows], columns=list(names))
