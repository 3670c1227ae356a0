"""Writes the model card (``README.md``) for the Hugging Face Hub: origin and quality of the vectors.

The card begins with YAML for the Hub, written as JSON, which is valid YAML.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.files import content_words
from wordvec_ca.formats.tokenizer_json import Splitting
from wordvec_ca.tables import VectorTable, config_of

# Options of a run that the card shows.
SHOWN_OPTIONS = (
    *("model", "vector_size", "window", "negative", "sample", "alpha", "epochs", "min_count", "seed"),
    *("vectors", "hs", "cbow_update", "cbow_mean", "attention", "subwords", "buckets"),
    *("tokenizer", "lowercase", "phrases"),
)


def example_words(words: Sequence[str]) -> dict[str, str]:
    """Return two words of a vocabulary for an example of its use, as ``word`` and ``other``."""
    chosen = content_words(words, 2) or ["word"]
    return {"word": chosen[0], "other": chosen[-1]}


def model_card(
    table: VectorTable,
    splitting: Splitting,
    *,
    name: str,
    dtype: str,
    library: str | None,
    usage: str,
    evaluation: list[dict[str, Any]],
) -> str:
    """Return the text of the card."""
    record = table.metadata
    figures = [figure for report in evaluation for figure in _figures(report)]
    n_words, vector_size = table.vectors.shape
    text = [
        "---",
        *_head(name, library, evaluation),
        "---",
        "",
        f"# {name}",
        "",
        f"{n_words:,} word vectors of size {vector_size}, stored as {dtype}, made with "
        f"wordvec_ca {record.get('version', __version__)}. They are static: a word has the same vector "
        "at any place, and the vector of a text is the mean of those of its words.",
        "",
        "```python",
        usage,
        "```",
        "",
        "## Text",
        "",
        f"Tokens come from the tokeniser `{splitting.tokenizer}`, in "
        f"{'lower case' if splitting.lowercase else 'the case of the text'}"
        f"{'' if splitting.recorded else ' (supposed: there is no record of the training)'}. Words that are "
        "not known have no part in a vector.",
    ]
    if isinstance(record.get("raw_tokens"), int):
        text[-1] += f" The training text had {record['raw_tokens']:,} tokens."
    if options := config_of(record):
        shown = [(key, options[key]) for key in SHOWN_OPTIONS if options.get(key) is not None]
        text += ["", "## Training", "", *_table(("option", "value"), shown)]
        if isinstance(record.get("command"), str):
            text += ["", "```", record["command"], "```"]
    text += ["", "## Evaluation", ""]
    if figures:
        text += _table(("task", "data", "measure", "value", "95 % interval", "items"), figures)
        text += [
            "",
            *dict.fromkeys(f"* {entry.get('task')}: {entry.get('protocol')}" for entry in evaluation),
        ]
    else:
        text.append("None was given. `cawv eval` says how good vectors are, with intervals.")
    text += [
        "",
        "## Limits",
        "",
        "Word vectors repeat the associations of the text that they come from, prejudices included.",
        "",
    ]
    return "\n".join(text)


def _head(name: str, library: str | None, evaluation: list[dict[str, Any]]) -> list[str]:
    """Return the lines of YAML."""
    entries: dict[str, Any] = {
        "tags": ["word-embeddings", "static-embeddings", "wordvec_ca"],
        "pipeline_tag": "sentence-similarity",
    }
    if library:
        entries["library_name"] = library
    results = [
        {
            "task": {"type": report["task"]},
            "dataset": {"name": report["dataset"], "type": report["dataset"]},
            "metrics": [
                {"type": measure, "value": round(metric["value"], 4)}
                for measure, metric in report["metrics"].items()
                if _is_number(metric["value"])
            ],
        }
        for report in evaluation
    ]
    results = [result for result in results if result["metrics"]]
    if results:
        entries["model-index"] = [{"name": name, "results": results}]
    return [f"{key}: {json.dumps(value)}" for key, value in entries.items()]


def _figures(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return one row of the table of figures for each metric."""
    rows = []
    for measure, metric in report["metrics"].items():
        if _is_number(metric["value"]):
            known = _is_number(metric["low"]) and _is_number(metric["high"])
            interval = f"{metric['low']:.3f} to {metric['high']:.3f}" if known else ""
            row = (report["task"], report["dataset"], measure, f"{metric['value']:.3f}", interval)
            rows.append((*row, f"{report['n']:,}"))
    return rows


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[str]:
    cells = [tuple(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *cells)]
