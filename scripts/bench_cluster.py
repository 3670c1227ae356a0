"""Train a text on one machine without Ray, and on local clusters, in alternation with another checkout.

    python scripts/bench_cluster.py wiki.txt --words 8e6 --nodes 1,2,4 --other ../former/.venv/bin/python
    python scripts/bench_cluster.py --types 1000000 --nodes 2

``--nodes 1`` is a run without Ray, with one thread. With ``--types`` the text is made up, and has every word
of the vocabulary. Nodes share this machine, so seconds by the clock mean little; those of processors include
all processes of Ray that work. It needs ``pip install 'wordvec-ca[cluster]' psutil``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import psutil
import study

from wordvec_ca.models import memory_bytes, read_config

FILES = 16
"""Files of the text: enough for four nodes to get shuffled shards of several."""

VALID_LINES = 4_000
"""Lines after the text that are held out."""

COLUMNS = ("model", "what", "nodes", "merges", "wall, s", "processors, s", "a round, s", "a merge, s")
COLUMNS += ("MB moved a merge", "MB a node", "× parameters", "loss", "held-out loss")


def made_up(types: int) -> Iterator[str]:
    """Yield lines of frequent and rare words in random order; each word occurs at least twice."""
    rng, weights = np.random.default_rng(1), np.cumsum(1 / np.arange(1, types + 1))
    for _ in range(2):
        drawn = np.searchsorted(weights / weights[-1], rng.random(max(types // 2, 500_000)))
        words = rng.permutation(np.concatenate([drawn, np.arange(types)]))
        for i in range(0, len(words), 20):
            yield " ".join(f"w{word}" for word in words[i : i + 20]) + "\n"


def write_text(given: argparse.Namespace) -> tuple[list[Path], Path | None]:
    """Distribute the lines of the text among files; return their names, and that of the held-out text."""
    given.into.mkdir(parents=True, exist_ok=True)
    names = [given.into / f"part-{i:02}.txt" for i in range(FILES)]
    valid = None if given.corpus is None else given.into / "valid.txt"
    if not names[-1].exists():
        outs = [open(name, "w", encoding="utf-8") for name in names]  # noqa: SIM115
        lines = made_up(given.types) if given.corpus is None else study.lines_of(given.corpus)
        seen = 0
        for number, line in enumerate(lines):
            outs[number % FILES].write(line)
            seen += line.count(" ") + 1
            if seen >= given.words:
                break
        if valid is not None:
            with open(valid, "w", encoding="utf-8") as out:
                out.writelines(line for _, line in zip(range(VALID_LINES), lines, strict=False))
        for out in outs:
            out.close()
    return names, valid


def watch(run: subprocess.Popen[Any]) -> tuple[float, float]:
    """Return the seconds of processors, and the peak of memory with Ray's object stores, of a run."""
    cpu: dict[int, float] = {}
    peak, me = 0.0, psutil.Process(run.pid)
    while run.poll() is None:
        now = 0.0
        for process in [me, *me.children(recursive=True)]:
            try:
                memory = proportional(process.pid)
                now += memory["Pss_Shmem"]  # the object stores: a share for each process that has mapped them
                # a task gives its process a name; the GCS, raylets and agents need little
                if process is me or (process.cmdline() or [""])[0].startswith("ray::"):
                    times = process.cpu_times()
                    cpu[process.pid] = times.user + times.system
                    now += memory["Pss_Anon"]
            except (psutil.Error, OSError, KeyError):  # it has just ended
                continue
        peak = max(peak, now)
        time.sleep(0.1)
    return sum(cpu.values()), peak


def proportional(pid: int) -> dict[str, float]:
    """Return kinds of a process's memory in bytes; what several share is divided among them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name: 1024 * float(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}


def trained(
    given: argparse.Namespace, python: str, model: str, nodes: int, texts: list[Path], valid: Path | None
) -> dict[str, float]:
    """Train once; return what was measured."""
    output = given.into / f"model-{model}-{nodes}"
    command = [python, "-m", "wordvec_ca", "train", *map(str, texts), "-o", str(output), "--overwrite"]
    command += ["--model", model, "--vector-size", str(given.size), "--epochs", str(given.epochs)]
    command += ["--workers", "1", "--checkpoint-every", "never", "--progress", "none"]
    command += ["--min-count", "1"] if valid is None else ["--valid", str(valid)]
    command += ["--no-cache"] if nodes == 1 else ["--cluster", "local", "--nodes", str(nodes)]
    began = time.monotonic()
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=given.into)
    seconds, peak = watch(run)
    if run.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {run.returncode}")
    wall = time.monotonic() - began
    record = json.loads((output / "config.json").read_text("utf-8"))
    cluster = record.get("cluster", {"merges": 0, "bytes_moved": 0, "seconds": {}})
    merges, took = cluster["merges"], cluster["seconds"]
    with open(output / "vocab.tsv", "rb") as lines:
        parameters = memory_bytes(read_config(output), sum(1 for _ in lines), threads=1)
    valid_losses = record["valid_loss_by_epoch"] or [float("nan")]
    return {
        "merges": merges,
        "wall": wall,
        "processors": seconds,
        "round": (took.get("training", 0.0) + took.get("merging", 0.0)) / (merges or 1),
        "merge": took.get("merging", 0.0) / (merges or 1),
        "moved": cluster["bytes_moved"] / (merges or 1) / 1e6,
        "memory": peak / nodes / 1e6,
        "times": peak / nodes / parameters,
        "loss": record["loss_by_epoch"][-1],
        "held-out": valid_losses[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--words", type=float, default=float("inf"))
    parser.add_argument("--types", type=int, default=1_000_000)
    parser.add_argument("--nodes", default="1,2")
    parser.add_argument("--models", default="cbow")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--other", help="Python of another checkout's environment")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--section", help="name of the section of the record")
    given = parser.parse_args()
    given.into = given.into.resolve()
    began, loads = time.monotonic(), []
    texts, valid = write_text(given)
    trees = {"this": sys.executable, **({"other": given.other} if given.other else {})}
    rows = []
    for model in study.values(given.models):
        for nodes in study.values(given.nodes, int):
            found: dict[str, list[dict[str, float]]] = {what: [] for what in trees}
            for turn in range(given.times):
                for what in list(trees)[:: (-1) ** turn]:
                    loads.append(os.getloadavg()[0])
                    found[what].append(trained(given, trees[what], model, nodes, texts, valid))
            for what, runs in found.items():
                middle = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
                rows.append(
                    (
                        *(model, what, nodes, f"{middle['merges']:.0f}", f"{middle['wall']:.1f}"),
                        *(f"{middle[name]:.2f}" for name in ("processors", "round", "merge", "moved")),
                        *(f"{middle['memory']:,.0f}", f"{middle['times']:.2f}"),
                        *(f"{middle[name]:.4f}" for name in ("loss", "held-out")),
                    )
                )
                study.say(" | ".join(map(str, rows[-1])))
    size = sum(text.stat().st_size for text in texts)
    body = (
        f"{size / 1e6:.0f} MB of text × {given.epochs} epochs, {given.size} dimensions, one thread a node; "
        f"median of {given.times}; load of the machine when a run began: "
        f"{min(loads):.1f} to {max(loads):.1f}. *MB a node* is the peak of the driver, Ray's processes that "
        "work and its object stores, divided by the nodes.\n\n" + study.table(COLUMNS, rows)
    )
    print(body)
    if given.page:
        name = given.section or "speed"
        study.write_section(given.page, "A cluster's speed", name, body, time.monotonic() - began)


if __name__ == "__main__":
    main()
