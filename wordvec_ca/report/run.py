"""Sections on the run: its summary, charts of loss, learning rate, speed and attention, how to repeat it, and
the complete record.
"""

from __future__ import annotations

import math
import shlex
from typing import Any

import numpy as np

from wordvec_ca.errors import Option
from wordvec_ca.models import History, ResolvedConfig, TrainConfig
from wordvec_ca.report.charts import Figure, Series, chart_figure, short
from wordvec_ca.report.single_file import finite_numbers, shown
from wordvec_ca.showable import duration
from wordvec_ca.specs.options import spelled_as_flag

# Entries of the record that other sections show.
ELSEWHERE = {"config", "command", "format", "raw_tokens", "raw_types", "n_words"}


def summary(record: dict[str, Any], config: TrainConfig, n_words: int) -> dict[str, Any]:
    """Return the content of the head of the page."""
    timings = record.get("timings")
    timings = timings if isinstance(timings, dict) else {}
    began = record.get("started")
    tiles = [("model", config.model), ("words", f"{n_words:,}"), ("dimensions", str(config.vector_size))]
    tiles.append(("window", "basket" if config.window == "all" else f"± {config.window}"))
    if record.get("raw_tokens"):
        tiles.append(("tokens of text", short(record["raw_tokens"])))
    for label, key in (("loss, last epoch", "loss_by_epoch"), ("held-out loss", "valid_loss_by_epoch")):
        losses = finite_numbers(record.get(key))
        if losses:
            tiles.append((label, f"{losses[-1]:.4f}"))
    seconds, speed = timings.get("training_seconds"), timings.get("words_per_second")
    if isinstance(seconds, int | float):
        tiles.append(("training time", duration(seconds)))
    if isinstance(speed, int | float):
        tiles.append(("words a second", short(speed)))
    done = record.get("trained_fraction")
    return {
        "began": shown(began).replace("T", " ").removesuffix("+00:00") if began else "",
        "interrupted": bool(record.get("interrupted")),
        "verdict": "" if record.get("interrupted") else verdict(record),
        "trained": f"{done:.1%}" if isinstance(done, int | float) else "",
        "tiles": tiles,
    }


def verdict(record: dict[str, Any]) -> str:
    """Return one sentence on how the run ended, or '' if its losses are not known."""
    # Only held-out losses can show that a run was too long, namely if an earlier one is lower than the
    # last.
    held_out = finite_numbers(record.get("valid_loss_by_epoch"))
    losses = finite_numbers(record.get("loss_by_epoch"))
    if len(held_out) > 1 and held_out[-1] > min(held_out) * 1.005:
        best = held_out.index(min(held_out)) + 1
        return (
            f"Trained too long: the held-out loss was lowest after epoch {best}, {min(held_out):.3f}, and "
            f"rose to {held_out[-1]:.3f}; {best} epochs would have been better."
        )
    found, what = (held_out, "held-out loss") if len(held_out) > 1 else (losses, "loss")
    if len(found) < 2:
        return ""
    fall = 1 - found[-1] / found[-2] if found[-2] else 0.0
    more = (
        ""
        if held_out
        else ". Whether fewer epochs would be better can only be seen on held-out text (--valid FILE)"
    )
    return (
        f"Trained to the end: the {what} fell from {found[0]:.3f} to {found[-1]:.3f}, in the last epoch by "
        f"{fall:.1%}{more}."
    )


