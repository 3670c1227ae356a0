"""The options that ``cawv eval`` and ``cawv compare`` share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wordvec_ca.cli.options import json_option
from wordvec_ca.cli.paths import ExistingPath
from wordvec_ca.errors import known_names
from wordvec_ca.specs.tasks import TASK_SPECS

if TYPE_CHECKING:
    from wordvec_ca.eval import ReadSequences


class _LocalFile(click.Path):
    """A file of a task. If it is missing, that is reported and the others are used; a URL is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # a Path merges the slashes of a URL, after which a password in it is not recognised
        if "://" in str(value):
            self.fail(f"{value!r} is a URL: download the file, and give its path", param, ctx)
        return super().convert(value, param, ctx)


class EvaluationCommand(click.Command):
    """A command that has, for each task, an option for files."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options: first those for the tasks, then those that every command has."""
        params = super().get_params(ctx)
        of_tasks = [
            click.Option(
                [f"--{task.option}"],
                multiple=True,
                type=_LocalFile(path_type=Path),
                metavar="FILE",
                help=f"To {task.summary}: {task.files}.",
            )
            for task in TASK_SPECS.values()
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
                type=ExistingPath(file_okay=False, path_type=Path),
                help="Run all tasks with files in this folder. Default: the sets inside gensim.",
            ),
            click.option(
                "--method",
                callback=_method,
                metavar="NAME",
                help="Sentence vectors for the headline of sts and sick: attention, attention-usif, sif, "
                "usif, mean, ca-sem, ca-sem-sif ...  [default: sif]",
            ),
            click.option(
                "--phrases",
                metavar="CHAR",
                help="In sts, sick and sentiment, join words to phrases of MODEL, which CHAR holds together.",
            ),
            click.option(
                "--runs/--no-runs",
                default=True,
                show_default=True,
                help="Judge each model of cawv train --resamples too: how much one run differs from another.",
            ),
            click.option("--seed", type=int, default=1, show_default=True, help="Seed of everything random."),
            click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Threads."),
            json_option("A JSON object a result, as it comes"),
            click.option("-q", "--quiet", is_flag=True, help="No progress on stderr."),
        )
    ):
        function = option(function)
    return function


def files_of(options: dict[str, Any]) -> dict[str, list[Path]]:
    """Return the files that the user gave for each task."""
    return {name: list(options.get(task.option.replace("-", "_")) or ()) for name, task in TASK_SPECS.items()}


def reader_of_sequences(vectors: Any) -> ReadSequences:
    """Return a reader of sequences that makes sessions of a log with the fields that a model remembers."""
    from wordvec_ca.corpus import TextOptions, fields_of_training, sessions_of
    from wordvec_ca.eval import read_sequences

    config = vectors.metadata.get("config") or {}

    def read(path: Path) -> Iterator[list[str]]:
        fields = fields_of_training(config, [str(path)])
        if "order_by" not in fields:
            return read_sequences(path)
        return iter(sessions_of([str(path)], TextOptions(**fields, encoding=config.get("encoding"))))

    return read


def _method(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from wordvec_ca.eval import SENTENCE_METHODS

    if value not in SENTENCE_METHODS:
        methods = known_names(value, SENTENCE_METHODS)
        raise click.BadParameter(f"{value!r} is not one; the methods are {methods}")
    return value


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = [name.strip() for name in value.split(",") if name.strip()]
    for name in names or [""]:
        if name not in TASK_SPECS:
            tasks = known_names(name, TASK_SPECS)
            raise click.BadParameter(f"{name!r} is not a task; the tasks are {tasks}")
    return list(dict.fromkeys(names))
