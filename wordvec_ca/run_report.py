"""The report of a run: one HTML page that explains a model directory, and asks for nothing from elsewhere."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.config import TrainConfig
from wordvec_ca.errors import DataError
from wordvec_ca.history import History
from wordvec_ca.keyedvectors import KeyedVectors
from wordvec_ca.model import read_attention, read_config, read_record
from wordvec_ca.svg_chart import Series, chart, heat_map, short

BANDS = (50, 1_000, 10_000)
"""Ranks at which the words of the heat map are divided; most of the first are function words."""

MOST_PLACES = 25
"""Places on each side that the heat map shows."""

_STYLE = """
:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--ink:#1a1d21;--soft:#5b6470;--rule:#d8dde3;
--mark0:#1f6fb2;--mark1:#c4541a;--more:#c4541a;--less:#1f6fb2;--empty:#eceff2}
@media(prefers-color-scheme:dark){:root{--back:#14171b;--card:#1d2126;--ink:#e6e9ed;--soft:#9aa4b0;
--rule:#333a42;--mark0:#6db3ee;--mark1:#f0965e;--more:#f0833f;--less:#4aa3ee;--empty:#2a3037}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,header,footer{max-width:1060px;margin:0 auto;padding:0 20px}
header{padding-top:28px}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:44px 0 4px;padding-top:14px;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:0 0 6px}
p{margin:6px 0 12px;max-width:72ch}
.soft,figcaption,footer{color:var(--soft)}
figcaption,footer,.small{font-size:.875rem}
footer{margin-top:44px;padding-bottom:32px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(124px,1fr));gap:10px;margin:20px 0 0;
padding:0}
.tiles div{background:var(--card);border-radius:8px;padding:10px 14px}
.tiles dt{font-size:.8125rem;color:var(--soft)}
.tiles dd{margin:0;font-size:1.2rem;font-weight:600;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:16px}
figure{margin:0;background:var(--card);border-radius:8px;padding:14px 14px 10px;break-inside:avoid;
min-width:0}
.charts+figure,figure+.charts{margin-top:16px}
svg{display:block;width:100%;height:auto;margin:0 auto}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
svg .label{fill:var(--ink)}
.middle{text-anchor:middle}
.end{text-anchor:end}
.grid{stroke:var(--rule);stroke-width:1}
.axis{stroke:var(--soft);stroke-width:1;fill:none}
.mark0,.mark1{fill:none;stroke-width:2;stroke-linejoin:round}
.mark0{stroke:var(--mark0)}
.mark1{stroke:var(--mark1)}
.dot0{fill:var(--mark0)}
.dot1{fill:var(--mark1)}
.more{fill:var(--more)}
.less{fill:var(--less)}
.empty{fill:var(--empty)}
.wide{overflow-x:auto}
.wide svg{min-width:640px}
table{border-collapse:collapse;font-size:.9375rem}
caption{text-align:left;font-weight:600;padding:0 0 6px}
th,td{text-align:left;vertical-align:top;padding:3px 16px 3px 0;border-bottom:1px solid var(--rule)}
th{font-weight:500;color:var(--soft)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td{overflow-wrap:anywhere}
.lists{columns:3 290px;column-gap:32px}
.lists>div{break-inside:avoid;margin-bottom:26px}
.lists table,.near table{width:100%}
pre{background:var(--card);border-radius:8px;padding:12px 14px;white-space:pre-wrap;
overflow-wrap:anywhere;font:.875rem/1.5 ui-monospace,monospace;margin:8px 0}
details{margin:10px 0}
summary{cursor:pointer;color:var(--soft)}
.notice{border-left:4px solid var(--mark1);padding:6px 14px;background:var(--card)}
.near td:first-child{font-weight:600;white-space:nowrap}
.near span{white-space:nowrap;margin-right:10px}
.near small{color:var(--soft)}
@media print{:root{color-scheme:light;--back:#fff;--card:#fff;--ink:#000;--soft:#444;--rule:#bbb;
--mark0:#1f6fb2;--mark1:#c4541a;--more:#c4541a;--less:#1f6fb2;--empty:#eee}body{font-size:11pt}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}h2{break-after:avoid}tr{break-inside:avoid}
.charts{grid-template-columns:1fr 1fr}.wide{overflow:visible}.wide svg{min-width:0}}
"""


def render(directory: str | os.PathLike[str]) -> str:
    """Return an HTML page about a model directory: how it was trained, its vocabulary and what it learnt.

    The page is complete in itself: no script, no request.

    Parameters
    ----------
    directory : path
        Model directory.

    Returns
    -------
    str
        HTML, to be written in UTF-8.

    Raises
    ------
    DataError
        It is no complete model directory.
    """
    folder = Path(directory)
    record, config = read_record(folder), read_config(folder)
    vectors = KeyedVectors.load(folder, format="model")
    if len(vectors) == 0:
        raise DataError(f"{str(folder)!r} has no words: there is nothing to report")
    history = History.load(folder / "history.tsv")
    name = _word(folder.resolve().name)
    sections = [
        _training(history, record),
        _vocabulary(vectors, record, config),
        _attention(folder, vectors, config) if config.model == "cbow-attn" else "",
        _neighbours(vectors),
        _reproduction(record, config),
        _details(record, config),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f'<link rel="icon" href="data:,"><title>{name} · cawv report</title><style>{_STYLE}</style></head>'
        f"<body>{_head(name, record, config, vectors, history)}<main>{''.join(sections)}</main>"
        f"<footer>Made by cawv {__version__} from the model directory <bdi>{name}</bdi>. "
        "Points and cells show their values on hover.</footer></body></html>\n"
    )


# ---- parts of the page ------------------------------------------------------------------------------------


def _head(
    name: str, record: dict[str, Any], config: TrainConfig, vectors: KeyedVectors, history: History
) -> str:
    timings = _dict(record.get("timings"))
    began = _text(record["started"]).replace("T", " ").removesuffix("+00:00") if record.get("started") else ""
    tiles = [("model", config.model), ("words", f"{len(vectors):,}"), ("dimensions", str(config.vector_size))]
    tiles.append(("window", f"± {config.window}"))
    if record.get("raw_tokens"):
        tiles.append(("tokens of text", short(record["raw_tokens"])))
    for label, key in (("loss, last epoch", "loss_by_epoch"), ("held-out loss", "valid_loss_by_epoch")):
        losses = _numbers(record.get(key))
        if losses:
            tiles.append((label, f"{losses[-1]:.4f}"))
    seconds, speed = timings.get("training_seconds"), timings.get("words_per_second")
    if isinstance(seconds, int | float):
        tiles.append(("training time", _duration(seconds)))
    if isinstance(speed, int | float):
        tiles.append(("words a second", short(speed)))
    notice = ""
    if record.get("interrupted"):
        done = record.get("trained_fraction")
        share = f" after {done:.1%} of it" if isinstance(done, int | float) else ""
        notice = f'<p class="notice">The run was interrupted{share}: these vectors are not fully trained.</p>'
    listed = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in tiles)
    when = f"Training began on {escape(began)} UTC. " if began else ""
    return (
        f'<header><h1><bdi>{name}</bdi></h1><p class="soft">{when}{config.epochs} '
        f"{'epoch' if config.epochs == 1 else 'epochs'}, {config.workers} "
        f"{'worker' if config.workers == 1 else 'workers'}, seed {config.seed}.</p>{notice}"
        f'<dl class="tiles">{listed}</dl></header>'
    )


def _training(history: History, record: dict[str, Any]) -> str:
    points = history.points
    if not points:
        return _section(
            "Training", "<p>This model has no history of its run; those of newer versions have.</p>"
        )
    words = [float(point.words) for point in points]
    valid = [(point.words, point.valid_loss) for point in points if not math.isnan(point.valid_loss)]
    loss = [Series("training", words, [point.loss for point in points])]
    if valid:
        ends, held_out = zip(*valid, strict=True)
        loss.append(Series("held out, after each epoch", ends, held_out, dots=True))
    spans = [
        (after.words - before.words) / (after.seconds - before.seconds)
        if after.seconds > before.seconds
        else math.nan
        for before, after in zip([None, *points], points, strict=False)
        if before is not None
    ]
    first = points[0].words / points[0].seconds if points[0].seconds > 0 else math.nan
    speeds = [first, *spans]
    known = [speed for speed in speeds if not math.isnan(speed)]
    losses = [point.loss for point in points if not math.isnan(point.loss)]
    figures = []
    if losses:
        what = f"Mean loss per prediction: {losses[0]:.3f} at first, {losses[-1]:.3f} at the end, in nats."
        if valid:
            what += f" Held-out loss: {valid[-1][1]:.3f}."
        figures.append(_figure("Loss", what, chart("Loss", what, loss, "words of text read", "nats")))
    what = f"Learning rate: {points[0].alpha:.4g} at first, {points[-1].alpha:.4g} at the end."
    rates = [Series("learning rate", words, [point.alpha for point in points])]
    figures.append(
        _figure(
            "Learning rate",
            what,
            chart("Learning rate", what, rates, "words of text read", "alpha", zero=True),
        )
    )
    if known:
        seconds = [point.seconds for point in points]
        what = (
            f"Words of text a second, all workers together: {short(float(np.median(known)))} in the median."
        )
        speed = [Series("words a second", seconds, speeds)]
        figures.append(_figure("Speed", what, chart("Speed", what, speed, "seconds", "words/s", zero=True)))
    concentration = [point.attention_concentration for point in points]
    if any(not math.isnan(value) for value in concentration):
        last = next(value for value in reversed(concentration) if not math.isnan(value))
        what = (
            f"Mean sum of squared attention weights of a window, {last:.3f} at the end: 1 / n if n words "
            "share it evenly, 1 if a single word has it all."
        )
        attention = [Series("concentration", words, concentration)]
        figures.append(
            _figure(
                "Concentration of attention",
                what,
                chart("Concentration of attention", what, attention, "words of text read", "concentration",
                      zero=True),
            )
        )  # fmt: skip
    return _section("Training", f'<div class="charts">{"".join(figures)}</div>')


def _vocabulary(vectors: KeyedVectors, record: dict[str, Any], config: TrainConfig) -> str:
    counts = vectors.counts
    n = len(vectors)
    ranks = np.unique(np.geomspace(1, n, 160).astype(np.int64))
    figures, about = [], f"<p>{n:,} words"
    if counts is not None and int(counts.sum()) > 0:
        total = int(counts.sum())
        raw_types, raw_tokens = record.get("raw_types", 0), record.get("raw_tokens", 0)
        if raw_types and raw_tokens:
            about += f" of {raw_types:,} types; they cover {total / max(raw_tokens, total):.1%} of the text"
        about += f". The rarest occurs {int(counts.min()):,} times (min_count is {config.min_count:,}).</p>"
        seen = counts[ranks - 1].astype(float)
        slope = _slope(ranks, seen)
        what = (
            f"Words by rank against how often they occur, {int(counts[0]):,} to {int(counts[-1]):,} times"
            + (f"; from the 10th on the slope is {slope:.2f} (Zipf: -1)." if slope is not None else ".")
        )
        drawn = [Series("words", ranks.tolist(), seen.tolist())]
        figures.append(
            _figure(
                "Rank and frequency",
                what,
                chart("Rank and frequency", what, drawn, "rank", "count", x_log=True, y_log=True),
            )
        )
        share = np.cumsum(counts, dtype=np.float64)[ranks - 1] / total
        half = int(np.searchsorted(np.cumsum(counts, dtype=np.float64), total / 2)) + 1
        what = f"Share of the text that the most frequent words make up: half of it is {half:,} words."
        drawn = [Series("share", ranks.tolist(), share.tolist())]
        figures.append(
            _figure(
                "Coverage",
                what,
                chart("Coverage", what, drawn, "most frequent words", "share", x_log=True, zero=True),
            )
        )
    else:
        about += ".</p>"
    edges = np.unique(np.geomspace(1, n + 1, 60).astype(np.int64))
    norms = vectors.norms
    middles = [float(math.sqrt(a * b)) for a, b in pairwise(edges)]
    lengths = [float(np.median(norms[a - 1 : b - 1])) for a, b in pairwise(edges)]
    what = "Median length of the vectors by the rank of their words; rare words have learnt less."
    drawn = [Series("length", middles, lengths)]
    figures.append(
        _figure(
            "Length of vectors",
            what,
            chart("Length of vectors", what, drawn, "rank", "length", x_log=True, zero=True),
        )
    )
    frequent = _counted(vectors, range(min(n, 45)))
    table = f'<figure class="near"><h3>Most frequent words</h3><p>{frequent}</p></figure>'
    return _section("Vocabulary", about + f'<div class="charts">{"".join(figures)}{table}</div>')


def _counted(vectors: KeyedVectors, rows: Iterable[int]) -> str:
    """Return words with their counts."""
    counts = vectors.counts
    return " ".join(
        f"<span><bdi>{_word(vectors.index_to_key[row])}</bdi>"
        + ("" if counts is None else f" <small>{int(counts[row]):,}</small>")
        + "</span>"
        for row in rows
    )


def _slope(ranks: np.ndarray, counts: np.ndarray) -> float | None:
    far = (ranks >= 10) & (counts > 0)
    if far.sum() < 10:
        return None
    return float(np.polyfit(np.log(ranks[far]), np.log(counts[far]), 1)[0])


# ---- attention --------------------------------------------------------------------------------------------


class Attention(NamedTuple):
    """How much attention words get, as a multiple of what an average word at an average place gets.

    Attributes
    ----------
    by_word : ndarray of shape (n_words, n_places), float64
        One place if the model does not tell places apart.
    by_place : ndarray of shape (n_places,), float64
        The mean over the words of the text, as training sees them.
    weights : ndarray of shape (n_words,), float64
        Share of each word in that, with sub-sampling.
    """

    by_word: np.ndarray
    by_place: np.ndarray
    weights: np.ndarray


def relative_attention(folder: Path, counts: np.ndarray | None, config: TrainConfig) -> Attention:
    """Return how much attention the words of a cbow-attn model get at each place.

    A window shares one unit of attention among its words in proportion to exp(K + s) (docs/models.md). Here
    that is divided by its mean over places and over words, which are weighted by how often training meets
    them.
    """
    words, slots = read_attention(folder)
    n_words = len(words)
    logits = np.zeros((n_words, len(slots) if config.attention != "word" else 1))
    if config.attention != "word":
        logits += slots.astype(np.float64)
    if words.shape[1]:
        logits += words
    strength = np.exp(np.clip(np.nan_to_num(logits), -config.attention_clip, config.attention_clip))
    met = np.ones(n_words) if counts is None else np.maximum(counts.astype(np.float64), 1e-9)
    if config.sample > 0:
        ratio = config.sample * met.sum() / met
        met = met * np.minimum(np.sqrt(ratio) + ratio, 1)
    weights = met / met.sum()
    by_place = weights @ strength
    mean = float(by_place.mean())
    return Attention(strength / mean, by_place / mean, weights)


def word_classes(words: Sequence[str]) -> list[tuple[str, np.ndarray]]:
    """Return named groups of words, as indices: punctuation, numbers, and other words by frequency.

    Parameters
    ----------
    words : sequence of str
        Most frequent first.
    """
    kinds = np.array(
        [0 if not any(map(str.isalnum, w)) else 1 if not any(map(str.isalpha, w)) else 2 for w in words]
    )
    rank = np.arange(1, len(words) + 1)
    groups = [("punctuation", np.flatnonzero(kinds == 0)), ("numbers", np.flatnonzero(kinds == 1))]
    for low, high in zip((0, *BANDS), (*BANDS, len(words)), strict=True):
        name = f"words {low + 1:,} – {min(high, len(words)):,}"
        groups.append((name, np.flatnonzero((kinds == 2) & (rank > low) & (rank <= high))))
    return [(name, members) for name, members in groups if len(members)]


def _attention(folder: Path, vectors: KeyedVectors, config: TrainConfig) -> str:
    found = relative_attention(folder, vectors.counts, config)
    if len(found.weights) != len(vectors):
        raise DataError(f"{str(folder)!r}: {len(vectors)} words, but attention for {len(found.weights)}")
    classes = word_classes(vectors.index_to_key)
    names = [name for name, _ in classes]
    rows = [
        np.average(found.by_word[members], axis=0, weights=found.weights[members]) for _, members in classes
    ]
    figures = []
    has_places = config.attention != "word"
    half = len(found.by_place) // 2
    near = slice(max(0, half - MOST_PLACES), half + MOST_PLACES) if has_places else slice(0, 1)
    offsets = [*range(-half, 0), *range(1, half + 1)] if has_places else []
    columns = [f"{offset:+d}" for offset in offsets][near] if has_places else ["any place"]
    told = "1 is what an average word at an average place gets; words count as often as training meets them."
    if has_places:
        best = max(range(len(offsets)), key=lambda place: found.by_place[place])
        what = f"Attention by place, all words together; most goes to {offsets[best]:+d}. {told}"
        places, shares = offsets[near], found.by_place[near].tolist()
        middle = len(places) // 2
        places.insert(middle, 0)  # the word to be predicted
        shares.insert(middle, math.nan)
        drawn = [Series("attention", places, shares, dots=len(columns) <= 4)]
        figures.append(
            _figure(
                "By place", what, chart("Attention by place", what, drawn, "place", "attention", zero=True)
            )
        )
    if config.attention != "position":
        figures.append(_favourites(vectors, found))
    heat = ""
    if config.attention != "position":
        values = [row[near].tolist() for row in rows]
        what = f"Punctuation, numbers, and all other words by rank of frequency. {told}"
        if has_places and half > MOST_PLACES:
            what += f" The {MOST_PLACES} nearest of {half} places on each side."
        drawing = heat_map("Attention by class of word and place", what, names, columns, values)
        heat = (
            f'<figure><h3>By class of word{" and place" if has_places else ""}</h3><div class="wide" '
            f'tabindex="0" role="group" aria-label="Heat map">{drawing}</div><figcaption>{escape(what)}'
            f"</figcaption>{_numbers_of(names, columns, values)}</figure>"
        )
    told = (
        "<p>The model predicts a word from those around it and has learnt which of them to attend to: logits "
        f"{'by word and place' if config.attention == 'full' else 'by ' + config.attention}, after a warm-up "
        f"of {config.attention_warmup:.0%} of the run. For single sentences: <code>cawv attention</code>.</p>"
    )
    return _section("Attention", f'{told}<div class="charts">{"".join(figures)}</div>{heat}')


def _favourites(vectors: KeyedVectors, found: Attention) -> str:
    """Return the words that get most and least attention, of the frequent ones."""
    known = min(len(vectors), 5_000)
    mean = found.by_word[:known].mean(axis=1)
    order = np.argsort(mean, kind="stable")

    def listed(rows: Iterable[int]) -> str:
        return " ".join(
            f"<span><bdi>{_word(vectors.index_to_key[row])}</bdi> <small>{mean[row]:.2g}</small></span>"
            for row in rows
        )

    n = min(24, known // 2)
    return (
        f'<figure class="near"><h3>Most attended</h3><p>{listed(order[::-1][:n].tolist())}</p>'
        f"<h3>Least attended</h3><p>{listed(order[:n].tolist())}</p>"
        f"<figcaption>Of the {known:,} most frequent words; mean over places.</figcaption></figure>"
    )


def _numbers_of(rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]]) -> str:
    head = "".join(f'<th scope="col" class="n">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="n">{value:.2f}</td>' for value in row)
        + "</tr>"
        for name, row in zip(rows, values, strict=True)
    )
    return (
        '<details><summary>The numbers</summary><div class="wide"><table><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


# ---- neighbours -------------------------------------------------------------------------------------------


def chosen_words(words: Sequence[str]) -> dict[str, list[int]]:
    """Return rows of some frequent, medium and rare words, always the same ones.

    Parameters
    ----------
    words : sequence of str
        Most frequent first. Words of three letters or more are preferred; those of the very front, which say
        little, are left out.
    """
    long = [row for row, word in enumerate(words) if len(word) > 2 and word.isalpha()]
    usable = long if len(long) >= 30 else list(range(len(words)))
    n = len(usable)
    begin = min(100, n // 20)
    spans = {
        "frequent": (begin, max(begin + 5, n // 50)),
        "medium": (n // 5, n // 2),
        "rare": (max(0, n - max(5, n // 10)), n),
    }
    found = {}
    for name, (low, high) in spans.items():
        places = np.linspace(low, max(low, high - 1), 5).astype(int).tolist()
        found[name] = sorted({usable[min(place, n - 1)] for place in places})
    return found


def _neighbours(vectors: KeyedVectors) -> str:
    tables = []
    for name, rows in chosen_words(vectors.index_to_key).items():
        lines = []
        for row in rows:
            word = vectors.index_to_key[row]
            try:
                nearest = list(vectors.most_similar(word, topn=6))
            except DataError:  # its vector is zero or not finite
                nearest = []
            count = "" if vectors.counts is None else f"{int(vectors.counts[row]):,}"
            others = "".join(
                f"<span><bdi>{_word(other)}</bdi> <small>{score:.2f}</small></span> "
                for other, score in nearest
            )
            lines.append(
                f'<tr><td><bdi>{_word(word)}</bdi></td><td class="n">{count}</td>'
                f"<td>{others or 'none: its vector has no direction'}</td></tr>"
            )
        tables.append(
            f'<table><caption>{name.capitalize()} words</caption><thead><tr><th scope="col">word</th>'
            '<th scope="col" class="n">count</th><th scope="col">nearest, with the cosine</th></tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table>"
        )
    return _section("Neighbours", f'<figure class="near">{"<br>".join(tables)}</figure>')


# ---- facts ------------------------------------------------------------------------------------------------


def _reproduction(record: dict[str, Any], config: TrainConfig) -> str:
    command = record.get("command")
    if isinstance(command, str):
        told = "This command made the model:"
        body = command
    else:
        told = "The model was made from Python; on the command line the same is:"
        body = " ".join(["cawv", "train", "CORPUS", *_options(config)])
    exact = (
        "With one worker and the same instruction set the result is the same bit for bit."
        if config.workers == 1
        else f"With {config.workers} workers updates arrive in any order, so the numbers differ each time."
    )
    corpus = _dict(record.get("corpus"))
    print_ = corpus.get("fingerprint")
    text = f" Fingerprint of the encoded text: <code>{_word(str(print_))}</code>." if print_ else ""
    return _section("To do it again", f"<p>{told}</p><pre>{_word(body)}</pre><p>{exact}{text}</p>")


def _options(config: TrainConfig) -> list[str]:
    """Return the options that differ from the defaults, as on the command line."""
    usual, options = TrainConfig(model=config.model).resolved(), []
    for field in fields(TrainConfig):
        value, option = getattr(config, field.name), "--" + field.name.replace("_", "-")
        if field.name in ("model", "workers") or value != getattr(usual, field.name):
            if isinstance(value, bool):
                options.append(option if value else option.replace("--", "--no-", 1))
            else:
                options += [option, shlex.quote(str(value))]
    return options


_SHOWN = {"config", "command", "format", "raw_tokens", "raw_types", "n_words"}


def _details(record: dict[str, Any], config: TrainConfig) -> str:
    usual = TrainConfig(model=config.model).resolved().as_dict()
    options = [(name, _text(value), value != usual[name]) for name, value in config.as_dict().items()]
    tables = [_table("Configuration", options, "In bold what differs from the default.")]
    plain = [
        (name, _text(value), False)
        for name, value in record.items()
        if name not in _SHOWN and not isinstance(value, dict)
    ]
    for name, value in record.items():
        if isinstance(value, dict) and name not in _SHOWN:
            entries = [(str(key), _text(entry), False) for key, entry in value.items()]
            tables.append(_table(name.replace("_", " ").capitalize(), entries))
    tables.append(_table("Run", plain))
    return _section("All there is to know", f'<div class="lists">{"".join(tables)}</div>')


def _table(title: str, rows: Sequence[tuple[str, str, bool]], note: str = "") -> str:
    body = "".join(
        f'<tr><th scope="row">{_word(name.replace("_", " "))}</th><td>'
        f"{'<strong>' if bold else ''}{_word(value)}{'</strong>' if bold else ''}</td></tr>"
        for name, value, bold in rows
    )
    below = f'<p class="small soft">{note}</p>' if note else ""
    return f"<div><table><caption>{_word(title)}</caption><tbody>{body}</tbody></table>{below}</div>"


# ---- pieces -----------------------------------------------------------------------------------------------


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _figure(title: str, caption: str, drawing: str) -> str:
    return f"<figure><h3>{escape(title)}</h3>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def _word(text: str) -> str:
    """Return any text as HTML that shows it: nothing in it is markup, nothing in it is invisible."""
    shown = "".join(
        character if character.isprintable() or character in "\n\u00a0" else ascii(character)[1:-1]
        for character in text
    )
    return escape(shown)


def _text(value: Any) -> str:
    """Return a value of the record for people."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        shown = ", ".join(_text(entry) for entry in value[:20])
        return f"{shown}, ... ({len(value)} in all)" if len(value) > 20 else shown or "none"
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_text(entry)}" for key, entry in list(value.items())[:20]) or "none"
    return str(value)[:2_000]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _numbers(value: Any) -> list[float]:
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, int | float) and math.isfinite(entry)]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 120 else f"{minutes} min"
