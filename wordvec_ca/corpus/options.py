"""Options of reading a text, which determine the vocabulary and the ids."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordvec_ca.corpus import sentence_file
from wordvec_ca.corpus.phrases import Phrases
from wordvec_ca.errors import Option, OptionError
from wordvec_ca.machine import usable_cpus
from wordvec_ca.specs.options import TextFields
from wordvec_ca.text import (
    BLOCK_BYTES,
    WAYS,
    check_encoding,
    check_group_by,
    check_test_last,
    check_tokenizer,
    field_names,
    holds_records,
    is_words,
)


@dataclass(frozen=True, kw_only=True)
class TextOptions(TextFields):
    """How text is split into tokens, and which words are kept. All readers of text get this object.

    It has the options of ``TrainConfig`` that concern text, and those below.
    """

    # Sequences of words that become one token each, joined by ``_`` (docs/corpora.md); a path is loaded.
    phrases: Phrases | str | os.PathLike[str] | None = None
    # Whether each line, or record, is a document: empty ones are kept, and long ones are not split.
    documents: bool = False
    # The field of records that holds the tag of the document, or a list of tags.
    tag_field: str | None = None
    # Where documents of several lines begin (see `Documents`); with ``order_by`` sessions of a log are made.
    group_by: str | None = None
    order_by: str | None = None
    test_last: str | None = None
    # Number of threads that tokenise; by default one per usable processor. It does not affect the result.
    workers: int | None = None
    # Approximate size of the blocks given to workers. The result does not depend on it.
    block_bytes: int = BLOCK_BYTES

    def __post_init__(self) -> None:
        super().__post_init__()
        check_tokenizer(self.tokenizer)
        field_names(self.field)
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.group_by is not None:
            try:
                way, _ = check_group_by(self.group_by, self.field)
            except ValueError as error:
                raise OptionError(Option("group_by"), f" cannot be used: {error}") from error
            if self.makes_sessions and (way in WAYS or len(field_names(self.field) or ()) != 1):
                raise OptionError(
                    Option("group_by"),
                    f" is {self.group_by!r}; for sessions it is the field that names the session, and ",
                    Option("field"),
                    " the one field that names the item",
                )
        if self.test_last is not None:
            check_test_last(self.test_last)
            if not self.makes_sessions:
                raise OptionError(
                    Option("test_last"),
                    " holds out the latest sessions of a log: give the field of the session, ",
                    Option("group_by"),
                    ", and that of the time, ",
                    Option("order_by"),
                )
        if self.block_bytes < 1:
            raise OptionError(Option("block_bytes"), f" is {self.block_bytes}; it must be 1 or more")

    @property
    def makes_sessions(self) -> bool:
        """Whether the records are events of a log, to be grouped and ordered."""
        return self.group_by is not None and self.order_by is not None

    @property
    def words(self) -> bool:
        """Whether the tokenizer is "words"."""
        return is_words(self.tokenizer)

    @property
    def threads(self) -> int:
        """Number of threads that tokenise."""
        return usable_cpus() if self.workers is None else self.workers

    @property
    def count_bytes(self) -> int | None:
        """Number of bytes that words and counts may take, or None for the default."""
        return None if self.count_memory is None else self.count_memory << 20

    @property
    def longest_line(self) -> int:
        """Number of tokens after which a line is split."""
        return 2**62 if self.documents else sentence_file.MAX_SENTENCE

    def loaded_phrases(self) -> Phrases | None:
        """Return the phrases, read from their file if a path was given."""
        if self.phrases is None or isinstance(self.phrases, Phrases):
            return self.phrases
        return Phrases.load(self.phrases)


# Options of commands that only count words: no word is dropped.
EVERY_WORD = TextOptions(min_count=1)


def fields_of_training(config: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """Return the fields with which a model of this configuration read its records: ``field``, ``tag_field``
    and, of a log, ``group_by`` and ``order_by``; none if these files do not hold records.
    """
    field = field_names(config.get("field"))
    # a model of records may also be asked about plain text, which has no fields
    if field is None or not all(holds_records(name, field) for name in files):
        return {}
    names = ["field", "tag_field"]
    if config.get("group_by") and config.get("order_by"):  # without a time they are documents to resample
        names += ["group_by", "order_by"]
    return {name: config[name] for name in names if config.get(name) is not None}
