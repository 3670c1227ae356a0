"""One line or word at a time: microseconds a call, beside fastText's compiled module.

    python -m venv theirs && theirs/bin/pip install fasttext-wheel "numpy<2"
    python scripts/quality/single_calls.py lid.176.ftz wiki.1M.txt --theirs theirs/bin/python

Runs both processes in alternation, measures processor seconds, and writes a section of
docs/measurements/compare-fasttext.md.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

CALLS = ("predict", "predict, k=5", "get_sentence_vector", "get_word_vector")

if __name__ == "__main__" and sys.argv[1] != "--one":
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from study import parser, table, write_section


def measured(fasttext, path: str, text: str) -> dict[str, float]:
    """Return the microseconds of each call. This also runs in a Python without wordvec_ca."""
    model = fasttext.load_model(path)
    with open(text, encoding="utf-8") as file:
        lines = [line.rstrip("\n")[:100] for line, _ in zip(file, range(3000), strict=False)]
    words = [word for line in lines for word in line.split()][:3000]
    calls = (model.predict, lambda line: model.predict(line, k=5))
    found = {}
    for name, call, values in zip(
        CALLS,
        (*calls, model.get_sentence_vector, model.get_word_vector),
        (lines, lines, lines, words),
        strict=True,
    ):
        rounds = []
        for _ in range(5):
            started = time.process_time()
            for value in values:
                call(value)
            rounds.append((time.process_time() - started) / len(values) * 1e6)
        found[name] = statistics.median(rounds)
    return found


def main() -> None:
    """Measure both and write the section."""
    options = parser(__doc__, "compare-fasttext")
    options.add_argument("model")
    options.add_argument("text")
    options.add_argument("--theirs", required=True, metavar="PYTHON", help="a Python that has fastText")
    options.add_argument("--rounds", type=int, default=5)
    given, started = options.parse_args(), time.monotonic()
    runs: dict[str, list[dict[str, float]]] = {given.theirs: [], sys.executable: []}
    for _ in range(given.rounds):
        for python, found in runs.items():
            module = "wordvec_ca.fasttext" if python == sys.executable else "fasttext"
            command = [python, __file__, "--one", module, given.model, given.text]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found.append(json.loads(out.splitlines()[-1]))
    rows = []
    for call in CALLS:
        theirs, ours = (statistics.median(run[call] for run in found) for found in runs.values())
        rows.append((f"`{call}`", f"{theirs:.1f}", f"{ours:.1f}", f"{theirs / ours:.1f}"))
    body = (
        "## One line at a time\n\nMicroseconds of processor time a call on 3,000 lines of Wikipedia, the "
        f"first 100 characters of each, with `{Path(given.model).name}`; medians of "
        f"{given.rounds} processes each, in alternation.\n\n"
        + table(("call", "fastText", "here", "times faster"), rows)
    )
    write_section(given.page, "Beside fastText", "single calls", body, time.monotonic() - started)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        import importlib

        print(json.dumps(measured(importlib.import_module(sys.argv[2]), *sys.argv[3:])))
    else:
        main()
