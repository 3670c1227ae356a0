"""Speed of training, compared with gensim, with other programs and with the limits of the memory system.

    python scripts/bench.py CORPUS --into bench
    python scripts/bench.py CORPUS --parts peers --rows cbow,skipgram --peer word2vec=/path/to/word2vec

Every comparison runs its two sides in alternation, five times each, and prints the ratio of medians. Speeds
are words of the text per CPU second of one thread, unless wall time is mentioned. The parts:

peers     whole processes, ours (`cawv train`) and gensim's fast path (`corpus_file`), on the same tokens with
          the same vocabulary and options, no sub-sampling; timed is the difference between runs with two
          numbers of epochs, so that starting, counting and saving cancel out. Programs with word2vec.c's
          flags: --peer NAME=PATH.
ceiling   the loop against a null kernel: the same loop, which reads and writes the same rows, without dot
          products and with learning rate 0
widths    a vector size against the next multiple of 16
isa       the instruction sets of this processor
workers   two workers against one, wall time, with and without sub-sampling
numba     the Numba backend against the compiled one
text      counting and encoding, MB of text per CPU second

The record is INTO/bench.json. The table is printed and, with --page, written to a page.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench_loops import Loop, Run
from bench_processes import Process, Row, gensim_command, our_command, peer_command, prepare
from study import processor, write_section

from wordvec_ca import kernels
from wordvec_ca.corpus import EncodedCorpus, TextOptions, encode_corpus
from wordvec_ca.files import atomic_file
from wordvec_ca.specs.models import spec_of

PARTS = "peers,ceiling,widths,isa,workers,numba,text"

ROWS = (
    Row("cbow", 100, 5, 5, 9, 5.5),
    Row("cbow", 300, 5, 5, 5.5, 3.5),
    Row("cbow", 50, 20, 10, 13, 8),
    Row("skipgram", 100, 5, 5, 25, 15, "skipgram"),
    Row("skipgram", 300, 5, 5, 14, 9, "skipgram"),
    Row("cbow-attn", 50, 20, 10, 8, 4.5),
    Row("ssg", 50, 5, 5, None, None, "skipgram"),
    Row("cwindow", 50, 5, 5, None, None),
)
CEILING = {"ssg": (0.75, 0.6), "cwindow": (0.75, 0.6)}
WIDTHS = ((50, 64), (100, 112), (150, 160), (300, 304))


def negatives_of(row: Row) -> str:
    """Return how the model of a setting draws negatives by default."""
    return "exact" if spec_of(row.model).shared_by is None else "shared"


def alternate(sides: dict[str, Callable[[], float]], repeat: int) -> dict[str, list[float]]:
    """Measure each side in turn, ``repeat`` times."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeat):
        for name, measure in sides.items():
            found[name].append(measure())
    return found


