r"""Compares the quality of settings: word similarity and held-out loss over a grid of options.

    python scripts/quality/settings.py --lines 156003 --set model=cbow,skipgram negatives=exact,shared
    epochs=3

Each NAME=A,B,.. is an option of TrainConfig with the values to try; all combinations are trained. The record
is written in a section with the name of the grid.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import LOSS, Table, run_study, study_parser

from wordvec_ca.models import TrainConfig

SETS = {("similarity", name): name for name in ("ws353", "rg65", "mturk287", "yp130", "verb143")}


def values_of(setting: str) -> list[tuple[str, Any]]:
    """Return the name of an option with each of its values."""
    types = {field.name: str(field.type) for field in fields(TrainConfig)}
    name, _, values = setting.partition("=")
    read = float if "float" in types[name] else int if "int" in types[name] else str
    return [(name, value == "true" if "bool" in types[name] else read(value)) for value in values.split(",")]


if __name__ == "__main__":
    asked = study_parser(__doc__, "settings")
    asked.add_argument("--set", nargs="+", required=True, metavar="NAME=A,B,..", help="options and values")
    given = asked.parse_args()
    grid = map(dict, itertools.product(*map(values_of, given.set)))
    recipes = {", ".join(f"{name} {value}" for name, value in one.items()): one for one in grid}
    table = Table(recipes, {**SETS, LOSS: "held-out loss"})
    common = {"workers": 1, "vectors": "input"}
    run_study(__doc__, "settings", "Settings", common, {" ".join(given.set): table}, options=asked)
