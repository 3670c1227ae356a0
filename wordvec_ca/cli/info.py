"""``cawv info``: what a model is and how it was made, and what this installation can do."""

from __future__ import annotations

from typing import Any

import click

from wordvec_ca.cli.json_output import JsonCommand, json_option, record_writer
from wordvec_ca.cli.output import show
from wordvec_ca.cli.paths import ExistingPath


@click.command(name="info", cls=JsonCommand, short_help="About a model, or this installation.")
@click.argument("model", required=False, type=ExistingPath())
@json_option("The complete record.")
def command(model: str | None, json_to: str | None) -> None:
    """Print what MODEL is and how it was made; without MODEL, what this installation runs."""
    record = _installation() if model is None else _model(model)
    with record_writer(json_to, next(iter(record)), indent=2) as write:
        write(record)
    if json_to == "-":
        return
    from wordvec_ca.files import terminal_text

    record = {terminal_text(name): value for name, value in record.items()}
    width = max(len(name) for name in record)
    for name, value in record.items():
        if not isinstance(value, dict):
            show(f"{name:<{width}}  {_text(value)}")
    for name, value in record.items():
        if isinstance(value, dict):
            show(f"\n{name}")
            value = {terminal_text(str(key)): entry for key, entry in value.items()}
            inner = max((len(key) for key in value), default=0)
            for key, entry in value.items():
                show(f"  {key:<{inner}}  {_text(entry)}")


def _installation() -> dict[str, Any]:
    import platform

    import numba
    import numpy

    from wordvec_ca import __version__, kernels
    from wordvec_ca.machine import usable_cpus
    from wordvec_ca.vectors import gensim_is_installed

    return {
        "cawv": __version__,
        "instruction set": f"{kernels.isa()} (of {', '.join(kernels.isas())}; CAWV_ISA forces one)",
        "processors": usable_cpus(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "gensim": "installed" if gensim_is_installed() else "not installed: no .kv files are written",
    }


def _model(path: str) -> dict[str, Any]:
    from wordvec_ca.vectors import KeyedVectors

    vectors = KeyedVectors.load(path)
    summary = {"words": len(vectors), "dimensions": vectors.vector_size}
    return {**summary, **vectors.metadata}


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}" if value >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return " ".join(_text(entry) for entry in value) or "-"
    from wordvec_ca.files import terminal_text

    return terminal_text(str(value))
