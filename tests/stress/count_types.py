"""Count tens of millions of different words; report memory, time and whether the result is exact.

The words are made so that the vocabulary is known without counting: word number i occurs once, and once more
for each of 2, 3 and 5 that divides i::

    python tests/stress/count_types.py --into /tmp/types --types 60000000
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
from study import peak_memory

STRIDE = 2_654_435_761
"""A prime: multiples of it modulo the number of types visit every type once, in no order."""


def write_corpus(path: Path, n_types: int) -> None:
    with open(path, "w") as file:
        for divisor in (1, 2, 3, 5):
            n = (n_types + divisor - 1) // divisor
            assert math.gcd(STRIDE, n) == 1
            for start in range(0, n, 1_000_000):
                numbers = (i * STRIDE % n * divisor for i in range(start, min(start + 1_000_000, n)))
                words = [f"w{i:08x}" for i in numbers]
                file.write("\n".join(" ".join(words[i : i + 50]) for i in range(0, len(words), 50)) + "\n")


def expected_vocabulary(n_types: int):
    """Yield the lines of the vocabulary."""
    for count in (4, 3, 2, 1):
        for i in range(n_types):
            if 1 + (i % 2 == 0) + (i % 3 == 0) + (i % 5 == 0) == count:
                yield f"w{i:08x}\t{count}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--into", type=Path, required=True, help="folder for the corpus and the vocabulary")
    parser.add_argument("--types", type=int, default=60_000_000)
    parser.add_argument("--min-count", type=int, default=1)
    parser.add_argument("--count-memory", type=int, help="MiB (default: that of cawv vocab)")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    corpus, output = options.into / "types.txt", options.into / "vocab.tsv"
    if not corpus.exists():
        write_corpus(corpus, options.types)
    print(f"{corpus}: {corpus.stat().st_size / 1e6:,.0f} MB, {options.types:,} types", flush=True)
    command = [
        sys.executable, "-m", "wordvec_ca", "vocab", str(corpus), "-o", str(output), "--overwrite",
        "--min-count", str(options.min_count), "--workers", str(options.workers),
    ]  # fmt: skip
    if options.count_memory:
        command += ["--count-memory", str(options.count_memory)]
    started = time.monotonic()
    process = subprocess.Popen(command)
    peak = peak_memory(process)
    seconds = time.monotonic() - started
    print(f"counted in {seconds:.1f} s; anonymous memory at most {peak / 2**20:,.0f} MiB")
    wrong = n = 0
    with open(output) as file:
        for line in expected_vocabulary(options.types):
            if int(line.split("\t")[1]) < options.min_count:
                break
            n += 1
            wrong += next(file, "") != line
        wrong += sum(1 for _ in file)
    print(f"{n:,} words are kept; {wrong:,} lines of the vocabulary differ from the exact one")
    sys.exit(1 if wrong or process.returncode else 0)


if __name__ == "__main__":
    main()
