"""Checks the paths that a command is given: an output must not be one of its inputs, nor inside one. Of
several inputs, those that can be read are used, and the others are reported at the end.
"""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from wordvec_ca.cli.output import reason, say
from wordvec_ca.showable import showable_name


class FileName(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions of click
    """The name of a file or folder to read, or a pattern; the library checks it."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Let the shell complete file names."""
        return [CompletionItem(incomplete, type="file")]


class ExistingPath(click.Path):
    """A path that must exist; the error for a misspelt name suggests the nearest existing one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(exists=True, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from wordvec_ca.files import nearest_name

            if os.path.isfile(os.fspath(value).rpartition(".zip:")[0] + ".zip"):  # archive.zip:member
                return self.coerce_path_result(value)
            hint = "" if os.path.exists(value) else nearest_name(os.fspath(value))
            raise click.BadParameter(error.message + hint, ctx=ctx, param=param) from None


class OutputPath(FileName):
    """The path of an output; `keep_inputs` compares it with the inputs of the command."""

    def __init__(
        self,
        kind: str = "any",
        *,
        inside: Collection[str] = (),
        compresses: bool = False,
        appends: bool = False,
        stdout: bool = False,
    ) -> None:
        self.kind, self.inside, self.stdout = kind, inside, stdout
        self.compresses, self.appends = compresses, appends

    def check(self, output: str, read: Iterable[str], *, overwrite: bool, hint: str | None = None) -> None:
        """Raise a usage error if the command must not write to the output."""
        if output == "-":
            if not self.stdout:
                raise click.BadParameter("'-' names no file here; './-' would", param_hint=hint)
            return
        from wordvec_ca.files import compression_suffix

        place = Path(output)
        check_not_read(place, *read, inside=self.inside, hint=hint)
        if self.kind == "file" and not self.compresses and (suffix := compression_suffix(place)):
            raise click.BadParameter(
                f"{output!r} would not be compressed: leave .{suffix} out, and compress the file later",
                param_hint=hint,
            )
        if self.kind == "file" and place.is_dir():
            raise click.BadParameter(f"{output!r} is a directory; name a file", param_hint=hint)
        if self.kind != "any" and not self.appends and place.exists() and not overwrite:
            raise click.BadParameter(
                f"{output!r} exists: choose another name, or give --overwrite to replace it", param_hint=hint
            )
        if self.kind == "file":
            folder = place.absolute().parent
            if not folder.is_dir():
                raise click.BadParameter(
                    f"cannot write {output!r}: {str(place.parent)!r} is not a directory", param_hint=hint
                )
            if not os.access(place if place.exists() else folder, os.W_OK):
                raise click.BadParameter(f"cannot write {output!r}: permission denied", param_hint=hint)


def check_not_read(
    output: str | os.PathLike[str],
    *names: str | os.PathLike[str],
    inside: Collection[str] = (),
    hint: str | None = None,
) -> None:
    """Raise a usage error if an output is an input, or is inside a folder that is one."""
    place = Path(output)
    for name in names:
        for found in glob.glob(os.fspath(name)) or [os.fspath(name)]:
            path = Path(found)
            if not path.exists():
                continue
            same = place.exists() and path.samefile(place)
            within = path.is_dir() and path.resolve() in place.resolve().parents and place.name not in inside
            if same or within:
                raise click.BadParameter(
                    f"{str(output)!r} is part of what is read, {str(name)!r}: give the output another name",
                    param_hint=hint,
                )


def keep_inputs(command: click.Command) -> None:
    """Let a command check, before it runs, that none of its outputs is one of its inputs."""
    if command.callback is not None:
        command.callback = _checked(command.callback)


def _checked(run: Any) -> Any:
    @functools.wraps(run)
    def checked(*args: Any, **options: Any) -> Any:
        context = click.get_current_context()
        params = context.command.get_params(context)
        read = names_read(context)
        written: dict[str, str] = {}
        for param in params:
            if isinstance(param.type, OutputPath):
                for output in _names(context, param):
                    overwrite, hint = bool(context.params.get("overwrite")), param.opts[-1]
                    param.type.check(output, read, overwrite=overwrite, hint=hint)
                    other = written.setdefault(os.path.realpath(output), hint)
                    if other != hint and output != "-":
                        raise click.BadParameter(f"{output!r} is the file of {other}, too", param_hint=hint)
        return run(*args, **options)

    return checked


def names_read(context: click.Context) -> list[str]:
    """Return the files, folders and patterns that a command was given to read."""
    params = context.command.get_params(context)
    return [name for param in params if _is_input(param.type) for name in _names(context, param)]


def _is_input(kind: Any) -> bool:
    return isinstance(kind, FileName | click.Path) and not isinstance(kind, OutputPath)


def _names(context: click.Context, param: click.Parameter) -> Iterator[str]:
    """Yield the paths in the value of an option or argument."""
    value = context.params.get(param.name or "")
    for entry in value if isinstance(value, tuple | list) else [value]:
        if isinstance(entry, str | os.PathLike):
            yield os.fspath(entry)


INPUT = FileName()
OUTPUT = OutputPath()
OUTPUT_FILE = OutputPath("file")
COMPRESSED_FILE = OutputPath("file", compresses=True)
OUTPUT_FOLDER = OutputPath("folder")


def check_svg(plot: str | None) -> None:
    """Refuse a file for a plot if its suffix is that of another format than SVG; a device, which has no
    suffix, is accepted.
    """
    if plot is not None and Path(plot).suffix.lower() not in ("", ".svg"):
        raise click.UsageError(f"--plot writes SVG, and {plot!r} does not end in .svg")


class Inputs:
    """Uses inputs one by one, and collects the reasons why some could not be used.

    Attributes
    ----------
    not_run : list of str
        Reasons why inputs were not used; each names its input.
    """

    def __init__(self) -> None:
        self.not_run: list[str] = []

    def each(self, names: Iterable[str], use: Callable[[str], Any]) -> list[Any]:
        """Return what ``use`` returns for each name; an input that it cannot use is left out."""
        from wordvec_ca.errors import DataError

        results = []
        for name in names:
            try:
                results.append(use(name))
            except (DataError, OSError) as error:
                why = reason(error)
                shown = showable_name(name)
                self.not_run.append(why if shown in why else f"{shown!r}: {why}")
        return results

    def check_some(self, results: list[Any]) -> None:
        """Raise a DataError with all reasons if there are no results."""
        from wordvec_ca.errors import DataError

        if not results:
            raise DataError("\n".join(self.not_run))

    def texts(self, names: Iterable[str], **options: Any) -> list[str]:
        """Return the files given by names, folders and patterns, without those that cannot be read."""
        # Each file is read to its end, since an error may be anywhere in it. A single file is not checked
        # here, because the command itself reports its error. The options are those of
        # `wordvec_ca.text.TextFiles`.
        from wordvec_ca.files import is_read_once
        from wordvec_ca.text import TextFiles, find_files

        files = [file for found in self.each(names, lambda name: find_files([name])) for file in found]
        if len(files) == 1 and not self.not_run:
            return files

        def read(file: str) -> str:
            if not is_read_once(file):
                for _ in TextFiles([file], **options).pieces():
                    pass
            return file

        return self.each(files, read)

    def finish(self) -> None:
        """Report the inputs that were not used; if there are any, end with exit status 1."""
        if self.not_run:
            say("\n".join(["Not run:", *(f"* {entry}" for entry in self.not_run)]))
            raise click.exceptions.Exit(1)
