"""``cawv change``: which words have changed between texts?"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wordvec_ca._version import __version__
from wordvec_ca.cli.options import json_option, option, threads_option
from wordvec_ca.cli.output import PROVENANCE, say, show_json, write, write_outputs
from wordvec_ca.cli.paths import INPUT, OUTPUT_FILE, OUTPUT_FOLDER, check_svg, names_read
from wordvec_ca.cli.terminal import Column, table
from wordvec_ca.showable import showable_name
from wordvec_ca.specs.model_files import ModelFile


@click.command("change", short_help="Which words have changed between texts?")
@click.argument("texts", nargs=-1, required=True, type=INPUT)
@click.option("-o", "--output", type=OUTPUT_FILE, metavar="TSV", help="Write all words to this table; "
              "TSV.provenance.json says how it was made.")  # fmt: skip
@click.option("--plot", type=OUTPUT_FILE, metavar="FILE.svg", help="Draw how far the words shown are from "
              "the first text.")  # fmt: skip
@click.option("--page", type=OUTPUT_FILE, metavar="HTML", help="Write a page with all words, to search "
              "and sort in any browser.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace existing files.")
@json_option("A JSON object a word")
@click.option("-n", "--show", "n_shown", type=click.IntRange(min=0), default=20, show_default=True,
              help="Words to show.")  # fmt: skip
@click.option("--permutations", type=click.IntRange(20, 10_000), default=200, show_default=True,
              help="Number of permutations of the documents.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(min=1), default=5, show_default=True,
              help="Models of each text, each with its seed; distance and turnover are means.")  # fmt: skip
@click.option("--group-by", metavar="WAY", help="What a document is: blank-lines between documents, files, "
              "lines:N, or the name of a field of records (with --field).  [default: each line]")  # fmt: skip
@click.option("--least", type=click.IntRange(min=1), default=10, show_default=True,
              help="Words with fewer occurrences in any text are not judged.")  # fmt: skip
@click.option("--leave-out-names", is_flag=True, help="Do not judge words with a capital in most places "
              "inside sentences; not for German, where these are all nouns.")  # fmt: skip
@click.option("--save-models", type=OUTPUT_FOLDER, metavar="DIR", help="Save a model of each text and the "
              "table of changes, for axis and explore.")  # fmt: skip
@option("model", default="skipgram")
@option("vector_size", type=click.IntRange(min=2))
@option("window", type=int, metavar=None, default=10, show_default=True, help="Context words on each side.")
@option("epochs", default=None, show_default="10, and fewer for more than 3 million words")
@option("seed")
@option("tokenizer")
@option("encoding")
@option("lowercase")
@option("normalize")
@option("field")
@threads_option
@click.option("--quiet", "-q", is_flag=True, help="No progress; warnings and the result stay.")
def command(
    texts: tuple[str, ...],
    output: str | None,
    plot: str | None,
    page: str | None,
    overwrite: bool,
    as_json: bool,
    n_shown: int,
    permutations: int,
    repeats: int,
    least: int,
    group_by: str | None,
    leave_out_names: bool,
    save_models: str | None,
    quiet: bool,
    epochs: int | None,
    **training: Any,
) -> None:
    """Find the words that TEXTS, two or more, use differently, with p-values.

    A model of all texts is trained; in its vectors the words around each word are compared. Change is the
    distance between these contexts (0: none, 1: nothing in common) above chance: what remains when the
    documents that have the word are permuted among the texts. A document is a line, or what --group-by
    defines. fdr is the rate of false discoveries (Benjamini and Hochberg) among the words whose p is no
    larger. Words too rare to be judged are undecided.

    Texts about different subjects, or in different styles, use all words differently. So each word is judged
    against words of like frequency: it is called changed if its fdr is at most .05, its change is above
    theirs (their median; excess is the difference, the size of the effect), and it moved farther than most of
    them. Words that changed come first, by distance among words of like frequency, which orders words most as
    people do; function words come after others.

    Models of each text, --repeats of them, give the neighbours lost and gained, and how far the word moved
    (distance, turnover).

    TEXTS may be model directories instead: then there is no p, as there are no documents to permute, and the
    words that moved farthest come first.
    """
    from wordvec_ca import KeyedVectors, TrainConfig, changes, changes_of_models
    from wordvec_ca.change import changes_page, check_changes_output, save_changes
    from wordvec_ca.files import is_read_once
    from wordvec_ca.report import trajectories

    if len(texts) < 2:
        raise click.UsageError("give two texts or more: change is from one text to another")
    if any(map(is_read_once, texts)):
        raise click.UsageError("a text is read twice: give files, not standard input or pipes")
    check_svg(plot)
    if _are_models(texts):
        if save_models or leave_out_names:
            raise click.UsageError("--save-models and --leave-out-names are for texts, not for models")
        found = changes_of_models(*map(KeyedVectors.load, texts), least=least)
    else:
        if save_models is not None:
            check_changes_output(texts, save_models, overwrite=overwrite)
        found = changes(
            *_documents(texts, group_by, training),
            config=TrainConfig(
                epochs=epochs or TrainConfig.epochs, min_count=min(TrainConfig.min_count, least), **training
            ),
            fit_epochs=epochs is None,
            permutations=permutations,
            repeats=repeats,
            least=least,
            leave_out_names=leave_out_names,
            progress=None if quiet else say,
        )
    shown = found.words[:n_shown]
    if as_json:
        for one in found.words:
            show_json(one.to_dict())
    elif shown:
        write(_table(shown, permuted=bool(found.permutations)))
    certain = sum(one.fdr <= 0.05 for one in found.words)
    changed = [one for one in found.words if one.changed]
    function_words = sum(one.function_word for one in changed)
    if not found.permutations:
        say(
            "Two models of the same text with different seeds differ, too: this list does not tell which "
            "words changed. Give the texts instead for p-values."
        )
    if found.differ_throughout:
        say(
            "Most frequent words differ: the texts differ in subject or style. Words that differ no more "
            "than is typical of words of like frequency are used elsewhere, but not called changed."
        )
    if found.permutations:
        clauses = [f"{len(changed):,} of {len(found.words):,} words changed at a false-discovery rate of 5 %"]
        if function_words:
            clauses[0] += f", {function_words:,} of them function words"
        if others := certain - len(changed):
            clauses.append(f"another {others:,} differ by more than chance, but no more than is typical")
    else:
        clauses = [f"{len(found.words):,} words are in every model"]
    if found.undecided:
        clauses.append(f"{len(found.undecided):,} are undecided, too rare")
    alone = [
        f"{len(words):,} are only in {text}" for words, text in zip(found.only, texts, strict=True) if words
    ]
    say("; ".join(clauses + ([", ".join(alone)] if alone else [])))
    if found.limits:
        say(found.limits)
    drawn = [(one.word, one.trajectory, one.band) for one in shown]
    try:
        write_outputs(
            {
                output: found.table,
                output and output + PROVENANCE: _provenance,
                plot: lambda: trajectories(drawn, texts),
                page: lambda: changes_page(found, texts),
            },
            overwrite=overwrite,
        )
    finally:  # the models need no table
        if save_models is not None:
            save_changes(found, texts, save_models, overwrite=overwrite)


def _table(words: Sequence[Any], *, permuted: bool) -> str:
    """Return the words as a table: each word's change with its interval and p, or only how far it moved."""
    if permuted:
        columns = [
            Column("changed"),
            Column("distance", right=True),
            Column("change", right=True),
            Column("90 %", right=True, spare=2),
            Column("excess", right=True, spare=1),
            Column("p", right=True, spare=3),
            Column("fdr", right=True),
        ]
    else:
        columns = [Column("distance", right=True), Column("turnover", right=True)]
    rows = [
        (
            one.word,
            *(
                (
                    "yes" if one.changed else "no",
                    f"{one.distance:.3f}",
                    f"{one.change:.3f}",
                    f"{one.low:.2f} to {one.high:.2f}",
                    f"{one.excess:+.3f}",
                    f"{'≤ ' if one.p <= one.smallest_p * 1.001 else ''}{one.p:.2g}",
                    f"{one.fdr:.2f}",
                )
                if permuted
                else (f"{one.distance:.3f}", f"{one.turnover:.2f}")
            ),
            " ".join(map(str, one.counts)),
            ", ".join(one.lost[:3]) or "-",
            ", ".join(one.gained[:3]) or "-",
        )
        for one in words
    ]
    columns = [Column("word"), *columns, Column("counts", spare=4), Column("lost"), Column("gained")]
    return table(columns, rows)


