"""The option ``--json``: writes results as JSON, to standard output instead of a table, or to a file in
addition to the table.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.output import show_json
from wordvec_ca.cli.paths import OutputPath

NAMES = (".json", ".jsonl")
"""If the argument after ``--json`` ends in one of these, it is the FILE of the option."""

SWITCH = {
    **dict.fromkeys(("1", "true", "yes", "on"), "-"),
    **dict.fromkeys(("0", "false", "no", "off"), None),
}
"""Values of the environment variable that switch ``--json`` on or off instead of naming a file."""


class JsonCommand(click.Command):
    """A command with ``--json[=FILE]``, whose FILE cannot be mistaken for a model or a word.

    ``--json`` may be anywhere in a command: in ``cawv nn MODEL --json paris``, paris is a word. After a
    space, only a name that ends in .json or .jsonl is taken as the FILE.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Join ``--json`` with its FILE, or mark that it has none, before the arguments are parsed."""
        joined: list[str] = []
        after = None
        end = args.index("--") if "--" in args else len(args)
        given = iter(args[:end])
        for word in given:
            if word != "--json":
                joined.append(word)
                continue
            after = next(given, None)
            if after is not None and after.endswith(NAMES) and not after.startswith("-"):
                joined.append(f"--json={after}")
                after = None
            else:
                joined.append("--json=-")
                joined += () if after is None else (after,)
        try:
            return super().parse_args(ctx, [*joined, *args[end:]])
        except click.UsageError as error:
            if after is not None and not after.startswith("-") and "extra argument" in error.message:
                hint = f"{error.message}  To write JSON into a file: --json={after}"
                raise click.UsageError(hint, ctx) from None
            raise


def json_option(written: str) -> Callable[..., Any]:
    """Return the option of a `JsonCommand`, whose value is ``json_to``: None, ``-`` or a file."""
    return click.option(
        "--json",
        "json_to",
        type=OutputPath(stdout=True),
        metavar="[=FILE]",
        callback=_from_variable,
        help=f"{written}  Without FILE on standard output instead of a table; else appended to FILE, one "
        "record a line.",
    )


def _from_variable(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Let the environment variable of the option also act as a switch, as in CAWV_NN_JSON=1."""
    if ctx.get_parameter_source("json_to") is click.core.ParameterSource.ENVIRONMENT and value is not None:
        return SWITCH.get(value.lower(), value)
    return value


@contextlib.contextmanager
def record_writer(
    target: str | None, first: str, *, array: bool = False, indent: int | None = None
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yield a function that writes each record at once, so that no record is lost if a later one fails."""
    from wordvec_ca.files import json_text

    if target is None:
        yield lambda record: None
    elif target != "-":
        _check(target, first)
        yield lambda record: _append(target, f"{json_text(record, indent=None)}\n".encode("utf-8", "replace"))
    elif not array:
        yield lambda record: show_json(record, indent=indent)
    else:
        written = 0

        def echo(record: dict[str, Any]) -> None:
            nonlocal written
            click.echo((",\n" if written else "[") + json_text(record, indent=None), nl=False)
            written += 1

        try:
            yield echo
        finally:
            if written:
                click.echo("]")


def _append(name: str, line: bytes) -> None:
    """Append a line to a file, completely or not at all: the next line would continue a partial one."""
    new = not os.path.exists(name)
    with open(name, "ab", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            while line:
                line = line[file.write(line) :]
        except OSError as error:
            with contextlib.suppress(OSError):  # a pipe cannot be truncated
                file.truncate(size)
                if new:
                    os.unlink(name)
            raise OSError(error.errno, error.strerror, name) from error


def _check(name: str, first: str) -> None:
    """Raise a usage error if a file cannot be written or contains other data; called before the work."""
    from wordvec_ca.files import compression_suffix

    path, fault = Path(name), ""
    if compression_suffix(path):
        fault = "would be compressed, and records are appended to it one by one"
    elif path.is_dir():
        fault = "is a directory"
    elif not path.absolute().parent.is_dir():
        fault = f"cannot be written: {str(path.parent)!r} is not a directory"
    elif not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        fault = "cannot be written: permission denied"
    elif path.exists():
        with path.open("rb") as file:
            begun = file.read(len(first) + 10)
        if begun and not begun.startswith(f'{{"{first}": '.encode()):
            fault = "exists and holds other results; nothing was written"
    if fault:
        raise click.BadParameter(
            f"{name!r} {fault}; give the name of a file for results", param_hint="--json"
        )
