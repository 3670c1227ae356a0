"""Quality and memory with many threads: one worker beside 8, 16, 32 and 64, on two cores if need be.

    python scripts/quality/replicas.py --corpus WIKI.txt.xz --words 1,10 --log runs.jsonl
    python scripts/quality/replicas.py --corpus WIKI.txt.xz --memory --log runs.jsonl

The last lines of the text are held out. Every run adds a line to the log, and one that is there already is
not run again, so the script can be stopped and started; the page is written from the log. Options other
than the number of threads are defaults, but for 50 dimensions and 3 epochs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import FOLDER, lines_of, table, write_section

from wordvec_ca.corpus import encode_corpus
from wordvec_ca.errors import DataError
from wordvec_ca.model_specs import MODELS
from wordvec_ca.models import TrainConfig
from wordvec_ca.training import train

HELD_OUT = 2_000
"""Lines of held-out text."""

WORDS_PER_LINE = 64.1

WORKERS = (1, 8, 16, 32, 64)

PROBE = """
import sys, threading, time
from wordvec_ca.cli import main
peak = 0
def watch():
    global peak
    while True:
        for line in open("/proc/self/status"):
            if line.startswith("RssAnon"):
                peak = max(peak, int(line.split()[1]) * 1024)
        time.sleep(0.02)
threading.Thread(target=watch, daemon=True).start()
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("PEAK", peak)
"""
"""Runs the command line and tells the most anonymous memory that it had."""


def read(corpus: str, words: float) -> tuple[list[list[str]], list[list[str]]]:
    """Return so many million words of a text, in lines, and the held-out lines after them."""
    n = int(words * 1e6 / WORDS_PER_LINE)
    lines = [line.lower().split() for line in lines_of(corpus, n + HELD_OUT)]
    return lines[:-HELD_OUT], lines[-HELD_OUT:]


def runs(options: argparse.Namespace, done: list[dict[str, Any]]) -> None:
    """Do the runs that are not in the log."""
    for words in options.words:
        wanted = [
            (model, workers, seed)
            for workers in options.workers
            for model in options.models
            for seed in (range(1, options.seeds + 1) if workers == 1 else (1,))
        ]
        known = {(run["model"], run["workers"], run["seed"]) for run in done if run.get("words") == words}
        if not set(wanted) - known:
            continue
        text, valid = read(options.corpus, words)
        with (
            tempfile.TemporaryDirectory() as folder,
            encode_corpus(text, cache_dir=Path(folder)) as encoded,
        ):
            del text
            for model, workers, seed in wanted:
                if (model, workers, seed) in known:
                    continue
                config = TrainConfig(model=model, workers=workers, seed=seed, vector_size=50, epochs=3)
                run: dict[str, Any] = {"words": words, "model": model, "workers": workers, "seed": seed}
                cpu = time.process_time()
                try:
                    record = train(encoded, config, valid=valid, progress=False).record
                    run |= {"loss": record["valid_loss_by_epoch"][-1], **record["replicas"]}
                except DataError as error:
                    run |= {"error": str(error)}
                run["cpu"] = round(time.process_time() - cpu, 1)
                keep(options, done, run)


def memory(options: argparse.Namespace, done: list[dict[str, Any]]) -> None:
    """Compare the memory that ``--dry-run`` tells with what a run takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        text, _ = read(options.corpus, 10)
        path.write_text("\n".join(map(" ".join, text)), encoding="utf-8")
        del text
        known = {(run["model"], run["workers"]) for run in done if "memory" in run}
        for model, workers in (("cbow", 8), ("cbow", 64), ("skipgram", 64), ("ssg", 8), ("cbow", 1)):
            if (model, workers) in known:
                continue
            command = ["train", str(path), "--model", model, "--workers", str(workers), "--epochs", "1"]
            command += ["--vector-size", "100" if model == "ssg" else "300", "--min-count", "5"]
            said = subprocess.run(
                [sys.executable, "-m", "wordvec_ca", *command, "--dry-run"],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            line = next(line for line in said.splitlines() if line.startswith("memory"))
            output = subprocess.run(
                [sys.executable, "-c", PROBE, *command, "-o", str(Path(folder) / "m"), "--overwrite"],
                capture_output=True, text=True, check=True, env={**os.environ},
            ).stdout  # fmt: skip
            peak = int(output.rpartition("PEAK")[2])
            keep(
                options,
                done,
                {"memory": True, "model": model, "workers": workers, "said": line, "peak": peak},
            )


def keep(options: argparse.Namespace, done: list[dict[str, Any]], run: dict[str, Any]) -> None:
    """Add a run to the log."""
    done.append(run)
    print(run, flush=True)
    with open(options.log, "a", encoding="utf-8") as file:
        file.write(json.dumps(run) + "\n")


def pages(options: argparse.Namespace, done: list[dict[str, Any]], seconds: float) -> None:
    """Write the page from the log."""
    parts = []
    for words in sorted({run["words"] for run in done if "words" in run}):
        of_text = [run for run in done if run.get("words") == words]
        rows = []
        for model in MODELS:
            row: list[Any] = [model]
            alone = [run["loss"] for run in of_text if run["model"] == model and run["workers"] == 1]
            if not alone:
                continue
            row.append(" / ".join(f"{loss:.3f}" for loss in alone))
            for workers in WORKERS[1:]:
                found = [run for run in of_text if run["model"] == model and run["workers"] == workers]
                loss = found[-1].get("loss") if found else None
                row.append(
                    ""
                    if not found
                    else "diverged"
                    if loss is None
                    else f"{loss:.3f} ({loss - alone[0]:+.3f})"
                )
            rows.append(row)
        threads = {run["workers"]: run["threads"] for run in of_text if "threads" in run}
        columns = ["model", "1 worker"]
        for workers in WORKERS[1:]:
            parted = threads.get(workers)
            columns.append(f"{workers}: {len(parted)} × {parted[0]}" if parted else str(workers))
        parts.append(f"### {words:g} M words\n\n" + table(columns, rows))
    note = (
        "Held-out loss, and in brackets how far it is from that of one worker (seed 1). A column names "
        "threads: replicas × threads of each."
    )
    title = "Many threads: replicas"
    if parts:
        write_section(options.page, title, "quality", note + "\n\n" + "\n\n".join(parts), seconds)
    rows = [
        [
            run["model"],
            run["workers"],
            run["said"].removeprefix("memory").strip(),
            f"{run['peak'] / 1e6:.0f} MB",
        ]
        for run in done
        if "memory" in run
    ]
    if rows:
        columns = ("model", "workers", "--dry-run says", "taken")
        body = "### Memory\n\n300 dimensions (ssg 100), 10 M words.\n\n" + table(columns, rows)
        write_section(options.page, title, "memory", body, seconds)


def main() -> None:
    """Run what is not in the log, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--words", type=lambda text: [float(n) for n in text.split(",")], default=[])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument(
        "--workers", type=lambda text: [int(n) for n in text.split(",")], default=list(WORKERS)
    )
    parser.add_argument("--seeds", type=int, default=2, help="with one worker")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--log", required=True)
    parser.add_argument("--page", type=Path, default=FOLDER / "replicas.md")
    options = parser.parse_args()
    started = time.monotonic()
    done: list[dict[str, Any]] = []
    if os.path.exists(options.log):
        with open(options.log, encoding="utf-8") as file:
            done = [json.loads(line) for line in file]
    runs(options, done)
    if options.memory:
        memory(options, done)
    pages(options, done, time.monotonic() - started)


if __name__ == "__main__":
    main()
