"""What smaller vectors cost in quality: exports of one model, compared with it.

    python scripts/quality/smaller_vectors.py VECTORS --data DATA

exports vectors as model2vec folders of float32, float16 and int8, and of int8 with only the first 20,000
words, and judges each with ``cawv compare`` on the data sets in DATA. It writes
docs/measurements/smaller-vectors.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from study import parser, table, write_section

from wordvec_ca.formats import precision_loss
from wordvec_ca.vectors import KeyedVectors

EXPORTS = (("float32", None), ("float16", None), ("int8", None), ("int8", 20_000))


def main() -> None:
    asked = parser(__doc__, "smaller-vectors")
    asked.add_argument("vectors", type=Path)
    asked.add_argument("--data", type=Path, required=True, help="sets of words, as for cawv compare")
    asked.add_argument("--tasks", default="similarity,analogy,categorization")
    options = asked.parse_args()
    began = time.perf_counter()
    vectors = KeyedVectors.load(options.vectors)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, places = [], []
        for dtype, words in EXPORTS:
            places.append(folder / f"{dtype}{f'.{words}' if words else ''}")
            vectors.save(places[-1], format="model2vec", dtype=dtype, max_words=words)
            size = sum(path.stat().st_size for path in places[-1].iterdir())
            lowest = 1.0 if dtype == "float32" else precision_loss(vectors.vectors[:words], dtype).lowest
            rows.append((dtype, f"{words or len(vectors):,}", f"{size / 1e6:.1f}", f"{lowest:.6f}"))
        command = [
            sys.executable,
            "-m",
            "wordvec_ca",
            "compare",
            *map(str, places),
            "--data",
            str(options.data),
        ]
        command += ["--tasks", options.tasks, "--quiet"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
    body = "\n\n".join(
        [
            f"{len(vectors):,} vectors of size {vectors.vector_size}, exported with "
            "`cawv export --format model2vec`:",
            table(("--dtype", "words", "MB on disk", "lowest cosine with the original"), rows),
            "`cawv compare` of float32 with the others:",
            "```text\n" + printed.replace(str(folder) + "/", "").rstrip() + "\n```",
        ]
    )
    title = "What smaller vectors cost"
    write_section(options.page, title, options.vectors.name, body, time.perf_counter() - began)


if __name__ == "__main__":
    main()
