"""The encoded texts of a run, stored so that a resumed run finds them; and the texts that a model has
learned in all runs that made it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from wordvec_ca.corpus import (
    Corpus,
    CorpusStats,
    EncodedCorpus,
    ReadingProgress,
    Vocab,
    encode_corpus,
    fields_of_training,
    identity_of,
    reopen_corpus,
    stream_corpus,
)
from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import is_read_once
from wordvec_ca.models import ResolvedConfig, read_record
from wordvec_ca.runs.request import RunRequest, absolute_names
from wordvec_ca.runs.run_directory import UnfinishedRun, shown
from wordvec_ca.showable import showable_name
from wordvec_ca.text import JOIN, find_files
from wordvec_ca.training import State

# Names of the two texts of a run in messages.
NAMES = {"text": "corpus", "valid": "held-out text"}


class Texts:
    """Encodes the texts of a run; a context manager that closes them."""

    def __init__(
        self,
        request: RunRequest,
        run: UnfinishedRun | None,
        config: ResolvedConfig,
        *,
        former: State | None = None,
        accept_changes: bool = False,
        progress: ReadingProgress | None = None,
    ) -> None:
        self._request, self._run, self._config, self._former = request, run, config, former
        self._accept_changes, self._progress = accept_changes, progress
        self._opened = ExitStack()

    def __enter__(self) -> Texts:
        return self

    def __exit__(self, *exception: object) -> None:
        self._opened.close()

    def text(self, corpus: Corpus | EncodedCorpus | None, vocab: Vocab | None) -> EncodedCorpus:
        """Encode the corpus, or open its encoded form."""
        expected = None if self._former is None else self._former.fingerprint
        if isinstance(corpus, EncodedCorpus):
            if expected is not None and corpus.fingerprint != expected:
                raise DataError("this encoded corpus is not the one with which the run began")
            return corpus
        return self._encode("text", corpus, vocab, expected)

    def held_out(self, valid: Corpus | None, vocab: Vocab) -> EncodedCorpus | None:
        """Encode the held-out text, if there is one, with the words of the corpus."""
        if not self._request.validates:
            return None
        expected = None if self._former is None else self._former.valid_fingerprint
        try:
            return self._encode("valid", valid, vocab, expected)
        except DataError as error:
            raise DataError(f"held-out text: {error}") from error

    def _encode(
        self, which: str, corpus: Corpus | None, vocab: Vocab | None, expected: str | None
    ) -> EncodedCorpus:
        """Encode a text, or open it as it was encoded when the run began."""
        encoded = self._reopened(which, corpus, expected) or self._read(which, corpus, vocab, expected)
        return self._opened.enter_context(encoded)

    def _reopened(self, which: str, corpus: Corpus | None, expected: str | None) -> EncodedCorpus | None:
        """Open the encoded text of an earlier session of the run, if it still exists."""
        run = self._run
        if run is None or not run.begun_before or self._request.no_cache:
            return None
        found = reopen_corpus(run.text_folder(which), corpus)
        if found is None:
            return None
        encoded, change = found
        if not (run.owns(which) if expected is None else encoded.fingerprint == expected):
            return None
        if change and not self._accept_changes:
            raise DataError(
                f"{change} since the run began. Put the old file back; or continue with the text as "
                f"it was read then: cawv train --resume {shown(run.output)} --accept-changes"
            )
        if change:
            warnings.warn(f"{change}; the text is used as it was read then", stacklevel=5)
        return encoded

    def _read(
        self, which: str, corpus: Corpus | None, vocab: Vocab | None, expected: str | None
    ) -> EncodedCorpus:
        """Read a text and encode it."""
        again = self._run is not None and self._run.begun_before
        names = corpus if again and isinstance(corpus, list) else []
        if corpus is None or any(isinstance(name, str) and is_read_once(name) for name in names):
            raise DataError(self._begin_again(which))
        options = self._config.text_options()
        if which == "valid" and options.makes_sessions:  # all of its sessions are held out
            options = dataclasses.replace(options, test_last=None)
        elif which == "valid":  # held-out text is not resampled by documents
            options = dataclasses.replace(options, group_by=None)
        progress = self._progress if which == "text" else None
        if self._request.no_cache:
            encoded = stream_corpus(corpus, options, vocab=vocab, progress=progress)
        else:
            folder, keep = self._folder(which, expected)
            encoded = encode_corpus(
                corpus, options, vocab=vocab, cache_dir=folder, keep=keep, progress=progress
            )
        if expected is not None and encoded.fingerprint != expected:
            encoded.close()
            raise DataError(
                f"the {NAMES[which]} has changed since the run began: its words or their order are not the "
                "same. Put the old text back, or start a new run (",
                Option("overwrite", True),
                "); cawv train NEW --continue-from MODEL trains a finished model on more text",
            )
        if which == "text" and encoded.stats.kept_tokens == encoded.stats.sentences and not options.documents:
            encoded.close()
            raise _without_neighbours(encoded.stats)
        return encoded

    def _begin_again(self, which: str) -> str:
        """Return the message for a run that cannot continue because its text no longer exists."""
        state = "" if self._former else "the run has no checkpoint yet, and "
        message = f"{state}the {NAMES[which]} cannot be read again, because it was not given as files"
        request = self._request
        if request.command is None:
            return f"{message}; start the run again, or give the text again: resume(..., corpus=...)"
        start = request.command if request.overwrite else f"{request.command} --overwrite"
        return (
            f"{message}; start the run again, with the same text: {start} (or in Python give the text again: "
            "resume(..., corpus=...))"
        )

    def _folder(self, which: str, expected: str | None) -> tuple[Path, bool]:
        """Return the folder for an encoded text, and whether the text is kept after the run."""
        request, run = self._request, self._run
        if run is not None:
            taken = expected is not None and not run.owns(which)  # another run has its text there
            return (run.folder / which if taken else run.text_folder(which)), True
        if request.cache_dir is None and request.output is None:
            folder = Path(tempfile.gettempdir()) / f"cawv-{os.getpid()}"
        else:
            folder = request.kept_text()
        return folder, request.keep_cache and which == "text"


def _without_neighbours(stats: CorpusStats) -> DataError:
    """Return the error for a text in which no line has two words: training would predict nothing."""
    if stats.kept_tokens < stats.raw_tokens:
        return DataError(
            f"no line of the text has two words left: {stats.kept_tokens:,} of its {stats.raw_tokens:,} "
            "tokens are in the vocabulary; keep more of them, ",
            Option("min_count", 1),
        )
    return DataError(
        f"each of the {stats.sentences:,} lines has one word, and no window crosses a line: write the words "
        "of a sentence in a line. If sentences have blank lines between them: " + JOIN
    )


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
