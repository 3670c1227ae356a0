"""The readers that are fuzzed: each a function of a folder, with functions that give whole files for it."""

from __future__ import annotations

import tempfile
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import fuzz_seeds as make
from fuzz_seeds import Files


def vectors(folder: Path, *, name: str = "v", form: str = "auto") -> None:
    """Load vectors and use them as a command would."""
    from wordvec_ca.vectors import KeyedVectors

    loaded = KeyedVectors.load(folder / name, format=form)
    if len(loaded):
        loaded.most_similar(loaded.index_to_key[0], topn=3)
        if "unseen" in loaded:
            loaded.most_similar("unseen", topn=3)
        getattr(loaded, "attention", None)


def zip_archive(folder: Path) -> None:
    """Load vectors in a zip archive, which is unpacked among the temporary files."""
    tempfile.tempdir = str(folder)
    try:
        vectors(folder, name="v.zip")
    finally:
        tempfile.tempdir = None


def folder_of_vectors(folder: Path) -> None:
    """Load a folder of another library's."""
    from wordvec_ca.vectors import KeyedVectors

    KeyedVectors.load(folder)


def classifier(folder: Path) -> None:
    """Load a model of fastText, quantised or not, and use it in each way."""
    from wordvec_ca.fasttext import load_model

    loaded = load_model(folder / "v")
    with suppress(ValueError):  # labels that are not UTF-8, or a model of word vectors
        loaded.predict(["the wörd is unseen", ""], k=2)
    loaded.get_word_vector("unseen")
    loaded.get_sentence_vector("the unseen")


def model(folder: Path) -> None:
    """Load a model directory in each of the ways that commands do."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.models import EmbeddingModel, document_vectors, read_attention

    for load in (partial(vectors, name=""), EmbeddingModel.load, read_attention, document_vectors):
        with suppress(DataError):
            load(folder)  # type: ignore[operator]


def vocabulary(folder: Path) -> None:
    """Load a vocabulary file."""
    from wordvec_ca.corpus import Vocab

    Vocab.load(folder / "v")


def checkpoint(folder: Path) -> None:
    """Go on from a checkpoint: a file, or one put together of its members so that their sums are right."""
    from wordvec_ca.files import Storage
    from wordvec_ca.training.checkpoint import State, read_checkpoint

    place = folder / "v"
    members = [path for path in folder.iterdir() if path != place]
    if members:
        with zipfile.ZipFile(place, "w") as archive:
            for path in members:
                archive.write(path, path.name)
    trainer = make.trainer_of_small_model()
    trainer.restore(read_checkpoint(Storage(folder), "v", State.from_record, trainer.model.learnt))


def dump(folder: Path) -> None:
    """Take the articles out of a dump. Processes with limits remove markup; here only that of short pages."""
    from wordvec_ca.text.mediawiki import Pages
    from wordvec_ca.text.wikitext import plain_text

    data = (folder / "v").read_bytes()
    pieces = (data[i : i + 97] for i in range(0, len(data), 97))
    for page in Pages("v", Counter()).read(pieces):
        if len(page.wikitext) < 200:
            # the process that removes markup does this too
            with suppress(RecursionError, LookupError, ValueError, TypeError):
                plain_text(page.wikitext)


def json_lines(folder: Path) -> None:
    """Take the texts out of JSON lines."""
    from wordvec_ca.text.json_records import field_texts, first_record
    from wordvec_ca.text.records import RecordTexts

    data = (folder / "v").read_bytes()
    first_record(data)
    pieces = (data[i : i + 31] for i in range(0, len(data), 31))
    deque(field_texts(pieces, RecordTexts(["text"], "v", Counter())), maxlen=0)


def resampled(folder: Path) -> None:
    """Load a model with models of resampled text, and use each."""
    from wordvec_ca.vectors import KeyedVectors

    loaded = KeyedVectors.load(folder)
    if loaded.resamples is not None:
        for made in loaded.resamples:
            made.sum()
        loaded.neighbours(loaded.index_to_key[0], 2)


def neighbours(folder: Path) -> None:
    """Open an approximate index, and search."""
    from wordvec_ca.vectors import ApproximateNeighbours

    vectors = make.numbers_of_index()
    ApproximateNeighbours.load(folder, vectors).nearest(vectors[3], 5)


def search_index(folder: Path) -> None:
    """Open a search index, and search."""
    from wordvec_ca.sentences import SearchIndex

    found = SearchIndex.load(folder, make.vectors_of_sentences())
    found.search("the wörd", 2)


def drop_in(folder: Path) -> None:
    """Load what a class of the drop-in has saved, in each of them."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.gensim.models import FastText, KeyedVectors, Word2Vec
    from wordvec_ca.gensim.models.doc2vec import Doc2Vec

    for kind in (Word2Vec, KeyedVectors, FastText, Doc2Vec):
        try:
            kind.load(str(folder / "v"))
        except DataError:
            pass
        except (TypeError, AttributeError) as error:  # as in gensim: the file is of another class
            if "stored by" not in str(error) and "can't be loaded by" not in str(error):
                raise


