"""The part-of-speech tagger of Ling et al. 2015b: a bidirectional LSTM over word vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

# Sentences in a step; the loss is the mean over their tokens.
BATCH = 100


class BiLSTMTagger(nn.Module):
    """Word vectors, one bidirectional LSTM, ``tanh(W [forward; backward] + b)``, softmax over the tags.

    Notes
    -----
    Tags depend only on the LSTM's states: there is no CRF. A sentence is read with a learned vector
    before and after it.

    References
    ----------
    Ling et al. 2015, "Finding Function in Form" (EMNLP), §3; the settings are those of the author's toolkit.
    """

    def __init__(self, vectors: np.ndarray, n_tags: int, n_hidden: int = 150) -> None:
        super().__init__()
        n_words, size = vectors.shape
        self.words = nn.Embedding(n_words + 2, size)
        with torch.no_grad():
            self.words.weight[:n_words] = torch.from_numpy(np.array(vectors, dtype=np.float32))
            self.words.weight[n_words:].normal_(0.0, float(vectors.std()) or 1.0)
        self.start, self.end = n_words, n_words + 1
        self.lstm = nn.LSTM(size, n_hidden, bidirectional=True, batch_first=True)
        self.combine = nn.Linear(2 * n_hidden, n_hidden)
        self.tags = nn.Linear(n_hidden, n_tags)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the scores of the tags."""
        n, longest = words.shape
        framed = torch.full((n, longest + 2), self.end, dtype=torch.int64)
        framed[:, 0] = self.start
        inside = torch.arange(longest) < lengths[:, None]
        framed[:, 1:-1] = torch.where(inside, words, self.end)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.words(framed), lengths + 2, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        scores: Tensor = self.tags(torch.tanh(self.combine(states[:, 1:-1][inside])))
        return scores


def fit_tagger(
    tagger: BiLSTMTagger,
    sentences: Sequence[np.ndarray],
    tags: Sequence[np.ndarray],
    dev_sentences: Sequence[np.ndarray],
    dev_tags: Sequence[np.ndarray],
    *,
    rare: np.ndarray,
    seed: int = 1,
    epochs: int = 20,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[BiLSTMTagger, list[float]]:
    """Train by stochastic gradient descent and keep the parameters of the best epoch on dev."""
    generator = np.random.default_rng([seed, 0xB1])
    optimiser = torch.optim.SGD(tagger.parameters(), lr=0.3, momentum=0.95)
    loss_of = nn.CrossEntropyLoss()
    accuracies: list[float] = []
    best: dict[str, Tensor] = {}
    for epoch in range(epochs):
        tagger.train()
        for chosen in np.array_split(generator.permutation(len(sentences)), -(-len(sentences) // BATCH)):
            words = [sentences[i] for i in chosen]
            hidden = [np.where(rare[w] & (generator.random(len(w)) < 0.5), 0, w) for w in words]
            scores = tagger(*_batch(hidden))
            loss = loss_of(scores, torch.from_numpy(np.concatenate([tags[i] for i in chosen])))
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(tagger.parameters(), 1.0)
            optimiser.step()
        predicted = predict_tags(tagger, dev_sentences)
        accuracies.append(float((predicted == np.concatenate(dev_tags)).mean()))
        progress(f"epoch {epoch + 1}: {accuracies[-1]:.4f} on dev")
        if accuracies[-1] == max(accuracies):
            best = {name: value.detach().clone() for name, value in tagger.state_dict().items()}
    if best:
        tagger.load_state_dict(best)
    return tagger, accuracies


def predict_tags(tagger: BiLSTMTagger, sentences: Sequence[np.ndarray]) -> np.ndarray:
    """Return the best tag of each token, sentence after sentence: ndarray of shape (n_tokens,), int64."""
    tagger.eval()
    found = []
    with torch.no_grad():
        for i in range(0, len(sentences), 256):
            found.append(tagger(*_batch(sentences[i : i + 256])).argmax(dim=1).numpy())
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _batch(sentences: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(s) for s in sentences])
    words = torch.zeros((len(sentences), int(lengths.max())), dtype=torch.int64)
    for i, sentence in enumerate(sentences):
        words[i, : len(sentence)] = torch.from_numpy(np.asarray(sentence, dtype=np.int64))
    return words, lengths
