"""Train the same text on one node and on several of one processor each: where does the time go?

    python scripts/bench_cluster.py wiki.txt.xz --nodes 1,2 --into FOLDER --page cluster.json

The script cuts the text into files. Then it trains with each number of nodes in turn, all on this machine,
and repeats this --times times. Wall-clock time means little on a machine that does other work as well, so the
table also has the processor time of the nodes. It needs ``pip install 'wordvec-ca[cluster]'``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import study

from wordvec_ca.cluster import ClusterOptions, train_on_cluster
from wordvec_ca.models import TrainConfig
from wordvec_ca.text import TextFiles

PHASES = ("counting", "encoding", "training", "merging", "saving")


def cut(corpus: Path, folder: Path, files: int, words: int | None) -> list[str]:
    """Distribute the lines of a text among files; return their names."""
    names = [folder / f"part-{i:02}.txt" for i in range(files)]
    if all(name.exists() for name in names):
        return [str(name) for name in names]
    outs = [open(name, "wb") for name in names]  # noqa: SIM115
    rest, number, seen = b"", 0, 0
    for piece in TextFiles([str(corpus)]).pieces():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            outs[number % files].write(line + b"\n")
            number += 1
            seen += line.count(b" ") + 1
        if words is not None and seen >= words:
            break
    for out in outs:
        out.close()
    return [str(name) for name in names]


def run(names: list[str], nodes: int, given: argparse.Namespace) -> dict[str, Any]:
    """Train once; return the record."""
    config = TrainConfig(model=given.model, vector_size=given.size, epochs=given.epochs, workers=1)
    finished = train_on_cluster(
        names,
        config,
        ClusterOptions(nodes=nodes),
        output=given.into / f"model-{nodes}",
        overwrite=True,
        valid=given.valid,
        checkpoint_every="never",
        notice=lambda text: print(text, file=sys.stderr),
        callbacks=[lambda record: print(f"{record.fraction:.1%} {record.loss:.4f}", file=sys.stderr)],
    )
    record = finished.record
    return {**record["cluster"], "record": record}


def held_out(found: dict[str, Any]) -> float:
    """Return the loss on the held-out text after the last epoch; nan without such a text."""
    losses = found["record"]["valid_loss_by_epoch"]
    return float(losses[-1]) if losses else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--nodes", default="1,2")
    parser.add_argument("--model", default="cbow")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--words", type=int)
    parser.add_argument("--valid")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    began = time.monotonic()
    given.into.mkdir(parents=True, exist_ok=True)
    numbers = [int(n) for n in given.nodes.split(",")]
    names = cut(given.corpus, given.into, 4 * max(numbers), given.words)
    found: dict[int, list[dict[str, Any]]] = {n: [] for n in numbers}
    loads = []
    for _ in range(given.times):
        for n in numbers:
            loads.append(os.getloadavg()[0])
            found[n].append(run(names, n, given))
    rows, walls, busy = [], {}, {}

    def middle(n: int, of: Any) -> float:
        return statistics.median(of(each) for each in found[n])

    for n in numbers:
        seconds = {
            name: middle(n, lambda each, name=name: each["seconds"].get(name, 0.0))
            for name in (*PHASES, "held-out")
        }
        training = middle(n, lambda each: max(node["processor_seconds_training"] for node in each["nodes"]))
        all_work = middle(n, lambda each: max(node["processor_seconds"] for node in each["nodes"]))
        walls[n] = sum(seconds.values()) - seconds["held-out"]
        busy[n] = all_work
        rows.append(
            (
                n,
                f"{walls[n]:.1f}",
                *(
                    f"{seconds[name]:.1f}"
                    for name in ("counting", "encoding", "training", "merging", "saving")
                ),
                f"{training:.1f}",
                f"{all_work:.1f}",
                f"{middle(n, lambda each: each['bytes_moved']) / 1e9:.2f}",
                f"{middle(n, lambda each: each['record']['loss_by_epoch'][-1]):.4f}",
                f"{middle(n, held_out):.4f}",
            )
        )
        print(*rows[-1], sep=" | ", flush=True)
    columns = (
        *("nodes", "wall, s", *PHASES),
        *("processor, training", "processor, all", "GB moved", "loss", "held-out loss"),
    )
    first = numbers[0]
    ratios = ", ".join(
        f"{n} nodes over {first}: {walls[first] / walls[n]:.2f} × by the clock, "
        f"{busy[first] / busy[n]:.2f} × by the processor's time of the busiest node"
        for n in numbers[1:]
    )
    begun = ", ".join(f"{load:.1f}" for load in loads)
    words = found[first][0]["record"]["corpus"]["raw_tokens"]
    body = (
        f"{words:,} words × {given.epochs} epochs, {given.model}, {given.size} dimensions; median of "
        f"{given.times}; load of the machine when a run began: {begun}. Seconds; "
        "the processor's time is that of the busiest node.\n\n"
        f"**{ratios}.**\n\n" + study.table(columns, rows)
    )
    print(body)
    if given.page:
        name = f"{given.model}-{given.size}-{words // 1_000_000}"
        study.write_section(given.page, "A cluster's speed", name, body, time.monotonic() - began)


if __name__ == "__main__":
    main()
