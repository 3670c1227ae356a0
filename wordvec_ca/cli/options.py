"""Options and types of values that several commands share, and the environment variables for options."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable
from typing import Any

import click

from wordvec_ca.cli.output import reason, say
from wordvec_ca.cli.paths import COMPRESSED_FILE, INPUT, ExistingPath, OutputPath
from wordvec_ca.errors import OptionError, did_you_mean
from wordvec_ca.specs.models import MODEL_ALIASES, MODELS, VECTOR_FORMS
from wordvec_ca.specs.options import OPTIONS


class Choice(click.Choice[str]):
    """A choice of one of several words; the error for a misspelt word suggests the nearest one."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return the words as the help shows them, or NAME if they do not fit on one line."""
        shown = super().get_metavar(param, ctx)
        return shown if shown is None or len(shown) <= 60 else "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = did_you_mean(value, self.choices)
            raise click.BadParameter(error.message + hint, ctx=ctx, param=param) from None


class FirstPage(click.Command):
    """A command whose ``--help`` shows its first options, as many as one reads, and ``--help-all`` all."""

    # Names of the options that only ``--help-all`` shows.
    later: Collection[str] = ()

    @functools.cached_property
    def help_all(self) -> click.Option:
        """The option ``--help-all``. It is not among ``params``: no variable or settings file sets it."""
        number = sum(isinstance(param, click.Option) for param in self.params)
        return click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=self._help_all,
            help=f"Show all {number} options.",
        )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters and ``--help-all``."""
        return [*super().get_params(ctx), self.help_all]

    def _help_all(self, ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            formatter = ctx.make_formatter()
            super().format_help(ctx, formatter)
            click.echo(formatter.getvalue().rstrip("\n"), color=ctx.color)
            ctx.exit()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help without later options; they are hidden only meanwhile, so that a shell completes
        them.
        """
        hidden: list[Any] = [one for one in self.params if one.name in self.later]
        groups = getattr(self, "option_groups", ())  # cloup fails on a group whose options are all hidden
        hidden += [group for group in groups if all(one in hidden for one in group)]
        for one in hidden:
            one.hidden = True
        try:
            super().format_help(ctx, formatter)
        finally:
            for one in hidden:
                one.hidden = False


def options_from(*sources: click.core.ParameterSource) -> set[str]:
    """Return the names of the running command's options that were set from one of these sources."""
    context = click.get_current_context()
    return {name for name in context.params if context.get_parameter_source(name) in sources}


def typed_options() -> set[str]:
    """Return the names of the options given on the command line."""
    return options_from(click.core.ParameterSource.COMMANDLINE)


