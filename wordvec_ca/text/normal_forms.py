"""Normal forms of Unicode: é is one character (NFC), or e with a combining accent (NFD)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from wordvec_ca.text.blocks import LONGEST_RUN, TokenLines
from wordvec_ca.text.encodings import from_utf8, in_utf8

_SPACE = (b" ", b"\n", b"\t", b"\r")


def in_nfc(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield text in NFC. Pieces are cut at white space, because no character composes across it.

    Parameters
    ----------
    pieces : iterable of bytes
        UTF-8, cut anywhere; `TokenLines` keep their type.
    """
    rest = b""
    for piece in pieces:
        if isinstance(piece, TokenLines):
            if rest:
                yield _nfc(rest)
                rest = b""
            yield TokenLines(_nfc(piece))
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
            yield _nfc(whole[:cut])
    if rest:
        yield _nfc(rest)


def _nfc(text: bytes) -> bytes:
    if text.isascii():
        return text
    spelled = from_utf8(text)
    if unicodedata.is_normalized("NFC", spelled):
        return text
    return in_utf8(unicodedata.normalize("NFC", spelled))


def nfc_word(word: str) -> str:
    """Return a word in NFC."""
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def twins(words: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of spellings of the same word, one in NFC and one in another form."""
    odd = [word for word in words if not word.isascii() and not unicodedata.is_normalized("NFC", word)]
    if not odd:
        return []
    known = set(words)
    pairs = [(unicodedata.normalize("NFC", word), word) for word in odd]
    return [pair for pair in pairs if pair[0] in known]
