"""The main job on real text, for each model: does it finish, load in gensim, make sense, and keep its memory?

    python scripts/main_job.py wiki.30M.txt.xz --into runs/

Trains with the command line, watches the anonymous memory of the process (mapped files do not count),
opens the result in gensim and looks at the ten neighbours of four words. Prints a table; exits 1 if a bar
is missed. The word lists were fixed before the first run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

MODELS = ("cbow", "skipgram", "ssg", "cwindow", "cbow-attn")
FAMILY = {"son", "wife", "mother", "sister", "father", "husband"}
COUNTRIES = set(
    """
    belgium germany italy spain paris french england netherlands switzerland austria portugal
    britain europe luxembourg russia sweden denmark poland prussia hungary greece ireland lyon
    brittany normandy canada marseille burgundy
    """.split()  # noqa: SIM905
)
MANNER = set(
    """
    soon rapidly immediately eventually slowly quick gradually easily suddenly finally swiftly
    promptly fast again then later steadily subsequently initially successfully briefly fully
    completely simply thoroughly repeatedly
    """.split()  # noqa: SIM905
)


def peak_anonymous(process: subprocess.Popen[bytes]) -> int:
    """Wait for a process and return the largest anonymous memory seen, in bytes (Linux)."""
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        for line in status.splitlines():
            if line.startswith("RssAnon:"):
                peak = max(peak, int(line.split()[1]) * 1024)
        time.sleep(0.05)
    process.wait()
    return peak


def main() -> int:
    """Train and check each model."""
    from gensim.models import KeyedVectors

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--workers", default="2")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    missed = False
    print("model      seconds  1945  daughter  france  quickly  anonymous MB (limit)  M words/s")
    for model in options.models:
        folder = options.into / model
        window = "5" if model == "ssg" else "20"
        arguments = (
            f"--vector-size 50 --window {window} --negative 10 --min-count 20 --epochs 1 --overwrite --quiet"
        )
        arguments += f" --model {model} --workers {options.workers}"
        started = time.monotonic()
        with open(options.into / f"{model}.log", "wb") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "wordvec_ca.cli",
                    "train",
                    options.corpus,
                    "-o",
                    str(folder),
                    *arguments.split(),
                ],
                stdout=log,
                stderr=log,
            )
            peak = peak_anonymous(process)
        seconds = time.monotonic() - started
        if process.returncode:
            print(f"{model:<10} failed, see {options.into / model}.log")
            missed = True
            continue
        vectors = KeyedVectors.load(str(folder / "vectors.kv"), mmap="r")
        near = {
            word: [n for n, _ in vectors.most_similar(word, topn=10)]
            for word in ("1945", "daughter", "france", "quickly")
        }
        years = sum(word.isdigit() and len(word) == 4 for word in near["1945"])
        counts = (
            years,
            len(FAMILY.intersection(near["daughter"])),
            len(COUNTRIES.intersection(near["france"])),
            len(MANNER.intersection(near["quickly"])),
        )
        record = json.loads((folder / "config.json").read_text())
        n_words = record["n_words"]
        slots = 2 * record["config"]["window"]
        outputs = slots if model in ("ssg", "cwindow") else 1
        parameters = 4 * n_words * (50 * (1 + outputs) + (slots if model == "cbow-attn" else 0))
        limit = 1.2 * parameters + 400e6
        good = counts[0] >= 7 and counts[1] >= 3 and counts[2] >= 5 and counts[3] >= 5 and peak <= limit
        missed |= not good
        speed = record["timings"]["words_per_second"] / 1e6
        print(
            f"{model:<10} {seconds:7.1f} {counts[0]:5} {counts[1]:9} {counts[2]:7} {counts[3]:8}  "
            f"{peak / 1e6:8.0f} ({limit / 1e6:.0f})  {speed:14.2f}  {'' if good else 'MISSED'}"
        )
        for word in near:
            print(f"           {word}: {' '.join(near[word])}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
