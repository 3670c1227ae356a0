"""``cawv train``: trains a model on text."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import cloup

from wordvec_ca.cli.options import FirstPage, option, options_from, typed_options
from wordvec_ca.cli.output import next_commands, say, show, write
from wordvec_ca.cli.paths import INPUT, check_not_read
from wordvec_ca.cli.sentence_options import tell_fields
from wordvec_ca.cli.settings import config_option, given_settings, preset_option
from wordvec_ca.errors import Option
from wordvec_ca.showable import counted, showable_name
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.options import GROUPS, OPTIONS, RunOptions, check_together, spelled_as_flag

if TYPE_CHECKING:
    from wordvec_ca.models import ResolvedConfig


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of training under the headings of the help, the most needed first."""
    # these two set defaults of the others, so they are read first
    eager = {"config": config_option, "preset": preset_option}
    for title in reversed(GROUPS):
        names = [name for name, spec in OPTIONS.items() if spec.group == title]
        options = [eager.get(name) or option(name) for name in names]
        function = cloup.option_group(title, *options)(function)
    return function


class _Train(FirstPage, cloup.Command):
    """The command, whose help shows one heading at first."""

    later = frozenset(name for name, spec in OPTIONS.items() if spec.group != GROUPS[0])

    def get_ungrouped_options(self, ctx: click.Context) -> list[click.Option]:
        """Return the options that stand below the headings."""
        return [*super().get_ungrouped_options(ctx), self.help_all]


@cloup.command(name="train", cls=_Train, short_help="Train a model on text.", align_option_groups=True)
@click.argument("corpus", nargs=-1, metavar="CORPUS...", type=INPUT)
@_with_options
def command(corpus: tuple[str, ...], **options: Any) -> None:
    """Train word vectors on CORPUS and write a model directory.

    \b
    cawv train wiki.txt --model cbow-attn -o wiki.model

    CORPUS is one or more files (plain or .gz .bz2 .xz .zst, recognised by content), directories, patterns, or
    - for standard input: UTF-8, one sentence or paragraph a line; windows never cross a line.

    Ctrl-C stops the run and saves what was trained; --resume continues it, also after a crash.
    """  # noqa: D301 - click needs the backspace
    from wordvec_ca.cluster import check_cluster_address
    from wordvec_ca.models import ResolvedConfig, TrainConfig
    from wordvec_ca.runs import continued_config, remembered_fields
    from wordvec_ca.training import parse_interval

    run = RunOptions(**{name: options.pop(name) for name in RunOptions.__dataclass_fields__})
    parse_interval(run.checkpoint_every)
    if options["phrases"]:
        options["phrases"] = os.path.abspath(options["phrases"])  # a run may be resumed in another directory
    _check_tokenizer(options["tokenizer"])
    if run.resume:
        _resume(corpus, run, options)
        return
    if not corpus:
        raise click.UsageError("Missing argument 'CORPUS...'.")
    if run.cluster:
        check_cluster_address(run.cluster)
    changes = {name: options[name] for name in _given() & set(options)}
    fields: dict[str, Any] = {}
    if run.continue_from and "field" not in changes:
        fields = remembered_fields(run.continue_from, list(corpus))
        if not run.quiet:
            tell_fields(fields)
    given = {name for name in _given() if options.get(name, getattr(run, name, None)) is not False}
    given |= fields.keys()
    check_together(given, asked=typed_options())
    if run.continue_from:
        config = continued_config(run.continue_from, fields | changes)
    else:
        config = ResolvedConfig.of(TrainConfig(**options), on_cluster=bool(run.cluster))
    if run.valid == "-" and "-" in corpus:
        raise click.UsageError("standard input (-) cannot be both CORPUS and --valid")
    if run.output == "":
        raise click.UsageError("--output is empty: give the name of a directory, or leave it out")
    _check_of_use(config, run)
    if run.cluster:
        _train_on_cluster(corpus, config, run)
    elif run.dry_run:
        _print_plan(corpus, config, run)
    else:
        _train(corpus, config, run)


def _check_tokenizer(tokenizer: str) -> None:
    """Raise a DataError if a settings file names a tokenizer function: a file must not choose code to run."""
    from wordvec_ca.text import trusted_tokenizer

    source = click.get_current_context().get_parameter_source("tokenizer")
    if source is click.core.ParameterSource.DEFAULT_MAP:
        trusted_tokenizer(tokenizer, None, "the run of these settings")


