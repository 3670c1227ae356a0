"""``cawv compare``: is one model better than another, or is it a tie?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.evaluation_options import evaluation_options, files_of


@click.command("compare")
@click.argument("baseline", type=click.Path(exists=True, path_type=Path))
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@evaluation_options
def command(
    baseline: Path,
    models: tuple[Path, ...],
    tasks: list[str] | None,
    folder: Path | None,
    seed: int,
    workers: int,
    as_json: bool,
    quiet: bool,
    **files: Any,
) -> None:
    """Compare MODELS with BASELINE on the same items, and say "tie" where it is one.

    Each is a model, as for `cawv eval`, or the JSON that `cawv eval --json --items` wrote. Differences come
    with paired 95 % intervals, and with p-values adjusted for the number of comparisons (Holm).
    """
    import json

    from wordvec_ca.eval.comparison import compare, table
    from wordvec_ca.eval.report import Report, reports_in
    from wordvec_ca.eval.suite import plan, run
    from wordvec_ca.formats import detect_format
    from wordvec_ca.keyedvectors import KeyedVectors

    def say(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    for path in (baseline, *models):  # what is no model must not show only after the others were judged
        if path.suffix != ".json":
            detect_format(path)
    jobs, _ = plan(tasks, folder=folder, files=files_of(files))

    def reports(path: Path) -> list[Report]:
        if path.suffix == ".json":
            return reports_in(path)
        say(str(path))
        vectors = KeyedVectors.load(path)
        return list(
            run(
                vectors,
                jobs,
                seed=seed,
                workers=workers,
                name=str(path),
                progress=say,
                skipped=lambda entry: click.echo(f"Not compared: {entry}", err=True),
            )
        )

    differences = compare(reports(baseline), [reports(path) for path in models])
    if as_json:
        click.echo(json.dumps([difference.to_dict() for difference in differences], ensure_ascii=False))
    else:
        click.echo(table(differences))