def table(folder: Path) -> None:
    """Read vectors and text of Parquet and Arrow."""
    from wordvec_ca.errors import DataError

    with suppress(DataError):
        vectors(folder, name="v.parquet")
    text(folder)


def text(folder: Path) -> None:
    """Read text of any kind, without and with the name of a field."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.text import TextFiles

    for path in folder.iterdir():
        for field in (None, "text", "tokens"):
            with suppress(DataError):
                deque(TextFiles([str(path)], field).pieces(), maxlen=0)


def word_lists(folder: Path) -> None:
    """Read phrases, classes of words, lists and pairs of words."""
    from wordvec_ca.associations import read_pairs, read_words
    from wordvec_ca.corpus import Phrases
    from wordvec_ca.errors import DataError
    from wordvec_ca.report.explorer.contents import read_classes

    for read in (Phrases.load, read_classes, read_words, read_pairs):
        with suppress(DataError):
            read(folder / "v")  # type: ignore[operator]


def fit(folder: Path) -> None:
    """Load what sentence vectors were fitted with."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.sentences import SentenceVectorizer
    from wordvec_ca.sentences.ca_sem import Reembedding

    if (folder / "reembedding.json").exists():
        with suppress(DataError):
            Reembedding.load(folder)
    SentenceVectorizer.load(folder, make.vectors_of_sentences()).transform(["the wörd"])


def run(folder: Path) -> None:
    """Read the record of an unfinished run, and settings."""
    from wordvec_ca.cli.settings import read_settings
    from wordvec_ca.cli.train import command
    from wordvec_ca.errors import DataError
    from wordvec_ca.runs.run_directory import _read_request

    with suppress(DataError):
        _read_request(folder, folder / "m")
    read_settings(str(folder / "run.toml"), command)


def cache(folder: Path) -> None:
    """Reopen a cache of ids."""
    from wordvec_ca.corpus.cache import reopen, tokens

    if not isinstance(reopen(folder), str):
        tokens(folder).sum()


Reader = tuple[Callable[[Path], None], Callable[[], Iterator[Files]]]


def vectors_as(form: str, seeds: Callable[[], Iterator[Files]] | None = None) -> Reader:
    """Return the reader of vectors in a format."""
    return partial(vectors, form=form), seeds or partial(make.seeds_of, form)


READERS: dict[str, Reader] = {
    "model": (model, make.seeds_of_models),
    "word2vec": vectors_as("word2vec"),
    "glove": vectors_as("glove", partial(make.seeds_of, "glove", b". . 1 2\na 3 4\n")),
    "word2vec-binary": vectors_as("word2vec-binary"),
    "fasttext": vectors_as("fasttext", make.seeds_of_fasttext),
    "fasttext-classifier": (classifier, make.seeds_of_classifiers),
    "safetensors": vectors_as("safetensors"),
    "gensim": vectors_as("gensim", make.seeds_of_gensim),
    "checkpoint": (checkpoint, make.seeds_of_checkpoints),
    "resamples": (resampled, make.seeds_of_resamples),
    "neighbours": (neighbours, make.seeds_of_neighbours),
    "search-index": (search_index, make.seeds_of_search_indexes),
    "cache": (cache, make.seeds_of_caches),
    "dump": (dump, make.seeds_of_dumps),
    "json-lines": (json_lines, make.seeds_of_json_lines),
    "vocab": (vocabulary, make.seeds_of_vocabularies),
    "rare-model": (model, make.seeds_of_rare_models),
    "drop-in": (drop_in, make.seeds_of_drop_ins),
    "table": (table, make.seeds_of_tables),
    "csv": (partial(vectors, name="v.csv"), make.seeds_of_csv),
    "array": (partial(vectors, name="v.npy"), make.seeds_of_arrays),
    "zip": (zip_archive, make.seeds_of_zip_archives),
    "folder": (folder_of_vectors, make.seeds_of_folders),
    "text": (text, make.seeds_of_texts),
    "word-lists": (word_lists, make.seeds_of_word_lists),
    "fit": (fit, make.seeds_of_fits),
    "run": (run, make.seeds_of_runs),
}
