"""Part-of-speech tagging: a linear classifier on the vectors of a word and its neighbours."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.treebanks import TaggedCorpus
from wordvec_ca.eval.lookup import RULE, Vectors, types_of
from wordvec_ca.eval.probes import logistic_regression
from wordvec_ca.eval.report import Report, digest_of

SIZES = (500, 2_000)
"""Training sentences of the learning curve, besides all of them."""


@dataclass(frozen=True)
class TaggingData:
    """Tagged sentences for training and for testing.

    Attributes
    ----------
    name : str
    train, test : TaggedCorpus
    """

    name: str
    train: TaggedCorpus
    test: TaggedCorpus


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
    """Tag words from the vectors of the words around them.

    The classifier sees nothing else: no spelling, and of a word without a vector only that it has none. So
    the task measures what the vectors know about syntax, and not how well text can be tagged.
    """
    from threadpoolctl import threadpool_limits

    started = time.perf_counter()
    tags = sorted({tag for corpus in (data.train, data.test) for each in corpus.tags for tag in each})
    number = {tag: i for i, tag in enumerate(tags)}
    table, row_of = _table(vectors, data)
    order = np.random.default_rng([seed, 0x7A6]).permutation(len(data.train))
    test_features, gold = _features(data.test, range(len(data.test)), table, row_of, number, reach)
    counts = [size for size in sorted(set(sizes)) if size < len(data.train)] + [len(data.train)]
    items: dict[str, np.ndarray] = {}
    fits = []
    with threadpool_limits(1):
        for size in counts:
            features, classes = _features(
                data.train, np.sort(order[:size]).tolist(), table, row_of, number, reach
            )
            fitted = logistic_regression.fit(features, classes, C, steps=steps)
            items[f"right@{size}"] = (fitted.predict(test_features) == gold).astype(np.float64)
            fits.append({"sentences": size, "tokens": len(classes), "steps": int(fitted.n_iter_[0])})
            del features
            progress(f"    {size:,} training sentences: {items[f'right@{size}'].mean():.4f} are right")
    right = items[f"right@{counts[-1]}"]
    seen = {word for sentence in data.train.sentences for word in sentence}
    test_words = [word for sentence in data.test.sentences for word in sentence]
    is_seen = np.array([word in seen for word in test_words])
    known = np.array([row_of[word] < len(table) - 2 for word in test_words])
    items["right_if_unseen"] = np.where(is_seen, np.nan, right)
    items["baseline"] = _most_frequent_tag(data)
    report = Report(
        task="tagging",
        dataset=data.name,
        metrics={},
        n=len(gold),
        coverage=float(known.mean()),
        coverage_of="tokens",
        seed=seed,
        protocol=f"logistic regression on the vectors of a word and {reach} neighbours on each side, scaled "
        f"together to unit mean variance; marks for sentence ends and for words without a vector; C = {C:g}, "
        f"{steps} steps of L-BFGS; the vectors are not changed; {RULE}; bootstrap over sentences",
        items=items,
        units=np.repeat(np.arange(len(data.test)), [len(sentence) for sentence in data.test.sentences]),
        digest=digest_of(*(part for each in (data.train, data.test) for part in (each.sentences, each.tags))),
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
    report.notes.append(
        f"giving each word its most frequent tag in training (nouns to new words) is right for "
        f"{report.details['most_frequent_tag_accuracy']:.3f}"
    )
    report.seconds = time.perf_counter() - started
    return report


def divided(corpus: TaggedCorpus) -> TaggingData:
    """Divide a corpus into training and test sentences without cutting a document.

    The last eighth of the documents in the order of their names is the test part; in the Penn Treebank sample
    it is wsj_0150 and later. Without documents it is the last eighth of the sentences.
    """
    documents = sorted(set(corpus.sources))
    if len(documents) > 1:
        test = set(documents[-max(1, len(documents) // 8) :])
        if "wsj_0001" in documents[0]:  # the usual division
            test = {name for name in documents if name[:8] >= "wsj_0150"} or test
        return TaggingData(
            corpus.name,
            corpus.where(lambda source: source not in test, f"{corpus.name}.train"),
            corpus.where(lambda source: source in test, f"{corpus.name}.test"),
        )
    cut = len(corpus) - max(1, len(corpus) // 8)
    if cut < 1:
        raise DataError(f"{corpus.name}: one sentence cannot be divided into training and test")
    halves = [
        TaggedCorpus(f"{corpus.name}.{part}", corpus.sentences[at], corpus.tags[at], corpus.sources[at])
        for part, at in (("train", slice(cut)), ("test", slice(cut, None)))
    ]
    return TaggingData(corpus.name, *halves)


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


def _most_frequent_tag(data: TaggingData) -> np.ndarray:
    """Return the outcome of giving words their most frequent tag, and new words that of rare ones."""
    counts: dict[str, dict[str, int]] = {}
    for words, tags in zip(data.train.sentences, data.train.tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            of_word = counts.setdefault(word, {})
            of_word[tag] = of_word.get(tag, 0) + 1
    best = {word: max(of_word, key=lambda tag: of_word[tag]) for word, of_word in counts.items()}
    rare: dict[str, int] = {}
    for of_word in counts.values():
        if sum(of_word.values()) == 1:
            tag = next(iter(of_word))
            rare[tag] = rare.get(tag, 0) + 1
    of_new = max(rare, key=lambda tag: rare[tag]) if rare else next(iter(best.values()))
    return np.array(
        [
            float(best.get(word, of_new) == tag)
            for words, tags in zip(data.test.sentences, data.test.tags, strict=True)
            for word, tag in zip(words, tags, strict=True)
        ]
    )
