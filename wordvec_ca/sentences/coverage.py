"""How much of a text the vocabulary knows."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Coverage:
    """How much of a text the vocabulary knows.

    Parameters
    ----------
    n_sentences, n_empty, n_all_oov : int
        Sentences; those without a token; those with tokens but without a known one.
    n_tokens, n_oov : int
        Tokens; those that have no vector.
    n_from_ngrams : int
        Tokens of words without a row, whose vector is made of n-grams.
    """

    n_sentences: int = 0
    n_empty: int = 0
    n_all_oov: int = 0
    n_tokens: int = 0
    n_oov: int = 0
    n_from_ngrams: int = 0

    @property
    def oov_rate(self) -> float:
        """Part of the tokens that have no vector (0 without tokens)."""
        return self.n_oov / self.n_tokens if self.n_tokens else 0.0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def __str__(self) -> str:
        """Return one line for people."""
        text = (
            f"{self.n_sentences:,} sentences ({self.n_empty:,} empty, {self.n_all_oov:,} without a known "
            f"word), {self.n_tokens:,} tokens, {100 * self.oov_rate:.2f} % unknown"
        )
        if self.n_from_ngrams:
            text += f", {100 * self.n_from_ngrams / self.n_tokens:.2f} % from n-grams"
        return text
