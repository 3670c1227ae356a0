"""The approximate index beside the exact search, on real vectors and on more than a million.

    python scripts/quality/neighbours_at_scale.py VECTORS --rows 1200000

runs ``cawv index`` and ``cawv nn``, with and without ``--approximate``, on the vectors and on a larger set
that is made of them: each further row is a random one of them plus noise of half its length. It writes
docs/measurements/neighbours-at-scale.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from study import FOLDER, table, write_section

from wordvec_ca.vectors import KeyedVectors


def cawv(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "wordvec_ca", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def enlarged(vectors: KeyedVectors, rows: int) -> KeyedVectors:
    """Return the vectors and noisy copies of them."""
    rng = np.random.default_rng(1)
    old = vectors.vectors
    new = np.empty((rows, old.shape[1]), dtype=np.float32)
    new[: len(old)] = old
    for begin in range(len(old), rows, 100_000):
        block = old[rng.integers(len(old), size=min(100_000, rows - begin))]
        noise = rng.normal(size=block.shape).astype(np.float32)
        noise *= (
            0.5 * np.linalg.norm(block, axis=1, keepdims=True) / np.linalg.norm(noise, axis=1, keepdims=True)
        )
        new[begin : begin + len(block)] = block + noise
    return KeyedVectors(vectors.index_to_key + [f"#{i}" for i in range(len(old), rows)], new)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--rows", type=int, default=1_200_000)
    parser.add_argument("--page", type=Path, default=FOLDER / "neighbours-at-scale.md")
    options = parser.parse_args()
    began = time.perf_counter()
    vectors = KeyedVectors.load(options.vectors)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for number, made in enumerate((vectors, enlarged(vectors, options.rows))):
            path = Path(name) / f"{number}.safetensors"
            made.save(path)
            word = made.index_to_key[1000]
            offered = "makes an index" in cawv("nn", path, word).stderr
            for dtype in ("float32", "int8"):
                found = json.loads(cawv("index", path, "--dtype", dtype, "--json").stdout)
                size = sum(file.stat().st_size for file in Path(found["index"]).iterdir())
                exact, fast = (cawv("nn", path, word, *more).stdout for more in ((), ("--approximate",)))
                rows.append(
                    (
                        f"{len(made):,}", dtype, f"{found['seconds']:.0f}", f"{size / 1e6:,.0f}",
                        f"{found['share']:.1%}", f"{1000 * found['approximate_seconds']:.2f}",
                        f"{1000 * found['exact_seconds']:.1f}", "yes" if exact == fast else "no",
                        "yes" if offered else "no",
                    )
                )  # fmt: skip
                print(*rows[-1], flush=True)
    heads = (
        "vectors", "--dtype", "seconds to build", "MB", "recall of the 10 nearest", "a query, ms",
        "exact, ms (200 at once)", "`nn` prints the same", "`nn` offers the index",
    )  # fmt: skip
    body = (
        "`cawv index` with its defaults. The larger set is made of the smaller, with noise of half a row's "
        "length.\n\n" + table(heads, rows)
    )
    title = "Neighbours among many vectors"
    write_section(options.page, title, options.vectors.name, body, time.perf_counter() - began)


if __name__ == "__main__":
    main()