def _documents(texts: tuple[str, ...], group_by: str | None, training: dict[str, Any]) -> list[Any]:
    """Return the texts or, with ``group_by``, their `Documents`, which contain the options for reading."""
    if group_by is None:
        return list(texts)
    from wordvec_ca.change import Documents

    field, encoding = training.pop("field") or None, training.pop("encoding")
    try:
        return [Documents(text, group_by, field=field, encoding=encoding) for text in texts]
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _are_models(names: tuple[str, ...]) -> bool:
    """Return whether all names are those of models; raise a DataError if only some are."""
    import os

    from wordvec_ca.errors import DataError

    models = [name for name in names if os.path.isfile(os.path.join(name, ModelFile.CONFIG))]
    if models and len(models) < len(names):
        raise DataError(
            f"{models[0]!r} is a model, and p-values need documents to permute: give the text that it was "
            "trained on, or models only, which are compared without p"
        )
    return bool(models)


def _provenance() -> str:
    """Return the provenance of what the running command writes, as JSON."""
    # It has ``program``, ``command``, ``time`` (UTC), ``seed``, and ``inputs``: name and SHA-256 of each.
    # The digest of a folder is that of its ``SHA256SUMS`` if there is one, else that of the digests of its
    # files.
    from wordvec_ca.files import json_text

    context = click.get_current_context()
    record: dict[str, Any] = {
        "program": f"cawv {__version__}",
        "command": shlex.join(["cawv", *map(showable_name, context.find_root().obj["arguments"])]),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seed": context.params.get("seed"),
        "inputs": [
            {"name": showable_name(name), "sha256": _digest(Path(name))} for name in names_read(context)
        ],
    }
    return json_text(record, indent=2) + "\n"


def _digest(path: Path) -> str | None:
    """Return the SHA-256 of a file or folder; None if it is not on this machine or no longer exists."""
    from wordvec_ca.files import CHECKSUMS

    if path.is_dir():
        sums = path / CHECKSUMS
        if sums.is_file():
            return _digest(sums)
        files = sorted(file for file in path.rglob("*") if file.is_file())
        lines = "".join(f"{_digest(file)}  {file.relative_to(path)}\n" for file in files)
        return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
