"""The command ``cawv``: options become library calls, errors become messages.

Each command lives in a module of its own, imported only when it runs, so that
``cawv --help`` is quick.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import warnings
from types import FrameType
from typing import Any, NoReturn

import click

from wordvec_ca._version import __version__

COMMANDS: dict[str, str] = {
    "train": "Train a model on text.",
    "vocab": "Count the words of a corpus.",
    "phrases": "Find words that belong together, such as new york.",
    "eval": "Say how good vectors are.",
    "compare": "Is one model better than another, or is it a tie?",
    "nn": "Nearest neighbours of words.",
    "analogy": "A is to B as C is to what?",
    "attention": "What an attention model looks at.",
    "export": "Write vectors in another format.",
    "reembed": "Re-embed word vectors for a collection of sentences.",
    "embed": "Sentence vectors of any amount of text.",
    "search": "Sentences of a text nearest to a query.",
    "report": "A page about a model: how it was trained and what it learnt.",
    "info": "About a model, or this installation.",
    "demo": "Train on the documentation of installed packages, and look at the result.",
}
"""Command name -> one line of help. The command ``x-y`` is ``command`` in module ``wordvec_ca.cli.x_y``."""


class LazyGroup(click.Group):
    """A click group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"wordvec_ca.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="cawv")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def group(ctx: click.Context, debug: bool) -> None:
    """Train word vectors that read their context, and say how good they are."""
    ctx.ensure_object(dict)["debug"] = debug


def main(argv: list[str] | None = None) -> NoReturn:
    """Run ``cawv``; exit 0 on success, 1 on bad data or failure, 2 on wrong usage, 130 on Ctrl-C.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; by default those of the process.
    """
    warnings.showwarning = _show_warning
    for name in ("SIGTERM", "SIGHUP"):  # asked to end; the terminal is gone
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
        _say("Interrupted.")
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output has seen enough, as in cawv nn ... | head
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        from wordvec_ca.errors import OutputExistsError

        _say(f"Error: {describe_error(error)}")
        sys.exit(2 if isinstance(error, OutputExistsError) else 1)


def describe_error(error: Exception) -> str:
    """Return the message for an exception that ended a command."""
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename!r}: " if error.filename is not None else ""
        return f"{name}{error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error}): fewer words, dimensions or workers need less"
    if isinstance(error, ValueError | OSError | ImportError) and str(error):
        return str(error)
    return (
        f"internal error, {type(error).__name__}: {error}; run `cawv --debug ...` to see where, and report it"
    )


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Show a warning as people write them, without file and line; those for developers are left out."""
    if issubclass(category, UserWarning):
        _say(f"Warning: {message}")


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # whoever read standard error may have gone
        click.echo(text, err=True)


def _end_as_on_interrupt(number: int, frame: FrameType | None) -> None:
    """Do as on Ctrl-C: clean up, and save what was trained."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    if callable(on_interrupt):
        on_interrupt(number, frame)
    else:  # started in the background, where Ctrl-C is ignored
        raise KeyboardInterrupt
