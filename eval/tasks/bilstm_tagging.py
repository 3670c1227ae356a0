"""Part-of-speech tagging with the bidirectional LSTM of Ling et al. 2015b; needs PyTorch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from wordvec_ca.errors import install_extra
from wordvec_ca.eval.lookup import Vectors, rows_of
from wordvec_ca.eval.report import Report
from wordvec_ca.eval.tasks.tagging import SIZES, TaggingData


def evaluate(
    vectors: Vectors,
    data: TaggingData,
    *,
    seed: int = 1,
    sizes: tuple[int, ...] = SIZES,
    epochs: int = 20,
    n_hidden: int = 150,
    restarts: int = 3,
    progress: Callable[[str], None] = lambda line: None,
) -> Report:
    """Tag words with a tagger that starts from the vectors and trains them further."""
    # The protocol of the "POS" column of Ling et al. 2015, Table 1, as far as it is known: words are
    # lower-cased, words that occur once in training are read as unknown half of the time, SGD with rate .3
    # and momentum .95 on 100 sentences, gradients clipped at 1, the epoch chosen on a tenth of the training
    # set.
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(f"the LSTM tagger needs PyTorch: {install_extra('torch')} ({error})") from error
    tags = sorted({tag for corpus in (data.train, data.test) for each in corpus.tags for tag in each})
    number = {tag: i for i, tag in enumerate(tags)}
    counts = data.training_sizes(sizes)
    items: dict[str, np.ndarray] = {}
    curves = []
    for size in counts:
        rights, accuracies = [], []
        for restart in range(restarts):
            state = (
                seed if restart == 0 else int(np.random.SeedSequence([seed, restart]).generate_state(1)[0])
            )
            parts = []
            for fold in data.folds:
                order = np.random.default_rng([seed, 0x7A6]).permutation(len(fold.train))
                right, of_epochs = _run(
                    vectors, fold, order[:size], number, state, epochs, n_hidden, progress
                )
                parts.append(right)
                accuracies.append(of_epochs)
            rights.append(np.concatenate(parts))
        items[f"right@{size}"] = np.stack(rights, axis=1)
        curves.append({"sentences": size, "dev_accuracy": accuracies})
    rows = rows_of(vectors, [word.lower() for sentence in data.test_sentences for word in sentence])
    units, of_what = data.units()
    in_folds = f"{len(data.folds)} folds; " if data.others else ""
    report = Report(
        "bilstm-tagging",
        data.name,
        n=len(rows),
        coverage=float((rows >= 0).mean()),
        coverage_of="tokens",
        seed=seed,
        protocol=f"bidirectional LSTM ({n_hidden} a direction) on lower-cased words, vectors trained "
        f"further, SGD .3 with momentum .95, 100 sentences a step, best of {epochs} epochs on a tenth of the "
        f"training sentences, mean of {restarts} networks; {in_folds}bootstrap over {of_what}",
        items=items,
        units=units,
        digest=data.digest(),
        details={"tags": len(tags), "curves": curves},
    )
    report.measure("accuracy", "mean", f"right@{counts[-1]}")
    for size in counts[:-1]:
        report.measure(f"accuracy@{size}", "mean", f"right@{size}")
    return report


def _run(
    vectors: Vectors,
    data: TaggingData,
    chosen: np.ndarray,
    number: dict[str, int],
    seed: int,
    epochs: int,
    n_hidden: int,
    progress: Callable[[str], None],
) -> tuple[np.ndarray, list[float]]:
    """Train on the chosen sentences; return the outcome of each test token, and dev accuracies."""
    import torch

    from wordvec_ca.eval.tasks.bilstm_tagger import BiLSTMTagger, fit_tagger, predict_tags

    n_dev = max(1, len(chosen) // 10)
    dev, train = chosen[:n_dev], chosen[n_dev:] if len(chosen) > 1 else chosen
    corpora = {"train": data.train, "test": data.test}
    lowered = {name: [[w.lower() for w in s] for s in corpus.sentences] for name, corpus in corpora.items()}
    times = Counter(word for i in train for word in lowered["train"][i])
    words = list(dict.fromkeys(word for sentences in lowered.values() for s in sentences for word in s))
    rows = rows_of(vectors, words)
    kept = [
        (word, row) for word, row in zip(words, rows.tolist(), strict=True) if row >= 0 or times[word] > 1
    ]
    row_of = {word: i + 1 for i, (word, _) in enumerate(kept)}
    known_rows = np.array([row for _, row in kept if row >= 0], dtype=np.int64)
    scale = float(np.asarray(vectors.vectors[known_rows]).std()) if len(known_rows) else 1.0
    table = np.random.default_rng([seed, 0xB2]).normal(0, scale, (len(kept) + 1, vectors.vectors.shape[1]))
    table[[i + 1 for i, (_, row) in enumerate(kept) if row >= 0]] = vectors.vectors[known_rows]
    table /= scale if scale > 0 else 1.0
    rare = np.array([False] + [times[word] == 1 for word, _ in kept])

    def encoded(name: str, which: np.ndarray) -> list[np.ndarray]:
        return [np.array([row_of.get(w, 0) for w in lowered[name][i]], dtype=np.int64) for i in which]

    def numbered(which: np.ndarray) -> list[np.ndarray]:
        return [np.array([number[tag] for tag in data.train.tags[i]], dtype=np.int64) for i in which]

    torch.manual_seed(seed)
    tagger = BiLSTMTagger(table.astype(np.float32), len(number), n_hidden)
    tagger, accuracies = fit_tagger(
        tagger,
        encoded("train", train),
        numbered(train),
        encoded("train", dev),
        numbered(dev),
        rare=rare,
        seed=seed,
        epochs=epochs,
        progress=progress,
    )
    test = encoded("test", np.arange(len(data.test)))
    gold = np.array([number[tag] for tags in data.test.tags for tag in tags])
    return (predict_tags(tagger, test) == gold).astype(np.float64), accuracies
