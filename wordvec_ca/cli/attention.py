"""``cawv attention``: the weights that a cbow-attn model gives to the words of a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command(name="attention", short_help="What an attention model looks at.")
@click.argument("model", type=click.Path(exists=True, file_okay=False))
@click.argument("sentence")
@click.option(
    "--target",
    required=True,
    metavar="WORD|N",
    help="Word to be predicted (its first occurrence), or its place from 1.",
)
@click.option("--plot", metavar="FILE.png", help="Also draw the weights.  [default: only the table]")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")
def command(model: str, sentence: str, target: str, plot: str | None, as_json: bool) -> None:
    """Print how much each word of SENTENCE counts when MODEL predicts the target from the others."""
    from wordvec_ca.attention import attention_weights
    from wordvec_ca.corpus import tokenize
    from wordvec_ca.model import read_config

    config = read_config(Path(model))
    tokens = tokenize(sentence, config.tokenizer, config.lowercase)
    place = _place(tokens, target, config.lowercase)
    weights = attention_weights(model, tokens, place)
    if as_json:
        rows = [{"word": w.word, "offset": w.offset, "weight": w.weight} for w in weights]
        click.echo(json.dumps({"target": tokens[place], "context": rows}, ensure_ascii=False))
    else:
        click.echo(_table(weights, tokens[place]))
    if plot:
        _draw(weights, tokens[place], plot)
        click.echo(plot, err=True)


def _place(tokens: list[str], target: str, lowercase: bool) -> int:
    word = target.lower() if lowercase else target
    if word in tokens:
        return tokens.index(word)
    if target.isdigit() and 1 <= int(target) <= len(tokens):
        return int(target) - 1
    raise click.BadParameter(f"{target!r} is not in the sentence: {' '.join(tokens)}", param_hint="--target")


def _table(weights: Any, target: str) -> str:
    width = max(len(w.word) for w in weights)
    top = max(w.weight or 0.0 for w in weights)
    lines = [f"weights of the words around {target!r}", ""]
    for w in weights:
        if w.weight is None:
            lines.append(f"{'':>4}  {w.word:<{width}}       (not in the vocabulary)")
        else:
            lines.append(
                f"{w.offset:>+4}  {w.word:<{width}}  {w.weight:.3f}  {'#' * round(30 * w.weight / top)}"
            )
    return "\n".join(lines)


def _draw(weights: Any, target: str, path: str) -> None:
    try:
        import matplotlib
    except ImportError as error:
        raise click.ClickException("--plot needs matplotlib: pip install wordvec-ca[plot]") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from wordvec_ca.atomic_file import atomic_file

    known = [w for w in weights if w.weight is not None]
    labels = [f"{w.word}\n{w.offset:+d}".replace("$", r"\$") for w in known]  # no formulae
    figure, axes = pyplot.subplots(figsize=(max(4.0, 0.55 * len(known)), 3.2), layout="constrained")
    axes.bar(
        range(len(known)),
        [w.weight for w in known],
        color=["#4477aa" if w.offset < 0 else "#ee6677" for w in known],
    )
    axes.set_xticks(range(len(known)), labels, rotation=60, ha="right", fontsize=8)
    axes.set_ylabel("attention")
    axes.set_title(f"context of {target!r}".replace("$", r"\$"))
    with atomic_file(path) as stream:
        figure.savefig(stream, format=Path(path).suffix.removeprefix(".") or "png", dpi=150)
    pyplot.close(figure)
