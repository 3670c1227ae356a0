"""The words of a run as the driver passes them to nodes: their text in the object store, and their number.

Ten million words take 150 MB as text and ten times as much as Python's strings. So only nodes parse them; the
driver passes the text on, and writes it next to the checkpoints so that the run can be resumed.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordvec_ca.corpus import Vocab

Text = NDArray[np.uint8]
"""Lines of ``word TAB count`` as in ``vocab.tsv``, in an array that the nodes of one machine share."""


@dataclass(frozen=True)
class Words:
    """What the driver keeps of a vocabulary: its size and counts, but not the words."""

    n_words: int
    # raw_tokens, raw_types: Tokens and types of the text before rare words were dropped.
    raw_tokens: int
    raw_types: int

    @classmethod
    def of(cls, vocab: Vocab) -> Words:
        """Return what the driver keeps of a vocabulary."""
        return cls(len(vocab), vocab.raw_tokens, vocab.raw_types)

    def read(self, text: Text) -> Vocab:
        """Parse the text of a vocabulary."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vocab.tsv"
            path.write_bytes(text.data)
            vocab = Vocab.load(path)
        vocab.raw_tokens, vocab.raw_types = self.raw_tokens, self.raw_types
        return vocab


def text_of(vocab: Vocab) -> Text:
    """Return a vocabulary as text."""
    return np.frombuffer(b"".join(vocab.lines()), np.uint8)
