"""Phrases as gensim finds them: words that follow each other more often than by chance, joined into one.

``cawv phrases`` and ``wordvec_ca.corpus.find_phrases`` do the same for text of any size, in C.
"""

from __future__ import annotations

import inspect
import json
import logging
import math
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from wordvec_ca.errors import DataError
from wordvec_ca.files import atomic_file, write_errors
from wordvec_ca.gensim.models.vocabulary import prune_vocab

logger = logging.getLogger("gensim.models.phrases")

_WORDS = ("a an the", "and or", "at by for from in of on to with without")
# Words that may occur inside an English phrase, as in "eye of the beholder".
ENGLISH_CONNECTOR_WORDS = frozenset(word for words in _WORDS for word in words.split())

NEVER = float("-inf")

# Names of the arguments of a scoring function.
ARGUMENTS = ("worda_count", "wordb_count", "bigram_count", "len_vocab", "min_count", "corpus_word_count")


def original_scorer(
    worda_count: float,
    wordb_count: float,
    bigram_count: float,
    len_vocab: float,
    min_count: float,
    corpus_word_count: float,
) -> float:
    """Return (n_ab - min_count) / (n_a n_b) * (number of types), after Mikolov et al. 2013, equation 6.

    Parameters are gensim's.
    """
    both = worda_count * wordb_count
    return (bigram_count - min_count) / both * len_vocab if both else NEVER


def npmi_scorer(
    worda_count: float,
    wordb_count: float,
    bigram_count: float,
    len_vocab: float,
    min_count: float,
    corpus_word_count: float,
) -> float:
    """Return normalised pointwise mutual information, from -1 to 1 (Bouma 2009).

    Parameters are gensim's.
    """
    if bigram_count < min_count or not (worda_count and wordb_count and bigram_count):
        return NEVER
    share = bigram_count / corpus_word_count
    by_chance = worda_count / corpus_word_count * (wordb_count / corpus_word_count)
    return math.log(share / by_chance) / -math.log(share) if share < 1 else NEVER


SCORERS: dict[str, Callable[..., float]] = {"default": original_scorer, "npmi": npmi_scorer}


