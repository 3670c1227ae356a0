"""The result of a training run: a folder with vectors, vocabulary, parameters and the record of the run.

::

    config.json             the complete record of configuration, version, corpus and timings
    vocab.tsv               word TAB count, one a line, UTF-8, most frequent first
    rare.tsv                words too rare for vocab.tsv, in the same form, for a continued run
    vectors.kv.vectors.npy  float32 (n_words, n_columns): the published vectors, memory-mapped by this reader
                            and by gensim; their form is the option ``vectors`` in config.json
    vectors.kv              gensim's index to it (optional, not read here)
    inputs.npy              float32 (n_words, vector_size): input rows W, unless they are what is published
    outputs.npy             float32 (n_words, bands, widths * vector_size): output rows O
    nodes.npy               float32, of the same shape: rows of the inner nodes of the Huffman tree
    tree.npy                the Huffman tree that the nodes belong to, if it is not that of the counts
    attention_words.npy     float32 (n_words, columns): attention logits K by word and place
    attention_slots.npy     float32 (places,): attention logits s by place
    documents.npy           float32 (n_documents, vector_size): vectors D of documents
    documents.tags          their tags, one a line as JSON, unless they are numbers from 0
    attention_documents.npy float32 (n_documents,): what each adds to the logit of the document's place
    history.tsv             how the run went
    held_out.json           figures of the sessions that --test-last held out
    run.toml                settings that repeat the run: cawv train --config run.toml
    ngrams.tsv              n-gram TAB row, one a line (only of models with n-grams)
    ngrams.npy              float32 (n_rows, vector_size): rows of the words, then rows that n-grams share
    ngrams_published.npy    float32 (vector_size + 1, n_columns): what turns means of those rows into the
                            published form
    resamples*.npy          models of resampled text, if there are some: see `wordvec_ca.tables.resamples`
    SHA256SUMS              checksums of the files, which `cawv info --check` and `sha256sum --check` compare

The names are those of `wordvec_ca.specs.model_files`. `read_model_directory` reads what is published, and
``EmbeddingModel.load`` the parameters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import (
    CHECKSUMS,
    OpenedArray,
    OpenedFile,
    check_file,
    check_listed,
    check_sample,
    map_npy,
    parse_words,
    read_whole_folder,
    read_words,
)
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.specs.models import VECTOR_FORMS, logit_columns, spec_of
from wordvec_ca.tables import (
    MAX_N,
    MIN_N,
    RESAMPLE_FILES,
    FittedForm,
    Halves,
    NgramIndex,
    NgramVectors,
    Resamples,
    VectorTable,
    check_form,
    config_of,
    encoded,
    keys_of,
    map_of_inputs,
    mean_attention,
    output_weight,
    published_vectors,
)

# Version of the format of model directories; others are refused.
MODEL_FORMAT = 1

# Files of a model directory; a directory with any other file is never overwritten.
MODEL_FILES = {*map(str, ModelFile), CHECKSUMS, *RESAMPLE_FILES}


def is_model_directory(path: Path) -> bool:
    """Return whether a folder contains at least the vectors of a model."""
    return (path / ModelFile.VECTORS).is_file()


def read_model_directory(path: Path, form: str | None = None) -> VectorTable:
    """Read a model directory; the published vectors are memory-mapped, so opening takes the same time for any
    size.
    """
    # Files that are read later are opened now, so they belong to this model even if another one replaces it
    # meanwhile.
    for name in (ModelFile.VECTORS, ModelFile.VOCAB):
        if not (path / name).is_file():
            raise DataError(f"{path} is not a model directory: it has no {name}")
    return read_whole_folder(path, lambda: _read_model_directory(path, form))


def _read_model_directory(path: Path, form: str | None) -> VectorTable:
    check_listed(path)
    check_file(path / ModelFile.VOCAB)
    metadata = read_metadata(path) if (path / ModelFile.CONFIG).is_file() else {}
    words, counts = read_words(
        path / ModelFile.VOCAB, foreign=False
    )  # a repeated word is detected when the words are indexed
    published = form_of_record(metadata)
    is_published = form is None or form == published
    ngrams = None
    if form is None or is_published:
        vectors = map_array(path / ModelFile.VECTORS)
    else:
        vectors, ngrams = _made(path, metadata, form, words, counts)
        metadata = {**metadata, "config": {**metadata["config"], "vectors": form}}
    if len(words) != len(vectors):
        raise DataError(
            f"{path}: {ModelFile.VOCAB} has {len(words)} words but {ModelFile.VECTORS} has {len(vectors)} "
            "rows; the files are not of the same model"
        )
    if ngrams is None:
        ngrams = read_ngrams(path, metadata, words, vectors, is_published)
    return VectorTable(
        *(words, vectors, counts, metadata, ngrams, _attention(path, metadata, counts)),
        resamples=Resamples.load(path, *vectors.shape) if is_published else None,
    )


def _made(
    path: Path, metadata: dict[str, Any], form: str, words: list[str], counts: np.ndarray
) -> tuple[np.ndarray, NgramVectors | None]:
    """Return vectors in another form than the published one, and those of n-grams that are fitted to them."""
    check_form(form)  # checked before the matrices are opened, which may be damaged too
    if form == "input" and (path / ModelFile.INPUTS).is_file():
        return map_array(path / ModelFile.INPUTS), None
    fitted, halves = form_of_directory(path, metadata, form)
    if form == "fitted" and metadata["config"].get("subwords"):
        raise DataError(f"{path} has n-grams already, which were trained: with them, nothing is fitted")
    return published_vectors(fitted, halves, words, counts)


def form_of_directory(path: Path, metadata: dict[str, Any], form: str) -> tuple[FittedForm, Halves]:
    """Return a form, fitted on a model directory, and the mapped matrices that it needs."""
    halves = _stored_halves(path, metadata)
    if form_of_record(metadata) != "input" and not (path / ModelFile.INPUTS).is_file():
        raise DataError(
            f"{path} has no input rows ({ModelFile.INPUTS}): take the file from a backup; there are only its "
            f"published vectors, {form_of_record(metadata)!r}"
        )
    return FittedForm(form, halves), halves


def form_of_record(metadata: dict[str, Any]) -> str:
    """Return the form of the published vectors from the record of a model; input rows if it names none."""
    form = config_of(metadata).get("vectors") or "input"
    if form not in VECTOR_FORMS:
        raise DataError(
            f"{ModelFile.CONFIG}: the vectors are {form!r}; this version knows {', '.join(VECTOR_FORMS)}: "
            "update it"
        )
    return str(form)


def _stored_halves(path: Path, metadata: dict[str, Any]) -> Halves:
    """Map the input and the output rows of a model directory."""
    if not (config := config_of(metadata)) or not (path / ModelFile.OUTPUTS).is_file():
        raise DataError(
            f"{path} has no output rows ({ModelFile.OUTPUTS}): there are only its published vectors, "
            f"{form_of_record(metadata)!r}"
        )
    apart = (path / ModelFile.INPUTS).is_file()
    inputs = map_array(path / (ModelFile.INPUTS if apart else ModelFile.VECTORS))
    check_sample(path / ModelFile.OUTPUTS)
    outputs = map_npy(path / ModelFile.OUTPUTS)
    fits = outputs.ndim == 3 and len(outputs) == len(inputs) and outputs.dtype == np.float32
    if not fits or math.prod(outputs.shape[1:]) % max(1, inputs.shape[1]):
        raise DataError(
            f"{path}: output rows of shape {outputs.shape} and input rows of shape {inputs.shape} are not of "
            "one model"
        )
    outputs = outputs.reshape(len(inputs), -1, inputs.shape[1])
    return Halves(inputs, outputs, output_weight(bool(config.get("subwords"))))


def _attention(path: Path, metadata: dict[str, Any], counts: np.ndarray) -> Callable[[], np.ndarray] | None:
    """Return a function that reads the weights of words, if the model has attention."""
    config = config_of(metadata)
    try:
        attends = spec_of(config.get("model", "")).attends
    except ValueError:  # a model of a later version, whose vectors can still be used
        return None
    logits = OpenedArray(path / ModelFile.ATTENTION_WORDS), OpenedArray(path / ModelFile.ATTENTION_SLOTS)
    return partial(read_word_attention, path, config or {}, counts, *logits) if attends else None


def read_word_attention(
    path: Path,
    config: dict[str, Any],
    counts: np.ndarray,
    of_words: OpenedArray,
    of_slots: OpenedArray,
) -> np.ndarray:
    """Return how much attention each word of a model directory draws."""
    kind, clip = config.get("attention", "full"), config.get("attention_clip", 10.0)
    try:
        slots = of_slots.get()
        slots = slots[: slots.size - spec_of(config["model"]).documents]  # the last place is the document's
        columns = logit_columns(kind, slots.size)
        words = of_words.get() if columns else np.zeros((len(counts), 0), np.float32)
    except FileNotFoundError as error:
        raise DataError(
            f"{path} is an attention model, but {Path(error.filename).name} is missing: the weights of its "
            "words cannot be known (",
            Option("attention", False),
            " does without)",
        ) from None
    except (KeyError, TypeError) as error:
        raise DataError(f"{path / ModelFile.CONFIG}: {kind!r} is not a kind of attention") from error
    fits = slots.ndim == 1 and words.shape == (len(counts), columns)
    if not fits or not isinstance(clip, int | float) or {slots.dtype.kind, words.dtype.kind} != {"f"}:
        raise DataError(
            f"{path}: logits of shape {words.shape} and {slots.shape} are not of a model of {len(counts)} "
            "words; the files do not belong together"
        )
    return mean_attention(words, slots, counts, clip)


def read_ngrams(
    path: Path, metadata: dict[str, Any], words: list[str], vectors: np.ndarray, is_published: bool = True
) -> NgramVectors | None:
    """Return the vectors of n-grams, if the model has some; the index of their rows is read when it is
    needed.
    """
    n_words, form = len(words), form_of_record(metadata)
    config, fitted = config_of(metadata), form == "fitted"
    if not (config.get("subwords") or (fitted and is_published)):
        return None
    rows = map_array(path / ModelFile.NGRAM_ROWS)
    n_own = 0 if fitted else n_words  # words that are made of trained n-grams have a row of their own, too
    vector_size = vectors.shape[1] if form == "input" else config.get("vector_size")
    if rows.shape[1] != vector_size:
        raise DataError(
            f"{path}: {ModelFile.NGRAM_ROWS} has rows of {rows.shape[1]} numbers, the vectors have "
            f"{vector_size}; the files are not of the same model"
        )
    options = [config.get(name) or 0 for name in ("min_n", "max_n", "buckets")]
    if fitted:
        options = [MIN_N, MAX_N, 0]
    if not all(type(number) is int and 0 <= number < 2**31 for number in options):
        raise DataError(
            f"{path}: min_n, max_n and buckets in {ModelFile.CONFIG} should be whole numbers: {options}"
        )
    names = OpenedFile(path / ModelFile.NGRAMS)
    check_file(path / ModelFile.NGRAMS)
    check_ngrams(path, len(rows) - n_own)
    index = partial(read_index, path / ModelFile.NGRAMS, names, *options, n_rows=len(rows))
    outputs = path / ModelFile.OUTPUTS
    ngrams = NgramVectors(index, rows, OpenedArray(outputs) if outputs.exists() and not fitted else None)
    if form == "input" or fitted:
        return ngrams
    if not is_published:
        made = map_of_inputs(_stored_halves(path, metadata).inputs, vectors)
        return ngrams.as_published(lambda: made)
    linear_map = map_array(path / ModelFile.NGRAMS_PUBLISHED)
    if linear_map.shape != (rows.shape[1] + 1, vectors.shape[1]):
        raise DataError(
            f"{path / ModelFile.NGRAMS_PUBLISHED} has shape {linear_map.shape}: it is not of this model"
        )
    return ngrams.as_published(lambda: linear_map)


def check_ngrams(path: Path, n_rows: int) -> None:
    """Raise a DataError if a model directory has rows of n-grams, but names no n-grams."""
    names = path / ModelFile.NGRAMS
    if n_rows > 0 and not (names.is_file() and names.stat().st_size):
        state = "is empty" if names.is_file() else "is missing"
        raise DataError(
            f"{names} {state}, but {ModelFile.NGRAM_ROWS} has {n_rows:,} rows of n-grams: use a backup"
        )


def read_index(
    path: Path, file: OpenedFile, min_n: int, max_n: int, buckets: int, *, n_rows: int
) -> NgramIndex:
    """Read the row of each n-gram: ``n-gram TAB row`` lines, or ``bucket TAB row``."""
    names, rows = parse_words(file.read(), str(path), foreign=False)
    try:
        keys = np.array(names, np.uint64) if buckets else keys_of([encoded(name) for name in names], 0)
    except (ValueError, OverflowError):
        raise DataError(f"{path} should hold numbers of buckets and of rows") from None
    if len(rows) and (rows.max() >= n_rows or (buckets and keys.max() >= buckets)):
        raise DataError(f"{path} names a row or a bucket that the model does not have")
    order = np.argsort(keys, kind="stable")
    return NgramIndex(
        *(min_n, max_n, buckets, keys[order], rows[order].astype(np.int32)),
        None if buckets else partial(_in_order, names, order),
    )


def _in_order(names: list[str], order: np.ndarray) -> list[bytes]:
    return [encoded(names[i]) for i in order]


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return ``config.json`` of a model directory."""
    path = folder / ModelFile.CONFIG
    check_file(path)
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{str(folder)!r} is not a model directory: it has no {ModelFile.CONFIG}") from None
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except (RecursionError, ValueError) as error:
        raise DataError(f"{str(path)!r} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise DataError(f"{str(path)!r} should hold a JSON object, but holds a {type(record).__name__}")
    version = record.get("format", MODEL_FORMAT)
    if version != MODEL_FORMAT:
        raise DataError(
            f"{str(path)!r}: format {version!r:.80} is not the format {MODEL_FORMAT} that this program "
            f"({__version__}) knows; export the vectors with the version that wrote it"
        )
    return record


def map_part(path: Path) -> np.ndarray:
    """Memory-map an .npy file of a model, read-only."""
    check_sample(path)
    try:
        return map_npy(path)
    except FileNotFoundError:
        raise DataError(f"the model is incomplete: {str(path)!r} is missing") from None


def map_array(path: Path) -> np.ndarray:
    """Memory-map a float32 matrix from an .npy file, read-only; other float types are converted in memory."""
    array = map_part(path)
    if array.ndim != 2 or array.dtype.kind != "f":
        raise DataError(
            f"{path} should hold a matrix of floats, one row a word, but holds {array.dtype} of shape "
            f"{array.shape}"
        )
    if array.dtype != np.dtype(np.float32):
        array = array.astype(np.float32)
    return array
