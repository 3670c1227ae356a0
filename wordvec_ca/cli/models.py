"""Opens the model of a command, with a notice if its training was cut short."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from wordvec_ca.cli.output import say

if TYPE_CHECKING:
    from wordvec_ca.vectors import KeyedVectors


def load_vectors(model: str | os.PathLike[str], **options: Any) -> KeyedVectors:
    """Return the vectors of a model, like `KeyedVectors.load`; report on stderr if its run was cut short."""
    from wordvec_ca.vectors import KeyedVectors

    vectors = KeyedVectors.load(model, **options)
    if vectors.metadata.get("interrupted") is True:
        say(_unfinished(os.fspath(model), vectors.metadata.get("trained_fraction")))
    return vectors


def learns_words(metadata: dict[str, Any]) -> bool:
    """Return whether the vectors of words of a model were trained; those of pv-dbow are not, by default."""
    from wordvec_ca.specs.models import SPECS

    config = metadata.get("config")
    if not isinstance(config, dict) or config.get("dbow_words") is not False:
        return True
    return config.get("model") not in {spec.name for spec in SPECS if spec.pairs_documents}


def refuse_untrained(vectors: KeyedVectors, model: str | os.PathLike[str]) -> None:
    """Raise a DataError if the vectors of words are as they began, noise."""
    if not learns_words(vectors.metadata):
        from wordvec_ca.errors import DataError, Option

        name = shlex.quote(os.fspath(model))
        raise DataError(
            f"{name} has no vectors of words: only its documents were trained. Use these (cawv nn {name} "
            f"--document TAG, cawv export {name} --table documents), or train with ",
            Option("dbow_words", True),
        )


def _unfinished(model: str, fraction: Any) -> str:
    from wordvec_ca.runs import REQUEST_FILE, run_folder

    after = f" after {fraction:.1%}" if isinstance(fraction, float) else ""
    more = ""
    if (run_folder(model) / REQUEST_FILE).is_file():
        more = f"; cawv train --resume {shlex.quote(model)} continues it"
    return f"Note: the run of {model!r} was interrupted{after}{more}"
