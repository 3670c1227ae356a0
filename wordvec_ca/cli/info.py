"""``cawv info``: what is a model, how was it made, and what can this installation do?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from wordvec_ca.cli.models import load_vectors
from wordvec_ca.cli.options import json_option
from wordvec_ca.cli.output import say, show, show_json, styled, write
from wordvec_ca.cli.paths import ExistingPath
from wordvec_ca.showable import counted, duration, size
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.models import VECTOR_FORMS


@click.command(name="info", short_help="About a model, or this installation.")
@click.argument("model", required=False, type=ExistingPath())
@click.option("--all", "everything", is_flag=True, help="Show the complete record instead of the main facts.")
@click.option("--check", is_flag=True, help="Compare each file of the model directory with its checksum.")
@json_option("The complete record as JSON")
def command(model: str | None, everything: bool, check: bool, as_json: bool) -> None:
    """Print what MODEL is and how it was made; without MODEL, what this installation runs.

    With --check the exit code is 1 if a file is missing or has changed, or if the model cannot be opened.
    """
    if check:
        if model is None or not Path(model).is_dir() or everything or as_json:
            raise click.UsageError("--check goes with a model directory alone")
        _check(Path(model))
        return
    record = _installation() if model is None else _model(model)
    if as_json:
        show_json(record, indent=2)
        return
    if model is None or everything or "config" not in record:
        _show_record(record)
        return
    from wordvec_ca.files import terminal_text

    facts = _in_short(model, record)
    width = max(map(len, facts))
    for name, text in facts.items():
        write(f"{styled(name.ljust(width), 'heading')}  {terminal_text(text)}")
    write(styled(f"\nMore: cawv info {model} --all", "aside"))


def _check(model: Path) -> None:
    """Compare each file of a model directory with its checksum, and open the model."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.files import CHECKSUMS, changed_files, read_checksums
    from wordvec_ca.vectors import KeyedVectors

    checksums, changed = read_checksums(model), changed_files(model)
    for name in checksums:
        show(f"{changed.get(name, 'ok'):<7}  {name}")
    if changed:
        raise DataError(
            f"{len(changed)} of {len(checksums)} files are not as they were saved: take them from a "
            "backup, or train again (run.toml has the settings)"
        )
    KeyedVectors.load(model)
    if not checksums:
        say(f"{str(model)!r} opens, but has no checksums ({CHECKSUMS}) to compare its files with")


def _in_short(model: str, record: dict[str, Any]) -> dict[str, str]:
    """Return the main facts about a model: label -> text, at most a dozen."""
    from wordvec_ca.runs import texts_of_runs

    config, corpus, timings = (record.get(name) or {} for name in ("config", "corpus", "timings"))
    losses = [loss for loss in record.get("loss_by_epoch") or [] if loss is not None]
    held_out = [loss for loss in record.get("valid_loss_by_epoch") or [] if loss is not None]
    n_bytes = sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file())
    trained = float(record.get("trained_fraction", 1))
    *earlier, last = map(_text_of_run, texts_of_runs(record))
    if corpus.get("files"):
        last = last.replace(" tokens", f" tokens in {counted(corpus['files'], 'files')}", 1)
    epochs = counted(int(config.get("epochs") or 0), "epochs")
    learning = f"{epochs}, window {config.get('window')}, seed {config.get('seed')}"
    facts = {
        "model": str(config.get("model")) + (" with n-grams" if config.get("subwords") else ""),
        "words": f"{record['words']:,} x {record['dimensions']} dimensions; each occurs "
        f"{config.get('min_count')} times or more",
        "documents": f"{record['documents']:,}" if record.get("documents") else "",
        "vectors": VECTOR_FORMS.get(config.get("vectors") or "input", ""),
        "size": f"{size(n_bytes)} on disk",
        "earlier texts": "; ".join(earlier),
        "text": last,
        "resamples": _sampled(record.get("resamples") or {}, config.get("group_by")),
        "training": learning if trained >= 1 else f"{learning}; ended after {trained:.1%}",
        "loss": " -> ".join(f"{loss:.4f}" for loss in dict.fromkeys((losses[0], losses[-1])))
        if losses
        else "-",
        "held-out loss": f"{held_out[-1]:.4f}" if held_out else "",
        "next items": _next_items(record["held_out"]) if "held_out" in record else "",
        "made": f"{str(record.get('started', '-'))[:16].replace('T', ' ')}, trained in "
        f"{duration(timings.get('training_seconds', float('nan')))}, by cawv {record.get('version', '-')}",
        "changes": str(len(record.get("changes") or [])) if record.get("changes") else "",
        "again": f"cawv train --config {model}/{ModelFile.SETTINGS} -o NEW"
        if (Path(model) / ModelFile.SETTINGS).exists()
        else str(record.get("command") or "from Python"),
    }
    return {name: text for name, text in facts.items() if text}


def _text_of_run(text: dict[str, Any]) -> str:
    return f"{text['tokens']:,} tokens" + (f": {', '.join(text['corpus'])}" if text["corpus"] else "")


def _next_items(report: dict[str, Any]) -> str:
    """Return how often the next item was found in held-out sessions, by the vectors and by counting."""
    figures = [f"{name} {metric['value']:.3f}" for name, metric in report["metrics"].items()][:4]
    return f"{', '.join(figures)}, in {report['dataset']}"


def _sampled(resamples: dict[str, Any], group_by: str | None) -> str:
    """Return the unit that was resampled, lines or documents; models of older versions do not record it."""
    if not resamples.get("models"):
        return ""
    found = f"{resamples['models']} models"
    if "unit" in resamples:
        found += f", each on a sample of {counted(resamples['units'], resamples['unit'])}"
    return found + (f" ({group_by})" if group_by else "")


def _show_record(record: dict[str, Any]) -> None:
    """Print a complete record."""
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
    import importlib.util
    import platform

    import numba
    import numpy

    from wordvec_ca import __version__, kernels
    from wordvec_ca.machine import usable_cpus

    return {
        "cawv": __version__,
        "instruction set": f"{kernels.isa()} (of {', '.join(kernels.isas())}; CAWV_ISA forces one)",
        "processors": usable_cpus(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "gensim": "installed" if importlib.util.find_spec("gensim") else "not installed",
    }


def _model(path: str) -> dict[str, Any]:
    vectors = load_vectors(path)
    summary: dict[str, Any] = {"words": len(vectors), "dimensions": vectors.vector_size}
    if (Path(path) / ModelFile.DOCUMENTS).is_file():
        from wordvec_ca.models import tags_of_model

        summary["documents"] = tags_of_model(path).n
    if (held_out := Path(path) / ModelFile.HELD_OUT).is_file():
        from wordvec_ca.errors import DataError

        try:
            summary["held_out"] = json.loads(held_out.read_text("utf-8"))
        except ValueError as error:
            raise DataError(f"{held_out} is damaged: {error}; it has only figures: delete it") from error
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
