"""Classifiers of text with scikit-learn's interface: the CA-BSFE and the Contextualizer."""

from __future__ import annotations

import copy
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from wordvec_ca.errors import DataError
from wordvec_ca.nn.bag import CAEmbeddingBag
from wordvec_ca.nn.block_coordinate import BlockCoordinate
from wordvec_ca.nn.contextualizer import Contextualizer, SinusoidalPosition
from wordvec_ca.text import tokenize

Document: TypeAlias = str | Sequence[str]

# Feature number of padding; words count from 1.
PADDING = 0

# Number of batches whose documents are sorted by length together, so that batches have little padding.
POOL = 50


@dataclass(eq=False, repr=False)  # scikit-learn has its own of both
class TextClassifier(ClassifierMixin, BaseEstimator):
    """Training and prediction that the classifiers share; see the subclasses."""

    _: KW_ONLY
    vectors: Any = None
    tokenizer: str | Callable[[str], list[str]] = "words"
    min_count: int = 1
    lr: float = 0.1
    batch_size: int = 16
    max_epochs: int = 20
    patience: int | None = None
    dev_fraction: float = 0.1
    random_state: int = 0
    device: str = "cpu"
    verbose: bool = False

    def build(self, table: Tensor | None, classes: int) -> nn.Module:
        """Return the untrained network for the words of ``vocabulary_``; ``table`` holds their vectors."""
        raise NotImplementedError

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Return the optimiser of a network."""
        raise NotImplementedError

    def tokens(self, documents: Any) -> list[list[str]]:
        """Split documents into words."""
        if isinstance(documents, str):
            raise DataError(
                "The documents are one string; give a list of documents, each a string or a list of words."
            )
        split = (
            partial(tokenize, tokenizer=self.tokenizer) if isinstance(self.tokenizer, str) else self.tokenizer
        )
        result: list[list[str]] = []
        for number, document in enumerate(documents):
            if isinstance(document, str):
                result.append(list(split(document)))
            elif isinstance(document, list | tuple | np.ndarray) and all(
                isinstance(w, str) for w in document
            ):
                result.append(list(document))
            else:
                raise DataError(
                    f"Document {number} is {document!r:.60} of type {type(document).__name__}, but it must "
                    "be a string or a list of words (strings). Drop or fill missing documents first."
                )
        return result

    def encode(self, documents: Any) -> list[Tensor]:
        """Turn documents into word numbers, without the words that are not in the vocabulary."""
        index: dict[str, int] = self.vocabulary_
        return [
            torch.tensor([index[word] for word in document if word in index], dtype=torch.long)
            for document in self.tokens(documents)
        ]

    def table(self) -> Tensor | None:
        """Return a row of ``vectors`` for each word number, NaN for missing words; None without vectors."""
        if self.vectors is None:
            return None
        width = self.vectors.vectors.shape[1]
        table = torch.full((len(self.vocabulary_) + 1, width), torch.nan)
        for word, number in self.vocabulary_.items():
            if word in self.vectors.key_to_index:
                row = np.array(self.vectors.vectors[self.vectors.key_to_index[word]], dtype=np.float32)
                table[number] = torch.from_numpy(row)
        return table

    def fit(self, X: Sequence[Document], y: Any, dev: tuple[Any, Any] | None = None) -> TextClassifier:
        """Train on documents.

        Parameters
        ----------
        X : sequence of str or of lists of str
            Documents; strings are split by ``tokenizer``.
        y : array_like
            Their classes.
        dev : pair (X, y), optional
            Development documents, which choose the epoch, instead of ``dev_fraction`` of X.

        Returns
        -------
        self
            With ``classes_``, ``vocabulary_`` (word to number), ``module_`` (the trained network),
            ``best_epoch_`` and ``history_`` (for each epoch its mean loss and accuracies).

        Raises
        ------
        wordvec_ca.errors.DataError
            Documents and labels do not match, a label is missing, there is only one class, or no word is
            frequent enough.
        """
        documents = self.tokens(X)
        labels = np.asarray(y)
        if labels.ndim != 1 or len(labels) != len(documents):
            raise DataError(f"There are {len(documents)} documents but labels of shape {labels.shape}.")
        missing = [i for i, label in enumerate(labels.tolist()) if label is None or label != label]
        if missing:
            raise DataError(
                f"Document {missing[0]} has no label ({len(missing)} in all); drop such documents."
            )
        self.classes_ = np.unique(labels)
        if len(self.classes_) < 2:
            raise DataError(f"All {len(labels)} documents have one class; a classifier needs at least two.")
        if dev is None and self.dev_fraction > 0:
            try:
                documents, dev_documents, labels, dev_labels = train_test_split(
                    documents,
                    labels,
                    test_size=self.dev_fraction,
                    stratify=labels,
                    random_state=self.random_state,
                )
            except ValueError as error:
                raise DataError(
                    f"A stratified development set of {self.dev_fraction:g} of {len(labels)} documents is "
                    f"not possible ({error}) Give dev=(X, y), or dev_fraction=0 to train without."
                ) from error
            dev = (dev_documents, dev_labels)
        counts = Counter(word for document in documents for word in document)
        words = sorted((w for w in counts if counts[w] >= self.min_count), key=lambda w: (-counts[w], w))
        if not words:
            raise DataError(
                f"None of the {len(counts)} words of the {len(documents)} training documents occurs "
                f"{self.min_count} times; lower min_count."
            )
        self.vocabulary_ = {word: number for number, word in enumerate(words, start=1)}
        encoded = self.encode(documents)
        targets = torch.from_numpy(np.searchsorted(self.classes_, labels)).to(self.device)
        with torch.random.fork_rng():
            torch.manual_seed(self.random_state)
            self.module_ = self.build(self.table(), len(self.classes_)).to(self.device)
            self.train(encoded, targets, dev)
        return self

    def train(self, encoded: list[Tensor], targets: Tensor, dev: tuple[Any, Any] | None) -> None:
        """Run the epochs and keep the network of the one that is best on the development set."""
        optimizer = self.optimizer(self.module_)
        generator = np.random.default_rng(self.random_state)
        dev_set = None if dev is None else (self.encode(dev[0]), np.asarray(dev[1]))
        self.history_: list[dict[str, float]] = []
        best, best_state = -1.0, None
        self.best_epoch_ = 0
        steps = -(-len(encoded) // self.batch_size)
        for advance in self.progress(self.max_epochs, steps):
            self.module_.train()
            total, right = 0.0, 0
            for chosen in self.batches(encoded, generator):
                logits = self.logits([encoded[i] for i in chosen])
                target = targets[torch.from_numpy(chosen).to(self.device)]
                loss = nn.functional.cross_entropy(logits, target)
                optimizer.zero_grad()
                loss.backward()
                with warnings.catch_warnings():
                    # The warning concerns Adagrad's own tensors; PyTorch gives it once since 2.13.
                    warnings.filterwarnings("ignore", "Sparse invariant checks")
                    optimizer.step()
                total += loss.item() * len(chosen)
                right += int((logits.argmax(-1) == target).sum())
                advance()
            record = {"loss": total / len(encoded), "accuracy": right / len(encoded)}
            if not np.isfinite(record["loss"]):
                raise DataError(
                    f"The loss of epoch {len(self.history_) + 1} is {record['loss']}: training "
                    "diverged. Lower lr."
                )
            if dev_set is not None:
                predicted = self.classes_[self.probabilities(dev_set[0]).argmax(1)]
                record["dev_accuracy"] = float(np.mean(predicted == dev_set[1]))
            self.history_.append(record)
            score = record.get("dev_accuracy", float(len(self.history_)))
            if score > best:
                best, self.best_epoch_ = score, len(self.history_)
                if dev_set is not None:
                    best_state = copy.deepcopy(self.module_.state_dict())
            if self.patience is not None and len(self.history_) - self.best_epoch_ >= self.patience:
                break
        if best_state is not None:
            self.module_.load_state_dict(best_state)
        self.module_.eval()

    def progress(self, epochs: int, steps: int) -> Iterator[Callable[[], None]]:
        """Yield for each epoch a function that counts one step; a bar on stderr shows them if ``verbose``."""
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(file=sys.stderr), disable=not self.verbose) as bars:
            task = bars.add_task("", total=epochs * steps)
            for number in range(1, epochs + 1):
                bars.update(task, description=f"epoch {number}/{epochs}")
                yield lambda: bars.advance(task)

    def batches(self, encoded: list[Tensor], generator: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield all documents once, in random batches of similar length."""
        order = generator.permutation(len(encoded))
        lengths = np.array([len(document) for document in encoded])
        groups: list[np.ndarray] = []
        for start in range(0, len(order), POOL * self.batch_size):
            pool = order[start : start + POOL * self.batch_size]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            groups += [pool[i : i + self.batch_size] for i in range(0, len(pool), self.batch_size)]
        for number in generator.permutation(len(groups)):
            yield groups[number]

    def logits(self, documents: list[Tensor]) -> Tensor:
        """Return the network's outputs for word numbers, shape (documents, classes)."""
        padded = nn.utils.rnn.pad_sequence(documents, batch_first=True, padding_value=PADDING)
        if not padded.shape[1]:  # torch's own EmbeddingBag refuses documents that are all empty
            padded = padded.new_full((len(documents), 1), PADDING)
        return self.module_(padded.to(self.device))

    def probabilities(self, encoded: list[Tensor]) -> np.ndarray:
        """Return the class probabilities, float64 array of shape (documents, classes)."""
        self.module_.eval()
        result = np.empty((len(encoded), len(self.classes_)))
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        with torch.no_grad():
            for start in range(0, len(order), 4 * self.batch_size):
                chosen = order[start : start + 4 * self.batch_size]
                logits = self.logits([encoded[i] for i in chosen])
                result[chosen] = torch.softmax(logits.double(), dim=-1).cpu().numpy()
        return result

    def predict_proba(self, X: Sequence[Document]) -> np.ndarray:
        """Return the probability of each class, float64 array of shape (documents, classes).

        Unknown words are left out; a document without any known word gets the prediction for an empty
        document.
        """
        check_is_fitted(self, "module_")
        return self.probabilities(self.encode(X))

    def predict(self, X: Sequence[Document]) -> np.ndarray:
        """Return the most probable class of each document, array of shape (documents,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@dataclass(eq=False, repr=False)
class CABagClassifier(TextClassifier):
    """Classify text by the context-aware embedding of its bag of words (CA-BSFE) and a softmax layer.

    The defaults are those of Zeng 2019, section 4.2.1. The classifier is a linear function of word counts
    (see :class:`CAEmbeddingBag`), so an L2 logistic regression on them is the baseline to beat.

    Parameters
    ----------
    embedding_dim, sigma_dim : int, default 5
        Sizes of ``w'`` (the size of ``vectors`` if given) and of the gate's embedding.
    context_aware : bool, default True
        False: plain average or sum of embeddings (:class:`torch.nn.EmbeddingBag`), the paper's baseline.
    mode : {"mean", "sum"}, default "mean"
        See :class:`CAEmbeddingBag`.
    em_steps : int, default 100
        Steps before embeddings and gates take turns in training; 0 trains them jointly.
    vectors : KeyedVectors, optional
        Initial values of ``w'``; words that it lacks start at random.
    tokenizer : {"words", "whitespace"} or callable, default "words"
        How strings become words: as in :func:`wordvec_ca.text.tokenize` (lower case), or a function.
    min_count : int, default 1
        Words with fewer occurrences in the training documents are left out.
    lr, batch_size, max_epochs : float, int, int
        Adagrad's learning rate, documents in a batch, passes over the data.
    patience : int, optional
        Stop after this many epochs without a better development accuracy; None runs all.
    dev_fraction : float, default 0.1
        Share of the training documents that chooses the epoch (unless ``fit`` gets ``dev``); 0 takes the last
        epoch.
    random_state : int, default 0
        Seed of everything random; torch's global generator does not change.
    device : str, default "cpu"
        Where the network is trained and used.
    verbose : bool, default False
        Show a progress bar on standard error.

    Examples
    --------
    >>> model = CABagClassifier(max_epochs=20, dev_fraction=0).fit(["good film", "bad film"] * 8, [1, 0] * 8)
    >>> model.predict(["good good"])
    array([1])
    """

    embedding_dim: int = 5
    sigma_dim: int = 5
    context_aware: bool = True
    mode: str = "mean"
    em_steps: int = 100

    def build(self, table: Tensor | None, classes: int) -> nn.Module:
        """Return the bag layer and the head."""
        size = len(self.vocabulary_) + 1
        width = self.embedding_dim if table is None else table.shape[1]
        options: dict[str, Any] = {"mode": self.mode, "sparse": True, "padding_idx": PADDING}
        bag: nn.Module
        if self.context_aware:
            bag = CAEmbeddingBag(size, width, sigma_dim=self.sigma_dim, **options)
        else:
            bag = nn.EmbeddingBag(size, width, **options)
            nn.init.normal_(bag.weight, std=width**-0.5)
        if table is not None:
            with torch.no_grad():
                bag.weight.copy_(torch.where(table.isnan(), bag.weight, table))
        return nn.Sequential(bag, nn.Linear(width, classes))

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Return Adagrad; with ``em_steps`` it updates the two blocks in turn."""
        adagrad = torch.optim.Adagrad(network.parameters(), lr=self.lr)
        bag = network[0]  # type: ignore[index]
        return BlockCoordinate(adagrad, bag.blocks(), self.em_steps) if self.context_aware else adagrad


