"""``Word2Vec`` with gensim's names, arguments and results, trained by wordvec_ca."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from wordvec_ca.gensim.models import stored
from wordvec_ca.gensim.models.fitting import corpus_of, engine_of, fit
from wordvec_ca.gensim.models.keyedvectors import KeyedVectors
from wordvec_ca.gensim.models.keys import Heapitem, Trainables, Vocab
from wordvec_ca.gensim.models.sentences import (
    MAX_WORDS_IN_BATCH,
    BrownCorpus,
    LineSentence,
    PathLineSentences,
    Text8Corpus,
)
from wordvec_ca.gensim.models.vocabulary import TrimRule, Vocabulary
from wordvec_ca.tables import FittedForm, Halves, output_weight, published_vectors
from wordvec_ca.training import log_likelihoods
from wordvec_ca.vectors import highest

__all__ = [
    "MAX_WORDS_IN_BATCH",
    "BrownCorpus",
    "Heapitem",
    "KeyedVectors",
    "LineSentence",
    "PathLineSentences",
    "Text8Corpus",
    "Vocab",
    "Word2Vec",
]

logger = logging.getLogger("gensim.models.word2vec")

Word2VecTrainables = Word2VecVocab = Trainables

# Programs that use gensim read this to see whether the training loop is compiled.
FAST_VERSION = 1


class OnClassOnly:
    """A class method that an instance does not have: ``model.load(...)`` would not change the model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is not None:
            raise AttributeError("This method should be called on a class object.")
        return self._function.__get__(owner)