def training_figures(history: History) -> list[Figure]:
    """Return charts of loss, learning rate, speed and concentration of attention, as far as recorded."""
    points = history.points
    if not points:
        return []
    figures = []
    words = [float(point.words) for point in points]
    valid = [(point.words, point.valid_loss) for point in points if not math.isnan(point.valid_loss)]
    loss = [Series("training", words, [point.loss for point in points])]
    if valid:
        ends, held_out = zip(*valid, strict=True)
        loss.append(Series("held out, after each epoch", ends, held_out, dots=True))
    losses = [point.loss for point in points if not math.isnan(point.loss)]
    if losses:
        what = f"Mean loss per prediction: {losses[0]:.3f} at first, {losses[-1]:.3f} at the end, in nats."
        if valid:
            what += f" Held-out loss: {valid[-1][1]:.3f}."
        figures.append(chart_figure("Loss", what, loss, "words of text read", "nats"))
    what = f"Learning rate: {points[0].alpha:.4g} at first, {points[-1].alpha:.4g} at the end."
    rates = [Series("learning rate", words, [point.alpha for point in points])]
    figures.append(chart_figure("Learning rate", what, rates, "words of text read", "alpha", zero=True))
    speeds = _speeds(history)
    known = [speed for speed in speeds if not math.isnan(speed)]
    if known:
        seconds = [point.seconds for point in points]
        median = short(float(np.median(known)))
        what = f"Words of text a second, all workers together: {median} in the median."
        speed = [Series("words a second", seconds, speeds)]
        figures.append(chart_figure("Speed", what, speed, "seconds", "words/s", zero=True))
    concentration = [point.attention_concentration for point in points]
    if any(not math.isnan(value) for value in concentration):
        last = next(value for value in reversed(concentration) if not math.isnan(value))
        title = "Concentration of attention"
        what = (
            f"Mean sum of squared attention weights of a window, {last:.3f} at the end: 1 / n if n words "
            "share it evenly, 1 if a single word has it all."
        )
        attention = [Series("concentration", words, concentration)]
        figures.append(chart_figure(title, what, attention, "words of text read", "concentration", zero=True))
    return figures


def _speeds(history: History) -> list[float]:
    """Return the words per second between consecutive points; NaN where no time has passed."""
    words = [0, *(point.words for point in history.points)]
    seconds = [0.0, *(point.seconds for point in history.points)]
    return [
        (words[i] - words[i - 1]) / (seconds[i] - seconds[i - 1]) if seconds[i] > seconds[i - 1] else math.nan
        for i in range(1, len(words))
    ]


def reproduction(record: dict[str, Any], config: ResolvedConfig) -> dict[str, Any]:
    """Return the command that makes the model again."""
    command, corpus = record.get("command"), record.get("corpus")
    fingerprint = corpus.get("fingerprint") if isinstance(corpus, dict) else None
    recorded = isinstance(command, str)
    return {
        "command": command if recorded else " ".join(["cawv", "train", "CORPUS", *_options(config)]),
        "recorded": recorded,
        "fingerprint": str(fingerprint) if fingerprint else "",
    }


def _options(config: ResolvedConfig) -> list[str]:
    """Return the options that differ from the defaults, as on the command line."""
    return [
        " ".join(map(shlex.quote, spelled_as_flag(Option(name, one)).split(" ", 1)))
        for name, value in config.typed().items()
        for one in (value if isinstance(value, tuple) else (value,))
    ]


def details(record: dict[str, Any], config: ResolvedConfig) -> list[dict[str, Any]]:
    """Return tables of the configuration and of all other entries of the record."""
    typed = config.typed().keys() - {"model", "workers"}
    options = [(name, shown(value), name in typed) for name, value in config.as_dict().items()]
    tables = [_table("Configuration", options, "In bold what differs from the default.")]
    plain = []
    for name, value in record.items():
        if name in ELSEWHERE:
            continue
        if isinstance(value, dict):
            entries = [(str(key), shown(entry), False) for key, entry in value.items()]
            tables.append(_table(name.replace("_", " ").capitalize(), entries))
        else:
            plain.append((name, shown(value), False))
    return [*tables, _table("Run", plain)]


def _table(title: str, rows: list[tuple[str, str, bool]], note: str = "") -> dict[str, Any]:
    named = [(name.replace("_", " "), value, bold) for name, value, bold in rows]
    return {"title": title, "rows": named, "note": note}
