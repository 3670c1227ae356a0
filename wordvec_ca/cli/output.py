"""How commands write: results to standard output, everything else to standard error, with control characters
made visible.
Parts of the output may come from a text, a model or a file name that somebody else made. None of their
control characters reaches the terminal (see `wordvec_ca.files.display`).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Literal

import click

from wordvec_ca.errors import Message
from wordvec_ca.showable import showable
from wordvec_ca.specs.options import spelled_as_flag

# Purpose of a text -> its style, readable on a dark and on a light background.
STYLES: dict[str, dict[str, object]] = {
    "heading": {"bold": True},
    "match": {"bold": True, "fg": "red"},
    "query": {"bold": True, "fg": "cyan"},
    "error": {"bold": True, "fg": "red"},
    "warning": {"bold": True, "fg": "yellow"},
    "aside": {"dim": True},
}

# Suffix of the file that says how a table was made.
PROVENANCE = ".provenance.json"


def is_terminal(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal."""
    with contextlib.suppress(AttributeError, ValueError):  # the stream is closed, or not a file
        return stream.isatty()
    return False


def has_colours(stream: IO[str]) -> bool:
    """Return whether a stream gets colours: only a terminal that is not dumb, and not with NO_COLOR."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width(stream: IO[str] | None = None) -> int | None:
    """Return the number of columns of the terminal; None if the output is not a terminal."""
    if not is_terminal(stream or sys.stdout):
        return None
    return max(20, shutil.get_terminal_size().columns)


def styled(text: str, style: str, stream: IO[str] | None = None) -> str:
    """Return a text in the colours of a style, if the stream (standard output) has any."""
    return click.style(text, **STYLES[style]) if has_colours(stream or sys.stdout) else text  # type: ignore[arg-type]


def show(text: object) -> None:
    """Write a result to standard output, and a newline."""
    write(_between_words(_harmless(str(text)), sys.stdout))


def write(text: str) -> None:
    """Write text, with its colours if it has any, and a newline; an error names standard output."""
    from wordvec_ca.errors import DataError

    try:
        click.echo(text)
    except UnicodeEncodeError as error:
        raise DataError(
            f"standard output is in {error.encoding}, which cannot hold {text[error.start]!a}: set "
            "PYTHONIOENCODING=utf-8, or =:backslashreplace to write such characters as escapes"
        ) from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def show_json(value: Any, *, indent: int | None = None) -> None:
    """Write a result as JSON to standard output, and a newline."""
    from wordvec_ca.files import json_text

    write(json_text(value, indent=indent))


def next_commands(
    model: str, word: str = "WORD", *, kind: Literal["words", "documents", "items"] = "words"
) -> str:
    """Return lines that suggest commands for a new model, with ``word`` as an argument."""
    name, program = shlex.quote(model), "cawv"
    called = Path(sys.argv[0])
    if called.name == program and shutil.which(program) is None:  # `make demo` calls it in this way
        program = shlex.quote(os.path.relpath(called))
    asked = {
        "words": [f"nn {name} {word}", f"eval {name}"],
        "documents": [
            f"nn {name} --document TAG",
            f"search {name} TEXTS QUERY",
            f"embed {name} TEXTS -o NEW.csv",
        ],
        "items": [f"recommend {name} --basket ITEM,ITEM", f"nn {name} ITEM"],
    }[kind]
    return "next: " + "\n      ".join(f"{program} {one}" for one in (f"explore {name}", *asked))


def say(text: object) -> None:
    """Write a message to standard error, and a newline; a closed standard error is not a failure."""
    shown = _between_words(_harmless(showable(str(text))), sys.stderr)
    for kind in ("Error:", "Warning:"):
        begin = f"\n{shown}".find(f"\n{kind}")  # the message follows the usage line in usage errors
        if begin >= 0:
            head = styled(kind, kind[:-1].lower(), sys.stderr)
            shown = shown[:begin] + head + shown[begin + len(kind) :]
            break
    with contextlib.suppress(OSError):
        sys.stderr.write(
            shown + "\n"
        )  # click.echo would write past a progress bar; sys.stderr puts the line above it
        sys.stderr.flush()


def write_outputs(
    outputs: Mapping[str | None, Callable[[], str | bytes]], *, overwrite: bool, follow_links: bool = True
) -> None:
    """Write the files of a command, after its result has been shown."""
    # Each is made, whatever happens to another: a mistake in a drawing must not take with it what took
    # hours. All are written under temporary names first; if there is no room for one of them, none replaces
    # a file, so that files of two runs are not mixed. A name that is None was not asked for.
    from wordvec_ca.files import atomic_file

    failed: list[Exception] = []
    with contextlib.ExitStack() as written:
        for name, make in outputs.items():
            if name is None:
                continue
            try:
                with contextlib.ExitStack() as one:
                    anyway = overwrite or name.endswith(PROVENANCE)  # that name was not typed, so not checked
                    file = one.enter_context(atomic_file(name, overwrite=anyway, follow_links=follow_links))
                    content = make()
                    file.write(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
                    file.flush()  # a full disk is to be noticed now, not when others have been replaced
                    written.enter_context(one.pop_all())
            except Exception as error:  # also a mistake in the code that draws
                former = "; that file is of a former run" if os.path.isfile(name) else ""
                say(f"{name} could not be written{former}; the results above are complete")
                failed.append(error)
        full = next((error for error in failed if isinstance(error, OSError)), None)
        if full is not None and any(name is not None and os.path.isfile(name) for name in outputs):
            raise full
    if failed:
        if isinstance(failed[0], OSError | Message):
            raise failed[0]  # the program's own handler adds what to do, on a full disk for instance
        raise click.ClickException(f"{type(failed[0]).__name__} while drawing: {failed[0]}") from failed[0]


def reason(error: BaseException) -> str:
    """Return the message of an exception, in which options are spelled as the user types them."""
    return error.spelled(spelled_as_flag) if isinstance(error, Message) else str(error)


def _between_words(text: str, stream: IO[str]) -> str:
    """Break lines that are wider than the terminal between words; output that is not a terminal does not
    change, since programs read it.
    """
    if len(text) < 20:
        return text
    columns = terminal_width(stream)
    if columns is None or max(map(len, text.split("\n"))) <= columns:
        return text
    return "\n".join(
        textwrap.fill(
            line,
            columns,
            subsequent_indent=" " * (len(line) - len(line.lstrip(" ")) + 2),
            break_long_words=False,  # so that a path can be copied
            break_on_hyphens=False,
            replace_whitespace=False,
        )
        if len(line) > columns and "\t" not in line
        else line
        for line in text.split("\n")
    )


def _harmless(text: str) -> str:
    if text.replace("\n", "").isprintable():
        return text  # the common case needs no import
    from wordvec_ca.files import terminal_text

    return terminal_text(text, lines=True)
