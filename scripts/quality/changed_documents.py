"""Does ``cawv change`` call words changed between halves of the same authors' books, where none has changed?

A random half of each author's books is one text and the other half is the second text; this is done ten
times. Words are judged twice: with books as documents, and with each paragraph as a document. Writes a
section of docs/measurements/changed-words.md.
"""

from __future__ import annotations

import lzma
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import parser, write_section

from wordvec_ca import TrainConfig
from wordvec_ca.change import Documents, false_discovery_rate, harmonic_mean_count, p_values
from wordvec_ca.change.permutations import LabelPermutations, line_numbers
from wordvec_ca.change.texts import Slices
from wordvec_ca.corpus import likeness_of_lines
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.vectors import directions

TITLE = "Are the p-values of `cawv change` right?"

BANDS = ((10, 20), (20, 50), (50, 200), (200, 10**9))


def books(path: Path, words: int) -> tuple[list[str], list[list[str]]]:
    """Return the author and the first paragraphs of each book."""
    found: dict[tuple[str, str], list[str]] = {}
    sizes: dict[tuple[str, str], int] = {}
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            author, book, paragraph = line.rstrip("\n").split("\t")
            if sizes.get((author, book), 0) < words:
                found.setdefault((author, book), []).append(paragraph)
                sizes[author, book] = sizes.get((author, book), 0) + len(paragraph.split())
    return [author for author, _ in found], list(found.values())


def main() -> None:
    options = parser(__doc__, "changed-words", data=True)
    options.add_argument("--words", type=int, default=45_000, help="of each book")
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--epochs", type=int, default=5)
    given = options.parse_args()
    started = time.monotonic()
    authors, documents = books(given.data / "books" / "gutenberg.tsv.xz", given.words)
    config = ResolvedConfig.of(
        TrainConfig(model="skipgram", window=10, epochs=given.epochs, vector_size=50, workers=1)
    )
    # Each text has books of every author; the permutation below draws which.
    slices = Slices([Documents(documents[0::2]), Documents(documents[1::2])], config, 10)
    together = slices.model_of_all()
    of_book = [*authors[0::2], *authors[1::2]]
    sizes = np.bincount(slices.groups, slices.lengths).astype(np.int64)
    of_lines = line_numbers(slices.tokens, slices.lengths)
    rows = [together.key_to_index[word] for word in slices.vocab.words]
    alike = likeness_of_lines(
        slices.tokens, slices.labels, directions(together.vectors[rows]), slices.counts.sum(axis=0), 1
    )
    flagged: dict[tuple[str, int], list[float]] = {}
    discoveries = {"books": 0, "paragraphs": 0}
    for run in range(given.runs):
        rng = np.random.default_rng([run, 0xB00C])
        labels = np.zeros(len(of_book), np.int64)
        for author in sorted(set(of_book)):
            own = rng.permutation([i for i, name in enumerate(of_book) if name == author])
            extra = rng.integers(0, 2) if len(own) % 2 else 0
            labels[own[: len(own) // 2 + extra]] = 1
        counts = slices.counts_by(labels[slices.groups])
        judged = np.flatnonzero((counts >= 10).all(axis=0))
        even = harmonic_mean_count(counts[:, judged])
        for what in discoveries:
            slices.grouped = what == "books"
            contexts = slices.contexts(together)
            if slices.grouped:
                labelling = LabelPermutations(labels, line_numbers(slices.tokens, sizes))
            else:
                labelling = LabelPermutations(labels[slices.groups], of_lines)
            found = contexts.differences(labelling, judged, 200, run)
            p = p_values(found.gap, even, run)
            rate = false_discovery_rate(p)
            discoveries[what] += int((rate <= 0.05).sum())
            for number, (low, high) in enumerate(BANDS):
                band = (even >= low) & (even < high) & np.isfinite(p)
                flagged.setdefault((what, number), []).append(float((p[band] < 0.05).mean()))
            print(run, what, {k[1]: round(v[-1], 3) for k, v in flagged.items() if k[0] == what},
                  int((rate <= 0.05).sum()), flush=True)  # fmt: skip
    lines = [
        f"{len(documents)} books of {len(set(authors))} authors, at most {given.words:,} words of each; half "
        f"of each author's books at random in each of two texts, {given.runs} times. Skip-gram, 50 "
        f"dimensions, {given.epochs} epochs, 200 permutations. The cosine of a paragraph with the next is "
        f"{alike.near:.2f}, with a distant one {alike.far:.2f}. Discoveries at a false-discovery rate of 5 % "
        f"in all runs: {discoveries['books']} with books as documents, {discoveries['paragraphs']:,} with "
        "paragraphs.",
        "",
        "| count in the rarer text | p < .05, books are documents | p < .05, paragraphs are |",
        "|---|---:|---:|",
    ]
    for number, (low, high) in enumerate(BANDS):
        name = f"{low} to {high - 1}" if high < 10**9 else f"{low} or more"
        shares = [f"{np.mean(flagged[what, number]):.1%}" for what in ("books", "paragraphs")]
        lines.append(f"| {name} | {shares[0]} | {shares[1]} |".replace("%", " %"))
    write_section(given.page, TITLE, "books", "\n".join(lines) + "\n", time.monotonic() - started)


if __name__ == "__main__":
    main()
