"""Merges by frequency, simulated: rows that rarely move are rarely merged.

    python scripts/quality/merge_bands.py --corpus WIKI.txt --pairs ws353.tsv rg65.tsv mturk287.tsv \
        --cells 3:cbow:8:1:0:1 3:cbow:8:1:4:16
    python scripts/quality/merge_bands.py ... --section bits --cells 1:cbow:8:1:0:1 1:cbow:8:1:0:1:bits=8

A cell is ``WORDS:MODEL:REPLICAS:SEED:TOUCHES:MOST[:OPTION=VALUE...]``. A row takes part in every k-th merge,
where k is the largest power of two up to MOST for which one replica is expected to touch the row at most
TOUCHES times in between. With MOST 1 all rows take part in each merge, as in the program. With bits=8 both
messages of a merge have 8 bits for each number, and a scale for each row; 16 bits are a bfloat16. With
rounding=random numbers are rounded up or down at random; with rounding=feedback the next message contains
what was rounded away. At the end of an epoch all rows merge, as for a checkpoint. Replicas have one thread
each and are in one process, so a run can be repeated bit for bit. Runs in --log are not done again.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[1]))
from quality.replicas import DEFAULTS, read, value
from study import Runs, Setting, parser, spearman, table, write_section

import wordvec_ca.training.trainer as trainer
from wordvec_ca.corpus import encode_corpus
from wordvec_ca.eval import read_word_pairs
from wordvec_ca.kernels import merge_replicas
from wordvec_ca.models import EmbeddingModel, TrainConfig
from wordvec_ca.runs import train
from wordvec_ca.training import Delta, Replica, held_out_loss
from wordvec_ca.training.replica_set import Replicas

BANDS = (0, 100, 1_000, 10_000, 1 << 62)
"""Bands of words, by rank, whose losses are reported separately."""

NOISE = 20
"""Negatives of each held-out prediction, the same for all runs."""

PLANNED_WORDS, PLANNED_TOKENS, PLANNED_NODES, PLANNED_MERGES = 10_000_000, 10**11, 64, 200
"""The run of cbow whose bytes are calculated: counts follow Zipf's law, five negatives, sample 1e-3."""

TITLE = "Fewer bytes for merges: a simulation"

SENT = ("bits", "rounding")
"""Options of a cell that say what messages hold; the others are options of training."""

RULES = ((0.25, 4), (1, 4), (1, 8), (1, 16))
"""Rules of the calculated table: TOUCHES and MOST (see above)."""


def intervals(
    touches: NDArray[np.float64], tokens: float, most_touches: float, most: int
) -> NDArray[np.int64]:
    """Return after how many merges each row is merged; a replica trains ``tokens`` between two merges."""
    with np.errstate(divide="ignore"):
        apart = np.clip(most_touches / (touches * tokens), 1, most)
    return 1 << np.floor(np.log2(apart)).astype(np.int64)


