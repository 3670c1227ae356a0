"""Training of a classifier: its dictionary, its rows, and threads that take runs of lines in turn.

As in fastText, a line is one example: the mean of its rows predicts its label. If the line has several
labels, it predicts a random one of them or, with ``ova``, all. The learning rate falls linearly to 0. With
one thread the result is always the same.
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import Dictionary, TypeRows, encoded, lines_of
from wordvec_ca.fasttext.model import SUPERVISED, Model, label_paths, label_tree
from wordvec_ca.fasttext.settings import stored_options
from wordvec_ca.formats import read_vectors
from wordvec_ca.kernels import (
    LOSSES,
    TokenTypes,
    aligned_zeros,
    load_classifier_loop,
    noise_mass,
    noise_pool,
    padded,
)
from wordvec_ca.runs import progress_display, show_progress, style_for_python
from wordvec_ca.training import TrainingDiverged
from wordvec_ca.vectors import check_trained

# Each thread has its own copy of an output matrix with at most this many numbers, because every line
# changes all labels.
OWN_OUTPUTS = 1 << 16

# Number of lines after which a thread merges the changes of its copy.
EXCHANGED_EVERY = 16

# Least number of tokens in a run of lines, and number of runs in an epoch, so that threads finish at about
# the same time.
FEWEST_TOKENS, RUNS = 3_000, 100


# Seconds between two checks of the threads' progress.
SHOWN_EVERY = 0.2


class Text(NamedTuple):
    """The content of a text file."""

    types: TokenTypes
    tokens: np.ndarray


def train_classifier(options: dict[str, Any], text: Text | None = None) -> Model:
    """Train a classifier."""
    text = text or Text(*encoded(options["input"]))
    pretrained = _pretrained(options)
    dictionary = _dictionary(options, text, [] if pretrained is None else pretrained[0])
    dictionary, made = _with_places(dictionary, text)
    dim, n_words = options["dim"], dictionary.n_words
    places = dictionary.places
    n_rows = n_words + (0 if places is None else int(places.max(initial=-1)) + 1)
    inputs = aligned_zeros((n_rows, padded(dim)))
    _draw(inputs[:, :dim], options["seed"])
    if pretrained is not None:
        numbers = [dictionary.number(word) for word in pretrained[0]]
        inputs[numbers, :dim] = pretrained[1]
    outputs = aligned_zeros((dictionary.n_labels, padded(dim)))
    fit(dictionary, text, made, inputs, outputs, options)
    return Model(dictionary, inputs[:, :dim], outputs[:, :dim], len(text.tokens))


def fit(
    dictionary: Dictionary,
    text: Text,
    made: TypeRows,
    inputs: np.ndarray,
    outputs: np.ndarray,
    options: dict[str, Any],
) -> None:
    """Train rows on a text, in place."""
    ends = lines_of(*text)
    lines = dictionary.lines(text.types, text.tokens, ends, made)
    n_labels, n_tokens, loss = dictionary.n_labels, len(text.tokens), dictionary.options.loss
    counts = dictionary.counts[dictionary.n_words :]
    paths = label_paths(label_tree(counts)) if loss == LOSSES["hs"] else None
    pool = (
        noise_pool(noise_mass(counts, 0.5), 1, draws=1 << 20).ravel()
        if loss == LOSSES["ns"]
        else np.zeros(0, np.int32)
    )
    empty = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
    label_way = empty if paths is None else (paths.ends, paths.nodes, paths.labels)
    most_outputs = max(n_labels if loss in (LOSSES["softmax"], LOSSES["ova"]) else 1 + options["neg"], 16)
    room = padded(max(most_outputs, 0 if paths is None else paths.longest)) + 32
    firsts = _runs(ends, n_tokens)
    jobs: Iterator[int] = itertools.count()
    train_lines = load_classifier_loop()
    n_runs, in_all = len(firsts) - 1, max(1, n_tokens * options["epoch"])
    shared = options["thread"] > 1 and outputs.size <= OWN_OUTPUTS
    begins = np.append(0, ends)

    learnt: list[tuple[int, float, int]] = []  # for each job: tokens, sum of losses, examples

    def work() -> None:
        own = aligned_zeros((2, *outputs.shape)) if shared else None
        scratch = aligned_zeros((2 * inputs.shape[1] + 4 * room,))
        while (job := next(jobs)) < n_runs * options["epoch"]:
            epoch, run = divmod(job, n_runs)
            first, last = firsts[run], firsts[run + 1]
            before = float(epoch * n_tokens + begins[first])
            seed = (options["seed"] * 0x9E3779B97F4A7C15 + job * 0xD6E8FEB86659FD93) % 2**64
            loss_sum, n_examples = train_lines(
                lines, first, last, inputs, outputs, own, EXCHANGED_EVERY, n_labels, loss, options["neg"],
                *label_way, pool, options["lr"], before, float(in_all), seed, scratch
            )  # fmt: skip
            learnt.append((int(begins[last] - begins[first]), loss_sum, n_examples))
            if math.isnan(loss_sum):
                raise TrainingDiverged(f"training diverged at lr={options['lr']}: give a smaller lr")

    n_threads, began, shown = max(1, options["thread"]), time.monotonic(), 0
    style = style_for_python() if options.get("verbose", 0) > 1 else "none"
    with ThreadPoolExecutor(n_threads) as threads, progress_display(style) as (displays, _):
        try:
            working = [threads.submit(work) for _ in range(n_threads)]
            while True:
                ended, others = wait(working, SHOWN_EVERY, FIRST_EXCEPTION)
                if not others or any(thread.exception() for thread in ended):
                    break
                latest = learnt[shown:]
                shown += len(latest)
                state = _progress(sum(n for n, _, _ in learnt), latest, in_all, options)
                show_progress(displays, seconds=time.monotonic() - began, **state)
        finally:
            jobs = itertools.repeat(n_runs * options["epoch"])  # threads stop after their present run
        for thread in working:
            thread.result()


def _progress(
    n_tokens: int, jobs: list[tuple[int, float, int]], in_all: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the progress of training, with the loss of the last jobs."""
    share = n_tokens / in_all
    loss = sum(loss_sum for _, loss_sum, _ in jobs) / max(1, sum(n for _, _, n in jobs)) if jobs else math.nan
    return {
        "words": n_tokens,
        "fraction": share,
        "epoch": min(options["epoch"], 1 + int(share * options["epoch"])),
        "epochs": options["epoch"],
        "epoch_ended": False,
        "alpha": options["lr"] * (1 - share),
        "loss": loss,
        "epoch_loss": loss,
    }


