"""The options of ``cawv train``, under the headings of its help: those first that everyone needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import cloup

from wordvec_ca.cli.options import (
    Choice,
    count_memory_option,
    encoding_option,
    field_option,
    lowercase_option,
    tokenizer_option,
)
from wordvec_ca.cli.paths import ExistingPath
from wordvec_ca.cli.settings import config_option
from wordvec_ca.model_specs import MODEL_ALIASES, MODELS, defaults_by_model


class ModelChoice(Choice):
    """The models, also by the other names that people know."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the canonical name."""
        return super().convert(MODEL_ALIASES.get(value, value), param, ctx)


USUAL = [
    click.option(
        "-o",
        "--output",
        metavar="DIR",
        help="Model directory.  [default: CORPUS.MODEL in the working directory]",
    ),
    click.option(
        "--overwrite", is_flag=True, help="Replace the model directory if it exists.  [default: off]"
    ),
    click.option("--model", type=ModelChoice(MODELS), default="cbow", show_default=True, help="Which model."),
    click.option(
        "--vector-size",
        "--size",
        "--dim",
        "-d",
        type=int,
        default=100,
        show_default=True,
        help="Dimensions of a vector.",
    ),
    click.option(
        "--window",
        "-w",
        type=int,
        help=f"Context words on each side.  [default: {defaults_by_model(lambda spec: spec.window)}]",
    ),
    click.option("--epochs", "--iter", type=int, default=5, show_default=True, help="Passes over the text."),
    click.option("--min-count", type=int, default=5, show_default=True, help="Drop rarer words."),
    click.option(
        "--workers",
        "--threads",
        type=int,
        help="Threads; 1 is reproducible bit for bit.  [default: one per processor]",
    ),
    click.option("--seed", type=int, default=1, show_default=True, help="Of everything random."),
    click.option(
        "--resamples",
        type=int,
        metavar="K",
        help="Train K models, each on other lines drawn from CORPUS, and publish their mean: nn, analogy, "
        "attention, eval and compare then say how sure they are; 10 do well.  [default: one model]",
    ),
]

TEXT = [
    tokenizer_option,
    lowercase_option,
    field_option,
    encoding_option,
    click.option(
        "--phrases", metavar="FILE", help="Join these, from cawv phrases: new_york.  [default: none]"
    ),
    click.option("--max-final-vocab", type=int, help="Keep at most so many words.  [default: no limit]"),
    click.option(
        "--read-vocab",
        metavar="FILE",
        help="Use these words; --min-count drops some only if given.  [default: count]",
    ),
    click.option(
        "--save-vocab", metavar="FILE", help="Also write the vocabulary here.  [default: only in the model]"
    ),
    click.option(
        "--valid", metavar="FILE", help="Held-out text: print its loss after each epoch.  [default: none]"
    ),
    count_memory_option,
]

LEARNING = [
    click.option(
        "--alpha",
        "--lr",
        type=float,
        help="Learning rate at the start.  "
        f"[default: {defaults_by_model(lambda spec: spec.default_alpha('exact'))}; "
        "with --cbow-update word2vec "
        f"{defaults_by_model(lambda spec: spec.alpha if spec.averages else None)}]",
    ),
    click.option(
        "--min-alpha", type=float, default=1e-4, show_default=True, help="Learning rate at the end."
    ),
    click.option(
        "--sample",
        type=float,
        default=1e-3,
        show_default=True,
        help="Sub-sample words that make up more than this share of the text; 0: none.",
    ),
    click.option(
        "--negative",
        type=int,
        default=5,
        show_default=True,
        help="Negatives per prediction; 0, none, with --hs.",
    ),
    click.option(
        "--hs/--no-hs",
        default=False,
        show_default=True,
        help="Hierarchical softmax, beside negative sampling unless --negative is 0; not for ssg.",
    ),
    click.option(
        "--negatives",
        type=Choice(["exact", "shared"]),
        help="Own negatives for each prediction, or some shared by predictions from far apart.  "
        f"[default: {defaults_by_model(lambda spec: 'shared' if spec.shared_by else 'exact')}]",
    ),
    click.option(
        "--shared-by",
        type=int,
        help="Predictions that share negatives.  "
        f"[default: {defaults_by_model(lambda spec: spec.shared_by)}; at most one for each 128,000 words]",
    ),
    click.option(
        "--ns-exponent",
        type=float,
        default=0.75,
        show_default=True,
        help="Negatives are drawn in proportion to count ** this.",
    ),
    click.option(
        "--shrink-windows/--no-shrink-windows",
        default=None,
        help="Draw each window's size from 1 to --window; not with --parts.  "
        f"[default: {defaults_by_model(lambda spec: 'no' if spec.knows_places else 'yes')}]",
    ),
    click.option(
        "--cbow-update",
        type=Choice(["exact", "word2vec"]),
        default="exact",
        show_default=True,
        help="cbow, cbow-attn: move context rows by their gradient, or by n times that, as gensim does.",
    ),
    click.option(
        "--cbow-mean/--cbow-sum",
        default=True,
        show_default=True,
        help="cbow: predict from the mean of the context words, or from their sum.",
    ),
    click.option(
        "--parts",
        metavar="NAME:PLACES:DIMENSIONS,…",
        help="cbow, cbow-attn: make each part of the vectors of its own places, as near:2,far or "
        "near:1-2:50,far:3-20:50.  [default: one part]",
    ),
    click.option(
        "--backend",
        type=Choice(["cython", "numba"]),
        default="cython",
        show_default=True,
        help="Implementation of the training loop.",
    ),
]

