"""Attention that has collapsed: the signs of it, and a warning with advice."""

from __future__ import annotations

import warnings

import numpy as np

from wordvec_ca.corpus import LiveTokens, TokenStream
from wordvec_ca.models import EmbeddingModel, Progress, weights_by_place
from wordvec_ca.training.held_out import mean
from wordvec_ca.training.trainer import Trainer

CONCENTRATED = 0.9
"""Attention whose mean sum of squared weights is at least this counts as collapsed."""

NEGLECTED = 0.2
"""Attention to the word before or after the target, in equal shares, below which a warning says that it has
collapsed. On Wikipedia these two had at least 1 in every setting tried, and no place within 20 words less
than 0.18, up to a rate of 0.2, one worker; with the exact step at 0.4 a place may die. In the collapse that
tests/training/test_languages.py reproduces one of the two has less than 0.1, for good, while what is left is
spread so widely that its concentration shows nothing."""

DEAD = 0.02
"""Attention to a place, in equal shares, below which a warning says that it has died, if it is also less
than a tenth of what the places around it have."""

PLACE_TOKENS = 20_000
"""Tokens over which the attention to each place is averaged."""


class CollapseWatch:
    """Warns once, at the end of an epoch, if attention has collapsed; a callback.

    Parameters
    ----------
    trainer : Trainer
        Whose records it receives.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self._warned = trainer, False

    def __call__(self, record: Progress) -> None:
        """Look at the attention if an epoch has ended."""
        if record.epoch_ended and not self._warned:
            self._warned = _warn_of_collapse(self._trainer)


def _warn_of_collapse(trainer: Trainer) -> bool:
    if not trainer.config.spec.attends or isinstance(trainer.tokens, LiveTokens):
        return False
    tokens = trainer.tokens.opening if isinstance(trainer.tokens, TokenStream) else trainer.tokens
    warning = collapse_warning(trainer.model, tokens, mean(trainer.totals(), "concentration", "weighed"))
    if warning is not None:
        warnings.warn(warning, stacklevel=3)
    return warning is not None


def collapse_warning(model: EmbeddingModel, tokens: np.ndarray, concentration: float) -> str | None:
    """Return a warning with advice if the attention of a model has collapsed, else None.

    Parameters
    ----------
    model : EmbeddingModel
        With attention.
    tokens : ndarray of shape (n,), int32
        Encoded text; the first ``PLACE_TOKENS`` are used.
    concentration : float
        Mean sum of squared attention weights so far in the run, or nan.
    """
    sign = _sign(model, np.asarray(tokens[:PLACE_TOKENS]))
    if concentration > CONCENTRATED:
        sign = f"onto single words (mean sum of squared weights {concentration:.2f})"
    if not sign:
        return None
    config = model.config
    return (
        f"attention has collapsed {sign}: raise attention_warmup (now {config.attention_warmup:g}) "
        f"or lower attention_alpha (now {config.attention_alpha:g})"
    )


def _sign(model: EmbeddingModel, tokens: np.ndarray) -> str:
    """Return where attention has gone away from, or nothing."""
    for part, by_place in weights_by_place(model, tokens):
        of = f" of the part {part.name}" if part.name else ""
        middle = len(by_place) // 2
        before, after = by_place[middle - 1 : middle + 1]
        if part.nearest == 1 and (before < NEGLECTED or after < NEGLECTED):
            shares = f"before: {before:.2f}, after: {after:.2f}; 1 is an equal share"
            return f"away from the nearest words{of} ({shares})"
        if dead := dead_places(by_place):
            offsets = ", ".join(f"{part.offsets[place]:+d}" for place in dead)
            return f"away from place {offsets}{of}, though not from those around it"
    return ""


def dead_places(by_place: np.ndarray) -> list[int]:
    """Return the places that get next to no attention while those around them do.

    The logit of a place moves in proportion to its share, so that one which has lost nearly all of it, by a
    few large steps early on, does not come back.

    Parameters
    ----------
    by_place : ndarray of shape (n_places,)
        See ``weights_by_place``.
    """
    dead = []
    for place in np.flatnonzero(by_place < DEAD).tolist():
        around = np.delete(by_place[max(0, place - 2) : place + 3], min(place, 2))
        if len(around) and by_place[place] < 0.1 * np.nanmedian(around):
            dead.append(place)
    return dead
