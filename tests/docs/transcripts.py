"""The code blocks of a page, run one after the other, and their output beside the output that the page shows.

``console`` blocks hold lines ``$ command`` (continued after a backslash), each followed by its output. A
``python`` block may be followed directly by a ``text`` block with its output. ``…`` replaces text that
varies: within a line a part of it, alone on a line any number of lines. A comment right above a block says
how it is compared:

``<!-- figures vary -->``    numbers may differ, and the lengths of bars (###)
``<!-- words vary -->``      numbers may differ, and half of the words
``<!-- exit 2 -->``          the last command ends with this exit code
``<!-- not run: WHY -->``    the block is only shown
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^(?P<above><!-- [^\n]* -->\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```\n", re.M | re.S)
NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*)?\.?\d+%?")


@dataclass(frozen=True)
class Block:
    """One block of code of a page."""

    kind: str
    body: str
    mark: str
    line: int
    output: str | None = None  # the output of a block of Python

    @property
    def runs(self) -> bool:
        """Whether the block is to be run at all."""
        return not self.mark.startswith("not run: ")


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page that can be run."""
    found = list(FENCE.finditer(page))
    for at, match in enumerate(found):
        kind, after = match["kind"], None
        if kind not in ("console", "python"):
            continue
        if kind == "python" and at + 1 < len(found) and found[at + 1]["kind"] == "text":
            between = page[match.end() : found[at + 1].start()]
            after = found[at + 1]["body"] if not between.strip() else None
        mark = (match["above"] or "").strip().removeprefix("<!-- ").removesuffix(" -->")
        if after is not None and found[at + 1]["above"]:
            mark = found[at + 1]["above"].strip().removeprefix("<!-- ").removesuffix(" -->")
        yield Block(kind, match["body"], mark, page.count("\n", 0, match.start()) + 1, after)


def commands(body: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output shown."""
    command: str | None = None
    output: list[str] = []
    for line in body.splitlines():
        if command is not None and command.endswith("\\") and not output:
            command = f"{command}\n{line}"
        elif line.startswith("$ "):
            if command is not None:
                yield command, "\n".join(output)
            command, output = line[2:], []
        else:
            assert command is not None, f"a console block begins with '$ ', not with {line!r}"
            output.append(line)
    if command is not None:
        yield command, "\n".join(output)


def differs(shown: str, printed: str, mark: str = "") -> str:
    """Return what is different between what a page shows and what was printed; '' where they agree."""
    expected, actual = _lines(shown), _lines(printed)
    if mark == "words vary":
        wanted, there = set(re.findall(r"[^\W\d_]{2,}", shown)), set(re.findall(r"[^\W\d_]{2,}", printed))
        common = len(wanted & there) / len(wanted) if wanted else 1.0
        as_long = len(expected) == len(actual) or "…" in expected
        if as_long and common >= 0.5:
            return ""
        return f"{common:.0%} of the words shown are among those printed:\n{printed}"
    if mark == "figures vary":
        expected, actual = ([_without_figures(line) for line in lines] for lines in (expected, actual))
    return "" if _match(expected, actual) else f"the page shows:\n{shown}\n\nprinted:\n{printed}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def _without_figures(line: str) -> str:
    spaced = re.sub(r"[\s-]+", " ", NUMBER.sub("0", line.replace("#", ""))).strip()
    return re.sub(r" ?… ?", "…", spaced)


def _match(expected: list[str], actual: list[str]) -> bool:
    """Return whether lines agree, where … alone matches any number of lines."""
    if not expected:
        return not actual
    if expected[0] == "…":
        return any(_match(expected[1:], actual[n:]) for n in range(len(actual) + 1))
    if not actual:
        return False
    pattern = ".*?".join(map(re.escape, expected[0].split("…")))
    return re.fullmatch(pattern, actual[0]) is not None and _match(expected[1:], actual[1:])


class Session:
    """Runs blocks in one folder, as a reader would who types them.

    Parameters
    ----------
    folder : Path
        Working directory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        scripts = str(Path(sys.executable).parent)
        quiet = {"NO_COLOR": "1", "COLUMNS": "100", "PYTHONWARNINGS": "ignore", "HOME": str(folder)}
        self.environment = {**os.environ, **quiet, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
        for name in ("CAWV_DATA", "FORCE_COLOR", "PYTEST_CURRENT_TEST"):
            self.environment.pop(name, None)

    def run(self, block: Block) -> str:
        """Run a block and return what is wrong with it; '' where it does what the page shows."""
        return self._python(block) if block.kind == "python" else self._console(block)

    def _console(self, block: Block) -> str:
        found = list(commands(block.body))
        for number, (command, shown) in enumerate(found, start=1):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", timeout=300,
            )  # fmt: skip
            last = number == len(found)
            code = int(block.mark[5:]) if block.mark.startswith("exit ") and last else 0
            if done.returncode != code:
                return f"$ {command}\nended with exit code {done.returncode}, not {code}:\n{done.stdout}"
            problem = differs(shown, done.stdout, block.mark)
            if problem:
                return f"$ {command}\n{problem}"
        return ""

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.body, f"block of line {block.line}", "exec"), self.names)
        return differs(block.output, printed.getvalue(), block.mark) if block.output is not None else ""
