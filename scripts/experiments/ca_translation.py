"""Attention and recurrent cells in a translator (Zeng 2019, sections 4.3 and 4.4.2, fig. 12 and 14).

Multi30k English to German in place of WMT16. Encoder and decoder have one layer each. The decoder begins with
the encoder's last output and cell state, through a linear map each; its query to the attention is its
previous cell state c_{t-1} (for the GRU, its output). The sizes of the cells are chosen so that each has as
many parameters as the LSTM; the paper does not do this. The scores on the validation pairs are top-k accuracy
and BLEU with the true words as input (tf-BLEU, the paper's "BLEU", not comparable with any other), and the
BLEU of greedy translations, computed by sacrebleu.

Every row has its own learning rate, the best one on held-out training pairs. Each run is recorded when it
finishes and is not done again.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sacrebleu
import torch
import torch.nn.functional as F
from layers import parameters, study_of_layers
from study import Runs, Setting, data_files, interval, values
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from wordvec_ca.nn import CARNN, CAAttention, CARNNCell
from wordvec_ca.text import tokenize

PAD, UNKNOWN, START, END = range(4)
WIDTH = 100
CELLS: dict[str, tuple[type[nn.Module], type[nn.Module]]] = {
    "LSTM": (nn.LSTM, nn.LSTMCell),
    "GRU": (nn.GRU, nn.GRUCell),
    "CA-RNN": (CARNN, CARNNCell),
}
HELD_OUT = 500
ATTENTIONS = ["luong", "bahdanau", "CA linear", "CA bahdanau", "CA luong", "CA linear, mean"]
JOBS = [*(("GRU", kind) for kind in ATTENTIONS), ("LSTM", "luong"), ("CA-RNN", "luong")]


class SoftmaxAttention(nn.Module):
    """The attentions of Bahdanau et al. 2014 and Luong et al. 2015 with the scores of eq. 43."""

    def __init__(self, query_dim: int, memory_dim: int, score: str) -> None:
        super().__init__()
        self.query_map = nn.Linear(query_dim, memory_dim, bias=False)
        self.additive = score == "bahdanau"
        if self.additive:
            self.memory_map = nn.Linear(memory_dim, memory_dim, bias=False)
            self.score_map = nn.Linear(memory_dim, 1, bias=False)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weighted mean of the memory, shape (N, memory_dim), and the weights."""
        mapped = self.query_map(query)
        if self.additive:
            scores = self.score_map(torch.tanh(mapped.unsqueeze(1) + self.memory_map(memory))).squeeze(-1)
        else:
            scores = (memory @ mapped.unsqueeze(-1)).squeeze(-1)
        weights = torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1)
        return (weights.unsqueeze(1) @ memory).squeeze(1), weights


def attention_of(kind: str, query_dim: int, memory_dim: int) -> nn.Module:
    """Return an attention by its name."""
    if not kind.startswith("CA"):
        return SoftmaxAttention(query_dim, memory_dim, kind)
    name, _, reduction = kind.removeprefix("CA ").partition(", ")
    return CAAttention(query_dim, memory_dim, score=name, reduction=reduction or "sum")


def hidden_size(cell: str, input_size: int) -> int:
    """Return the size at which a cell has about as many parameters as an LSTM cell of size WIDTH."""
    with torch.device("meta"):
        budget = parameters(nn.LSTMCell(input_size, WIDTH))
        sizes = range(20, 2 * WIDTH)
        make = CELLS[cell][1]
        return min(sizes, key=lambda n: abs(parameters(make(input_size, n)) - budget))


