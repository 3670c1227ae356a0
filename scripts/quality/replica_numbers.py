"""Quality by number of replicas: held-out loss and word similarity, one thread each, over seeds.

    python scripts/quality/replica_numbers.py --corpus WIKI.txt.xz --pairs ws353.tsv rg65.tsv mturk287.tsv \
        --log runs.jsonl --cells 30:cbow:1,2,4,8,16 30:skipgram:2:merges=50 30:ssg:8:workers=64

A cell is ``WORDS:MODEL:REPLICAS[:OPTION=VALUE...]``: millions of words, and options of training. The last
lines of the text are held out. Every run adds a line to the log, and one that is there already is not run
again, so the script can be stopped and started, and cells can be added; the page is written from the log
after each run. Options that are not named are defaults, but for 50 dimensions and 3 epochs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from replicas import read
from study import FOLDER, table, write_section

from wordvec_ca.corpus import encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.eval import evaluate, read_word_pairs
from wordvec_ca.models import TrainConfig
from wordvec_ca.training import train

BESIDE_ONE = ("merges", "merge_rate", "merge_rule", "workers")
"""Options in which a run may differ from the one worker that it is compared with."""

DEFAULTS = {"vector_size": 50, "epochs": 3, "min_count": 5}


def value(text: str) -> Any:
    """Return a number, or the text if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def cells(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the runs that are asked for, in order: all cells of the first seed before the second."""
    for seed in range(1, options.seeds + 1):
        for cell in options.cells:
            words, model, replicas, *more = cell.split(":")
            settings = {name: value(text) for name, text in (pair.split("=") for pair in more)}
            for number in replicas.split(","):
                yield {
                    "words": float(words),
                    "model": model,
                    "replicas": int(number),
                    "seed": seed,
                    "options": settings,
                }


def trained(cell: dict[str, Any], encoded: Any, valid: Any, sets: dict[str, Any]) -> dict[str, Any]:
    """Train once; return the loss on the held-out lines and Spearman's rho of each set of word pairs."""
    config = TrainConfig(
        model=cell["model"],
        replicas=cell["replicas"],
        seed=cell["seed"],
        **DEFAULTS | {"workers": cell["replicas"]} | cell["options"],
    )
    cpu, began = time.process_time(), time.monotonic()
    try:
        model = train(encoded, config, valid=valid, progress=False)
    except DataError as error:
        return {**cell, "error": str(error)}
    record = model.record
    return {
        **cell,
        "loss": record["valid_loss_by_epoch"][-1],
        "similarity": {
            name: evaluate(model.vectors, pairs, seed=1).metrics["spearman"].value
            for name, pairs in sets.items()
        },
        "n_words": len(model.vocab),
        "merges": record["replicas"].get("merges", 0),
        "cpu": round(time.process_time() - cpu, 1),
        "seconds": round(time.monotonic() - began, 1),
    }


def key(run: dict[str, Any]) -> str:
    """Return what tells one cell from others."""
    return json.dumps([run[name] for name in ("words", "model", "replicas", "seed", "options")])


def runs(options: argparse.Namespace, done: list[dict[str, Any]]) -> None:
    """Do the runs that are not in the log."""
    sets = {Path(path).stem: read_word_pairs(path) for path in options.pairs}
    known = {key(each) for each in done}
    wanted = [cell for cell in cells(options) if key(cell) not in known]
    texts: dict[tuple[float, int], Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for cell in wanted:
            least = cell["options"].get("min_count", DEFAULTS["min_count"])
            text = cell["words"], least
            if text not in texts:
                lines, valid = read(options.corpus, cell["words"])
                place = Path(folder) / f"{cell['words']:g}-{least}"
                place.mkdir()
                config = TrainConfig(min_count=least)
                texts[text] = encode_corpus(lines, config.text_options(), cache_dir=place), valid
                del lines
            done.append(trained(cell, *texts[text], sets))
            print(done[-1], flush=True)
            with open(options.log, "a", encoding="utf-8") as file:
                file.write(json.dumps(done[-1]) + "\n")
            page(options, done)


def mean(values: list[float]) -> float:
    """Return the mean; nan of none."""
    return statistics.fmean(values) if values else float("nan")


def page(options: argparse.Namespace, done: list[dict[str, Any]]) -> None:
    """Write the section from the log."""
    parts = []
    groups = sorted({(r["words"], json.dumps(r["options"])) for r in done}, key=lambda g: (-len(g[1]) < 3, g))
    for words, settings in groups:
        group = [r for r in done if (r["words"], json.dumps(r["options"])) == (words, settings)]
        rows = []
        for model in dict.fromkeys(r["model"] for r in group):
            plain = [r for r in done if (r["words"], r["model"], r["replicas"]) == (words, model, 1)]
            same = {n: v for n, v in json.loads(settings).items() if n not in BESIDE_ONE}
            alone = mean([r["loss"] for r in plain if r["options"] == same and "loss" in r])
            for n in sorted({r["replicas"] for r in group if r["model"] == model}):
                found = [r for r in group if (r["model"], r["replicas"]) == (model, n)]
                good = [r for r in found if "loss" in r]
                loss = mean([r["loss"] for r in good])
                similarity = [mean(list(r["similarity"].values())) for r in good]
                spread = f" ({min(similarity):.3f} to {max(similarity):.3f})" if len(similarity) > 1 else ""
                rows.append(
                    (
                        model,
                        n,
                        good[0]["merges"] if good else "",
                        f"{loss:.3f}" if len(good) == len(found) else "diverged",
                        f"{loss - alone:+.3f}",
                        f"{mean(similarity):.3f}{spread}",
                        len(found),
                    )
                )
        named = ", ".join(f"{name} {value}" for name, value in json.loads(settings).items())
        types = max((r.get("n_words", 0) for r in group), default=0)
        parts.append(
            f"### {words:g} M words, {types:,} different{', ' + named if named else ''}\n\n"
            + table(
                ("model", "replicas", "merges", "held-out loss", "beside one", "similarity", "seeds"), rows
            )
        )
    note = (
        "Each replica has one thread, unless workers are named. Loss and similarity (mean of Spearman's rho "
        "over the sets of word pairs) are means over the seeds; in brackets the least and the "
        "greatest seed. 50 dimensions and 3 epochs unless said."
    )
    body = note + "\n\n" + "\n\n".join(parts)
    write_section(options.page, "Many threads: replicas", options.section, body)


def main() -> None:
    """Run what is not in the log, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--pairs", nargs="+", required=True)
    parser.add_argument("--cells", nargs="+", default=[])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--log", required=True)
    parser.add_argument("--page", type=Path, default=FOLDER / "replicas.md")
    parser.add_argument("--section", default="numbers", help="name of the section of the page")
    options = parser.parse_args()
    done: list[dict[str, Any]] = []
    if os.path.exists(options.log):
        with open(options.log, encoding="utf-8") as file:
            done = [json.loads(line) for line in file]
    runs(options, done)
    page(options, done)


if __name__ == "__main__":
    main()
