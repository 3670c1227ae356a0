"""Writes encoded lines: joins renumbered blocks, and splits long lines."""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.kernels import LINE_END

if TYPE_CHECKING:
    from wordvec_ca.kernels import Renumbered

# Number of tokens after which a line is split.
MAX_SENTENCE = 10_000


class SentenceFile:
    """Joins renumbered blocks, and splits long lines, also those that continue in the next block."""

    def __init__(
        self,
        file: IO[bytes] | ReadyIds,
        digest: hashlib.blake2b,
        longest: int | None = None,
        *,
        every_line: bool = False,
    ) -> None:
        self._longest = MAX_SENTENCE if longest is None else longest
        self._every_line = every_line
        self.file = file
        self.digest = digest
        self.open = 0  # number of tokens of the line that has not ended yet
        self.sentences = self.split = self.kept = 0

    def write(self, ids: NDArray[np.int32], found: Renumbered) -> None:
        """Append a block."""
        head, rest = ids[: found["head"]], ids[found["head"] + found["closed"] :]
        while self.open + len(head) > self._longest:
            room = self._longest - self.open
            self._put(head[:room])
            self._end_line()
            self.split += 1
            head = head[room:]
        self._put(head)
        self.open += len(head)
        if found["closed"]:
            if self.open or self._every_line:
                self._end_line()
            self._put(rest)
            self.open = found["tail"]
        self.sentences += found["lines"]
        self.split += found["split"]
        self.kept += found["kept"]

    def _end_line(self) -> None:
        self._put(np.array([LINE_END], dtype=np.int32))
        self.sentences += 1
        self.open = 0

    def _put(self, ids: NDArray[np.int32]) -> None:
        self.file.write(ids.data)
        self.digest.update(ids.data)


class ReadyIds:
    """A buffer to which a SentenceFile writes ids, and from which a reader takes them."""

    def __init__(self) -> None:
        self.parts: list[NDArray[np.int32]] = []

    def write(self, data: memoryview) -> None:
        """Append ids."""
        if len(data):
            self.parts.append(np.frombuffer(data, dtype=np.int32))

    def take(self) -> NDArray[np.int32]:
        """Return the ids that are ready, and empty the buffer."""
        ids = self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts)
        self.parts = []
        return ids
