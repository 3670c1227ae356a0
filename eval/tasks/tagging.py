"""Part-of-speech tagging: a linear classifier on the vectors of a word and its neighbours."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.treebanks import TaggedCorpus
from wordvec_ca.eval.lookup import RULE, Vectors, types_of
from wordvec_ca.eval.probes import logistic_regression
from wordvec_ca.eval.report import Report, digest_of

# Training sentences of the learning curve, besides all of them.
SIZES = (500, 2_000)

# With fewer test tokens a corpus is judged in folds: at an accuracy of .9 the standard error of 2,500 is
# .006, as much as models differ by. Such a corpus has at most about 20,000 tokens, so its folds take no
# longer than the one division of the Penn Treebank sample.
ENOUGH = 2_500

# The usual few: four fifths of a small corpus are enough to learn from, and each fold costs one fit.
FOLDS = 5


@dataclass(frozen=True)
class TaggingData:
    """Tagged sentences for training and for testing."""

    name: str
    train: TaggedCorpus
    test: TaggedCorpus
    # The other folds of a small corpus, which test on the rest of its sentences
    others: tuple[TaggingData, ...] = ()

    @property
    def folds(self) -> tuple[TaggingData, ...]:
        """All divisions into training and test; only this one if it is large."""
        return (self, *self.others)

    @property
    def test_sentences(self) -> list[list[str]]:
        """Test sentences of all folds, in the order of the outcomes."""
        return [sentence for fold in self.folds for sentence in fold.test.sentences]

    def units(self) -> tuple[np.ndarray, str]:
        """Return for each test token what is drawn for intervals, and its name."""
        lengths = [len(sentence) for sentence in self.test_sentences]
        sources = [source for fold in self.folds for source in fold.test.sources]
        # One test part is of few documents, folds are of all of them: so only folds draw documents.
        if self.others and len(set(sources)) > 1:
            return np.repeat(np.unique(sources, return_inverse=True)[1], lengths), "documents"
        return np.repeat(np.arange(len(lengths)), lengths), "sentences"

    def digest(self) -> str:
        """Return the digest of sentences and tags."""
        corpora = (corpus for fold in self.folds for corpus in (fold.train, fold.test))
        return digest_of(*(part for corpus in corpora for part in (corpus.sentences, corpus.tags)))

    def training_sizes(self, sizes: tuple[int, ...]) -> list[int]:
        """Return the sizes that are smaller than all training parts, then that of the largest."""
        lengths = [len(fold.train) for fold in self.folds]
        return [size for size in sorted(set(sizes)) if size < min(lengths)] + [max(lengths)]


def evaluate(
    vectors: Vectors,
    data: TaggingData,
    *,
    seed: int = 1,
    sizes: tuple[int, ...] = SIZES,
    reach: int = 2,
    C: float = 0.01,
    steps: int = 60,
    progress: Callable[[str], None] = lambda line: None,
) -> Report:
    """Tag words from the vectors of the words around them."""
    # The classifier sees nothing else: no spelling, and of a word without a vector only that it has none.
    # So the task measures what the vectors know about syntax, and not how well text can be tagged.
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    tags = sorted({tag for corpus in (data.train, data.test) for each in corpus.tags for tag in each})
    number = {tag: i for i, tag in enumerate(tags)}
    table, row_of = _table(vectors, data)
    counts = data.training_sizes(sizes)
    outcomes: dict[int, list[np.ndarray]] = {size: [] for size in counts}
    fits = []
    progress(f"    {data.train.tag_note()}")
    with threadpool_limits(1):
        for fold in data.folds:
            order = np.random.default_rng([seed, 0x7A6]).permutation(len(fold.train))
            everything = range(len(fold.test))
            test_features, gold = _features(fold.test, everything, table, row_of, number, reach)
            for size in counts:
                chosen = np.sort(order[:size]).tolist()
                features, classes = _features(fold.train, chosen, table, row_of, number, reach)
                fitted = logistic_regression.fit(features, classes, C, steps=steps)
                outcomes[size].append((fitted.predict(test_features) == gold).astype(np.float64))
                fits.append(
                    {"sentences": len(chosen), "tokens": len(classes), "steps": int(fitted.n_iter_[0])}
                )
                del features
                progress(f"    {len(chosen):,} training sentences: {outcomes[size][-1].mean():.4f} are right")
    items = {f"right@{size}": np.concatenate(of_size) for size, of_size in outcomes.items()}
    right = items[f"right@{counts[-1]}"]
    is_seen = np.concatenate([_is_seen(fold) for fold in data.folds])
    test_words = [word for sentence in data.test_sentences for word in sentence]
    known = np.array([row_of[word] < len(table) - 2 for word in test_words])
    items["right_if_unseen"] = np.where(is_seen, np.nan, right)
    items["baseline"] = np.concatenate([_most_frequent_tag(fold) for fold in data.folds])
    units, of_what = data.units()
    in_folds = f"; {len(data.folds)} folds" if data.others else ""
    report = Report(
        task="tagging",
        dataset=data.name,
        metrics={},
        n=len(right),
        coverage=float(known.mean()),
        coverage_of="tokens",
        seed=seed,
        protocol=f"logistic regression on the vectors of a word and {reach} neighbours on each side, scaled "
        f"together to unit mean variance; marks for sentence ends and for words without a vector; C = {C:g}, "
        f"{steps} steps of L-BFGS; the vectors are not changed; {RULE}{in_folds}; bootstrap over {of_what}",
        items=items,
        units=units,
        digest=data.digest(),
        details={
            "tags": len(tags),
            "fits": fits,
            "oov_tokens": int((~known).sum()),
            "unseen_tokens": int((~is_seen).sum()),
            "accuracy_without_vector": float(right[~known].mean()) if (~known).any() else float("nan"),
            "most_frequent_tag_accuracy": float(items["baseline"].mean()),
        },
    )
    report.measure("accuracy", "mean", f"right@{counts[-1]}")
    if (~is_seen).any():
        report.measure("accuracy-unseen", "mean", "right_if_unseen")
    for size in counts[:-1]:
        report.measure(f"accuracy@{size}", "mean", f"right@{size}")
    report.notes.append(data.train.tag_note())
    report.notes.append(
        f"giving each word its most frequent tag in training (nouns to new words) is right for "
        f"{report.details['most_frequent_tag_accuracy']:.3f}"
    )
    report.seconds = time.perf_counter() - started
    return report


def divided(corpus: TaggedCorpus) -> TaggingData:
    """Divide a corpus into training and test sentences without cutting a document."""
    # The last eighth of the documents in the order of their names is the test part; in the Penn Treebank
    # sample it is wsj_0150 and later. Without documents it is the last eighth of the sentences.
    documents = sorted(set(corpus.sources))
    if len(documents) > 1:
        test = set(documents[-max(1, len(documents) // 8) :])
        if "wsj_0001" in documents[0]:  # the usual division
            test = {name for name in documents if name[:8] >= "wsj_0150"} or test
        return _parted(corpus, [source in test for source in corpus.sources])
    cut = len(corpus) - max(1, len(corpus) // 8)
    if cut < 1:
        raise DataError(
            f"{corpus.name}: it is read as one sentence, which cannot be divided into training and test; "
            "expected a blank line, or the end of a line, after each sentence"
        )
    return _parted(corpus, [i >= cut for i in range(len(corpus))])


def folded(corpus: TaggedCorpus) -> TaggingData:
    """Divide a corpus as ``divided`` if that judges enough tokens, else into folds that judge each once."""
    one = divided(corpus)
    if one.test.n_tokens >= ENOUGH:
        return one
    tokens = Counter[str]()
    for source, words in zip(corpus.sources, corpus.sentences, strict=True):
        tokens[source] += len(words)
    if len(tokens) > 1:
        # Documents differ much in size: the longest first, each to the shortest fold, makes folds alike.
        lengths = [0] * min(FOLDS, len(tokens))
        fold_of: dict[str, int] = {}
        for source in sorted(tokens, key=lambda source: (-tokens[source], source)):
            fold_of[source] = lengths.index(min(lengths))
            lengths[fold_of[source]] += tokens[source]
        numbers = [fold_of[source] for source in corpus.sources]
    else:  # Blocks of consecutive sentences, since neighbours are mostly from one document
        n_folds = min(FOLDS, len(corpus))
        numbers = [i * n_folds // len(corpus) for i in range(len(corpus))]
    folds = [_parted(corpus, [fold == n for n in numbers]) for fold in range(max(numbers) + 1)]
    return replace(folds[0], others=tuple(folds[1:]))


def _parted(corpus: TaggedCorpus, is_test: list[bool]) -> TaggingData:
    """Return a corpus whose sentences are for training or, where it is said, for testing."""
    train, test = (
        corpus.at([i for i, tested in enumerate(is_test) if tested == wanted], f"{corpus.name}.{part}")
        for part, wanted in (("train", False), ("test", True))
    )
    return TaggingData(corpus.name, train, test)


def _table(vectors: Vectors, data: TaggingData) -> tuple[np.ndarray, dict[str, int]]:
    """Return feature rows of all words, then one for unknown words and one for outside of the sentence."""
    used, row_of = types_of(vectors, data.train.sentences + data.test.sentences, data.name)
    dim = vectors.vectors.shape[1]
    table = np.zeros((len(used) + 2, dim + 2), dtype=np.float32)
    table[:-2, :dim] = vectors.vectors[used]
    scale = np.sqrt(table[:-2, :dim].var(axis=0, dtype=np.float64).mean())
    if scale > 0:
        table /= np.float32(scale)
    table[-2, dim] = table[-1, dim + 1] = 1.0
    return table, row_of


def _features(
    corpus: TaggedCorpus,
    chosen: range | list[int],
    table: np.ndarray,
    row_of: dict[str, int],
    number: dict[str, int],
    reach: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the words of the chosen sentences, (n_tokens, n_features), and their tags."""
    outside = len(table) - 1
    margin = [outside] * reach
    padded: list[int] = []
    inner: list[int] = []
    classes: list[int] = []
    for s in chosen:
        padded += margin
        inner += range(len(padded), len(padded) + len(corpus.sentences[s]))
        padded += [row_of[word] for word in corpus.sentences[s]]
        padded += margin
        classes += [number[tag] for tag in corpus.tags[s]]
    rows, at = np.array(padded), np.array(inner)
    width = table.shape[1]
    features = np.empty((len(at), (2 * reach + 1) * width), dtype=np.float32)
    for slot in range(2 * reach + 1):
        features[:, slot * width : (slot + 1) * width] = table[rows[at + slot - reach]]
    return features, np.array(classes)


def _is_seen(data: TaggingData) -> np.ndarray:
    """Return for each test token whether its word occurs in training."""
    seen = {word for sentence in data.train.sentences for word in sentence}
    return np.array([word in seen for sentence in data.test.sentences for word in sentence])


def _most_frequent_tag(data: TaggingData) -> np.ndarray:
    """Return the outcome of giving words their most frequent tag, and new words that of rare ones."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in zip(data.train.sentences, data.train.tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            counts[word][tag] += 1
    best = {word: of_word.most_common(1)[0][0] for word, of_word in counts.items()}
    rare = Counter(best[word] for word, of_word in counts.items() if of_word.total() == 1)
    of_new = rare.most_common(1)[0][0] if rare else next(iter(best.values()))
    return np.array(
        [
            float(best.get(word, of_new) == tag)
            for words, tags in zip(data.test.sentences, data.test.tags, strict=True)
            for word, tag in zip(words, tags, strict=True)
        ]
    )
