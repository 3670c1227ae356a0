"""Pages of docs/measurements/ that experiments write: tables, figures, and the head that all pages have."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import FOLDER, table, write_section


def parser(doc: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every experiment has."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--data", type=Path, default=os.environ.get("CAWV_DATA"), help="folder of the data sets [$CAWV_DATA]"
    )
    options.add_argument("--docs", type=Path, default=FOLDER, help="folder of the page and of figures/")
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
    """One page: text, tables and figures, then :meth:`write`.

    Parameters
    ----------
    name : str
        File name of the page, without suffix, and start of its figures' file names.
    title : str
        Heading.
    docs : Path
        Folder of the page and of ``figures``.
    """

    def __init__(self, name: str, title: str, docs: Path) -> None:
        self.name = name
        self.docs = docs
        self.title = title
        self.parts: list[str] = []
        self.start = time.perf_counter()

    def clear(self) -> None:
        """Forget everything, to write the page again as an experiment goes on."""
        self.parts.clear()

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        self.parts += paragraphs

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table; :meth:`write` prints it as well."""
        self.parts.append(table(columns, rows))

    def figure(self, figure: Any, name: str, caption: str) -> None:
        """Save a matplotlib figure as a small PNG and show it."""
        folder = self.docs / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}-{name}.png"
        figure.savefig(path, dpi=90, bbox_inches="tight", metadata={"Software": None})
        self.parts.append(f"![{caption}](figures/{path.name})\n\n*{caption}*")

    def write(self, done: bool = True) -> None:
        """Write the page, with the command, the machine, the date and the time it took.

        Before an experiment is ``done`` nothing is printed.
        """
        seconds = time.perf_counter() - self.start
        page = self.docs / f"{self.name}.md"
        write_section(page, self.title, self.name, "\n\n".join(self.parts), seconds)
        if done:
            print("\n\n".join(part for part in self.parts if part.startswith("|")))
