"""``cawv train``: train a model on text."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

MODEL_NAMES = ["cbow", "skipgram", "ssg", "cwindow", "cbow-attn"]


class ModelChoice(click.Choice[str]):
    """The models, also by the other names that people know."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the canonical name."""
        from wordvec_ca.config import MODEL_ALIASES

        return super().convert(MODEL_ALIASES.get(value, value), param, ctx)


@click.command(name="train", short_help="Train a model on text.")
@click.argument("corpus", nargs=-1, metavar="CORPUS...")
@click.option(
    "-o", "--output", metavar="DIR", help="Model directory.  [default: CORPUS.MODEL in the working directory]"
)
@click.option("--overwrite", is_flag=True, help="Replace the model directory if it exists.  [default: off]")
@click.option(
    "--model", type=ModelChoice(MODEL_NAMES), default="cbow", show_default=True, help="Which model."
)
@click.option(
    "--vector-size",
    "--size",
    "--dim",
    "-d",
    type=int,
    default=100,
    show_default=True,
    help="Dimensions of a vector.",
)
@click.option("--window", "-w", type=int, help="Context words on each side.  [default: 5; 20 for cbow-attn]")
@click.option(
    "--shrink-windows/--no-shrink-windows",
    default=None,
    help="Draw each window's size from 1 to --window.  [default: yes for cbow and skipgram]",
)
@click.option("--negative", type=int, default=5, show_default=True, help="Negatives per prediction.")
@click.option(
    "--ns-exponent",
    type=float,
    default=0.75,
    show_default=True,
    help="Negatives are drawn in proportion to count ** this.",
)
@click.option(
    "--negatives",
    type=click.Choice(["exact", "shared"]),
    help="Own negatives for each prediction, or some shared by predictions from far apart.  "
    "[default: shared, but exact for ssg and cwindow]",
)
@click.option(
    "--shared-by",
    type=int,
    help="Predictions that share negatives.  "
    "[default: 4, for skipgram 16; at most one for each 128,000 words]",
)
@click.option(
    "--sample",
    type=float,
    default=1e-3,
    show_default=True,
    help="Sub-sample words that make up more than this share of the text; 0: none.",
)
@click.option(
    "--alpha",
    "--lr",
    type=float,
    help="Learning rate at the start.  "
    "[default: 0.2 for cbow and cbow-attn, 0.05 with --cbow-update word2vec; 0.025 for ssg; else 0.05]",
)
@click.option("--min-alpha", type=float, default=1e-4, show_default=True, help="Learning rate at the end.")
@click.option("--epochs", "--iter", type=int, default=5, show_default=True, help="Passes over the text.")
@click.option(
    "--workers",
    "--threads",
    type=int,
    help="Threads; 1 is reproducible bit for bit.  [default: one per processor]",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of everything random.")
@click.option("--min-count", type=int, default=5, show_default=True, help="Drop rarer words.")
@click.option("--max-final-vocab", type=int, help="Keep at most so many words.  [default: no limit]")
@click.option(
    "--cbow-update",
    type=click.Choice(["exact", "word2vec"]),
    default="exact",
    show_default=True,
    help="cbow, cbow-attn: move context rows by their gradient, or by n times that, as gensim does.",
)
@click.option(
    "--attention",
    type=click.Choice(["full", "position", "word"]),
    default="full",
    show_default=True,
    help="cbow-attn: logits by word and place, by place, or by word.",
)
@click.option(
    "--attention-alpha", type=float, help="cbow-attn: learning rate of the logits.  [default: as --alpha]"
)
@click.option(
    "--attention-warmup",
    type=float,
    default=0.1,
    show_default=True,
    help="cbow-attn: share of the run before the logits learn.",
)
@click.option(
    "--attention-clip",
    type=float,
    default=10.0,
    show_default=True,
    help="cbow-attn: read logits as if within +- this.",
)
@click.option(
    "--backend",
    type=click.Choice(["cython", "numba"]),
    default="cython",
    show_default=True,
    help="Implementation of the training loop.",
)
@click.option(
    "--tokenizer",
    type=click.Choice(["words", "whitespace"]),
    default="words",
    show_default=True,
    help="Split words, numbers and punctuation, or at white space only.",
)
@click.option("--lowercase/--no-lowercase", default=True, show_default=True, help="Fold case.")
@click.option(
    "--field",
    metavar="NAME",
    help="CORPUS is JSON lines; train on this field of each.  [default: plain text]",
)
@click.option(
    "--count-memory",
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Words and counts beyond this go to disk.  [default: 1/4 of free memory, at most 1024]",
)
@click.option("--phrases", metavar="FILE", help="Join these, from cawv phrases: new_york.  [default: none]")
@click.option(
    "--read-vocab",
    metavar="FILE",
    help="Use these words; --min-count drops some only if given.  [default: count]",
)
@click.option(
    "--save-vocab", metavar="FILE", help="Also write the vocabulary here.  [default: only in the model]"
)
@click.option(
    "--valid", metavar="FILE", help="Held-out text: print its loss after each epoch.  [default: none]"
)
@click.option(
    "--checkpoint-every",
    metavar="TIME|TOKENS",
    default="10m",
    show_default=True,
    help="Write a checkpoint after so much time (30s, 10m, 2h) or text (5M), or never.",
)
@click.option(
    "--resume",
    metavar="DIR",
    help="Continue the run whose --output was DIR; give at most --log-json and --quiet again.  "
    "[default: begin a run]",
)
@click.option(
    "--continue-from",
    metavar="MODEL",
    help="Train this model further: its options, words and parameters, and the new words of CORPUS.  "
    "[default: begin anew]",
)
@click.option(
    "--init-vectors",
    metavar="FILE",
    help="Begin with these vectors (any format that cawv reads) for the words that FILE has.  "
    "[default: random]",
)
@click.option(
    "--accept-changes",
    is_flag=True,
    help="--resume although the corpus's files or the instruction set have changed.  [default: off]",
)
@click.option(
    "--cache-dir",
    metavar="DIR",
    help="Where the encoded text goes.  [default: OUTPUT.run; if kept, OUTPUT.cache]",
)
@click.option(
    "--keep-cache/--no-keep-cache",
    default=False,
    show_default=True,
    help="Keep the encoded text and use it again if nothing changed.",
)
@click.option(
    "--no-cache",
    is_flag=True,
    help="Store no encoded text: read the text anew in every epoch.  [default: off]",
)
@click.option(
    "--progress",
    type=click.Choice(["auto", "bar", "lines", "none"]),
    default="auto",
    show_default=True,
    help="How to show progress; auto: a bar on a terminal, else lines.",
)
@click.option(
    "--quiet", "-q", is_flag=True, help="Print nothing but the name of the model directory.  [default: off]"
)
@click.option(
    "--log-json", metavar="FILE", help="Append a JSON record per second and epoch.  [default: none]"
)
@click.option(
    "--dry-run", is_flag=True, help="Read the text, print what the run would need, and stop.  [default: off]"
)
def command(corpus: tuple[str, ...], **options: Any) -> None:
    """Train word vectors on CORPUS and write a model directory.

    CORPUS is one or more files (plain or .gz .bz2 .xz .zst, recognised by content), directories, patterns, or
    - for standard input: UTF-8, one sentence or paragraph a line; windows never cross a line.

    Ctrl-C stops the run and saves what was trained; --resume continues it, also after a crash.
    """
    from wordvec_ca.checkpoint import parse_interval
    from wordvec_ca.config import TrainConfig
    from wordvec_ca.errors import DataError

    try:
        parse_interval(options["checkpoint_every"])
    except ValueError as error:
        raise click.UsageError(_as_options(str(error), options)) from error
    if options["phrases"]:
        options["phrases"] = os.path.abspath(options["phrases"])  # a run may be continued from elsewhere
    if options["resume"]:
        _resume(corpus, options)
        return
    if not corpus:
        raise click.UsageError("Missing argument 'CORPUS...'.")
    if options["accept_changes"]:
        raise click.UsageError("--accept-changes goes with --resume")
    given = {name: options[name] for name in TrainConfig.__dataclass_fields__ if name in options}
    try:
        if options["continue_from"]:
            from wordvec_ca.continuation import continued_config

            changes = {name: value for name, value in given.items() if name in _typed()}
            config = continued_config(options["continue_from"], changes)
        else:
            config = TrainConfig(**given).resolved()
    except DataError:
        raise
    except ValueError as error:
        raise click.UsageError(_as_options(str(error), given)) from error
    if options["continue_from"] and (options["init_vectors"] or options["read_vocab"]):
        raise click.UsageError(
            "--continue-from brings its own words and vectors: leave out --init-vectors and --read-vocab"
        )
    if options["valid"] == "-" and "-" in corpus:
        raise click.UsageError("standard input (-) cannot be both CORPUS and --valid")
    if options["no_cache"] and options["keep_cache"]:
        raise click.UsageError("--no-cache and --keep-cache exclude each other: give one of them")
    if options["output"] == "":
        raise click.UsageError("--output is empty: give the name of a directory, or leave it out")
    _check_of_use(config.model, options)
    if options["dry_run"]:
        _print_plan(corpus, config, options)
        return
    _train(corpus, config, options)


def _check_of_use(model: str, options: dict[str, Any]) -> None:
    """Raise a usage error for an option that the model does not have: who gives one means another model."""
    from wordvec_ca.config import AVERAGING, SHARED_BY

    having = {
        "attention": ("cbow-attn",),
        "attention_alpha": ("cbow-attn",),
        "attention_warmup": ("cbow-attn",),
        "attention_clip": ("cbow-attn",),
        "cbow_update": AVERAGING,
        "negatives": tuple(SHARED_BY),
        "shared_by": tuple(SHARED_BY),
    }
    for name in sorted(_typed() & having.keys()):
        harmless = name == "negatives" and options[name] == "exact"
        if model not in having[name] and not harmless:
            raise click.UsageError(f"{_flag(name)} is for --model {', '.join(having[name])}, not for {model}")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _train(corpus: tuple[str, ...], config: Any, options: dict[str, Any]) -> None:
    from wordvec_ca.model import check_output
    from wordvec_ca.training import train

    output = options["output"] or default_output(corpus, config.model)
    check_output(output, overwrite=options["overwrite"])
    if options["save_vocab"]:
        _check_file("--save-vocab", options["save_vocab"], overwrite=options["overwrite"])
    with contextlib.ExitStack() as stack:
        callbacks, encoding_progress = _displays(stack, options)
        model = train(
            list(corpus),
            config,
            output=output,
            overwrite=options["overwrite"],
            callbacks=callbacks,
            valid=options["valid"],
            vocab=_given_vocab(options),
            cache_dir=options["cache_dir"],
            keep_cache=options["keep_cache"],
            no_cache=options["no_cache"],
            encoding_progress=encoding_progress,
            checkpoint_every=options["checkpoint_every"],
            continue_from=options["continue_from"],
            init_vectors=options["init_vectors"],
            command=shlex.join(["cawv", *click.get_current_context().find_root().obj["arguments"]]),
        )
    _tell(model, output, options)


NOT_WITH_RESUME = ("dry_run", "continue_from", "init_vectors", "no_cache", "keep_cache", "cache_dir")
"""Options of a run that has begun, and of one that is not to begin."""


def _resume(corpus: tuple[str, ...], options: dict[str, Any]) -> None:
    from wordvec_ca.config import TrainConfig
    from wordvec_ca.training import resume
    from wordvec_ca.unfinished_run import run_folder

    typed = _typed()
    given = {name: value for name, value in options.items() if name in typed}
    output = options["resume"].rstrip("/").removesuffix(".run")
    for name in NOT_WITH_RESUME:
        if name in typed:
            raise click.UsageError(
                f"{_flag(name)} does not go with --resume, which goes on as the run began: leave it out"
            )
    if "output" in given and run_folder(given["output"]) != run_folder(output):
        raise click.UsageError(
            f"--output is {given['output']!r}, but --resume continues {output!r}: leave it out"
        )
    if options["save_vocab"]:
        _check_file("--save-vocab", options["save_vocab"], overwrite=options["overwrite"])
    with contextlib.ExitStack() as stack:
        callbacks, encoding_progress = _displays(stack, options)
        model = resume(
            options["resume"],
            corpus=list(corpus) or None,
            valid=options["valid"],
            vocab=_given_vocab(options),
            changes={name: given[name] for name in TrainConfig.__dataclass_fields__ if name in given},
            accept_changes=options["accept_changes"],
            callbacks=callbacks,
            encoding_progress=encoding_progress,
            checkpoint_every=given.get("checkpoint_every"),
        )
    _tell(model, output, options)


def _given_vocab(options: dict[str, Any]) -> Any:
    """Return the vocabulary to use, pruned by --min-count and --max-final-vocab if they were given."""
    typed = _typed() & {"min_count", "max_final_vocab"}
    if not options["read_vocab"] or not typed:
        return options["read_vocab"]
    from wordvec_ca.vocab import Vocab

    return Vocab.load(options["read_vocab"]).prune(**{name: options[name] for name in typed})


def _typed() -> set[str]:
    """Return the names of the options that stand on the command line."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    return {name for name in context.params if context.get_parameter_source(name) is typed}


def _tell(model: Any, output: str, options: dict[str, Any]) -> None:
    """Say what came out of a run, and exit with 130 if it was interrupted."""
    if not options["quiet"]:
        click.echo(_summary(model, output), err=True)
    click.echo(output)
    if options["save_vocab"]:
        model.vocab.save(options["save_vocab"])
    if model.record["interrupted"]:
        done = f"{model.record['trained_fraction']:.1%} of the run"
        click.echo(f"Interrupted after {done}; what was trained is saved.", err=True)
        raise click.exceptions.Exit(130)


def _displays(stack: contextlib.ExitStack, options: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return what shows and logs the training, and what shows the reading."""
    from wordvec_ca.cli.reading_bar import reading_bar
    from wordvec_ca.progress import Bar, JsonLog, Lines

    callbacks: list[Any] = []
    if options["log_json"]:
        _check_file("--log-json", options["log_json"], overwrite=True)
        _check_log(options["log_json"])
        callbacks.append(stack.enter_context(JsonLog(Path(options["log_json"]))))
    style = "none" if options["quiet"] else options["progress"]
    if style == "auto":
        style = "bar" if sys.stderr.isatty() else "lines"
    if style == "lines":
        callbacks.append(Lines())
    elif style == "bar":
        callbacks.append(stack.enter_context(Bar()))
    return callbacks, stack.enter_context(reading_bar(style != "bar"))


def _check_file(option: str, name: str, *, overwrite: bool) -> None:
    """Raise a usage error if a file could not be written at the end: before training, not after."""
    path = Path(name)
    if path.is_dir():
        raise click.BadParameter(f"{name!r} is a directory; give the name of a file", param_hint=option)
    if not path.absolute().parent.is_dir():
        raise click.BadParameter(f"{name!r}: {str(path.parent)!r} is not a directory", param_hint=option)
    if path.exists() and not overwrite:
        raise click.BadParameter(f"{name!r} exists; give --overwrite to replace it", param_hint=option)
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise click.BadParameter(f"{name!r} cannot be written: permission denied", param_hint=option)


def _check_log(name: str) -> None:
    """Raise a usage error rather than append records to, say, the corpus."""
    if Path(name).is_file():
        with open(name, "rb") as file:
            begun = file.readline(10_000)
            if begun and not all(name in begun for name in (b'{"time": ', b'"fraction": ', b'"epoch": ')):
                raise click.BadParameter(f"{name!r} exists and is not such a log", param_hint="--log-json")


def _print_plan(corpus: tuple[str, ...], config: Any, options: dict[str, Any]) -> None:
    from wordvec_ca.cli.reading_bar import reading_bar
    from wordvec_ca.plan import describe, plan

    with reading_bar(options["quiet"]) as progress:
        result = plan(
            list(corpus),
            config,
            vocab=_given_vocab(options),
            continue_from=options["continue_from"],
            progress=progress,
        )
    click.echo(describe(result))


def _summary(model: Any, output: str) -> str:
    corpus, timings = model.record["corpus"], model.record["timings"]
    lines = [
        f"{corpus['raw_tokens']:,} tokens read in {timings['encoding_seconds']:.1f} s; "
        f"{len(model.vocab):,} words; trained in {timings['training_seconds']:.1f} s"
    ]
    for change in model.record["changes"]:
        if "words_kept" in change:
            origin = change.get("continued_from") or change["init_vectors"]
            lines.append(
                f"{change['words_kept']:,} words began as in {origin}, {change['words_new']:,} are new"
            )
    if corpus["repaired_utf8"]:
        lines.append(
            f"{corpus['repaired_utf8']:,} invalid UTF-8 sequences read as U+FFFD, "
            f"the first in {corpus['first_repaired']}"
        )
    lines += records_report(corpus["records"])
    if corpus["split_lines"]:
        lines.append(f"{corpus['split_lines']:,} cuts in lines of more than 10,000 tokens")
    if corpus["cut_tokens"]:
        lines.append(f"{corpus['cut_tokens']:,} cuts in tokens of more than 1,000 bytes")
    if not (Path(output) / "vectors.kv").exists():
        lines.append(f"no gensim here, so no index for it; later: cawv export {output} --format gensim")
    return "\n".join(lines)


def records_report(records: dict[str, int]) -> list[str]:
    """Return a line that tells what was met in JSON lines and dumps, if there were any."""
    return [", ".join(f"{n:,} {what}" for what, n in records.items())] if records else []


def default_output(corpus: tuple[str, ...], model: str) -> str:
    """Return the model directory's name when none is given: wiki.en.txt.xz becomes wiki.en.cbow."""
    name = "stdin" if corpus[0] == "-" else Path(corpus[0]).absolute().name
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".txt", ".xml"):
        name = name.removesuffix(suffix)
    name = "".join(c for c in name if c not in "*?[]") or "corpus"
    return f"{name}.{model}"


def _as_options(message: str, names: dict[str, Any]) -> str:
    """Spell the options in a library message as on the command line."""
    for name in sorted(names, key=len, reverse=True):
        if message.startswith(name + " "):
            message = _flag(name) + message[len(name) :]
    return message
