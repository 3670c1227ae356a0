"""The record of events of a model, as in gensim, and names from versions before gensim 4."""

from __future__ import annotations

import datetime
import logging
import platform
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

logger = logging.getLogger("gensim.utils")


class Lifecycle:
    """Keeps a list of events, which is saved with the model."""

    lifecycle_events: list[dict[str, Any]] | None

    def add_lifecycle_event(
        self, event_name: str, log_level: int | bool = logging.INFO, **event: Any
    ) -> None:
        """Add an event to the list.

        Parameters
        ----------
        event_name : str
        log_level : int, default logging.INFO
            Level of the event's log record; False for no record.
        **event : object
            Details of the event; the time and versions are added.
        """
        event["datetime"] = datetime.datetime.now().isoformat()
        event |= {"python": sys.version, "platform": platform.platform(), "event": event_name}
        if log_level:
            logger.log(log_level, "%s lifecycle event %s", type(self).__name__, event)
        events = vars(self).setdefault("lifecycle_events", [])
        if events is not None:  # None: the user wants no list
            events.append(event)


class CompatVocab:
    """A word as gensim 3 stores it: its count and other attributes."""

    def __init__(self, **kwargs: Any) -> None:
        self.count = 0
        self.__dict__.update(kwargs)

    def __lt__(self, other: CompatVocab) -> bool:
        return bool(self.count < other.count)

    def __str__(self) -> str:
        values = [f"{key}:{value!r}" for key, value in sorted(vars(self).items()) if not key.startswith("_")]
        return f"{type(self).__name__}<{', '.join(values)}>"


Vocab = CompatVocab


class Heapitem(NamedTuple):
    """A node of a Huffman tree, ordered by its count alone."""

    count: Any
    index: Any
    left: Any
    right: Any

    def __lt__(self, other: Any) -> bool:
        return bool(self.count < other.count)


class Trainables(SimpleNamespace):
    """An object in models of gensim 3 that holds only attributes."""
