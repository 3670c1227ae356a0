"""Finds words in text without spaces, with ICU, jieba or a function of the user, in several processes:
threads would wait for each other.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any

from wordvec_ca.errors import DataError, Option
from wordvec_ca.text.answering_processes import AnsweringProcesses, EndedError

Segmenter = Callable[[str], Iterable[str]]

# Names of the segmenters from libraries; a user's function is named ``module:function``.
SEGMENTERS = ("icu", "jieba")

# Environment variable that names the ``module:function`` that a model may run.
TRUSTED = "CAWV_TOKENIZER"

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_INVISIBLE = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000\u00ad\u200b\u200c\u200d\u2060\ufeff"
_ASCII_SPACE = re.compile(r"[ \t\n\v\f\r]+")


def is_function(tokenizer: str) -> bool:
    """Return whether a tokenizer is a function of the user, ``module:function``."""
    return _FUNCTION.fullmatch(tokenizer) is not None


def is_segmenter(tokenizer: str) -> bool:
    """Return whether a tokenizer is ``icu``, ``jieba`` or a function of the user."""
    return tokenizer in SEGMENTERS or is_function(tokenizer)


def trusted_tokenizer(model: str, given: str | None, where: str) -> str:
    """Return the tokenizer to use with a model: the one that the user gave or, without it, the model's.

    A model may come from anyone, and it can name any function. So a function that a model names runs only if
    the user names it too; ``where`` is the model, for the message.
    """
    if given is not None:
        return given
    if is_function(model) and os.environ.get(TRUSTED) != model:
        raise DataError(
            f"{where} was made with the tokenizer {model!r}, a function of its author; a name in a file runs "
            "no code: give ",
            Option("tokenizer", model),
            f" to run it (or set {TRUSTED}={model})",
        )
    return model


@lru_cache(maxsize=8)
def load_segmenter(name: str) -> Segmenter:
    """Return the function that splits a line into words."""
    if name == "icu":
        return _icu()
    if name == "jieba":
        return _jieba()
    return _function(name)


def segmenter_version(name: str) -> str:
    """Return a string that changes when the segmenter may find other words: a version, or a digest of its
    source.
    """
    if name == "jieba":
        try:
            return f"jieba {version('jieba')}"
        except PackageNotFoundError:  # the package is not installed, or is on the path without its metadata
            return f"jieba {getattr(load_segmenter(name), '__version__', 'unknown')}"
    if name == "icu":
        for package in ("icu4py", "PyICU"):
            try:
                return f"{package} {version(package)}"
            except PackageNotFoundError:
                pass
        return "unknown"
    function = load_segmenter(name)
    try:
        source = inspect.getsourcefile(function) or ""  # type: ignore[arg-type]
        with open(source, "rb") as file:
            return f"{name} {hashlib.blake2b(file.read(), digest_size=16).hexdigest()}"
    except (OSError, TypeError):
        return name


def _icu() -> Segmenter:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        try:
            import icu
        except ImportError as error:
            raise DataError("the tokenizer icu needs ICU: pip install icu4py (or PyICU)") from error
        breaker = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())

        def by_pyicu(line: str) -> list[str]:
            text = icu.UnicodeString(line)  # PyICU counts positions in UTF-16 units
            breaker.setText(text)
            return [str(text[begin:end]) for begin, end in pairwise([0, *breaker])]

        return by_pyicu

    def by_icu4py(line: str) -> list[str]:
        return list(WordBreaker(line, "en"))

    return by_icu4py


def _jieba() -> Segmenter:
    try:
        import jieba
    except ImportError as error:
        raise DataError("the tokenizer jieba needs jieba: pip install jieba") from error
    import logging

    jieba.setLogLevel(logging.WARNING)
    return jieba.lcut  # type: ignore[no-any-return]


def _function(name: str) -> Segmenter:
    module, _, path = name.partition(":")
    try:
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.partition(".")[0] or os.getcwd() in sys.path:
                raise
            sys.path.insert(0, os.getcwd())
            found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise DataError(
            f"the tokenizer {name!r} cannot be loaded: {error}; it must be MODULE:FUNCTION, and the module "
            "in the working directory or on Python's path"
        ) from error
    if not callable(found):
        raise DataError(
            f"the tokenizer {name!r} is a {type(found).__name__}; it must be a function: str -> list of str"
        )
    return found  # type: ignore[no-any-return]


def segment(text: str, name: str) -> str:
    r"""Return text with a space between any two words of a line, as a segmenter finds them.

    Words of only white space and invisible characters are left out; ASCII white space within a word becomes
    ``_``. Line ends are kept as ``\n``, possibly with spaces around it.
    """
    function = load_segmenter(name)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if name == "icu":  # ICU breaks at line ends too, and all lines in one call take half the time
        return " ".join([word for word in function(text) if word == "\n" or word.strip(_INVISIBLE)])
    return "\n".join([_segment_line(line, function, name) for line in text.split("\n")])


def _segment_line(line: str, function: Segmenter, name: str) -> str:
    if not line.strip(_INVISIBLE):
        return ""
    try:
        words = [word for word in function(line) if word.strip(_INVISIBLE)]
        return " ".join(
            [_ASCII_SPACE.sub("_", word) if _ASCII_SPACE.search(word) else word for word in words]
        )
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise DataError(
            f"the tokenizer {name!r} fails on the line {line[:60]!r}: {type(error).__name__}: {error} "
            f"({os.path.basename(where.filename)}, line {where.lineno}); give it a str -> list of str"
        ) from error


class SegmentingProcesses:
    """Processes that segment text; a context manager that ends them. If it is one, it is this process
    itself.
    """

    def __init__(self, name: str, processes: int) -> None:
        load_segmenter(name)
        self._name = name
        self._alone = processes == 1
        self._processes = AnsweringProcesses(__name__, processes, (name, sys.path))

    def __enter__(self) -> SegmentingProcesses:
        return self

    def __exit__(self, *exception: object) -> None:
        self._processes.__exit__()

    def segment(self, text: bytes) -> tuple[bytes, int, int]:
        """Segment a block of text that ends at the end of a line; several threads may call this.

        Return the text with a space between words, the number of invalid sequences of UTF-8, each read as
        U+FFFD, and the offset of the first in the original text, or -1.
        """
        repaired, first = 0, -1
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            first = error.start
            spelled = text.decode("utf-8", "replace")
            repaired = spelled.count("\ufffd") - text.count("\ufffd".encode())
            text = spelled.encode("utf-8")
        if self._alone:
            return segment(text.decode("utf-8"), self._name).encode("utf-8"), repaired, first
        try:
            return self._processes.ask(text), repaired, first
        except EndedError as error:
            raise DataError(
                f"{error}; it segmented text with the tokenizer {self._name!r}; its own output is above"
            ) from error


def prepare(name: str, path: list[str]) -> Callable[[bytes], bytes]:
    """Load a segmenter in a process of `SegmentingProcesses`; return a function that segments a block."""
    sys.path[:] = path
    load_segmenter(name)

    def answer(text: bytes) -> bytes:
        try:
            return segment(text.decode("utf-8"), name).encode("utf-8")
        except UnicodeError as error:
            raise DataError(str(error)) from error

    return answer
