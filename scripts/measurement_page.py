"""Pages of docs/measurements/: what a script measured, under a head with command, machine and date.

A script writes one section of its page, between two markers; text around the markers is written by people and
stays. A script that measures several machines or sets of vectors writes a section for each.
"""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "measurements"

LEFT_OUT = ("--data", "--docs", "--page", "--into", "--output", "--log", "--corpus", "--folder")
"""Options that name places on one machine."""


def command() -> str:
    """Return the command that runs, without the places that it names."""
    script = Path(sys.argv[0]).resolve()
    script = script.parent if script.name == "__main__.py" else script
    name = script.relative_to(ROOT) if script.is_relative_to(ROOT) else script.name
    options = []
    rest = iter(sys.argv[1:])
    for option in rest:
        if option in LEFT_OUT:
            next(rest, None)
        elif option.partition("=")[0] not in LEFT_OUT:
            options.append(Path(option).name if os.sep in option and Path(option).exists() else option)
    return shlex.join(["python", str(name), *options])


def processor() -> str:
    """Return the name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def head(seconds: float | None = None) -> str:
    """Return the table at the head of a section: command, machine, date, duration, versions."""
    from wordvec_ca import kernels

    torch = f", PyTorch {sys.modules['torch'].__version__}" if "torch" in sys.modules else ""
    rows = [
        ("command", f"`{command()}`"),
        ("machine", f"{processor()}, {os.cpu_count()} processors, {kernels.isa()}"),
        ("date", datetime.date.today().isoformat()),
        *([("time", f"{seconds / 60:.1f} minutes")] if seconds is not None else []),
        ("versions", f"Python {platform.python_version()}{torch}"),
    ]
    return table(("", ""), rows)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)])


def write_section(page: Path, title: str, name: str, body: str, seconds: float | None = None) -> None:
    """Replace a section of a page, or append it; a page that does not exist begins with its title.

    Parameters
    ----------
    page : Path
        The page.
    title : str
        Heading of a new page.
    name : str
        Name of the section, in its markers.
    body : str
        What comes below the head.
    seconds : float, optional
        How long it took.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    section = "\n\n".join([begin, head(seconds), body.strip("\n"), end])
    old = page.read_text(encoding="utf-8") if page.exists() else f"# {title}\n"
    if begin in old:
        before, rest = old.split(begin, 1)
        new = before + section + rest.split(end, 1)[1]
    else:
        new = old.rstrip("\n") + "\n\n" + section + "\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(new, encoding="utf-8")
    print(f"wrote the section {name} of {page}", file=sys.stderr)
