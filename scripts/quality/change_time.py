"""How long ``cawv change`` takes on two long texts, as a command, with its defaults.

Writes a section of docs/measurements/changed-words.md; takes some minutes with 2 × 15 million words.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import data_files, lines_of, measured, parser, say, table, write_section

LINES_PER_MILLION = 15_608


def main() -> None:
    """Measure and write the page."""
    options = parser(__doc__, "changed-words", data=True)
    options.add_argument("--million", type=float, default=15, help="million words of each text")
    options.add_argument("--permutations", default="20,200", help="numbers of them, with commas between")
    given = options.parse_args()
    (corpus,) = data_files(given.data, "corpora/wiki.30M.txt.xz")
    began, size = time.time(), int(given.million * LINES_PER_MILLION)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        texts = [Path(place, name) for name in ("first.txt", "second.txt")]
        for number, text in enumerate(texts):
            text.write_text("".join(lines_of(corpus, size, number * size)), encoding="utf-8")
        for permutations in given.permutations.split(","):
            for workers in (1, 2):
                output = Path(place, "changes.tsv")
                options = ["-q", "--overwrite", f"--output={output}"]
                options += [f"--permutations={permutations}", f"--workers={workers}"]
                took = measured([sys.executable, "-m", "wordvec_ca", "change", *texts, *options])
                with output.open(encoding="utf-8") as lines:
                    judged = sum(line.split("\t", 2)[1] == "judged" for line in lines)
                rows.append([
                    permutations, workers, f"{judged:,}", f"{took['wall'] / 60:.1f} minutes",
                    f"{took['cpu'] / 60:.1f} minutes", f"{took['memory'] / 1e9:.1f} GB",
                ])  # fmt: skip
                say(f"{rows[-1]}")
    body = (
        f"`cawv change` on two texts of {given.million:g} M words of Wikipedia, the whole command with its "
        "defaults:\n\n"
        + table(("permutations", "workers", "words judged", "wall time", "CPU time", "memory"), rows)
    )
    title = "Are the p-values of `cawv change` right?"
    write_section(given.page, title, "time", body, time.time() - began)


if __name__ == "__main__":
    main()
