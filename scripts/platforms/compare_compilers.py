"""Compare the speed of the training loop when two compilers compile it.

    apt-get install clang
    python scripts/platforms/compare_compilers.py CORPUS --compilers gcc clang

builds the package with each compiler into a folder of its own, starts a process with each, and lets them
train in turn, with one thread each. It compares the medians of words per second of processor time and writes
a section of docs/measurements/compilers.md. The first two million words of CORPUS, a text file, are read.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from bench_loops import Loop
from study import parser, processor, table, write_section

from wordvec_ca.corpus import TextOptions, encode_corpus
from wordvec_ca.kernels import isa
from wordvec_ca.specs.models import MODELS
from wordvec_ca.text import TextFiles

WORDS = 2_000_000


def first_words(corpus: Path, out: Path) -> None:
    """Write the first lines of a text."""
    n_words = 0
    with open(out, "wb") as file:
        for piece in TextFiles([str(corpus)]).pieces():
            file.write(piece)
            n_words += piece.count(b" ")
            if n_words > WORDS:
                break


def build(compiler: str, folder: Path) -> None:
    """Build the package with a compiler."""
    shared = f"{compiler} -shared"
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build",
        "--build-base",
        str(folder / "base"),
        "--build-lib",
        str(folder),
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "CC": compiler, "LDSHARED": shared},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])


class Side:
    """A process with the package that one compiler built; it measures when asked."""

    def __init__(self, folder: Path, text: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--measure", str(text)],
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        where = self.ask("")
        if not where.startswith(str(folder)):
            raise SystemExit(f"the process measures {where}, not the build in {folder}")

    def ask(self, line: str) -> str:
        """Send a line; return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise SystemExit("a process that measures has died")
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def answer(text: Path) -> None:
    """Measure what standard input asks for: each line has a model and an instruction set."""
    from wordvec_ca.kernels import _sgns

    options = TextOptions(tokenizer="whitespace", lowercase=False, workers=1)
    with tempfile.TemporaryDirectory() as folder, encode_corpus(text, options, cache_dir=folder) as encoded:
        loops: dict[str, Loop] = {}
        for line in sys.stdin:
            if not line.strip():
                print(_sgns.__file__, flush=True)
                continue
            model, name = line.split()
            if line not in loops:
                loops[line] = Loop(encoded, {"model": model, "vector_size": 100}, isa=name)
            print(loops[line](), flush=True)


def main() -> None:
    asked = parser(__doc__, "compilers")
    asked.add_argument("corpus", type=Path)
    asked.add_argument("--compilers", nargs=2, default=["gcc", "clang"], metavar="COMMAND")
    asked.add_argument("--isas", nargs="+", default=[isa()])
    asked.add_argument("--repeat", type=int, default=7)
    options = asked.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first_words(options.corpus, folder / "text.txt")
        sides = []
        for compiler in options.compilers:
            place = folder / str(len(sides))
            build(compiler, place)
            sides.append(Side(place, folder / "text.txt"))
        versions = [
            subprocess.run(
                [*shlex.split(c), "--version"], capture_output=True, text=True
            ).stdout.splitlines()[0]
            for c in options.compilers
        ]
        rows = []
        for name in options.isas:
            for model in MODELS:
                found: list[list[float]] = [[], []]
                for _ in range(options.repeat):
                    for side, values in zip(sides, found, strict=True):
                        values.append(float(side.ask(f"{model} {name}")))
                first, second = map(median, found)
                rows.append(
                    (name, model, f"{first / 1e6:.2f}", f"{second / 1e6:.2f}", f"{second / first:.2f}")
                )
                print(*rows[-1], json.dumps(found), flush=True)
        for side in sides:
            side.close()
    lowest = min(rows, key=lambda row: float(row[-1]))
    body = (
        f"**{versions[1]} makes a loop of at least {lowest[-1]} of the speed of {versions[0]}** "
        f"({lowest[1]}, {lowest[0]}). Vectors of size 100, one thread, millions of words a second of "
        f"processor time; medians of {options.repeat} in alternation.\n\n"
        + table(("instruction set", "model", options.compilers[0], options.compilers[1], "ratio"), rows)
    )
    write_section(
        options.page,
        "The loop as two compilers make it",
        f"{processor()}, {versions[1]}",
        body,
        time.perf_counter() - began,
    )


if __name__ == "__main__":
    answer(Path(sys.argv[2])) if sys.argv[1:2] == ["--measure"] else main()
