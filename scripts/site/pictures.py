"""Makes the pictures of README, of the start page and of the tutorial on maps.

    CAWV_DATA=... python scripts/site/pictures.py

The terminal and the report come from a real run of the commands that they show. The charts have the figures
of the table in docs/speed.md. Maps and attention come from two models of Wikipedia, which are trained here on
the first 10 million words of the corpus. Chromium (Debian: chromium) photographs pages.
"""

from __future__ import annotations

import itertools
import lzma
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from study import tables_of

ASSETS = ROOT / "docs" / "assets"
COLUMNS, LINES = 88, 40

COMMANDS = (
    "cawv demo -o python.model --max-words 300000",
    "cawv nn python.model array -n 4",
    'cawv attention python.model "return the number of items in the list" --target items',
)
"""The commands that are typed; they print no progress, as a picture cannot show it."""

COLOURS = ("#c2410c", "#f59e0b", "#0f766e", "#64748b")
"""Colours of the processors in the charts."""

LINES_OF_WIKIPEDIA = 156_003
"""Lines with the first 10 million words."""

TRAIN = "cawv train wiki.txt --model {model} --workers 2 -o {folder}"
EXPLORE = "cawv explore {models} --words 15000 -o {page}"

THEMES = ("light", "dark")


def main() -> None:
    """Make all pictures."""
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    with tempfile.TemporaryDirectory() as folder:
        shown = [(command, printed_by(command, Path(folder)).replace(folder, "~")) for command in COMMANDS]
        (ASSETS / "terminal.svg").write_text(as_svg(shown), encoding="utf-8")
        photograph_report(Path(folder))
        photograph_maps(Path(folder))
    draw_speed()
    draw_speed_of_the_readme()
    draw_costs()


def printed_by(command: str, folder: Path) -> str:
    """Run a command with a terminal as its standard output, and return what it prints there."""
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
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.S)  # so that no font is fetched


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


def photograph_maps(folder: Path) -> None:
    """Save pictures of the words of Wikipedia: the map, attention, a narrow screen, two models."""
    import chromium
    from PIL import Image

    corpus = Path(os.environ["CAWV_DATA"]) / "corpora" / "wiki.30M.txt.xz"
    with lzma.open(corpus, "rt", encoding="utf-8") as file, (folder / "wiki.txt").open("w") as text:
        text.writelines(itertools.islice(file, LINES_OF_WIKIPEDIA))
    for model, name in (("cbow-attn", "wikipedia"), ("skipgram", "skip-gram")):
        printed_by(TRAIN.format(model=model, folder=name), folder)
    printed_by(EXPLORE.format(models="wikipedia", page="map.html"), folder)
    printed_by(EXPLORE.format(models="wikipedia skip-gram", page="both.html"), folder)
    path = chromium.executable()
    assert path is not None, "no Chromium here"
    with chromium.Chromium(path) as browser:

        def show(page: str, theme: str, width: int, height: int, fragment: str = "") -> None:
            browser.call(
                "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
            )
            browser.resize(width, height)
            browser.open("about:blank")  # else the same page with another fragment is not loaded again
            browser.open((folder / page).as_uri() + fragment)
            time.sleep(2)  # until the map has stopped moving

        def open_sentence() -> None:
            browser.click("#tab-sentence")
            browser.wait("document.querySelector('#content table') !== null")

        for theme in THEMES:
            show("map.html", theme, 1280, 800)
            browser.screenshot(ASSETS / f"map-{theme}.png")
            open_sentence()
            browser.screenshot(ASSETS / f"attention-{theme}.png", of="#content table")
        show("map.html", "light", 1280, 800)
        open_sentence()
        browser.screenshot(ASSETS / "explorer-sentence.png")
        show("map.html", "dark", 390, 844, "#word=science")
        browser.screenshot(ASSETS / "explorer-phone.png")
        show("both.html", "light", 1280, 800, "#word=science")
        browser.screenshot(ASSETS / "explorer-two-models.png")
    for name in ("map-*", "attention-*", "explorer-*"):
        for picture in ASSETS.glob(f"{name}.png"):
            with Image.open(picture) as opened:
                reduced = opened.convert("RGB").quantize(128)  # a third of the bytes
            reduced.save(picture, optimize=True)


FAMILIES = {
    "similarity": "similarity (Spearman)",
    "analogies": "analogies (Google)",
    "V": "parts of speech (V)",
    "sentences": "sentences (Pearson)",
}
"""The figures in the picture of costs: columns of the table in docs/evidence/data/both-halves.json."""

KINDS = {
    "cbow": ("CBOW", "#2a7fb8"),
    "skipgram": ("skip-gram", "#d9622b"),
    "cbow-attn": ("attention", "#12917f"),
    "gensim, CBOW": ("gensim CBOW", "#8b949e"),
    "gensim, skip-gram": ("gensim skip-gram", "#b08fc7"),
}
"""Name and colour of each model in the picture of costs."""


