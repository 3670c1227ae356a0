"""Semantic textual similarity: does the cosine of two sentence vectors follow people's scores?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.sentence_sets import SentencePairs
from wordvec_ca.eval.lookup import RULE, Infer, Vectors, in_known_forms, rows_of, with_phrases
from wordvec_ca.eval.report import Report, digest_of
from wordvec_ca.eval.statistics.resampling import pearson
from wordvec_ca.sentences import SentenceVectorizer
from wordvec_ca.vectors import KeyedVectors

_PLAIN = {"attention": False}
_PAPER = _PLAIN | {"method": "ca-sem"}

# Name -> parameters of a ``SentenceVectorizer``: SIF (Arora, Liang, Ma 2017), mean, uSIF (Ethayarajh 2018),
# CA-SEM with its weights times SIF's, and CA-SEM as in Zeng 2019, in three readings of eq. 18. The first is
# the headline.
READOUTS: dict[str, dict[str, Any]] = {
    "sif": _PLAIN | {"method": "sif"},
    "mean": _PLAIN | {"method": "mean"},
    "usif": _PLAIN | {"method": "usif"},
    "ca-sem-sif": _PLAIN | {"method": "ca-sem-sif"},
    "ca-sem": _PAPER,
    "ca-sem-full": _PAPER | {"readout": "full"},
    "ca-sem-full-no-oov": _PAPER | {"readout": "full-no-oov"},
}

# Readouts of vectors that carry attention weights: words count with their mean attention.
OF_ATTENTION: dict[str, dict[str, Any]] = {
    "attention": {"method": "attention"},
    "attention-sif": {"method": "sif", "attention": True},
    "attention-usif": {"method": "usif", "attention": True},
    "attention-ca-sem-sif": {"method": "ca-sem-sif", "attention": True},
}

# The readout of a model of documents: the vectors that it infers.
INFERRED = "infer"

SENTENCE_METHODS = (*READOUTS, *OF_ATTENTION)
"""Names of all readouts."""


@dataclass(frozen=True)
class SimilaritySets:
    """The data sets of one year, or a single data set."""

    name: str
    sets: list[SentencePairs]
    # Sentences from which a readout learns common directions, v0 and, if the vectors have none, word
    # frequencies. If it is empty, readouts learn from the sentences of each set.
    background: list[SentencePairs] = field(default_factory=list)


def evaluate(
    vectors: Vectors,
    data: SimilaritySets,
    *,
    seed: int = 1,
    a: float = 1e-3,
    readouts: Sequence[str] | Mapping[str, dict[str, Any]] | None = None,
    method: str | None = None,
    phrases: str | None = None,
    infer: Infer | None = None,
) -> Report:
    """Correlate cosines of sentence vectors with people's scores."""
    # A readout learns from the sentences of the background or, without one, for each set from both sides of
    # its pairs. Word frequencies come from the vectors' own counts or, without counts, from the same
    # sentences.
    settings = dict(readouts) if isinstance(readouts, Mapping) else READOUTS | OF_ATTENTION
    attends = getattr(vectors, "attention", None) is not None
    names = list(readouts or (settings if attends else READOUTS))
    names = list(dict.fromkeys(names if method is None else [method, *names]))
    if infer is not None and not vectors.vectors.shape[1]:
        names = []  # the words are known, and have no vectors to average
    if not attends and (lacking := [name for name in names if name in OF_ATTENTION]):
        raise DataError(
            f"the readout {lacking[0]!r} needs attention weights, which these vectors do not carry: give the "
            "model directory of an attention model, or another method"
        )
    gold = np.array([score for pairs in data.sets for score in pairs.scores], dtype=np.float64)
    part = np.repeat(np.arange(len(data.sets)), [len(pairs) for pairs in data.sets])
    known, counts, texts = _known(vectors, [*data.sets, *data.background], phrases)
    sets, background = texts[: len(data.sets)], [s for text in texts[len(data.sets) :] for s in text]
    tokens = [word for text in texts[: len(data.sets)] for sentence in text for word in sentence]
    bare = sum(not any(sentence) for text in texts[: len(data.sets)] for sentence in text)
    score = {
        name: np.concatenate(list(_cosines(known, counts, settings[name] | {"a": a}, sets, background)))
        for name in names
    }
    if infer is not None:
        names = [INFERRED, *names] if method is None else [*names, INFERRED]
        score[INFERRED] = np.concatenate(
            [
                _cosine(*(infer(in_known_forms(vectors, side)) for side in (pairs.first, pairs.second)))
                for pairs in data.sets
            ]
        )
    report = Report(
        "sts",
        data.name,
        n=len(gold),
        coverage=sum(map(bool, tokens)) / max(len(tokens), 1),
        coverage_of="tokens",
        seed=seed,
        protocol=f"cosine of sentence vectors against people's score, Pearson in each set, mean over the "
        f"sets without pooling; readouts as in eval/tasks/sts.py, SIF with a = {a:g}, p from "
        f"{'the sentences' if counts is None else 'the counts of the vectors'}, fitted on "
        f"{'other sentences' if background else 'the sentences of each set'}; sentences split into words, "
        f"signs and contractions; {RULE}; a sentence without a known word has cosine 0",
        items={"gold": gold, **score, "set": part},
        units=_sharing(data.sets),
        digest=digest_of(
            gold.tolist(), *(side for pairs in data.sets for side in (pairs.first, pairs.second))
        ),
        details={
            "sets": [pairs.name for pairs in data.sets],
            "unscored_pairs": sum(pairs.unscored for pairs in data.sets),
            "sentences_without_vectors": bare,
        },
    )
    for name in names:
        report.measure(name, "mean-pearson", "gold", name, "set")
    first, *others = names
    for i, pairs in enumerate(data.sets if len(data.sets) > 1 else []):
        report.items[f"{first} {pairs.name}"] = np.where(part == i, score[first], np.nan)
        report.measure(f"{first} {pairs.name}", "pearson", "gold", f"{first} {pairs.name}")
        for name in others:
            of_set = pearson(gold[part == i], score[name][part == i])
            report.details.setdefault(name, {})[pairs.name] = of_set
    if bare:
        report.notes.append(f"{bare} sentences have no word with a vector")
    if report.details["unscored_pairs"]:
        report.notes.append(f"{report.details['unscored_pairs']} pairs without a score were left out")
    if empty := sum(pairs.empty for pairs in data.sets):
        report.notes.append(f"{empty:,} pairs with a sentence without a word were left out")
    return report


