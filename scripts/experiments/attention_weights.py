"""Sentence vectors from an attention model, with and without the attention weights of the words.

    python scripts/experiments/attention_weights.py attn --others skipgram cbow --data $CAWV_DATA

The models are directories that ``cawv train`` wrote, all trained on the same text. They are judged on all
sets of sentence pairs: SemEval's years (mean of Pearson's r over the sets of a year; a readout learns common
directions from the evaluated sentences), the STS benchmark by year, and SICK (for these two a readout learns
from the training pairs). The default is chosen on other pairs: the training parts of SemEval 2012, of the
benchmark and of SICK. Differences are computed on the same pairs, with 95 % intervals; their p-values are
adjusted by Holm's procedure over all of them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import parser, table, write_section

from wordvec_ca.eval import Difference, Report, compare, plan
from wordvec_ca.eval.data.folders import found
from wordvec_ca.eval.data.sentence_sets import read_sentence_pairs
from wordvec_ca.eval.tasks.sts import SimilaritySets, evaluate
from wordvec_ca.vectors import KeyedVectors

TITLE = "Attention as the weight of words"

PLAIN: dict[str, dict[str, Any]] = {
    "plain mean": {"method": "mean"},
    "plain mean, 1 direction removed": {"method": "mean", "n_components": 1},
    "idf": {"method": "idf"},
    "SIF weights": {"method": "sif", "n_components": 0},
    "SIF": {"method": "sif"},
    "uSIF": {"method": "usif"},
    "CA-SEM": {"method": "ca-sem-sif"},
    "CA-SEM without frequency": {"method": "ca-sem-sif", "frequency": None},
}
WEIGHTED: dict[str, dict[str, Any]] = {
    "attention, nothing removed": {"method": "attention", "n_components": 0},
    "attention": {"method": "attention"},
    "attention × idf": {"method": "idf"},
    "attention × SIF": {"method": "sif"},
    "uSIF on attention": {"method": "usif"},
    "CA-SEM on attention": {"method": "ca-sem-sif"},
    "CA-SEM on attention without frequency": {"method": "ca-sem-sif", "frequency": None},
}
READOUTS = {name: setting | {"attention": False} for name, setting in PLAIN.items()} | {
    name: setting | {"attention": True} for name, setting in WEIGHTED.items()
}
OF_OTHERS = ("SIF", "uSIF", "CA-SEM")
COMPARED = [
    ("attention, nothing removed", "plain mean"),
    ("attention, nothing removed", "SIF weights"),
    ("attention", "SIF"),
    ("attention", "uSIF"),
    ("uSIF on attention", "uSIF"),
    ("CA-SEM on attention", "CA-SEM"),
    ("uSIF on attention", "attention"),
]


def single(report: Report, readout: str) -> Report:
    """Return a report on one readout alone, so that `compare` can compare readouts."""
    items = {name: report.items[name] for name in ("gold", "set")} | {"r": report.items[readout]}
    made = replace(report, metrics={}, items=items, model=readout, details={}, notes=[])
    made.measure("r", "mean-pearson", "gold", "r", "set")
    return made


def training_sets(data: Path) -> list[SimilaritySets]:
    """Return the pairs on which a default is chosen."""
    folder = data / "sentences"
    files = {
        "sts2012_train": found(folder, "sts2012_train/*.tsv"),
        "stsb train": found(folder, "stsb_by_year/*.train.tsv"),
        "sick train": found(folder, "sick/train.tsv"),
    }
    return [
        SimilaritySets(name, [read_sentence_pairs(path) for path in paths]) for name, paths in files.items()
    ]


def cell(difference: Difference) -> str:
    """Return a difference with its interval; bold if its adjusted p-value is below .05."""
    bold = "**" if difference.verdict in ("better", "worse") else ""
    return (
        f"{bold}{100 * difference.difference:+.1f}{bold} "
        f"({100 * difference.low:+.1f} to {100 * difference.high:+.1f})"
    )


def main() -> None:
    asked = parser(__doc__, "attention-weights")
    asked.add_argument("model", type=Path, help="directory of an attention model")
    asked.add_argument("--others", type=Path, nargs="*", default=[], help="models without attention")
    asked.add_argument("--data", type=Path, required=True, help="folder that holds sentences/")
    options = asked.parse_args()
    began = time.perf_counter()
    vectors = KeyedVectors.load(options.model)
    others = {path.name: KeyedVectors.load(path) for path in options.others}
    if not vectors.attends:
        raise SystemExit(f"{options.model} is not an attention model")

    choice = {name: [] for name in READOUTS}
    for data in training_sets(options.data):
        print(data.name, file=sys.stderr)
        report = evaluate(vectors, data, readouts=READOUTS)
        for name, values in choice.items():
            values.append(report.metrics[name].value)
    chosen = {name: float(np.mean(values)) for name, values in choice.items()}

    jobs, _ = plan(["sts", "sick"], folder=options.data)
    reports: dict[str, list[Report]] = {}
    for job in jobs:
        print(job.dataset, file=sys.stderr)
        data = job.data.read()
        report = evaluate(vectors, data, readouts=READOUTS)
        for name in READOUTS:
            reports.setdefault(name, []).append(single(report, name))
        for other, its_vectors in others.items():
            report = evaluate(its_vectors, data, readouts={name: READOUTS[name] for name in OF_OTHERS})
            for name in OF_OTHERS:
                reports.setdefault(f"{other}: {name}", []).append(single(report, name))
    differences = {}
    pairs = [*COMPARED, *(("uSIF on attention", f"{other}: uSIF") for other in others)]
    # one list, so that Holm's procedure sees all of them
    baseline = [replace(r, dataset=f"{r.dataset} {i}") for i, (_, b) in enumerate(pairs) for r in reports[b]]
    model = [replace(r, dataset=f"{r.dataset} {i}") for i, (a, _) in enumerate(pairs) for r in reports[a]]
    for difference in compare(baseline, [model]):
        name, _, number = difference.dataset.rpartition(" ")
        differences[int(number), name] = difference

    names = [job.dataset for job in jobs]
    rows = [
        [name, *(f"{100 * report.value:.1f}" for report in found_reports)]
        + [f"{100 * chosen[name]:.1f}" if name in chosen else ""]
        for name, found_reports in reports.items()
    ]
    rows += [
        [f"{a} less {b}", *(cell(differences[i, name]) for name in names), ""]
        for i, (a, b) in enumerate(pairs)
    ]
    best = max(chosen, key=chosen.__getitem__)
    weights = vectors.attention
    words = [
        word for word in ("the", "of", ",", "because", "very", "king", "music", "slept") if word in vectors
    ]
    shown = ", ".join(f"*{word}* {weights[vectors.get_index(word)]:.2f}" for word in words)
    config = vectors.metadata["config"]
    counted = [
        (
            a,
            b,
            [differences[i, name].verdict for name in names],
            [differences[i, name].difference for name in names],
        )
        for i, (a, b) in enumerate(pairs)
    ]
    claims = [
        f"* **{a}** against **{b}**: higher on {sum(d > 0 for d in gaps)} of {len(names)} sets "
        f"({verdicts.count('better')} decided), lower on {sum(d < 0 for d in gaps)} "
        f"({verdicts.count('worse')} decided)."
        for a, b, verdicts, gaps in counted
    ]
    claims.append(
        f"* Best of {len(chosen)} readouts on training pairs, on which the default of attention models was "
        f"chosen (it is uSIF on attention): **{best}** ({100 * chosen[best]:.1f})."
    )
    body = [
        f"Vectors: `{config['model']}`, window {config['window']}, {config['vector_size']} dimensions, "
        f"{config['epochs']} epochs, {vectors.metadata['raw_tokens']:,} tokens, {len(vectors):,} words, one "
        f"seed. Weights of words (1 is an average token): {shown}.",
        "\n".join(claims),
        table(("Pearson's r × 100", *names, "training pairs"), rows),
        f"Bold: adjusted p below .05 (Holm, {len(differences)} comparisons). Training pairs: mean of SemEval "
        "2012's training sets, the benchmark's training pairs and SICK's; nothing else was chosen on them. "
        "One seed of each model: what another training run would change is not in the intervals.",
    ]
    text = "\n\n".join(body)
    print(text)
    write_section(options.page, TITLE, options.model.name, text, time.perf_counter() - began)


if __name__ == "__main__":
    main()
