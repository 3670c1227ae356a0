"""Finds the words that have changed between texts, by their contexts and by their moves between models."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import combinations

import numpy as np

from wordvec_ca.change.contexts import RARITY, Contexts, Differences
from wordvec_ca.change.evidence import examples, names
from wordvec_ca.change.permutations import LabelPermutations, line_numbers
from wordvec_ca.change.result import (
    DECIDABLE,
    FALSE_DISCOVERIES,
    FUNCTION_WORD,
    Changes,
    WordChange,
    missing_from,
    nearest_words,
)
from wordvec_ca.change.statistics import (
    Moved,
    false_discovery_rate,
    harmonic_mean_count,
    moved,
    p_values,
    ranks,
    smallest_p,
    typical,
)
from wordvec_ca.corpus import (
    Corpus,
    DocumentStarts,
    Vocab,
    count_corpus,
    encode_corpus,
    likeness_of_neighbours,
)
from wordvec_ca.errors import DataError, Option
from wordvec_ca.machine import free_memory
from wordvec_ca.models import EmbeddingModel, ResolvedConfig, TrainConfig, memory_bytes
from wordvec_ca.tables import one_blas_thread
from wordvec_ca.text import Documents
from wordvec_ca.training import Trainer
from wordvec_ca.vectors import KeyedVectors, directions

# Options of training if ``config`` is not given.
USUAL = TrainConfig(model="skipgram", window=10, epochs=10)

# Words read in all epochs together: for longer texts the models get fewer epochs, but at least two.
READ = 30_000_000

# Numbers of permutations: the default, the smallest and the largest.
PERMUTATIONS, LEAST_PERMUTATIONS, MOST_PERMUTATIONS = 200, 20, 10_000

# Number of words for which example sentences are looked up.
WITH_EXAMPLES = 200

# Number of models of each text.
REPEATS = 5

# Within this many standard deviations of the mean are 90 % of a normal distribution.
BAND = 1.645


def changes(
    *texts: Corpus | Documents,
    config: TrainConfig | None = None,
    permutations: int = PERMUTATIONS,
    repeats: int = REPEATS,
    least: int = DECIDABLE,
    fit_epochs: bool | None = None,
    n_examples: int = WITH_EXAMPLES,
    leave_out_names: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Changes:
    """Find the words that have changed between two or more texts, with p-values.

    A model of all texts is trained, and its vectors serve to compare the contexts of each word. The documents
    (lines) that contain the word are permuted among the texts, ``permutations`` times, which gives the
    distribution under chance. Models of each text show how far words moved and which neighbours changed.
    With several workers the models are trained side by side; as long as there are no more workers than
    models, the result does not depend on their number.

    Parameters
    ----------
    *texts : corpus
        Two or more texts: files or lists of token lists (see ``encode_corpus``), whose lines are the
        documents, or `Documents`.
    config : TrainConfig, optional
        How models are trained; by default skip-gram with a window of 10 in 10 epochs.
    permutations : int, default 200
        Number of permutations of the documents, from 20 to 10,000.
    repeats : int, default 5
        Number of models of each text, each with its own seed; distance and turnover are their means. With one
        model, the distance agrees less with people's judgements (Spearman .43 instead of .50 in English, .55
        instead of .61 in German).
    least : int, default 10
        Words with fewer occurrences in any text are undecided; not below the ``min_count`` of ``config``.
    fit_epochs : bool, optional
        Choose the number of epochs by the length of the texts, not by ``config``: 10, or fewer (at least 2)
        if the longest text has more than 3 million words. True by default if there is no ``config``.
    n_examples : int, default 200
        Look up example sentences for this number of first words of the result, by reading the texts again.
    leave_out_names : bool, default False
        Do not judge words that have a capital in most places inside sentences: in English they are names.
    progress : callable, optional
        Receives a line of text about each finished step.

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
    if not LEAST_PERMUTATIONS <= permutations <= MOST_PERMUTATIONS:
        raise ValueError(
            f"permutations is {permutations}; it should be from {LEAST_PERMUTATIONS} to {MOST_PERMUTATIONS}"
        )
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; it should be at least 1")
    usual = dataclasses.replace(USUAL, min_count=min(USUAL.min_count, least))
    resolved = ResolvedConfig.of(config or usual)
    if config is None or config.vectors is None:  # p-values and intervals are computed from input vectors
        resolved = dataclasses.replace(resolved, vectors="input")
    tell = progress or (lambda line: None)
    slices = Slices(texts, resolved, least)
    if config is None if fit_epochs is None else fit_epochs:
        slices.fit_epochs()
    if leave_out_names:
        slices.leave_out_names()
    tell(slices.description)
    return slices.compared(permutations, repeats, tell, n_examples)


