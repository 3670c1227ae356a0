"""The parameters of a model: made, handed to the training loop, saved and loaded."""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.config import TrainConfig
from wordvec_ca.errors import DataError, OutputExistsError
from wordvec_ca.gensim_index import gensim_is_installed, write_gensim_index
from wordvec_ca.history import History
from wordvec_ca.kernels import HYPER_DTYPE, MODELS, aligned_zeros, padded
from wordvec_ca.keyedvectors import KeyedVectors
from wordvec_ca.npy_stream import map_npy
from wordvec_ca.vocab import Vocab

FORMAT = 1
"""Version of the model directory."""

FILES = {
    *("config.json", "vocab.tsv", "vectors.kv", "vectors.kv.vectors.npy"),
    *("outputs.npy", "attention_words.npy", "attention_slots.npy", "history.tsv"),
    "report.html",
}
"""What a model directory may hold; one that holds anything else is never overwritten."""

BLOCK_ROWS = 65_536
"""Rows initialised at a time."""

BLOCK_BYTES = 1 << 24
"""Bytes copied at a time, so that saving needs no second copy of the parameters."""


class EmbeddingModel:
    """Vocabulary, configuration and parameters of one model.

    Parameters
    ----------
    config : TrainConfig
        Options; its defaults are resolved.
    vocab : Vocab
        Words and counts.

    Attributes
    ----------
    inputs : ndarray of shape (n_words, width), float32
        The vectors W, each padded with zeros to a multiple of 16 floats.
    outputs : ndarray of shape (n_words, parts * width), float32
        Output vectors O: ``parts`` is 1, for ssg and cwindow one per place in the window.
    word_logits : ndarray of shape (n_words, word_stride), float32
        Attention logits K of cbow-attn by word and place; of shape (1, 16) for a model without.
    slot_logits : ndarray of shape (1, padded(2 * window)), float32
        Attention logits s by place.
    record : dict
        What is known of the run: corpus, timings, losses. Saved as part of ``config.json``.
    history : History
        How the run went: loss and learning rate along the way.
    """

    def __init__(self, config: TrainConfig, vocab: Vocab) -> None:
        self.config = config.resolved()
        self.vocab = vocab
        self.record: dict[str, Any] = {}
        self.history = History()
        shapes = parameter_shapes(self.config, len(vocab))
        self.inputs = aligned_zeros(shapes["inputs"])
        self.outputs = aligned_zeros(shapes["outputs"])
        self.word_logits = aligned_zeros(shapes["word_logits"])
        self.slot_logits = aligned_zeros(shapes["slot_logits"])

    @property
    def shared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arrays in the order in which the training loop takes them."""
        return self.inputs, self.outputs, self.word_logits, self.slot_logits

    @property
    def n_bytes(self) -> int:
        """Memory of the parameters in bytes."""
        return sum(array.nbytes for array in self.shared)

    def initialise(self) -> None:
        """Draw W uniformly from plus or minus 0.5 / vector_size, as word2vec.c does; the rest is zero."""
        rng = np.random.default_rng([self.config.seed, 0x696E6974])
        d = self.config.vector_size
        for start in range(0, len(self.inputs), BLOCK_ROWS):
            rows = self.inputs[start : start + BLOCK_ROWS, :d]
            rows[:] = (rng.random(rows.shape, dtype=np.float32) - np.float32(0.5)) / np.float32(d)

    def hyper(self) -> np.ndarray:
        """Return the record that the training loop reads; learning rates and sharing are the caller's."""
        c, hyper = self.config, np.zeros(1, HYPER_DTYPE)
        attends = c.model == "cbow-attn"
        hyper["model"] = MODELS.index(c.model)
        hyper["width"] = padded(c.vector_size)
        hyper["bands"] = 2 * _window(c) if c.model == "ssg" else 1
        hyper["out_width"] = self.outputs.shape[1] // int(hyper["bands"][0])
        hyper["window"] = c.window
        hyper["shrink_windows"] = c.shrink_windows
        hyper["drawn"] = c.negative
        hyper["shared_by"] = 1
        hyper["word2vec_update"] = c.model in ("cbow", "cbow-attn") and c.cbow_update == "word2vec"
        if attends:
            hyper["word_stride"] = 0 if c.attention == "position" else self.word_logits.shape[1]
            hyper["word_slots"] = c.attention == "full"
            hyper["use_slots"] = c.attention != "word"
        hyper["attention_clip"] = c.attention_clip
        hyper["merge_every"] = 2**31 - 1
        return hyper

    @property
    def vectors(self) -> KeyedVectors:
        """The vectors as our own light class; shares memory with ``inputs``."""
        view = self.inputs[:, : self.config.vector_size]
        return KeyedVectors(self.vocab.words, view, self.vocab.counts, metadata=self.full_record())

    @property
    def wv(self) -> Any:
        """The vectors as gensim's ``KeyedVectors``, or, where gensim is not installed, our own."""
        return self.vectors.to_gensim() if gensim_is_installed() else self.vectors

    def full_record(self) -> dict[str, Any]:
        """Return what ``config.json`` holds."""
        return {
            "format": FORMAT,
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
            Where to.
        overwrite : bool, default False
            Replace an existing directory.
        mark : str, optional
            Of the temporary folder, see ``clear_scraps``.

        Raises
        ------
        DataError
            If the directory exists and ``overwrite`` is false, or cannot be written.
        """
        d = self.config.vector_size
        with replacing(Path(directory), overwrite=overwrite, mark=mark) as folder:
            parts = self.outputs.reshape(len(self.vocab), -1, padded(d))
            bands = parts.shape[1] if self.config.model == "ssg" else 1
            _write_rows(folder / "vectors.kv.vectors.npy", self.inputs[:, :d], (d,))
            _write_rows(folder / "outputs.npy", parts[:, :, :d], (bands, parts.shape[1] * d // bands))
            if self.config.model == "cbow-attn":
                slots = 2 * _window(self.config)
                columns = {"full": slots, "position": 0, "word": 1}[self.config.attention]
                if columns:
                    _write_rows(folder / "attention_words.npy", self.word_logits[:, :columns], (columns,))
                np.save(folder / "attention_slots.npy", self.slot_logits[0, :slots])
            self.vocab.save(folder / "vocab.tsv")
            if gensim_is_installed():
                write_gensim_index(folder, self.vocab.words, self.vocab.counts)
            if len(self.history):
                self.history.save(folder / "history.tsv")
            text = json.dumps(self.full_record(), indent=2, ensure_ascii=False) + "\n"
            (folder / "config.json").write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> EmbeddingModel:
        """Read a model directory with all its parameters.

        Raises
        ------
        DataError
            If it is not a complete model directory of a format that this version knows.
        """
        folder = Path(directory)
        record = read_record(folder)
        config = read_config(folder)
        vocab = Vocab.load(folder / "vocab.tsv")
        vocab.raw_tokens, vocab.raw_types = record.get("raw_tokens", 0), record.get("raw_types", 0)
        d, n = config.vector_size, len(vocab)
        parts = parameter_shapes(config, n)["outputs"][1] // padded(d)
        bands = parts if config.model == "ssg" else 1
        # all arrays must fit before memory is taken for what the configuration promises
        inputs = _read_array(folder / "vectors.kv.vectors.npy", (n, d))
        outputs = _read_array(folder / "outputs.npy", (n, bands, parts * d // bands))
        attention = read_attention(folder) if config.model == "cbow-attn" else None
        model = cls(config, vocab)
        model.inputs[:, :d] = inputs
        model.outputs.reshape(n, parts, padded(d))[:, :, :d] = outputs.reshape(n, parts, d)
        if attention is not None:
            words, slots = attention
            if len(words) != n:
                raise DataError(f"{str(folder)!r}: {n} words in vocab.tsv, but {len(words)} in config.json")
            if words.shape[1]:
                model.word_logits[:, : words.shape[1]] = words
            model.slot_logits[0, : len(slots)] = slots
        model.history = History.load(folder / "history.tsv")
        fixed = {"format", "version", "config", "n_words", "raw_tokens", "raw_types"}
        model.record = {key: value for key, value in record.items() if key not in fixed}
        return model


def parameter_shapes(config: TrainConfig, n_words: int) -> dict[str, tuple[int, int]]:
    """Return the shape of each parameter array of a resolved configuration, padding included."""
    width, slots = padded(config.vector_size), 2 * _window(config)
    parts = slots if config.model in ("ssg", "cwindow") else 1
    stride = {"full": padded(slots), "position": 0, "word": 1}[config.attention]
    has_word_logits = config.model == "cbow-attn" and stride > 0
    return {
        "inputs": (n_words, width),
        "outputs": (n_words, parts * width),
        "word_logits": (n_words, stride) if has_word_logits else (1, 16),
        "slot_logits": (1, padded(slots)),
    }


def read_record(folder: Path) -> dict[str, Any]:
    """Read ``config.json`` of a model directory and check that this version can use it."""
    try:
        record = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{str(folder)!r} is not a model directory: it has no config.json") from None
    except (OSError, RecursionError, ValueError) as error:
        raise DataError(f"{str(folder / 'config.json')!r} cannot be read: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("config"), dict):
        raise DataError(f"{str(folder / 'config.json')!r} is not the record of a model")
    if record.get("format") != FORMAT:
        raise DataError(
            f"{str(folder)!r} has format {record.get('format')!r}; this version ({__version__}) reads format "
            f"{FORMAT}: use the version that wrote it, or export its vectors with that"
        )
    for name in ("n_words", "raw_tokens", "raw_types"):
        if type(record.get(name, 0)) is not int or record.get(name, 0) < 0:
            raise DataError(f"{str(folder / 'config.json')!r}: {name} is {record[name]!r:.80}, not a count")
    return record


def read_config(folder: Path) -> TrainConfig:
    """Return the resolved configuration of a model directory.

    Raises
    ------
    DataError
        As ``read_record``, or an option is unknown or outside its limits.
    """
    try:
        return TrainConfig.from_dict(read_record(folder)["config"]).resolved()
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(f"{str(folder / 'config.json')!r}: {error}") from error


def read_attention(directory: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the attention logits of a saved cbow-attn model, memory-mapped.

    Returns
    -------
    words : ndarray of shape (n_words, columns), float32
        K; columns is 2 * window, 1 for ``attention="word"``, 0 for ``attention="position"``.
    slots : ndarray of shape (2 * window,), float32
        s.
    """
    folder = Path(directory)
    record = read_record(folder)
    if record["config"].get("model") != "cbow-attn":
        raise DataError(
            f"{str(folder)!r} is a {record['config'].get('model')} model; only cbow-attn has attention"
        )
    config = read_config(folder)
    slots = 2 * _window(config)
    columns = {"full": slots, "position": 0, "word": 1}[config.attention]
    n_words = record.get("n_words", 0)
    words = np.zeros((n_words, 0), np.float32)
    if columns:
        words = _read_array(folder / "attention_words.npy", (n_words, columns))
    return words, _read_array(folder / "attention_slots.npy", (slots,))


@contextmanager
def replacing(
    directory: str | os.PathLike[str],
    *,
    overwrite: bool,
    files: Collection[str] = FILES,
    mark: str | None = None,
) -> Iterator[Path]:
    """Give a new folder that takes the name of ``directory`` once it is complete and on disk.

    Until then, and if anything fails, an older directory of that name stays as it was. A symbolic
    link is followed. Only a directory that holds nothing but ``files`` is overwritten. What a process that
    was killed has left behind is cleared by the next one with the same ``mark``.

    Raises
    ------
    DataError
        If the directory exists and may not be overwritten, or the disk cannot take it.
    """
    check_output(directory, overwrite=overwrite, files=files)
    target = Path(os.path.realpath(directory))
    mark = mark or secrets.token_hex(4)  # no longer than a name that is allowed may be
    partial, former = _scraps(target, mark)
    try:
        clear_scraps(directory, mark)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir()
        yield partial
        for path in [*partial.iterdir(), partial]:
            _sync(path)
        if target.exists():
            target.rename(former)
        partial.rename(target)
        _sync(target.parent)
    except OSError as error:
        raise DataError(f"cannot write the model to {str(directory)!r}: {error.strerror or error}") from error
    finally:
        if former.exists() and not target.exists():
            former.rename(target)
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(former, ignore_errors=True)


def clear_scraps(directory: str | os.PathLike[str], mark: str) -> None:
    """Clear what a process that was killed while it wrote a model has left; put an older model back."""
    target = Path(os.path.realpath(directory))
    partial, former = _scraps(target, mark)
    if former.exists() and not target.exists():
        former.rename(target)
    shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(former, ignore_errors=True)


def _scraps(target: Path, mark: str) -> tuple[Path, Path]:
    return target.with_name(f".{mark}.partial"), target.with_name(f".{mark}.former")


def check_output(
    directory: str | os.PathLike[str], *, overwrite: bool, files: Collection[str] = FILES
) -> None:
    """Raise a DataError if a model could not be written to ``directory``: before training, not after."""
    name, target = repr(os.fspath(directory)), Path(os.path.realpath(directory))
    if not target.name:
        raise DataError(f"cannot write a model to {name}: give a directory of its own")
    if target.exists():
        if not overwrite:
            raise OutputExistsError(f"{name} exists already: choose another --output or give --overwrite")
        if not target.is_dir():
            raise DataError(f"{name} exists and is not a model directory: it is not overwritten")
        others = sorted(path.name for path in target.iterdir() if path.name not in files)
        if others:
            raise DataError(
                f"{name} holds {others[0]!r}, which is not part of a model: it is not overwritten"
            )
    parent = _existing(target.parent)
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise DataError(f"cannot write to {name}: {str(parent)!r} is not a writable directory")


def check_room(directory: str | os.PathLike[str], config: TrainConfig, n_words: int) -> None:
    """Raise a DataError if the disk has no room for a model: before training, not after."""
    needed = saved_bytes(config, n_words)
    free = shutil.disk_usage(_existing(Path(os.path.realpath(directory)).parent)).free
    if needed > free:
        raise DataError(
            f"no room for the model {os.fspath(directory)!r}: it takes about {needed / 1e6:,.0f} MB and "
            f"{free / 1e6:,.0f} MB are free there; make room or choose another output"
        )


def check_memory(config: TrainConfig, n_words: int) -> None:
    """Raise a DataError if the parameters of a model cannot fit into this machine's memory."""
    needed, present = memory_bytes(config, n_words), machine_memory()
    if needed > present:
        raise DataError(
            f"the parameters of {n_words:,} words take {needed / 1e9:,.1f} GB and this machine has "
            f"{present / 1e9:,.1f} GB of memory: lower vector_size, window or max_final_vocab, "
            "or raise min_count"
        )


def machine_memory() -> float:
    """Return the bytes of memory that this machine has; infinity if it cannot be asked (Windows)."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def memory_bytes(config: TrainConfig, n_words: int) -> int:
    """Return the bytes of memory that the parameters of a resolved configuration take, padding included."""
    return sum(4 * rows * columns for rows, columns in parameter_shapes(config, n_words).values())


def n_parameters(config: TrainConfig, n_words: int) -> int:
    """Return how many numbers learn in a resolved configuration."""
    slots = 2 * _window(config)
    parts = 1 + (slots if config.model in ("ssg", "cwindow") else 1)
    attends = config.model == "cbow-attn"
    columns = {"full": slots, "position": 0, "word": 1}[config.attention] if attends else 0
    per_place = slots if attends and config.attention != "word" else 0
    return n_words * (config.vector_size * parts + columns) + per_place


def saved_bytes(config: TrainConfig, n_words: int) -> int:
    """Return about how many bytes the model directory of a resolved configuration takes."""
    return 4 * n_parameters(config, n_words) + 60 * n_words  # a word and its count stand in two files


def _existing(folder: Path) -> Path:
    """Return the nearest folder (or file) above that exists, or the folder itself."""
    while not folder.exists():
        folder = folder.parent
    return folder


def _window(config: TrainConfig) -> int:
    assert config.window is not None, "the configuration is resolved"
    return config.window


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_rows(path: Path, rows: np.ndarray, shape: tuple[int, ...]) -> None:
    """Write rows as an .npy of shape (n_rows, *shape) in blocks."""
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (len(rows), *shape)}
        np.lib.format.write_array_header_1_0(file, header)
        step = max(1, BLOCK_BYTES // (4 * int(np.prod(shape))))
        for start in range(0, len(rows), step):
            file.write(np.ascontiguousarray(rows[start : start + step], dtype="<f4").data)


def _read_array(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Memory-map an .npy and check its shape and type."""
    try:
        array = map_npy(path)
    except FileNotFoundError:
        raise DataError(f"the model is incomplete: {str(path)!r} is missing") from None
    if array.shape != shape or array.dtype != np.float32:
        raise DataError(
            f"{str(path)!r} has shape {array.shape} and type {array.dtype}; expected {shape}, float32"
        )
    return array