def draw_costs() -> None:
    """Draw figures of quality over CPU seconds of training, for light and for dark pages."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    costs = next(table for table in tables_of("both-halves") if "CPU s" in table["columns"])
    points = [dict(zip(costs["columns"], row, strict=True)) for row in costs["rows"]]
    plt.rcParams.update(
        {"svg.hashsalt": "cawv", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    )
    for theme, ink in (("light", "#1c2126"), ("dark", "#eceff2")):
        figure, axes = plt.subplots(2, 2, figsize=(7.5, 5.2), layout="constrained", sharex=True)
        for (family, title), panel in zip(FAMILIES.items(), axes.flat, strict=True):
            for (kind, (label, colour)), form in itertools.product(KINDS.items(), ("input", "both")):
                found = [
                    (float(point["CPU s"]), float(point[family]), int(point["dimensions"]))
                    for point in points
                    if (point["model"], point["vectors"]) == (kind, form) and point[family]
                ]
                seconds, values, sizes = zip(*found, strict=True) if found else ((), (), ())
                panel.plot(seconds, values, ":" if form == "input" else "-", color=colour, linewidth=1)
                filled = {"facecolor": colour if form == "both" else "none", "edgecolor": colour}
                name = label if form == "both" else None
                panel.scatter(seconds, values, [size / 4 + 10 for size in sizes], label=name, **filled)
            panel.set_title(title, color=ink, fontsize=9, loc="left")
            panel.set_xscale("log")
            panel.set_xticks([10, 30, 100, 300], ["10", "30", "100", "300"])
            panel.tick_params(colors=ink, which="both")
            panel.spines[["top", "right"]].set_visible(False)
            panel.spines[["left", "bottom"]].set_color(ink)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=5, loc="outside upper center", labelcolor=ink)
        figure.supxlabel(
            "CPU seconds of training, 10 M words, five epochs; 50, 100 and 200 numbers for a word\n"
            "hollow: input rows, as other programs publish; filled: both matrices", color=ink, fontsize=9
        )  # fmt: skip
        path = ASSETS / f"costs-{theme}.svg"
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)


def draw_speed() -> None:
    """Draw the table of speeds as bars."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "cawv", "font.size": 10})
    head, *rows = speed_table()
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
    axes.tick_params(colors="#777777")  # readable on light and on dark pages
    axes.xaxis.label.set_color("#777777")
    figure.savefig(ASSETS / "speed.svg", transparent=True, bbox_inches="tight", metadata={"Date": None})


def speed_table() -> list[list[str]]:
    """Return the cells of the table of speeds, the head first."""
    return cells_of((ROOT / "docs" / "speed.md").read_text(encoding="utf-8"), "setting |")


def cells_of(page: str, start: str) -> list[list[str]]:
    """Return the cells of the table whose head begins with ``start``, the head first."""
    lines = re.search(rf"^\| {re.escape(start)}.*?(?=\n\n)", page, re.S | re.M)
    assert lines is not None, f"the page has no table that begins with {start}"
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()]
    return [head, *rows]


def draw_speed_of_the_readme() -> None:
    """Draw our speed beside gensim's on a common processor, for light and for dark pages."""
    head, *rows = speed_table()
    times = [float(row[-1]) for row in rows]
    scale = 340 / max(times)
    for theme, ink, soft, bar, other in (
        ("light", "#1c2126", "#59636e", "#2a7fb8", "#b4bac1"),
        ("dark", "#eceff2", "#a3adb8", "#6cc0f0", "#59626c"),
    ):
        parts = [
            f'<text x="0" y="18" fill="{ink}" font-weight="600">Words a second, gensim 4.4 (grey) = 1</text>',
            f'<text x="0" y="38" fill="{soft}" font-size="12">one thread, the same text; {head[-1]}</text>',
        ]
        for number, (row, ratio) in enumerate(zip(rows, times, strict=True)):
            y = 56 + 30 * number
            parts += [
                f'<text x="0" y="{y + 15}" fill="{ink}">{row[0]}</text>',
                f'<rect x="310" y="{y + 3}" width="{scale:.1f}" height="6" rx="2" fill="{other}"/>',
                f'<rect x="310" y="{y + 10}" width="{scale * ratio:.1f}" height="9" rx="2" fill="{bar}"/>',
                f'<text x="{318 + scale * ratio:.1f}" y="{y + 19}" fill="{ink}">{ratio:g}×</text>',
            ]
        height = 70 + 30 * len(rows)
        picture = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" width="720" '
            f'height="{height}" font-family="system-ui,sans-serif" font-size="14" role="img" aria-label="'
            f'Bars: cawv trains {min(times):g} to {max(times):g} times as fast as gensim">'
            f"{''.join(parts)}</svg>\n"
        )
        (ASSETS / f"speed-{theme}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
