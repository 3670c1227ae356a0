"""Which words have changed between texts: models of the texts, and of their documents dealt anew."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from wordvec_ca.corpus import Corpus, Vocab, count_corpus, encode_corpus
from wordvec_ca.errors import DataError, Option
from wordvec_ca.machine import free_memory
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, TrainConfig, memory_bytes
from wordvec_ca.training.trainer import Trainer
from wordvec_ca.vectors import (
    DECIDABLE,
    SHOWN,
    Changes,
    KeyedVectors,
    Moved,
    WordChange,
    directions,
    false_discovery_rate,
    moved,
    nearest_words,
    one_blas_thread,
    p_values,
    standardised,
)

USUAL = TrainConfig(model="skipgram", window=10, epochs=10)
"""What is trained unless said otherwise."""

READ = 30_000_000
"""Of longer texts so many words are read in all passes together, but each word at least twice."""

BAND = 1.645
"""Standard deviations to each side that hold 90 % of a normal distribution."""


def changes(
    *texts: Corpus,
    config: TrainConfig | None = None,
    permutations: int = 20,
    repeats: int = 1,
    least: int = DECIDABLE,
    fit_epochs: bool | None = None,
    progress: Callable[[str], None] | None = None,
) -> Changes:
    """Find the words that have changed between two or more texts, with p-values.

    A model of each text is trained; then the documents (lines) are dealt anew into texts of as many
    documents, ``permutations`` times, and models of these say what chance gives. With several workers as many
    pairs of texts are trained side by side, each with one thread if there are enough of them: the result does
    not depend on the number of workers then.

    Parameters
    ----------
    *texts : corpus
        Two or more; files, or lists of token lists or lines, see ``encode_corpus``.
    config : TrainConfig, optional
        How models are trained; by default skip-gram with a window of 10 in 10 epochs.
    permutations : int, default 20
        Dealt texts, at least 5.
    repeats : int, default 1
        Models of each text, with seeds of their own, whose measures are averaged: less noise.
    least : int, default 10
        Words that stand less often in a text are undecided.
    fit_epochs : bool, optional
        Choose the passes over the texts by their length, instead of those of ``config``: 10, and fewer if the
        longest text has more than 3 million words, but at least 2. By default if there is no ``config``.
    progress : callable, optional
        Called with a line about what was done.

    Returns
    -------
    Changes

    Raises
    ------
    ValueError
        An option is outside its limits, or there are fewer than two texts.
    DataError
        A text cannot be read, or the texts have too little in common.
    """
    if len(texts) < 2:
        raise ValueError(f"changes compares two texts or more; got {len(texts)}")
    if permutations < 5 or repeats < 1:
        raise ValueError(
            f"permutations is {permutations} and repeats {repeats}; they must be at least 5 and 1"
        )
    resolved = ResolvedConfig.of(config or USUAL)
    tell = progress or (lambda line: None)
    slices = Slices(texts, resolved, least)
    if config is None if fit_epochs is None else fit_epochs:
        slices.fit_epochs()
    tell(slices.description)
    return slices.compared(permutations, repeats, tell)


@dataclass(frozen=True)
class Measured:
    """Measures of one way to deal the documents.

    Attributes
    ----------
    distance, turnover : ndarray of shape (n_pairs, n_words)
        nan where a word was too rare.
    counts : ndarray of shape (n_texts, n_words)
    first, last : dict of str to list of str
        Neighbours of each word in the first text and in the last; empty for dealt texts.
    """

    distance: np.ndarray
    turnover: np.ndarray
    counts: np.ndarray
    first: dict[str, list[str]]
    last: dict[str, list[str]]

    @property
    def evenness(self) -> np.ndarray:
        """Harmonic mean of the counts, shape (n_words,)."""
        return len(self.counts) / (1 / np.maximum(self.counts, 0.5)).sum(axis=0)


class Slices:
    """Texts, encoded once with one vocabulary, whose lines can be dealt anew.

    Parameters
    ----------
    texts : sequence of corpus
    config : ResolvedConfig
    least : int
        A word must stand so often in each text to be judged.
    """

    def __init__(self, texts: Sequence[Corpus], config: ResolvedConfig, least: int) -> None:
        self.config = config
        self._stopping, self._at_work = False, set[Trainer]()
        options = config.text_options()
        every_word = dataclasses.replace(options, min_count=1, max_final_vocab=None)
        total: Counter[str] = Counter()
        for text in texts:
            if isinstance(text, Iterator):
                raise DataError("a text is read twice: give files or lists, not an iterator")
            vocab, _ = count_corpus(text, every_word)
            total.update(dict(zip(vocab.words, vocab.counts.tolist(), strict=True)))
        self.vocab = Vocab.from_counts(total).prune(config.min_count)
        with tempfile.TemporaryDirectory(prefix="cawv-") as folder:
            parts = []
            for number, text in enumerate(texts):
                place = os.path.join(folder, str(number))
                with encode_corpus(text, options, vocab=self.vocab, cache_dir=place) as encoded:
                    parts.append(np.array(encoded.tokens))
        self.tokens = np.concatenate(parts)
        ends = np.flatnonzero(self.tokens < 0) + 1
        self.lengths = np.diff(ends, prepend=0)
        lines = [int((part < 0).sum()) for part in parts]
        self.labels = np.repeat(np.arange(len(parts)), lines)
        self.shared = lines_of_all(self.tokens, self.lengths, self.labels)
        self.counts = np.stack([self._count(part) for part in parts])
        self.rows = np.flatnonzero((self.counts >= max(least, config.min_count)).all(axis=0))
        self._check(lines)

    def _check(self, lines: list[int]) -> None:
        """Raise a DataError if the texts cannot be compared."""
        if min(lines) < 2:
            raise DataError(
                "a text has fewer than two lines; its documents, one a line, cannot be dealt anew"
            )
        shares = [row[self.rows].sum() / max(1, row.sum()) for row in self.counts]
        sizes = self.counts.sum(axis=1)
        tokens, documents = (" and ".join(f"{n:,}" for n in numbers) for numbers in (sizes, lines))
        if len(self.rows) < 50:
            raise DataError(
                f"the texts have {tokens} tokens, and only {len(self.rows)} words stand often enough in "
                "every text to be judged; 50 are needed. Give longer texts of one language, split alike, or "
                "lower ",
                Option("least"),
            )
        if min(shares) < 0.5:
            raise DataError(
                f"the words common to all texts make only {min(shares):.0%} of one of them: these are texts "
                f"of different languages, or not split alike, or one is far too short; they have {tokens} "
                "tokens"
            )
        self.description = f"{tokens} tokens in {documents} lines; {len(self.rows):,} words can be judged"
        if sizes.max() > 20 * sizes.min():
            self.description += (
                "\nNote: the texts differ more than twentyfold in size; only great changes can be seen"
            )
        if self.shared.all():
            self.description += (
                "\nNote: the texts have the same lines: nothing changed; the models differ by chance alone"
            )
        elif self.shared.mean() > 0.1:
            self.description += (
                f"\nNote: {self.shared.mean():.0%} of the lines are in every text; they are not dealt anew"
            )

    def fit_epochs(self) -> None:
        """Choose the passes over the texts by the length of the longest."""
        epochs = min(USUAL.epochs, max(2, READ // int(self.counts.sum(axis=1).max())))
        self.config = dataclasses.replace(self.config, epochs=epochs)

    @one_blas_thread
    def compared(self, permutations: int, repeats: int, tell: Callable[[str], None]) -> Changes:
        """Measure the texts and dealt texts, as many at a time as there are workers; judge the words."""
        at_once = max(1, min(self.config.threads, permutations + 1, int(0.8 * free_memory() / self._bytes())))
        self.config = dataclasses.replace(self.config, workers=max(1, self.config.threads // at_once))
        dealt: dict[int, Measured] = {}
        with ThreadPoolExecutor(at_once) as pool:
            jobs = {pool.submit(self._dealt, number, repeats): number for number in range(permutations + 1)}
            try:
                waiting = set(jobs)
                while waiting:  # a short wait, so that signals are handled meanwhile
                    done, waiting = wait(waiting, 0.2, FIRST_COMPLETED)
                    for job in done:
                        dealt[jobs[job]] = job.result()
                        number = sum(number > 0 for number in dealt)
                        tell(
                            f"dealt texts: {number} of {permutations}"
                            if jobs[job]
                            else "models of the texts are trained"
                        )
            except BaseException:
                self._stopping = True
                pool.shutdown(wait=False, cancel_futures=True)
                for trainer in list(self._at_work):
                    trainer.interrupt()
                raise
        return self.judged(dealt.pop(0), [dealt[number] for number in sorted(dealt)])

    def _dealt(self, number: int, repeats: int) -> Measured:
        """Measure the texts, number 0, or dealt texts."""
        if not number:
            return self.measured(self.labels, repeats, 0)
        labels, free = self.labels.copy(), ~self.shared
        labels[free] = np.random.default_rng([self.config.seed, number]).permutation(labels[free])
        return self.measured(labels, repeats, number)

    def _bytes(self) -> int:
        """Return about how much memory it takes to measure once."""
        models = memory_bytes(dataclasses.replace(self.config, workers=1, replicas=None), len(self.vocab))
        return len(self.counts) * models + 4 * self.tokens.nbytes

    def _count(self, tokens: np.ndarray) -> np.ndarray:
        return np.bincount(tokens[tokens >= 0], minlength=len(self.vocab))

    def measured(self, labels: np.ndarray, repeats: int, number: int) -> Measured:
        """Train models of the texts that the labels of the lines make, and measure how far words moved."""
        of_tokens = np.repeat(labels, self.lengths)
        texts = [self.tokens[of_tokens == label] for label in range(len(self.counts))]
        counts = np.stack([self._count(text) for text in texts])
        near: tuple[dict[str, list[str]], ...] = ({}, {})
        runs = []
        for repeat in range(repeats):
            models = [
                self._trained(text, found, 1 + repeat + repeats * (label + len(texts) * number))
                for label, (text, found) in enumerate(zip(texts, counts, strict=True))
            ]
            runs.append(self._moved(models))
            if number == 0 and repeat == 0:
                near = (self._near(models[0]), self._near(models[-1]))
        distance = np.mean([[pair.distance for pair in run] for run in runs], axis=0)
        turnover = np.mean([[pair.turnover for pair in run] for run in runs], axis=0)
        return Measured(distance, turnover, counts[:, self.rows], *near)

    def _trained(self, tokens: np.ndarray, counts: np.ndarray, seed: int) -> KeyedVectors:
        """Return vectors of one text."""
        kept = np.flatnonzero(counts >= self.config.min_count)
        vocab = Vocab([self.vocab.words[row] for row in kept], counts[kept])
        ids = np.full(len(self.vocab) + 1, -2, np.int32)  # the last place is for the end of a line
        ids[[self.vocab.index[word] for word in vocab.words]] = np.arange(len(vocab))
        ids[-1] = -1
        renumbered = ids[tokens]
        model = EmbeddingModel(dataclasses.replace(self.config, seed=self.config.seed * 1000 + seed), vocab)
        model.initialise()
        trainer = Trainer(model, np.ascontiguousarray(renumbered[renumbered > -2]))
        self._at_work.add(trainer)
        if self._stopping:
            raise KeyboardInterrupt
        trainer.run()
        self._at_work.discard(trainer)
        return model.wv

    def _moved(self, models: Sequence[KeyedVectors]) -> list[Moved]:
        """Return how far the words moved, for each pair of models; nan for those that one has not."""
        words = [self.vocab.words[row] for row in self.rows]
        known = np.array([all(word in model.key_to_index for model in models) for word in words])
        common = [word for word, is_known in zip(words, known, strict=True) if is_known]
        turned = [
            directions(model.vectors[[model.key_to_index[word] for word in common]]) for model in models
        ]
        pairs = []
        for first, second in combinations(turned, 2):
            found = moved(first, second)
            full = np.full((2, len(words)), np.nan)
            full[:, known] = found
            pairs.append(Moved(*full))
        return pairs

    def _near(self, model: KeyedVectors) -> dict[str, list[str]]:
        """Return the nearest common words of each word."""
        words = [self.vocab.words[row] for row in self.rows]
        return nearest_words(words, directions(model.vectors[[model.key_to_index[word] for word in words]]))

    def judged(self, observed: Measured, dealt: Sequence[Measured]) -> Changes:
        """Return what is known of each word."""
        evenness = observed.evenness
        dealt_evenness = np.stack([one.evenness for one in dealt])
        measures = [
            standardised(
                getattr(observed, name).mean(axis=0),
                np.stack([getattr(one, name).mean(axis=0) for one in dealt]),
                evenness,
                dealt_evenness,
            )
            for name in ("distance", "turnover")
        ]
        first, second = measures
        both = p_values(first.z + second.z, first.chance + second.chance, evenness)
        alone = [p_values(m.z, m.chance, evenness) for m in measures]
        rate = false_discovery_rate(both)
        from_first = observed.distance[: len(self.counts) - 1]
        by_chance = np.stack([one.distance[: len(self.counts) - 1] for one in dealt])
        bands = np.nanquantile(by_chance, 0.95, axis=0)
        words = []
        for i, row in enumerate(self.rows):
            word = self.vocab.words[row]
            was, is_now = observed.first[word], observed.last[word]
            excess, noise = first.excess[i], first.noise[i]
            words.append(
                WordChange(
                    word=word,
                    counts=tuple(observed.counts[:, i].tolist()),
                    distance=float(observed.distance[:, i].mean()),
                    turnover=float(observed.turnover[:, i].mean()),
                    change=float(excess),
                    low=float(excess - BAND * noise),
                    high=float(excess + BAND * noise),
                    p=float(both[i]),
                    fdr=float(rate[i]),
                    p_distance=float(alone[0][i]),
                    p_turnover=float(alone[1][i]),
                    lost=tuple(near for near in was[:SHOWN] if near not in is_now),
                    gained=tuple(near for near in is_now[:SHOWN] if near not in was),
                    trajectory=tuple(from_first[:, i].tolist()),
                    band=tuple(bands[:, i].tolist()),
                )
            )
        words.sort(key=lambda one: (np.isnan(one.p), one.p, -one.change))
        judged = set(self.rows.tolist())
        shared = (self.counts > 0).all(axis=0)
        undecided = [
            (self.vocab.words[row], tuple(self.counts[:, row].tolist()))
            for row in np.flatnonzero(shared).tolist()
            if row not in judged
        ]
        only = []
        for text in range(len(self.counts)):
            alone_here = (self.counts > 0).sum(axis=0) == 1
            rows = np.flatnonzero(alone_here & (self.counts[text] > 0)).tolist()
            only.append([(self.vocab.words[row], int(self.counts[text, row])) for row in rows])
        return Changes(words, undecided, only, len(dealt))


def lines_of_all(tokens: np.ndarray, lengths: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return which lines are in every text, as often as they are in each.

    It makes no difference which text has which copy of them. So they stay where they are when lines are
    dealt: else dealt texts would have less in common than the texts.

    Parameters
    ----------
    tokens : ndarray of shape (n_tokens,), int32
    lengths, labels : ndarray of shape (n_lines,)
        Tokens of each line, and its text.

    Returns
    -------
    ndarray of shape (n_lines,), bool
    """
    ends = np.cumsum(lengths).tolist()
    keys = [hash(tokens[start:end].tobytes()) for start, end in zip([0, *ends], ends, strict=False)]
    _, kind = np.unique(np.array(keys, np.int64), return_inverse=True)
    copies = np.zeros((kind.max() + 1, labels.max() + 1), np.int64)
    np.add.at(copies, (kind, labels), 1)
    order = np.lexsort((labels, kind))
    starts = np.cumsum(copies.ravel()) - copies.ravel()
    rank = np.arange(len(order)) - starts[(kind * copies.shape[1] + labels)[order]]
    found = np.zeros(len(order), bool)
    found[order] = rank < copies.min(axis=1)[kind[order]]
    return found
