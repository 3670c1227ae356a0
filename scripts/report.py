"""Sections of docs/results.md that experiments write, each between its own two markers."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


def parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every experiment has."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--data", type=Path, default=os.environ.get("CAWV_DATA"), help="folder of the data sets [$CAWV_DATA]"
    )
    options.add_argument(
        "--docs", type=Path, default=ROOT / "docs", help="where results.md and figures/ are written"
    )
    options.add_argument("--seed", type=int, default=0, help="first seed")
    options.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
    options.add_argument("--full", action="store_true", help="the papers' size instead of a few minutes")
    return options


def need(data: Path | None, *names: str) -> list[Path]:
    """Return the paths of data files, or leave with a message that says which one is missing."""
    if data is None:
        sys.exit("Give --data DIR, or set CAWV_DATA to the folder of the data sets.")
    paths = [Path(data) / name for name in names]
    for path in paths:
        if not path.exists():
            sys.exit(f"{path} does not exist; --data must name a folder that holds {', '.join(names)}.")
    return paths


def progress(done: int, total: int, what: str) -> None:
    """Show how far an experiment is, on standard error."""
    end = "\n" if done == total or not sys.stderr.isatty() else "\r"
    print(
        f"[{done}/{total}] {what}\x1b[K" if end == "\r" else f"[{done}/{total}] {what}",
        end=end,
        file=sys.stderr,
        flush=True,
    )


def interval(values: Iterable[float], digits: int = 4, scale: float = 1.0) -> str:
    """Return "mean ± half-width" of a 95 % t interval; the mean alone of a single value."""
    from scipy import stats

    array = np.asarray(list(values), dtype=float) * scale
    if len(array) < 2:
        return f"{array.mean():.{digits}f}"
    width = stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array))
    return f"{array.mean():.{digits}f} ± {width:.{digits}f}"


class Report:
    """One section: text, tables and figures, then :meth:`write`.

    Parameters
    ----------
    name : str
        Name of the section's markers and start of its figures' file names.
    title : str
        Heading.
    docs : Path
        Folder of ``results.md`` and ``figures``.
    """

    def __init__(self, name: str, title: str, docs: Path) -> None:
        self.name = name
        self.docs = docs
        self.parts = [f"## {title}"]
        self.start = time.perf_counter()

    def clear(self) -> None:
        """Forget all but the heading, to write the section again as an experiment goes on."""
        del self.parts[1:]

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        self.parts += paragraphs

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table; :meth:`write` prints it as well."""
        lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
        self.parts.append("\n".join(lines))

    def figure(self, figure: Any, name: str, caption: str) -> None:
        """Save a matplotlib figure as a small PNG and show it."""
        folder = self.docs / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{name}.png"
        figure.savefig(path, dpi=90, bbox_inches="tight", metadata={"Software": None})
        self.parts.append(f"![{caption}](figures/{path.name})\n\n*{caption}*")

    def write(self, done: bool = True) -> None:
        """Replace this section of ``results.md``, or append it, with the command and the time it took.

        Before an experiment is ``done`` nothing is printed.
        """
        seconds = time.perf_counter() - self.start
        script = Path(sys.argv[0]).name
        options = sys.argv[1:]
        for option in ("--data", "--docs"):
            if option in options:
                at = options.index(option)
                del options[at : at + 2]
        command = shlex.join(["python", f"scripts/{script}", *options])
        self.parts.append(
            f"`{command}`: {seconds / 60:.1f} minutes, Python {platform.python_version()}, "
            f"PyTorch {sys.modules['torch'].__version__ if 'torch' in sys.modules else '-'}."
        )
        begin, end = f"<!-- begin {self.name} -->", f"<!-- end {self.name} -->"
        section = "\n\n".join([begin, *self.parts, end])
        path = self.docs / "results.md"
        old = path.read_text(encoding="utf-8") if path.exists() else "# Results\n"
        if begin in old:
            before, rest = old.split(begin, 1)
            new = before + section + rest.split(end, 1)[1]
        else:
            new = old.rstrip("\n") + "\n\n" + section + "\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")
        if done:
            print("\n\n".join(part for part in self.parts if part.startswith("|")))
            print(f"wrote the section {self.name} of {path}", file=sys.stderr)
