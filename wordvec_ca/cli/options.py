"""Options and kinds of values that several commands share, and the variables that set them."""

from __future__ import annotations

import difflib
from typing import Any

import click


class Choice(click.Choice[str]):
    """One of some words; a spelling slip gets the nearest of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word.

        Raises
        ------
        click.BadParameter
            It is none of them.
        """
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = nearest(str(value), self.choices)
            raise click.BadParameter(error.message + hint, ctx=ctx, param=param) from None


def options_from(*sources: click.core.ParameterSource) -> set[str]:
    """Return the names of the options of the running command that were set there."""
    context = click.get_current_context()
    return {name for name in context.params if context.get_parameter_source(name) in sources}


def typed_options() -> set[str]:
    """Return the names of the options that stand on the command line."""
    return options_from(click.core.ParameterSource.COMMANDLINE)


def nearest(word: str, known: Any) -> str:
    """Return `` Did you mean this?`` for a word that is spelled like a known one, else nothing."""
    close = difflib.get_close_matches(word, [str(entry) for entry in known], n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def _one_or_more(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> Any:
    """Return None, the name, or all names."""
    return (names or None) if len(names) != 1 else names[0]


class TokenizerName(click.ParamType):  # type: ignore[type-arg] # newer click has generic types
    """A tokenizer: one of ours, a segmenter, or MODULE:FUNCTION."""

    name = "tokenizer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; a usage error if there is no such tokenizer."""
        from wordvec_ca.text import check_tokenizer

        try:
            return check_tokenizer(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


TOKENIZERS = "words|whitespace|icu|jieba|MODULE:FUNCTION"

tokenizer_option = click.option(
    "--tokenizer",
    type=TokenizerName(),
    metavar=TOKENIZERS,
    default="words",
    show_default=True,
    help="Split words, numbers and punctuation; at white space only; or where a segmenter says.",
)

tokenizer_of_model_option = click.option(
    "--tokenizer", type=TokenizerName(), metavar=TOKENIZERS, help="[default: that of MODEL, or words]"
)

lowercase_option = click.option(
    "--lowercase/--no-lowercase", default=True, show_default=True, help="Map text to lower case."
)
field_option = click.option(
    "--field",
    metavar="NAME",
    multiple=True,
    callback=_one_or_more,
    help="The text is records (JSON lines, CSV, TSV, Parquet, Arrow); read this field of each; a.b is the "
    "field b of an object a.  May be given several times.  [default: plain text]",
)

encoding_option = click.option(
    "--encoding", metavar="NAME", help="Of the text: cp1252, gb18030, utf-16 ...  [default: UTF-8]"
)
count_memory_option = click.option(
    "--count-memory",
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Words and counts beyond this go to disk.  [default: 1/4 of free memory, at most 1024]",
)
part_option = click.option(
    "--part", metavar="NAME", help="Only this part of the vectors (cawv train --parts).  [default: all]"
)
threads_option = click.option(
    "--workers", type=click.IntRange(1, 1024), help="Threads.  [default: one per usable CPU]"
)


def variable(command: str, option: click.Option) -> str:
    """Return the environment variable of an option: CAWV_TRAIN_VECTOR_SIZE for ``train --vector-size``."""
    long = next((name for name in option.opts if name.startswith("--")), option.opts[0])
    return f"CAWV_{command}_{long.lstrip('-')}".replace("-", "_").upper()


def read_variables(command: click.Command, name: str) -> None:
    """Let each option of a command also be set by its variable, and its help say so."""
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
