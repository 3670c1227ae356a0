"""Callbacks: functions of the caller that run at the beginning and end of training and of each epoch."""

from __future__ import annotations

from typing import Any


class CallbackAny2Vec:
    """A callback; subclasses override the methods that they need.

    Every method may read the model's vectors; at the end of an epoch no thread is training.
    """

    def on_epoch_begin(self, model: Any) -> None:
        """Do nothing; runs before each epoch."""

    def on_epoch_end(self, model: Any) -> None:
        """Do nothing; runs after each epoch."""

    def on_train_begin(self, model: Any) -> None:
        """Do nothing; runs before the first epoch."""

    def on_train_end(self, model: Any) -> None:
        """Do nothing; runs after the last epoch."""
