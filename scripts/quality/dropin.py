r"""The drop-in beside gensim: the same calls, once with each import; quality and speed.

    python scripts/quality/dropin.py similarity CORPUS --pairs ws353.tsv rg65.tsv mturk287.tsv
    python scripts/quality/dropin.py speed CORPUS

Both write a section of docs/measurements/gensim-dropin.md. ``similarity`` trains cbow and skip-gram with
negative sampling and with hierarchical softmax, some seeds each, and compares Spearman correlations with
human judgements. ``speed`` times ``train()`` alone, the vocabulary being built, in processes of their own, in
alternation: from a file and from a list of lists of words; and ``cawv train`` with the same options.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from measurement_page import FOLDER, table, write_section

PAGE = FOLDER / "gensim-dropin.md"
TITLE = "The drop-in beside gensim"
KINDS = [("cbow", 0, 0), ("cbow", 0, 1), ("skip-gram", 1, 0), ("skip-gram", 1, 1)]
"""Name, ``sg`` and ``hs``; with hierarchical softmax there is no negative sampling."""


def settings(sg: int, hs: int, **more: Any) -> dict[str, Any]:
    """Return the arguments of ``Word2Vec``."""
    return {
        "vector_size": 100,
        "window": 5,
        "min_count": 5,
        "sg": sg,
        "hs": hs,
        "negative": 5 * (1 - hs),
        **more,
    }


def first_words(corpus: str, words: int, path: Path) -> None:
    """Write the first so many words of a corpus, lower-cased, split by spaces."""
    from xopen import xopen

    from wordvec_ca.text import tokenize

    n = 0
    with xopen(corpus, "rt", encoding="utf-8") as source, open(path, "w", encoding="utf-8") as out:
        for line in source:
            tokens = tokenize(line)
            out.write(" ".join(tokens) + "\n")
            n += len(tokens)
            if n >= words:
                return


def word2vec(whose: str) -> Any:
    """Return the class ``Word2Vec`` of gensim or of the drop-in."""
    if whose == "gensim":
        from gensim.models import Word2Vec
    else:
        from wordvec_ca.gensim.models import Word2Vec
    return Word2Vec


# ---- quality ----------------------------------------------------------------------------------------------


def similarity(options: argparse.Namespace) -> None:
    """Compare the quality of vectors."""
    from wordvec_ca.eval import evaluate, read_word_pairs
    from wordvec_ca.vectors import KeyedVectors

    pairs = {Path(path).stem: read_word_pairs(path) for path in options.pairs}
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.txt"
        first_words(options.corpus, options.words, path)
        for seed in range(1, options.seeds + 1):
            for name, sg, hs in KINDS:
                for whose in ("gensim", "drop-in"):
                    model = word2vec(whose)(
                        corpus_file=str(path), seed=seed, workers=1, epochs=options.epochs, **settings(sg, hs)
                    )
                    vectors = KeyedVectors(list(model.wv.index_to_key), model.wv.vectors)
                    means = [
                        evaluate(vectors, gold, seed=1).metrics["spearman"].value for gold in pairs.values()
                    ]
                    found.setdefault((name, hs), {}).setdefault(whose, []).append(statistics.mean(means))
                    print(
                        name,
                        "hs" if hs else "negative",
                        whose,
                        seed,
                        f"{statistics.mean(means):.4f}",
                        flush=True,
                    )
    rows = []
    for (name, hs), scores in found.items():
        theirs, ours = scores["gensim"], scores["drop-in"]
        gains = [b - a for a, b in zip(theirs, ours, strict=True)]
        noise = max(statistics.stdev(theirs), statistics.stdev(ours)) if len(ours) > 1 else float("nan")
        rows.append(
            (
                name,
                "hs=1, negative=0" if hs else "negative=5",
                *(f"{statistics.mean(s):.3f} ({' '.join(f'{x:.3f}' for x in s)})" for s in (theirs, ours)),
                f"{statistics.mean(gains):+.3f}",
                f"{noise:.3f}",
            )
        )
    columns = ("model", "loss", "gensim: mean (each seed)", "drop-in", "difference", "spread of seeds")
    told = (
        f"{options.words:,} words, {options.epochs} epoch{'s' * (options.epochs > 1)}, "
        f"{', '.join(pairs)}; mean Spearman over the sets."
    )
    body = f"## Quality\n\n{told}\n\n{table(columns, rows)}"
    write_section(PAGE, TITLE, "quality", body, time.monotonic() - started)


# ---- speed ------------------------------------------------------------------------------------------------


def one_run(options: argparse.Namespace) -> None:
    """Time one call of ``train`` in this process; print seconds as JSON."""
    model = settings(options.sg, options.hs)
    if options.whose == "cawv":
        from wordvec_ca import TrainConfig, train

        begun = time.process_time(), time.monotonic()
        name = "skipgram" if options.sg else "cbow"
        config = TrainConfig(
            model=name, window=5, min_count=5, hs=bool(options.hs), negative=model["negative"], epochs=1,
            workers=options.workers, tokenizer="whitespace", lowercase=False, alpha=0.025,
            cbow_update="word2vec",
        )  # fmt: skip
        record = train(options.corpus, config, progress=False).record
        wall = record["timings"]["training_seconds"]
        print(json.dumps({"wall": wall, "cpu": min(time.process_time() - begun[0], wall * options.workers)}))
        return
    source: dict[str, Any] = {"corpus_file": options.corpus}
    if options.lists:
        with open(options.corpus, encoding="utf-8") as file:
            source = {"corpus_iterable": [line.split() for line in file]}
    made = word2vec(options.whose)(workers=options.workers, epochs=1, **model)
    made.build_vocab(**source)
    begun = time.process_time(), time.monotonic()
    made.train(**source, epochs=1, total_examples=made.corpus_count, total_words=made.corpus_total_words)
    print(json.dumps({"cpu": time.process_time() - begun[0], "wall": time.monotonic() - begun[1]}))


def speed(options: argparse.Namespace) -> None:
    """Time ``train`` from files and lists, with one worker and two."""
    started, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.txt"
        first_words(options.corpus, options.words, path)
        for name, sg, hs in KINDS:
            for workers in options.workers:
                rows.append(speed_row(path, name, sg, hs, workers, options))
                print(rows[-1], flush=True)
    columns = (
        *("model", "loss", "workers", "gensim, file", "drop-in, file", "ratio", "cawv train"),
        *("gensim, lists", "drop-in, lists", "ratio"),
    )
    told = (
        f"{options.words:,} words, one epoch, {options.rounds} rounds in alternation, medians: thousands of "
        "words per second of processor time (of all threads together, so that other programs on the machine "
        "count little), `train()` alone; of `cawv train` the training loop alone."
    )
    write_section(
        PAGE, TITLE, "speed", f"## Speed\n\n{told}\n\n{table(columns, rows)}", time.monotonic() - started
    )


def speed_row(
    path: Path, name: str, sg: int, hs: int, workers: int, options: argparse.Namespace
) -> tuple[str, ...]:
    """Return a row of the table of speeds."""
    ways = [("gensim", 0), ("drop-in", 0), ("cawv", 0), ("gensim", 1), ("drop-in", 1)]
    seconds: dict[tuple[str, int], list[float]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for whose, lists in ways:
            command = [sys.executable, __file__, "one-run", str(path), "--whose", whose]
            command += ["--sg", str(sg), "--hs", str(hs), "--workers", str(workers), "--lists", str(lists)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds[whose, lists].append(json.loads(out.splitlines()[-1])["cpu"])
    rates = {way: options.words / statistics.median(each) / 1e3 for way, each in seconds.items()}
    cells = []
    for lists in (0, 1):
        theirs, ours = rates["gensim", lists], rates["drop-in", lists]
        cells += [f"{theirs:,.0f}", f"{ours:,.0f}", f"{ours / theirs:.1f}"]
    cells.insert(3, f"{rates['cawv', 0]:,.0f}")
    return (name, "hs=1, negative=0" if hs else "negative=5", str(workers), *cells)


def main() -> None:
    """Run a comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    quality = commands.add_parser("similarity")
    quality.add_argument("corpus")
    quality.add_argument("--pairs", nargs="+", required=True)
    quality.add_argument("--words", type=int, default=10_000_000)
    quality.add_argument("--seeds", type=int, default=3)
    quality.add_argument("--epochs", type=int, default=1)
    quality.set_defaults(run=similarity)
    timed = commands.add_parser("speed")
    timed.add_argument("corpus")
    timed.add_argument("--words", type=int, default=3_000_000)
    timed.add_argument("--rounds", type=int, default=3)
    timed.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    timed.set_defaults(run=speed)
    one = commands.add_parser("one-run")
    one.add_argument("corpus")
    one.add_argument("--whose")
    for name in ("--sg", "--hs", "--workers", "--lists"):
        one.add_argument(name, type=int)
    one.set_defaults(run=one_run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
