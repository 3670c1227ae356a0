"""``cawv train``: train a model on text."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import cloup

from wordvec_ca.cli.options import options_from, typed_options
from wordvec_ca.cli.output import next_commands, say, show
from wordvec_ca.cli.paths import INPUT, check_not_read
from wordvec_ca.cli.settings import given_settings
from wordvec_ca.cli.train_options import train_options
from wordvec_ca.model_specs import models_with_option
from wordvec_ca.quantities import counted


@cloup.command(name="train", short_help="Train a model on text.", align_option_groups=True)
@click.argument("corpus", nargs=-1, metavar="CORPUS...", type=INPUT)
@train_options
def command(corpus: tuple[str, ...], **options: Any) -> None:
    """Train word vectors on CORPUS and write a model directory.

    CORPUS is one or more files (plain or .gz .bz2 .xz .zst, recognised by content), directories, patterns, or
    - for standard input: UTF-8, one sentence or paragraph a line; windows never cross a line.

    Ctrl-C stops the run and saves what was trained; --resume continues it, also after a crash.
    """
    from wordvec_ca.errors import DataError
    from wordvec_ca.models import TrainConfig
    from wordvec_ca.training import parse_interval

    try:
        parse_interval(options["checkpoint_every"])
    except ValueError as error:
        raise click.UsageError(_as_options(str(error), options)) from error
    if options["phrases"]:
        options["phrases"] = os.path.abspath(options["phrases"])  # a run may be continued from elsewhere
    _check_tokenizer(options["tokenizer"])
    if options["resume"]:
        _resume(corpus, options)
        return
    if not corpus:
        raise click.UsageError("Missing argument 'CORPUS...'.")
    if options["accept_changes"]:
        raise click.UsageError("--accept-changes goes with --resume")
    given = {name: options[name] for name in TrainConfig.__dataclass_fields__ if name in options}
    if options["cluster"]:
        _check_cluster(options)
        given["workers"] = 1  # of this machine, which only drives the others
    try:
        if options["continue_from"]:
            from wordvec_ca.training import continued_config

            changes = {name: value for name, value in given.items() if name in _given()}
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
    if options["init_vectors"] and config.subwords:
        raise click.UsageError(
            "--init-vectors gives the vectors of words, which --subwords makes of n-grams: leave one of them "
            "out, or --continue-from a fastText .bin or a model with n-grams"
        )
    if config.resamples is not None and (options["continue_from"] or options["init_vectors"]):
        raise click.UsageError(
            "--resamples is for models that begin anew: leave it out, or --continue-from and --init-vectors"
        )
    if options["valid"] == "-" and "-" in corpus:
        raise click.UsageError("standard input (-) cannot be both CORPUS and --valid")
    if options["no_cache"] and options["keep_cache"]:
        raise click.UsageError("--no-cache and --keep-cache exclude each other: give one of them")
    if options["output"] == "":
        raise click.UsageError("--output is empty: give the name of a directory, or leave it out")
    _check_of_use(config.model, options)
    if options["cluster"]:
        _train_on_cluster(corpus, config, options)
        return
    if options["dry_run"]:
        _print_plan(corpus, config, options)
        return
    _train(corpus, config, options)


def _check_tokenizer(tokenizer: str) -> None:
    """Raise a DataError if a settings file names a function to run: a name in a file runs no code."""
    from wordvec_ca.text import trusted_tokenizer

    source = click.get_current_context().get_parameter_source("tokenizer")
    if source is click.core.ParameterSource.DEFAULT_MAP:
        trusted_tokenizer(tokenizer, None, "the run of these settings")


GOES_WITH = {"nodes": "cluster", "checkpoint_dir": "cluster", "storage_patience": "cluster"}
"""Options that mean nothing without another."""


def _check_of_use(model: str, options: dict[str, Any]) -> None:
    """Raise a usage error for an option that the model does not have: who gives one means another model."""
    for name in sorted(_given(variables=False) & _foreign(model)):
        if name != "negatives" or options[name] != "exact":
            models = ", ".join(models_with_option(name))
            raise click.UsageError(f"{_flag(name)} is for --model {models}, not for {model}")
    for name in sorted(typed_options() & set(GOES_WITH)):
        if not options[GOES_WITH[name]]:
            raise click.UsageError(f"{_flag(name)} goes with {_flag(GOES_WITH[name])}: give both, or neither")


def _foreign(model: str) -> set[str]:
    """Return the options that a model does not have."""
    return {name for name in click.get_current_context().params if model not in models_with_option(name)}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _train(corpus: tuple[str, ...], config: Any, options: dict[str, Any]) -> None:
    from wordvec_ca.files import check_output
    from wordvec_ca.training import train
    from wordvec_ca.vectors import MODEL_FILES

    output = options["output"] or default_output(corpus, config.model)
    check_output(output, overwrite=options["overwrite"], files=MODEL_FILES)
    _check_vocab_file(corpus, options)
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
            settings=given_settings(click.get_current_context(), config, _foreign(config.model)),
            progress=False,
        )
    _tell(model, output, options)


NOT_ON_CLUSTER = ("continue_from", "init_vectors", "no_cache", "keep_cache", "backend", "resamples")
"""Options of a run on one machine alone."""


def _check_cluster(options: dict[str, Any]) -> None:
    """Raise a usage error for an address that is none, and for what a cluster does not do."""
    from wordvec_ca.training import check_cluster_address

    try:
        check_cluster_address(options["cluster"])
    except ValueError as error:
        raise click.UsageError(_as_options(str(error), options)) from error
    for name in NOT_ON_CLUSTER:
        if name in _given():
            raise click.UsageError(f"{_flag(name)} does not go with --cluster: leave one of them out")


def _train_on_cluster(corpus: tuple[str, ...], config: Any, options: dict[str, Any]) -> None:
    from wordvec_ca.training import describe_cluster_plan, plan_on_cluster, train_on_cluster

    if options["dry_run"]:
        plan = plan_on_cluster(
            list(corpus),
            config,
            cluster=options["cluster"],
            nodes=options["nodes"],
            workers=options["workers"],
            vocab=_loaded_vocab(options),
            cache_dir=options["cache_dir"],
            notice=say,
        )
        show(describe_cluster_plan(plan))
        return
    output = options["output"] or default_output(corpus, config.model)
    _check_vocab_file(corpus, options)
    settings = given_settings(click.get_current_context(), config, _foreign(config.model))
    del settings["workers"]  # of this machine
    if options["workers"]:
        settings["workers"] = options["workers"]
    with contextlib.ExitStack() as stack:
        callbacks, _ = _displays(stack, options)
        run = train_on_cluster(
            list(corpus),
            config,
            output=output,
            cluster=options["cluster"],
            nodes=options["nodes"],
            workers=options["workers"],
            overwrite=options["overwrite"],
            callbacks=callbacks,
            notice=(lambda text: None) if options["quiet"] else say,
            valid=options["valid"],
            vocab=_given_vocab(options),
            cache_dir=options["cache_dir"],
            checkpoint_every=options["checkpoint_every"],
            checkpoint_dir=options["checkpoint_dir"],
            storage_patience=options["storage_patience"],
            command=shlex.join(["cawv", *click.get_current_context().find_root().obj["arguments"]]),
            settings=settings,
        )
    _tell(run, output, options)


WITH_RESUME_ON_CLUSTER = {
    "resume",
    "cluster",
    "nodes",
    "output",
    "overwrite",
    "save_vocab",
    "progress",
    "quiet",
    "log_json",
}
"""Options of a run on a cluster that may be others when it is resumed."""


def _resume_on_cluster(options: dict[str, Any]) -> None:
    from wordvec_ca.training import resume_on_cluster

    typed = typed_options()
    for name in sorted(typed - WITH_RESUME_ON_CLUSTER):
        raise click.UsageError(
            f"{'CORPUS' if name == 'corpus' else _flag(name)} does not go with --resume of a run on a "
            "cluster, which goes on as it began: leave it out"
        )
    if options["save_vocab"]:
        _check_file("--save-vocab", options["save_vocab"], overwrite=options["overwrite"])
    with contextlib.ExitStack() as stack:
        callbacks, _ = _displays(stack, options)
        run = resume_on_cluster(
            options["resume"],
            cluster=options["cluster"],
            nodes=options["nodes"] if "nodes" in typed else None,
            output=options["output"],
            overwrite=options["overwrite"],
            callbacks=callbacks,
            notice=(lambda text: None) if options["quiet"] else say,
        )
    _tell(run, run.directory, options)


NOT_WITH_RESUME = (
    "dry_run",
    "continue_from",
    "init_vectors",
    "no_cache",
    "keep_cache",
    "cache_dir",
    "config",
)
"""Options of a run that has begun, and of one that is not to begin."""


def _resume(corpus: tuple[str, ...], options: dict[str, Any]) -> None:
    from wordvec_ca.models import TrainConfig
    from wordvec_ca.training import is_cluster_run, resume, run_folder

    if is_cluster_run(options["resume"]):
        _resume_on_cluster(options)
        return
    typed = typed_options()
    given = {name: value for name, value in options.items() if name in typed}
    output = options["resume"].rstrip("/").removesuffix(".run")
    for name in ("cluster", "nodes", "checkpoint_dir", "storage_patience"):
        if name in typed:
            raise click.UsageError(
                f"{_flag(name)} is for runs on a cluster, and {options['resume']!r} has none to "
                "resume: leave it out, or give --resume the place of its checkpoints"
            )
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
            progress=False,
        )
    _tell(model, output, options)


def _given_vocab(options: dict[str, Any]) -> Any:
    """Return the vocabulary to use, pruned by --min-count and --max-final-vocab if they were given."""
    typed = _given() & {"min_count", "max_final_vocab"}
    if not options["read_vocab"] or not typed:
        return options["read_vocab"]
    from wordvec_ca.corpus import Vocab

    return Vocab.load(options["read_vocab"]).prune(**{name: options[name] for name in typed})


def _loaded_vocab(options: dict[str, Any]) -> Any:
    from wordvec_ca.corpus import Vocab

    given = _given_vocab(options)
    return Vocab.load(given) if isinstance(given, str) else given


def _given(*, variables: bool = True) -> set[str]:
    """Return the names of the options that somebody chose: there, in the settings, or in variables."""
    source = click.core.ParameterSource
    return options_from(source.COMMANDLINE, source.DEFAULT_MAP, *([source.ENVIRONMENT] if variables else []))


def _tell(model: Any, output: str, options: dict[str, Any]) -> None:
    """Say what came out of a run, and exit with 130 if it was interrupted."""
    if not options["quiet"]:
        say(_summary(model, output))
    show(output)
    if options["save_vocab"]:
        model.vocab.save(options["save_vocab"])
    if model.record["interrupted"]:
        done = f"{model.record['trained_fraction']:.1%} of the run"
        say(f"Interrupted after {done}; what was trained is saved.")
        raise click.exceptions.Exit(130)
    if not options["quiet"]:
        say(next_commands(output))


def _displays(stack: contextlib.ExitStack, options: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return what shows and logs the training, and what shows the reading."""
    from wordvec_ca.training import JsonLog, progress_display

    callbacks: list[Any] = []
    if options["log_json"]:
        _check_file("--log-json", options["log_json"], overwrite=True)
        _check_log(options["log_json"])
        callbacks.append(stack.enter_context(JsonLog(Path(options["log_json"]))))
    style = "none" if options["quiet"] else options["progress"]
    if style == "auto":
        style = "bar" if sys.stderr.isatty() else "lines"
    displays, reading = stack.enter_context(progress_display(style))
    return [*callbacks, *displays], reading


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


