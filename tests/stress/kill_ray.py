"""Freeze and kill Ray's own processes in each phase of a run on a cluster, and check how the run ends.

    python tests/stress/kill_ray.py --page docs/measurements/cluster-deaths.md

runs ``cawv train --cluster local --nodes 2`` on made-up text once for each phase and each thing that can
happen to Ray: raylets are stopped and do not answer; an agent of Ray is killed, which ends its raylet too;
the GCS is killed or stopped; all processes of the head's machine are killed. In the end either the model is
saved, or the exit code is 1, with a true message: the run can be resumed if it says so, and the resumed run
saves the model. A run that does not end by itself or at Ctrl-C is a fault; so is a process that is left. It
needs ``pip install 'wordvec-ca[cluster]' psutil``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))

import psutil
from study import logged_rows, table, write_section

PHASES = ("starting", "counting", "encoding", "training", "merging", "saving")

WAYS = {
    "raylet-stopped": "a raylet is stopped",
    "raylets-stopped": "all raylets are stopped",
    "agent-killed": "an agent is killed",
    "gcs-killed": "the GCS is killed",
    "gcs-stopped": "the GCS is stopped",
    "head-killed": "the head's machine is gone",
}

LIMIT = 150.0
"""Seconds after which a run that has not ended after a strike is interrupted by Ctrl-C."""

STARTS = 600.0
"""Seconds that a run may take to reach the phase, and a resumed one to end, also on a busy machine."""

ENDS = 40.0
"""Seconds that a run may take to end after Ctrl-C."""

NOT_STARTED = "Ray does not start"
"""Message of a run for which Ray did not start within its 30 s; then the run is repeated, a few times."""

TRIES = 4

MARK = "KILL_RAY_OF"
"""Environment variable that all processes of a run inherit."""

LINES = 16_000

OPTIONS = ("--cluster", "local", "--nodes", "2", "--workers", "1", "--vector-size", "32", "--epochs", "4")
OPTIONS += ("--min-count", "1", "--checkpoint-every", "20k", "--progress", "none")


# ---- in the process of the run ----------------------------------------------------------------------------


def _of_ray() -> tuple[list[psutil.Process], list[psutil.Process]]:
    """Return the processes of Ray on the head, and those on the other node."""
    ours = psutil.Process().children(recursive=True)
    raylets = [process for process in ours if process.name() == "raylet"]
    other = [raylet for raylet in raylets if "--head" not in raylet.cmdline()]
    assert (len(raylets), len(other)) == (2, 1), [raylet.cmdline() for raylet in raylets]
    others = [other[0], *other[0].children(recursive=True)]
    shells = ("sh", "dash", "bash")  # a shell that watches is not a process of Ray
    return [each for each in ours if each not in others and each.name() not in shells], others


def strike(way: str) -> None:
    """Let something happen to Ray."""
    head, other = _of_ray()
    raylets = [each for each in (*other, *head) if each.name() == "raylet"]
    gcs = [each for each in head if each.name() == "gcs_server"]
    agents = [each for each in other if "runtime_env" in " ".join(each.cmdline())]
    chosen, number = {
        "raylet-stopped": (raylets[:1], signal.SIGSTOP),
        "raylets-stopped": (raylets, signal.SIGSTOP),
        "agent-killed": (agents[:1], signal.SIGKILL),
        "gcs-killed": (gcs, signal.SIGKILL),
        "gcs-stopped": (gcs, signal.SIGSTOP),
        "head-killed": (head, signal.SIGKILL),
    }[way]
    assert chosen, [each.cmdline() for each in (*head, *other)]
    print(f"STRIKE {time.time()}", file=sys.stderr, flush=True)
    for process in chosen:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def run_and_strike(phase: str, way: str, arguments: list[str]) -> None:
    """Run ``cawv`` here, and strike when it is in a phase; in training only after a checkpoint."""
    from wordvec_ca import cli
    from wordvec_ca.cluster import rounds
    from wordvec_ca.cluster.driver import Driver
    from wordvec_ca.cluster.members import Members

    state: dict[str, Any] = {"driver": None, "done": False}
    made, ask, look = Driver.__init__, Members.ask, Members.look
    one_round, attempt, save = rounds.Rounds.round, rounds.Rounds._attempt, Driver._save

    def now(where: str) -> None:
        driver = state["driver"]
        ripe = where not in ("training", "merging") or driver.checkpoints.names()
        if where == phase and not state["done"] and ripe:
            state["done"] = True
            strike(way)

    def init(driver: Driver, *args: Any, **options: Any) -> None:
        state["driver"] = driver
        made(driver, *args, **options)

    def asked(members: Members, **options: Any) -> None:
        if state["driver"].phase in ("counting", "encoding"):
            now(state["driver"].phase)
        ask(members, **options)

    def looked(members: Members) -> None:
        look(members)
        if state["driver"].phase == "starting" and members.present:
            now("starting")

    def rounded(these: rounds.Rounds, *args: Any) -> None:
        now("training")
        one_round(these, *args)

    def attempted(these: rounds.Rounds, *args: Any) -> bool:
        now("merging")
        return attempt(these, *args)

    def saved(driver: Driver) -> Any:
        now("saving")
        return save(driver)

    Driver.__init__, Members.ask, Members.look = init, asked, looked  # type: ignore[method-assign]
    rounds.Rounds.round, rounds.Rounds._attempt = rounded, attempted  # type: ignore[method-assign]
    Driver._save = saved  # type: ignore[method-assign]
    sys.argv = ["cawv", *arguments]
    cli.main()


# ---- beside it --------------------------------------------------------------------------------------------


def write_text(path: Path) -> None:
    """Write lines about topics."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 301)
    topics = rng.integers(0, 10, LINES)
    drawn = rng.choice(300, size=(LINES, 15), p=weights / weights.sum())
    with path.open("w") as file:
        for topic, line in zip(topics, drawn, strict=True):
            file.write(" ".join(f"t{topic}w{word}" for word in line) + "\n")