class _PhrasesTransformation:
    """Joins the phrases of sentences; a subclass decides what a phrase is."""

    delimiter: str = "_"
    scoring: Callable[..., float]

    def __init__(self, connector_words: Iterable[str]) -> None:
        self.connector_words = frozenset(connector_words)

    def score_candidate(
        self, word_a: str, word_b: str, in_between: list[str]
    ) -> tuple[str, float] | tuple[None, None]:
        """Return the phrase from one word to another and its score, or (None, None) if it is not a phrase."""
        raise NotImplementedError

    def analyze_sentence(self, sentence: Iterable[str]) -> Iterator[tuple[str, float | None]]:
        """Yield the words and phrases of a sentence, phrases with their scores and words with None."""
        run: list[str] = []  # a word that may begin a phrase, and connector words after it
        for word in sentence:
            if word in self.connector_words:
                if run:
                    run.append(word)
                else:
                    yield word, None
                continue
            if run:
                phrase, score = self.score_candidate(run[0], word, run[1:])
                if phrase is not None:
                    yield phrase, score
                    run = []
                    continue
                yield from ((each, None) for each in run)
            run = [word]
        yield from ((each, None) for each in run)

    def __getitem__(self, sentence: Any) -> Any:
        """Return a sentence with its phrases joined; of several sentences, an iterable of them."""
        if isinstance(sentence, Iterator):
            first = list(_first(sentence))
            sentence = chain(first, sentence)
            return self._join(sentence) if first and isinstance(first[0], str) else Joined(self, sentence)
        first = list(_first(sentence))
        return self._join(sentence) if not first or isinstance(first[0], str) else Joined(self, sentence)

    def _join(self, sentence: Iterable[str]) -> list[str]:
        return [token for token, _ in self.analyze_sentence(sentence)]

    def find_phrases(self, sentences: Iterable[Iterable[str]]) -> dict[str, float]:
        """Return the phrases in some sentences, with their scores."""
        found = chain.from_iterable(self.analyze_sentence(sentence) for sentence in sentences)
        return {phrase: score for phrase, score in found if score is not None}

    def save(self, fname: str | os.PathLike[str], **_: Any) -> None:
        """Write everything to a JSON file that ``load`` reads.

        Raises
        ------
        DataError
            The scoring function is your own: a file cannot hold it, but ``pickle`` can refer to it. Or the
            file cannot be written.
        """
        names = {scorer: name for name, scorer in SCORERS.items()}
        if self.scoring not in names:
            raise DataError(
                f"the scoring function {self.scoring!r} cannot be saved: use pickle, which stores its name"
            )
        state = {
            **vars(self),
            "scoring": names[self.scoring],
            "connector_words": sorted(self.connector_words),
        }
        text = json.dumps({"class": type(self).__name__, **state}, ensure_ascii=False)
        with write_errors(fname), atomic_file(fname) as file:
            file.write(text.encode())

    @classmethod
    def load(cls, fname: str | os.PathLike[str], **_: Any) -> Any:
        """Read what ``save`` wrote: a `Phrases` or a `FrozenPhrases`.

        Raises
        ------
        DataError
            The file is of another kind, such as a pickle of gensim, which is not run.
        """
        try:
            state = json.loads(Path(fname).read_text(encoding="utf-8"))
            named = {"Phrases": Phrases, "FrozenPhrases": FrozenPhrases}.get(state.pop("class"))
            if named is None:
                raise ValueError("it is of another class")
            state["scoring"] = SCORERS[state["scoring"]]
            state["connector_words"] = frozenset(state["connector_words"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{os.fspath(fname)!r} holds no phrases that this version wrote ({error}); phrases of gensim "
                "are pickles, which are not run: find them again"
            ) from error
        kind: Any = cls if issubclass(cls, named) else named  # frozen phrases lack the counts
        phrases = kind.__new__(kind)
        vars(phrases).update(state)
        return phrases


class Joined:
    """Sentences with their phrases joined; they can be iterated as often as the sentences can."""

    def __init__(self, phrases: _PhrasesTransformation, sentences: Iterable[Any]) -> None:
        self._phrases, self._sentences = phrases, sentences

    def __iter__(self) -> Iterator[list[str]]:
        return (self._phrases._join(sentence) for sentence in self._sentences)


def _first(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        yield item
        return


class Phrases(_PhrasesTransformation):
    """Counts of words and pairs, and the phrases that are computed from them.

    Parameters
    ----------
    sentences : iterable of lists of str, optional
    min_count : float, default 5
        Rarer words and pairs are not phrases.
    threshold : float, default 10
        A pair is a phrase if its score is above this.
    max_vocab_size : int, default 40000000
        Largest number of words and pairs; while counting, the rarest beyond it are dropped.
    delimiter : str, default "_"
        Text between the words of a phrase.
    progress_per : int
        Ignored: there is a log record at the end.
    scoring : {"default", "npmi"} or callable
        ``original_scorer``, ``npmi_scorer``, or a function of the same arguments.
    connector_words : set of str
        Words that may occur inside a phrase, not at its ends, and do not count;
        ``ENGLISH_CONNECTOR_WORDS`` for English.

    Raises
    ------
    ValueError
        A parameter is outside its limits, or the scoring function has other arguments.
    """

    def __init__(
        self,
        sentences: Iterable[Iterable[str]] | None = None,
        min_count: float = 5,
        threshold: float = 10.0,
        max_vocab_size: int = 40_000_000,
        delimiter: str = "_",
        progress_per: int = 10_000,
        scoring: str | Callable[..., float] = "default",
        connector_words: Iterable[str] = frozenset(),
    ) -> None:
        super().__init__(connector_words)
        if min_count <= 0:
            raise ValueError(f"min_count is {min_count}; it must be at least 1")
        if scoring == "default" and threshold <= 0:
            raise ValueError(f"threshold is {threshold}; it must be positive with scoring 'default'")
        if scoring == "npmi" and not -1 <= threshold <= 1:
            raise ValueError(f"threshold is {threshold}; it must be from -1 to 1 with scoring 'npmi'")
        if isinstance(scoring, str):
            if scoring not in SCORERS:
                raise ValueError(f"scoring is {scoring!r}; it must be 'default', 'npmi' or a function")
            scoring = SCORERS[scoring]
        if missing := set(ARGUMENTS) - set(inspect.signature(scoring).parameters):
            raise ValueError(f"the scoring function lacks the arguments {', '.join(sorted(missing))}")
        self.scoring, self.min_count, self.threshold = scoring, min_count, threshold
        self.max_vocab_size, self.delimiter, self.progress_per = max_vocab_size, delimiter, progress_per
        self.vocab: dict[str, int] = {}
        self.min_reduce, self.corpus_word_count = 1, 0
        if sentences is not None:
            self.add_vocab(sentences)

    def __str__(self) -> str:
        return (
            f"{type(self).__name__}<{len(self.vocab)} vocab, min_count={self.min_count}, "
            f"threshold={self.threshold}, max_vocab_size={self.max_vocab_size}>"
        )

    def add_vocab(self, sentences: Iterable[Iterable[str]]) -> None:
        """Count the words and pairs of more sentences."""
        counts: dict[str, int] = {}
        min_reduce = 1
        for sentence in sentences:
            run: list[str] = []
            for word in sentence:
                self.corpus_word_count += 1
                if word in self.connector_words:
                    run += [word] if run else []
                    continue
                counts[word] = counts.get(word, 0) + 1
                if run:
                    pair = self.delimiter.join([*run, word])
                    counts[pair] = counts.get(pair, 0) + 1
                run = [word]
            min_reduce += self._prune(counts, min_reduce)
        if self.vocab:
            self.min_reduce = max(self.min_reduce, min_reduce)
            for token, count in counts.items():
                self.vocab[token] = self.vocab.get(token, 0) + count
            self.min_reduce += self._prune(self.vocab, self.min_reduce)
        else:
            self.vocab = counts
        logger.info("counted words and pairs: %s", self)

    def _prune(self, counts: dict[str, int], min_reduce: int) -> bool:
        """If there are too many, drop those of fewer than ``min_reduce`` occurrences, and say so."""
        if too_many := len(counts) > self.max_vocab_size:
            prune_vocab(counts, min_reduce)
        return too_many

    def score_candidate(
        self, word_a: str, word_b: str, in_between: list[str]
    ) -> tuple[str, float] | tuple[None, None]:
        """Return the phrase from one word to another and its score, or (None, None) if it is not a phrase."""
        phrase = self.delimiter.join([word_a, *in_between, word_b])
        counts = [self.vocab.get(token, 0) for token in (word_a, word_b, phrase)]
        if min(counts) <= 0:
            return None, None
        score = self.scoring(
            worda_count=counts[0],
            wordb_count=counts[1],
            bigram_count=counts[2],
            len_vocab=len(self.vocab),
            min_count=self.min_count,
            corpus_word_count=self.corpus_word_count,
        )
        return (phrase, score) if score > self.threshold else (None, None)

    def export_phrases(self) -> dict[str, float]:
        """Return all phrases with their scores."""
        found = {}
        for token in self.vocab:
            words = token.split(self.delimiter)
            if len(words) > 1:
                phrase, score = self.score_candidate(words[0], words[-1], words[1:-1])
                if phrase is not None and score is not None:
                    found[phrase] = score
        return found

    def freeze(self) -> FrozenPhrases:
        """Return the phrases without the counts."""
        return FrozenPhrases(self)


class FrozenPhrases(_PhrasesTransformation):
    """The phrases of `Phrases`, without the counts: smaller, and fixed.

    Parameters
    ----------
    phrases_model : Phrases

    Attributes
    ----------
    phrasegrams : dict of str to float
        Phrases and their scores.
    """

    def __init__(self, phrases_model: Phrases) -> None:
        super().__init__(phrases_model.connector_words)
        self.threshold, self.min_count = phrases_model.threshold, phrases_model.min_count
        self.delimiter, self.scoring = phrases_model.delimiter, phrases_model.scoring
        self.phrasegrams = phrases_model.export_phrases()

    def __str__(self) -> str:
        return (
            f"{type(self).__name__}<{len(self.phrasegrams)} phrases, min_count={self.min_count}, "
            f"threshold={self.threshold}>"
        )

    def score_candidate(
        self, word_a: str, word_b: str, in_between: list[str]
    ) -> tuple[str, float] | tuple[None, None]:
        """Return the phrase from one word to another and its score, or (None, None) if it is not a phrase."""
        phrase = self.delimiter.join([word_a, *in_between, word_b])
        score = self.phrasegrams.get(phrase, NEVER)
        return (phrase, score) if score > self.threshold else (None, None)


Phraser = FrozenPhrases