def _sharing(sets: Sequence[SentencePairs]) -> np.ndarray:
    """Return a number for each pair that is the same for pairs that share a sentence: the unit of
    statistics.
    """
    # A model that is wrong about a sentence is wrong about all of its pairs, and sets repeat sentences: the
    # 459 pairs of SMTeuroparl have 27 originals, and with pairs as units two seeds differ there by twice
    # what the interval allows. Groups of all pairs that hang together would not do, since SICK would be a
    # single one; so a pair goes with that of its two sentences which has more pairs.
    sides = [
        (" ".join(one), " ".join(other))
        for pairs in sets
        for one, other in zip(pairs.first, pairs.second, strict=True)
    ]
    n_pairs = Counter(sentence for pair in sides for sentence in pair)
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(max(pair, key=n_pairs.__getitem__), len(numbers)) for pair in sides], np.int64
    )


def _known(
    vectors: Vectors, sets: Sequence[SentencePairs], phrases: str | None
) -> tuple[KeyedVectors, dict[str, int] | None, list[list[list[str]]]]:
    """Return the vectors that the sets need, all counts, and each set's sentences in words of the vectors."""
    # An unknown word becomes the empty string, so that it is still counted. No readout looks at the vectors
    # of words that do not occur.
    given = [[*pairs.first, *pairs.second] for pairs in sets]
    if phrases is not None:
        given = [with_phrases(vectors, text, phrases) for text in given]
    words = list(dict.fromkeys(w for text in given for s in text for w in s))
    rows = rows_of(vectors, words)
    name = {w: vectors.index_to_key[r] if r >= 0 else "" for w, r in zip(words, rows.tolist(), strict=True)}
    used = np.unique(rows[rows >= 0])
    keys = [vectors.index_to_key[row] for row in used.tolist()]
    matrix = np.array(vectors.vectors[used], dtype=np.float32).reshape(len(used), vectors.vectors.shape[1])
    attention = getattr(vectors, "attention", None)
    needed = KeyedVectors(keys, matrix, attention=None if attention is None else lambda: attention[used])
    own = getattr(vectors, "counts", None)
    counts = None if own is None else dict(zip(vectors.index_to_key, np.asarray(own).tolist(), strict=True))
    texts = [[[name[w] for w in s] for s in text] for text in given]
    return needed, counts, texts


def _cosines(
    vectors: KeyedVectors,
    counts: dict[str, int] | None,
    setting: dict[str, Any],
    sets: Sequence[list[list[str]]],
    background: list[list[str]],
) -> Iterator[np.ndarray]:
    """Yield the cosines of the pairs of each set; 0 where a side is zero."""
    for text in sets:
        if not any(word for sentence in background or text for word in sentence):
            yield np.zeros(len(text) // 2)  # no word is known
            continue
        vectorizer = SentenceVectorizer(vectors, counts="fit" if counts is None else counts, **setting)
        rows = vectorizer.fit(background or text).transform(text)
        left, right = rows[: len(text) // 2], rows[len(text) // 2 :]
        yield _cosine(left, right)


def _cosine(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosines of the rows of two arrays; 0 where one is zero."""
    scale = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    found = np.einsum("nd,nd->n", left, right, dtype=np.float64)
    return np.asarray(found / np.where(scale > 0, scale, 1))