def _runs(ends: np.ndarray, n_tokens: int) -> list[int]:
    """Return where each run of lines begins, and where the last one ends."""
    step = max(FEWEST_TOKENS, n_tokens // RUNS)
    firsts = np.searchsorted(ends, np.arange(0, n_tokens, step), side="right")
    return [*np.unique(firsts).tolist(), len(ends)]


def _dictionary(options: dict[str, Any], text: Text, added: list[bytes]) -> Dictionary:
    """Return the dictionary of a text, the most frequent words first, and words of pretrained vectors."""
    words, counts = text.types.words(), text.types.counts()
    prefix = options["label"].encode()
    is_label = text.types.begin_with(prefix)
    kept = np.flatnonzero(~is_label & (counts >= max(1, options["minCount"])))
    labels = np.flatnonzero(is_label & (counts >= max(1, options["minCountLabel"])))
    count_of = dict(zip((words[i] for i in kept.tolist()), counts[kept].tolist(), strict=True))
    for word in added:
        count_of[word] = count_of.get(word, 0) + 1
    order = sorted(count_of, key=lambda word: -count_of[word])
    labels = labels[np.argsort(-counts[labels], kind="stable")]
    if not order:
        raise DataError("Empty vocabulary: the file has no word that occurs as often as minCount says")
    if not len(labels):
        raise DataError(f"no line of the text has a label: a label begins with {options['label']!r}")
    empty = counts[[i for i in labels.tolist() if words[i] == prefix]].sum()
    if empty:
        warnings.warn(
            f"{empty:,} labels are empty, {options['label']!r} alone: leave no space between it and the name "
            "of a label",
            stacklevel=2,
        )
    once = labels[counts[labels] == 1].tolist()
    if len(once) >= 10 and 2 * len(once) > counts[labels].sum():
        example = words[once[0]].decode("utf-8", "replace")
        warnings.warn(
            f"{len(once):,} of {len(labels):,} labels occur once, such as {example!r}: put a space between a "
            "label and the text",
            stacklevel=2,
        )
    joined = [words[i] for i in labels.tolist() if prefix in words[i][1:]]
    if joined:
        example = joined[0].decode("utf-8", "replace")
        warnings.warn(
            f"{len(joined):,} of {len(labels):,} labels are several without spaces between them, such as "
            f"{example!r}, and are taken for one each: put spaces between labels",
            stacklevel=2,
        )
    stored = stored_options(options, SUPERVISED)
    all_counts = np.array([*(count_of[word] for word in order), *counts[labels].tolist()], np.int64)
    entries = [*order, *(words[i] for i in labels.tolist())]
    return Dictionary(stored, entries, all_counts, len(order), label=prefix)


def _with_places(dictionary: Dictionary, text: Text) -> tuple[Dictionary, TypeRows]:
    """Give rows to the buckets that occur, in the order of the text, so that those of a line are adjacent."""
    made, d = dictionary.type_rows(text.types), dictionary
    if d.options.bucket < 1:
        return d, made
    places = np.full(d.options.bucket, -1, np.int32)
    d.lines(text.types, text.tokens, lines_of(*text), made).number_buckets(places)
    rows, of_buckets = made.rows.copy(), made.rows >= d.n_words
    numbers = places[rows[of_buckets] - d.n_words]
    rows[of_buckets] = np.where(numbers >= 0, d.n_words + numbers, -1)
    spread = Dictionary(d.options, d.words, d.counts, d.n_words, places=places, label=d.label)
    return spread, made._replace(rows=rows)


def _draw(rows: np.ndarray, seed: int) -> None:
    """Draw rows uniformly from plus or minus 1 / dim."""
    rng = np.random.default_rng([seed, 0x66617374])
    for start in range(0, len(rows), 65_536):
        some = rows[start : start + 65_536]
        some[:] = (rng.random(some.shape, np.float32) * 2 - 1) / some.shape[1]


def _pretrained(options: dict[str, Any]) -> tuple[list[bytes], np.ndarray] | None:
    """Return the words and vectors of the pretrained file, or None if the options name none."""
    if not options["pretrainedVectors"]:
        return None
    table = read_vectors(options["pretrainedVectors"])
    check_trained(table.metadata, options["pretrainedVectors"])
    if table.vectors.shape[1] != options["dim"]:
        raise DataError(
            f"the vectors of {options['pretrainedVectors']!r} have {table.vectors.shape[1]} dimensions, and "
            f"dim is {options['dim']}: give dim={table.vectors.shape[1]}"
        )
    return [word.encode("utf-8", "surrogateescape") for word in table.words], table.vectors
