"""Sections on how to repeat the run, and on the complete record."""

from __future__ import annotations

import shlex
from typing import Any

from wordvec_ca.errors import Option
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.report.wording import shown
from wordvec_ca.specs.options import spelled_as_flag

ELSEWHERE = {"config", "command", "format", "raw_tokens", "raw_types", "n_words"}
"""Entries of the record that other sections show."""


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
