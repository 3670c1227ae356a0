"""``Doc2Vec`` with gensim's names, arguments and results, trained by wordvec_ca."""

from __future__ import annotations

import logging
import os
import warnings
from collections import namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca.corpus import DocumentTags, ScannedDocuments, scan_documents
from wordvec_ca.gensim.models import stored
from wordvec_ca.gensim.models.fitting import Corpus, loop_of
from wordvec_ca.gensim.models.keyedvectors import KeyedVectors
from wordvec_ca.gensim.models.sentences import lines_of, tagged_brown
from wordvec_ca.gensim.models.vocabulary import TrimRule
from wordvec_ca.gensim.models.word2vec import FAST_VERSION, OnClassOnly, Word2Vec
from wordvec_ca.training import MEASURED_DOCUMENTS, Inference, known_rows

__all__ = [
    "FAST_VERSION",
    "Doc2Vec",
    "Doctag",
    "TaggedBrownCorpus",
    "TaggedDocument",
    "TaggedLineDocument",
]

logger = logging.getLogger("gensim.models.doc2vec")


class TaggedDocument(namedtuple("TaggedDocument", "words tags")):
    """A document: its words, a list of str, and its tags, a list of str and int."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self.words}, {self.tags}>"


@dataclass
class Doctag:
    """A str tag: the number of its documents, its row, and the number of words in these documents."""

    doc_count: int
    index: int
    word_count: int


class TaggedLineDocument:
    """Documents of a file, one a line, words between white space; the tag is the number of the line.

    Parameters
    ----------
    source : path or binary file
        May be compressed if it is a path.
    """

    def __init__(self, source: Any) -> None:
        self.source = source

    def __iter__(self) -> Iterator[TaggedDocument]:
        for number, line in enumerate(lines_of(self.source)):
            yield TaggedDocument(line.split(), [number])


class TaggedBrownCorpus:
    """Sentences of the Brown corpus as NLTK has it, each with the tag FILE_SENT_NUMBER.

    Parameters
    ----------
    dirname : path
        The folder of its files.
    """

    def __init__(self, dirname: Any) -> None:
        self.dirname = dirname

    def __iter__(self) -> Iterator[TaggedDocument]:
        for path, number, words in tagged_brown(self.dirname):
            yield TaggedDocument(words, [f"{os.path.join(self.dirname, path.name)}_SENT_{number}"])


OUTPUTS = "syn1neg", "syn1"


class _Kept(NamedTuple):
    """An inference, and what it was made for."""

    key: tuple[Any, ...]
    arrays: tuple[Any, ...]
    inference: Inference


class Doc2Vec(Word2Vec):
    """Vectors of documents, or of tags of documents, and of words (Le and Mikolov 2014).

    Parameters, attributes and methods are gensim 4's. Those not listed here are documented in ``Word2Vec``.
    Unlike gensim's, ``infer_vector`` returns the same vector for the same text, and takes lists of texts.

    Parameters
    ----------
    documents : iterable of TaggedDocument, optional
        The documents; they are read once to count words and once to train, so every epoch has the same ones.
    corpus_file : path, optional
        Instead of ``documents``: a file with a document on each line; the tag is the number of the line.
    vector_size : int, default 100
        Dimensions of a vector.
    dm_mean : {1, 0}, optional
        With ``dm=1``: predict from the mean of the rows, or from their sum. By default the mean.
    dm : {1, 0}
        1 for distributed memory (PV-DM), 0 for the distributed bag of words (PV-DBOW).
    dbow_words : {0, 1}
        With ``dm=0``: train the vectors of words too, as skip-gram does.
    dm_concat : {0, 1}
        With ``dm=1``: concatenate the rows instead of taking their mean.
    dm_tag_count : int, default 1
        With ``dm_concat``: number of tags of a document whose vectors are concatenated with those of words.
    dv : KeyedVectors, optional
        Initial vectors of documents.
    dv_mapfile : path, optional
        Kept, not used.
    comment, trim_rule, callbacks, window
        See ``Word2Vec``.
    epochs : int, default 10
        Passes over the documents.
    shrink_windows : bool, default True
        See ``Word2Vec``.
    **kwargs : object
        Further parameters of ``Word2Vec``.

    Attributes
    ----------
    dv : KeyedVectors
        Tags and vectors of documents. A tag that is an int is its own row.
    """

    def __init__(
        self,
        documents: Any = None,
        corpus_file: Any = None,
        vector_size: int = 100,
        dm_mean: int | None = None,
        dm: int = 1,
        dbow_words: int = 0,
        dm_concat: int = 0,
        dm_tag_count: int = 1,
        dv: Any = None,
        dv_mapfile: Any = None,
        comment: str | None = None,
        trim_rule: TrimRule | None = None,
        callbacks: Sequence[Any] = (),
        window: int = 5,
        epochs: int = 10,
        shrink_windows: bool = True,
        **kwargs: Any,
    ) -> None:
        self.dbow_words, self.dm_concat = int(dbow_words), int(dm_concat)
        self.dm_tag_count = int(dm_tag_count)
        self.dv = dv if dv is not None else KeyedVectors(int(vector_size), mapfile_path=dv_mapfile)
        if dm_mean is not None:
            kwargs["cbow_mean"] = dm_mean
        super().__init__(
            documents,
            corpus_file,
            vector_size=vector_size,
            sg=(1 + dm) % 2,
            comment=comment,
            trim_rule=trim_rule,
            callbacks=callbacks,
            window=window,
            epochs=epochs,
            shrink_windows=shrink_windows,
            **kwargs,
        )

    def __str__(self) -> str:
        parts = [f'"{self.comment}"'] if self.comment else []
        if self.sg:
            parts.append("dbow+w" if self.dbow_words else "dbow")
        else:
            parts.append("dm/c" if self.dm_concat else "dm/m" if self.cbow_mean else "dm/s")
        parts.append(f"d{self.dv.vector_size}")
        parts += [f"n{self.negative}"] * bool(self.negative) + ["hs"] * bool(self.hs)
        parts += [f"w{self.window}"] * bool(not self.sg or self.dbow_words)
        parts += [f"mc{self.min_count}"] * (self.min_count > 1) + [f"s{self.sample:g}"] * (self.sample > 0)
        parts += [f"t{self.workers}"] * (self.workers > 1)
        return f"{type(self).__name__}<{','.join(parts)}>"

    __repr__ = __str__

    @property
    def dm(self) -> bool:
        """Whether this is distributed memory, PV-DM."""
        return not self.sg

    @property
    def dbow(self) -> bool:
        """Whether this is the distributed bag of words, PV-DBOW."""
        return bool(self.sg)

    @property
    def docvecs(self) -> KeyedVectors:
        """The same as ``dv``: the name of gensim 3."""
        return self.dv

    @docvecs.setter
    def docvecs(self, vectors: KeyedVectors) -> None:
        self.dv = vectors

    @property
    def layer1_size(self) -> int:  # type: ignore[override]  # an attribute of Word2Vec, which sets it
        """Numbers of an output vector."""
        beside = 2 * self.window + self.dm_tag_count if self.dm_concat and not self.sg else 1
        return beside * self.vector_size

    @layer1_size.setter
    def layer1_size(self, size: int) -> None:
        pass

    def __getitem__(self, tag: Any) -> np.ndarray:
        """Return the vector of a word or, if there is no such word, of a document; or of each of a list."""
        if isinstance(tag, str | int | np.integer):
            return np.asarray(self.wv[tag] if tag in self.wv else self.dv[tag])
        return np.vstack([self[each] for each in tag])

    # ---- words and tags -----------------------------------------------------------------------------------

    def _scan(
        self, corpus_iterable: Any, corpus_file: Any, trim_rule: TrimRule | None, *, min_count: int
    ) -> tuple[int, int]:
        """Count words and tags."""
        documents = corpus_iterable if corpus_file is None else TaggedLineDocument(corpus_file)
        scanned = scan_documents(_checked(documents))
        self._scanned = (_state_of(corpus_iterable, corpus_file), scanned)  # type: ignore[assignment]
        self.raw_vocab = dict(zip(scanned.words, scanned.counts.tolist(), strict=True))
        self._take_tags(scanned)
        logger.info(
            "collected %i word types and %i unique tags from a corpus of %i examples and %i words",
            len(self.raw_vocab),
            len(self.dv.index_to_key),
            scanned.n_documents,
            scanned.raw_tokens,
        )
        return scanned.raw_tokens, scanned.n_documents

    def _take_tags(self, scanned: ScannedDocuments) -> None:
        """Give rows to tags that have none: an int tag is its own row, and str tags follow after these."""
        numbers = [tag for tags in scanned.tags for tag in tags if isinstance(tag, int | np.integer)]
        if numbers and min(numbers) < 0:
            raise ValueError(f"the tag {min(numbers)} is below 0: a tag that is an int is a row")
        dv, updating = self.dv, self._adding
        if not updating:
            dv.index_to_key, dv.key_to_index, dv.expandos = [], {}, {}
            dv.vectors = dv.vectors[:0]
        known = len(dv.index_to_key)
        names = dict.fromkeys(tag for tags in scanned.tags for tag in tags if isinstance(tag, str))
        n_numbers = max(map(int, numbers), default=-1) + 1
        if updating and known and n_numbers > known and dv.key_to_index:
            raise ValueError(
                f"the tag {n_numbers - 1} is beyond the {known} rows of a model that has tags that are str: "
                "give new documents tags that are str"
            )
        if n_numbers > max(known, scanned.n_documents):
            logger.warning(
                "Highest int doctag (%i) larger than count of documents (%i). This means at least %i excess, "
                "unused slots (%i bytes) will be allocated for vectors.",
                n_numbers - 1,
                scanned.n_documents,
                n_numbers - 1 - scanned.n_documents,
                (n_numbers - 1 - scanned.n_documents) * self.vector_size * 4,
            )
        dv.index_to_key.extend(range(known, n_numbers))
        for name in names:
            if name not in dv.key_to_index:
                dv.key_to_index[name] = len(dv.index_to_key)
                dv.index_to_key.append(name)
        counted = np.zeros((2, len(dv.index_to_key)), np.int64)
        for tags, length in zip(scanned.tags, scanned.lengths.tolist(), strict=True):
            for tag in tags:
                counted[:, dv.get_index(tag)] += 1, length
        for name, values in zip(("doc_count", "word_count"), counted, strict=True):
            before = dv.expandos.get(name, np.zeros(0, np.int64))
            values[: len(before)] += before
            dv.expandos[name] = values

    _adding = False

    def build_vocab(
        self,
        corpus_iterable: Any = None,
        corpus_file: Any = None,
        update: bool = False,
        progress_per: int = 10000,
        keep_raw_vocab: bool = False,
        trim_rule: TrimRule | None = None,
        **kwargs: Any,
    ) -> None:
        """Count the words and the tags of documents, choose the words to keep and give all of them rows.

        Parameters are gensim's.
        """
        self._adding = bool(update)
        try:
            super().build_vocab(
                corpus_iterable, corpus_file, update, progress_per, keep_raw_vocab, trim_rule, **kwargs
            )
        finally:
            del self._adding

    def init_weights(self) -> None:
        """Draw the vectors of words and documents again; the other parameters are 0."""
        super().init_weights()
        self.dv.vectors = self.dv.vectors[:0]
        self.dv.resize_vectors(seed=self.seed + 7919)  # as in gensim: other numbers than those of the words

    def update_weights(self) -> None:
        """Give rows to words and documents that have none yet; the others do not change."""
        super().update_weights()
        self.dv.resize_vectors(seed=self.seed + 7919)

    def reset_from(self, other_model: Any) -> None:
        """Take the words and tags of another model, sharing its memory, and draw new vectors."""
        self.dv = KeyedVectors(self.vector_size)
        self.dv.index_to_key = other_model.dv.index_to_key
        self.dv.key_to_index = other_model.dv.key_to_index
        self.dv.expandos = other_model.dv.expandos
        super().reset_from(other_model)

    def estimated_lookup_memory(self) -> int:
        """Return about how many bytes the tags take."""
        return 200 * len(self.dv)

    def estimate_memory(
        self, vocab_size: int | None = None, report: dict[str, int] | None = None
    ) -> dict[str, int]:
        """Return, and log, about how many bytes a model takes; see ``Word2Vec``."""
        report = dict(report or {})
        report["doctag_lookup"] = self.estimated_lookup_memory()
        report["doctag_syn0"] = len(self.dv.index_to_key) * self.vector_size * 4
        return super().estimate_memory(vocab_size, report)

    # ---- training -----------------------------------------------------------------------------------------

    def _corpus(
        self,
        corpus_iterable: Any,
        corpus_file: Any,
        total_examples: int | None,
        total_words: int | None,
        *,
        live: bool,
    ) -> Corpus:
        """Return the documents as rows of words and tags."""
        known: Any
        scanned: Any
        known, scanned = self._scanned or (None, None)
        if scanned is None or known is None or known != _state_of(corpus_iterable, corpus_file):
            documents = corpus_iterable if corpus_file is None else TaggedLineDocument(corpus_file)
            scanned = scan_documents(_checked(documents))
        assert isinstance(scanned, ScannedDocuments)
        dv = self.dv
        rows = [[dv.get_index(tag) for tag in tags if tag in dv] for tags in scanned.tags]
        ends = np.cumsum([len(of_line) for of_line in rows], dtype=np.int64)
        flat = np.array([row for of_line in rows for row in of_line], np.int64)
        tags = DocumentTags(len(dv.index_to_key), None, ends, flat)
        return Corpus(scanned.chosen(self.wv.key_to_index), scanned.raw_tokens, tags)

    @classmethod
    def _get_offsets_and_start_doctags_for_corpusfile(
        cls, corpus_file: Any, workers: int
    ) -> tuple[list[int], list[int]]:
        """Return where each of several equal parts of a file begins, and the number of the line there."""
        starts = [int(os.path.getsize(corpus_file) // workers * part) for part in range(workers)]
        offsets: list[int] = []
        numbers: list[int] = []
        begin = 0
        with open(corpus_file, "rb") as file:
            for number, line in enumerate(file):
                while len(offsets) < workers and starts[len(offsets)] < begin + len(line):
                    offsets.append(begin)
                    numbers.append(number)
                begin += len(line)
        return offsets, numbers

    # ---- inference ----------------------------------------------------------------------------------------

    def infer_vector(
        self,
        doc_words: Any,
        alpha: float | None = None,
        min_alpha: float | None = None,
        epochs: int | None = None,
    ) -> np.ndarray:
        """Return the vector of a document that the model was not trained on, or of each of a list.

        The same words always have the same vector. A document without a known word gets zeros and a
        warning.

        Returns
        -------
        ndarray of shape (vector_size,), or (n_documents, vector_size) for a list of lists, float32

        Raises
        ------
        TypeError
            ``doc_words`` is a str.
        RuntimeError
            The model has no words yet.
        """
        if isinstance(doc_words, str):
            raise TypeError(
                "Parameter doc_words of infer_vector() must be a list of strings (not a single string)."
            )
        if not self.wv.key_to_index:
            raise RuntimeError("you must first build vocabulary before inferring vectors")
        words = list(doc_words)
        several = bool(words) and isinstance(words[0], list | tuple)
        inference = self._inferring().at(
            epochs or self.epochs, alpha or self.alpha, min_alpha or self.min_alpha
        )
        lines = known_rows(self.wv.key_to_index, words if several else [words])
        found = inference.infer(lines, threads=inference.config.threads if several else 1)
        return found if several else found[0]

    _inference: _Kept | None = None

    def _inferring(self) -> Inference:
        """Return the inference, kept until an array or an option differs.

        It reads what the arrays are at the time, as they may change in place.
        """
        scalar = int, float, str, np.generic
        options = {name: value for name, value in vars(self).items() if isinstance(value, scalar)}
        counts = self.wv.expandos["count"]
        arrays = self.wv.vectors, self.dv.vectors, self.wv.index_to_key, counts, *map(vars(self).get, OUTPUTS)
        key = options, len(self.wv.index_to_key), len(self.dv.index_to_key)
        kept = self._inference
        if (
            kept is None
            or kept.key != key
            or any(a is not b for a, b in zip(kept.arrays, arrays, strict=True))
        ):
            n_documents = min(MEASURED_DOCUMENTS, len(self.dv.index_to_key))
            engine, public = loop_of(self, DocumentTags(n_documents), filled=False)
            in_place = all(rows.shared for rows in public.values())
            copy_rows = None if in_place else lambda name, *given: public[name].copy(*given)
            kept = self._inference = _Kept(key, arrays, Inference(engine, copy_rows))
        return kept.inference

    def _prepare_inference(self) -> None:
        """Do at the end of training and loading, which take far longer, what the first text would wait for.

        Not with a tree: to make it takes longer than to load a model.
        """
        if self.wv.key_to_index and len(self.dv) and not self.hs and self.train_count:
            self._inferring()

    def similarity_unseen_docs(
        self,
        doc_words1: Sequence[Any],
        doc_words2: Sequence[Any],
        alpha: float | None = None,
        min_alpha: float | None = None,
        epochs: int | None = None,
    ) -> float:
        """Return the cosine of the inferred vectors of two documents; parameters as in ``infer_vector``."""
        first, second = self.infer_vector([list(doc_words1), list(doc_words2)], alpha, min_alpha, epochs)
        lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
        return float(first @ second) / lengths if lengths else 0.0

    # ---- files --------------------------------------------------------------------------------------------

    def save_word2vec_format(
        self,
        fname: Any,
        doctag_vec: bool = False,
        word_vec: bool = True,
        prefix: str = "*dt_",
        fvocab: Any = None,
        binary: bool = False,
    ) -> None:
        """Write the format of word2vec.c: words, documents, or both in one file.

        Parameters are gensim's.

        Raises
        ------
        DataError
            A word or a tag is empty or contains white space; nothing is written.
        """
        if doctag_vec:
            self.dv.encoded_keys(prefix)  # before the words are written, to which the tags are appended
        if word_vec:
            total = len(self.wv) + len(self.dv) if doctag_vec else None
            self.wv.save_word2vec_format(fname, fvocab, binary, total)
        if doctag_vec:
            self.dv.save_word2vec_format(
                fname,
                prefix=prefix,
                fvocab=fvocab,
                binary=binary,
                write_header=not word_vec,
                append=word_vec,
                sort_attr="doc_count",
            )

    def init_sims(self, replace: bool = False) -> None:
        """Warn: lengths of vectors are computed when they are needed; see ``KeyedVectors.init_sims``."""
        self.dv.init_sims(replace)

    def load(cls, fname: str | os.PathLike[str], mmap: str | None = None, rethrow: bool = False) -> Any:
        """Read what ``save`` wrote, or a ``Doc2Vec`` of gensim 4; training can continue from it.

        Raises
        ------
        AttributeError
            The file does not hold a Doc2Vec model.
        FileNotFoundError
            There is no such file.
        DataError
            The file is damaged, or a pickle that names anything but a model (no pickle is run).
        """
        kind, state = stored.load(fname, mmap)
        if "dv" not in state and "docvecs" not in state:
            raise AttributeError(f"Model of type {kind} can't be loaded by {cls.__name__}")  # type: ignore[attr-defined]
        model = cls()  # type: ignore[operator]
        dv = state.pop("dv", None) or state.pop("docvecs")
        model._take(state)
        model.dv = stored.vectors_from(KeyedVectors, dv)
        model.dv.key_to_index = {
            key: row for row, key in enumerate(model.dv.index_to_key) if isinstance(key, str)
        }
        model._prepare_inference()
        return model

    load = OnClassOnly(load)  # type: ignore[assignment]


def _checked(documents: Any) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """Yield words and tags of documents; warn if the first has a str for words: each character is one."""
    iterator = iter(documents)
    for document in islice(iterator, 1):
        if isinstance(document.words, str):
            logger.warning(
                "Each 'words' should be a list of words (usually unicode strings). "
                "First 'words' here is instead plain %s.",
                type(document.words),
            )
        if isinstance(document.tags, str):
            warnings.warn(
                f"the tags of the first document are a str, {document.tags!r:.50}, and each of its "
                "characters is a tag: give a list, as tags=['name']",
                stacklevel=2,
            )
        yield document.words, document.tags
    for document in iterator:
        yield document.words, document.tags


def _state_of(corpus_iterable: Any, corpus_file: Any) -> Any:
    """Return a value that identifies the documents; None if only reading them shows whether they changed."""
    if corpus_file is not None:
        state = os.stat(corpus_file)
        return os.fspath(corpus_file), state.st_size, state.st_mtime_ns
    if not isinstance(corpus_iterable, list | tuple):
        return None
    return hash(tuple(hash((tuple(words), tuple(tags))) for words, tags in corpus_iterable))
