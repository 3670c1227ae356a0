"""Attention that has collapsed: the signs of it, and a warning with advice."""

from __future__ import annotations

import warnings

import numpy as np

from wordvec_ca.attention import weights_by_place
from wordvec_ca.progress import Progress
from wordvec_ca.token_stream import TokenStream
from wordvec_ca.trainer import Trainer, attends, mean

CONCENTRATED = 0.9
"""Mean sum of squared attention weights from which attention is said to have collapsed."""

NEGLECTED = 0.2
"""Attention to the word before or after the target, in equal shares, below which it is said to have
collapsed. On Wikipedia these two had at least 1 in every setting tried, and no place within 20 words less
than 0.18, up to a rate of 0.2, one worker; with the exact step at 0.4 a place may die. In the collapse that
tests/test_languages.py reproduces one of the two has less than 0.1, for good, while what is left is spread so
widely that its concentration shows nothing."""

DEAD = 0.02
"""Attention to a place, in equal shares, below which it is said to have died, if it is also less than a tenth
of what the places around it have."""

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
    if not attends(trainer.config):
        return False
    assert trainer.config.window is not None
    tallies = trainer._tallies()
    concentration = mean(tallies, "concentration", "weighed")
    tokens = trainer.tokens.opening if isinstance(trainer.tokens, TokenStream) else trainer.tokens
    by_place = weights_by_place(trainer.model, np.asarray(tokens[:PLACE_TOKENS]))
    window = trainer.config.window
    before, after = by_place[window - 1 : window + 1]
    dead = dead_places(by_place)
    if concentration > CONCENTRATED:
        sign = f"onto single words (mean sum of squared weights {concentration:.2f})"
    elif before < NEGLECTED or after < NEGLECTED:
        sign = f"away from the nearest words (before: {before:.2f}, after: {after:.2f}; 1 is an equal share)"
    elif dead:
        offsets = ", ".join(f"{place - window + (place >= window):+d}" for place in dead)
        sign = f"away from place {offsets}, though not from those around it"
    else:
        return False
    warnings.warn(
        f"attention has collapsed {sign}: raise attention_warmup (now {trainer.config.attention_warmup:g}) "
        f"or lower attention_alpha (now {trainer.config.attention_alpha:g})",
        stacklevel=3,
    )
    return True


def dead_places(by_place: np.ndarray) -> list[int]:
    """Return the places that get next to no attention while those around them do.

    The logit of a place moves in proportion to its share, so that one which has lost nearly all of it, by a
    few large steps early on, does not come back.

    Parameters
    ----------
    by_place : ndarray of shape (2 * window,)
        See ``weights_by_place``.
    """
    dead = []
    for place in np.flatnonzero(by_place < DEAD).tolist():
        around = np.delete(by_place[max(0, place - 2) : place + 3], min(place, 2))
        if len(around) and by_place[place] < 0.1 * np.nanmedian(around):
            dead.append(place)
    return dead
