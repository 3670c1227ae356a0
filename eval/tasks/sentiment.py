"""Text classification from averaged word vectors: sentiment, subjectivity, question types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.sentence_sets import LabelledSentences
from wordvec_ca.eval.lookup import RULE, Infer, Vectors, in_known_forms, used_rows, with_phrases
from wordvec_ca.eval.probes import logistic_regression
from wordvec_ca.eval.report import Report, digest_of

MEANS = "mean of the vectors of a text's words"

# Values of C that are tried.
GRID = tuple(10.0**k for k in range(-4, 5))


@dataclass(frozen=True)
class ClassificationData:
    """Labelled texts, with or without a division into train, dev and test."""

    name: str
    train: LabelledSentences
    # With both, C is chosen on dev, and the accuracy is measured on test. With one of them, C is chosen by
    # cross-validation on train, and the accuracy is measured on that part. With neither, both are done by
    # cross-validation.
    dev: LabelledSentences | None = None
    test: LabelledSentences | None = None


def evaluate(
    vectors: Vectors,
    data: ClassificationData,
    *,
    seed: int = 1,
    folds: int = 5,
    grid: tuple[float, ...] = GRID,
    phrases: str | None = None,
    infer: Infer | None = None,
) -> Report:
    """Classify texts by L2-regularised logistic regression on the mean of their words' vectors."""
    # For a model of documents, the features are the vectors that it infers.
    from threadpoolctl import threadpool_limits

    if phrases is not None:
        parts = {
            part: replace(texts, sentences=with_phrases(vectors, texts.sentences, phrases))
            for part in ("train", "dev", "test")
            if (texts := getattr(data, part)) is not None
        }
        data = replace(data, **parts)
    names = sorted(set(data.train.labels))
    with threadpool_limits(1):
        train = _examples(vectors, data.train, names, infer)
        held_out = data.test or data.dev
        if held_out is None:
            right, chosen = _cross_validated(train, folds, grid, seed)
            judged = train
            how = f"{folds}-fold cross-validation, C by the accuracy on a {folds}th of the training folds"
        else:
            judged = _examples(vectors, held_out, names, infer)
            if data.dev is not None and data.test is not None:
                dev = _examples(vectors, data.dev, names, infer)
                accuracies = _path(train, dev, grid)
                how = "accuracy on test, C by the accuracy on dev"
            else:
                accuracies = _validated(train, folds, grid, seed)
                part = "dev" if data.test is None else "test"
                how = f"accuracy on {part}, C by {folds}-fold cross-validation on train"
            best = grid[int(np.argmax(accuracies))]
            chosen = [best]
            fitted = logistic_regression.fit(train.features, train.classes, best)
            right = (fitted.predict(judged.features) == judged.classes).astype(np.float64)
    neutral = sum(part.dropped for part in (data.train, data.dev, data.test) if part is not None)
    majority = np.bincount(train.classes).argmax()
    report = Report(
        "sentiment",
        data.name,
        n=len(right),
        coverage=float(judged.known.sum() / judged.lengths.sum()),
        coverage_of="tokens",
        seed=seed,
        protocol=f"{'vectors of texts, inferred' if infer else MEANS}, scaled together to unit mean "
        f"variance, L2 logistic regression, C of {grid[0]:g} .. {grid[-1]:g}; {how}; {RULE}; words without a "
        "vector are left out",
        items={"right": right},
        digest=digest_of(*_read(data)),
        details={
            "C": chosen,
            "classes": names,
            "train": len(train.classes),
            "majority_accuracy": float((judged.classes == majority).mean()),
            "texts_without_vectors": int((judged.known == 0).sum()),
            "oov_tokens": int((judged.lengths - judged.known).sum()),
            "neutral_left_out": neutral,
        },
    )
    report.measure("accuracy", "mean", "right")
    if (judged.known == 0).any():
        report.notes.append(f"{int((judged.known == 0).sum())} texts have no word with a vector: all zeros")
    if neutral:
        report.notes.append(f"{neutral:,} neutral sentences of all parts were left out")
    if empty := sum(part.empty for part in (data.train, data.dev, data.test) if part is not None):
        report.notes.append(f"{empty:,} texts without a word were left out")
    return report


def _read(data: ClassificationData) -> Iterator[Sequence[object]]:
    """Yield the labels and the texts of all parts."""
    for part in (data.train, data.dev, data.test):
        if part is not None:
            yield part.labels
            yield part.sentences


