"""The formats of vectors, in one table.

This table determines reading and writing (`wordvec_ca.vectors.read_vectors`, ``write_vectors``), the
choices and help of ``cawv export``, and the suffixes. To add a format, write an entry here and a module in
``formats`` with a function that reads and one that writes. A format without ``magic`` also needs a
line in ``formats/registry.py`` that recognises it; zip archives are opened before that, in
``formats/zip_archive.py``. CONTRIBUTING.md has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class VectorFormat:
    """A format of vectors."""

    # Name of the format, as in ``cawv export --format``.
    name: str
    # Description for the help.
    content: str
    # Suffixes of file names that select the format.
    suffixes: tuple[str, ...] = ()
    # Whether the format is a folder.
    folder: bool = False
    # The first bytes of its files. Empty if they do not identify the format: then ``detect_format`` (for a
    # folder ``_folder_format``) in ``formats/registry.py`` recognises it.
    magic: bytes = b""
    # read, write: ``MODULE.FUNCTION`` in ``formats``; None if the format cannot be read, or written.
    # ``read`` takes a path and returns a ``VectorTable``; ``write`` takes a ``VectorTable`` and a path.
    read: str | None
    write: str | None
    # read_given, write_given: Arguments that these functions always get. Of the caller's (``errors``;
    # ``overwrite``, ``dtype``, ``evaluation``) they get those that they have.
    read_given: Mapping[str, Any] = field(default_factory=dict)
    write_given: Mapping[str, Any] = field(default_factory=dict)
    # Line of the first word, so that errors can name the line of a repeated word.
    first_line: int | None = None
    # Whether the file may be compressed.
    compressible: bool = False
    # Whether the vectors are memory-mapped. If so, they are checked for NaN only when they are used.
    mapped: bool = False
    # Types that the stored vectors can have.
    dtypes: tuple[str, ...] = ("float32",)
    # Whether a model card is written with it.
    card: bool = False
    # Whether programs that read the format average the vectors without weights. If so, vectors of an
    # attention model are multiplied by their weights.
    averages: bool = False
    # The words that the format can store: any; words that UTF-8 can encode; words without white space; or
    # words that UTF-8 can encode, where the format escapes white space.
    words: Literal["any", "UTF-8", "line", "escaped line"] = "line"
    # Strings that words must not contain; an empty string means that words must not be empty.
    no_words: tuple[str, ...] = ()


# All formats except the model directory, which training writes.
FORMATS = (
    VectorFormat(
        name="word2vec",
        content="text with a header",
        suffixes=(".txt", ".vec", ".w2v"),
        read="text.read_text",
        write="text.write_text",
        read_given={"header": True},
        write_given={"header": True},
        first_line=2,
        compressible=True,
    ),
    VectorFormat(
        name="word2vec-binary",
        content="words and raw float32",
        suffixes=(".bin",),
        read="binary.read_binary",
        write="binary.write_binary",
        compressible=True,
    ),
    VectorFormat(
        name="glove",
        content="text without header",
        suffixes=(".glove",),
        read="text.read_text",
        write="text.write_text",
        read_given={"header": False},
        write_given={"header": False},
        first_line=1,
        compressible=True,
        no_words=("\ufeff",),  # at the beginning of a file, this character is a byte order mark
    ),
    VectorFormat(
        name="gensim",
        content="gensim's KeyedVectors.load(OUT)",
        suffixes=(".kv",),
        read="gensim.read_gensim",
        write="gensim_index.write_gensim",
        mapped=True,
        words="any",
    ),
    VectorFormat(
        name="safetensors",
        content="tensors vectors, words, counts",
        suffixes=(".safetensors",),
        read="safetensors.read_safetensors",
        write="safetensors.write_safetensors",
        mapped=True,
        dtypes=("float32", "float16", "int8"),
        words="any",
    ),
    VectorFormat(
        name="parquet",
        content="table of word, count, vector",
        suffixes=(".parquet",),
        magic=b"PAR1",
        read="parquet.read_parquet",
        write="parquet.write_parquet",
        words="UTF-8",
    ),
    VectorFormat(
        name="numpy",
        content="array; words in OUT's .words.txt",
        suffixes=(".npy",),
        magic=b"\x93NUMPY",
        read="numpy_array.read_numpy",
        write="numpy_array.write_numpy",
        first_line=1,
        mapped=True,
    ),
    VectorFormat(
        name="csv",
        content="table of word and numbers, or word and list",
        read="csv_table.read_csv",
        write=None,
        compressible=True,
        first_line=2,
    ),
    VectorFormat(
        name="fasttext",
        content="fastText's .bin, with vectors of n-grams",
        suffixes=(".fasttext",),
        magic=b"\xba\x16\x4f\x2f",
        read="fasttext_table.read_fasttext",
        write="fasttext_table.write_fasttext",
        compressible=True,
        no_words=("\0",),
    ),
    VectorFormat(
        name="projector",
        content="folder for projector.tensorflow.org",
        suffixes=(".projector",),
        folder=True,
        read="projector.read_projector",
        write="projector.write_projector",
        words="escaped line",
    ),
    VectorFormat(
        name="sentence-transformers",
        content="for SentenceTransformer(OUT)",
        folder=True,
        read="static_embedding.read_static_folder",
        write="static_embedding.write_static_folder",
        write_given={"library": "sentence-transformers"},
        dtypes=("float32", "float16"),
        card=True,
        averages=True,
        words="UTF-8",
    ),
    VectorFormat(
        name="model2vec",
        content="for StaticModel.from_pretrained(OUT)",
        folder=True,
        read="static_embedding.read_static_folder",
        write="static_embedding.write_static_folder",
        write_given={"library": "model2vec"},
        dtypes=("float32", "float16", "int8"),
        card=True,
        averages=True,
        words="UTF-8",
    ),
    VectorFormat(
        name="huggingface",
        content="folder for the Hugging Face Hub",
        folder=True,
        read="static_embedding.read_hub_folder",
        write="static_embedding.write_static_folder",
        write_given={"library": "wordvec_ca"},
        dtypes=("float32", "float16", "int8"),
        card=True,
        words="UTF-8",
    ),
    VectorFormat(
        name="spacy",
        content="for spacy.load(OUT)",
        folder=True,
        read="spacy_pipeline.read_spacy",
        write="spacy_pipeline.write_spacy",
        words="UTF-8",
        no_words=("",),
    ),
    VectorFormat(
        name="floret",
        content="for spacy init vectors --mode floret",
        suffixes=(".floret",),
        read=None,
        write="floret.write_floret",
        words="any",
    ),
)

READABLE = ("model", *(one.name for one in FORMATS if one.read))
WRITABLE = tuple(one.name for one in FORMATS if one.write)
SUFFIXES = {suffix: one.name for one in FORMATS for suffix in one.suffixes}
# The formats that can store vectors as other types than float32, and these types.
SMALLER = {one.name: one.dtypes for one in FORMATS if len(one.dtypes) > 1}

# The formats with a model card.
CARDS = tuple(one.name for one in FORMATS if one.card)


def format_named(name: str) -> VectorFormat:
    """Return the entry of a format."""
    return {one.name: one for one in FORMATS}[name]


def table_of_formats() -> str:
    """Return the formats that can be written, one on each line, for the help."""
    rows = [("format", "suffix", "content")]
    rows += [(one.name, " ".join(one.suffixes), one.content) for one in FORMATS if one.write]
    return "\n".join(f"{name:<22}{suffixes:<16}{content}".rstrip() for name, suffixes, content in rows)