def left(mark: str) -> Iterator[psutil.Process]:
    """Yield the living processes of a run."""
    for process in psutil.process_iter(["status"]):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.info["status"] != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                yield process


def clear(mark: str) -> list[str]:
    """Kill the processes that a run has left a minute after its end; return their names.

    A minute is long enough on a busy machine.
    """
    limit = time.monotonic() + 60
    while (found := list(left(mark))) and time.monotonic() < limit:
        time.sleep(0.5)
    names = []
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            names.append(process.name())
            process.kill()
    return names


def started(command: list[str], mark: str, said: Path) -> subprocess.Popen[bytes]:
    with said.open("wb") as file:
        return subprocess.Popen(command, env={**os.environ, MARK: mark}, stdout=file, stderr=file)


def cawv(arguments: list[str], mark: str, said: Path, limit: float) -> int | None:
    """Run ``cawv``; return its exit code, None if it did not end."""
    code: int | None = None
    for _ in range(TRIES):
        process = started([sys.executable, "-m", "wordvec_ca", *arguments], mark, said)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        if NOT_STARTED not in said.read_text(errors="replace"):
            break
    return code


def one_run(phase: str, way: str, folder: Path, text: Path, *, ctrl_c: bool) -> tuple[str, ...]:
    """Run, strike, wait for the end, and resume; return the row of the table."""
    for _ in range(TRIES):
        row = _one_run(phase, way, folder, text, ctrl_c=ctrl_c)
        if NOT_STARTED not in row[4]:
            break
    return row


