"""Which options may change when a run is resumed or a model is trained further, and which may not."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from wordvec_ca._version import __version__
from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError, Option
from wordvec_ca.models import ResolvedConfig, TrainConfig
from wordvec_ca.runs.request import absolute_names
from wordvec_ca.runs.run_directory import UnfinishedRun
from wordvec_ca.runs.texts import NAMES
from wordvec_ca.showable import showable_name
from wordvec_ca.specs.options import OPTIONS
from wordvec_ca.text import trusted_tokenizer
from wordvec_ca.training import State, Trainer

# Options that may change when a run is resumed, for example after a divergence or on another machine.
CHANGEABLE = tuple(name for name in TrainConfig.__dataclass_fields__ if OPTIONS[name].resume != "same")

# Changeable options that do not affect the model. Models of resampled text may differ only in these.
OF_THE_MACHINE = tuple(name for name in CHANGEABLE if OPTIONS[name].continued is None)


def changed_config(config: ResolvedConfig, changes: Mapping[str, Any]) -> ResolvedConfig:
    """Return a configuration with some options changed."""
    changeable = CHANGEABLE if config.resamples is None else OF_THE_MACHINE
    for name, value in changes.items():
        former = getattr(config, name)
        if name not in changeable and value != former:
            raise DataError(
                Option(name),
                f" was {former!r} when the run began and is {value!r} now: that would be another run. Only ",
                *[piece for other in changeable for piece in (Option(other), ", ")][:-1],
                " may change; leave it out, or start a new run",
            )
    trusted_tokenizer(config.tokenizer, changes.get("tokenizer"), "the run")
    return ResolvedConfig.of(TrainConfig.from_dict({**config.as_dict(), **changes}))


def differences(former: State, config: ResolvedConfig) -> list[dict[str, Any]]:
    """Return the record of changed options: the share of the run that was done, and each option's old and new
    value.
    """
    begun = ResolvedConfig.from_dict(former.config)
    found = {
        name: [getattr(begun, name), getattr(config, name)]
        for name in CHANGEABLE
        if getattr(begun, name) != getattr(config, name)
    }
    return [{"at": former.fraction, **found}] if found else []


def check_texts(
    run: UnfinishedRun, corpus: Any, valid: Any, vocab: Vocab | str | os.PathLike[str] | None
) -> None:
    """Raise a DataError if a given text or vocabulary is not that of the run."""
    for which, given, begun in (("text", corpus, run.request.corpus), ("valid", valid, run.request.valid)):
        names = absolute_names(given)
        if names is not None and _without_secrets(names) != _without_secrets(begun):
            raise DataError(
                f"the {NAMES[which]} was {_listed(begun)} when the run began and is {_listed(names)} "
                "now: that would be another run. Leave it out, or start a new run"
            )
    if vocab is not None:
        given_vocab = vocab if isinstance(vocab, Vocab) else Vocab.load(vocab)
        if run.vocab() != given_vocab:
            raise DataError(
                "the vocabulary is not the one with which the run began: that would be another run. "
                "Leave it out, or start a new run"
            )


def check_state(
    run: UnfinishedRun, state: State, config: TrainConfig, isa: str | None, *, accept_changes: bool
) -> None:
    """Raise a DataError if a run would not continue as it began; warn if only the last bits would differ."""
    if state.run != run.request.run:
        raise DataError(
            f"the checkpoint in {str(run.folder)!r} is of another run: copy a run's folder as a whole"
        )
    if state.isa != isa:
        _refuse_or_warn(
            f"the run began with the instruction set {state.isa} and would go on with {isa}",
            f"its last bits would differ. Set CAWV_ISA={state.isa} where the processor has it",
            "the last bits will differ",
            accept_changes=accept_changes,
        )
    if state.version != __version__:
        warnings.warn(
            f"the run began with version {state.version} and goes on with {__version__}: "
            "the result may differ in its last bits",
            stacklevel=3,
        )
    begun = ResolvedConfig.from_dict(state.config)
    if begun.workers != config.workers and 1 in (begun.workers, config.workers):
        warnings.warn(
            f"the run had {begun.workers} workers and goes on with {config.workers}: "
            "it will not be the same bit for bit",
            stacklevel=3,
        )


def check_pools(state: State, trainer: Trainer, *, accept_changes: bool) -> None:
    """Raise a DataError if a run would continue with other negatives than those with which it began."""
    if state.pools != trainer.replica.negatives.plan:
        _refuse_or_warn(
            "the run began with a version that draws other negatives of a vocabulary of this size",
            "it would not be the run that was begun. Finish it with that version, start it again",
            "the result will differ",
            accept_changes=accept_changes,
        )


def _refuse_or_warn(change: str, refusal: str, warning: str, *, accept_changes: bool) -> None:
    """Raise a DataError that states what has changed and what to do; only warn if changes are accepted."""
    if not accept_changes:
        raise DataError(f"{change}: {refusal}, or give ", Option("accept_changes", True))
    warnings.warn(f"{change}: {warning}", stacklevel=4)


def _without_secrets(names: Any) -> list[str] | None:
    """Return names without secrets, so that a URL with a new signature compares equal."""
    return None if names is None else list(map(showable_name, names))


def _listed(names: Any) -> str:
    return "not made of files" if names is None else ", ".join(map(repr, names))
