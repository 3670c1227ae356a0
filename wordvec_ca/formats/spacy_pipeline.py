"""Writes folders for ``spacy.load``: a pipeline with the tokeniser and the vectors of a model.

spaCy's tokeniser repeatedly removes a matching prefix from each chunk of text: with our pattern as the only
prefix rule, its tokens are ours. spaCy does not drop characters, so invisible characters between words become
tokens without a vector. A soft hyphen separates tokens in spaCy; our tokeniser removes it. Text that was
trained in lower case is looked up by ``LOWER``. spaCy itself writes the folder.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from wordvec_ca.errors import DataError, install_extra
from wordvec_ca.files import replacing
from wordvec_ca.formats.tokenizer_json import between_words_pattern, splitting_of, word_pattern
from wordvec_ca.tables import VectorTable, check_unicode

# Files and folders of a pipeline; a folder with any other is never replaced.
FILES = {"config.cfg", "meta.json", "tokenizer", "vocab"}


def write_spacy(table: VectorTable, path: str | Path, *, overwrite: bool = True) -> None:
    """Write a pipeline, completely or not at all."""
    check_unicode(table.words, "spaCy", empty=False)
    try:
        import spacy
        from spacy.tokenizer import Tokenizer
        from spacy.vectors import Vectors
    except ImportError as error:
        raise ImportError(
            f"the format spacy is written by spaCy, which cannot be imported ({error}): "
            f"{install_extra('spacy')}"
        ) from error
    splitting = splitting_of(table.metadata, table.words)
    pipeline = spacy.blank("xx")
    pattern = r"\S+"
    if splitting.tokenizer == "words":
        pattern = f"(?:{word_pattern()}|{between_words_pattern()})"
    pipeline.tokenizer = Tokenizer(pipeline.vocab, rules={}, prefix_search=re.compile("^" + pattern).search)
    strings = pipeline.vocab.strings
    pipeline.vocab.vectors = Vectors(
        strings=strings,
        data=np.array(table.vectors, dtype=np.float32),
        keys=np.array([strings.add(word) for word in table.words], dtype=np.uint64),
        name=Path(path).name,
        attr="LOWER" if splitting.lowercase else "ORTH",
    )
    record: dict[str, Any] = {"name": _package_name(Path(path).name), "wordvec_ca": table.metadata}
    pipeline.meta.update(record)
    with replacing(path, overwrite=overwrite, files=FILES) as folder:
        pipeline.to_disk(folder)
        settings = (
            folder / "vocab" / "vectors.cfg"
        )  # spaCy 3.8 reads this attribute here, but does not write it
        content = json.loads(settings.read_text("utf-8"))
        content["attr"] = pipeline.vocab.vectors.attr
        settings.write_text(json.dumps(content), "utf-8")


def is_spacy_folder(path: Path) -> bool:
    """Return whether a folder is a pipeline, or the folder of its vocabulary."""
    return (path / "vocab" / "vectors").is_file() or (
        (path / "vectors").is_file() and (path / "key2row").is_file()
    )


def read_spacy(path: str | Path) -> VectorTable:
    """Read the vectors of a pipeline, or of the folder of a vocabulary; no code of the pipeline is run."""
    folder = Path(path) / "vocab" if (Path(path) / "vocab").is_dir() else Path(path)
    try:
        from spacy.strings import StringStore
        from spacy.vectors import Vectors
    except ImportError as error:
        raise DataError(f"{path}: spaCy reads its folders: {install_extra('spacy')}") from error
    try:
        strings = StringStore().from_disk(folder / "strings.json")
        stored = Vectors(strings=strings).from_disk(folder)
        if str(stored.mode) != "default":
            raise DataError(f"{path} has vectors of floret, for any string: there is no list of words")
        rows = sorted(stored.key2row.items(), key=lambda item: item[1])
        words = [strings[key] for key, _ in rows]
        vectors = np.asarray(stored.data, np.float32)[[row for _, row in rows]]
    except (OSError, ValueError, KeyError, IndexError, EOFError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not a complete folder of spaCy: {error}") from error
    return VectorTable(words, vectors, None, {})


def _package_name(name: str) -> str:
    """Return a name that spaCy accepts for a pipeline."""
    return re.sub(r"\W+", "_", name) or "vectors"