def _one_run(phase: str, way: str, folder: Path, text: Path, *, ctrl_c: bool) -> tuple[str, ...]:
    model, said, mark = folder / "model", folder / "said", f"{os.getpid()}-{phase}-{way}"
    train = ["train", str(text), "-o", str(model), *OPTIONS]
    process = started([sys.executable, __file__, "--strike", phase, way, *train], mark, said)
    faults: list[str] = []
    note = ""
    struck, end = 0.0, time.monotonic() + STARTS
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.2)
        if not struck and (found := re.search(r"STRIKE (\S+)", said.read_text(errors="replace"))):
            struck, end = float(found[1]), time.monotonic() + (5 if ctrl_c else LIMIT)
    if process.poll() is None:
        if not ctrl_c:
            faults.append("it did not end by itself")
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ENDS)
    seconds = time.time() - struck
    if process.poll() is None:
        faults.append("it did not end at Ctrl-C")
        process.kill()
    code = process.wait()
    if not struck:
        faults.append("it was not struck")
    faults += [f"{name} is left" for name in sorted(set(clear(mark)))]
    words = said.read_text(errors="replace")
    (folder / f"said-{phase}-{way}{'-ctrl-c' * ctrl_c}").write_text(words)
    lines = [line for line in words.splitlines() if line.strip()]
    if "Traceback" in words:
        faults.append("a traceback")
    whole = (model / "config.json").exists()
    kept = list((folder / "model.run").glob("*.checkpoint"))
    if code == 0 and not whole:
        faults.append("exit code 0 without a model")
    if code != 0:
        if code != (130 if ctrl_c else 1):
            faults.append(f"exit code {code}")
        if kept and "--resume" not in words:
            faults.append("no word of --resume")
        if "--resume" in words and not (folder / "model.run" / "run.json").exists():
            faults.append("nothing to resume")
        again = ["train", "--resume", str(model), "--progress", "none"] if "--resume" in words else train
        if not (NOT_STARTED in words or (whole and "the model had been saved" in words)):
            ended = cawv(again, mark, said, STARTS)
            then = said.read_text(errors="replace").strip()
            if NOT_STARTED in then:
                note = "; not resumed, as Ray does not start on a busy machine"
            elif ended != 0 or not (model / "config.json").exists():
                faults.append(f"then: {then[-300:]}")
            faults += [f"{name} is left" for name in sorted(set(clear(mark)))]
    last = next((line for line in reversed(lines) if line.startswith(("Error", "Interrupted"))), lines[-1])
    message = "the model is saved" if code == 0 else last.replace(str(folder), "…")
    return (phase, WAYS[way], str(code), f"{seconds:.0f}", message + note, "; ".join(faults) or "nothing")


def write_page(page: Path, rows: list[tuple[str, ...]], section: str) -> None:
    columns = ("while", "what happens to Ray", "exit code", "seconds until the end", "message", "fault")
    wrong = sum(row[-1] != "nothing" for row in rows)
    slowest = max(int(row[3]) for row in rows)
    head = f"**{len(rows)} runs of 2 nodes: {wrong} with a fault; each ended within {slowest} s.**"
    write_section(page, "Deaths in a cluster", section, f"{head}\n\n{table(columns, rows)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--phases", default=",".join(PHASES))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--ctrl-c", action="store_true", help="interrupt runs five seconds after the strike")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--log", type=Path, help="rows of runs; those that are in it are not made again")
    given = parser.parse_args()
    # a background job ignores it, and so would its children
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows = logged_rows(given.log)
    with tempfile.TemporaryDirectory() as name:
        text = Path(name) / "text.txt"
        write_text(text)
        for phase in given.phases.split(","):
            for way in given.ways.split(","):
                if any(row[:2] == (phase, WAYS[way]) for row in rows):
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    row = one_run(phase, way, Path(folder), text, ctrl_c=given.ctrl_c)
                    if given.log:
                        for said in Path(folder).glob("said-*"):
                            said.rename(given.log.with_name(said.name))
                rows.append(row)
                print(*row, sep=" | ", flush=True)
                if given.log:
                    with given.log.open("a", encoding="utf-8") as log:
                        log.write(" | ".join(row).replace("\n", " ") + "\n")
    if given.page:
        write_page(given.page, rows, "Ray, Ctrl-C" if given.ctrl_c else "Ray")
    sys.exit(any(row[-1] != "nothing" for row in rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--strike"]:
        run_and_strike(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main()