def _one_or_more(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> Any:
    return (names or None) if len(names) != 1 else names[0]


class TokenizerName(click.ParamType):  # type: ignore[type-arg] # newer click has generic types
    """The name of a tokenizer: one of this package, a segmenter, or MODULE:FUNCTION."""

    name = "tokenizer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; raise a usage error if there is no such tokenizer."""
        from wordvec_ca.text import check_tokenizer

        try:
            return check_tokenizer(value)
        except OptionError as error:
            self.fail(reason(error), param, ctx)


class WindowSize(click.ParamType):  # type: ignore[type-arg] # newer click has generic types
    """A number of words, or the word "all"."""

    name = "window"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the number, or "all"."""
        return str(value) if value == "all" else int(click.INT.convert(value, param, ctx))


class ModelChoice(Choice):
    """A model, by its name or by another common name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the canonical name."""
        name = str(value).lower()
        return super().convert(MODEL_ALIASES.get(name, name), param, ctx)


# Option -> properties on the command line that do not follow from its type.
PARTICULAR: dict[str, dict[str, Any]] = {
    "tokenizer": {"type": TokenizerName()},
    "window": {"type": WindowSize()},
    "field": {"multiple": True, "callback": _one_or_more},
    "model": {"type": ModelChoice(MODELS)},
    "continue_from": {"type": ExistingPath()},
    "save_vocab": {"type": COMPRESSED_FILE},
    "log_json": {"type": OutputPath("file", appends=True)},
}


def option(name: str, **others: Any) -> Callable[[Any], Any]:
    """Return a training option as an option of a command; keyword arguments replace its properties."""
    spec = OPTIONS[name]
    on, off = spec.switch
    facts: dict[str, Any] = {"metavar": spec.metavar, "help": spec.help_text()}
    if spec.is_flag:
        facts["is_flag"] = True
    elif spec.kind == "bool":
        on = f"{on}/{off}"
    elif spec.choices:
        facts["type"] = Choice(spec.choices)
    elif spec.metavar == "FILE":
        facts["type"] = INPUT
    elif spec.kind in ("int", "float"):
        facts["type"] = {"int": int, "float": float}[spec.kind]
    if not spec.is_flag and spec.kind != "tuple":
        facts |= {"default": spec.default, "show_default": spec.default is not None}
    return click.option(on, *spec.flags, name, **{**facts, **PARTICULAR.get(name, {}), **others})


def json_option(written: str) -> Callable[[Any], Any]:
    """Return the switch ``--json``, which replaces the table on standard output."""
    return click.option("--json", "as_json", is_flag=True, help=f"{written}, instead of a table.")


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that reads text."""
    for add in (
        threads_option,
        *map(option, ("count_memory", "encoding", "field", "lowercase", "normalize", "tokenizer")),
    ):
        function = add(function)
    return function


tokenizer_of_model_option = option("tokenizer", default=None, help="[default: that of MODEL, or words]")
restrict_vocab_option = click.option(
    "--restrict-vocab",
    type=click.IntRange(min=1),
    metavar="N",
    help="Look only at the N most frequent words.",
)
exact_option = click.option(
    "--exact", is_flag=True, help="Compare all vectors, even if cawv index has made an index."
)
vectors_option = click.option(
    "--vectors",
    "form",
    type=Choice(VECTOR_FORMS),
    help="For a model directory: form of the vectors.  [default: as published]",
)
threads_option = option("workers", help="Threads.  [default: one per processor]")


def variable(command: str, option: click.Option) -> str:
    """Return the environment variable of an option: CAWV_TRAIN_VECTOR_SIZE for ``train --vector-size``."""
    long = next((name for name in option.opts if name.startswith("--")), option.opts[0])
    return f"CAWV_{command}_{long.lstrip('-')}".replace("-", "_").upper()


def read_variables(command: click.Command, name: str) -> None:
    """Let an environment variable set each option of a command, and mention it in the help."""
    options = [param for param in command.params if isinstance(param, click.Option)]
    for option in options:
        option.envvar = variable(name, option)
    if options:
        example = max(options, key=lambda option: ("-" in option.opts[0].lstrip("-"), -len(option.opts[0])))
        long = next(opt for opt in example.opts if opt.startswith("--"))
        command.epilog = (
            f"Each option can also be set by a variable of the environment, as {long} by {example.envvar}; "
            "the command line has precedence."
        )


# Variables ``CAWV_…`` that set something other than an option.
OTHER_VARIABLES = ("CAWV_ISA", "CAWV_DEBUG", "CAWV_DATA", "CAWV_TOKENIZER", "CAWV_REMOTE_SECONDS")


def say_unknown_variables(command: click.Command, name: str, commands: Iterable[str]) -> None:
    """Warn of environment variables that are named like options of a command that has no such option."""
    known = [str(option.envvar) for option in command.params if isinstance(option, click.Option)]
    others = tuple(f"CAWV_{other}_".replace("-", "_").upper() for other in commands if other != name)
    for variable in sorted(os.environ):
        theirs = variable.startswith(others) or variable in OTHER_VARIABLES
        if variable.startswith("CAWV_") and variable not in known and not theirs:
            hint = did_you_mean(variable, known)
            say(f"Warning: the variable {variable} is not an option of cawv {name}.{hint}")