def _check_vocab_file(corpus: tuple[str, ...], options: dict[str, Any]) -> None:
    """Raise a usage error if --save-vocab names what could not be written, or what is read."""
    if options["save_vocab"]:
        _check_file("--save-vocab", options["save_vocab"], overwrite=options["overwrite"])
        check_not_read(options["save_vocab"], *corpus, *filter(None, [options["valid"], options["phrases"]]))


def _check_log(name: str) -> None:
    """Raise a usage error rather than append records to, say, the corpus."""
    if Path(name).is_file():
        with open(name, "rb") as file:
            begun = file.readline(10_000)
            if begun and not all(name in begun for name in (b'{"time": ', b'"fraction": ', b'"epoch": ')):
                raise click.BadParameter(f"{name!r} exists and is not such a log", param_hint="--log-json")


def _print_plan(corpus: tuple[str, ...], config: Any, options: dict[str, Any]) -> None:
    from wordvec_ca.cli.reading_bar import reading_bar
    from wordvec_ca.training import describe, plan

    with reading_bar(options["quiet"]) as progress:
        result = plan(
            list(corpus),
            config,
            vocab=_given_vocab(options),
            continue_from=options["continue_from"],
            no_cache=options["no_cache"],
            progress=progress,
        )
    show(describe(result))


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
        from wordvec_ca.vectors import why_no_gensim

        why = why_no_gensim() or "it was not there when the model was saved"
        lines.append(
            f"no index for gensim, which cannot be used here ({why}); later: cawv export {output} "
            "--format gensim"
        )
    return "\n".join(lines)


def records_report(records: dict[str, int]) -> list[str]:
    """Return a line that tells what was met in JSON lines and dumps, if there were any."""
    return [", ".join(counted(n, what) for what, n in records.items())] if records else []


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
