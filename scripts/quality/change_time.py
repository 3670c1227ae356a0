"""How long ``cawv change`` takes on two long texts: the two halves of a corpus, with its defaults.

Writes a section of docs/measurements/changed-words.md. With 2 × 15 million words half an hour of one core.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, parser, say, table, values, write_section

LINES_PER_MILLION = 15_608


def main() -> None:
    """Compare and write the page."""
    options = parser(__doc__, "changed-words", data=True)
    options.add_argument("--million", default="15", help="million words of each text, several with commas")
    options.add_argument("--workers", default="2", help="workers, several numbers with commas")
    options.add_argument("--permutations", type=int, default=20)
    given = options.parse_args()
    (corpus,) = data_files(given.data, "corpora/wiki.30M.txt.xz")
    began, rows = time.time(), []
    for million in values(given.million, float):
        size = int(million * LINES_PER_MILLION)
        with tempfile.TemporaryDirectory() as place:
            texts = [Path(place, name) for name in ("first.txt", "second.txt")]
            for number, text in enumerate(texts):
                text.write_text("".join(lines_of(corpus, size, number * size)), encoding="utf-8")
            for workers in values(given.workers, int):
                rows.append([f"2 × {million:g} M", workers, *timed(texts, given.permutations, workers)])
    columns = ("words", "workers", "judged", "changed", "minutes", "CPU minutes", "memory", "load")
    body = (
        f"`cawv change` on two parts of one text with its defaults, {given.permutations} permutations. Load: "
        "how many processes wanted a core at the end, this one among them:\n\n" + table(columns, rows)
    )
    title = "Are the p-values of `cawv change` right?"
    write_section(given.page, title, "time", body, time.time() - began)


def timed(texts: list[Path], permutations: int, workers: int) -> list[Any]:
    """Return words judged and changed, wall and CPU minutes, memory, and the machine's load at the end."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "wordvec_ca", "change", *map(str, texts), f"--workers={workers}"]
    process = subprocess.Popen(
        [*command, f"--permutations={permutations}", "-n", "0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        say(line.strip())
    if process.wait():
        sys.exit(f"cawv change ended with {process.returncode}")
    changed, judged = re.findall(r"[\d,]+", line)[:2]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    minutes = (time.monotonic() - began) / 60
    load = os.getloadavg()[1]
    return [
        judged,
        changed,
        f"{minutes:.1f}",
        f"{cpu / 60:.1f}",
        f"{after.ru_maxrss / 1e6:.1f} GB",
        f"{load:.0f}",
    ]


if __name__ == "__main__":
    main()
