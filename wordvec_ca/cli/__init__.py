"""The command ``cawv``: turns options into library calls, and errors into messages.

Each command has its own module, which is imported only when the command runs, so that ``cawv --help`` is
quick.
"""

from __future__ import annotations

import errno
import functools
import importlib
import io
import os
import select
import signal
import sys
import warnings
from collections.abc import Iterable
from types import FrameType
from typing import Any, NoReturn

import click
from click._textwrap import TextWrapper

from wordvec_ca._version import __version__
from wordvec_ca.cli.options import Choice, read_variables, say_unknown_variables
from wordvec_ca.cli.output import reason, say
from wordvec_ca.cli.paths import keep_inputs
from wordvec_ca.errors import Message, OptionError, did_you_mean
from wordvec_ca.showable import showable
from wordvec_ca.specs.models import MODELS
from wordvec_ca.specs.options import spelled_as_flag

# click breaks lines behind hyphens, also those within --attention-warmup, which then cannot be copied
TextWrapper.wordsep_re = TextWrapper.wordsep_simple_re

# Command name -> one line of help. The command ``x-y`` is ``command`` in module ``wordvec_ca.cli.x_y``.
COMMANDS: dict[str, str] = {
    "train": "Train a model on text.",
    "vocab": "Count the words of a corpus.",
    "phrases": "Find words that belong together, such as new york.",
    "eval": "Say how good vectors are.",
    "compare": "Is one model better than another, or is it a tie?",
    "nn": "Nearest neighbours: words similar to a word.",
    "recommend": "Predict the next items of a basket.",
    "analogy": "A is to B as C is to what?",
    "attention": "Which words an attention model weighs.",
    "axis": "Words between two poles; associations of lists.",
    "change": "Which words have changed between texts?",
    "align": "Put one model into the space of another.",
    "export": "Write vectors in another format.",
    "publish": "Change which vectors a model publishes, without training.",
    "reembed": "Re-embed word vectors for a collection of sentences.",
    "embed": "Sentence vectors of any amount of text.",
    "search": "Sentences of a text nearest to a query.",
    "index": "An index for fast, approximate neighbours.",
    "report": "A page about a model: how it was trained and what it learnt.",
    "explore": "Words on a map, in one page for any browser.",
    "info": "About a model or this installation; checksums.",
    "demo": "Train on text that is already here, and look at the result.",
}

# Heading of the help -> its commands; commands without a heading come last.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Train": ("demo", "train", "vocab", "phrases", "reembed"),
    "Look": ("nn", "analogy", "attention", "explore", "report", "change", "axis"),
    "Judge": ("eval", "compare"),
    "Use": ("recommend", "export", "publish", "index", "embed", "search", "align"),
    "About": ("info",),
}


# What people type for a command of another name -> what to type after ``cawv``.
MEANINGS: dict[str, str] = {
    **dict.fromkeys(("similar", "most-similar", "neighbours", "neighbors", "nearest"), "nn"),
    **dict.fromkeys(("predict", "next", "basket"), "recommend"),
    **dict.fromkeys(("evaluate", "test", "score", "benchmark"), "eval"),
    **dict.fromkeys(("association", "weat", "bias"), "axis MODEL --targets A B --attributes X Y"),
    **dict.fromkeys(("check", "verify"), "info MODEL --check"),
    **dict.fromkeys(("map", "plot", "visualize", "visualise", "tsne"), "explore"),
    **dict.fromkeys(("convert", "save"), "export"),
    **dict.fromkeys(("encode", "vectors", "print-sentence-vectors"), "embed"),
    **dict.fromkeys(("query", "find"), "search"),
    **dict.fromkeys(("diff", "drift", "shift"), "change"),
    **dict.fromkeys(("count", "words"), "vocab"),
    **dict.fromkeys(("bigrams", "collocations"), "phrases"),
    **dict.fromkeys(("word2vec", "fit"), "train"),
    **{model: f"train --model {model}" for model in MODELS},
    "doc2vec": "train --model pv-dbow",
    "fasttext": "train --subwords",
    "completion": "--completion bash",
}


