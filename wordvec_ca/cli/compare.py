"""``cawv compare``: is one model better than another, or is it a tie?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.evaluation_options import (
    EvaluationCommand,
    evaluation_options,
    files_of,
    reader_of_sequences,
)
from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import vectors_option
from wordvec_ca.cli.output import reason, say, show, show_json, terminal_width, write
from wordvec_ca.cli.paths import ExistingPath
from wordvec_ca.cli.terminal import Column, status, table, wrapped

# Suffixes of files that contain the results of ``cawv eval --json``.
SAVED = (".json", ".jsonl")

COLUMNS = (
    Column("model name"),
    Column("task"),
    Column("dataset"),
    Column("metric", spare=3),
    Column("baseline", right=True, spare=2),
    Column("model", right=True, spare=2),
    Column("difference", right=True),
    Column("95 % interval", right=True),
    Column("p (Holm)", right=True, spare=1),
    Column("n", right=True, spare=4),
    Column("verdict"),
)


@click.command("compare", cls=EvaluationCommand)
@click.argument("baseline", type=ExistingPath(path_type=Path))
@click.argument("models", nargs=-1, required=True, type=ExistingPath(path_type=Path))
@evaluation_options
@vectors_option
def command(
    baseline: Path,
    models: tuple[Path, ...],
    tasks: list[str] | None,
    folder: Path | None,
    method: str | None,
    phrases: str | None,
    runs: bool,
    seed: int,
    workers: int,
    as_json: bool,
    quiet: bool,
    form: str | None,
    **files: Any,
) -> None:
    """Compare MODELS with BASELINE on the same items, and name ties.

    Each is a model, as for `cawv eval`, or a file of its results: cawv eval MODEL --json --items > FILE.json.
    Analogies, categories and induction, which are easier with fewer words, are run among the words that all
    models have. Differences come with paired 95 % intervals, and with p-values adjusted for the number of
    comparisons (Holm).

    The results of each model are shown on stderr as they come. Models that cannot be read or compared are
    listed, the rest are compared, and the exit status is 1.
    """
    from wordvec_ca.errors import DataError
    from wordvec_ca.eval import (
        Missing,
        Report,
        common_words,
        compare,
        comparison_remarks,
        comparison_rows,
        plan,
        reports_in,
        run,
    )
    from wordvec_ca.vectors import KeyedVectors

    jobs, _ = plan(tasks, folder=folder, files=files_of(files))
    faults: list[str] = []

    def refuse(path: Path, error: Exception) -> None:
        fault = reason(error) if str(path) in str(error) else f"{path}: {reason(error)}"
        if path == baseline:
            raise DataError(
                f"there is nothing to compare with, as the baseline cannot be used: {fault}"
            ) from error
        faults.append(fault)

    def skip(entry: Missing) -> None:
        say(f"Not compared: {entry}")
        if entry.failed:
            faults.append(str(entry))

    def reports(path: Path) -> list[Report]:
        if path.suffix in SAVED:
            return reports_in(path)
        if not quiet:
            say(path)
        found = []
        options: dict[str, Any] = {
            **{"seed": seed, "workers": workers, "progress": tell, "method": method, "phrases": phrases},
            "runs": runs,
        }
        vectors = load_vectors(path, vectors=form)
        options["read_sequences"] = reader_of_sequences(vectors)
        for report in run(vectors, jobs, name=str(path), skipped=skip, common=common, **options):
            tell("")
            if not quiet:
                say(f"{report.task} {report.dataset}: {report.headline} {report.value:.3f}")
            found.append(report)
        return found

    def each(paths: Iterable[Path], use: Callable[[Path], Any]) -> list[Any]:
        found = []
        for path in paths:
            try:
                found.append(use(path))
            except (DataError, OSError) as error:
                refuse(path, error)
        return found

    common: list[str] | None = None
    configs: list[dict[str, Any]] = []

    def look_at_words(path: Path) -> Path:
        nonlocal common
        if path.suffix not in SAVED:
            vectors = KeyedVectors.load(path)
            words = vectors.index_to_key
            common = words if common is None else common_words([common, words])
            configs.append(vectors.metadata.get("config", {}))
        return path

    with status(quiet) as tell:
        readable = each((baseline, *models), look_at_words)  # before any model is judged
        if common is not None and len(configs) > 1:
            if not quiet:
                say(f"{len(common):,} words are common to all {len(configs)} models")
                if differing := _differing(configs):
                    say(f"Options that differ: {'; '.join(differing)}")
        else:
            common = None
        first, *others = each(readable, reports)
        if not others:
            raise DataError("\n* ".join(["there is nothing to compare with the baseline", *faults]))
        differences = compare(first, others, refused=lambda error: faults.append(reason(error)))
        tell("")
        if as_json:
            for difference in differences:
                show_json(difference.to_dict())
        elif differences:
            several = len({difference.model for difference in differences}) > 1
            rows = [row if several else ("", *row[1:]) for row in comparison_rows(differences)]
            columns = [column if several or i else Column("") for i, column in enumerate(COLUMNS)]
            write(table(columns, rows))
            columns_wide = terminal_width() or 100
            remarks = comparison_remarks(differences).split("\n")
            show("\n" + "\n".join(line for text in remarks for line in wrapped(text, columns_wide)))
    if faults:
        raise DataError("\n* ".join([f"{len(faults)} could not be compared", *dict.fromkeys(faults)]))


def _differing(configs: list[dict[str, Any]]) -> list[str]:
    """Return the options that all configurations have and that differ, with their values."""
    shared = [name for name in configs[0] if all(name in config for config in configs)]
    values = {name: list(dict.fromkeys(str(config[name]) for config in configs)) for name in shared}
    return [f"{name} {' / '.join(found)}" for name, found in values.items() if len(found) > 1]
