"""The texts that a model has learned, in all runs that made it, and the fields with which it read them."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordvec_ca.corpus import fields_of_training, identity_of
from wordvec_ca.errors import DataError
from wordvec_ca.models import read_record
from wordvec_ca.runs.request import absolute_names
from wordvec_ca.showable import showable_name
from wordvec_ca.text import find_files

# Keys, in the record: the texts of the runs that made the model with which a run began, and the digests of
# the files of a run.
EARLIER, DIGESTS = "earlier_texts", "digests"


def texts_of_runs(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the texts of all runs that made a model, the first one first: tokens, names and digests."""
    changes = [change for change in record.get("changes") or [] if isinstance(change, dict)]
    earlier: list[dict[str, Any]] = next((change[EARLIER] for change in changes if EARLIER in change), [])
    named = (record.get("settings") or {}).get("corpus") or []
    tokens = (record.get("corpus") or {}).get("raw_tokens", record.get("raw_tokens", 0))
    corpus = [named] if isinstance(named, str) else named
    return [*earlier, {"tokens": tokens, "corpus": corpus, DIGESTS: record.get(DIGESTS) or []}]


def remembered_fields(directory: str | os.PathLike[str], corpus: Any) -> dict[str, Any]:
    """Return the fields of records with which a model reads these files; none for plain text."""
    names = absolute_names(corpus)
    if names is None or not os.path.isdir(directory):  # a .bin of fastText has read no records
        return {}
    return fields_of_training(_record(directory)["config"], names)


def check_not_learned(directory: str | os.PathLike[str], corpus: Any, valid: Any) -> None:
    """Warn if a model has learned a file of a text, or of held-out text, before."""
    if not os.path.isdir(directory):
        return
    learned = {digest for text in texts_of_runs(_record(directory)) for digest in text.get(DIGESTS, ())}
    then = {"it is learned once more": corpus, "so its figures say nothing of new text": valid}
    for consequence, text in then.items():
        found = [name for name, digest in digests_of_files(text).items() if digest in learned]
        if found:
            more = f" and {len(found) - 1:,} other files were" if len(found) > 1 else " was"
            model = os.fspath(directory)
            warnings.warn(
                f"{showable_name(found[0])!r}{more} already learned by {model!r}: {consequence}",
                stacklevel=5,
            )


def digests_of_files(corpus: Any) -> dict[str, str]:
    """Return a digest of each file of a text; none for remote files, pipes and text that is not in files."""
    names = absolute_names(corpus)
    found = {}
    with (
        warnings.catch_warnings(),
        contextlib.suppress(DataError, OSError),
    ):  # the reader of the text tells the same
        warnings.simplefilter("ignore")
        for name in find_files(names or []):
            if os.path.isfile(name):
                identity = identity_of(name)
                found[name] = (
                    f"{identity['size']} {identity['ends']}"  # also of a copy, or under another name
                )
    return found


def _record(directory: str | os.PathLike[str]) -> dict[str, Any]:
    return read_record(Path(directory))
