"""The options that ``cawv eval`` and ``cawv compare`` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

TASKS = {
    "similarity": "Word pairs: word TAB word TAB score.",
    "analogy": "Questions in the format of questions-words.txt.",
    "categorization": "Word classes: word TAB class.",
    "pos-induction": "Tagged corpus: CoNLL-U, columns, word_TAG, Penn Treebank .mrg or .pos.",
    "tagging": "NAME.train.* and NAME.test.*, or one tagged corpus.",
    "bilstm-tagging": "The same; needs PyTorch, and runs only when it is named.",
    "sentiment": "label TAB text, or SST trees: NAME.train.*, NAME.dev.*, NAME.test.*, or one file.",
    "sts": "score TAB sentence TAB sentence.",
    "sick": "score TAB sentence TAB sentence, or SICK's own columns.",
}
"""Task -> what files it takes; the same names as ``wordvec_ca.eval.suite.TASKS``, which imports numpy."""


def evaluation_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose tasks, data and seed."""
    path = click.Path(path_type=Path)
    for name, files in reversed(TASKS.items()):
        function = click.option(f"--{name}", multiple=True, type=path, metavar="FILE", help=files)(function)
    for option in reversed(
        (
            click.option(
                "--tasks",
                callback=_names,
                help=f"Comma-separated, of: {', '.join(TASKS)}. Default: all, or those with files.",
            ),
            click.option(
                "--data",
                "folder",
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                help="Run everything in this folder (layout: docs/data.md). Default: the sets inside gensim.",
            ),
            click.option("--seed", type=int, default=1, show_default=True, help="Seed of everything random."),
            click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Threads."),
            click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table."),
            click.option("-q", "--quiet", is_flag=True, help="No progress on stderr."),
        )
    ):
        function = option(function)
    return function


def files_of(options: dict[str, Any]) -> dict[str, list[Path]]:
    """Return the files that were given, by task."""
    return {name: list(options.get(name.replace("-", "_")) or ()) for name in TASKS}


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = [name.strip() for name in value.split(",") if name.strip()]
    for name in names or [""]:
        if name not in TASKS:
            raise click.BadParameter(f"{name!r} is no task; the tasks are {', '.join(TASKS)}")
    return list(dict.fromkeys(names))
