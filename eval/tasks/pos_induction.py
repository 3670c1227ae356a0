"""Unsupervised parts of speech: the states of a Gaussian hidden Markov model against gold tags.

Protocol of Lin et al. 2015 as Ling et al. 2015 use it (their Table 1, first column): as many states as gold
tags, a Gaussian over the word vectors in each state with a fixed variance, expectation maximisation,
Viterbi, V-measure.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.eval.data.treebanks import TaggedCorpus
from wordvec_ca.eval.lookup import RULE, Vectors, types_of
from wordvec_ca.eval.probes.gaussian_hmm import (
    MOST_STEPS,
    TOLERANCE,
    EncodedText,
    decode,
    k_means_plus_plus,
    train,
)
from wordvec_ca.eval.report import Report, digest_of
from wordvec_ca.eval.statistics.clustering import v_measure

# Tags of punctuation in the Penn Treebank and in Universal Dependencies.
PUNCTUATION = frozenset({"``", "''", ",", ".", ":", "-LRB-", "-RRB-", "(", ")", "HYPH", "NFP", "PUNCT"})


def evaluate(
    vectors: Vectors,
    data: TaggedCorpus,
    *,
    seed: int = 1,
    restarts: int = 10,
    variance: float = 1.0,
    workers: int = 2,
    progress: Callable[[str], None] = lambda line: None,
) -> Report:
    """Induce parts of speech and compare them with the gold tags.

    Parameters
    ----------
    vectors : KeyedVectors
    data : TaggedCorpus
    seed : int
        Restart r draws from ``default_rng([seed, r])``, so the result does not depend on ``workers``.
    restarts : int
        Starts from different k-means++ means; figures are means over them, since a single one varies much:
        V-measures of 10 restarts on the same vectors have a standard deviation of .02 to .05.
    variance : float
        Variance of the Gaussians in every dimension, relative to the mean variance of the dimensions over
        tokens.
    workers : int
        Restarts that run at the same time.
    progress : callable
        Called with a line of text after each restart.

    Returns
    -------
    Report
        ``v-measure`` and ``many-to-one`` over all tokens, and with ``-no-punct`` over the tokens without
        punctuation. The figure of the most likely restart, which other protocols report, is in the notes and
        in ``details``.
    """
    text, known = encode(vectors, data)
    tags = data.tag_set()
    tag_number = {tag: i for i, tag in enumerate(tags)}
    gold = np.array([tag_number[tag] for sentence in data.tags for tag in sentence])
    is_word = np.array([tag not in PUNCTUATION for sentence in data.tags for tag in sentence])

    def restart(r: int) -> tuple[float, int, np.ndarray]:
        rng = np.random.default_rng([seed, r])
        model = k_means_plus_plus(text, len(tags), variance, rng)
        model, likelihoods = train(model, text)
        return likelihoods[-1], len(likelihoods) - 1, decode(model, text)

    from threadpoolctl import threadpool_limits

    progress(f"    {data.tag_note()}")
    with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
        runs = []
        for run in pool.map(restart, range(restarts)):
            runs.append(run)
            progress(
                f"    restart {len(runs)} of {restarts}: {run[0] / len(gold):.4f} nats per token after "
                f"{run[1]} steps"
            )
    chosen = max(range(restarts), key=lambda r: runs[r][0])
    states = np.stack([run[2] for run in runs], axis=1)
    scores = [v_measure(gold, run[2]) for run in runs]
    details: dict[str, Any] = {
        "states": len(tags),
        "tokens": len(gold),
        "sentences": len(data),
        "types_with_vectors": len(text.vectors),
        "oov_tokens": int((~known).sum()),
        "restart": chosen,
        "restarts": [
            {"log_likelihood_per_token": run[0] / len(gold), "iterations": run[1], "v_measure": score}
            for run, score in zip(runs, scores, strict=True)
        ],
    }
    report = Report(
        "pos-induction",
        data.name,
        n=len(gold),
        coverage=float(known.mean()),
        coverage_of="tokens",
        seed=seed,
        protocol=f"first-order HMM, one Gaussian per state, as many states as gold tags; spherical "
        f"variance {variance:g} of the vectors' own; k-means++, EM to {TOLERANCE:g} nats per token or "
        f"{MOST_STEPS} steps, Viterbi, mean of {restarts} restarts; {RULE}; tokens "
        "without a vector are summed out; bootstrap over sentences",
        items={
            "gold": gold,
            "state": states,
            "gold_of_words": np.where(is_word, gold, np.nan),
        },
        units=np.repeat(np.arange(len(data)), [len(sentence) for sentence in data.sentences]),
        digest=digest_of(data.sentences, data.tags),
        candidates=len(text.vectors),
        candidates_digest=digest_of(known.tolist()),
        details=details,
    )
    report.measure("v-measure", "v-measure", "gold", "state")
    report.measure("many-to-one", "many-to-one", "gold", "state")
    if not is_word.all() and is_word.any():
        report.measure("v-measure-no-punct", "v-measure", "gold_of_words", "state")
        report.measure("many-to-one-no-punct", "many-to-one", "gold_of_words", "state")
    report.notes.append(data.tag_note())
    if restarts > 1:
        report.notes.append(
            f"V-measure of the {restarts} restarts: {min(scores):.3f} .. {max(scores):.3f}, standard "
            f"deviation {np.std(scores, ddof=1):.3f}; of the most likely one, which other protocols report, "
            f"{scores[chosen]:.3f}"
        )
    return report


def encode(vectors: Vectors, data: TaggedCorpus) -> tuple[EncodedText, np.ndarray]:
    """Return the corpus as types, with vectors centred and scaled, and which tokens have a vector."""
    # The scale makes the mean variance of the dimensions over the tokens 1. Without it the scale of an
    # embedding, which carries no information, would decide the result.
    used, type_of = types_of(vectors, data.sentences, data.name)
    tokens = np.array([type_of[word] for sentence in data.sentences for word in sentence], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in data.sentences])])
    matrix = np.asarray(vectors.vectors[used], dtype=np.float64)
    known = tokens < len(used)
    share = np.bincount(tokens[known], minlength=len(used)) / known.sum()
    matrix -= share @ matrix
    variances = share @ matrix**2
    if variances.mean() == 0:
        raise DataError(f"{data.name}: all its words have the same vector, so they cannot be distinguished")
    matrix /= np.sqrt(variances.mean())
    return EncodedText(matrix, tokens, offsets.astype(np.int64)), known