ATTENTION = [
    click.option(
        "--attention",
        type=Choice(["full", "position", "word"]),
        default="full",
        show_default=True,
        help="cbow-attn: logits by word and place, by place, or by word.",
    ),
    click.option(
        "--attention-alpha", type=float, help="cbow-attn: learning rate of the logits.  [default: as --alpha]"
    ),
    click.option(
        "--attention-warmup",
        type=float,
        default=0.1,
        show_default=True,
        help="cbow-attn: share of the run before the logits learn.",
    ),
    click.option(
        "--attention-clip",
        type=float,
        default=10.0,
        show_default=True,
        help="cbow-attn: read logits as if within +- this.",
    ),
]

SUBWORDS = [
    click.option(
        "--subwords/--no-subwords",
        default=False,
        show_default=True,
        help="Make words of their n-grams too: for rare, unknown and misspelt words.",
    ),
    click.option(
        "--min-n", type=int, default=3, show_default=True, help="Characters of an n-gram, at least."
    ),
    click.option("--max-n", type=int, default=6, show_default=True, help="Characters of an n-gram, at most."),
    click.option(
        "--ngram-min-count", type=int, default=5, show_default=True, help="Leave out rarer n-grams."
    ),
    click.option(
        "--buckets",
        type=int,
        help="N-grams share rows by hash, as in fastText (2000000).  [default: each has its own]",
    ),
]

MANY_CORES = [
    click.option(
        "--replicas",
        type=int,
        help="Copies of the parameters, for equal parts of the threads, that merge many times a run. With "
        "one thread each, reproducible bit for bit.  [default: one for 8 threads, as memory allows]",
    ),
    click.option(
        "--merges",
        type=int,
        help="Merges of replicas in a run.  [default: 200; 600 for more than 4 of cbow-attn]",
    ),
    click.option(
        "--merge-rate",
        type=float,
        help="By what replicas multiply the learning rates.  [default: 1.5, and 2 where a replica trains at "
        "most 5,000 tokens between merges]",
    ),
    click.option(
        "--merge-rule",
        type=Choice(["saturating", "mean", "sum"]),
        default="saturating",
        show_default=True,
        help="How replicas merge: rare rows by their sum and frequent ones by their mean, or all by one.",
    ),
]

LONG_RUNS = [
    click.option(
        "--checkpoint-every",
        metavar="TIME|TOKENS",
        default="10m",
        show_default=True,
        help="Write a checkpoint after so much time (30s, 10m, 2h) or text (5M), or never.",
    ),
    click.option(
        "--resume",
        metavar="DIR",
        help="Continue the run whose --output was DIR, with its options; only those of progress and "
        "--checkpoint-every may be others, and on a cluster those of place.  "
        "[default: begin a run]",
    ),
    click.option(
        "--accept-changes",
        is_flag=True,
        help="--resume although the corpus's files or the instruction set have changed.  [default: off]",
    ),
    click.option(
        "--continue-from",
        type=ExistingPath(),
        metavar="MODEL",
        help="Train this model, or fastText .bin, further: its options, words and parameters, and the new "
        "words of CORPUS.  "
        "[default: begin anew]",
    ),
    click.option(
        "--init-vectors",
        metavar="FILE",
        help="Begin with these vectors (any format that cawv reads) for the words that FILE has.  "
        "[default: random]",
    ),
    click.option(
        "--cache-dir",
        metavar="DIR",
        help="Where the encoded text goes.  [default: OUTPUT.run; if kept, OUTPUT.cache]",
    ),
    click.option(
        "--keep-cache/--no-keep-cache",
        default=False,
        show_default=True,
        help="Keep the encoded text and use it again if nothing changed.",
    ),
    click.option(
        "--no-cache",
        is_flag=True,
        help="Store no encoded text: read the text anew in every epoch.  [default: off]",
    ),
]

CLUSTER = [
    click.option(
        "--cluster",
        metavar="local|auto|HOST:PORT",
        help="Train on the nodes of a Ray cluster: some on this machine, the cluster that it belongs to, or "
        "that of this head.  [default: this machine alone]",
    ),
    click.option(
        "--nodes",
        type=click.IntRange(1, 1024),
        default=2,
        show_default=True,
        help="--cluster: how many nodes, at most.",
    ),
    click.option(
        "--checkpoint-dir",
        metavar="DIR|URL",
        help="--cluster: where checkpoints go, for all nodes to see.  [default: OUTPUT.run]",
    ),
    click.option(
        "--storage-patience",
        metavar="TIME",
        default="30m",
        show_default=True,
        help="--cluster: for how long the text and the checkpoints may be out of reach (90s, 30m, 2h) before "
        "the run ends; meanwhile it trains on what the nodes hold.",
    ),
]

PROGRESS = [
    config_option,
    click.option(
        "--progress",
        type=Choice(["auto", "bar", "lines", "none"]),
        default="auto",
        show_default=True,
        help="How to show progress; auto: a bar on a terminal, else lines.",
    ),
    click.option(
        "--quiet",
        "-q",
        is_flag=True,
        help="Print nothing but the name of the model directory.  [default: off]",
    ),
    click.option(
        "--log-json", metavar="FILE", help="Append a JSON record per second and epoch.  [default: none]"
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Read the text, print what the run would need, and stop.  [default: off]",
    ),
]

GROUPS = {
    "Options that everyone needs": USUAL,
    "Text and words": TEXT,
    "Learning": LEARNING,
    "Attention, for --model cbow-attn": ATTENTION,
    "N-grams: vectors for rare and unknown words": SUBWORDS,
    "Many cores: replicas of the parameters": MANY_CORES,
    "Long runs, and training further": LONG_RUNS,
    "Many machines": CLUSTER,
    "Settings, progress and planning": PROGRESS,
}
"""Heading -> options, in the order of the help."""


def train_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for title, options in reversed(GROUPS.items()):
        function = cloup.option_group(title, *options)(function)
    return function