class CommandFailure(Exception):
    """Wraps an exception so that click does not misread it: click takes `EOFError` for Ctrl-D, and any broken
    pipe for a closed standard output.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class LazyGroup(click.Group):
    """A click group that imports a command's module only when that command is used."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._prepared: set[str] = set()

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; wrap an exception that click would misread."""
        try:
            return super().invoke(ctx)
        except (EOFError, OSError) as error:
            raise CommandFailure(error) from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return None if no command has that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"wordvec_ca.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        if cmd_name not in self._prepared:
            read_variables(command, cmd_name)
            command.callback = _spelling_options(command.callback)
            keep_inputs(command)
            self._prepared.add(cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; the error for an unknown name suggests the nearest one."""
        name = args[0]
        if name == "help":
            if len(args) == 1:
                click.echo(ctx.get_help(), color=ctx.color)
                ctx.exit()
            args = [args[1], "--help"]
            name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            meant = MEANINGS.get(name.lower().replace("_", "-"))
            hint = f" What you mean may be: cawv {meant}" if meant else did_you_mean(name, COMMANDS)
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        found, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:
            say_unknown_variables(command, name, COMMANDS)
        return found, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        widest = max(map(len, COMMANDS))
        others = set(COMMANDS).difference(*SECTIONS.values())
        for title, names in {**SECTIONS, **({"Others": sorted(others)} if others else {})}.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{widest}}", COMMANDS[name]) for name in names])


def _print_completion(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    """Print the script with which a shell completes commands, options and names of files."""
    if shell is None or ctx.resilient_parsing:
        return
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click supports all three shells
    # the method of the base class, since that for bash starts a bash only to see its version
    click.echo(ShellComplete.source(kind(group, {}, "cawv", "_CAWV_COMPLETE")))
    ctx.exit()


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "-V", "--version", prog_name="cawv")
@click.option(
    "--completion",
    type=Choice(["bash", "zsh", "fish"]),
    is_eager=True,
    expose_value=False,
    callback=_print_completion,
    help='Print what makes a shell complete commands: eval "$(cawv --completion bash)".',
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def group(ctx: click.Context, debug: bool) -> None:
    """Train, judge and explore static word vectors.

    \b
    cawv demo                       a first look, on text that is already here
    cawv train TEXT -o MODEL        train
    cawv nn MODEL WORD              look at the result
    cawv eval MODEL                 and judge it

    \b
    I have documents:    cawv train TEXTS --model pv-dbow -o MODEL, then search
    I have items:        cawv train LOG --for items -o MODEL, then recommend
    I have two periods:  cawv change OLD NEW

    Variables of the environment: CAWV_COMMAND_OPTION sets an option, as CAWV_TRAIN_WORKERS does for train
    --workers; CAWV_ISA forces an instruction set (`cawv info` names them); CAWV_DEBUG shows tracebacks.
    """  # noqa: D301 - click needs the backspace
    ctx.ensure_object(dict)["debug"] = debug


def _spelling_options(callback: Any) -> Any:
    """Decorate a command so that its errors spell options as usage errors do."""

    @functools.wraps(callback)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return callback(*args, **options)
        except OptionError as error:
            raise click.UsageError(error.spelled(spelled_as_flag)) from error

    return call


def _open_closed_streams() -> None:
    """Open the null device as standard input or standard error if the process was started without one."""
    # Otherwise a file that is opened later would get the descriptor of standard error, and messages would
    # be written to that file.
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def main(argv: list[str] | None = None) -> NoReturn:
    """Run ``cawv``; exit 0 on success, 1 on bad data or failure, 2 on wrong usage, 130 on Ctrl-C."""
    _open_closed_streams()
    warnings.showwarning = _show_warning
    for name in ("SIGTERM", "SIGHUP"):  # the process is asked to end; its terminal is closed
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_as_on_interrupt)
    arguments = sys.argv[1:] if argv is None else argv
    debug = bool(os.environ.get("CAWV_DEBUG")) or "--debug" in arguments
    try:
        code = group.main(
            args=list(arguments), prog_name="cawv", standalone_mode=False, obj={"arguments": arguments}
        )
        sys.exit(code if isinstance(code, int) else 0)
    except (click.exceptions.Abort, KeyboardInterrupt):
        say("Interrupted.")
        sys.exit(130)
    except click.ClickException as error:
        from wordvec_ca.cli.settings import settings_in

        shown = io.StringIO()
        error.show(shown)
        message = shown.getvalue().rstrip("\n") + settings_in(error)
        say(_on_their_lines(showable(message, arguments), arguments))
        sys.exit(error.exit_code)
    except SystemExit:
        raise
    except BaseException as raised:  # a panic in a Rust library is not an Exception
        failure = raised.error if isinstance(raised, CommandFailure) else raised
        if isinstance(failure, BrokenPipeError) and _output_is_closed():  # as in cawv nn ... | head
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
            sys.exit(1)
        if debug:
            raise failure from failure.__cause__
        from wordvec_ca.errors import OutputExistsError

        message = showable(f"Error: {describe_error(failure)}", arguments)
        say(_on_their_lines(message, arguments))
        sys.exit(2 if isinstance(failure, OutputExistsError) else 1)


