"""What a trained attention model looks at: the weights of one window (Ling et al. 2015, figure 1)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordvec_ca.errors import DataError
from wordvec_ca.model import EmbeddingModel, read_attention, read_config
from wordvec_ca.vocab import Vocab


@dataclass(frozen=True)
class ContextWeight:
    """The attention that one context word gets.

    Attributes
    ----------
    word : str
    offset : int
        Its place relative to the target: -1 is the word before.
    weight : float or None
        Share of the window, they add up to 1; None for a word without a vector, which has no place.
    """

    word: str
    offset: int
    weight: float | None


def attention_weights(
    directory: str | os.PathLike[str], sentence: Sequence[str], target: int
) -> list[ContextWeight]:
    """Return the attention of each word around a target.

    As in training, words outside the vocabulary are left out before the window is formed.

    Parameters
    ----------
    directory : path
        Model directory of a cbow-attn model.
    sentence : sequence of str
        Tokens.
    target : int
        Index of the word to be predicted.

    Returns
    -------
    list of ContextWeight
        One for each other word of the sentence within the window, and each unknown word, in order.

    Raises
    ------
    DataError
        If the model has no attention, or no context word is known.
    """
    folder = Path(directory)
    word_logits, slot_logits = read_attention(folder)
    config = read_config(folder)
    index = Vocab.load(folder / "vocab.tsv").index
    if len(index) != len(word_logits):
        raise DataError(
            f"{str(folder)!r}: vocab.tsv has {len(index)} words, but the record says {len(word_logits)}; "
            "the files are not of the same model"
        )
    window = len(slot_logits) // 2
    known = [i for i, word in enumerate(sentence) if i != target and word in index]
    before = [i for i in known if i < target][-window:]
    after = [i for i in known if i > target][:window]
    offsets = {i: k - len(before) for k, i in enumerate(before)} | {i: k + 1 for k, i in enumerate(after)}
    if not offsets:
        raise DataError("no word around the target is in the vocabulary: there is nothing to attend to")
    logits = []
    for i, offset in offsets.items():
        slot = offset + window - (offset > 0)
        logit = float(slot_logits[slot]) if config.attention != "word" else 0.0
        if word_logits.shape[1]:
            logit += float(word_logits[index[sentence[i]], slot if config.attention == "full" else 0])
        logits.append(np.clip(logit, -config.attention_clip, config.attention_clip))
    shares = np.exp(np.array(logits) - max(logits))
    weights = dict(zip(offsets, (shares / shares.sum()).tolist(), strict=True))
    return [
        ContextWeight(word, offsets.get(i, i - target), weights.get(i))
        for i, word in enumerate(sentence)
        if i in weights or (i != target and word not in index)
    ]


def weights_by_place(model: EmbeddingModel, tokens: np.ndarray) -> np.ndarray:
    """Return how much attention each place of the window gets on average, in equal shares.

    Parameters
    ----------
    model : EmbeddingModel
        A cbow-attn model.
    tokens : ndarray of shape (n_tokens,), int32
        Encoded text, -1 after each line.

    Returns
    -------
    ndarray of shape (2 * window,), float64
        The place ``-window`` first. 1 is what each of the words around a target would get if all got
        the same; nan for a place that no line is long enough for.
    """
    config = model.config
    assert config.window is not None
    targets, line = np.flatnonzero(tokens >= 0), np.cumsum(tokens < 0)
    slots = 2 * config.window
    logits, present = np.zeros((len(targets), slots)), np.zeros((len(targets), slots), dtype=bool)
    for slot in range(slots):
        at = targets + slot - config.window + (slot >= config.window)
        inside = (at >= 0) & (at < len(tokens))
        at[~inside] = 0
        present[:, slot] = inside & (line[at] == line[targets]) & (tokens[at] >= 0)
        if config.attention != "word":
            logits[:, slot] = model.slot_logits[0, slot]
        if config.attention != "position":
            logits[:, slot] += model.word_logits[tokens[at], slot if config.attention == "full" else 0]
    shares = np.exp(np.clip(logits, -config.attention_clip, config.attention_clip)) * present
    n_present = present.sum(axis=1, keepdims=True)
    shares *= n_present / np.where(n_present, shares.sum(axis=1, keepdims=True), 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(shares.sum(axis=0) / present.sum(axis=0))
