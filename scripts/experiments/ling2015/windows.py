"""Quality as a function of the window, and the tagging results of Ling et al. 2015 with their LSTM tagger.

    python scripts/experiments/frontier.py --data "$CAWV_DATA" --output frontier --lines 156003
    python scripts/experiments/ling2015/windows.py --data "$CAWV_DATA" --output frontier --lines 156003

The first command trains and judges the models. This script reads the results from OUTPUT, without unfinished
recipes. With ``--taggers`` it trains an LSTM tagger on the vectors of each model of the first seed, unless
the tagger is finished. It writes two sections of docs/evidence/data/ling2015.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2]))
from frontier import BILSTM, COMMON, lines_said, slug
from study import parser, say, table, write_section

from wordvec_ca.eval import Report, plan
from wordvec_ca.vectors import KeyedVectors

TITLE = "Attention-CBOW and its rivals (Ling et al. 2015)"
FAMILIES = {"cbow": "CBOW", "cbow-attn": "attention", "ssg": "structured skip-gram"}
WINDOWS = (1, 2, 5, 10, 20)
COLUMNS = {
    ("pos-induction", "wsj_sample"): "V, WSJ",
    ("pos-induction", "ud_ewt.test"): "V, EWT test",
    ("tagging", "wsj_sample"): "tagging, WSJ",
    ("similarity", "ws353"): "ws353",
}

Curves = dict[str, dict[int, dict[tuple[str, str], list[float]]]]
"""Family -> window -> data set -> a value for each seed."""


def read_reports(path: Path) -> list[Report]:
    """Return the reports of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [Report.from_dict(record) for record in json.load(stream)["reports"]]


def collect(options: argparse.Namespace) -> Curves:
    """Read the results of the recipes that are finished."""
    curves: Curves = {}
    for family in FAMILIES:
        for window in WINDOWS:
            for seed in options.seeds:
                path = options.output / "reports" / f"{slug(f'{family} w{window}')}.{seed}.json.gz"
                if not path.exists():
                    continue
                for report in read_reports(path):
                    key = report.task, report.dataset
                    cell = curves.setdefault(family, {}).setdefault(window, {})
                    cell.setdefault(key, []).append(report.value)
    return curves


def mean(values: list[float]) -> float:
    """Return the mean over the seeds."""
    return sum(values) / len(values)


def plot(curves: Curves, figures: Path) -> None:
    """Draw V-measure and tagging by the size of the window."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "windows"
    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    shown = (("pos-induction", "wsj_sample"), ("tagging", "wsj_sample"), ("similarity", "ws353"))
    for axis, key in zip(axes, shown, strict=True):
        for family, by_window in curves.items():
            points = [(w, mean(cell[key])) for w, cell in sorted(by_window.items()) if key in cell]
            axis.semilogx(*zip(*points, strict=True), "o-", ms=3, base=2, label=FAMILIES[family])
        axis.set_xticks(WINDOWS, map(str, WINDOWS))
        axis.set_xlabel("window")
        axis.set_title(COLUMNS[key], fontsize=9)
    axes[0].legend(fontsize=7)
    figure.savefig(figures / "ling2015-windows.svg", metadata={"Date": None})
    pyplot.close(figure)


def windows_section(options: argparse.Namespace) -> str:
    """Return the section on windows, and draw its figure."""
    curves = collect(options)
    figures = options.page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    plot(curves, figures)
    rows: list[list[Any]] = []
    for family, by_window in curves.items():
        for window, cell in sorted(by_window.items()):
            figure_of = [f"{mean(cell[key]):.3f}" if key in cell else "" for key in COLUMNS]
            rows.append([FAMILIES[family], window, max(map(len, cell.values())), *figure_of])
    return "\n\n".join(
        [
            "## The size of the window",
            f"Wikipedia, {lines_said(options.lines)}; recipes as in "
            "[Syntax against similarity](frontier.md). Rows with one seed have that seed alone: differences "
            "below .02 say nothing there.",
            table(("model", "window", "seeds", *COLUMNS.values()), rows),
            "![V-measure, tagging and similarity by the size of the window](figures/ling2015-windows.svg)",
        ]
    )


def tag(options: argparse.Namespace) -> None:
    """Train the taggers that are not trained yet."""
    from wordvec_ca.eval.tasks import bilstm_tagging

    jobs, _ = plan(["tagging"], folder=options.data)
    data = next(job for job in jobs if job.dataset == "wsj_sample").data.read()
    for name in BILSTM:
        model = options.output / "models" / f"{slug(name)}.0.{options.seeds[0]}"
        place = options.output / "bilstm" / f"{slug(name)}.{options.epochs}.json"
        if place.exists() or not (model / "config.json").exists():
            continue
        say(f"tagger on {name}")
        report = bilstm_tagging.evaluate(
            KeyedVectors.load(model), data, sizes=options.sizes, epochs=options.epochs, progress=say
        )
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_suffix(".partial")
        partial.write_text(json.dumps(report.to_dict(items=True)), encoding="utf-8")
        os.replace(partial, place)


def taggers_section(options: argparse.Namespace) -> str:
    """Return the section on tagging with the LSTM."""
    rows = []
    for name in BILSTM:
        place = options.output / "bilstm" / f"{slug(name)}.{options.epochs}.json"
        if not place.exists():
            continue
        report = Report.from_dict(json.loads(place.read_text(encoding="utf-8")))
        cells = []
        for metric in (*(f"accuracy@{size}" for size in options.sizes), "accuracy"):
            found = report.metrics[metric]
            cells.append(f"{100 * found.value:.2f} ({100 * found.low:.2f} to {100 * found.high:.2f})")
        rows.append([name, *cells])
    sizes = [f"{size:,} training sentences" for size in options.sizes]
    return "\n\n".join(
        [
            "## Tagging with the LSTM",
            "Accuracy in % on the WSJ sample of a bidirectional LSTM that starts from the vectors and trains "
            f"them further; {options.epochs} epochs, the best one by a tenth of the training sentences. "
            f"Vectors: Wikipedia, {lines_said(options.lines)}, {COMMON['vector_size']} dimensions. One seed "
            "of vectors and tagger; 95 % from the sentences alone.",
            table(("vectors", *sizes, "all"), rows),
        ]
    )


def main() -> None:
    """Tag, then write both sections."""
    asked = parser(__doc__, "ling2015")
    asked.add_argument("--data", type=Path, default=os.environ.get("CAWV_DATA"), help="data folder")
    asked.add_argument("--output", type=Path, default=Path("frontier"), help="OUTPUT of frontier.py")
    asked.add_argument("--seeds", default="1,2,3", help="comma-separated")
    asked.add_argument("--lines", type=int, help="as given to frontier.py")
    asked.add_argument("--taggers", action="store_true", help="train the LSTM taggers that are missing")
    asked.add_argument("--epochs", type=int, default=20, help="of the taggers")
    asked.add_argument("--sizes", default="500", help="training sentences besides all, comma-separated")
    options = asked.parse_args()
    options.seeds = [int(seed) for seed in options.seeds.split(",")]
    options.sizes = tuple(int(size) for size in options.sizes.split(",") if size)
    if options.taggers:
        if options.data is None:
            asked.error("give --data, or set CAWV_DATA")
        options.data = Path(options.data)
        tag(options)
    if collect(options):
        write_section(options.page, TITLE, "windows", windows_section(options))
    if (options.output / "bilstm").exists():
        write_section(options.page, TITLE, "taggers", taggers_section(options))


if __name__ == "__main__":
    main()