def _output_is_closed() -> bool:
    """Return whether the reader has closed our standard output; if not, the broken pipe is another one."""
    if not hasattr(select, "poll"):  # Windows
        return True
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # standard output is not a file
        return False
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _on_their_lines(message: str, arguments: Iterable[str]) -> str:
    """Escape line ends in names that the user typed, so that a name cannot forge a line of output."""
    for argument in arguments:
        if "\n" in argument:
            message = message.replace(argument, argument.replace("\n", "\\n"))
    return message


# System error that keeps a file from growing -> what the user can do.
NO_ROOM = {
    errno.ENOSPC: "make room on the disk, or write elsewhere",
    errno.EDQUOT: "make room within your quota, or write elsewhere",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f), or write to another file system",
}


def describe_error(error: BaseException) -> str:
    """Return the message for an exception that ended a command; for a full disk, also what to do."""
    message = _message_of(error)
    cause: BaseException | None = error.error if isinstance(error, CommandFailure) else error
    while cause is not None and getattr(cause, "errno", None) not in NO_ROOM:
        cause = cause.__cause__ or cause.__context__
    if not isinstance(cause, OSError) or cause.errno is None:
        return message
    said = cause.errno == errno.ENOSPC and "room" in message
    return message if said else f"{message}; {NO_ROOM[cause.errno]}"


def _message_of(error: BaseException) -> str:
    from wordvec_ca.machine import out_of_addresses

    if isinstance(error, CommandFailure):
        error = error.error
    if isinstance(error, Message):
        return reason(error)
    if out_of_addresses(error):
        return (
            "not enough memory to load the libraries: the address space is limited (ulimit -v), raise that "
            f"limit ({error.__cause__ or error})"
        )
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename!r}: " if error.filename is not None else ""
        return f"{name}{error.strerror}"
    # C code got no memory but set no exception: Python has three wordings of "without an exception"
    if isinstance(error, MemoryError) or (isinstance(error, SystemError) and "without" in str(error)):
        return f"not enough memory ({error}): fewer words, dimensions or workers need less"
    if isinstance(error, ValueError | OSError | ImportError) and str(error):
        return str(error)
    return (
        f"internal error, {type(error).__name__}: {error}; run `cawv --debug ...` to see where, and report it"
    )


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning without file and line; leave out warnings for developers."""
    if issubclass(category, UserWarning):
        say(f"Warning: {reason(message) if isinstance(message, Warning) else message}")


def _end_as_on_interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal like Ctrl-C: clean up, and save what was trained."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    if callable(on_interrupt):
        on_interrupt(number, frame)
    else:  # a process started in the background ignores Ctrl-C
        raise KeyboardInterrupt
