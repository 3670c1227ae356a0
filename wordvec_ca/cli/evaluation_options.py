"""What ``cawv eval`` and ``cawv compare`` share: their options, and where results are written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click


class EvaluationCommand(click.Command):
    """A command with an option for the files of each task; the table of tasks is read when it is used."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, those of the tasks before those that every command has."""
        params = super().get_params(ctx)
        of_tasks = [
            click.Option(
                [f"--{name}"],
                multiple=True,
                type=click.Path(path_type=Path),
                metavar="FILE",
                help=f"To {task.summary}: {task.files}.",
            )
            for name, task in _tasks().items()
        ]
        return [*params[:-1], *of_tasks, *params[-1:]]


def evaluation_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose tasks, data, seed and output."""
    for option in reversed(
        (
            click.option(
                "--tasks",
                callback=_names,
                help="Comma-separated names of tasks, as in the options below.  [default: all, or those with "
                "files]",
            ),
            click.option(
                "--data",
                "folder",
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                help="Run everything in this folder (layout: docs/data.md). Default: the sets inside gensim.",
            ),
            click.option(
                "--method",
                callback=_method,
                metavar="NAME",
                help="Of sentence vectors in sts and sick, for the headline: attention, attention-usif, sif, "
                "usif, mean, ca-sem ...  [default: sif]",
            ),
            click.option("--seed", type=int, default=1, show_default=True, help="Seed of everything random."),
            click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Threads."),
            click.option(
                "--json",
                "json_to",
                is_flag=False,
                flag_value="-",
                metavar="[FILE]",
                help="Append a JSON record per result to FILE as it comes; without FILE, or with -, print "
                "one JSON array instead of a table.",
            ),
            click.option("-q", "--quiet", is_flag=True, help="No progress on stderr."),
        )
    ):
        function = option(function)
    return function


def files_of(options: dict[str, Any]) -> dict[str, list[Path]]:
    """Return the files that were given, by task."""
    return {name: list(options.get(name.replace("-", "_")) or ()) for name in _tasks()}


@contextlib.contextmanager
def record_writer(target: str | None, first: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Give a function that writes a record at once: to a file, one a line; to stdout, as an array.

    Parameters
    ----------
    target : str or None
        A file, ``-`` for standard output, or None to write nothing.
    first : str
        First key of every record: a file that begins with something else is not appended to.
    """
    from wordvec_ca.files import json_text

    if target is None:
        yield lambda record: None
    elif target == "-":
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
    else:
        _check(target, first)
        with open(target, "a", encoding="utf-8") as file:

            def append(record: dict[str, Any]) -> None:
                file.write(json_text(record, indent=None) + "\n")
                file.flush()

            yield append


def _check(name: str, first: str) -> None:
    """Raise a usage error, before the work, if a file cannot be written or holds something else."""
    path, fault = Path(name), ""
    if path.is_dir():
        fault = "is a directory"
    elif not path.absolute().parent.is_dir():
        fault = f"cannot be written: {str(path.parent)!r} is not a directory"
    elif not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        fault = "cannot be written: permission denied"
    elif path.exists():
        with path.open("rb") as file:
            begun = file.read(len(first) + 10)
        if begun and not begun.startswith(f'{{"{first}": '.encode()):
            fault = "exists and holds no such results; it is left as it is"
    if fault:
        raise click.BadParameter(
            f"{name!r} {fault}; give the name of a file for results, or --json after the models",
            param_hint="--json",
        )


def _tasks() -> dict[str, Any]:
    from wordvec_ca.eval import TASKS

    return TASKS


def _method(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from wordvec_ca.eval import SENTENCE_METHODS

    if value not in SENTENCE_METHODS:
        raise click.BadParameter(f"{value!r} is none; the methods are {', '.join(SENTENCE_METHODS)}")
    return value


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = [name.strip() for name in value.split(",") if name.strip()]
    for name in names or [""]:
        if name not in _tasks():
            raise click.BadParameter(f"{name!r} is no task; the tasks are {', '.join(_tasks())}")
    return list(dict.fromkeys(names))
