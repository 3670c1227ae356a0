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
than 0.18; in the collapse that tests/test_languages.py reproduces one has less than 0.1, for good, while
what is left is spread so widely that its concentration shows nothing."""

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
    before, after = by_place[trainer.config.window - 1 : trainer.config.window + 1]
    if concentration > CONCENTRATED:
        sign = f"onto single words (mean sum of squared weights {concentration:.2f})"
    elif before < NEGLECTED or after < NEGLECTED:
        sign = f"away from the nearest words (before: {before:.2f}, after: {after:.2f}; 1 is an equal share)"
    else:
        return False
    warnings.warn(
        f"attention has collapsed {sign}: raise attention_warmup (now {trainer.config.attention_warmup:g}) "
        f"or lower attention_alpha (now {trainer.config.attention_alpha:g})",
        stacklevel=3,
    )
    return True
