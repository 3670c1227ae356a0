"""The ledger: which tokens of which shard were merged in this epoch. Each token is merged exactly once.

Ray records which tasks have ended, but not whether their results were used, and a call that Ray repeats would
train twice. Only a merge decides whether the training of a node counts, so the run keeps its own record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from wordvec_ca.errors import DataError


class Segment(NamedTuple):
    """Consecutive whole lines of a shard that are trained between two merges."""

    shard: int
    begin: int
    end: int


@dataclass
class Ledger:
    """Which tokens are trained; a segment is entered when the merge that contains it is committed.

    Attributes
    ----------
    epoch : int
        Number of the epoch, from 1; above ``epochs`` when the run is done.
    epochs : int
        Number of epochs of the run.
    tokens : list of int
        Number of tokens of each shard.
    done : list of int
        Tokens of each shard, from its beginning, that were merged in this epoch.
    segments : int
        Number of segments entered so far.
    """

    epochs: int
    tokens: list[int]
    epoch: int = 1
    done: list[int] = field(default_factory=list)
    segments: int = 0

    def __post_init__(self) -> None:
        self.done = self.done or [0] * len(self.tokens)

    @property
    def total(self) -> int:
        """Tokens of an epoch."""
        return sum(self.tokens)

    @property
    def position(self) -> int:
        """Tokens merged in all epochs."""
        return (self.epoch - 1) * self.total + sum(self.done)

    @property
    def epoch_ended(self) -> bool:
        """Whether every token of this epoch has been merged."""
        return self.done == self.tokens

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        return self.epoch > self.epochs

    def left(self, shards: Iterable[int]) -> int:
        """Return how many tokens of these shards are still to be merged in this epoch."""
        return sum(self.tokens[i] - self.done[i] for i in shards)

    def plan(self, shards: Sequence[int], wanted: int) -> list[Segment]:
        """Return the next segments of these shards, with about this number of tokens in all."""
        # `done` moves only at a commit, so a segment whose node died is planned again: its work is lost, but
        # none of its tokens counts twice
        segments = []
        for i in shards:
            if wanted <= 0:
                break
            end = min(self.tokens[i], self.done[i] + wanted)
            if end > self.done[i]:
                segments.append(Segment(i, self.done[i], end))
                wanted -= end - self.done[i]
        return segments

    def commit(self, segments: Iterable[Segment]) -> None:
        """Enter segments whose merge is committed."""
        for shard, begin, end in segments:
            if begin != self.done[shard] or not begin <= end <= self.tokens[shard]:
                raise AssertionError(
                    f"segment {begin}:{end} of shard {shard}, of which {self.done[shard]} tokens are done"
                )
            self.done[shard] = end
            self.segments += 1

    def next_epoch(self) -> None:
        """Begin the next epoch."""
        assert self.epoch_ended
        self.epoch += 1
        self.done = [0] * len(self.tokens)

    def as_dict(self) -> dict[str, Any]:
        """Return the ledger as values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Ledger:
        """Return a ledger from ``as_dict``'s result."""
        try:
            ledger = cls(**record)
            fits = all(0 <= done <= n for done, n in zip(ledger.done, ledger.tokens, strict=True))
        except (TypeError, ValueError) as error:
            raise DataError(f"the ledger of the checkpoint cannot be used: {error}") from error
        if not fits or ledger.epoch < 1:
            raise DataError("the ledger of the checkpoint points beyond the end of the text")
        return ledger