def _check_of_use(config: ResolvedConfig, run: RunOptions) -> None:
    """Raise a usage error for an option that the chosen model or run does not have."""
    typed = click.get_current_context().params
    for name in sorted(_given(variables=False)):
        if name != "negatives" or typed[name] != "exact":  # every model has exact negatives
            OPTIONS[name].check_model(config.model)
    alone = config.replicas == 1 or (config.replicas is None and (config.workers or 1) <= 8)
    for name in sorted(typed_options() & {"merges", "merge_rate", "merge_rule"}):
        if alone and not run.cluster:
            raise click.UsageError(f"{_flag(name)} goes with several --replicas, and this run has one")


def _flag(name: str) -> str:
    return spelled_as_flag(Option(name))


def _train(corpus: tuple[str, ...], config: ResolvedConfig, run: RunOptions) -> None:
    from wordvec_ca.runs import BASE_SETTING, RunRequest, check_base, check_run_output, run_request

    output = run.output or default_output(corpus, config.model)
    check_run_output(output, overwrite=run.overwrite)
    context = click.get_current_context()
    recorded = context.get_parameter_source("continue_from") is click.core.ParameterSource.DEFAULT_MAP
    if recorded and run.continue_from and isinstance(base := context.meta.get(BASE_SETTING), int):
        check_base(run.continue_from, base)
    with contextlib.ExitStack() as stack:
        callbacks, encoding_progress = _displays(stack, run)
        # an option of a run is the field of that name in the request
        of_run = vars(run).keys() & RunRequest.__dataclass_fields__.keys() - {"config"}
        given = {name: getattr(run, name) for name in of_run} | {
            "config": config,
            "corpus": list(corpus),
            "output": output,
            "validates": run.valid is not None,
            "vocab": _loaded_vocab(run),
            "command": _command_line(),
            "settings": given_settings(corpus, config, _given()),
        }
        request = RunRequest(**given)
        model = run_request(request, callbacks=callbacks, encoding_progress=encoding_progress, progress=False)
    _tell(model, output, run)


def _command_line() -> str:
    arguments = click.get_current_context().find_root().obj["arguments"]
    return shlex.join(["cawv", *map(showable_name, arguments)])


def _train_on_cluster(corpus: tuple[str, ...], config: ResolvedConfig, run: RunOptions) -> None:
    from wordvec_ca.cluster import ClusterOptions, describe_cluster_plan, plan_on_cluster, train_on_cluster

    assert run.cluster is not None
    options = ClusterOptions(
        cluster=run.cluster,
        nodes=run.nodes,
        checkpoint_dir=run.checkpoint_dir,
        storage_patience=run.storage_patience,
    )
    if run.dry_run:
        plan = plan_on_cluster(
            list(corpus),
            config,
            options,
            vocab=_loaded_vocab(run),
            cache_dir=run.cache_dir,
            notice=say,
        )
        show(describe_cluster_plan(plan))
        return
    output = run.output or default_output(corpus, config.model)
    with contextlib.ExitStack() as stack:
        callbacks, _ = _displays(stack, run)
        model = train_on_cluster(
            list(corpus),
            config,
            options,
            output=output,
            overwrite=run.overwrite,
            callbacks=callbacks,
            notice=(lambda text: None) if run.quiet else say,
            valid=run.valid,
            vocab=_given_vocab(run),
            cache_dir=run.cache_dir,
            checkpoint_every=run.checkpoint_every,
            command=_command_line(),
            settings=given_settings(corpus, config, _given()),
        )
    _tell(model, output, run)


def _resume_on_cluster(run: RunOptions) -> None:
    from wordvec_ca.cluster import files_of_cluster_run, resume_on_cluster

    assert run.resume is not None
    typed = typed_options()
    for name in sorted(typed):
        if name == "nodes":
            raise click.UsageError(
                "--nodes does not go with --resume: a run keeps its number of replicas, and trains them on "
                "however many nodes there are now; leave it out"
            )
        if name not in OPTIONS or OPTIONS[name].resume != "change":
            raise click.UsageError(
                f"{'CORPUS' if name == 'corpus' else _flag(name)} does not go with --resume of a run on a "
                "cluster, which goes on as it began: leave it out"
            )
    if run.save_vocab:
        check_not_read(run.save_vocab, *files_of_cluster_run(run.resume), hint="--save-vocab")
    with contextlib.ExitStack() as stack:
        callbacks, _ = _displays(stack, run)
        model = resume_on_cluster(
            run.resume,
            cluster=run.cluster,
            output=run.output,
            overwrite=run.overwrite,
            callbacks=callbacks,
            notice=(lambda text: None) if run.quiet else say,
        )
    _tell(model, model.directory, run)


