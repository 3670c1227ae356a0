"""Normal forms of Unicode: é is one character (NFC) or two, and ﬁ one character or, in NFKC, f and i."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Literal

from wordvec_ca.text.blocks import LONGEST_RUN, TokenLines
from wordvec_ca.text.encodings import from_utf8, in_utf8

_SPACE = (b" ", b"\n", b"\t", b"\r")


Form = Literal["NFC", "NFKC"]

LIGATURES = "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06"


def in_normal_form(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield text in a normal form, ``nfc`` or ``nfkc``, or as it is; `TokenLines` keep their type."""
    if name == "none":
        yield from pieces
        return
    form: Form = "NFC" if name == "nfc" else "NFKC"
    # Cut at white space, because no character composes across it.
    rest = b""
    for piece in pieces:
        if isinstance(piece, TokenLines):
            if rest:
                yield _normalized(form, rest)
                rest = b""
            yield TokenLines(_normalized(form, piece))
            continue
        whole = rest + piece if rest else piece
        cut = max(map(whole.rfind, _SPACE))
        if cut < 0 and len(whole) < LONGEST_RUN:
            rest = whole
            continue
        if cut < 0:
            cut = len(whole)
        rest = whole[cut:]
        if cut:
            yield _normalized(form, whole[:cut])
    if rest:
        yield _normalized(form, rest)


def _normalized(form: Form, text: bytes) -> bytes:
    if text.isascii():
        return text
    spelled = from_utf8(text)
    if unicodedata.is_normalized(form, spelled):
        return text
    return in_utf8(unicodedata.normalize(form, spelled))


def normal_word(word: str, name: str = "nfc") -> str:
    """Return a word in a normal form, ``nfc`` or ``nfkc``, or as it is."""
    if name == "none" or word.isascii():
        return word
    return unicodedata.normalize("NFC" if name == "nfc" else "NFKC", word)


def with_ligatures(words: Iterable[str]) -> list[str]:
    """Return the words with ligatures of typesetting, such as ﬁ, which other texts spell with two letters."""
    return [word for word in words if not word.isascii() and any(mark in word for mark in LIGATURES)]


def twins(words: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of spellings of the same word, one in NFC and one in another form."""
    odd = [word for word in words if not word.isascii() and not unicodedata.is_normalized("NFC", word)]
    if not odd:
        return []
    known = set(words)
    pairs = [(unicodedata.normalize("NFC", word), word) for word in odd]
    return [pair for pair in pairs if pair[0] in known]