class Bench:
    """Runs the chosen parts and records every measurement."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.text = prepare(options.corpus, options.into, options.words)
        self.encoded = self._encode(self.text.slice)
        self.records: list[dict[str, Any]] = []
        self._started = time.monotonic()

    def _encode(self, path: Path) -> EncodedCorpus:
        options = TextOptions(tokenizer="whitespace", lowercase=False, workers=1)
        return encode_corpus(path, options, vocab=self.text.vocab, cache_dir=self.folder)

    def rows(self) -> list[Row]:
        """Return the chosen settings."""
        wanted = self.options.rows.split(",") if self.options.rows else None
        return [row for row in ROWS if wanted is None or row.model in wanted or row.name in wanted]

    def compare(
        self, part: str, name: str, sides: dict[str, Callable[[], float]], goal: float | None = None,
        floor: float | None = None, unit: str = "M words/CPU s", judged: str | None = None,
    ) -> None:  # fmt: skip
        """Measure two or more sides; compare each with the first, and judge all or only ``judged``."""
        found = alternate(sides, self.options.repeat)
        (against, base), *others = found.items()
        for other, values in others:
            record = {
                "part": part, "row": name, "side": other, "against": against, "unit": unit,
                "speed": median(values) / 1e6, "speed_against": median(base) / 1e6,
                "ratio": median(values) / median(base),
                "goal": goal if judged in (None, other) else None,
                "floor": floor if judged in (None, other) else None,
                "speeds": values, "speeds_against": base,
            }  # fmt: skip
            self.keep(record)

    def keep(self, record: dict[str, Any]) -> None:
        """Show a measurement, and write the record so far, since the bench may be interrupted."""
        self.records.append(record)
        print(table_line(record), file=sys.stderr, flush=True)
        everything = {
            "command": sys.argv, "minutes": self.minutes(), "processor": processor(), "isa": kernels.isa(),
            "python": platform.python_version(), "tokens": self.text.n_tokens, "measurements": self.records,
        }  # fmt: skip
        with atomic_file(self.options.into / "bench.json") as file:
            file.write(f"{json.dumps(everything, indent=1)}\n".encode())

    def minutes(self) -> float:
        """Return how long the bench has taken so far."""
        return (time.monotonic() - self._started) / 60

    def table(self) -> str:
        """Return all measurements as a table."""
        return "\n".join([HEAD, *map(table_line, self.records)])

    def peers(self) -> None:
        """Measure whole processes."""
        for row in self.rows():
            sides = {"gensim": Process(partial(gensim_command, self.text, row), self.text.n_tokens, fewest=0)}
            for peer in self.options.peer:
                name, _, path = peer.partition("=")
                sides[name] = Process(partial(peer_command, path, self.text, row), self.text.n_tokens)
            ours = f"cawv, {negatives_of(row)}"
            sides[ours] = Process(partial(self._ours, row, negatives_of(row)), self.text.n_tokens)
            self.compare("peers", row.name, sides, row.goal, row.floor, judged=ours)

    def _ours(self, row: Row, negatives: str, epochs: int) -> list[str]:
        return our_command(self.text, row, epochs, str(self.folder / "model"), negatives)

    def loops(self, part: str, sides: dict[str, dict[str, Any]], *judged: float | None) -> None:
        """Measure the loop on each setting with options of ``Loop`` and of training that differ."""
        for row in self.rows():
            negatives, made = negatives_of(row), {}
            for name, changes in sides.items():
                how = {key: changes[key] for key in ("isa", "null") if key in changes}
                options = {key: value for key, value in changes.items() if key not in how}
                made[name] = Loop(self.encoded, row.options(negatives=negatives, **options), **how)
                made[name]()  # a call that is not measured: Numba compiles in its first one
            self.compare(part, f"{row.name} {negatives}", made, *(judged or CEILING.get(row.model, ())))

    def ceiling(self) -> None:
        """Measure the loop against its null kernel."""
        self.loops("ceiling", {"null kernel": {"null": True}, "loop": {}})

    def widths(self) -> None:
        """Measure vector sizes against the next multiple of 16."""
        for model in ("cbow", "skipgram"):
            for size, wider in WIDTHS:
                sides = {
                    f"d{d}": Loop(self.encoded, Row(model, d, 5, 5).options(negatives="shared"))
                    for d in (wider, size)
                }
                self.compare("widths", f"{model} d{size}", sides, None, 0.95)

    def isa(self) -> None:
        """Measure the instruction sets."""
        sets = kernels.isas()
        self.loops("isa", {name: {"isa": name} for name in sets}, None, 0.7 if "avx512" in sets else None)

    def workers(self) -> None:
        """Measure two workers against one."""
        settings = [Row("cbow", 100, 5, 5), Row("skipgram", 100, 5, 5), Row("cbow-attn", 50, 20, 10)]
        for row, sample in itertools.product(settings, (0.0, 1e-3)):
            options = row.options(negatives=negatives_of(row), sample=sample)
            sides = {
                f"{n} worker{'s' * (n > 1)}": Run(self.encoded, {**options, "workers": n}) for n in (1, 2)
            }
            name = f"{row.name} {options['negatives']}, sample {sample:g}"
            self.compare("workers", name, sides, 1.9, 1.5, unit="M words/s")

    def numba(self) -> None:
        """Measure the Numba backend."""
        self.loops("numba", {"cython": {}, "numba": {"backend": "numba"}}, None)

    def text_speed(self) -> None:
        """Measure counting and encoding."""
        plain = self.folder / "plain.txt"
        plain.write_text(self.text.slice.read_text(encoding="utf-8").capitalize() * 4, encoding="utf-8")
        floors = {"words": 20.0, "whitespace": 60.0}
        for tokenizer, floor in floors.items():
            found = []
            for _ in range(self.options.repeat):
                started = time.process_time()
                options = TextOptions(tokenizer=tokenizer, workers=1)
                encode_corpus(plain, options, cache_dir=self.folder).close()
                found.append(plain.stat().st_size / (time.process_time() - started) / 1e6)
            record = {
                "part": "text", "row": f"counting and encoding, {tokenizer}", "side": "cawv", "against": "",
                "unit": "MB/CPU s", "speed": median(found), "speed_against": None, "ratio": median(found),
                "goal": None, "floor": floor, "speeds": found,
            }  # fmt: skip
            self.keep(record)

    def run(self) -> None:
        """Run the chosen parts."""
        for part in self.options.parts.split(","):
            (self.text_speed if part == "text" else getattr(self, part))()


# ---- the table ----------------------------------------------------------------------------------

HEAD = "| part | setting | who | speed | beside | its speed | ratio | goal | floor |\n" + "|---" * 9 + "|"


def table_line(record: dict[str, Any]) -> str:
    """Return a record as a line of the table; a missed floor is marked."""

    def shown(value: float | None, digits: str = ".2f") -> str:
        return "" if value is None else format(value, digits)

    missed = (
        record["floor"] is not None and record["ratio"] < record["floor"] and record["side"] != "baseline"
    )
    ratio = f"**{record['ratio']:.2f}** missed" if missed else f"{record['ratio']:.2f}"
    cells = [
        record["part"], record["row"], record["side"], f"{record['speed']:.2f} {record['unit']}",
        record["against"], shown(record["speed_against"]), ratio, shown(record["goal"], "g"),
        shown(record["floor"], "g"),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument(
        "--into", type=Path, default=Path("bench"), help="folder of the record (default: bench)"
    )
    parser.add_argument("--parts", default=PARTS, help="comma-separated (default: all)")
    parser.add_argument("--rows", help="models or settings, comma-separated (default: all)")
    parser.add_argument("--words", type=int, default=2_500_000, help="words of the corpus to train on")
    parser.add_argument("--page", type=Path, help="record of docs/evidence/data/ whose section is written")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PATH")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.into) as folder:
        bench = Bench(options, Path(folder))
        bench.run()
        bench.encoded.close()
    print(bench.table())
    if options.page:
        body = f"## {processor()}\n\n{bench.table()}"
        write_section(options.page, "Speed", processor(), body, 60 * bench.minutes())
    print(f"\n{bench.minutes():.1f} minutes; {processor()}, {kernels.isa()}", file=sys.stderr)


if __name__ == "__main__":
    main()
