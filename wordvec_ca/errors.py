"""Exceptions whose messages are for the person who gave the input.

A message contains an `Option` for each option that it names. Each interface spells it in its own way:
``min_count`` in Python, ``--min-count`` on the command line.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from wordvec_ca.showable import showable


def did_you_mean(given: object, known: Iterable[object]) -> str:
    """Return `` Did you mean this?`` if a name is similar to a known one (ignoring case), else ''."""
    names = {str(name).lower(): str(name) for name in known}
    close = difflib.get_close_matches(str(given).lower(), names, n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(names[name] for name in close)}?" if close else ""


# Package of a group that people install into what they have, with no more than that: a group installs ours
# again, and a checkout compiles for that.
ALONE = {"parquet": "pyarrow"}


def install_extra(name: str) -> str:
    """Return the commands that install an optional group of packages of ours."""
    if name in ALONE:
        return f"pip install {ALONE[name]}"
    return f"pip install 'wordvec-ca[{name}]' (in a checkout: pip install '.[{name}]')"


def known_names(given: object, known: Iterable[object], shown: Callable[[object], str] = str) -> str:
    """Return the known names for a message about an unknown one: ``a, b. Did you mean a?``"""
    names = list(known)
    return f"{', '.join(map(shown, names))}.{did_you_mean(given, names)}"


class Option(NamedTuple):
    """An option, or an option with a value, in a message."""

    # Its name in Python.
    name: str
    # Its value; None if the message names only the option.
    value: object = None

    def __str__(self) -> str:
        """Return the option as it is written in Python."""
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class Message:
    """A message made of strings and the options that it names (`Option`)."""

    args: tuple[Any, ...]

    def __str__(self) -> str:
        """Return the message for users of Python."""
        return self.spelled(str)

    def spelled(self, spell: Callable[[Option], str]) -> str:
        """Return the message with each option as ``spell`` writes it, and without secrets in URLs."""
        pieces = (spell(piece) if isinstance(piece, Option) else str(piece) for piece in self.args)
        return showable("".join(pieces))


class OptionError(Message, ValueError):
    """An option has an invalid value, or conflicts with others: wrong usage, exit code 2."""

    @property
    def option(self) -> str:
        """The name of the first option in the message."""
        return next(piece.name for piece in self.args if isinstance(piece, Option))


class OptionWarning(Message, UserWarning):
    """A warning that names options."""


class DataError(Message, ValueError):
    """Input data cannot be used.

    The message says what was given, where (file and line when there is one), what is
    allowed and what to do. The command line exits with 1.
    """


class OutputExistsError(DataError):
    """The output exists already, and ``overwrite`` was not given.

    Nothing is wrong with the data: the command line exits with 2, as for other wrong usage.
    """
