"""Hook of MkDocs: a page for each command of ``cawv``, made from the command itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from wordvec_ca.cli import group

NOTES = """
Results go to standard output, progress and messages to standard error. A command exits with 0 when it
succeeds, 1 on bad data or a failure, 2 on wrong usage, 130 after Ctrl-C. `cawv --debug COMMAND` shows the
traceback of an error.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for name, content in pages().items():
        files.append(File.generated(config, f"commands/{name}.md", content=content))
    return files


def pages() -> dict[str, str]:
    """Return the Markdown of each page by its name."""
    found = {"index": index_page()}
    for name, command in commands():
        found[page_of(name)] = command_page(name, command)
    return found


def page_of(command: str) -> str:
    """Return the name of a command's page; ``index`` is the list of all."""
    return "index-command" if command == "index" else command


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield the commands that are not hidden."""
    context = click.Context(group, info_name="cawv")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not command.hidden:
            yield name, command


def index_page() -> str:
    """Return the page that lists the commands."""
    lines = ["# Commands", "", "| command | what it does |", "|---|---|"]
    lines += [
        f"| [`cawv {name}`]({page_of(name)}.md) | {command.get_short_help_str(200)} |"
        for name, command in commands()
    ]
    lines += ["", NOTES]
    return "\n".join(lines) + "\n"


def command_page(name: str, command: click.Command) -> str:
    """Return the page of one command: usage, description, options."""
    context = click.Context(command, info_name=f"cawv {name}", parent=None)
    usage = command.get_usage(context).removeprefix("Usage: ")
    lines = [f"# cawv {name}", "", "```text", re.sub(r"\s+", " ", usage), "```", "", description(command)]
    for title, options in option_groups(command, context):
        lines += ["", f"## {title}", ""]
        for option in options:
            record = option.get_help_record(context)  # None for a hidden one
            if record is not None:
                lines += [f"`{record[0]}`", f":   {as_markdown(record[1]) or '(no description)'}", ""]
    return "\n".join(lines) + "\n"


def description(command: click.Command) -> str:
    """Return the help text as Markdown; paragraphs that click does not re-wrap become code."""
    paragraphs = inspect.cleandoc(command.help or "").partition("\f")[0].split("\n\n")
    return "\n\n".join(as_code(part) if part.startswith("\b") else as_markdown(part) for part in paragraphs)


def as_code(paragraph: str) -> str:
    """Return a paragraph as a code block, which keeps its lines."""
    return "```text\n" + paragraph.removeprefix("\b").strip("\n") + "\n```"


def option_groups(command: click.Command, context: click.Context) -> list[tuple[str, list[click.Parameter]]]:
    """Return the options under the headings of ``--help`` (cloup's groups)."""
    groups = [(group.title, list(group.options)) for group in getattr(command, "option_groups", ())]
    grouped = {option.name for _, options in groups for option in options}
    others = [p for p in command.get_params(context) if isinstance(p, click.Option) and p.name not in grouped]
    return [(title, options) for title, options in [*groups, ("Options", others)] if options]


def as_markdown(text: str) -> str:
    """Return help text in which everything that Markdown would interpret is marked as code."""
    text = re.sub(r"\s+", " ", text).strip().replace("<", "&lt;").replace("*", r"\*")
    text = re.sub(r"(?<![\w`-])(--[a-z][\w-]*|cawv [a-z]+)(?![\w`])", r"`\1`", text)
    return re.sub(r"\[(default: [^\]]*|required)\]", r"*[\1]*", text)
