"""The main job on real text, for each model: does it finish, load in gensim, make sense, and stay in memory?

    python scripts/quality/main_job.py wiki.30M.txt.xz --into runs/ --seeds 1 2 3 --gensim

Trains with the command line, watches the anonymous memory of the process (mapped files do not count),
opens the result in gensim and looks at the ten neighbours of four words. Prints a table and writes it to
docs/measurements/main-job.md; exits 1 if a bar is missed. The word lists were fixed before the first run.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import parser, peak_memory, table, write_section, write_tokens

MODELS = ("cbow", "skipgram", "ssg", "cwindow", "cbow-attn")
BARS = (7, 3, 5, 5)
"""For each of the four words, how many of its ten neighbours must be as expected at least."""

FAMILY = {"son", "wife", "mother", "sister", "father", "husband"}
COUNTRIES = set(
    """
    belgium germany italy spain paris french england netherlands switzerland austria portugal
    britain europe luxembourg russia sweden denmark poland prussia hungary greece ireland lyon
    brittany normandy canada marseille burgundy
    """.split()  # noqa: SIM905
)
MANNER = set(
    """
    soon rapidly immediately eventually slowly quick gradually easily suddenly finally swiftly
    promptly fast again then later steadily subsequently initially successfully briefly fully
    completely simply thoroughly repeatedly
    """.split()  # noqa: SIM905
)


def neighbours(vectors: Any) -> tuple[dict[str, list[str]], tuple[int, int, int, int]]:
    """Return the ten neighbours of each of the four words, and how many of them are as expected."""
    near = {
        word: [n for n, _ in vectors.most_similar(word, topn=10)]
        for word in ("1945", "daughter", "france", "quickly")
    }
    counts = (
        sum(word.isdigit() and len(word) == 4 for word in near["1945"]),
        len(FAMILY.intersection(near["daughter"])),
        len(COUNTRIES.intersection(near["france"])),
        len(MANNER.intersection(near["quickly"])),
    )
    return near, counts


def train_gensim(tokens: Path, model: str, seed: int, workers: int) -> Any:
    """Train gensim's model of the same name with the same options; tokens are split by spaces."""
    from gensim.models import Word2Vec

    word2vec = Word2Vec(
        corpus_file=str(tokens), sg=int(model == "skipgram"), alpha=0.05,
        vector_size=50, window=20, negative=10, min_count=20, sample=1e-3, epochs=1, seed=seed,
        workers=workers,
    )  # fmt: skip
    return word2vec.wv


def main() -> int:
    """Train and check each model."""
    from gensim.models import KeyedVectors

    asked = parser(__doc__, "main-job")
    asked.add_argument("corpus")
    asked.add_argument("--into", type=Path, required=True)
    asked.add_argument("--models", nargs="+", default=MODELS)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--seeds", type=int, nargs="+", default=[1])
    asked.add_argument("--gensim", action="store_true", help="gensim's cbow and skipgram as well")
    options = asked.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    missed = False
    rows: list[tuple[object, ...]] = []
    print("model          seed  seconds  1945  daughter  france  quickly  anonymous MB (limit)  M words/s")

    def show(name: str, seed: int, seconds: float, vectors: Any, rest: str = "") -> bool:
        near, counts = neighbours(vectors)
        rows.append((name, seed, f"{seconds:.1f}", *counts, *(rest.split() or ["", "", ""])))
        good = all(count >= bar for count, bar in zip(counts, BARS, strict=True))
        found = f"{counts[0]:5} {counts[1]:9} {counts[2]:7} {counts[3]:8}"
        print(f"{name:<16} {seed:2} {seconds:8.1f} {found}  {rest}{'' if good else '  MISSED'}")
        for word, words in near.items():
            print(f"           {word}: {' '.join(words)}", flush=True)
        return good

    for model, seed in itertools.product(options.models, options.seeds):
        folder = options.into / f"{model}.{seed}"
        window = 5 if model == "ssg" else 20
        arguments = (
            f"--vector-size 50 --window {window} --negative 10 --min-count 20 --epochs 1 --overwrite --quiet "
            f"--model {model} --workers {options.workers} --seed {seed}"
        )
        command = [sys.executable, "-m", "wordvec_ca.cli", "train", options.corpus, "-o", str(folder)]
        started = time.monotonic()
        with open(f"{folder}.log", "wb") as log:
            process = subprocess.Popen([*command, *arguments.split()], stdout=log, stderr=log)
            peak = peak_memory(process)
        seconds = time.monotonic() - started
        if process.returncode:
            print(f"{model:<10} failed, see {folder}.log")
            missed = True
            continue
        vectors = KeyedVectors.load(str(folder / "vectors.kv"), mmap="r")
        record = json.loads((folder / "config.json").read_text())
        slots = 2 * record["config"]["window"]
        outputs = slots if model in ("ssg", "cwindow") else 1
        parameters = 4 * record["n_words"] * (50 * (1 + outputs) + (slots if model == "cbow-attn" else 0))
        limit = 1.2 * parameters + 400e6
        speed = record["timings"]["words_per_second"] / 1e6
        rest = f"{peak / 1e6:8.0f} ({limit / 1e6:.0f})  {speed:14.2f}"
        missed |= not show(model, seed, seconds, vectors, rest) or peak > limit
    if options.gensim:
        tokens = options.into / "tokens.txt"
        if not tokens.exists():
            write_tokens(options.corpus, tokens)
        for model, seed in itertools.product(("cbow", "skipgram"), options.seeds):
            if model in options.models:
                started = time.monotonic()
                vectors = train_gensim(tokens, model, seed, options.workers)
                show(f"gensim {model}", seed, time.monotonic() - started, vectors)
    columns = ("model", "seed", "seconds", "1945", "daughter", "france", "quickly", "anonymous MB", "limit")
    body = table((*columns, "M words/s"), rows)
    write_section(options.page, "The main job", f"{options.workers} workers", body)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
