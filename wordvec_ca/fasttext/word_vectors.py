"""Word vectors under fastText's names, from its options to a fastText model."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from wordvec_ca.corpus import LiveTokens, Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.fasttext.dictionary import Dictionary, encoded
from wordvec_ca.fasttext.model import Model
from wordvec_ca.fasttext.settings import stored_options
from wordvec_ca.kernels import LINE_END
from wordvec_ca.models import EmbeddingModel, ResolvedConfig
from wordvec_ca.runs import config_of_fasttext, progress_display, style_for_python
from wordvec_ca.specs.models import SPECS
from wordvec_ca.training import Trainer, end_of_line

ABSENT = -2

# Number of tokens after which fastText cuts a line.
LONGEST_LINE = 1_025

# Number of tokens that are handed out at a time.
BLOCK = 20_000


class PartsInTurn(LiveTokens):
    """A text that is read over and over: a pass has the next ``length`` tokens, up to the end of a line."""

    def __init__(self, tokens: np.ndarray, length: int) -> None:
        super().__init__((), {}, length)
        self._tokens, self._at, self._behind = tokens, 0, 0

    def blocks(self) -> Generator[np.ndarray]:
        """Yield the tokens of a pass, some at a time."""
        self._behind += len(self)
        while self._behind > 0:
            stop = min(self._at + min(self._behind, BLOCK), len(self._tokens))
            block = self._tokens[self._at : end_of_line(self._tokens, stop)]
            yield block
            self._behind -= len(block)
            self._at = (self._at + len(block)) % len(self._tokens)


def train_word_vectors(options: dict[str, Any]) -> Model:
    """Train skip-gram or CBOW vectors with n-grams of characters."""
    spec = next((s for s in SPECS if s.name == options["model"] and s.fasttext_number is not None), None)
    if spec is None:
        raise ValueError(f"model is {options['model']!r}: Unrecognized model name")
    if options["loss"] not in ("ns", "hs"):
        raise ValueError(f"loss is {options['loss']!r}; word vectors are trained with ns or hs")
    if options["pretrainedVectors"]:
        raise ValueError(
            "pretrainedVectors is for classifiers: go on from vectors with cawv train --continue-from"
        )
    types, tokens = encoded(options["input"])
    counts, labels = types.counts(), types.begin_with(options["label"].encode())
    kept = np.flatnonzero((counts >= max(1, options["minCount"])) & ~labels)
    kept = kept[np.argsort(-counts[kept], kind="stable")]
    if not len(kept):
        raise DataError("Empty vocabulary: the file has no word that occurs as often as minCount says")
    stored = stored_options(options, spec.fasttext_number or 0)
    # For fastText, an epoch is as many words of the vocabulary as the text has words, those below minCount
    # included: it reads on from the start of the text. Shares for sub-sampling are of all words, too.
    passes = stored.epoch * len(tokens) / (counts[kept].sum() + counts[labels].sum())
    words = types.words()  # a list of all types: made once, since each call decodes every one of them
    config = replace(
        config_of_fasttext(stored),
        cbow_update="word2vec",  # fastText's rates, such as 0.05, are for this step
        alpha=options["lr"],
        min_alpha=0.0,
        epochs=math.ceil(passes),
        workers=options["thread"],
        seed=options["seed"],
        min_count=1,
    )
    chosen, counts = [words[i] for i in kept.tolist()], counts[kept]
    names = [word.decode("utf-8", "surrogateescape") for word in chosen]
    vocab = Vocab.as_given(names, counts)
    vocab.total_count = len(tokens)
    model = EmbeddingModel(ResolvedConfig.of(config), vocab)
    model.initialise()
    text = _renumbered(types, tokens, kept)
    parts = PartsInTurn(text, math.ceil(len(text) * passes / config.epochs))
    with progress_display(style_for_python() if options["verbose"] > 1 else "none") as (displays, _):
        Trainer(model, parts).run(displays)
    inputs, places = model.inputs[:, : stored.dim], None
    if model.subwords is not None:
        index = model.subwords.index
        assert index.keys is not None
        rows = model.subwords.rows[:, : stored.dim]
        inputs = np.concatenate([rows[: len(chosen)], rows[index.rows]])
        places = np.full(stored.bucket, -1, np.int32)
        places[index.keys.astype(np.int64)] = np.arange(len(index.keys))
    outputs = np.zeros_like(inputs[: len(chosen)]) if config.hs else model.outputs[:, : stored.dim]
    dictionary = Dictionary(stored, chosen, counts, len(chosen), places=places)
    return Model(dictionary, np.ascontiguousarray(inputs), np.ascontiguousarray(outputs), len(tokens))


def _renumbered(types: Any, tokens: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the tokens as numbers of words of the vocabulary, with ``LINE_END`` after each line, which is
    cut where fastText cuts it.
    """
    numbers = np.full(len(types), ABSENT, np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    found = numbers[tokens]
    ends = np.flatnonzero(tokens == types.find(b"</s>")) + 1
    found = np.insert(found, ends, LINE_END)
    found = np.append(found[found != ABSENT], LINE_END)
    ends = np.flatnonzero(found == LINE_END)
    begins = np.append(0, ends[:-1] + 1)
    long = np.flatnonzero(ends - begins > LONGEST_LINE)
    cuts = [np.arange(begins[i] + LONGEST_LINE, ends[i], LONGEST_LINE) for i in long.tolist()]
    if cuts:
        found = np.insert(found, np.concatenate(cuts), LINE_END)
    return np.ascontiguousarray(found, np.int32)
