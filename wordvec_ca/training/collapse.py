"""Detects attention that has collapsed, and warns with advice."""

from __future__ import annotations

import warnings

import numpy as np

from wordvec_ca.corpus import LiveTokens, TokenStream
from wordvec_ca.models import EmbeddingModel, Progress, weights_by_place
from wordvec_ca.training.held_out import mean
from wordvec_ca.training.trainer import Trainer

# Attention counts as collapsed if its mean sum of squared weights is at least this.
CONCENTRATED = 0.9

# Threshold for the attention to the word before or after the target, as a multiple of an equal share: below
# it, a warning reports a collapse. On Wikipedia these two places had at least 1 in every setting tried, and
# every place within 20 words at least 0.18, with rates up to 0.2 and one worker; with the exact step at 0.4
# a place can die. In the collapse that tests/training/test_languages.py reproduces, one of the two stays
# below 0.1, while the rest of the attention is spread so widely that the concentration does not reveal it.
NEGLECTED = 0.2

# Threshold for the attention to any place, as a multiple of an equal share: a place has died if it is below
# this and below a tenth of the places around it.
DEAD = 0.02

# Tokens over which the attention to each place is averaged.
PLACE_TOKENS = 20_000


class CollapseWatch:
    """Warns once, at the end of an epoch, if attention has collapsed; a callback."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self._warned = trainer, False

    def __call__(self, record: Progress) -> None:
        """Check the attention if an epoch has ended."""
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
    """Return a warning with advice if the attention of a model has collapsed, else None."""
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
    """Return a description of the places that lost their attention, or an empty string."""
    by_place = weights_by_place(model, tokens)
    middle = len(by_place) // 2
    before, after = by_place[middle - 1 : middle + 1]
    if before < NEGLECTED or after < NEGLECTED:
        return f"away from the nearest words (before: {before:.2f}, after: {after:.2f}; 1 is an equal share)"
    if dead := dead_places(by_place):
        offsets = ", ".join(f"{place - middle + (place >= middle):+d}" for place in dead)
        return f"away from place {offsets}, though not from those around it"
    return ""


def dead_places(by_place: np.ndarray) -> list[int]:
    """Return the places that get almost no attention although the places around them do."""
    # The logit of a place moves in proportion to its share. So a place that loses nearly all of its share
    # in a few large early steps does not recover.
    dead = []
    for place in np.flatnonzero(by_place < DEAD).tolist():
        around = np.delete(by_place[max(0, place - 2) : place + 3], min(place, 2))
        if len(around) and by_place[place] < 0.1 * np.nanmedian(around):
            dead.append(place)
    return dead
