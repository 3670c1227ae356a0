"""Makes the pictures of README and of the gallery.

    CAWV_DATA=... python scripts/site/pictures.py

The report and the axis come from a run of the commands of the guides. Maps and attention come from two models
of Wikipedia, which are trained here on the first 10 million words of the corpus. The chart of costs has the
figures of a study. Chromium (Debian: chromium) photographs pages.
"""

from __future__ import annotations

import itertools
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from study import tables_of

ASSETS = ROOT / "docs" / "assets"

DEMO = "cawv demo -o python.model --max-words 300000"
AXIS = "cawv axis python.model read:write input:output load:save --plot axis.svg "
AXIS += "--words stdin,stdout,reader,writer,file,text,stream,buffer"

LINES_OF_WIKIPEDIA = 156_003
"""Lines with the first 10 million words."""

TRAIN = "cawv train wiki.txt --model {model} --workers 2 -o {folder}"
EXPLORE = "cawv explore {models} --words 15000 -o {page}"

THEMES = ("light", "dark")


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    with tempfile.TemporaryDirectory() as folder:
        run(DEMO, Path(folder))
        photograph_report(Path(folder))
        run(AXIS, Path(folder))
        shutil.copy(Path(folder) / "axis.svg", ASSETS)
        photograph_maps(Path(folder))
    draw_costs()


def run(command: str, folder: Path) -> None:
    """Run a command as a reader would, without its data and its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {key: value for key, value in os.environ.items() if key != "CAWV_DATA"} | {"PATH": path}
    subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def photograph_report(folder: Path) -> None:
    """Save a picture of the upper part of a model's report."""
    import chromium

    run("cawv report python.model -o report.html", folder)
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
        run(TRAIN.format(model=model, folder=name), folder)
    run(EXPLORE.format(models="wikipedia", page="map.html"), folder)
    run(EXPLORE.format(models="wikipedia skip-gram", page="both.html"), folder)
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
        show("map.html", "light", 1280, 800)
        open_sentence()
        browser.screenshot(ASSETS / "attention-light.png", of="#content table")
        show("map.html", "dark", 390, 844, "#word=science")
        browser.screenshot(ASSETS / "explorer-phone.png")
        show("both.html", "light", 1280, 800, "#word=science")
        browser.screenshot(ASSETS / "explorer-two-models.png")
    for name in ("map-*", "attention-light", "explorer-*"):
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


if __name__ == "__main__":
    main()
