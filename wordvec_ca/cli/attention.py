"""``cawv attention``: the weights that a cbow-attn model gives to the words of a sentence."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.options import json_option, tokenizer_of_model_option
from wordvec_ca.cli.output import say, show, show_json, write_outputs
from wordvec_ca.cli.paths import OUTPUT_FILE, ExistingPath
from wordvec_ca.errors import install_extra


@click.command(name="attention", short_help="Which words an attention model weighs.")
@click.argument("model", type=ExistingPath(file_okay=False))
@click.argument("sentence")
@click.option(
    "--target",
    required=True,
    metavar="WORD|N",
    help="Word to be predicted (its first occurrence), or its place from 1.",
)
@click.option(
    "--document",
    metavar="TAG",
    help="For a model of documents: tag of the document of SENTENCE.  [default: a new one]",
)
@tokenizer_of_model_option
@click.option(
    "--plot", type=OUTPUT_FILE, metavar="FILE.png", help="Also draw the weights.  [default: only the table]"
)
@click.option("--overwrite", is_flag=True, help="Replace FILE.png if it exists.")
@json_option("A JSON object")
def command(
    model: str,
    sentence: str,
    target: str,
    document: str | None,
    tokenizer: str | None,
    plot: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Print how much each word of SENTENCE counts when MODEL predicts the target from the others.

    For a pv-dm-attn model the last line is the weight of the document.

    If MODEL was trained with --resamples, brackets contain the 90 % range of the weight in one run on other
    text of the same size.
    """
    from wordvec_ca.models import attention_weights, read_config
    from wordvec_ca.text import tokenize, trusted_tokenizer

    config = read_config(Path(model))
    tokens = tokenize(sentence, trusted_tokenizer(config.tokenizer, tokenizer, model), config.lowercase)
    place = _place(tokens, target, config.lowercase)
    weights = attention_weights(model, tokens, place, document=document)
    rows = [
        {
            **{"word": w.word, "offset": w.offset, "weight": w.weight},
            **({"low": round(w.low, 6), "high": round(w.high, 6)} if w.low == w.low else {}),
        }
        for w in weights
    ]
    if as_json:
        show_json({"target": tokens[place], "context": rows})
    else:
        show(table_of_weights(weights, tokens[place]))
    write_outputs({plot: lambda: _picture(weights, tokens[place], plot or "")}, overwrite=overwrite)
    if plot:
        say(plot)


def _place(tokens: list[str], target: str, lowercase: bool) -> int:
    word = target.lower() if lowercase else target
    if word in tokens:
        return tokens.index(word)
    if target.isdigit() and 1 <= int(target) <= len(tokens):
        return int(target) - 1
    alike = [token for token in tokens if token.lower() == target.lower()]
    meant = f" (did you mean {alike[0]!r}?)" if alike else ""
    raise click.BadParameter(
        f"{target!r} is not in the sentence{meant}: {' '.join(tokens)}", param_hint="--target"
    )


def table_of_weights(weights: Any, target: str) -> str:
    """Return the weights as lines with bars."""
    from wordvec_ca.cli.terminal import cell, width
    from wordvec_ca.vectors import shown_interval

    shown = [cell(w.word) for w in weights]
    widest = max(map(width, shown))
    top = max(w.weight or 0.0 for w in weights) or 1.0
    lines = [f"weights of the words around {cell(repr(target))}", ""]
    for w, word in zip(weights, shown, strict=True):
        word += " " * (widest - width(word))
        if w.weight is None:
            lines.append(f"{'':>4}  {word}       (not in the vocabulary)")
        else:
            one_run = f"{shown_interval(w.low, w.high)}  " if w.low == w.low else ""
            bar = "#" * round(30 * w.weight / top)
            offset = f"{w.offset:>+4}" if w.offset else f"{'':>4}"
            lines.append(f"{offset}  {word}  {w.weight:.3f}  {one_run}{bar}")
    return "\n".join(lines)


def _picture(weights: Any, target: str, path: str) -> bytes:
    try:
        import matplotlib
    except ImportError as error:
        raise click.ClickException(f"--plot needs matplotlib: {install_extra('plot')}") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from wordvec_ca.cli.terminal import cell

    known = [w for w in weights if w.weight is not None]
    figure, axes = pyplot.subplots(figsize=(max(4.0, 0.55 * len(known)), 3.2), layout="constrained")
    # no formulae
    labels = [cell(w.word, 30).replace("$", r"\$") + (f"\n{w.offset:+d}" if w.offset else "") for w in known]
    axes.bar(
        range(len(known)),
        [w.weight for w in known],
        color=["#228833" if not w.offset else "#4477aa" if w.offset < 0 else "#ee6677" for w in known],
    )
    axes.set_xticks(range(len(known)), labels, rotation=60, ha="right", fontsize=8)
    axes.set_ylabel("attention")
    axes.set_title(f"context of {cell(repr(target), 40)}".replace("$", r"\$"))
    stream = io.BytesIO()
    figure.savefig(stream, format=Path(path).suffix.removeprefix(".") or "png", dpi=150)
    pyplot.close(figure)
    return stream.getvalue()