class Translator(nn.Module):
    """Encoder, attention, decoder; one layer each."""

    def __init__(self, cell: str, attention: str, source_words: int, target_words: int) -> None:
        super().__init__()
        self.source = nn.Embedding(source_words, WIDTH, padding_idx=PAD)
        self.target = nn.Embedding(target_words, WIDTH, padding_idx=PAD)
        encoder, decoder = CELLS[cell]
        inner, outer = hidden_size(cell, WIDTH), hidden_size(cell, 2 * WIDTH)
        self.encoder = encoder(WIDTH, inner, batch_first=True)
        self.memory_map = nn.Linear(inner, WIDTH)
        self.gru = cell == "GRU"
        self.first = nn.Linear(inner, outer)
        self.first_cell = None if self.gru else nn.Linear(inner, outer)
        self.decoder = decoder(2 * WIDTH, outer)
        self.attention = attention_of(attention, outer, WIDTH)
        self.join = nn.Linear(outer + WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, target_words)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Return the memory, its mask and the decoder's first state."""
        lengths = (source != PAD).sum(1)
        packed = pack_padded_sequence(self.source(source), lengths, batch_first=True, enforce_sorted=False)
        output, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(output, batch_first=True, total_length=source.shape[1])
        state = torch.tanh(self.first((last if self.gru else last[0])[0]))
        cell = state if self.first_cell is None else self.first_cell(last[1][0])
        return self.memory_map(memory), source == PAD, (state, cell)

    def step(self, word: Tensor, state: tuple[Tensor, Tensor], memory: Tensor, mask: Tensor) -> Any:
        """Return the joined output before the vocabulary, and the new state."""
        read, _ = self.attention(state[1], memory, mask)
        input = torch.cat([self.target(word), read], -1)  # noqa: A001
        if self.gru:
            output = self.decoder(input, state[0])
            state = (output, output)
        else:
            state = self.decoder(input, state)
        return torch.tanh(self.join(torch.cat([state[0], read], -1))), state

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return logits (N, L, words) of the words after each of ``target`` (N, L), which are fed in."""
        memory, mask, state = self.encode(source)
        outputs = []
        for t in range(target.shape[1]):
            output, state = self.step(target[:, t], state, memory, mask)
            outputs.append(output)
        return self.output(torch.stack(outputs, 1))

    @torch.no_grad()
    def translate(self, source: Tensor, longest: int) -> Tensor:
        """Return the greedy translation, (N, longest)."""
        memory, mask, state = self.encode(source)
        word = torch.full((len(source),), START)
        words = []
        for _ in range(longest):
            output, state = self.step(word, state, memory, mask)
            logits = self.output(output)
            logits[:, [PAD, UNKNOWN, START]] = -torch.inf
            word = logits.argmax(-1)
            words.append(word)
        return torch.stack(words, 1)


class Language:
    """Sentences as word numbers; words that occur once are unknown words."""

    def __init__(self, train: Path, valid: Path, pairs: int | None) -> None:
        self.raw_valid = valid.read_text(encoding="utf-8").split("\n")[:-1]
        texts = [tokenize(line) for line in train.read_text(encoding="utf-8").split("\n")[:-1][:pairs]]
        counts = Counter(word for words in texts for word in words)
        self.words = ["", "<unk>", "<s>", "</s>", *(w for w, c in counts.most_common() if c > 1)]
        self.index = {word: number for number, word in enumerate(self.words)}
        self.train = [self.encode(words) for words in texts]
        self.valid = [self.encode(tokenize(line)) for line in self.raw_valid]

    def hold_out(self, count: int) -> list[Tensor]:
        """Remove the last training sentences, and return them."""
        taken, self.train = self.train[-count:], self.train[:-count]
        return taken

    def encode(self, words: list[str]) -> Tensor:
        """Return word numbers between start and end."""
        return torch.tensor([START, *(self.index.get(w, UNKNOWN) for w in words), END])

    def decode(self, row: Tensor) -> str:
        """Return the words before the end."""
        numbers = row.tolist()
        numbers = numbers[: numbers.index(END)] if END in numbers else numbers
        return " ".join(self.words[n] for n in numbers if n not in (PAD, START))


def pad(rows: list[Tensor]) -> Tensor:
    """Return one tensor padded at the end."""
    return pad_sequence(rows, batch_first=True, padding_value=PAD)


@torch.no_grad()
def evaluate(network: Translator, source: Language, target: Language) -> dict[str, float]:
    """Return top-k accuracies, perplexity, tf-BLEU and greedy BLEU on the validation pairs."""
    network.eval()
    right = dict.fromkeys((1, 5, 10, 100), 0)
    total, loss = 0, 0.0
    forced, greedy, truth = [], [], []
    for start in range(0, len(source.valid), 128):
        x, y = pad(source.valid[start : start + 128]), pad(target.valid[start : start + 128])
        logits = network(x, y[:, :-1])
        real = (y[:, 1:] != PAD) & (y[:, 1:] != UNKNOWN)
        top = logits.topk(100, dim=-1).indices == y[:, 1:].unsqueeze(-1)
        for k in right:
            right[k] += int((top[..., :k].any(-1) & real).sum())
        total += int(real.sum())
        loss += F.cross_entropy(logits[real], y[:, 1:][real], reduction="sum").item()
        masked = logits.argmax(-1).masked_fill(y[:, 1:] == END, END)
        forced += [target.decode(row) for row in masked]
        greedy += [target.decode(row) for row in network.translate(x, 40)]
    truth = [" ".join(tokenize(line)) for line in target.raw_valid]
    scores = {f"top-{k}": 100 * count / total for k, count in right.items()}
    scores["perplexity"] = float(np.exp(loss / total))
    scores["tf-BLEU"] = sacrebleu.corpus_bleu(forced, [truth], tokenize="none", force=True).score
    scores["BLEU"] = sacrebleu.corpus_bleu(greedy, [truth], tokenize="none", force=True).score
    return scores


@torch.no_grad()
def loss_of(network: Translator, source: list[Tensor], target: list[Tensor]) -> float:
    """Return the mean loss of a word."""
    network.eval()
    total, count = 0.0, 0
    for start in range(0, len(source), 128):
        x, y = pad(source[start : start + 128]), pad(target[start : start + 128])
        logits = network(x, y[:, :-1])
        real = y[:, 1:] != PAD
        total += F.cross_entropy(logits[real], y[:, 1:][real], reduction="sum").item()
        count += int(real.sum())
    return total / count


def train(
    network: Translator, source: Language, target: Language, epochs: int, rate: float, seed: int
) -> Iterator[None]:
    """Train with Adam on batches of 64 of similar length; stop after each epoch."""
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    generator = np.random.default_rng(seed)
    lengths = np.array([len(row) for row in target.train])
    for _ in range(epochs):
        network.train()
        order = generator.permutation(len(lengths))
        pools = [
            p[np.argsort(lengths[p], kind="stable")]
            for p in np.array_split(order, max(len(order) // 3200, 1))
        ]
        batches = [pool[i : i + 64] for pool in pools for i in range(0, len(pool), 64)]
        for number in generator.permutation(len(batches)):
            x = pad([source.train[i] for i in batches[number]])
            y = pad([target.train[i] for i in batches[number]])
            optimizer.zero_grad()
            logits = network(x, y[:, :-1])
            F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=PAD).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()
        yield


def more_options(asked: argparse.ArgumentParser) -> None:
    asked.add_argument("--pairs", type=int, help="training pairs [4000; all with --full]")
    asked.add_argument("--epochs", type=int, help="[4; 10 with --full]")
    asked.add_argument("--rates", default="0.0005,0.002,0.005", help="Adam's, comma-separated")


def main() -> None:
    title, record = "CA-ATT and CA-RNN: translation", "ca-translation"
    arguments, seeds, report = study_of_layers(
        __doc__, record, title, many=3, add=more_options, log=f"{record}.jsonl", data=True
    )
    files = data_files(
        arguments.data,
        *(f"translation/{part}.{language}" for language in ("en", "de") for part in ("train", "val")),
    )
    pairs = arguments.pairs or (None if arguments.full else 4_000)
    epochs = arguments.epochs or (10 if arguments.full else 4)
    rates = values(arguments.rates, float)
    english, german = Language(files[0], files[1], pairs), Language(files[2], files[3], pairs)
    held_out = english.hold_out(HELD_OUT), german.hold_out(HELD_OUT)
    trials, finished = Runs(arguments.log, arguments.minutes), Runs(arguments.log, minutes=0)
    sizes: dict[tuple[str, str], int] = {}

    def run(setting: Setting) -> dict[str, Any]:
        torch.manual_seed(setting["seed"])
        network = Translator(setting["cell"], setting["attention"], len(english.words), len(german.words))
        passes = train(network, english, german, epochs, setting["rate"], setting["seed"])
        losses = [loss_of(network, *held_out) for _ in passes]
        return {"held_out": -losses[-1], "losses": losses, "scores": evaluate(network, english, german)}

    rows = []
    columns = ["top-1", "top-5", "top-10", "top-100", "perplexity", "tf-BLEU", "BLEU"]
    for cell, attention in JOBS:
        with torch.device("meta"):
            network = Translator(cell, attention, len(english.words), len(german.words))
        sizes[cell, attention] = sum(
            parameters(part) for part in (network.encoder, network.decoder, network.attention)
        )
        fixed = {"cell": cell, "attention": attention, "pairs": len(english.train), "epochs": epochs}
        wanted = trials if re.search(arguments.only, f"{cell}, {attention}") else finished
        outcome = wanted.with_best_rate(fixed, rates, seeds, run, "held_out")
        if outcome is None:
            continue
        rate, runs = outcome
        figures = [interval([one["scores"][name] for one in runs], 1) for name in columns]
        rows.append((cell, attention, f"{sizes[cell, attention]:,}", f"{rate:g}", len(runs), *figures))
    if not rows:
        sys.exit("No row is finished: give the command again, with more --minutes or another --only.")
    report.text(
        f"Multi30k en→de, {len(english.train):,} pairs, {len(german.words):,} German words, {epochs} epochs, "
        f"up to {len(seeds)} seed(s), Adam at the best of {', '.join(f'{rate:g}' for rate in rates)}, chosen "
        f"for each row by the loss on {HELD_OUT} training pairs held out, with the first seed (the paper's "
        "Adagrad 0.01 and 1 M steps on 100 machines are out of reach). Cells have the parameters of an LSTM "
        "of 100. Scores on the 1,014 validation pairs, lower case; tf-BLEU feeds the true words in and is "
        "not comparable with BLEU. Paper, on WMT16: no difference between attentions; CA-RNN above LSTM and "
        "GRU in top-k accuracy and tf-BLEU. " + trials.summary()
    )
    report.table(["cell", "attention", "recurrent and attention parameters", "rate", "seeds", *columns], rows)
    report.write()


if __name__ == "__main__":
    main()
