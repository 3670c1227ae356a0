"""Makes the pictures of the start page: a recorded terminal, a report, and the speed beside gensim.

    python scripts/site/pictures.py

The terminal and the report are of a real run of the commands that they show; the chart has the figures of the
README's table. The report is photographed by Chromium (Debian: apt-get install chromium).
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "docs" / "assets"
COLUMNS, LINES = 88, 40

COMMANDS = (
    "cawv demo -o python.model --max-words 300000",
    "cawv nn python.model array -n 4",
    'cawv attention python.model "return the number of items in the list" --target items',
)
"""What is typed; progress, which moves, is left out."""

COLOURS = ("#c2410c", "#f59e0b", "#0f766e", "#64748b")
"""Of the processors."""


def main() -> None:
    """Make all pictures."""
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    with tempfile.TemporaryDirectory() as folder:
        shown = [(command, printed_by(command, Path(folder))) for command in COMMANDS]
        (ASSETS / "terminal.svg").write_text(as_svg(shown), encoding="utf-8")
        photograph_report(Path(folder))
    draw_speed()


def printed_by(command: str, folder: Path) -> str:
    """Run a command whose standard output is a terminal, and return what it prints there."""
    ours, theirs = pty.openpty()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {"PATH": path, "COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm-256color"}
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CAWV_DATA")}
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # the process has ended
            break
        if not block:
            break
        printed += block
    os.close(ours)
    assert process.wait() == 0, f"{command} ended with {process.returncode}"
    return printed.decode().replace("\r\n", "\n").rstrip("\n")


def as_svg(shown: list[tuple[str, str]]) -> str:
    """Return a picture of a terminal in which commands were typed."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, highlight=False)
    for command, printed in shown:
        console.print(Text.assemble(("$ ", "green"), (command, "bold")))
        console.print(Text.from_ansi(printed))
        console.print()
    picture = console.export_svg(title="cawv")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.S)  # nothing is fetched from elsewhere


def photograph_report(folder: Path) -> None:
    """Save a picture of the upper part of a model's report."""
    import chromium

    printed_by("cawv report python.model -o report.html", folder)
    path = chromium.executable()
    assert path is not None, "no Chromium here"
    with chromium.Chromium(path) as browser:
        browser.open((folder / "report.html").as_uri())
        browser.resize(1000, 760)
        browser.evaluate("document.documentElement.style.overflow = 'hidden'")  # no scroll bar
        browser.screenshot(ASSETS / "report.png")


def draw_speed() -> None:
    """Draw the README's table of speeds as bars."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "cawv", "font.size": 10})
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.search(r"^\| setting \|.*?(?=\n\n)", text, re.S | re.M)
    assert lines is not None, "the README has no table of speeds"
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()]
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    n_columns = len(head) - 1
    height = 0.8 / n_columns
    for column, processor in enumerate(head[1:]):
        places = [row + (column - (n_columns - 1) / 2) * height for row in range(len(rows))]
        times = [float(row[column + 1]) for row in rows]
        bars = axes.barh(places, times, height, label=processor, color=COLOURS[column])
        axes.bar_label(bars, fmt="%g", padding=3, fontsize=8, color="#777777")
    axes.axvline(1, color="#777777", linewidth=1, linestyle=":")
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("times the words per second of gensim 4.4, one thread (dotted: gensim)")
    axes.legend(frameon=False, fontsize=8, labelcolor="#777777")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors="#777777")  # read on light and on dark ground
    axes.xaxis.label.set_color("#777777")
    figure.savefig(ASSETS / "speed.svg", transparent=True, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