@dataclass(frozen=True)
class _Examples:
    features: np.ndarray  # (n_texts, vector_size), float32
    classes: np.ndarray  # (n_texts,), int64
    group: np.ndarray  # (n_texts,), int64: equal texts have equal numbers
    known: np.ndarray
    lengths: np.ndarray

    def part(self, chosen: np.ndarray) -> _Examples:
        return _Examples(*(column[chosen] for column in vars(self).values()))


def _examples(
    vectors: Vectors, data: LabelledSentences, names: list[str], infer: Infer | None = None
) -> _Examples:
    number = {name: i for i, name in enumerate(names)}
    for label in data.labels:
        if label not in number:
            raise DataError(
                f"{data.name}: the class {label!r} does not occur in the training texts ({names})"
            )
    means, known, lengths = _averages(vectors, data.sentences)
    used = np.asarray(vectors.vectors)
    if infer is not None:
        used = means = infer(in_known_forms(vectors, data.sentences))
    # One factor for all dimensions, so that C means the same for small and for large vectors.
    scale = float(np.sqrt(used[: min(len(used), 20_000)].var(axis=0, dtype=np.float64).mean()))
    texts: dict[tuple[str, ...], int] = {}
    group = np.array([texts.setdefault(tuple(sentence), len(texts)) for sentence in data.sentences])
    classes = np.array([number[label] for label in data.labels], dtype=np.int64)
    return _Examples(means / np.float32(scale if scale > 0 else 1.0), classes, group, known, lengths)


def _averages(
    vectors: Vectors, sentences: Sequence[Sequence[str]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average the vectors of each sentence's words; a repeated word counts each time."""
    used, column_of = used_rows(vectors, sentences)
    columns = [[c for word in sentence if (c := column_of[word]) < len(used)] for sentence in sentences]
    known = np.array([len(c) for c in columns], dtype=np.int64)
    flat = np.array([c for each in columns for c in each], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(known)])
    counts = csr_array((np.ones(len(flat), dtype=np.float32), flat, offsets), shape=(len(columns), len(used)))
    matrix = np.array(vectors.vectors[used], dtype=np.float32).reshape(len(used), vectors.vectors.shape[1])
    means = np.asarray(counts @ matrix, dtype=np.float32) / np.maximum(known, 1)[:, None].astype(np.float32)
    return means, known, np.array([len(sentence) for sentence in sentences], dtype=np.int64)


def _path(train: _Examples, test: _Examples, grid: tuple[float, ...]) -> np.ndarray:
    """Return the accuracy on test for each C; each fit starts from the weights of the one before."""
    accuracies = np.empty(len(grid))
    fitted = None
    for i, C in enumerate(grid):
        fitted = logistic_regression.fit(train.features, train.classes, C, start=fitted)
        accuracies[i] = (fitted.predict(test.features) == test.classes).mean()
    return accuracies


def _validated(train: _Examples, folds: int, grid: tuple[float, ...], seed: int) -> np.ndarray:
    """Return the mean accuracy over the folds for each C."""
    fold = _folds(train, folds, seed)
    scores = [_path(train.part(fold != f), train.part(fold == f), grid) for f in range(folds)]
    return np.asarray(np.mean(scores, axis=0))


def _cross_validated(
    train: _Examples, folds: int, grid: tuple[float, ...], seed: int
) -> tuple[np.ndarray, list[float]]:
    """Return the outcome of each text when it was held out, and the C chosen without each fold."""
    fold = _folds(train, folds, seed)
    right = np.empty(len(train.classes))
    chosen = []
    for f in range(folds):
        rest = train.part(fold != f)
        inner = _folds(rest, folds, seed + 1) == 0
        C = grid[int(np.argmax(_path(rest.part(~inner), rest.part(inner), grid)))]
        fitted = logistic_regression.fit(rest.features, rest.classes, C)
        held_out = train.part(fold == f)
        right[fold == f] = fitted.predict(held_out.features) == held_out.classes
        chosen.append(C)
    return right, chosen


def _folds(data: _Examples, folds: int, seed: int) -> np.ndarray:
    """Assign texts to folds so that each class is spread evenly and equal texts stay together."""
    rng = np.random.default_rng([seed, 0xF01D])
    fold_of_group = np.full(int(data.group.max()) + 1, -1)
    start = 0
    for c in np.unique(data.classes):
        groups = np.unique(data.group[data.classes == c])
        groups = rng.permutation(groups[fold_of_group[groups] < 0])
        if len(groups) < folds:
            raise DataError(f"a class has {len(groups)} different texts, fewer than {folds} folds")
        fold_of_group[groups] = (start + np.arange(len(groups))) % folds
        start += len(groups)
    return np.asarray(fold_of_group[data.group])