def _in_documents(tokens: np.ndarray, starts: DocumentStarts) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens, reordered so that a document's lines are adjacent, and the document of each line."""
    ends = np.flatnonzero(tokens < 0) + 1
    lengths = np.diff(ends, prepend=0)
    document = starts.of(ends - lengths)
    if (np.diff(document) >= 0).all():
        return tokens, document
    order = np.argsort(document, kind="stable")
    return np.concatenate([tokens[ends[i] - lengths[i] : ends[i]] for i in order]), document[order]


def _share(value: float) -> float:
    """Limit a change to the range from 0 (not more than in permuted texts) to 1 (opposite contexts)."""
    return float(min(max(value, 0.0), 1.0))


class Slices:
    """Texts, encoded once with one vocabulary, whose documents can be permuted."""

    def __init__(self, texts: Sequence[Corpus | Documents], config: ResolvedConfig, least: int) -> None:
        self.config = config
        self._texts = texts
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
        grouped = [isinstance(text, Documents) for text in texts]
        self.grouped = all(grouped)
        if any(grouped) and not self.grouped:
            raise DataError("some texts have documents of several lines and others do not; give all alike")
        with tempfile.TemporaryDirectory(prefix="cawv-") as folder:
            parts, documents = [], []
            for number, text in enumerate(texts):
                place = os.path.join(folder, str(number))
                with encode_corpus(text, options, vocab=self.vocab, cache_dir=place) as encoded:
                    tokens = np.array(encoded.tokens)
                    if encoded.starts is not None:
                        tokens, of_lines = _in_documents(tokens, encoded.starts)
                        documents.append(of_lines)
                    parts.append(tokens)
        self.tokens = np.concatenate(parts)
        ends = np.flatnonzero(self.tokens < 0) + 1
        self.lengths = np.diff(ends, prepend=0)
        lines = [int((part < 0).sum()) for part in parts]
        self.labels = np.repeat(np.arange(len(parts)), lines)
        if self.grouped:
            before = np.cumsum([0, *(of_lines.max(initial=-1) + 1 for of_lines in documents)])
            numbers = [of_lines + first for of_lines, first in zip(documents, before, strict=False)]
            self.groups = np.unique(np.concatenate(numbers), return_inverse=True)[1]
        else:
            self.groups = np.arange(len(self.labels))
        of_groups = np.zeros(int(self.groups.max(initial=-1)) + 1, np.int64)
        of_groups[self.groups] = self.labels
        sizes = np.bincount(self.groups, self.lengths).astype(np.int64)
        self.label_permutations = LabelPermutations(of_groups, line_numbers(self.tokens, sizes))
        lines = np.bincount(of_groups, minlength=len(parts)).tolist()
        self.counts = np.stack([self._count(part) for part in parts])
        self.rows = np.flatnonzero((self.counts >= max(least, config.min_count)).all(axis=0))
        self._check(lines)

    def _check(self, lines: list[int]) -> None:
        """Raise a DataError if the texts cannot be compared."""
        if min(lines) < 2:
            raise DataError(
                "a text has fewer than two documents; they cannot be permuted"
                + ("" if self.grouped else ". Each line is taken for one")
            )
        shares = [row[self.rows].sum() / max(1, row.sum()) for row in self.counts]
        sizes = self.counts.sum(axis=1)
        tokens, documents = (" and ".join(f"{n:,}" for n in numbers) for numbers in (sizes, lines))
        if len(self.rows) < 50:
            raise DataError(
                f"the texts have {tokens} tokens, and only {len(self.rows)} words occur often enough in "
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
        what = "documents" if self.grouped else "lines"
        self.description = f"{tokens} tokens in {documents} {what}; {len(self.rows):,} words can be judged"
        for caution in self._cautions(sizes):
            warnings.warn(caution, stacklevel=4)

    def _cautions(self, sizes: np.ndarray) -> Iterator[str]:
        """Yield warnings about texts in which changes are hard to detect."""
        if sizes.max() > 20 * sizes.min():
            yield "the texts differ more than twentyfold in size; only great changes can be seen"
        of_every_text, movable = self.label_permutations.of_every_text(), self.label_permutations.movable()
        if of_every_text == 1:
            yield "the texts have the same lines: nothing changed; the models differ by chance alone"
        elif movable < 0.5:
            yield (
                f"only {movable:.0%} of the lines can be permuted: no other text has a line with as many "
                "copies as the others, so their words show no change. Remove copies that are mistakes"
            )
        elif of_every_text > 0.1:
            yield f"{of_every_text:.0%} of the lines are in every text; they say nothing about change"

    def fit_epochs(self) -> None:
        """Choose the number of epochs by the length of the longest text."""
        epochs = min(USUAL.epochs, max(2, READ // int(self.counts.sum(axis=1).max())))
        self.config = dataclasses.replace(self.config, epochs=epochs)

    def leave_out_names(self) -> None:
        """Leave names out of the words that are judged."""
        found = names(self._texts, self.config.text_options())
        kept = [row for row in self.rows.tolist() if self.vocab.words[row] not in found]
        self.description += f"; {len(self.rows) - len(kept):,} names are left out"
        self.rows = np.array(kept, dtype=self.rows.dtype)

    @one_blas_thread
    def compared(
        self, permutations: int, repeats: int, tell: Callable[[str], None], n_examples: int = 0
    ) -> Changes:
        """Train the models, as many at a time as there are workers, and judge the words."""
        together, models = self._models(repeats, tell)
        turned = [[self._directions(model) for model in of_texts] for of_texts in models]
        apart = [[moved(*pair) for pair in combinations(of_texts, 2)] for of_texts in turned]
        words = [self.vocab.words[row] for row in self.rows]
        near = nearest_words(words, turned[0][0]), nearest_words(words, turned[0][-1])
        contexts = self.contexts(together)
        # Nothing larger than a file can be proposed, and files in order of their names may well be alike.
        if not all(isinstance(text, Documents) and text.group_by == "files" for text in self._texts):
            self._warn_of_dependent_documents(together)
        of_texts = models[0]
        del models, turned
        differences = self._differences(contexts, permutations, tell)
        found = dataclasses.replace(self._judged(differences, apart, near), models=of_texts)
        return self._with_examples(found, together, n_examples)

    def _with_examples(self, found: Changes, together: KeyedVectors, n_examples: int) -> Changes:
        """Add example sentences to the first words."""
        counts = self.counts.sum(axis=0)
        weights = RARITY / (RARITY + counts / counts.sum())
        vectors = self._of_all_words(together) * weights[:, None].astype(np.float32)
        of_words = examples(
            self._texts,
            [one.word for one in found.words[:n_examples]],
            dict(zip(self.vocab.words, vectors, strict=True)),
            self.config.text_options(),
            self.config.reach,
        )
        words = [dataclasses.replace(one, examples=of_words.get(one.word, ())) for one in found.words]
        return dataclasses.replace(found, words=words)

    def _models(
        self, repeats: int, tell: Callable[[str], None]
    ) -> tuple[KeyedVectors, list[list[KeyedVectors]]]:
        """Return a model of all texts, and for each repeat a model of each text."""
        n_texts = len(self.counts)
        chosen = [np.ones(len(self.labels), bool)]
        chosen += [self.labels == text for _ in range(repeats) for text in range(n_texts)]
        at_once = max(1, min(self.config.threads, len(chosen), int(0.8 * free_memory() / self._bytes())))
        config = dataclasses.replace(self.config, workers=max(1, self.config.threads // len(chosen)))
        found: dict[int, KeyedVectors] = {}
        with ThreadPoolExecutor(at_once) as pool:
            jobs = {pool.submit(self._trained, lines, n, config): n for n, lines in enumerate(chosen)}
            try:
                waiting = set(jobs)
                while waiting:  # a short wait, so that signals are handled meanwhile
                    done, waiting = wait(waiting, 0.2, FIRST_COMPLETED)
                    for job in done:
                        found[jobs[job]] = job.result()
                        tell(f"{len(found)} of {len(chosen)} models are trained")
            except BaseException:
                self._stopping = True
                pool.shutdown(wait=False, cancel_futures=True)
                for trainer in list(self._at_work):
                    trainer.interrupt()
                raise
        of_texts = [found[number] for number in range(1, len(found))]
        return found[0], [of_texts[i : i + n_texts] for i in range(0, len(of_texts), n_texts)]

    def _of_all_words(self, together: KeyedVectors) -> np.ndarray:
        """Return the directions of the words in a model of all texts."""
        return directions(together.vectors[[together.key_to_index[word] for word in self.vocab.words]])

    def contexts(self, together: KeyedVectors) -> Contexts:
        """Return the contexts of the words, computed with the vectors of a model of all texts."""
        counts = self.counts.sum(axis=0)
        groups = self.groups if self.grouped else None
        return Contexts(self.tokens, self._of_all_words(together), counts, self.config.reach, groups)

    def _warn_of_dependent_documents(self, together: KeyedVectors) -> None:
        """Warn if documents that follow each other are more alike than documents far apart."""
        found = likeness_of_neighbours(
            self.tokens,
            self.groups,
            self.labels[np.unique(self.groups, return_index=True)[1]],
            self._of_all_words(together),
            self.counts.sum(axis=0),
            self.config.seed,
        )
        if found.dependent:
            consequence = "The values of p below are too small: words seem changed that are not"
            warnings.warn(found.caution(consequence, "document" if self.grouped else "line"), stacklevel=5)

    def _differences(self, contexts: Contexts, permutations: int, tell: Callable[[str], None]) -> Differences:
        """Return how far the contexts of the words differ between the texts."""
        n_words, compared = len(self.rows), 0

        def done(n: int) -> None:
            nonlocal compared
            tenths = 10 * compared // n_words
            compared += n
            if 10 * compared // n_words > tenths:
                tell(f"contexts: {compared:,} of {n_words:,} words")

        return contexts.differences(
            self.label_permutations,
            self.rows,
            permutations,
            self.config.seed,
            threads=self.config.threads,
            done=done,
        )

    def _bytes(self) -> int:
        """Estimate the memory for training one model."""
        models = memory_bytes(dataclasses.replace(self.config, workers=1, replicas=None), len(self.vocab))
        return models + 3 * self.tokens.nbytes

    def _count(self, tokens: np.ndarray) -> np.ndarray:
        return np.bincount(tokens[tokens >= 0], minlength=len(self.vocab))

    def _trained(self, lines: np.ndarray, number: int, config: ResolvedConfig) -> KeyedVectors:
        """Return the vectors of a model that is trained on some of the lines."""
        tokens = self.tokens[np.repeat(lines, self.lengths)]
        counts = self._count(tokens)
        kept = np.flatnonzero(counts >= config.min_count)
        vocab = Vocab([self.vocab.words[row] for row in kept], counts[kept])
        ids = np.full(len(self.vocab) + 1, -2, np.int32)  # the last entry is for the end of a line
        ids[[self.vocab.index[word] for word in vocab.words]] = np.arange(len(vocab))
        ids[-1] = -1
        renumbered = ids[tokens]
        model = EmbeddingModel(dataclasses.replace(config, seed=(config.seed * 1000 + number) % 2**63), vocab)
        model.initialise()
        trainer = Trainer(model, np.ascontiguousarray(renumbered[renumbered > -2]))
        self._at_work.add(trainer)
        if self._stopping:
            raise KeyboardInterrupt
        trainer.run()
        self._at_work.discard(trainer)
        return model.wv

    def _directions(self, model: KeyedVectors) -> np.ndarray:
        """Return the directions of the words that are judged."""
        return directions(model.vectors[[model.key_to_index[self.vocab.words[row]] for row in self.rows]])

    def _judged(
        self,
        differences: Differences,
        apart: Sequence[Sequence[Moved]],
        near: tuple[dict[str, list[str]], dict[str, list[str]]],
    ) -> Changes:
        """Return the result, with the data of each judged word."""
        counts = harmonic_mean_count(self.counts[:, self.rows])
        distance, turnover = (
            np.mean([[getattr(pair, name) for pair in pairs] for pairs in apart], axis=(0, 1))
            for name in ("distance", "turnover")
        )
        distance_rank, turnover_rank = ranks(distance, counts), ranks(turnover, counts)
        p = p_values(differences.gap, counts, self.config.seed)
        rate = false_discovery_rate(p)
        change = (differences.distance - differences.by_chance).mean(axis=0)
        half = BAND * differences.error
        usual, least_p = (
            typical(change, counts),
            smallest_p(counts, np.isfinite(p), differences.gap.shape[1] - 1),
        )
        share = self.counts.sum(axis=0)[self.rows] / self.counts.sum()
        later = len(self.counts) - 1  # the first pairs are those with the first text
        words = []
        for i in np.flatnonzero(np.isfinite(p)).tolist():
            word = self.vocab.words[self.rows[i]]
            was, is_now = near[0][word], near[1][word]
            words.append(
                WordChange(
                    word=word,
                    counts=tuple(self.counts[:, self.rows[i]].tolist()),
                    distance=float(distance[i]),
                    turnover=float(turnover[i]),
                    distance_rank=float(distance_rank[i]),
                    turnover_rank=float(turnover_rank[i]),
                    change=_share(change[i]),
                    low=_share(change[i] - half[i]),
                    high=_share(change[i] + half[i]),
                    typical=_share(usual[i]),
                    excess=float(change[i] - usual[i]),
                    changed=bool(
                        rate[i] <= FALSE_DISCOVERIES and change[i] > usual[i] and distance_rank[i] > 0.5
                    ),
                    function_word=bool(share[i] > FUNCTION_WORD),
                    p=float(p[i]),
                    fdr=float(rate[i]),
                    smallest_p=float(least_p[i]),
                    lost=missing_from(was, is_now),
                    gained=missing_from(is_now, was),
                    trajectory=tuple(differences.distance[:later, i].tolist()),
                    band=tuple(differences.band[:later, i].tolist()),
                )
            )
        # Of the measures, distance agrees best with people's order of the words. But rare words move farthest
        # by chance, so the words are ordered by the rank of their distance among words of similar frequency.
        words.sort(
            key=lambda one: (
                not one.changed,
                one.function_word,
                -one.distance_rank if one.changed else one.fdr,
                -one.excess,
            )
        )
        judged = {one.word for one in words}
        several = (self.counts > 0).sum(axis=0) > 1
        undecided = [
            (self.vocab.words[row], tuple(self.counts[:, row].tolist()))
            for row in np.flatnonzero(several).tolist()
            if self.vocab.words[row] not in judged
        ]
        only = []
        for text in range(len(self.counts)):
            alone_here = (self.counts > 0).sum(axis=0) == 1
            rows = np.flatnonzero(alone_here & (self.counts[text] > 0)).tolist()
            only.append([(self.vocab.words[row], int(self.counts[text, row])) for row in rows])
        documents = np.bincount(self.labels[np.unique(self.groups, return_index=True)[1]]).tolist()
        return Changes(words, undecided, only, differences.gap.shape[1] - 1, documents)
