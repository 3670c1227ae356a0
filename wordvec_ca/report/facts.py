"""Sections on how to repeat the run, and on the whole record."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import Any

from wordvec_ca.model_specs import models_with_option
from wordvec_ca.models import TrainConfig
from wordvec_ca.report.wording import shown

ELSEWHERE = {"config", "command", "format", "raw_tokens", "raw_types", "n_words"}
"""Entries of the record that other sections show."""


def reproduction(record: dict[str, Any], config: TrainConfig) -> dict[str, Any]:
    """Return the command that makes the model again.

    Returns
    -------
    dict
        ``command`` (str), ``recorded`` (bool: whether the run recorded it) and ``fingerprint`` of the
        encoded text (str, may be empty).
    """
    command, corpus = record.get("command"), record.get("corpus")
    fingerprint = corpus.get("fingerprint") if isinstance(corpus, dict) else None
    recorded = isinstance(command, str)
    return {
        "command": command if recorded else " ".join(["cawv", "train", "CORPUS", *_options(config)]),
        "recorded": recorded,
        "fingerprint": str(fingerprint) if fingerprint else "",
    }


def _options(config: TrainConfig) -> list[str]:
    """Return the options that differ from the defaults, as on the command line."""
    usual, options = TrainConfig(model=config.model).resolved(), []
    for field in fields(TrainConfig):
        if config.model not in models_with_option(field.name):
            continue
        value, option = getattr(config, field.name), "--" + field.name.replace("_", "-")
        if field.name in ("model", "workers") or value != getattr(usual, field.name):
            if field.name == "cbow_mean":
                options.append(option if value else "--cbow-sum")
            elif isinstance(value, bool):
                options.append(option if value else option.replace("--", "--no-", 1))
            elif isinstance(value, tuple):
                options += [word for entry in value for word in (option, shlex.quote(str(entry)))]
            elif value is not None:
                options += [option, shlex.quote(str(value))]
    return options


def details(record: dict[str, Any], config: TrainConfig) -> list[dict[str, Any]]:
    """Return tables of the configuration and of all other entries of the record.

    Returns
    -------
    list of dict
        ``title``, ``note`` and ``rows``: (name, value, whether it differs from the default).
    """
    usual = TrainConfig(model=config.model).resolved().as_dict()
    options = [(name, shown(value), value != usual[name]) for name, value in config.as_dict().items()]
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
