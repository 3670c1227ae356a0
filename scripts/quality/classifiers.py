r"""Classifiers beside the program fastText: accuracy, words per CPU second, memory, two threads.

    python scripts/quality/classifiers.py --data DATA --sets trec,sst,mr,subj,imdb

needs the program ``fasttext`` (Debian has it). Accuracy: both programs get the same lines of lower-case
tokens and the same grid of learning rate, word n-grams and epochs. For each program a point of the grid is
chosen on a tenth of the training lines with the first seed. Then three seeds train on all training lines and
are judged on the test lines, on which nothing was chosen. Speed: both train as processes of their own, in
alternation, so that reading, starting and saving are counted. Memory is the largest resident set, at least
that of this script.
"""

from __future__ import annotations

import itertools
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, data_files, lines_of, measured, parser, say, table, values, write_section

import wordvec_ca.fasttext as fasttext
from wordvec_ca.text import tokenize

GRID = {"lr": (0.1, 0.5), "wordNgrams": (1, 2), "epoch": (5, 20)}
SIZE = {"dim": 50, "bucket": 200_000, "thread": 1}
SEEDS = (1, 2, 3)

FILES = {
    "trec": ("trec/train.tsv", "trec/test.tsv"),
    "sst": ("sst/binary.train.tsv", "sst/binary.dev.tsv"),
    "mr": ("mr/all.tsv",),
    "subj": ("subj/all.tsv",),
    "imdb": ("imdb/train.neg.tsv.xz", "imdb/train.pos.tsv.xz"),
}
"""Set -> files for training and test, whose lines have a label first and a text last; each of imdb's two
files has one label. Without a test file, a tenth of the lines is drawn at random for the test."""

OURS = """
import sys
import wordvec_ca.fasttext as fasttext
path, output, words, threads, epochs = sys.argv[1:]
options = {"wordNgrams": int(words), "thread": int(threads), "epoch": int(epochs)}
fasttext.train_supervised(path, dim=100, lr=0.5, **options).save_model(output)
"""


