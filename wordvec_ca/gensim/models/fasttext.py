"""``FastText`` with gensim's names, arguments and results, trained by wordvec_ca."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from wordvec_ca.formats import FastTextModel, FastTextOptions, read_fasttext_model, write_fasttext_model
from wordvec_ca.gensim.models.fasttext_vectors import FastTextKeyedVectors
from wordvec_ca.gensim.models.keys import Trainables
from wordvec_ca.gensim.models.sentences import MAX_WORDS_IN_BATCH, LineSentence
from wordvec_ca.gensim.models.vocabulary import TrimRule
from wordvec_ca.gensim.models.word2vec import FAST_VERSION, Word2Vec

# fastText's end of line: it has no n-grams.
END_OF_LINE = "</s>"


def compute_ngrams(word: str, min_n: int, max_n: int) -> list[str]:
    """Return the n-grams of a word between ``<`` and ``>``, the shortest first."""
    marked = f"<{word}>"
    lengths = range(max(min_n, 1), min(max_n, len(marked)) + 1)
    return [marked[i : i + n] for n in lengths for i in range(len(marked) - n + 1)]


def compute_ngrams_bytes(word: str, min_n: int, max_n: int) -> list[bytes]:
    """Return the n-grams of a word in UTF-8, in the order of their places, as fastText does.

    A single mark, ``<`` or ``>``, is not an n-gram.
    """
    marked = f"<{word}>"
    found = []
    for i in range(len(marked)):
        for n in range(max(min_n, 1), min(max_n, len(marked) - i) + 1):
            if n > 1 or 0 < i < len(marked) - 1:
                found.append(marked[i : i + n].encode("utf-8", "surrogatepass"))
    return found


def ft_hash_bytes(ngram: bytes) -> int:
    """Return fastText's hash of an n-gram: FNV-1a of 32 bits, with bytes above 127 taken as negative."""
    found = 2_166_136_261
    for byte in ngram:
        found = ((found ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16_777_619) & 0xFFFFFFFF
    return found


def ft_ngram_hashes(word: str, minn: int, maxn: int, num_buckets: int) -> list[int]:
    """Return the buckets of a word's n-grams, in the order of their places."""
    ngrams = [] if word == END_OF_LINE else compute_ngrams_bytes(word, minn, maxn)
    return [ft_hash_bytes(ngram) % num_buckets for ngram in ngrams]


__all__ = [
    "FAST_VERSION",
    "FastText",
    "FastTextKeyedVectors",
    "LineSentence",
    "compute_ngrams",
    "compute_ngrams_bytes",
    "ft_hash_bytes",
    "ft_ngram_hashes",
    "load_facebook_model",
    "load_facebook_vectors",
    "save_facebook_model",
]

FastTextTrainables = FastTextVocab = Trainables

CBOW, SKIPGRAM, SUPERVISED = 1, 2, 3
# Numbers of fastText's models and losses in a ``.bin``.
HIERARCHICAL_SOFTMAX, NEGATIVE_SAMPLING = 1, 2


class FastText(Word2Vec):
    """Vectors of words made of their n-grams (Bojanowski et al. 2017).

    Parameters, attributes and methods are gensim 4's. Those not listed here are documented in ``Word2Vec``.

    Parameters
    ----------
    sentences : iterable of lists of str, optional
        See ``Word2Vec``.
    corpus_file : path, optional
    sg, hs, vector_size, alpha, window, min_count, max_vocab_size
        See ``Word2Vec``.
    word_ngrams : {1}
        Another number is refused, as in gensim.
    sample, seed, workers, min_alpha, negative, ns_exponent, cbow_mean, hashfxn, epochs, null_word
        See ``Word2Vec``.
    min_n, max_n : int, default 3 and 6
        Least and largest number of characters of an n-gram, with the marks ``<`` and ``>`` of a word's ends.
        With ``max_n`` below ``min_n`` there are no n-grams.
    sorted_vocab : {0, 1}
    bucket : int, default 2000000
        Rows of n-grams: an n-gram has the row of its hash modulo this number. 0 for no n-grams.
    trim_rule, batch_words, callbacks, max_final_vocab, shrink_windows
        See ``Word2Vec``.

    Attributes
    ----------
    wv : FastTextKeyedVectors
        Words and vectors, also for strings that are not words of the model.

    Raises
    ------
    NotImplementedError
        ``word_ngrams`` is not 1.
    """

    wv: FastTextKeyedVectors
    _vectors = FastTextKeyedVectors

    def __init__(
        self,
        sentences: Any = None,
        corpus_file: Any = None,
        sg: int = 0,
        hs: int = 0,
        vector_size: int = 100,
        alpha: float = 0.025,
        window: int = 5,
        min_count: int = 5,
        max_vocab_size: int | None = None,
        word_ngrams: int = 1,
        sample: float = 1e-3,
        seed: int | None = 1,
        workers: int = 3,
        min_alpha: float = 0.0001,
        negative: int = 5,
        ns_exponent: float = 0.75,
        cbow_mean: int = 1,
        hashfxn: Any = hash,
        epochs: int = 5,
        null_word: int = 0,
        min_n: int = 3,
        max_n: int = 6,
        sorted_vocab: int = 1,
        bucket: int = 2_000_000,
        trim_rule: TrimRule | None = None,
        batch_words: int = MAX_WORDS_IN_BATCH,
        callbacks: Sequence[Any] = (),
        max_final_vocab: int | None = None,
        shrink_windows: bool = True,
    ) -> None:
        if word_ngrams != 1:
            raise NotImplementedError(f"word_ngrams is {word_ngrams}: n-grams of words are not there, give 1")
        self.word_ngrams, self.callbacks = word_ngrams, callbacks
        self.wv = FastTextKeyedVectors(vector_size, min_n, max_n, bucket if max_n >= max(min_n, 1) else 0)
        super().__init__(
            sentences,
            corpus_file,
            vector_size=vector_size,
            alpha=alpha,
            window=window,
            min_count=min_count,
            max_vocab_size=max_vocab_size,
            sample=sample,
            seed=seed,
            workers=workers,
            min_alpha=min_alpha,
            sg=sg,
            hs=hs,
            negative=negative,
            ns_exponent=ns_exponent,
            cbow_mean=cbow_mean,
            hashfxn=hashfxn,
            epochs=epochs,
            null_word=null_word,
            trim_rule=trim_rule,
            sorted_vocab=sorted_vocab,
            batch_words=batch_words,
            callbacks=callbacks,
            max_final_vocab=max_final_vocab,
            shrink_windows=shrink_windows,
        )

    @classmethod
    def load_fasttext_format(cls, model_file: str | os.PathLike[str], encoding: str = "utf-8") -> FastText:
        """Warn, and return ``load_facebook_model(model_file)``: gensim's name for it until 4."""
        warnings.warn("use load_facebook_model", DeprecationWarning, stacklevel=2)
        return load_facebook_model(model_file, encoding)

    def estimate_memory(
        self, vocab_size: int | None = None, report: dict[str, int] | None = None
    ) -> dict[str, int]:
        """Return, and log, about how many bytes a model takes in gensim; here it takes no more."""
        report = super().estimate_memory(vocab_size, report)
        report["syn0_vocab"] = report.pop("vectors")
        if self.wv.bucket:
            report["syn0_ngrams"] = self.wv.bucket * self.vector_size * 4
            report["buckets_word"] = 64 + sum(100 + 4 * len(buckets) for buckets in self.wv.buckets_word)
        report["total"] = sum(report.values()) - report["total"]
        return report


def load_facebook_model(path: str | os.PathLike[str], encoding: str = "utf-8") -> FastText:
    """Read a ``.bin`` of fastText, of any version; training can continue.

    Raises
    ------
    NotImplementedError
        The model is a classifier.
    DataError
        The file is quantised, damaged or not a model of fastText.
    """
    found = read_fasttext_model(path)
    _refuse_classifier(found)
    o = found.options
    model = FastText(
        vector_size=o.dim,
        window=o.ws,
        epochs=o.epoch,
        negative=0 if o.loss == HIERARCHICAL_SOFTMAX else o.neg,
        hs=int(o.loss == HIERARCHICAL_SOFTMAX),
        sg=int(o.model == SKIPGRAM),
        bucket=o.bucket,
        min_count=o.minCount,
        sample=o.t,
        min_n=o.minn,
        max_n=o.maxn,
    )
    model.negative = o.neg
    _take_words(model.wv, found, encoding)
    model.raw_vocab, model.corpus_total_words = {}, found.n_tokens
    outputs = np.array(found.outputs, np.float32)
    if model.hs:
        model.syn1 = outputs
    if model.negative:
        model.syn1neg = outputs
    return model


def load_facebook_vectors(path: str | os.PathLike[str], encoding: str = "utf-8") -> FastTextKeyedVectors:
    """Read the vectors of a ``.bin`` of fastText; see ``load_facebook_model``."""
    found = read_fasttext_model(path)
    _refuse_classifier(found)
    o = found.options
    wv = FastTextKeyedVectors(o.dim, o.minn, o.maxn, o.bucket if o.maxn >= max(o.minn, 1) else 0)
    _take_words(wv, found, encoding)
    return wv


def save_facebook_model(
    model: FastText,
    path: str | os.PathLike[str],
    encoding: str = "utf-8",
    lr_update_rate: int = 100,
    word_ngrams: int = 1,
) -> None:
    """Write a ``.bin`` that fastText reads.

    Parameters are gensim's; nothing here uses ``lr_update_rate`` and ``word_ngrams``, which the file has.

    Raises
    ------
    DataError
        A word holds a zero byte, or the file cannot be written.
    """
    wv, n_words = model.wv, len(model.wv)
    options = FastTextOptions(
        dim=model.vector_size,
        ws=model.window,
        epoch=model.epochs,
        minCount=model.min_count,
        neg=model.negative,
        wordNgrams=word_ngrams,
        loss=HIERARCHICAL_SOFTMAX if model.hs else NEGATIVE_SAMPLING,
        model=SKIPGRAM if model.sg else CBOW,
        bucket=wv.bucket,
        minn=wv.min_n,
        maxn=wv.max_n,
        lrUpdateRate=lr_update_rate,
        t=model.sample,
    )
    stored = FastTextModel(
        options,
        [str(word).encode(encoding) for word in wv.index_to_key],
        np.asarray(wv.expandos["count"], np.int64),
        np.zeros(n_words, np.int8),
        int(model.corpus_total_words or 0),
        np.concatenate([wv.vectors_vocab, wv.vectors_ngrams]),
        model.syn1neg if model.negative else model.syn1,
    )
    write_fasttext_model(stored, path)


def _refuse_classifier(found: FastTextModel) -> None:
    if found.options.model == SUPERVISED:
        raise NotImplementedError("this model of fastText is a classifier: it cannot be trained further")


def _take_words(wv: FastTextKeyedVectors, found: FastTextModel, encoding: str) -> None:
    """Set keys, counts and rows from a ``.bin``."""
    words = [word.decode(encoding, "backslashreplace") for word in found.words]
    wv.index_to_key, wv.key_to_index = words, {word: row for row, word in enumerate(words)}
    wv.next_index, wv.expandos = len(words), {"count": np.array(found.counts, np.int64)}
    wv.vectors_vocab = np.array(found.inputs[: len(words)], np.float32)
    wv.vectors_ngrams = np.array(found.inputs[len(words) :][: wv.bucket], np.float32)
    wv.adjust_vectors()