def _resume(corpus: tuple[str, ...], run: RunOptions, options: dict[str, Any]) -> None:
    from wordvec_ca.cluster import is_cluster_run
    from wordvec_ca.runs import files_of_run, resume, run_folder

    assert run.resume is not None
    if is_cluster_run(run.resume):
        _resume_on_cluster(run)
        return
    typed = typed_options() - {"corpus"}
    output = run.resume.rstrip("/").removesuffix(".run")
    for name in sorted(typed):
        if "cluster" in (name, *OPTIONS[name].needs):
            raise click.UsageError(
                f"{_flag(name)} is for runs on a cluster, and {run.resume!r} has none to "
                "resume: leave it out, or give --resume the place of its checkpoints"
            )
        if OPTIONS[name].resume == "no":
            raise click.UsageError(
                f"{_flag(name)} does not go with --resume, which goes on as the run began: leave it out"
            )
    if run.output is not None and "output" in typed and run_folder(run.output) != run_folder(output):
        raise click.UsageError(f"--output is {run.output!r}, but --resume continues {output!r}: leave it out")
    if run.save_vocab:
        check_not_read(run.save_vocab, *files_of_run(run.resume), hint="--save-vocab")
    with contextlib.ExitStack() as stack:
        callbacks, encoding_progress = _displays(stack, run)
        model = resume(
            run.resume,
            corpus=list(corpus) or None,
            valid=run.valid if "valid" in typed else None,
            vocab=_given_vocab(run),
            changes={name: options[name] for name in options if name in typed},
            accept_changes=run.accept_changes,
            callbacks=callbacks,
            encoding_progress=encoding_progress,
            checkpoint_every=run.checkpoint_every if "checkpoint_every" in typed else None,
            progress=False,
        )
    _tell(model, output, run)


def _given_vocab(run: RunOptions) -> Any:
    """Return the vocabulary to use, pruned by --min-count and --max-final-vocab if they were given."""
    typed = _given() & {"min_count", "max_final_vocab"}
    if not run.read_vocab or not typed:
        return run.read_vocab
    from wordvec_ca.corpus import Vocab

    return Vocab.load(run.read_vocab).prune(
        **{name: click.get_current_context().params[name] for name in typed}
    )


def _loaded_vocab(run: RunOptions) -> Any:
    from wordvec_ca.corpus import Vocab

    given = _given_vocab(run)
    return Vocab.load(given) if isinstance(given, str) else given


def _given(*, variables: bool = True) -> set[str]:
    """Return the names of the options given on the command line, in settings or in environment variables."""
    source = click.core.ParameterSource
    return set(OPTIONS) & options_from(
        source.COMMANDLINE, source.DEFAULT_MAP, *([source.ENVIRONMENT] if variables else [])
    )


def _tell(model: Any, output: str, run: RunOptions) -> None:
    """Report the result of a run, and exit with 130 if it was interrupted."""
    if not run.quiet:
        say(_summary(model, output, run.read_vocab))
    show(output)
    if run.save_vocab:
        model.vocab.save(run.save_vocab)
    if model.record["interrupted"]:
        raise click.exceptions.Exit(130)
    # a log from standard input cannot be read once more
    if model.config.test_last is not None and (corpus := (model.record["settings"] or {}).get("corpus")):
        _judge_by_held_out_sessions(model, corpus, output, run.quiet)
    if not run.quiet:
        say(next_commands(output, kind=_kind(model)))


def _kind(model: Any) -> Literal["words", "documents", "items"]:
    """Return what the vectors are of, for the commands to suggest next."""
    if model.documents is not None:
        return "documents"
    return "words" if model.config.order_by is None else "items"


def _judge_by_held_out_sessions(model: Any, corpus: list[str], output: str, quiet: bool) -> None:
    """Store and print how well the vectors, and counting, propose the next item in the sessions held out."""
    from wordvec_ca.cli.terminal import Column, table
    from wordvec_ca.corpus import sessions_of
    from wordvec_ca.eval import Sequences, next_item, report_rows
    from wordvec_ca.files import save_json, write_checksums

    # sorted already, unless the encoded text was used again: to sort a log takes as long as to train
    sessions = model.sorted_log or sessions_of(corpus, model.config.text_options())
    name = f"last {model.config.test_last}"
    data = Sequences(name, list(sessions.held_out()), lambda: iter(sessions))
    report = next_item.evaluate(model.vectors, data)
    # a file of its own: were it a part of config.json, a crash between this and the checksums would make the
    # model one that was changed
    save_json(Path(output) / ModelFile.HELD_OUT, report.to_dict())
    write_checksums(Path(output), [ModelFile.HELD_OUT])
    if quiet:
        return
    heads = [("figure", False), ("value", True), ("95 % interval", True), ("n", True)]
    columns = [Column(head, right=right) for head, right in heads]
    rows = [[row[2], *row[3:6]] for row in report_rows([report])]
    write(f"Next items in the sessions held out ({name}):\n{table(columns, rows)}")
    show(next_item.judged(report))
    if told := next_item.verdict(report):
        show(told)


