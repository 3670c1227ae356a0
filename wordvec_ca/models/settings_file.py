"""Writes the settings of a run as TOML, which ``cawv train --config`` reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomli_w

from wordvec_ca._version import __version__


def settings_file(settings: Mapping[str, Any]) -> str:
    """Return the content of the file ``run.toml`` of a model directory."""
    lines = [
        f"# Settings of a run of cawv {__version__}. To do it again: cawv train --config run.toml -o NEW",
        "# Options that are not here have their defaults.",
    ]
    if "corpus" not in settings:
        lines.append("# The corpus was not given as files: add it, or give CORPUS on the command line.")
    kept = {}
    for name, value in settings.items():
        try:
            tomli_w.dumps({name: value}).encode()
            kept[name] = value
        except UnicodeEncodeError:
            lines.append(f"# {name} was {value!a}")
    return "\n".join(lines) + "\n\n" + tomli_w.dumps(kept)