class Word2Vec(Vocabulary):
    """Vectors of words, trained by word2vec's methods (Mikolov et al. 2013).

    Parameters, attributes and methods are gensim 4's; docs/guides/from-gensim.md has a table of them, and
    of the differences.

    Parameters
    ----------
    sentences : iterable of lists of words, optional
        Words may be any hashable objects. A list is looked up once; anything else is iterated ``epochs + 1``
        times and may yield other sentences each time. Without sentences the model has no words yet.
    corpus_file : path, optional
        Instead of ``sentences``: a file with a sentence on each line, words between white space, which
        threads read.
    vector_size : int, default 100
        Dimensions of a vector.
    alpha : float, default 0.025
        Learning rate at the start.
    window : int, default 5
        Context words on each side.
    min_count : int, default 5
        Rarer words are dropped.
    max_vocab_size : int, optional
        Largest number of words while counting; the rarest are dropped, and counts are then not exact.
    sample : float, default 1e-3
        Words more frequent than this share of the text are sub-sampled; a value from 1 on is a count.
    seed : int or None, default 1
        Seed of initialisation, windows, sub-sampling and negatives; None for another one each time.
    workers : int, default 3
        Number of threads, at most that of processors; below 1, all processors. With one thread, training is
        reproducible bit for bit, whatever ``PYTHONHASHSEED`` is.
    min_alpha : float, default 0.0001
        Learning rate at the end; if it is above ``alpha``, the rate always has this value, as in gensim.
    sg : {0, 1}
        1 for skip-gram, 0 for CBOW.
    hs : {0, 1}
        1 for hierarchical softmax, alone or with negative sampling.
    negative : int, default 5
        Negatives per prediction; 0 for no negative sampling, only with ``hs=1``.
    ns_exponent : float, default 0.75
        Negatives are drawn with probability proportional to count ** ns_exponent.
    cbow_mean : {0, 1}
        1 for the mean of the context words, 0 for their sum.
    hashfxn : callable
        Ignored: initial vectors come from numpy's generator, as in gensim 4.
    epochs : int, default 5
        Passes over the text.
    null_word : {0}
        1 raises an error: it was for models that concatenate context words; use the model ``cwindow`` of
        ``wordvec_ca.train`` instead.
    trim_rule : callable, optional
        Takes (word, count, min_count) and returns RULE_DISCARD, RULE_KEEP or RULE_DEFAULT (``trim_rules``).
    sorted_vocab : {0, 1}
        1 to put the most frequent words first, 0 to keep the order of first occurrence.
    batch_words : int
        Ignored: the trainer chooses the size of the chunks.
    compute_loss : bool, default False
        Sum the loss, for ``get_latest_training_loss``.
    callbacks : sequence of CallbackAny2Vec
    comment : str, optional
        Kept, not used.
    max_final_vocab : int, optional
        Keep at most this many words, by raising ``min_count``.
    shrink_windows : bool, default True
        Draw each window's size uniformly from 1 to ``window``.

    Attributes
    ----------
    wv : KeyedVectors
        Words and vectors.
    syn1neg : ndarray of shape (n_words, vector_size), float32
        Output vectors of negative sampling.
    syn1 : ndarray of shape (n_words, vector_size), float32
        Vectors of the nodes of the Huffman tree, with ``hs=1``; the root is the last but one.
    corpus_count, corpus_total_words : int
        Sentences and words when the vocabulary was built.

    Raises
    ------
    ValueError
        An option is outside its limits.
    TypeError
        The corpus is not iterable, or can be read only once.
    RuntimeError
        No word is left to train.
    """

    _vectors: type[KeyedVectors] = KeyedVectors

    def __init__(
        self,
        sentences: Any = None,
        corpus_file: Any = None,
        vector_size: int = 100,
        alpha: float = 0.025,
        window: int = 5,
        min_count: int = 5,
        max_vocab_size: int | None = None,
        sample: float = 1e-3,
        seed: int | None = 1,
        workers: int = 3,
        min_alpha: float = 0.0001,
        sg: int = 0,
        hs: int = 0,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: int = 1,
        hashfxn: Any = hash,
        epochs: int = 5,
        null_word: int = 0,
        trim_rule: TrimRule | None = None,
        sorted_vocab: int = 1,
        batch_words: int = MAX_WORDS_IN_BATCH,
        compute_loss: bool = False,
        callbacks: Sequence[Any] = (),
        comment: str | None = None,
        max_final_vocab: int | None = None,
        shrink_windows: bool = True,
    ) -> None:
        if null_word:
            raise ValueError(
                "null_word is for models that concatenate context words, which Word2Vec has not been since "
                "gensim 1: leave it out, or train wordvec_ca's model cwindow"
            )
        self.vector_size = self.layer1_size = int(vector_size)
        self.alpha, self.min_alpha = float(alpha), float(min_alpha)
        self.min_alpha_yet_reached = float(alpha)
        self.window, self.shrink_windows = int(window), bool(shrink_windows)
        self.min_count, self.sample = min_count, sample
        self.max_vocab_size, self.max_final_vocab = max_vocab_size, max_final_vocab
        self.sorted_vocab, self.null_word = sorted_vocab, null_word
        # None: a new seed each time, which `seed` then shows
        self.seed = int(np.random.default_rng().integers(1 << 31)) if seed is None else seed
        self.random = np.random.RandomState(int(self.seed) & 0xFFFFFFFF)
        self.workers, self.epochs, self.batch_words = int(workers), epochs, batch_words
        self.sg, self.hs, self.negative = int(sg), int(hs), int(negative)
        self.ns_exponent, self.cbow_mean = ns_exponent, int(cbow_mean)
        self.hashfxn, self.comment = hashfxn, comment
        self.compute_loss, self.running_training_loss = bool(compute_loss), 0.0
        self.train_count, self.total_train_time = 0, 0.0
        self.corpus_count, self.corpus_total_words = 0, 0
        if "wv" not in vars(self):  # FastText has its own `wv`
            self.wv = KeyedVectors(self.vector_size)
        super().__init__()
        if sentences is not None or corpus_file is not None:
            self._check_corpus_sanity(sentences, corpus_file, passes=epochs + 1)
            self.build_vocab(sentences, corpus_file, trim_rule=trim_rule)
            self.train(
                sentences,
                corpus_file,
                total_examples=self.corpus_count,
                total_words=self.corpus_total_words,
                epochs=self.epochs,
                start_alpha=self.alpha,
                end_alpha=self.min_alpha,
                compute_loss=self.compute_loss,
                callbacks=callbacks,
            )
        elif trim_rule is not None or callbacks:
            logger.warning(
                "trim_rule and callbacks are not kept by the model: there are no sentences, so they are "
                "ignored. Give them to build_vocab() and train()."
            )
        self.add_lifecycle_event("created", params=str(self))

    def __str__(self) -> str:
        name, n_words = type(self).__name__, len(self.wv)
        return f"{name}<vocab={n_words}, vector_size={self.wv.vector_size}, alpha={self.alpha}>"

    __repr__ = __str__

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copy: without the text, and without what inference keeps."""
        return {**vars(self), "_inference": None, "_scanned": None}

    # ---- training -----------------------------------------------------------------------------------------

    def train(
        self,
        corpus_iterable: Any = None,
        corpus_file: Any = None,
        total_examples: int | None = None,
        total_words: int | None = None,
        epochs: int | None = None,
        start_alpha: float | None = None,
        end_alpha: float | None = None,
        word_count: int = 0,
        queue_factor: int = 2,
        report_delay: float = 1.0,
        compute_loss: bool = False,
        callbacks: Iterable[Any] = (),
        **kwargs: Any,
    ) -> tuple[int, int]:
        """Train on sentences; each further call continues from the present parameters.

        Parameters are gensim's. One of the totals must be given; the learning rate falls with it only if the
        sentences cannot be counted before training, as lists and files are.

        Returns
        -------
        trained, raw : int
            Words after dropping unknown ones and sub-sampling (its expectation), and words read.

        Raises
        ------
        RuntimeError
            There is no vocabulary, or there are no vectors.
        ValueError
            ``epochs``, or both totals, are missing.
        """
        self.alpha, self.min_alpha = start_alpha or self.alpha, end_alpha or self.min_alpha
        self.epochs = epochs  # type: ignore[assignment]
        self._check_corpus_sanity(corpus_iterable, corpus_file, passes=epochs or 1)
        self._check_training_sanity(epochs, total_examples, total_words)
        if corpus_file is not None and not total_words:
            raise ValueError("total_words must be provided alongside corpus_file argument.")
        self.compute_loss, self.running_training_loss = bool(compute_loss), 0.0
        asked = list(callbacks)
        for callback in asked:
            callback.on_train_begin(self)
        corpus = self._corpus(corpus_iterable, corpus_file, total_examples, total_words, live=bool(asked))
        trained, raw = fit(self, corpus, asked)
        logger.info(
            "training on %i raw words (%i effective words) took %.1fs in all",
            raw,
            trained,
            self.total_train_time,
        )
        self.train_count += 1
        self.add_lifecycle_event("train", epochs=epochs, raw_words=raw, effective_words=trained)
        self._prepare_inference()
        for callback in asked:
            callback.on_train_end(self)
        return trained, raw

    _corpus = corpus_of

    def _prepare_inference(self) -> None:
        """Do nothing: only documents are inferred."""

    def _check_training_sanity(
        self, epochs: int | None, total_examples: int | None, total_words: int | None
    ) -> None:
        """Raise an error, as gensim does, if training cannot begin."""
        if not self.hs and not self.negative:
            raise ValueError(
                "You must set either 'hs' or 'negative' to be positive for proper training. "
                "When both 'hs=0' and 'negative=0', there will be no training."
            )
        if self.hs and self.negative:
            logger.warning(
                "Both hierarchical softmax and negative sampling are activated. "
                "This is probably a mistake. You should set either 'hs=0' "
                "or 'negative=0' to disable one of them. "
            )
        if self.alpha > self.min_alpha_yet_reached:
            logger.warning("Effective 'alpha' higher than previous training cycles")
        if not self.wv.key_to_index:
            raise RuntimeError("you must first build vocabulary before training the model")
        if not len(self.wv.vectors):
            raise RuntimeError("you must initialize vectors before training the model")
        if total_words is None and total_examples is None:
            raise ValueError(
                "You must specify either total_examples or total_words, for proper learning-rate and "
                "progress calculations. If you've just built the vocabulary using the same corpus, using the "
                "count cached in the model is sufficient: total_examples=model.corpus_count."
            )
        if epochs is None or epochs <= 0:
            raise ValueError(
                "You must specify an explicit epochs count. The usual value is epochs=model.epochs."
            )
        for name in ("syn1",) * bool(self.hs) + ("syn1neg",) * bool(self.negative):
            if len(getattr(self, name, ())) != len(self.wv.vectors):
                raise RuntimeError(
                    f"the model has no {name} for its {len(self.wv)} words: build its vocabulary with "
                    "build_vocab, with update=True to keep vectors that are there"
                )

    def get_latest_training_loss(self) -> float:
        """Return the summed loss of the last ``train(compute_loss=True)``, in nats."""
        return self.running_training_loss

    def init_sims(self, replace: bool = False) -> None:
        """Warn: lengths of vectors are computed when they are needed; see ``KeyedVectors.init_sims``."""
        self.wv.init_sims(replace)

    # ---- other forms of vectors ----------------------------------------------------------------------------

    def published(self, form: str = "both") -> KeyedVectors:
        """Return vectors in another form than ``wv``; gensim has no such method.

        These vectors are mostly better than ``wv``. Models that gensim has trained have them too: see
        docs/both-halves.md.

        Parameters
        ----------
        form : {'both', 'output', 'input', 'fitted'}
            ``both``: principal components of input and output rows. ``output``: output rows minus their mean.
            ``input``: input rows. ``fitted``: ``both``, with what n-grams tell of each word.

        Returns
        -------
        KeyedVectors
            A copy with the words and counts of ``wv``, without vectors of unknown words.

        Raises
        ------
        ValueError
            The form is unknown.
        RuntimeError
            The model was trained without negative sampling, or its output rows were dropped.
        """
        outputs = getattr(self, "syn1neg", None)
        if outputs is None or len(outputs) != len(self.wv.vectors):
            raise RuntimeError("the model has no output rows: train with negative=5, and keep syn1neg")
        halves = Halves(
            self.wv.vectors,
            np.asarray(outputs)[:, None, :],
            output_weight(bool(getattr(self.wv, "bucket", 0))),
        )
        counts = self.wv.expandos.get("count")
        vectors, _ = published_vectors(FittedForm(form, halves), halves, self.wv.index_to_key, counts)
        made = KeyedVectors(vectors.shape[1])
        made.index_to_key, made.key_to_index = list(self.wv.index_to_key), dict(self.wv.key_to_index)
        made.vectors, made.next_index = vectors, len(vectors)
        made.expandos = {name: np.array(values) for name, values in self.wv.expandos.items()}
        return made

    # ---- probabilities ------------------------------------------------------------------------------------

    def score(
        self,
        sentences: Iterable[Sequence[Any]],
        total_sentences: int = int(1e6),
        chunksize: int = 100,
        queue_factor: int = 2,
        report_delay: float = 1,
    ) -> np.ndarray:
        """Return the log-probability of sentences under hierarchical softmax (Taddy 2015).

        Parameters are gensim's.

        Raises
        ------
        RuntimeError
            There is no vocabulary, or the model was trained without ``hs``.
        """
        if not self.wv.key_to_index:
            raise RuntimeError("you must first build vocabulary before scoring new data")
        if not self.hs:
            raise RuntimeError("score is only there for hierarchical softmax: train with hs=1 and negative=0")
        index = self.wv.key_to_index
        chosen = islice(sentences, int(total_sentences))
        rows = ([index[word] for word in sentence if word in index] for sentence in chosen)
        return log_likelihoods(engine_of(self), rows).astype(np.float32)

    def predict_output_word(
        self, context_words_list: Sequence[Any], topn: int = 10
    ) -> list[tuple[Any, Any]] | None:
        """Return the most probable words in a context, as CBOW sees it, with their probabilities.

        Returns
        -------
        list of (word, float), or None if no context word is known

        Raises
        ------
        RuntimeError
            The model has no output vectors of negative sampling.
        """
        if not self.negative:
            raise RuntimeError(
                "predict_output_word is only there for negative sampling: train with negative > 0"
            )
        if len(getattr(self, "syn1neg", ())) != len(self.wv):
            raise RuntimeError("Parameters required for predicting the output words not found.")
        rows = [self.wv.get_index(word) for word in context_words_list if word in self.wv]
        if not rows:
            logger.warning("All the input context words are out-of-vocabulary for the current model.")
            return None
        hidden = self.wv.vectors[rows].sum(axis=0) / (len(rows) if self.cbow_mean else 1)
        logits = self.syn1neg @ hidden
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        return [(self.wv.index_to_key[row], shares[row]) for row in highest(shares.astype(np.float64), topn)]

    # ---- files --------------------------------------------------------------------------------------------

    def save(self, fname_or_handle: Any, **_: Any) -> None:
        """Write the model to one file that ``load`` memory-maps; no pickle. Training can continue from it.

        Raises
        ------
        DataError
            A word is neither str nor int, or the file cannot be written.
        """
        stored.save(self, fname_or_handle)

    def save_for_gensim(self, fname: str | os.PathLike[str]) -> None:
        """Write a file that gensim's class of the same name reads and trains further; needs gensim.

        A ``FastText`` keeps its n-grams, a ``Doc2Vec`` its documents.

        Raises
        ------
        ImportError
            gensim is not installed.
        DataError
            The folder does not exist, the model has ``dm_concat``, or the program has put the drop-in in the
            place of gensim, so that a file cannot name gensim's classes.
        """
        stored.save_for_gensim(self, fname)

    def load(cls, fname: str | os.PathLike[str], mmap: str | None = None, rethrow: bool = False) -> Any:
        """Read what ``save`` wrote, or a model of gensim 1 to 4; training can continue from it.

        ``Word2Vec.load`` returns a ``FastText`` if the file holds one.

        Raises
        ------
        AttributeError
            The file does not hold a Word2Vec model.
        FileNotFoundError
            There is no such file.
        DataError
            The file is damaged, or a pickle that names anything but a model (no pickle is run).
        """
        kind, state = stored.load(fname, mmap)
        if kind != "Word2Vec" or not isinstance(state.get("wv"), dict) or "dv" in state:
            raise AttributeError(f"Model of type {kind} can't be loaded by {cls.__name__}")  # type: ignore[attr-defined]
        vectors = KeyedVectors.kind_of(state["wv"])
        kinds = [each for each in (cls, *cls.__subclasses__()) if each._vectors is vectors]  # type: ignore[attr-defined]
        model = (kinds or [cls])[0]()  # type: ignore[operator]
        model._take(state)
        return model

    load = OnClassOnly(load)  # type: ignore[assignment]

    def _take(self, state: dict[str, Any]) -> None:
        """Take over the attributes of a stored model, also of gensim 1 to 3."""
        stored.take(self, state)
        if self.hs and "count" in self.wv.expandos:
            self.create_binary_tree()  # files hold no paths: they follow from the counts
