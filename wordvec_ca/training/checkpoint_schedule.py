"""Decides when checkpoints of a run are written, and collects their state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wordvec_ca import kernels
from wordvec_ca._version import __version__
from wordvec_ca.corpus import EncodedCorpus
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.training.checkpoint import Checkpoints, State
from wordvec_ca.training.trainer import Trainer


class CheckpointSchedule:
    """Writes the state of a trainer as checkpoints of a run, when they are due."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        mark: str,
        encoded: EncodedCorpus,
        held_out: EncodedCorpus | None,
        former: State | None,
        origin: Sequence[dict[str, Any]] = (),
    ) -> None:
        self._checkpoints, self._mark = checkpoints, mark
        self._texts = encoded.fingerprint, None if held_out is None else held_out.fingerprint
        self.sessions = 1 if former is None else former.sessions + 1
        self.changes = [*([] if former is None else former.changes), *origin]

    def begin(self, trainer: Trainer) -> None:
        """Start the clock."""
        self._checkpoints.begin(trainer.position)

    def seconds_left(self) -> float:
        """Return in how many seconds the next checkpoint is due; infinity if the interval is in tokens."""
        return self._checkpoints.seconds_left()

    def limit(self, trainer: Trainer) -> int:
        """Return the token of this epoch at which the threads pause for a checkpoint."""
        n = len(trainer.tokens)
        return int(min(n, self._checkpoints.next_position() - (trainer.epoch - 1) * n))

    def write(self, trainer: Trainer) -> None:
        """Write a checkpoint, between two chunks."""
        trainer.check_parameters()
        config, done = trainer.config, trainer.epoch - 1
        state = State(
            run=self._mark,
            config=config.as_dict(),
            version=__version__,
            isa=isa_in_use(config),
            fingerprint=self._texts[0],
            valid_fingerprint=self._texts[1],
            epoch=trainer.epoch,
            index=trainer.index,
            start=trainer.start,
            fraction=trainer.schedule.fraction(trainer.position),
            seconds=trainer.seconds,
            tallies=trainer.totals().tolist(),
            tallies_before_epoch=trainer.before_epoch.tolist(),
            losses=trainer.losses[:done],
            valid_losses=trainer.valid_losses[:done],
            history=[list(point) for point in trainer.history.points],
            sessions=self.sessions,
            changes=self.changes,
            pools=trainer.replica.negatives.plan,
        )
        self._checkpoints.write(state, trainer.model, trainer.position)


def isa_in_use(config: ResolvedConfig) -> str | None:
    """Return the instruction set of the compiled loop, or None for the Numba backend."""
    return kernels.isa() if config.backend == "cython" else None
