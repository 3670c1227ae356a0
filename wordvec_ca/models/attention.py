"""Computes attention weights of a trained model, in a window (Ling et al. 2015, figure 1) and on average."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.corpus import Tag, Vocab
from wordvec_ca.errors import DataError
from wordvec_ca.files import Shade, data_frame, html_table
from wordvec_ca.models.config import TrainConfig
from wordvec_ca.models.directory import read_attention, read_config
from wordvec_ca.models.documents import document_logit
from wordvec_ca.models.parameters import EmbeddingModel
from wordvec_ca.models.sizes import logits_of
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.tables import Resamples, offsets_of
from wordvec_ca.vectors import interval

# The name of the document among the words of a window.
DOCUMENT = "[document]"


@dataclass(frozen=True)
class ContextWeight:
    """The attention that one context word gets.

    Attributes
    ----------
    word : str
    offset : int
        Position relative to the target: -1 is the word before it. In a model of documents, 0 is the document.
    weight : float or None
        Share of the attention in the window; shares add up to 1. None for a word without a vector, which is
        left out of the window.
    low, high : float
        90 % interval of the weight in one run on other text; nan if the model was not trained with resamples.
    """

    word: str
    offset: int
    weight: float | None
    low: float = math.nan
    high: float = math.nan


class WindowAttention(list[ContextWeight]):
    """The attention to the words of a window; a notebook shows it as a heat map.

    Parameters
    ----------
    found : iterable of ContextWeight
    target : str
        The word to be predicted.
    """

    def __init__(self, found: Iterable[ContextWeight], target: str) -> None:
        super().__init__(found)
        self.target = target

    def _repr_html_(self) -> str:
        """Return a line of words, coloured by their attention."""
        words: list[object] = [Shade(f"[{self.target}]", 0.0)]
        weights: list[object] = [Shade("", 0.0)]
        at, most = 0, max(one.weight or 0.0 for one in self)
        for one in self:
            strength = (one.weight or 0.0) / (most or 1.0)
            place = at if one.offset < 0 else len(words)
            words.insert(place, Shade(one.word, strength))
            weights.insert(place, Shade("-" if one.weight is None else f"{one.weight:.3f}", strength))
            at += one.offset < 0
        return html_table(f"attention of the words around {self.target}", (), [words, weights])

    def to_frame(self) -> Any:
        """Return a pandas data frame with the fields of `ContextWeight` as columns."""
        return data_frame(
            [field.name for field in dataclasses.fields(ContextWeight)], map(dataclasses.astuple, self)
        )


def attention_weights(
    directory: str | os.PathLike[str],
    sentence: Sequence[str],
    target: int,
    *,
    document: Tag | None = None,
) -> WindowAttention:
    """Return the attention that each word around a target gets.

    As in training, words outside the vocabulary are left out before the window is formed.

    Parameters
    ----------
    directory : path
        Model directory of a cbow-attn model.
    sentence : sequence of str
        Tokens.
    target : int
        Index of the word to be predicted.
    document : str or int, optional
        For a model of documents: tag of the document that contains the sentence. By default a new document
        with the mean logit of the documents of the model.

    Returns
    -------
    WindowAttention
        One ContextWeight for each context word in the window, and for each unknown word, in order. In a
        model of documents, the last one is the document, as the word ``DOCUMENT`` at offset 0.

    Raises
    ------
    DataError
        If the model has no attention, or no context word is known.
    """
    folder = Path(directory)
    word_logits, slot_logits = read_attention(folder)
    config = read_config(folder)
    index = Vocab.load(folder / ModelFile.VOCAB).index
    if len(index) != len(word_logits):
        raise DataError(
            f"{str(folder)!r}: {ModelFile.VOCAB} has {len(index)} words, but the record says "
            f"{len(word_logits)}; the files are not of the same model"
        )
    of_document = None
    if config.spec.documents:
        of_document = float(slot_logits[-1]) * (config.attention != "word") + document_logit(folder, document)
        slot_logits = slot_logits[:-1]
    elif document is not None:
        raise DataError(f"a {config.model} model has no documents: leave the document out")
    found = _weights(word_logits, slot_logits, config, index, sentence, target, of_document)
    resamples = Resamples.load(folder, len(index), config.vector_size)
    if resamples is None or resamples.attention_slots is None or resamples.attention_words is None:
        return found
    runs = [
        _weights(resamples.attention_words.numbers(k), slots, config, index, sentence, target)
        for k, slots in enumerate(resamples.attention_slots)
    ]
    for place, one in enumerate(found):
        if one.weight is not None:
            weights = np.array([run[place].weight for run in runs])
            low, high = np.clip(interval(weights, cosine=False), 0.0, 1.0).tolist()
            found[place] = dataclasses.replace(one, low=low, high=high)
    return found


def _weights(
    word_logits: np.ndarray,
    slot_logits: np.ndarray,
    config: TrainConfig,
    index: Mapping[str, int],
    sentence: Sequence[str],
    target: int,
    of_document: float | None = None,
) -> WindowAttention:
    """Compute `attention_weights` from given logits; ``of_document`` is the logit of the document."""
    known = [i for i, word in enumerate(sentence) if i != target and word in index]
    before = [i for i in known if i < target][::-1]
    after = [i for i in known if i > target]
    places = {i: -k - 1 for k, i in enumerate(before)} | {i: k + 1 for k, i in enumerate(after)}
    slot_of = {offset: slot for slot, offset in enumerate(offsets_of(len(slot_logits)))}
    offsets = {i: places[i] for i in sorted(places) if places[i] in slot_of}
    logits = []
    for i, offset in offsets.items():
        slot = slot_of[offset]
        logit = float(slot_logits[slot])
        if word_logits.shape[1]:
            logit += float(word_logits[index[sentence[i]], slot if config.attention == "full" else 0])
        logits.append(np.clip(logit, -config.attention_clip, config.attention_clip))
    if of_document is not None:
        logits.append(np.clip(of_document, -config.attention_clip, config.attention_clip))
    shares = np.exp(np.array(logits) - max(logits, default=0.0))
    given = (shares / shares.sum()).tolist()
    weights = dict(zip(offsets, given, strict=False))
    found = [
        ContextWeight(word, offsets.get(i, i - target), weights.get(i))
        for i, word in enumerate(sentence)
        if i in weights or (i != target and word not in index)
    ]
    if of_document is not None:
        found.append(ContextWeight(DOCUMENT, 0, given[-1]))
    if all(one.weight is None for one in found):
        raise DataError("no word around the target is in the vocabulary: there is nothing to attend to")
    return WindowAttention(found, sentence[target])


def weights_by_place(model: EmbeddingModel, tokens: np.ndarray) -> np.ndarray:
    """Return the mean attention to each place of the window, as a multiple of an equal share."""
    config = model.config
    n_slots, columns = logits_of(config)
    targets, line = np.flatnonzero(tokens >= 0), np.cumsum(tokens < 0)
    shape = len(targets), n_slots
    logits, present = np.zeros(shape) + model.slot_logits[0, :n_slots], np.zeros(shape, dtype=bool)
    for slot, offset in enumerate(offsets_of(n_slots)):
        at = targets + offset
        inside = (at >= 0) & (at < len(tokens))
        at[~inside] = 0
        present[:, slot] = inside & (line[at] == line[targets]) & (tokens[at] >= 0)
        if columns:
            logits[:, slot] += model.word_logits[tokens[at], slot if config.attention == "full" else 0]
    shares = np.exp(np.clip(logits, -config.attention_clip, config.attention_clip)) * present
    n_present = present.sum(axis=1, keepdims=True)
    shares *= n_present / np.where(n_present, shares.sum(axis=1, keepdims=True), 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(shares.sum(axis=0) / present.sum(axis=0))
