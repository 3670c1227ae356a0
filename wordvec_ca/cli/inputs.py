"""Several inputs of one command: those that can be read are used, and the others are reported at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from wordvec_ca.cli.output import reason, say
from wordvec_ca.showable import showable_name


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
        """Return the files given by names, folders and patterns, without those that cannot be read.

        Each file is read to its end, since an error may be anywhere in it. A single file is not checked here,
        because the command itself reports its error. The options are those of `wordvec_ca.text.TextFiles`.
        """
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
