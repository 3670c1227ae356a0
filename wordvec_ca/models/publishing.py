"""Publishes the vectors of a trained model in another form; see `wordvec_ca.tables.published`."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

import numpy as np

from wordvec_ca.corpus import Vocab
from wordvec_ca.errors import DataError, Option
from wordvec_ca.files import (
    CHECKSUMS,
    check_file,
    json_text,
    map_npy,
    read_checksums,
    replacing,
    save_npy,
    write_checksums,
    write_npy_stream,
)
from wordvec_ca.formats import MODEL_FILES, add_gensim_index, form_of_directory
from wordvec_ca.models.directory import read_config, read_record, settings_file
from wordvec_ca.specs.model_files import ModelFile
from wordvec_ca.tables import NgramVectors, map_of_inputs, published_vectors

# Files that depend on the form. Pages and figures of the previous vectors are removed.
OF_FORM = {
    *(ModelFile.VECTORS, ModelFile.INPUTS, ModelFile.INDEX, ModelFile.NGRAMS_PUBLISHED),
    *(ModelFile.NGRAMS, ModelFile.NGRAM_ROWS),
    *(ModelFile.CONFIG, ModelFile.SETTINGS, ModelFile.REPORT_PAGE, ModelFile.WORDS_PAGE, CHECKSUMS),
    ModelFile.HELD_OUT,
}


def publish(
    directory: str | os.PathLike[str],
    form: str,
    *,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> None:
    """Publish the vectors of a model directory in another form, without changing the parameters."""
    # The vectors are computed block by block from the files, so the model need not fit into memory.
    source = Path(os.path.realpath(directory))
    record = read_record(source)
    if not (source / ModelFile.VOCAB).is_file():
        raise DataError(f"{os.fspath(directory)!r} is not a model directory: it has no {ModelFile.VOCAB}")
    config = dataclasses.replace(read_config(source), vectors=form)  # type: ignore[arg-type]
    for path in source.iterdir():
        if source not in path.resolve().parents:  # what is published would contain a file of somebody else
            raise DataError(
                f"{str(path)!r} is a symbolic link to {str(path.resolve())!r}, out of the model directory: "
                "if it belongs to the model, copy the directory with its content (cp -rL) and publish that"
            )
    kept = [path for path in source.iterdir() if path.name in MODEL_FILES - OF_FORM]
    if any(path.name.startswith("resamples") for path in kept):
        raise DataError(
            f"{os.fspath(directory)!r} has resampled models, which cannot be made into other vectors: train "
            "with ",
            Option("vectors", form),
        )
    inputs = ModelFile.INPUTS if (source / ModelFile.INPUTS).is_file() else ModelFile.VECTORS
    for name in (inputs, ModelFile.OUTPUTS):
        check_file(source / name)  # vectors of a damaged file must not get a new, valid checksum
    fitted, halves = form_of_directory(source, record, form)
    # Files that the new model shares with the old one; large unchanged files are neither written nor read.
    trained = (ModelFile.NGRAMS, ModelFile.NGRAM_ROWS) if config.subwords else ()  # others are fitted anew
    same = {path.name: path.name for path in (*kept, *(source / name for name in trained))}
    same[ModelFile.VECTORS if form == "input" else ModelFile.INPUTS] = inputs
    whole = all((source / name).is_file() for name in (ModelFile.INDEX, ModelFile.VECTORS))
    if whole and fitted.n_columns == map_npy(source / ModelFile.VECTORS).shape[1]:
        same[ModelFile.INDEX] = ModelFile.INDEX  # words, counts and the number of columns
    known = read_checksums(source)
    in_place = output is None
    target = source if output is None else Path(output)
    with replacing(target, overwrite=in_place or overwrite, files=MODEL_FILES) as folder:
        for new, former in same.items():
            _copy(source / former, folder / new, link=in_place)
        if form == "fitted":  # the regression needs all vectors at once, in memory
            words = Vocab.load(source / ModelFile.VOCAB)
            vectors, ngrams = published_vectors(fitted, halves, words.words, words.counts)
            save_fitted(folder, vectors, ngrams)
        elif form != "input":
            write_npy_stream(folder / ModelFile.VECTORS, fitted.blocks(halves), fitted.n_columns)
            if config.subwords:
                linear_map = map_of_inputs(halves.inputs, map_npy(folder / ModelFile.VECTORS))
                save_npy(folder / ModelFile.NGRAMS_PUBLISHED, linear_map)
        record = {**record, "config": config.as_dict()}
        if isinstance(record.get("settings"), dict):
            record["settings"] = {**record["settings"], "vectors": form}
            (folder / ModelFile.SETTINGS).write_text(settings_file(record["settings"]), encoding="utf-8")
        (folder / ModelFile.CONFIG).write_text(json_text(record, indent=2) + "\n", encoding="utf-8")
        if ModelFile.INDEX not in same:
            add_gensim_index(folder)
        # An unchanged file keeps its checksum, so that damage to it can still be detected.
        write_checksums(
            folder, known={name: known[former] for name, former in same.items() if former in known}
        )


def save_fitted(folder: Path, vectors: np.ndarray, ngrams: NgramVectors | None) -> None:
    """Write vectors to which n-grams are fitted, and the vectors of these."""
    assert ngrams is not None
    save_npy(folder / ModelFile.VECTORS, vectors)
    save_npy(folder / ModelFile.NGRAM_ROWS, ngrams.rows)
    ngrams.index.save(folder / ModelFile.NGRAMS)


def _copy(source: Path, target: Path, *, link: bool) -> None:
    """Link a file to a second name, or copy it if the original stays in use."""
    if link:
        try:
            os.link(source, target)
            return
        except OSError:  # not every file system supports links
            pass
    shutil.copyfile(source, target)
