"""Split sentences into the words and multi-word phrases of a vocabulary.

A vocabulary may hold phrases ("united_states"). Among the segmentations of a sentence the best one has the
fewest unknown tokens and then the fewest segments; dynamic programming over the sentence finds it in time
linear in the sentence's length (Zeng 2019, section 4.1.1).

The paper's "least number of phrases and OOV tokens" can also be read as a sum. Then it may be cheaper to
leave a token unknown than to break two long phrases for a phrase that covers it; we count unknown tokens
first.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence

from wordvec_ca.text import tokenize


class PhraseDictionary:
    """The words of a vocabulary, and its phrases, whose words have ``joiner`` between them."""

    def __init__(self, words: Iterable[str], joiner: str = "_") -> None:
        if not joiner:
            raise ValueError("joiner is empty: give the text between the words of a phrase, such as '_'")
        self.joiner = joiner
        self._words = words if isinstance(words, dict | set | frozenset) else frozenset(words)
        self._prefixes: set[str] = (
            set()
        )  # every prefix of a phrase: the search for a phrase ends where none matches
        self.longest = 1
        for word in self._words:
            at = word.find(joiner, 1)
            n_parts = 1
            while 0 < at < len(word) - len(joiner):
                self._prefixes.add(word[:at])
                n_parts += 1
                at = word.find(joiner, at + len(joiner))
            self.longest = max(self.longest, n_parts)
        if not self._prefixes:
            warnings.warn(
                f"no word of the vocabulary holds {joiner[:60]!r} between two others, so no phrases are "
                "joined: phrases is the text between the words of a phrase, such as '_'",
                stacklevel=3,
            )

    def segment(self, tokens: Sequence[str]) -> list[str]:
        """Return the best segmentation, phrases joined.

        Among equally good segmentations, the one with the longest first segment is chosen, then the one with
        the longest second segment, and so on.
        """
        n = len(tokens)
        # cost[i], of the best segmentation of tokens[i:]: unknown tokens and segments as one number that
        # orders like the pair, since there are at most n segments
        per_oov = n + 1
        cost = [0] * (n + 1)
        end = [0] * n
        piece = list(tokens)
        for i in range(n - 1, -1, -1):
            text = tokens[i]
            best = cost[i + 1] + 1 + (0 if text in self._words else per_oov)
            stop = i + 1
            j = i + 1
            while j < n and text in self._prefixes:
                text = f"{text}{self.joiner}{tokens[j]}"
                j += 1
                if text in self._words and cost[j] + 1 <= best:
                    best, stop = cost[j] + 1, j
                    piece[i] = text
            cost[i], end[i] = best, stop
        out = []
        i = 0
        while i < n:
            out.append(piece[i])
            i = end[i]
        return out


def segmented_counts(
    sentences: Iterable[str | Sequence[str]],
    words: Iterable[str],
    joiner: str,
    *,
    tokenizer: str = "words",
    lowercase: bool = True,
) -> tuple[Counter[str], int]:
    """Count the words and phrases of sentences: the input of Algorithm 1 of Zeng 2019.

    Parameters
    ----------
    sentences : iterable of str or list of str
    words : iterable of str
        The vocabulary, with its phrases.
    joiner : str
        The text between the words of a phrase.
    tokenizer, lowercase
        For sentences that are strings.

    Returns
    -------
    counts : Counter
        Of known words, phrases and unknown tokens.
    n_sentences : int
    """
    dictionary = PhraseDictionary(words, joiner)
    counts: Counter[str] = Counter()
    n_sentences = 0
    for sentence in sentences:
        tokens = tokenize(sentence, tokenizer, lowercase) if isinstance(sentence, str) else sentence
        counts.update(dictionary.segment(tokens))
        n_sentences += 1
    return counts, n_sentences
