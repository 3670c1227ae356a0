"""The parameters of a model: created, trained in place, saved and loaded."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.corpus import DocumentTags, Sessions, Vocab
from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.files import (
    Curve,
    check_file,
    check_listed,
    content_words,
    html_table,
    json_text,
    map_npy,
    read_checksums,
    read_whole_folder,
    replacing,
    save_npy,
    write_checksums,
    write_npy_stream,
)
from wordvec_ca.formats import MODEL_FILES, MODEL_FORMAT, check_ngrams, read_ngrams, write_gensim_index
from wordvec_ca.kernels import HYPER_DTYPE, aligned_zeros, huffman_paths, noise_mass, padded
from wordvec_ca.models.config import ResolvedConfig, TrainConfig
from wordvec_ca.models.directory import (
    read_array,
    read_attention,
    read_config,
    read_record,
    read_tree,
    settings_file,
)
from wordvec_ca.models.documents import DocumentRows
from wordvec_ca.models.history import History
from wordvec_ca.models.paths import joined_paths, ordered_paths, tree_paths
from wordvec_ca.models.publishing import save_fitted
from wordvec_ca.models.sizes import logits_of, parameter_shapes
from wordvec_ca.models.subwords import Subwords
from wordvec_ca.showable import showable_name, showable_record
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.models import models_with
from wordvec_ca.tables import (
    FittedForm,
    Halves,
    NgramVectors,
    Resamples,
    map_of_inputs,
    mean_attention,
    output_weight,
    published_vectors,
)
from wordvec_ca.vectors import KeyedVectors

if TYPE_CHECKING:
    from wordvec_ca.kernels import Paths

# Files of a model directory for people and for gensim; `EmbeddingModel.load` does not read them.
NOT_READ = {ModelFile.SETTINGS, ModelFile.INDEX}

# Files of the arrays by which the hidden vector x is multiplied.
OF_OUTPUT = {"outputs": ModelFile.OUTPUTS, "nodes": ModelFile.NODES}

# Number of rows that are initialised at a time.
BLOCK_ROWS = 65_536


class EmbeddingModel:
    """Vocabulary, configuration and parameters of one model.

    Parameters
    ----------
    config : TrainConfig
        Options; its defaults are resolved.
    vocab : Vocab
        Words and counts.
    tags : DocumentTags, optional
        The documents, for a model that has them; by default none.
    folder : path, optional
        Folder of a run: rows of documents are then memory-mapped from a file in it, instead of being in
        memory.

    Attributes
    ----------
    inputs : ndarray of shape (n_words, width), float32
        The vectors W, each padded with zeros to a multiple of 16 floats.
    outputs : ndarray of shape (n_words, parts * width), float32
        Output vectors O: ``parts`` is 1, for ssg and cwindow one per place in the window. Of shape (1, 16)
        for a model without negative sampling.
    word_logits : ndarray of shape (n_words, word_stride), float32
        Attention logits K of cbow-attn by word and place; of shape (1, 16) for a model without attention.
    slot_logits : ndarray of shape (1, padded(2 * window)), float32
        Attention logits s by place.
    nodes : ndarray of shape (n_words, parts * width), float32, or None
        With ``hs``, the inner nodes of the tree: the root first, the last row is not used.
    tree : ndarray of shape (3, n_words), int64, or None
        With ``hs``, the tree of a model that was trained further (see `tree_paths`); None for the Huffman
        tree of the counts.
    subwords : Subwords or None
        The rows of n-grams from which ``inputs`` are composed, if the configuration has ``subwords``.
    documents : Documents or None
        The rows of documents, if the model has any.
    resamples : Resamples or None
        Models of resampled text, whose mean this model is.
    record : dict
        Record of the run: corpus, timings, losses. Saved as part of ``config.json``.
    history : History
        Loss and learning rate over the run.
    sorted_log : Sessions or None
        After training on a log with ``test_last``: its sessions, on disk as long as the model is in memory.
    """

    def __init__(
        self,
        config: TrainConfig,
        vocab: Vocab,
        tags: DocumentTags | None = None,
        folder: Path | None = None,
    ) -> None:
        self.config = ResolvedConfig.of(config)
        self.vocab = vocab
        self.record: dict[str, Any] = {}
        self.history = History()
        shapes = parameter_shapes(self.config, len(vocab))
        self.inputs = aligned_zeros(shapes["inputs"])
        self.outputs = aligned_zeros(shapes["outputs"])
        self.word_logits = aligned_zeros(shapes["word_logits"])
        self.slot_logits = aligned_zeros(shapes["slot_logits"])
        self.nodes = aligned_zeros(shapes["nodes"]) if self.config.hs else None
        self.subwords = Subwords(self.config, vocab) if self.config.subwords else None
        self.resamples: Resamples | None = None
        self.tree: np.ndarray | None = None
        self.sorted_log: Sessions | None = None
        self.documents: DocumentRows | None = None
        if self.config.spec.documents:
            self.documents = DocumentRows.zeros(tags or DocumentTags(0), self.config.vector_size, folder)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle all but the log, which is in open files."""
        return {**self.__dict__, "sorted_log": None}

    def __getitem__(self, word: str) -> np.ndarray:
        """Raise an error that names ``wv``: a model is not a table of vectors."""
        raise TypeError(f"a model is not a table of vectors: take m.wv[{word!r}], or m.vectors[{word!r}]")

    if not TYPE_CHECKING:  # so that type checkers still report such mistakes

        def __getattr__(self, name: str) -> Any:
            """Raise an error that names ``wv`` for attributes of vectors."""
            if not name.startswith("_") and hasattr(KeyedVectors, name):
                raise AttributeError(f"a model has no {name}, its vectors do: m.wv.{name}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        facts = [f"{len(self.vocab)} words", f"vector_size={self.config.vector_size}"]
        if self.record:
            facts.append(f"{self.record.get('trained_fraction', 0.0):.0%} trained")
        return f"EmbeddingModel({self.config.model!r}, {', '.join(facts)})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            ("model", self.config.model),
            ("words", len(self.vocab)),
            ("vector_size", self.config.vector_size),
            ("window", self.config.window),
            ("epochs", self.config.epochs),
            ("tokens of the corpus", self.vocab.raw_tokens),
            ("some words", ", ".join(content_words(self.vocab.words, 10))),
        ]
        if self.record:
            rows.append(("trained", f"{self.record.get('trained_fraction', 0.0):.1%}"))
        if losses := [loss for loss in self.record.get("loss_by_epoch", []) if loss is not None]:
            rows.append(("loss of each epoch", Curve(losses)))
        if losses := [loss for loss in self.record.get("valid_loss_by_epoch", []) if loss is not None]:
            rows.append(("held-out loss", Curve(losses)))
        return html_table("EmbeddingModel", ("", ""), rows)

    @property
    def shared(self) -> tuple[np.ndarray, ...]:
        """The arrays in the order in which the training loop takes them."""
        nodes = () if self.nodes is None else (self.nodes,)
        return self.inputs, self.outputs, self.word_logits, self.slot_logits, *nodes

    @property
    def of_output(self) -> dict[str, np.ndarray]:
        """The arrays by which the hidden vector x is multiplied, by name: outputs, nodes, or both."""
        found = {"outputs": self.outputs} if self.config.negative else {}
        return found if self.nodes is None else {**found, "nodes": self.nodes}

    @cached_property
    def paths(self) -> Paths | None:
        """With ``hs``, the path from the root of the tree to each word."""
        if not self.config.hs:
            return None
        return huffman_paths(self.vocab.counts) if self.tree is None else tree_paths(self.tree)

    def join(self, former: EmbeddingModel) -> int:
        """Copy the tree of another model, all of whose words are in this model; return its number of nodes.

        The nodes keep their parameters, and new words are added to the tree.
        """
        assert self.nodes is not None
        assert former.nodes is not None
        n_old = len(former.vocab)
        old = former.tree
        if old is None:
            old = np.stack([former.vocab.counts, np.zeros(n_old, np.int64), np.arange(n_old)])
        rows = np.array([former.vocab.index.get(word, -1) for word in self.vocab.words])
        new = rows < 0
        tree = np.where(new, 0, old[:, rows]).astype(np.int64)
        order = np.argsort(old[2])
        places = np.arange(n_old - 1)
        if n_new := int(new.sum()):
            tree[:, new] = [
                self.vocab.counts[new],
                np.full(n_new, old[1].max() + 1),
                n_old + np.arange(n_new),
            ]
            paths = ordered_paths(old[0][order], old[1][order])
            _, places = joined_paths(paths, old[0][order], self.vocab.counts[new])
        self.tree = None if self.vocab == former.vocab and former.tree is None else tree
        self.__dict__.pop("paths", None)
        self.nodes[places] = former.nodes[: n_old - 1]
        return len(places)

    @property
    def learnt(self) -> dict[str, np.ndarray]:
        """The trained arrays, by name. With n-grams, these are the rows from which vectors are composed."""
        names = ("inputs", "outputs", "word_logits", "slot_logits", "nodes")
        arrays = dict(zip(names, self.shared, strict=False))
        return arrays if self.subwords is None else {**arrays, "inputs": self.subwords.rows}

    @property
    def resumed(self) -> dict[str, np.ndarray]:
        """The arrays that a resumed run needs: the trained arrays, by name, and those of documents.

        Rows of documents in a file of the run are not included: `DocumentJournal` stores their changes.
        """
        found, documents = self.learnt, self.documents
        if documents is not None and documents.touched_blocks is None:
            found = {**found, "documents": documents.rows}
        if documents is not None and self.config.spec.attends:
            found = {**found, "document_logits": documents.logits}
        return found

    def compose(self) -> None:
        """With n-grams, compute the vectors of all words again from the rows that they share."""
        if self.subwords is not None:
            self.subwords.compose_all(self.inputs)

    @property
    def n_bytes(self) -> int:
        """Memory of the parameters in bytes."""
        rows = 0 if self.subwords is None else self.subwords.rows.nbytes
        rows += 0 if self.documents is None else self.documents.rows.nbytes
        return rows + sum(array.nbytes for array in self.shared)

    def empty_like(self) -> EmbeddingModel:
        """Return a model of the same words and options, with new parameters that are zero."""
        model = copy.copy(self)
        model.forget_published()
        model.inputs, model.outputs = aligned_zeros(self.inputs.shape), aligned_zeros(self.outputs.shape)
        model.word_logits = aligned_zeros(self.word_logits.shape)
        model.slot_logits = aligned_zeros(self.slot_logits.shape)
        if self.nodes is not None:
            model.nodes = aligned_zeros(self.nodes.shape)
        if self.subwords is not None:
            model.subwords = copy.copy(self.subwords)
            model.subwords.rows = aligned_zeros(self.subwords.rows.shape)
        return model

    def initialise(self) -> None:
        """Draw W and D uniformly from plus or minus 0.5 / vector_size, as word2vec.c does; the rest is zero.

        With n-grams, their rows are drawn (see ``Subwords.initialise``). If the document is a place of the
        softmax, its initial weight equals that of all words of a window together.
        """
        if self.documents is not None:
            self.documents.initialise(self.config.seed, self.config.vector_size)
            if self.config.spec.attends:
                # With the weight of only one word, the rows of short documents learn so slowly that they lose
                # their attention before they are useful. The larger weight raised accuracy from .31 to .54 on
                # TREC and from .86 to .90 on SUBJ.
                begin = math.log(2 * self.config.reach)
                if self.config.attention == "word":
                    self.documents.logits[:] = begin
                else:
                    self.slot_logits[0, 2 * self.config.reach] = begin
        if self.subwords is not None:
            self.subwords.initialise(self.config.seed, self.config.vector_size)
            self.compose()
            return
        rng = np.random.default_rng([self.config.seed, 0x696E6974])
        d = self.config.vector_size
        for start in range(0, len(self.inputs), BLOCK_ROWS):
            rows = self.inputs[start : start + BLOCK_ROWS, :d]
            rows[:] = (rng.random(rows.shape, dtype=np.float32) - np.float32(0.5)) / np.float32(d)

    def noise_mass(self) -> np.ndarray:
        """Return the relative frequency of each word as a negative; see `wordvec_ca.kernels.noise_mass`.

        Training, inference, held-out loss and merges all use this method, so that an option that changes the
        distribution of negatives affects all of them.
        """
        return noise_mass(self.vocab.counts, self.config.ns_exponent)

    def hyper(self) -> np.ndarray:
        """Return the options of the training loop; the caller sets learning rates and sharing."""
        c, hyper = self.config, np.zeros(1, HYPER_DTYPE)
        hyper["composition"] = c.spec.letter
        hyper["width"] = padded(c.vector_size)
        hyper["bands"] = c.spec.bands(c.reach)
        hyper["out_width"] = padded(c.vector_size) * c.widths()
        hyper["window"] = c.reach
        hyper["shrink_windows"] = c.shrink_windows
        hyper["drawn"] = c.negative
        hyper["longest_path"] = 0 if self.paths is None else max(1, self.paths.longest)
        hyper["shared_by"] = 1
        hyper["word2vec_update"] = c.spec.averages and c.cbow_update == "word2vec"
        hyper["sum_rows"] = not c.cbow_mean
        if c.spec.attends:
            hyper["word_stride"] = 0 if c.attention == "position" else self.word_logits.shape[1]
            hyper["word_slots"] = c.attention == "full"
            hyper["use_slots"] = c.attention != "word"
        hyper["attention_clip"] = c.attention_clip
        hyper["merge_every"] = 2**31 - 1
        if self.documents is not None:
            hyper["most_tags"] = self.documents.tags.most
            hyper["only_documents"] = not c.learns_words
        return hyper

    @property
    def form(self) -> str:
        """The form of the published vectors, see `wordvec_ca.tables.published`."""
        return self.config.vectors or "input"

    @property
    def halves(self) -> Halves:
        """Input and output rows, without padding; they share memory with the parameters.

        Raises
        ------
        DataError
            A model without negative sampling has no output rows of words.
        """
        if not self.config.negative:
            raise DataError(
                "a model with hierarchical softmax alone has no output rows of words; its vectors are ",
                Option("vectors", "input"),
            )
        n, d = len(self.vocab), self.config.vector_size
        outputs = self.outputs.reshape(n, -1, padded(d))[:, :, :d]
        return Halves(self.inputs[:, :d], outputs, output_weight(self.config.subwords))

    def fitted_form(self) -> FittedForm:
        """Return the form of the published vectors, fitted on the parameters as they are now."""
        return FittedForm(self.form, self.halves)

    @property
    def vectors(self) -> KeyedVectors:
        """The published vectors as `wordvec_ca.KeyedVectors`.

        Input rows share memory with ``inputs``. Another form is read from the model directory or computed at
        the first use, and kept; `publish` computes it again.
        """
        if self.form == "fitted":
            self._check_spelling()
        words, counts, record = self.vocab.words, self.vocab.counts, self.full_record()
        ngrams = None
        if self.subwords is not None:
            ngrams = NgramVectors(self.subwords.index, self.subwords.rows[:, : self.config.vector_size])
        if self.form == "input":
            made = self.inputs[:, : self.config.vector_size]
        else:
            made, fitted = self._published
            ngrams = fitted if ngrams is None else ngrams.as_published(lambda: self._ngrams_published)
        attention = self.word_attention if self.config.spec.attends else None
        return KeyedVectors(words, made, counts, record, ngrams, attention, self.resamples)

    @cached_property
    def _published(self) -> tuple[np.ndarray, NgramVectors | None]:
        """The published vectors, unless they are input rows, and the n-grams that are fitted to them."""
        return published_vectors(self.fitted_form(), self.halves, self.vocab.words, self.vocab.counts)

    def _check_spelling(self) -> None:
        """Fit n-grams; if spelling tells nothing, publish `both`: what was trained must not be lost."""
        try:
            self._published  # noqa: B018 - computed, and kept
        except DataError as error:
            warnings.warn(OptionWarning(Option("vectors", "both"), f" are published: {error}"), stacklevel=3)
            self.config = dataclasses.replace(self.config, vectors="both")

    @cached_property
    def _ngrams_published(self) -> np.ndarray:
        """The map from means of rows of n-grams to published vectors."""
        return self._map_of_inputs(self._published[0])

    def _map_of_inputs(self, made: np.ndarray) -> np.ndarray:
        return map_of_inputs(self.inputs[:, : self.config.vector_size], made)

    def publish(self, form: str | None = None) -> KeyedVectors:
        """Return the published vectors, computed from the parameters as they are now.

        Parameters
        ----------
        form : str, optional
            New form to publish from now on, one of ``VECTOR_FORMS``.

        Returns
        -------
        KeyedVectors

        Raises
        ------
        OptionError
            The model cannot have the form.
        DataError
            The model has resampled models, whose form cannot change.
        """
        if form is not None and form != self.form:
            if self.resamples is not None:
                raise DataError(
                    f"the resampled models are {self.form!r} vectors and cannot become others: train with ",
                    Option("vectors", form),
                )
            self.config = dataclasses.replace(self.config, vectors=form)  # type: ignore[arg-type]
        self.forget_published()
        return self.vectors

    def forget_published(self) -> None:
        """Drop the stored published vectors because parameters change; the next use computes them again."""
        for name in ("_published", "_ngrams_published"):
            self.__dict__.pop(name, None)

    def word_attention(self) -> np.ndarray:
        """Return how much attention each word gets, see `wordvec_ca.tables.mean_attention`.

        Returns
        -------
        ndarray of shape (n_words,), float32

        Raises
        ------
        DataError
            The model has no attention, or its logits are not finite.
        """
        if not self.config.spec.attends:
            known = ", ".join(models_with("attends"))
            raise DataError(f"a {self.config.model} model has no attention; these have: {known}")
        slots, columns = logits_of(self.config)
        words = self.word_logits[: len(self.vocab), :columns]
        if not columns:
            words = np.zeros((len(self.vocab), 0), np.float32)
        return mean_attention(
            words, self.slot_logits[0, :slots], self.vocab.counts, self.config.attention_clip
        )

    @property
    def wv(self) -> KeyedVectors:
        """The same as ``vectors``, under gensim's name; ``wv.to_gensim()`` returns gensim's own object."""
        return self.vectors

    def full_record(self) -> dict[str, Any]:
        """Return the content of ``config.json``."""
        return {
            "format": MODEL_FORMAT,
            "version": __version__,
            "config": self.config.as_dict(),
            "n_words": len(self.vocab),
            "raw_tokens": self.vocab.raw_tokens,
            "raw_types": self.vocab.raw_types,
            **self.record,
        }

    def save(
        self, directory: str | os.PathLike[str], *, overwrite: bool = False, mark: str | None = None
    ) -> None:
        """Write the model directory; it appears complete or not at all.

        Parameters
        ----------
        directory : path
            Path of the directory.
        overwrite : bool, default False
            Replace an existing directory.
        mark : str, optional
            Mark in the name of the temporary folder, see ``clear_leftovers``.

        Raises
        ------
        DataError
            If the directory exists and ``overwrite`` is false, or cannot be written.
        """
        d, bands = self.config.vector_size, self.config.spec.bands(self.config.reach)
        fitted_ngrams = self.vectors.ngrams if self.form == "fitted" else None  # may make the form another
        with replacing(Path(directory), overwrite=overwrite, files=MODEL_FILES, mark=mark) as folder:
            save_npy(
                folder / (ModelFile.VECTORS if self.form == "input" else ModelFile.INPUTS), self.inputs[:, :d]
            )
            if fitted_ngrams is not None:
                save_fitted(folder, *self._published)
            elif self.form != "input":
                fitted = self.fitted_form()
                write_npy_stream(folder / ModelFile.VECTORS, fitted.blocks(self.halves), fitted.n_columns)
            for name, array in self.of_output.items():
                parts = array.reshape(len(self.vocab), -1, padded(d))
                row_shape = (bands, parts.shape[1] * d // bands)
                save_npy(folder / OF_OUTPUT[name], parts[:, :, :d], row_shape=row_shape)
            if self.config.spec.attends:
                slots, columns = logits_of(self.config)
                if columns:
                    save_npy(folder / ModelFile.ATTENTION_WORDS, self.word_logits[:, :columns])
                save_npy(
                    folder / ModelFile.ATTENTION_SLOTS,
                    self.slot_logits[0, : slots + self.config.spec.documents],
                )
            if self.documents is not None:
                self.documents.save(folder, d, attends=self.config.spec.attends)
            self.vocab.save_all(folder)
            if self.tree is not None:
                save_npy(folder / ModelFile.TREE, self.tree)
            if self.resamples is not None:
                self.resamples.save(folder)
            if self.subwords is not None:
                save_npy(folder / ModelFile.NGRAM_ROWS, self.subwords.rows[:, :d])
                self.subwords.index.save(folder / ModelFile.NGRAMS)
                if self.form != "input":
                    save_npy(
                        folder / ModelFile.NGRAMS_PUBLISHED,
                        self._map_of_inputs(map_npy(folder / ModelFile.VECTORS)),
                    )
            write_gensim_index(folder, self.vocab.words, self.vocab.counts)
            if len(self.history):
                self.history.save(folder / ModelFile.HISTORY)
            text = json_text(showable_record(self.full_record()), indent=2) + "\n"
            (folder / ModelFile.CONFIG).write_text(text, encoding="utf-8")
            if settings := self.record.get("settings"):
                shown = settings_file(showable_record(settings, showable_name))
                (folder / ModelFile.SETTINGS).write_text(shown, encoding="utf-8")
            write_checksums(folder)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> EmbeddingModel:
        """Read a model directory with all its parameters.

        Raises
        ------
        DataError
            If it is not a complete model directory of a format that this version knows.
        """
        folder = Path(directory)
        return read_whole_folder(folder, lambda: cls._load(folder))

    @classmethod
    def _load(cls, folder: Path) -> EmbeddingModel:
        check_listed(folder)
        for name in set(read_checksums(folder)) - NOT_READ:
            check_file(folder / name)
        record = read_record(folder)
        config = read_config(folder)
        vocab = Vocab.load_all(folder, record.get("raw_tokens", 0), record.get("raw_types", 0))
        d, n = config.vector_size, len(vocab)
        bands, widths = config.spec.bands(config.reach), config.widths()
        # check all arrays before memory is allocated for the sizes in the configuration
        form = config.vectors or "input"
        inputs = read_array(folder / (ModelFile.VECTORS if form == "input" else ModelFile.INPUTS), (n, d))
        published = None
        if form != "input":
            published = read_array(folder / ModelFile.VECTORS, (n, d))
        names = ["outputs"] * bool(config.negative) + ["nodes"] * config.hs
        of_output = [read_array(folder / OF_OUTPUT[name], (n, bands, widths * d)) for name in names]
        attention = read_attention(folder) if config.spec.attends else None
        model = cls(config, vocab)
        model.inputs[:, :d] = inputs
        if config.spec.documents:
            model.documents = DocumentRows.load(folder, d, attends=config.spec.attends)
        if model.subwords is not None:
            rows = model.subwords.rows
            check_ngrams(folder, len(rows) - n)
            rows[:, :d] = read_array(folder / ModelFile.NGRAM_ROWS, (len(rows), d))
        for array, stored in zip(model.of_output.values(), of_output, strict=True):
            array.reshape(n, -1, padded(d))[:, :, :d] = stored.reshape(n, bands * widths, d)
        if config.hs and (folder / ModelFile.TREE).exists():
            model.tree = read_tree(folder / ModelFile.TREE, n)
        if attention is not None:
            words, slots = attention
            if len(words) != n:
                raise DataError(
                    f"{str(folder)!r}: {n} words in {ModelFile.VOCAB}, but {len(words)} in {ModelFile.CONFIG}"
                )
            if words.shape[1]:
                model.word_logits[:, : words.shape[1]] = words
            model.slot_logits[0, : len(slots)] = slots
        if published is not None:
            fitted = read_ngrams(folder, record, vocab.words, published) if form == "fitted" else None
            model._published = published, fitted
        model.resamples = Resamples.load(folder, n, d)
        model.history = History.load(folder / ModelFile.HISTORY)
        fixed = {"format", "version", "config", "n_words", "raw_tokens", "raw_types"}
        model.record = {key: value for key, value in record.items() if key not in fixed}
        return model
