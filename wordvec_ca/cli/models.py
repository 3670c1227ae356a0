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


def _unfinished(model: str, fraction: Any) -> str:
    from wordvec_ca.runs import REQUEST_FILE, run_folder

    after = f" after {fraction:.1%}" if isinstance(fraction, float) else ""
    more = ""
    if (run_folder(model) / REQUEST_FILE).is_file():
        more = f"; cawv train --resume {shlex.quote(model)} continues it"
    return f"Note: the run of {model!r} was interrupted{after}{more}"
