r"""The drop-in beside gensim: the same calls with each of the two imports; quality and speed.

    python scripts/quality/dropin.py similarity CORPUS --pairs ws353.tsv rg65.tsv mturk287.tsv
    python scripts/quality/dropin.py speed CORPUS
    python scripts/quality/dropin.py beside-train CORPUS

Each command writes a section of docs/measurements/gensim-dropin.md. ``similarity`` trains cbow and skip-gram
with negative sampling and with hierarchical softmax, some seeds each, and compares Spearman correlations with
human judgements. ``speed`` times both libraries from a file and from a list of lists of words;
``beside-train`` times the drop-in's ``corpus_file`` and ``cawv train`` with the same options.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import FOLDER, spearman, table, write_section, write_tokens

from wordvec_ca import TrainConfig, train

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
    from wordvec_ca.eval import read_word_pairs
    from wordvec_ca.vectors import KeyedVectors

    pairs = [read_word_pairs(path) for path in options.pairs]
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = write_tokens(options.corpus, Path(folder) / "words.txt", options.words)
        for seed in range(1, options.seeds + 1):
            for name, sg, hs in KINDS:
                for whose in ("gensim", "drop-in"):
                    model = word2vec(whose)(
                        corpus_file=str(path), seed=seed, workers=1, epochs=options.epochs, **settings(sg, hs)
                    )
                    vectors = KeyedVectors(list(model.wv.index_to_key), model.wv.vectors)
                    mean = statistics.mean(spearman(vectors, pairs).values())
                    found.setdefault((name, hs), {}).setdefault(whose, []).append(mean)
                    print(name, loss_of(hs), whose, seed, f"{mean:.4f}", flush=True)
            write_quality(found, [gold.name for gold in pairs], options, time.monotonic() - started)


def write_quality(
    found: dict[tuple[str, int], dict[str, list[float]]],
    sets: list[str],
    options: argparse.Namespace,
    seconds: float,
) -> None:
    """Write the table of correlations, for the seeds that are finished."""
    rows = []
    for (name, hs), scores in found.items():
        theirs, ours = scores["gensim"], scores["drop-in"]
        gains = [b - a for a, b in zip(theirs, ours, strict=True)]
        noise = max(statistics.stdev(theirs), statistics.stdev(ours)) if len(ours) > 1 else float("nan")
        rows.append(
            (
                name,
                loss_of(hs),
                *(f"{statistics.mean(s):.3f} ({' '.join(f'{x:.3f}' for x in s)})" for s in (theirs, ours)),
                f"{statistics.mean(gains):+.3f}",
                f"{noise:.3f}",
            )
        )
    columns = ("model", "loss", "gensim: mean (each seed)", "drop-in", "difference", "spread of seeds")
    told = f"{options.words:,} words, {epochs_of(options)}, {', '.join(sets)}; mean Spearman over the sets."
    body = f"## Quality\n\n{told}\n\n{table(columns, rows)}"
    write_section(PAGE, TITLE, "quality", body, seconds)


# ---- speed ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """A way to train: the trainer, and whether the text is a list of lists of words or a file."""

    whose: str
    lists: bool = False


WAYS = [Way("gensim"), Way("drop-in"), Way("cawv"), Way("gensim", lists=True), Way("drop-in", lists=True)]


def processor_seconds(
    way: Way, path: Path, sentences: list[list[str]], sg: int, hs: int, workers: int, epochs: int
) -> tuple[float, float]:
    """Train once; return processor seconds of all threads: in all, and in ``train()`` alone."""
    begun = time.process_time()
    if way.whose == "cawv":
        config = TrainConfig(
            model="skipgram" if sg else "cbow", window=5, min_count=5, hs=bool(hs), negative=5 * (1 - hs),
            negatives=None if sg or hs else "exact", epochs=epochs, workers=workers, tokenizer="whitespace",
            lowercase=False, alpha=0.025, cbow_update="word2vec",
        )  # fmt: skip
        train(path, config, progress=False)
        return time.process_time() - begun, float("nan")
    source = {"corpus_iterable": sentences} if way.lists else {"corpus_file": str(path)}
    model = word2vec(way.whose)(workers=workers, epochs=epochs, **settings(sg, hs))
    model.build_vocab(**source)
    counted = time.process_time()
    model.train(
        **source, epochs=epochs, total_examples=model.corpus_count, total_words=model.corpus_total_words
    )
    return time.process_time() - begun, time.process_time() - counted


def medians(
    ways: list[Way],
    path: Path,
    sentences: list[list[str]],
    kind: tuple[int, int],
    workers: int,
    options: argparse.Namespace,
) -> dict[Way, tuple[float, float]]:
    """Measure the ways in alternation; return median seconds of each: in all, and in ``train()`` alone."""
    found: dict[Way, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way in ways:
            found[way].append(processor_seconds(way, path, sentences, *kind, workers, options.epochs))
    return {way: tuple(map(statistics.median, zip(*times, strict=True))) for way, times in found.items()}


def prepared(options: argparse.Namespace, folder: str) -> tuple[Path, list[list[str]]]:
    """Return a file of words and its sentences, after importing and using everything once."""
    path = write_tokens(options.corpus, Path(folder) / "words.txt", options.words)
    little = Path(folder) / "little.txt"
    with open(path, encoding="utf-8") as file:
        sentences = [line.split() for line in file]
    little.write_text("\n".join(" ".join(words) for words in sentences[:500]), "utf-8")
    for way in WAYS:
        processor_seconds(way, little, sentences[:500], 0, 0, 1, 1)
    return path, sentences


def speed(options: argparse.Namespace) -> None:
    """Time training from files and lists, with one worker and two, beside gensim."""
    started, rows = time.monotonic(), []
    columns = ("model", "loss", "workers") + tuple(
        f"{source}: {cell}"
        for source in ("file", "lists")
        for cell in ("gensim", "drop-in", "ratio", "`train()`")
    )
    told = (
        f"{options.words:,} words, {epochs_of(options)}, {rounds_of(options)}, in one process: seconds of "
        "processor time of all threads together (so that other programs on the machine count little), "
        "vocabulary and training; and gensim's as a multiple of the drop-in's, of both and of `train()`."
    )
    with tempfile.TemporaryDirectory() as folder:
        path, sentences = prepared(options, folder)
        for workers in options.workers:
            for name, sg, hs in KINDS:
                times = medians(WAYS, path, sentences, (sg, hs), workers, options)
                cells = []
                for lists in (False, True):
                    theirs, ours = times[Way("gensim", lists)], times[Way("drop-in", lists)]
                    cells += [f"{theirs[0]:.2f}", f"{ours[0]:.2f}", f"{theirs[0] / ours[0]:.1f}"]
                    cells.append(f"{theirs[1] / ours[1]:.1f}")
                rows.append((name, loss_of(hs), str(workers), *cells))
                print(rows[-1], flush=True)
                body = f"## Speed\n\n{told}\n\n{table(columns, rows)}"
                write_section(PAGE, TITLE, "speed", body, time.monotonic() - started)


def beside_train(options: argparse.Namespace) -> None:
    """Time the drop-in's ``corpus_file`` beside ``cawv train`` with the same options."""
    started, rows = time.monotonic(), []
    ways = [Way("cawv"), Way("drop-in")]
    columns = ("model", "loss", "workers", "cawv train", "`corpus_file`", "difference")
    told = (
        f"{options.words:,} words, {epochs_of(options)}, {rounds_of(options)}: seconds of processor time "
        "from the file to vectors, with the same options (for CBOW with `--negatives exact`, as the drop-in "
        "has them)."
    )
    with tempfile.TemporaryDirectory() as folder:
        path, sentences = prepared(options, folder)
        for workers in options.workers:
            for name, sg, hs in KINDS:
                times = medians(ways, path, sentences, (sg, hs), workers, options)
                theirs, ours = (times[way][0] for way in ways)
                difference = f"{ours / theirs - 1:+.1%}"
                rows.append((name, loss_of(hs), str(workers), f"{theirs:.2f}", f"{ours:.2f}", difference))
                print(rows[-1], flush=True)
                body = f"## Beside `cawv train`\n\n{told}\n\n{table(columns, rows)}"
                write_section(PAGE, TITLE, "beside train", body, time.monotonic() - started)


def loss_of(hs: int) -> str:
    """Return the options of a loss."""
    return "hs=1, negative=0" if hs else "negative=5"


def rounds_of(options: argparse.Namespace) -> str:
    """Return in words how often everything was timed."""
    return f"medians of {options.rounds} rounds in alternation" if options.rounds > 1 else "once, in turn"


def epochs_of(options: argparse.Namespace) -> str:
    """Return in words how many epochs there are."""
    return f"{options.epochs} epoch{'s' * (options.epochs > 1)}"


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
    for name, run, words, rounds, epochs in (
        ("speed", speed, 1_000_000, 3, 1),
        ("beside-train", beside_train, 2_000_000, 5, 5),
    ):
        timed = commands.add_parser(name)
        timed.add_argument("corpus")
        timed.add_argument("--words", type=int, default=words)
        timed.add_argument("--rounds", type=int, default=rounds)
        timed.add_argument("--epochs", type=int, default=epochs)
        timed.add_argument("--workers", type=int, nargs="+", default=[1, 2])
        timed.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