def _displays(stack: contextlib.ExitStack, run: RunOptions) -> tuple[list[Any], Any]:
    """Return the callbacks that show and log the training, and the one that shows the reading."""
    from wordvec_ca.runs import JsonLog, progress_display

    callbacks: list[Any] = []
    if run.log_json:
        _check_log(run.log_json)
        callbacks.append(stack.enter_context(JsonLog(Path(run.log_json))))
    style = "none" if run.quiet else run.progress
    if style == "auto":
        style = "bar" if sys.stderr.isatty() else "lines"
    displays, reading = stack.enter_context(progress_display(style))
    return [*callbacks, *displays], reading


def _check_log(name: str) -> None:
    """Raise a usage error if the log file exists but is not a log, for example the corpus."""
    if Path(name).is_file():
        with open(name, "rb") as file:
            begun = file.readline(10_000)
            if begun and not all(name in begun for name in (b'{"time": ', b'"fraction": ', b'"epoch": ')):
                raise click.BadParameter(
                    f"{name!r} exists and is not a log of training", param_hint="--log-json"
                )


def _print_plan(corpus: tuple[str, ...], config: Any, run: RunOptions) -> None:
    from wordvec_ca.cli.terminal import reading_bar
    from wordvec_ca.runs import describe, plan

    with reading_bar(run.quiet) as progress:
        result = plan(
            list(corpus),
            config,
            vocab=_given_vocab(run),
            continue_from=run.continue_from,
            no_cache=run.no_cache,
            progress=progress,
        )
    show(describe(result))


def _summary(model: Any, output: str, read_vocab: str | None) -> str:
    corpus, timings = model.record["corpus"], model.record["timings"]
    kind = "items" if _kind(model) == "items" else "words"  # words of documents are words too
    lines = [
        f"{corpus['raw_tokens']:,} tokens read in {timings['encoding_seconds']:.1f} s; "
        f"{len(model.vocab):,} {kind}; trained in {timings['training_seconds']:.1f} s"
    ]
    for change in model.record["changes"]:
        if "words_kept" in change:
            origin = change.get("continued_from") or change["init_vectors"]
            lines.append(
                f"{change['words_kept']:,} {kind} began as in {origin}, {change['words_new']:,} are new"
            )
        if change.get("words_rare"):
            lines.append(
                f"{counted(change['words_rare'], f'new {kind}')} still too rare: less than "
                f"{model.config.min_count} times in this text and the earlier ones; their counts are kept"
            )
        if "nodes_kept" in change:
            lines.append(
                f"its tree was kept: {change['nodes_kept']:,} nodes, and {change['nodes_new']:,} new"
            )
    if corpus["repaired_utf8"]:
        lines.append(
            f"{corpus['repaired_utf8']:,} invalid UTF-8 sequences read as U+FFFD, "
            f"the first in {corpus['first_repaired']}"
        )
    if read_vocab and corpus["raw_tokens"]:
        share = corpus["kept_tokens"] / corpus["raw_tokens"]
        lines.append(f"{share:.1%} of the tokens are words of the vocabulary that was given")
    lines += records_report(corpus["records"])
    if corpus["split_lines"]:
        lines.append(f"{corpus['split_lines']:,} cuts in lines of more than 10,000 tokens")
    if corpus["cut_tokens"]:
        lines.append(f"{corpus['cut_tokens']:,} cuts in tokens of more than 1,000 bytes")
    return "\n".join(lines)


def records_report(records: dict[str, int]) -> list[str]:
    """Return a line with the counts of records, if the text was JSON lines or a dump; else an empty list."""
    return [", ".join(counted(n, what) for what, n in records.items())] if records else []


def default_output(corpus: tuple[str, ...], model: str) -> str:
    """Return the default name of the model directory: wiki.en.txt.xz gives wiki.en.cbow."""
    from wordvec_ca.files import is_read_once

    name = "stdin" if is_read_once(corpus[0]) else Path(showable_name(corpus[0])).absolute().name
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".txt", ".xml"):
        name = name.removesuffix(suffix)
    name = "".join(c for c in name if c not in "*?[]") or "corpus"
    return f"{name}.{model}"
