"""The history of a run on a cluster: that of a run on one machine, with the words that each node has read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wordvec_ca.models import History, Point, Progress


class NodeHistory(History):
    """A history with one more column, ``words_by_node``: the words that each node has read so far."""

    def __init__(self, points: list[Point] | None = None, words: list[str] | None = None) -> None:
        super().__init__(points)
        self.words = list(words or [])

    def add_nodes(self, record: Progress, words: Sequence[tuple[int, float]]) -> None:
        """Add a record, with the words that each node has read, by its number."""
        self.add(record)
        del self.words[len(self.points) - 1 :]
        self.words.append(" ".join(f"{number}:{int(read)}" for number, read in words))

    def save(self, path: Path) -> None:
        """Write the points."""
        super().save(path)
        header, *lines = path.read_text(encoding="utf-8").splitlines()
        lines = [f"{line}\t{words}" for line, words in zip(lines, self.words, strict=True)]
        path.write_text("\n".join([f"{header}\twords_by_node", *lines]) + "\n", encoding="utf-8")
