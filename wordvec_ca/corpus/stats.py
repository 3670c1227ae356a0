"""What was found while a corpus was read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from wordvec_ca.corpus.documents import DocumentStarts, DocumentTags
from wordvec_ca.corpus.vocab import Vocab
from wordvec_ca.text import is_segmenter, is_words


@dataclass
class CorpusStats:
    """What was found while a corpus was read."""

    # Files read (0 for a Python iterable).
    files: int = 0
    # Bytes read, before decompression.
    bytes: int = 0
    # Bytes of text.
    text_bytes: int = 0
    # Line ends in the text.
    lines: int = 0
    # Lines written: lines with a kept word, counted after long lines were split.
    sentences: int = 0
    # raw_tokens, raw_types: Numbers of tokens and of different words in the text. ``raw_types`` is 0 if a
    # vocabulary was given, since other words are not counted then.
    raw_tokens: int = 0
    raw_types: int = 0
    # kept_tokens, oov_tokens: Tokens in and out of the vocabulary; they add up to ``raw_tokens``.
    kept_tokens: int = 0
    oov_tokens: int = 0
    # Cuts made in lines of more than ``MAX_SENTENCE`` kept tokens.
    split_lines: int = 0
    # Cuts made in tokens of more than 1,000 bytes.
    cut_tokens: int = 0
    # Sequences that are not UTF-8, or not in the encoding that was given, read as U+FFFD.
    repaired_utf8: int = 0
    # File and line of the first of them.
    first_repaired: str | None = None
    # Counts of records in JSON lines, tables and Wikipedia dumps (docs/corpora.md).
    records: dict[str, int] = field(default_factory=dict)
    # seconds_reading, seconds_merging, seconds_renumbering: Wall-clock time of the three stages.
    seconds_reading: float = 0.0
    seconds_merging: float = 0.0
    seconds_renumbering: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that can be written as JSON."""
        return asdict(self)

    @classmethod
    def total(cls, parts: Iterable[CorpusStats]) -> CorpusStats:
        """Add up the statistics of several texts, times included; ``raw_types`` is 0."""
        records: Counter[str] = Counter()
        numbers: Counter[str] = Counter()
        first = None
        for part in parts:
            found = part.as_dict()
            records.update(found.pop("records"))
            where = found.pop("first_repaired")
            first = first or where
            numbers.update(found)
        numbers["raw_types"] = 0
        return cls(first_repaired=first, records=dict(records), **numbers)


class Encoding(NamedTuple):
    """The data of an encoded corpus besides its ids."""

    vocab: Vocab
    stats: CorpusStats
    fingerprint: str
    # The documents of the lines, if the lines are documents.
    documents: DocumentTags | None = None
    # Where documents of several lines begin, if there are some.
    starts: DocumentStarts | None = None


def digest_vocab(vocab: Vocab) -> hashlib.blake2b:
    """Return a digest object for words and counts, which can be updated further."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update("\0".join(vocab.words).encode("utf-8"))
    digest.update(vocab.counts.astype("<i8").data)
    return digest


def begin_fingerprint(vocab: Vocab, tokenizer: str, *, lowercase: bool) -> hashlib.blake2b:
    """Return a digest object for everything that determines the meaning of ids; the ids are added later."""
    digest = digest_vocab(vocab)
    digest.update(f"{is_words(tokenizer)} {lowercase}".encode())
    if is_segmenter(tokenizer):
        digest.update(f" {tokenizer}".encode())
    return digest
