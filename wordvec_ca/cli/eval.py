"""``cawv eval``: how good are word vectors?"""

from __future__ import annotations

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
from wordvec_ca.cli.output import say, show, show_json, styled, terminal_width, write
from wordvec_ca.cli.paths import ExistingPath
from wordvec_ca.cli.sentence_options import infers
from wordvec_ca.cli.terminal import Column, Table, cell, status, wrapped


@click.command("eval", cls=EvaluationCommand)
@click.argument("model", type=ExistingPath(path_type=Path))
@evaluation_options
@click.option(
    "--controls", is_flag=True, help="Judge permuted and random vectors too: the floor of each task."
)
@click.option(
    "--counts",
    type=ExistingPath(),
    metavar="VOCAB",
    help="Word counts (cawv vocab) for vectors without counts: SIF and similar methods weigh words by them.",
)
@vectors_option
@click.option(
    "--items", is_flag=True, help="With --json: write the outcome of every item, for `cawv compare`."
)
@click.option("--details", is_flag=True, help="All figures of each set, notes, and how it was measured.")
def command(
    model: Path,
    tasks: list[str] | None,
    folder: Path | None,
    method: str | None,
    phrases: str | None,
    runs: bool,
    seed: int,
    workers: int,
    as_json: bool,
    quiet: bool,
    controls: bool,
    counts: str | None,
    form: str | None,
    items: bool,
    details: bool,
    **files: Any,
) -> None:
    """Say how good the vectors in MODEL are, for syntax and for semantics.

    MODEL is a model directory, or vectors in word2vec, GloVe, gensim or safetensors format. Every figure
    comes with a 95 % interval, the number of items and the share of them that the vocabulary covers. A
    summary of at most six lines ends the output.

    For a model of documents (cawv train --model pv-dbow, pv-dm, ...) sentiment, sts and sick judge the
    vectors that it infers for their texts.

    Without data the sets that come inside gensim are used; for every task that cannot run the output names
    the file it needs and where to get it. Each result is printed as it comes; a set that cannot be read is
    listed under "Not run", the others are run, and the exit status is 1.
    """
    from wordvec_ca.corpus import Vocab
    from wordvec_ca.errors import DataError
    from wordvec_ca.eval import (
        CONTROLS,
        Report,
        control,
        plan,
        report_remarks,
        report_rows,
        run,
        summary_lines,
    )
    from wordvec_ca.sentences import WordCounts
    from wordvec_ca.tables import check_trained

    jobs, missing = plan(tasks, folder=folder, files=files_of(files))
    without_data = list(missing)
    if not jobs:
        raise click.UsageError("nothing to run\n" + "\n".join(f"* {entry}" for entry in missing))
    with status(quiet) as tell:
        vectors = load_vectors(model, vectors=form)
        if controls:  # before the work
            check_trained(vectors.metadata, str(model))
        infer = None
        if infers(vectors, model):
            from wordvec_ca.documents import DocumentVectorizer

            infer = DocumentVectorizer(str(model), threads=workers).transform
        if counts is not None:
            table_of_counts = Vocab.load(counts)
            pairs = zip(table_of_counts.words, table_of_counts.counts.tolist(), strict=True)
            vectors.counts = WordCounts.from_mapping(dict(pairs), vectors.key_to_index).counts
        name = str(model) if form is None else f"{model} {form}"
        options: dict[str, Any] = {
            **{"seed": seed, "workers": workers, "progress": tell, "method": method, "phrases": phrases},
            "runs": runs,
            "infer": infer,
            "read_sequences": reader_of_sequences(vectors),
        }
        table = Table(
            [
                Column("task", max(len(job.task) for job in jobs)),
                Column("dataset", max(len(job.dataset) for job in jobs)),
                Column(
                    "metric",
                    22 if details else 13 if any(job.task == "next-item" for job in jobs) else 9,
                    spare=0 if details else 2,
                ),
                Column("value", 6, right=True),
                Column("95 % interval", 16, right=True),
                Column("n", 7, right=True, spare=3),
                Column("coverage", right=True, spare=1),
                *([Column("seconds", right=True, spare=4)] if details else []),
            ]
        )
        reports: list[Report] = []
        unwritten: list[OSError] = []

        def print_report(report: Report) -> None:
            tell("")
            new = not reports or report.model != reports[-1].model
            head = (f"\n{cell(report.model)}\n" if reports else "") + table.head() if new else ""
            reports.append(report)
            try:
                if as_json:
                    show_json(report.to_dict(items=items))
                    return
                if head:
                    write(head)
                for row in report_rows([report])[: None if details else report.shown + bool(report.runs)]:
                    write(table.row(row))
            except BrokenPipeError:  # nobody reads on
                raise
            except OSError as error:  # a disk that is full now may have room when the next task has ended
                say(f"{report.task} {report.dataset}: {report.headline} {report.value:.3f}")
                unwritten.append(error)

        for report in run(vectors, jobs, name=name, skipped=missing.append, **options):
            print_report(report)
        if reports and not as_json and (no_room := table.left_out()):
            tell("")
            show(no_room)
        if not reports:
            raise DataError("\n".join(["nothing could be judged", *_by_reason(missing)]))
        for kind in CONTROLS if controls else ():
            tell(f"control: {kind} vectors")
            options["infer"] = None  # a control has vectors of words alone
            other = control(kind, vectors, seed=seed)
            # the control has the same words, so tasks that could not run are already reported for the model
            for report in run(other, jobs, name=f"{name} ({kind})", skipped=lambda _: None, **options):
                print_report(report)
    # a user who chose no tasks does not need to know what each skipped task requires
    asked = details or tasks is not None or folder is not None
    unasked = [] if asked else without_data
    told = _by_reason([entry for entry in missing if entry not in unasked])
    if unasked:
        names = ", ".join(dict.fromkeys(entry.task for entry in unasked))
        told.append(f"* no data files (see --details): {names}")
    left_out = "\n".join(["", "Not run:", *told]) if told else ""
    if as_json:
        if left_out and not quiet:
            say(left_out.lstrip())
    else:
        if details:
            show(f"\n{report_remarks(reports)}")
        _show_summary(
            name, summary_lines([report for report in reports if report.model == name]), reports, details
        )
        if left_out:
            show(left_out)
    if unwritten:
        raise unwritten[0]
    failed = [str(entry) for entry in missing if entry.failed]
    if failed:
        raise DataError("\n* ".join([f"{len(failed)} of {len(jobs)} sets could not be run", *failed]))


def _by_reason(missing: list[Any]) -> list[str]:
    """Return a line for each reason why tasks did not run."""
    tasks: dict[str, dict[str, None]] = {}
    for entry in missing:
        tasks.setdefault(entry.reason, {})[entry.task] = None
    return [f"* {', '.join(names)}: {reason}" for reason, names in tasks.items()]


def _show_summary(name: str, lines: list[str], reports: list[Any], details: bool) -> None:
    """Show the summary, and how the user can see further notes and figures."""
    columns = terminal_width() or 100
    write(f"\n{styled(f'Summary of {cell(name)}', 'heading')}")
    for line in lines:
        show("\n  ".join(wrapped(line, columns - 2)))
    for note in dict.fromkeys(report.details.get("language", "") for report in reports):
        if note:
            show(f"Note: {note}")
    if not details:
        n_notes = sum(len(report.notes) for report in reports)
        notes = f"{n_notes} notes, " if n_notes > 1 else "a note, " if n_notes else ""
        write(styled(f"More: {notes}other figures and how it was measured, with --details", "aside"))