def rounded(
    deltas: NDArray[np.float32], bits: int, rng: np.random.Generator | None = None
) -> NDArray[np.float32]:
    """Return deltas after rounding to ``bits`` bits for each number, with a scale for each row.

    With ``rng`` numbers are rounded up or down at random, so that they are right on average.
    """
    if bits == 16:
        return ((deltas.view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)
    scale = np.abs(deltas).max(axis=1, keepdims=True) / np.float32(2 ** (bits - 1) - 1)
    steps = deltas / np.where(scale > 0, scale, 1)
    if rng is None:
        return np.rint(steps, out=steps) * scale
    return np.floor(steps + rng.random(steps.shape, np.float32)) * scale


class BandedReplicas(Replicas):
    """Replicas whose rows merge the more often, the more they move; see the script's docstring."""

    most_touches, most, bits, rounding = 0.0, 1, 0, "nearest"
    moved: list[int]
    sent: list[int]

    def begin(self, position: int) -> None:
        """Work out the bands."""
        super().begin(position)
        tokens = self._n_tokens / max(1, self.plan.merges_per_epoch) / len(self)
        self._every = {
            name: intervals(self._touches[name], tokens, self.most_touches, self.most)
            for name in self.all[0].parameters
        } if len(self) > 1 else {}  # fmt: skip
        self._since = dict.fromkeys([1 << k for k in range(self.most.bit_length())], position)
        type(self).moved, type(self).sent = [0, 0], [0, 0]
        self._kept = {name: np.zeros_like(array) for name, array in self.all[0].parameters.items()}
        self._rng = np.random.default_rng(1)

    def merge(self, position: int) -> None:
        """Merge the rows whose turn it is."""
        if len(self) == 1 or position <= self.merged_at:
            return
        if self.most == 1 and not self.bits:
            self.moved[:] = 1, 1
            super().merge(position)
            return
        self.merges += 1
        whole = position % self._n_tokens == 0
        for every, since in self._since.items():
            if not whole and self.merges % every:
                continue
            tokens = (position - since) / len(self)
            alpha = self.plan.rate * self.all[0].schedule.alpha((position + since) // 2)
            for name, base in self.all[0].base.items():
                rows = np.flatnonzero(self._every[name] == every)
                factors = self.plan.factors(self._touches, name, tokens, alpha)
                if self.bits:
                    self._send(name, factors, whole=whole)
                    self.moved[0] += base.nbytes
                    continue
                factors = factors[rows]
                part, theirs = base[rows], tuple(one.parameters[name][rows] for one in self.all)
                merge_replicas(part, theirs, factors)
                base[rows] = part
                for one in self.all:
                    one.parameters[name][rows] = part
                self.moved[0] += part.nbytes
            self._since[every] = position
        self.moved[1] += sum(base.nbytes for base in self.all[0].base.values())
        self.merged_at = position

    def _send(self, name: str, factors: NDArray[np.float32], *, whole: bool) -> None:
        """Merge all rows of an array by messages of a few bits, as a cluster would."""
        base, feedback = self.all[0].base[name], self.rounding == "feedback"
        if self.bits == 8 and self.rounding == "nearest":  # what a cluster does
            for one in self.all:
                one.base = self.all[0].base
            deltas = [one.delta(name) for one in self.all]
            merged = Delta.total(deltas, factors, base.shape[1])
            self.all[0].apply(name, slice(None), merged)
            for one in self.all[1:]:
                one.parameters[name][:] = base
            self.sent[0] += sum(each.nbytes for each in deltas) // len(deltas)
            self.sent[1] += merged.nbytes
            return
        rng = self._rng if self.rounding == "random" else None
        total, moved = np.zeros_like(base), []
        for one in self.all:
            theirs = one.parameters[name]
            rows = np.flatnonzero((theirs != base).any(axis=1))
            delta = theirs[rows] - base[rows]
            sent = rounded(delta, self.bits, rng)
            total[rows] += sent
            theirs[rows] = delta - sent  # to be added to the new base
            if not feedback or whole:
                theirs[rows] = 0
            moved.append(rows)
        total *= factors[:, np.newaxis]
        if feedback:
            total += self._kept[name]
        rows = np.flatnonzero(total.any(axis=1))
        merged = rounded(total[rows], self.bits, rng)
        if feedback and not whole:
            self._kept[name][rows] = total[rows] - merged
        else:
            self._kept[name][:] = 0
        base[rows] += merged
        for one, rows in zip(self.all, moved, strict=True):
            left = one.parameters[name][rows]
            one.parameters[name][:] = base
            one.parameters[name][rows] += left


trainer.Replicas = BandedReplicas  # type: ignore[misc]


def loss_by_quarter(model: EmbeddingModel, lines: list[list[int]]) -> list[float]:
    """Return the mean loss of held-out lines: of the quarter with the most frequent words first."""
    replica = Replica(model, 1_000_000)
    lines = sorted((ids for ids in lines if ids), key=lambda ids: float(np.log1p(ids).mean()))
    return [
        round(held_out_loss(replica, np.array([n for ids in part for n in (*ids, -1)], np.int32)), 4)
        for part in (lines[len(lines) * i // 4 : len(lines) * (i + 1) // 4] for i in range(4))
    ]


def loss_by_band(model: EmbeddingModel, valid: list[list[str]]) -> list[float]:
    """Return the mean loss of held-out words by rank: each is predicted against `NOISE` others.

    With a tree, attention, places or n-grams this is not the loss of the model: see `loss_by_quarter`.
    """
    config, width = model.config, model.config.vector_size
    row_of = {word: row for row, word in enumerate(model.vocab.words)}
    if config.hs or config.spec.attends or config.spec.knows_places or config.subwords:
        return loss_by_quarter(model, [[row_of[word] for word in line if word in row_of] for line in valid])
    rng, window, noise = np.random.default_rng(7), int(config.window), model.vocab.counts**0.75
    pool = rng.choice(len(noise), 1 << 18, p=noise / noise.sum())
    inputs, outputs = model.inputs[:, :width], model.outputs[:, :width]
    sums, numbers = np.zeros(len(BANDS) - 1), np.zeros(len(BANDS) - 1)
    for line in valid:
        ids = [row_of[word] for word in line if word in row_of]
        for at in range(0, len(ids), 4):
            word = ids[at]
            near = [*ids[max(0, at - window) : at], *ids[at + 1 : at + 1 + window]]
            if not near:
                continue
            hidden = inputs[near].mean(0, keepdims=True) if config.spec.averages else inputs[near]
            others = pool[rng.integers(len(pool), size=NOISE)]
            right, wrong = hidden @ outputs[word], hidden @ outputs[others].T
            band = np.searchsorted(BANDS, word, "right") - 1
            numbers[band] += 1
            sums[band] += np.logaddexp(0, -right).mean() + config.negative * np.logaddexp(0, wrong).mean()
    return (sums / np.maximum(1, numbers)).round(4).tolist()


def trained(cell: Setting, encoded: Any, valid: list[list[str]], sets: list[Any]) -> dict[str, Any]:
    """Train once; return losses, Spearman's rho of each set of word pairs, the share that was merged, and the
    bytes of both messages beside those of 16 bits a number.
    """
    BandedReplicas.most_touches, BandedReplicas.most = cell["touches"], cell["most"]
    options = DEFAULTS | {"workers": cell["replicas"]} | cell["options"]
    BandedReplicas.bits = options.pop("bits", 0)
    BandedReplicas.rounding = options.pop("rounding", "nearest")
    config = TrainConfig(
        model=cell["model"], replicas=cell["replicas"], seed=cell["seed"], vectors="input", **options
    )
    model = train(encoded, config, valid=valid, progress=False)
    moved = BandedReplicas.moved
    return {
        "loss": model.record["valid_loss_by_epoch"][-1],
        "bands": loss_by_band(model, valid),
        "similarity": statistics.fmean(spearman(model.vectors, sets).values()),
        "moved": moved[0] / moved[1],
        "sent": [2 * n / moved[1] for n in BandedReplicas.sent],
    }


def planned_share(
    touches: float, most: int, tokens: float = PLANNED_TOKENS, nodes: int = PLANNED_NODES
) -> float:
    """Return the share of the rows that a merge moves, on average, in the run of `PLANNED_WORDS`."""
    ends = np.unique(np.geomspace(1, PLANNED_WORDS + 1, 20_000).astype(np.int64))  # similar ranks together
    n_words = np.diff(ends)
    counts = 1 / ends[:-1]
    share = counts / (n_words @ counts)
    share *= np.minimum(1, np.sqrt(1e-3 / share))  # sub-sampling
    noise = counts**0.75
    each = share + 5 * (n_words @ share) * noise / (n_words @ noise)  # output rows; input rows move less
    apart = tokens / PLANNED_MERGES / nodes
    merged = [n_words @ (1 / intervals(moves, apart, touches, most)) for moves in (share, each)]
    return float(np.mean(merged) / PLANNED_WORDS)


def lengths() -> str:
    """Return a table of the rows merged, by the length of the text."""
    columns = ["words, nodes", *(f"touches {touches:g}, most {most}" for touches, most in RULES)]
    found = [
        (f"{tokens:.0e}, {nodes}", *(f"{planned_share(*rule, tokens, nodes):.2f}" for rule in RULES))
        for nodes in (8, 64)
        for tokens in (10**9, 10**10, 10**11, 10**12)
    ]
    return table(columns, found)


def cells(texts: list[str]) -> Iterator[Setting]:
    """Yield the runs that the options name."""
    for cell in texts:
        words, model, replicas, seed, touches, most, *more = cell.split(":")
        yield {
            "words": float(words),
            "model": model,
            "replicas": int(replicas),
            "seed": int(seed),
            "touches": float(touches),
            "most": int(most),
            "options": {name: value(text) for name, text in (pair.split("=") for pair in more)},
        }


def beside_today(done: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each run with its counterpart whose merges send all rows as they are."""
    for run in done:
        same = {name: run[name] for name in ("words", "model", "replicas", "seed")}
        same["options"] = {name: given for name, given in run["options"].items() if name not in SENT}
        today = next((r for r in done if r["most"] == 1 and same.items() <= r.items()), None)
        if today is not None and today is not run:
            yield run, today


def bit_rows(done: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table of bits for each run with messages."""
    for run, today in beside_today(done):
        options = run["options"]
        named = "".join(f", {name} {setting}" for name, setting in options.items() if name not in SENT)
        yield (
            f"{run['words']:g} M, {run['model']}{named}",
            f"{run['replicas']}, seed {run['seed']}",
            f"{options['bits']}, {options.get('rounding', 'nearest')}",
            f"{today['loss']:.3f}",
            f"{run['loss'] - today['loss']:+.4f}",
            " ".join(f"{a - b:+.4f}" for a, b in zip(run["bands"], today["bands"], strict=True)),
            f"{today['similarity']:.3f}",
            f"{run['similarity'] - today['similarity']:+.3f}",
            ", ".join(f"{share:.2f}" for share in run["sent"] if share),
        )


def rows(done: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each run that has a counterpart with today's rule."""
    for run, today in beside_today(done):
        named = "".join(f", {name} {setting}" for name, setting in run["options"].items())
        yield (
            f"{run['words']:g} M, {run['model']}{named}",
            f"{run['replicas']}, seed {run['seed']}",
            f"{run['touches']:g}, {run['most']}",
            f"{run['moved']:.2f}",
            f"{planned_share(run['touches'], run['most']):.2f}",
            f"{today['loss']:.3f}",
            f"{run['loss'] - today['loss']:+.3f}",
            " ".join(f"{a - b:+.3f}" for a, b in zip(run["bands"], today["bands"], strict=True)),
            f"{today['similarity']:.3f}",
            f"{run['similarity'] - today['similarity']:+.3f}",
        )


def main() -> None:
    """Run the cells that are not in the log, and write the page."""
    options = parser(__doc__, "merge-bands", log="build/merge_bands.jsonl")
    options.add_argument("--corpus", required=True)
    options.add_argument("--pairs", nargs="*", default=[])
    options.add_argument("--cells", nargs="*", default=[])
    options.add_argument("--section", default="bands")
    given = options.parse_args()
    runs, sets = Runs(given.log, given.minutes), [read_word_pairs(path) for path in given.pairs]
    with tempfile.TemporaryDirectory() as folder:
        texts: dict[float, tuple[Any, list[list[str]]]] = {}
        for cell in cells(given.cells):
            if runs.get(cell) is None and cell["words"] not in texts:
                lines, valid = read(given.corpus, cell["words"])
                encoded = encode_corpus(lines, TrainConfig(min_count=5).text_options(), cache_dir=folder)
                texts[cell["words"]] = encoded, valid
            runs.outcome(cell, lambda one: trained(one, *texts[one["words"]], sets))
    asked = [runs.get(cell) for cell in cells(given.cells)]
    done = [{**run["setting"], **run} for run in asked if run is not None]
    if given.section == "bits":
        columns: tuple[str, ...] = (
            *("text, model", "replicas", "bits, rounding", "loss of exact merges", "loss"),
            *("loss by frequency", "similarity of exact merges", "similarity", "bytes of both messages"),
        )
        write_section(given.page, TITLE, given.section, table(columns, bit_rows(done)))
        return
    columns = (
        *("text, model", "replicas", "touches, most", "rows merged", "at 10 M words", "loss today", "loss"),
        *("loss of words 1 to 100, to 1,000, to 10,000, above", "similarity today", "similarity"),
    )
    note = f"Rows merged with {PLANNED_WORDS:,} words and {PLANNED_MERGES} merges, calculated:"
    body = "\n\n".join([table(columns, rows(done)), note, lengths()])
    write_section(given.page, TITLE, given.section, body)


if __name__ == "__main__":
    main()
