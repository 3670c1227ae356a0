"""Kill training runs at random moments, continue them, and compare what comes out with an undisturbed run.

    python scripts/kill_runs.py wiki.txt.xz --lines 6000 --kills 200

Every run is ended by SIGKILL, its continuation too, several times, and in the end let finish. The moments are
drawn over the whole life of a process; half of them are aimed at what is short: the text being encoded, a
checkpoint or the model being written, the last tidying. After each kill whatever bears the name of a model
must be complete; a resume must never fail; and the finished model must be, with one worker, that of the
undisturbed run, bit for bit.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wordvec_ca.errors import DataError
from wordvec_ca.model import EmbeddingModel
from wordvec_ca.text import TextFiles

CAWV = [sys.executable, "-m", "wordvec_ca"]
PARAMETERS = ("vectors.kv.vectors.npy", "outputs.npy", "vocab.tsv")

AIMS: dict[str, Callable[[Path], bool]] = {
    "any moment": lambda out: True,
    "encoding": lambda out: (run(out) / "text").is_dir(),
    "a checkpoint being written": lambda out: any(run(out).glob(".*.checkpoint.*.tmp")),
    "the model being written": lambda out: any(out.parent.glob(".*.partial")),
    "tidying": lambda out: (out / "config.json").exists(),
}
"""What is waited for before the last, short, random delay."""


def run(out: Path) -> Path:
    """Return the folder of an unfinished run."""
    return out.with_name(out.name + ".run")


def stage(out: Path) -> str:
    """Return how far a run has come, by what is on the disk."""
    if not (run(out) / "run.json").exists():
        return "finished" if (out / "config.json").exists() else "before it began"
    if (out / "config.json").exists():
        return "saved, not yet tidied up"
    if any(out.parent.glob(".*.partial")):
        return "writing the model"
    if any(run(out).glob(".*.checkpoint.*.tmp")):
        return "writing a checkpoint"
    if any(run(out).glob("*.checkpoint")):
        return "training, with a checkpoint"
    if (run(out) / "text" / "cache.json").exists():
        return "training, before the first checkpoint"
    return "counting and encoding"


def digest(model: Path) -> str:
    """Return a digest of all parameters."""
    total = hashlib.sha256()
    for name in (*PARAMETERS, "attention_words.npy", "attention_slots.npy"):
        if (model / name).exists():
            total.update((model / name).read_bytes())
    return total.hexdigest()


def start(arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start the command."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*CAWV, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    )


def next_command(out: Path, begin: list[str]) -> list[str] | None:
    """Return what a user would type now; None if the model is there."""
    if (run(out) / "run.json").exists():
        return ["train", "--resume", str(out)]
    return None if (out / "config.json").exists() else begin


def kill(process: subprocess.Popen[bytes], out: Path, aim: str, seconds: float, rng: random.Random) -> None:
    """Wait for the moment, at most as long as a run lasts, and kill."""
    deadline = time.monotonic() + 2 * seconds
    delay = rng.uniform(0, seconds)
    if aim != "any moment":
        while not AIMS[aim](out) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.0003)
        delay = rng.choice([0.0, rng.uniform(0, 0.005), rng.uniform(0, 0.05)])
    end = time.monotonic() + delay
    while time.monotonic() < end and process.poll() is None:
        time.sleep(min(0.002, max(0.0, end - time.monotonic())))
    process.send_signal(signal.SIGKILL)


def main() -> None:
    """Kill and continue, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("corpus", help="text; a slice of it is used")
    parser.add_argument("--lines", type=int, default=6_000, help="lines of the slice")
    parser.add_argument("--kills", type=int, default=200, help="how many at least")
    parser.add_argument("--workers", type=int, default=1, help="with more than one, bits are not compared")
    parser.add_argument("--model", default="cbow-attn", help="which model")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="cawv-kill-"))
    pieces = b"".join(itertools.islice(TextFiles([options.corpus]).pieces(), 64)).splitlines(keepends=True)
    text = folder / "slice.txt"
    text.write_bytes(b"".join(pieces[: options.lines]))

    def begin(out: Path) -> list[str]:
        return [
            *("train", str(text), "-o", str(out), "--model", options.model, "--epochs", "3"),
            *("--workers", str(options.workers), "--checkpoint-every", "0.1s", "--vector-size", "60"),
            *("--window", "8", "--quiet"),
        ]

    started = time.monotonic()
    undisturbed = start(begin(folder / "undisturbed"))
    _, said = undisturbed.communicate()
    if undisturbed.returncode:
        sys.exit(f"the undisturbed run failed: {said.decode()}")
    seconds = time.monotonic() - started
    expected = digest(folder / "undisturbed")
    print(f"slice: {options.lines:,} lines, {text.stat().st_size:,} bytes; a run takes {seconds:.1f} s")

    kills: collections.Counter[str] = collections.Counter()
    sessions: collections.Counter[int] = collections.Counter()
    faults: list[str] = []
    different = finished = left = 0
    while kills.total() < options.kills:
        out = folder / f"run{finished}"
        for _ in range(rng.randrange(1, 5)):
            command = next_command(out, begin(out))
            if command is None:
                break
            process = start(command)
            aim = "any moment" if rng.random() < 0.5 else rng.choice(list(AIMS)[1:])
            kill(process, out, aim, seconds, rng)
            said = process.communicate()[1]
            if process.returncode == -signal.SIGKILL:
                kills[stage(out)] += 1
            elif process.returncode:
                faults.append(f"{' '.join(command)} failed: {said.decode()}")
            if out.exists():
                try:
                    EmbeddingModel.load(out)
                except DataError as error:
                    faults.append(f"a corrupt output: {error}")
        while (command := next_command(out, begin(out))) is not None:
            process = start(command)
            said = process.communicate()[1]
            if process.returncode:
                faults.append(f"{' '.join(command)} failed: {said.decode()}")
                break
        model = EmbeddingModel.load(out)
        sessions[model.record["sessions"]] += 1
        different += digest(out) != expected
        left += len([path for path in folder.iterdir() if path.name.startswith(".")])
        finished += 1
        print(f"\r{kills.total()} kills, {len(faults)} faults", end="", file=sys.stderr, flush=True)
        shutil.rmtree(out)
        shutil.rmtree(run(out), ignore_errors=True)
    for name, number in kills.most_common():
        print(f"{number:5}  killed: {name}")
    print(f"{kills.total():5}  kills in {finished} runs, of up to {max(sessions)} sessions with a checkpoint")
    corrupt = sum("corrupt" in fault for fault in faults)
    print(f"{corrupt:5}  corrupt outputs")
    print(f"{len(faults) - corrupt:5}  commands that failed")
    print(f"{left:5}  temporary files left beside a finished model")
    print(f"{different:5}  finished models that differ from the undisturbed one (of {finished})")
    for fault in faults[:10]:
        print(fault)
    shutil.rmtree(folder)
    sys.exit(bool(faults or left or (different and options.workers == 1)))


if __name__ == "__main__":
    main()
