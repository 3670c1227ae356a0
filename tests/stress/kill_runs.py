"""Interrupt commands at random moments, by kill -9 and by power cuts, and check their outputs.

    python tests/stress/kill_runs.py --kills 1000 --cuts 100

The commands count on disk, find phrases, train with one and two workers, export, index, embed, draw maps
and align; the drop-ins train and save (``interrupted_work.py``).

Each is interrupted one to four times, half of the times at a random moment and half right after one of its
changes of files, chosen at random; then it runs to its end. A power cut is a kill after which data that were
not flushed to the disk are there only in part (``power_cuts.py``).

After each interruption every file with the name of an output must be whole, either the old one or the new
one, and readable without an error. The next command must succeed, with the same result as an undisturbed run,
bit for bit, except for training with two workers.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

from interrupted_work import JOBS, Job, Notes, Workshop, fork, load_program, status_of
from power_cuts import Disk, compile_recorder
from study import table, write_section

from wordvec_ca.files import save_json


def hidden(root: Path) -> set[str]:
    """Return the names of temporary files and folders beside the results."""
    return {path.name for path in root.glob(".*")}


def stage(job: Job, root: Path, before: set[str]) -> str:
    """Return how far a command had come, from the files on the disk; ``before`` existed when it began."""
    if job.saves:
        return f"{job.name}: {'saving' if hidden(root) - before else 'training'}"
    if not job.trains:
        return job.name
    run = root / "out.run"
    if not (run / "run.json").exists():
        done = (root / "out" / "config.json").exists() and not job.before
        return "training: finished, or nearly" if done else "training: before it began"
    if any(root.glob(".*.partial")):
        return "training: saving the model"
    if any(run.glob(".*.checkpoint.*.tmp")):
        return "training: writing a checkpoint"
    if any(run.glob("*.checkpoint")):
        return "training, with a checkpoint"
    if any(root.glob("*/cache.json")) or any(run.glob("*/cache.json")):
        return "training, before the first checkpoint"
    return "training: counting and encoding"


def phases(job: Job) -> list[str]:
    """Return the names of the phases that must be interrupted often enough; an empty name means any phase."""
    return [f"{job.name}: {phase}" for phase in ("training", "saving")] if job.saves else [""]


@dataclass
class Counts:
    """Counts of interruptions by stage, of results, of faults, and of hidden files left beside results."""

    n: int = 0
    stages: collections.Counter[str] = field(default_factory=collections.Counter)
    finished: int = 0
    faults: list[str] = field(default_factory=list)
    scraps: int = 0

    def add(self, record: dict[str, Any]) -> None:
        """Add the counts of another process."""
        self.n += record["n"]
        self.stages.update(record["stages"])
        self.finished += record["finished"]
        self.faults += record["faults"]
        self.scraps += record["scraps"]

    def rows(self) -> list[tuple[str, str]]:
        """Return the counts."""
        corrupt = sum("corrupt" in fault for fault in self.faults)
        lost = sum("is lost" in fault for fault in self.faults)
        return [
            ("interruptions", f"{self.n:,}"),
            ("results, each interrupted up to four times", f"{self.finished:,}"),
            ("lost", f"{lost}"),
            ("corrupt or different", f"{corrupt}"),
            ("commands that failed", f"{len(self.faults) - corrupt - lost}"),
            ("hidden temporary files left beside results", f"{self.scraps}"),
        ]


class Interruptions:
    """Interrupts jobs, and counts what happened.

    Parameters
    ----------
    shop : Workshop
        The place to work in.
    rng : random.Random
        Draws the moments.
    number : int
        Number of this process among several that work in the same workshop.
    """

    def __init__(self, shop: Workshop, rng: random.Random, number: int) -> None:
        self.shop, self.rng, self.counts = shop, rng, Counts()
        shop.said = shop.folder / f"said{number}"
        self._notes = Notes(shop.folder / f"log{number}", shop.folder / f"copies{number}")

    def interrupt(self, job: Job, root: Path, command: tuple[str, ...], disk: Disk | None) -> None:
        """Start a command, interrupt it, and check its outputs."""
        rng, shop, before = self.rng, self.shop, hidden(root)
        shutil.rmtree(self._notes.copies, ignore_errors=True)
        self._notes.copies.mkdir()
        if rng.random() < 0.5:
            notes = replace(self._notes, end_after=rng.randrange(1, shop.events[job.name] + 1))
        else:
            notes = replace(self._notes, seconds=rng.uniform(0, shop.seconds[job.name]))
        status = status_of(shop.start(command, root, notes))
        if status == -signal.SIGKILL:
            self.counts.n += 1
            self.counts.stages[stage(job, root, before)] += 1
            if disk is not None:
                disk.replay(self._notes.log, self._notes.copies)
                disk.cut(rng)
        elif status:
            said = shop.said.read_text(errors="replace")
            self.counts.faults.append(f"{job.name}: {' '.join(command)} ended with {status}: {said[-600:]}")
        elif disk is not None:
            disk.replay(self._notes.log, self._notes.copies)
        found = [f"{job.name}: {fault}" for fault in shop.faults(job, root)]
        self.counts.faults += found
        if found and "KEEP" in os.environ:
            shutil.copytree(
                root, Path(os.environ["KEEP"]) / f"fault{len(self.counts.faults)}", dirs_exist_ok=True
            )

    def case(self, job: Job, *, cuts: bool) -> None:
        """Interrupt a job some times, then run it to its end."""
        root = self.shop.fresh(job)
        disk = Disk(root) if cuts else None
        for _ in range(self.rng.randrange(1, 5)):
            command = self.shop.next_command(job, root)
            if command is None:
                break
            self.interrupt(job, root, command, disk)
        while (command := self.shop.next_command(job, root)) is not None:
            if status_of(self.shop.start(command, root)):
                said = self.shop.said.read_text(errors="replace")
                self.counts.faults.append(f"{job.name}: {' '.join(command)} failed in the end: {said[-600:]}")
                break
            if not job.trains:
                break
        self.counts.faults += [
            f"{job.name}, at the end: {fault}" for fault in self.shop.faults(job, root, finished=True)
        ]
        self.counts.scraps += sum(path.name.startswith(".") for path in root.iterdir())
        self.counts.finished += 1
        shutil.rmtree(root)

    def until(self, n: int, jobs: list[Job], into: Path, *, cuts: bool) -> None:
        """Interrupt all jobs in turn until each phase of each was interrupted its share of ``n`` times."""
        share, of_phases = -(-n // len(jobs)), collections.Counter[tuple[str, str]]()
        waiting = jobs if n else []
        while waiting:
            for job in waiting:
                before = self.counts.stages.copy()
                self.case(job, cuts=cuts)
                for name, times in (self.counts.stages - before).items():
                    of_phases[job.name, name if job.saves else ""] += times
                save_json(into, vars(self.counts))
            waiting = [job for job in jobs if min(of_phases[job.name, name] for name in phases(job)) < share]


def several(
    shop: Workshop, jobs: list[Job], options: argparse.Namespace, deadline: float, *, cuts: bool
) -> Counts:
    """Interrupt jobs in several processes; return the sum of their counts."""
    n = -(-(options.cuts if cuts else options.kills) // options.processes)
    files = [shop.folder / f"counts{cuts:d}{i}" for i in range(options.processes)]

    def one(number: int) -> None:
        rng = random.Random(f"{options.seed} {number} {cuts}")
        Interruptions(shop, rng, number).until(n, jobs, files[number], cuts=cuts)

    children = {fork(partial(one, i), shop.folder / f"output{i}") for i in range(options.processes)}
    failed = False
    while children and time.monotonic() < deadline:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            children.discard(pid)
            failed |= status != 0
        time.sleep(0.2)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        status_of(pid)
    total = Counts()
    for number, file in enumerate(files):
        if file.exists():
            total.add(json.loads(file.read_bytes()))
        if failed:
            print((shop.folder / f"output{number}").read_text(errors="replace"), file=sys.stderr)
    if failed:
        sys.exit("a process failed")
    return total


def under_recorder(library: Path) -> None:
    """Start this script again with the recorder loaded."""
    environment = {**os.environ, "LD_PRELOAD": str(library), "RECORDER": str(library.parent)}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # a process with threads cannot be forked
        environment[name] = "1"
    environment["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # pyarrow, where it is installed
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


def page_body(kills: Counts, cuts: Counts) -> str:
    names = sorted({*kills.stages, *cuts.stages})
    counts = [(name, f"{kills.stages[name]:,}", f"{cuts.stages[name]:,}") for name in names]
    totals = [(name, a, b) for (name, a), (_, b) in zip(kills.rows(), cuts.rows(), strict=True)]
    return "\n\n".join(
        [
            "Commands were interrupted at random moments, half of them right after a random change of a\n"
            "file, and given again. After each interruption all outputs were read and compared with the\n"
            "older ones and with those of an undisturbed run, bit for bit (with two workers: read only).",
            "A power cut is simulated: of what was not flushed, each page of a file and each change of a\n"
            "name is there or not, at random, in any order (`tests/stress/power_cuts.py`).",
            table(("", "kill -9", "power cuts"), totals),
            table(("interrupted while", "kill -9", "power cuts"), counts),
        ]
    )


def main() -> None:
    """Interrupt, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many at least")
    parser.add_argument("--cuts", type=int, default=100, help="how many at least")
    parser.add_argument("--tokens", type=int, default=150_000, help="of the text")
    parser.add_argument("--only", default="", help="jobs whose name holds this")
    parser.add_argument("--without", help="jobs whose name does not hold this")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop then, and count what was done")
    parser.add_argument("--page", type=Path, help="write the counts there")
    options = parser.parse_args()
    if "RECORDER" not in os.environ:
        under_recorder(compile_recorder(Path(tempfile.mkdtemp(prefix="cawv-recorder-"))))
    shutil.rmtree(os.environ.pop("RECORDER"))
    os.environ.pop("LD_PRELOAD")
    began = time.monotonic()
    load_program()
    jobs = [job for job in JOBS if options.only in job.name]
    jobs = [job for job in jobs if not options.without or options.without not in job.name]
    with tempfile.TemporaryDirectory(prefix="cawv-interrupted-") as folder:
        shop = Workshop(Path(folder), options.tokens)
        for job in jobs:
            shop.measure(job)
            print(
                f"{shop.seconds[job.name]:6.2f} s {shop.events[job.name]:4} events  {job.name}",
                file=sys.stderr,
            )
        deadline = began + 60 * options.minutes
        cuts = several(shop, jobs, options, deadline, cuts=True)
        kills = several(shop, jobs, options, deadline, cuts=False)
    for name, one in (("power cuts", cuts), ("kill -9", kills)):
        print(name)
        for label, count in (*one.rows(), *one.stages.most_common()):
            print(f"  {count:>6}  {label}")
        for fault, times in collections.Counter(one.faults).most_common(10):
            print(f"  {times} x {fault}")
    if options.page:
        write_section(
            options.page, "Interruptions", "interruptions", page_body(kills, cuts), time.monotonic() - began
        )
    sys.exit(bool(cuts.faults or kills.faults))


if __name__ == "__main__":
    main()
