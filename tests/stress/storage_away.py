"""Take the storage away from a run on a cluster, in each phase: does it finish, with the same model?

    python tests/stress/storage_away.py --seconds 10,40,300 --page docs/measurements/cluster-storage.md

starts three nodes and an S3 server on this machine, with the text and the checkpoints in the bucket. In each
run the server fails for ``--seconds`` when a phase begins (requests are refused; with ``--fault hang`` they
are not answered). In two more runs a fifth of all requests are throttled (503 SlowDown) or cut off. It needs
``pip install 'wordvec-ca[cluster,remote]' moto[server] psutil``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

import fsspec
import numpy as np
import ray
from faulty_s3 import FaultyS3
from kill_nodes import CONFIG, PHASES, Lines, Machines, Watched, faults, same_topic, watch_merges, write_text
from study import logged_rows, table, write_section

from wordvec_ca.cluster import ClusterOptions, train_on_cluster
from wordvec_ca.cluster import run as cluster_run

NODES = 3


class Away(Watched):
    """A driver whose storage fails when a phase begins."""

    server: FaultyS3
    when: str
    fault: str
    lasts: float
    share: float
    begun: bool

    def entered(self, phase: str) -> None:
        """Let the storage fail if this is the chosen phase."""
        if phase == Away.when and not Away.begun:
            Away.begun = True
            Away.server.fail(Away.fault, Away.lasts, Away.share)


def main() -> None:
    """Do the runs, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", default="10,40,300")
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--fault", choices=("refuse", "hang"), default="refuse")
    parser.add_argument("--log", type=Path, help="rows of runs; those that are in it are not made again")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    rows = logged_rows(given.log)
    wanted = [("none", "none", 0.0, 1.0)]
    for seconds in given.seconds.split(","):
        wanted += [(phase, given.fault, float(seconds), 1.0) for phase in given.phases.split(",")]
    wanted += [("starting", "throttle", 1e9, 0.2), ("starting", "cut", 1e9, 0.2)]
    left = [want for want in wanted if name_of(want) not in {row[0] for row in rows}]
    if left:
        measure(left, rows, given.log)
    columns = ("storage away", "requests that met it", "seconds", "longest silence, s", "nodes lost", "loss",
               "same topic", "model", "fault")  # fmt: skip
    wrong = sum(row[-1] != "nothing" for row in rows)
    if given.page:
        body = f"**{len(rows) - 1} runs of {NODES} nodes: {wrong} with a fault.**\n\n" + table(columns, rows)
        section = "storage" if given.fault == "refuse" else "hanging storage"
        write_section(given.page, "Storage that is away", section, body)
    sys.exit(bool(wrong))


def name_of(want: tuple[str, str, float, float]) -> str:
    """Return the name of a run."""
    phase, fault, seconds, share = want
    if fault == "none":
        return "never"
    return f"{share:.0%} of requests: {fault}" if share < 1 else f"{fault}, {seconds:.0f} s from {phase} on"


def measure(wanted: list[Any], rows: list[tuple[str, ...]], log: Path | None) -> None:
    """Do runs, and add their rows."""
    watch_merges()
    cluster_run.Driver = Away  # type: ignore[misc]
    with FaultyS3() as server, tempfile.TemporaryDirectory() as folder:
        Away.server = server
        machines = Machines(NODES)
        ray.init(address=machines.cluster.address, log_to_driver=False, logging_level="ERROR")
        text = Path(folder) / "text"
        text.mkdir()
        words = write_text(text)
        fsspec.filesystem("s3").put(f"{text}/", "s3://bucket/text/", recursive=True)
        undisturbed: Any = None
        if not any(want[1] == "none" for want in wanted):
            wanted = [("none", "none", 0.0, 1.0), *wanted]
        for number, want in enumerate(wanted):
            Away.when, Away.fault, Away.lasts, Away.share = want
            Away.begun = False
            server.met, lines, began = 0, Lines(), time.monotonic()
            share, loss, same = "-", float("nan"), "-"
            try:
                finished = train_on_cluster(
                    "s3://bucket/text/*.txt", CONFIG,
                    ClusterOptions(
                        cluster="auto", nodes=NODES, checkpoint_dir="s3://bucket/run",
                        merging={"merges_per_epoch": 25},
                    ),
                    output=Path(folder) / f"model-{number}", checkpoint_every="50k", notice=lines,
                )  # fmt: skip
                wrong = faults(Away.latest, words)
                loss, model = finished.record["loss_by_epoch"][-1], finished.load()
                share = f"{same_topic(model):.1%}"
                undisturbed = model.inputs if undisturbed is None else undisturbed
                same = "the same bits" if np.array_equal(undisturbed, model.inputs) else "another"
            except Exception as error:
                traceback.print_exc()
                wrong = [f"{type(error).__name__}: {error}"]
            lines.end()
            server.fail("", 0)
            row = (
                name_of(want), str(server.met), f"{time.monotonic() - began:.0f}", f"{lines.longest:.0f}",
                str(len(Away.latest.members.deaths) + len(Away.latest.members.left_out)), f"{loss:.4f}",
                share, same, "; ".join(wrong) or "nothing",
            )  # fmt: skip
            print(*row, sep=" | ", flush=True)
            if row[0] in {known[0] for known in rows}:
                continue
            rows.append(row)
            if log:
                with log.open("a", encoding="utf-8") as file:
                    file.write(" | ".join(row) + "\n")
        ray.shutdown()
        machines.cluster.shutdown()


if __name__ == "__main__":
    main()