class ContextualizerNetwork(nn.Module):
    """Word numbers (N, n) -> class logits: embedding, position, Contextualizer, linear layer."""

    def __init__(self, embedding: nn.Embedding, position_dim: int, classes: int, **options: Any) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = SinusoidalPosition(position_dim)
        size = embedding.embedding_dim + position_dim
        self.encoder = Contextualizer(size, **options)
        self.head = nn.Linear(size, classes)

    def forward(self, words: Tensor) -> Tensor:
        """Return logits, shape (N, classes)."""
        encoded: Tensor = self.encoder(self.position(self.embedding(words)), words == PADDING)
        return self.head(encoded)


@dataclass(eq=False, repr=False)
class ContextualizerClassifier(TextClassifier):
    """Classify text with a :class:`Contextualizer` and a softmax layer.

    The defaults are those of Maupomé & Meurs 2021, section 3: random word vectors that are not trained, so
    that 157,042 parameters remain for two classes. (The paper does not state its learning rate; here it is
    Adam's usual one. Its "fewer than 3 occurrences removed" gives its vocabulary sizes only if words with 4
    or more are kept.)

    Each parameter is a keyword of its own, not a field of a group of options, because scikit-learn's
    ``set_params``, ``clone`` and ``GridSearchCV`` reach only these.

    Parameters
    ----------
    word_dim, position_dim : int, default 500 and 20
        Sizes of the word vectors (the size of ``vectors`` if given) and of the sinusoidal position.
    rank, num_steps, recurrent, default_context
        See :class:`Contextualizer`.
    train_vectors : bool, default False
        Train the word vectors too.
    vectors : KeyedVectors, optional
        Word vectors instead of random ones from U(-1, 1); words that it lacks are random.
    tokenizer, min_count
        See :class:`CABagClassifier`.
    lr : float, default 1e-3
        Adam's learning rate.
    batch_size, max_epochs, patience, dev_fraction, random_state, device, verbose
        See :class:`CABagClassifier`.

    Examples
    --------
    >>> texts, labels = ["good film", "bad film"] * 16, [1, 0] * 16
    >>> model = ContextualizerClassifier(word_dim=20, max_epochs=30, dev_fraction=0).fit(texts, labels)
    >>> model.predict(["film good"])
    array([1])
    """

    word_dim: int = 500
    position_dim: int = 20
    rank: int = 100
    num_steps: int = 5
    recurrent: bool = True
    default_context: str = "random"
    train_vectors: bool = False
    _: KW_ONLY
    min_count: int = 4
    lr: float = 1e-3
    batch_size: int = 64
    max_epochs: int = 10

    def build(self, table: Tensor | None, classes: int) -> nn.Module:
        """Return the whole network."""
        size = len(self.vocabulary_) + 1
        width = self.word_dim if table is None else table.shape[1]
        embedding = nn.Embedding(size, width, padding_idx=PADDING)
        with torch.no_grad():
            embedding.weight.uniform_(-1.0, 1.0)
            if table is not None:
                embedding.weight.copy_(torch.where(table.isnan(), embedding.weight, table))
            embedding.weight[PADDING] = 0
        embedding.weight.requires_grad_(self.train_vectors)
        return ContextualizerNetwork(
            embedding,
            self.position_dim,
            classes,
            rank=self.rank,
            num_steps=self.num_steps,
            recurrent=self.recurrent,
            default_context=self.default_context,
        )

    def optimizer(self, network: nn.Module) -> torch.optim.Optimizer:
        """Return Adam over the parameters that train."""
        return torch.optim.Adam((p for p in network.parameters() if p.requires_grad), lr=self.lr)