def write_sets(data: Path, name: str, into: Path) -> None:
    """Write a set for both programs: training lines, a tenth of them to choose on, the rest, test lines."""
    paths = data_files(data, *(f"sentences/{file}" for file in FILES[name]))
    parts = []
    for number, lines in enumerate(map(lines_of, paths)):
        fields = (line.split("\t") for line in lines)
        parts.append(
            [
                f"__label__{number if name == 'imdb' else first} {' '.join(tokenize(rest[-1]))}\n"
                for first, *rest in fields
            ]
        )
    lot = random.Random(1)
    if len(parts) == 2 and name != "imdb":
        known, test = parts
    else:
        lines = [line for part in parts for line in part]
        lot.shuffle(lines)
        known, test = lines[len(lines) // 10 :], lines[: len(lines) // 10]
    lot.shuffle(known)
    tenth = len(known) // 10
    for part, lines in {"valid": known[:tenth], "rest": known[tenth:], "all": known, "test": test}.items():
        (into / f"{name}.{part}").write_text("".join(lines), encoding="utf-8")


def accuracy(program: str, train: Path, test: Path, setting: dict[str, Any]) -> float:
    """Train, and return the share of the test lines that get their label."""
    if program == "cawv":
        return float(fasttext.train_supervised(str(train), **SIZE, **setting).test(str(test))[1])
    flags = [str(part) for name, value in {**SIZE, **setting}.items() for part in (f"-{name}", value)]
    model = train.parent / "theirs"
    subprocess.run(
        [program, "supervised", "-input", train, "-output", model, *flags], capture_output=True, check=True
    )
    printed = subprocess.run(
        [program, "test", f"{model}.bin", test], capture_output=True, text=True, check=True
    )
    return float(printed.stdout.split("P@1")[1].split()[0])


def chosen(runs: Runs, program: str, name: str, into: Path) -> tuple[dict[str, Any], list[float]] | None:
    """Choose a point of the grid, and return it with the accuracy of each seed; None if time is over."""

    def once(setting: dict[str, Any], part: str, judged: str) -> float | None:
        outcome = runs.outcome(
            {"program": Path(program).name, "set": name, "part": part, **setting},
            lambda _: {
                "accuracy": accuracy(program, into / f"{name}.{part}", into / f"{name}.{judged}", setting)
            },
        )
        return None if outcome is None else outcome["accuracy"]

    points = [dict(zip(GRID, point, strict=True)) for point in itertools.product(*GRID.values())]
    found = [once(point | {"seed": SEEDS[0]}, "rest", "valid") for point in points]
    if None in found:
        return None
    best = points[max(range(len(points)), key=lambda i: found[i] or 0.0)]
    figures = [once(best | {"seed": seed}, "all", "test") for seed in SEEDS]
    if None in figures:
        return None
    return best, [figure for figure in figures if figure is not None]


def speeds(
    runs: Runs, program: str, name: str, words: int, epochs: int, rounds: int, into: Path
) -> tuple[str, ...]:
    """Train with both programs in alternation; return a row of medians."""
    text = into / f"{name}.all"
    trained = epochs * sum(len(line.split()) for line in lines_of(text))
    ours = [sys.executable, "-c", OURS, text, into / "ours.bin", words]
    flags = f"-dim 100 -lr 0.5 -wordNgrams {words} -epoch {epochs}".split()
    theirs = [program, "supervised", "-input", text, "-output", into / "theirs", *flags]

    def once(setting: Setting) -> dict[str, float]:
        if setting["program"] == "cawv":
            return measured([*ours, setting["threads"], epochs])
        return measured([*theirs, "-thread", setting["threads"]])

    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for number in range(rounds):
        for maker, threads in itertools.product(("cawv", "fasttext"), (1, 2)):
            setting = {"set": name, "wordNgrams": words, "epoch": epochs, "round": number}
            outcome = runs.outcome({"program": maker, "threads": threads, **setting}, once)
            if outcome is not None:
                found.setdefault((maker, threads), []).append(outcome)

    def median(maker: str, threads: int, figure: str) -> float:
        return statistics.median(outcome[figure] for outcome in found[maker, threads])

    rate = {maker: trained / median(maker, 1, "cpu") for maker in ("cawv", "fasttext")}
    faster = {maker: median(maker, 1, "wall") / median(maker, 2, "wall") for maker in ("cawv", "fasttext")}
    memory = {maker: median(maker, 1, "memory") / 1e6 for maker in ("cawv", "fasttext")}
    return (
        name,
        str(words),
        str(epochs),
        *(f"{rate[maker] / 1e6:.2f}" for maker in rate),
        f"{rate['cawv'] / rate['fasttext']:.1f}",
        *(f"{faster[maker]:.2f}" for maker in faster),
        *(f"{memory[maker]:.0f}" for maker in memory),
    )


def main() -> None:
    """Run what is not finished and write the page."""
    options = parser(__doc__, "classifiers", log="classifiers.jsonl", data=True)
    options.add_argument("--sets", default=",".join(FILES))
    options.add_argument("--program", default="fasttext", help="the program fastText")
    options.add_argument("--speed-of", default="imdb", help="sets whose training is timed")
    options.add_argument("--epochs", type=int, default=5, help="of training that is timed")
    options.add_argument("--rounds", type=int, default=5, help="0 for none")
    given = options.parse_args()
    runs, rows = Runs(given.log, given.minutes), []
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder)
        for name in values(given.sets):
            write_sets(given.data, name, into)
            row = [name]
            for program in ("cawv", given.program):
                found = chosen(runs, program, name, into)
                if found is None:
                    continue
                best, figures = found
                mean, spread = (100 * part for part in (statistics.mean(figures), statistics.stdev(figures)))
                row += [f"{mean:.2f} ± {spread:.2f}", ", ".join(str(value) for value in best.values())]
            say(str(row))
            rows.append(row)
        heads = ("set", "cawv", "lr, n-grams, epochs", "fastText", "lr, n-grams, epochs")
        write_section(given.page, "Classifiers beside fastText", "accuracy", table(heads, rows))
        if given.rounds:
            timed = []
            for name, words in itertools.product(values(given.speed_of), (1, 2)):
                write_sets(given.data, name, into)
                timed.append(speeds(runs, given.program, name, words, given.epochs, given.rounds, into))
            columns = (
                *("set", "word n-grams", "epochs", "cawv, M words per CPU second", "fastText", "ratio"),
                *("two threads over one: cawv", "fastText", "memory in MB: cawv", "fastText"),
            )
            write_section(given.page, "Classifiers beside fastText", "speed", table(columns, timed))


if __name__ == "__main__":
    main()
