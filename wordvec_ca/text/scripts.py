"""Scripts without spaces: Chinese, Japanese, Thai, Lao, Khmer and Burmese text that is not segmented."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wordvec_ca.errors import DataError, Option, OptionWarning
from wordvec_ca.text.blocks import TokenLines
from wordvec_ca.text.segmenters import segmenter_version

FIRST_PAGES = 1 << 18
"""Bytes from the beginning of a corpus from which its script is determined."""

LATER_PAGES = 1 << 16
"""Bytes of each later sample."""

BETWEEN_SAMPLES = 1 << 22

MOST = 0.5
"""A corpus with at least this share of letters in such a script counts as one in it."""

SOME = 0.1
"""Smallest share of letters in such a script that gives a warning."""

_LEAST = 200
"""Length of the shortest text that gives a warning."""

_KANA = "\u3041-\u309f\u30a0-\u30ff"
_IDEOGRAPHS = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SCRIPTS = {
    "Chinese or Japanese": (_KANA + _IDEOGRAPHS, 5.0),
    "Thai": ("\u0e01-\u0e3a\u0e40-\u0e4e", 10.0),
    "Lao": ("\u0e81-\u0ece", 10.0),
    "Burmese": ("\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f", 10.0),
    "Khmer": ("\u1780-\u17d3\u17dd", 10.0),
}
"""Characters of each script, marks included, and the run length from which runs are too long to be words.

The length of runs is averaged over characters. Measured on the sentences of
tests/text/scripts, as they are and segmented by ICU: see tests/text/test_scripts.py.
"""

_RUNS = {name: re.compile(f"[{characters}]+") for name, (characters, _) in _SCRIPTS.items()}
_ANY = re.compile(b"[\xe3-\xe9]|\xe0[\xb8-\xbb]|\xe1[\x80-\x82\x9e\x9f]|\xea[\xa7\xa9]|\xf0[\xa0-\xbf]")
_LETTERS = re.compile(r"[^\W\d_]")


class Unspaced(NamedTuple):
    """Text in a script without spaces: the script, its share of all letters, and the length of its runs.

    The length of runs is averaged over characters.
    """

    script: str
    share: float
    run: float


def unspaced(text: bytes) -> Unspaced | None:
    """Return the script without spaces of a text; None if its words are separated or the script is rare in
    it.

    Parameters
    ----------
    text : bytes
        UTF-8, cut anywhere; some kilobytes suffice.
    """
    if sum(1 for _ in _ANY.finditer(text)) < _LEAST:
        return None
    spelled = text.decode("utf-8", "ignore")
    best: Unspaced | None = None
    letters = 0
    for name, (_, longest) in _SCRIPTS.items():
        lengths = [len(run) for run in _RUNS[name].findall(spelled)]
        characters = sum(lengths)
        if characters < _LEAST:
            continue
        run = sum(length * length for length in lengths) / characters
        if not letters:
            marks = sum(len(found) for pattern in _RUNS.values() for found in pattern.findall(spelled))
            letters = marks + sum(1 for _ in _LETTERS.finditer(_without_runs(spelled)))
        share = characters / letters
        if run > longest and share >= SOME and (best is None or share > best.share):
            best = Unspaced(name, share, run)
    return best


def _without_runs(text: str) -> str:
    for pattern in _RUNS.values():
        text = pattern.sub(" ", text)
    return text


def watched(pieces: Iterable[bytes], tokenizer: str) -> Iterator[bytes]:
    """Pass text on and check its script, in the first pages and at intervals later.

    A corpus that is mostly in a script without spaces is refused: its "words" would be whole clauses, most of
    which occur once, and training would be useless. There is only a warning with the tokenizer "whitespace",
    which means that words are separated already, and if such text is a smaller share or occurs only in later
    pages.

    Parameters
    ----------
    pieces : iterable of bytes
        The text, cut anywhere.
    tokenizer : str
        A tokenizer that does not segment.

    Raises
    ------
    DataError
        The first pages are mostly in such a script, and the tokenizer is "words".
    """
    sample: list[bytes] = []
    length = read = 0
    wanted, next_sample, first = FIRST_PAGES, 0, True
    warned = False
    for piece in pieces:
        if isinstance(piece, TokenLines):  # its words are apart
            yield piece
            continue
        if not warned and read >= next_sample:
            sample.append(piece[: wanted - length])
            length += len(sample[-1])
            if length >= wanted:
                warned = _tell(b"".join(sample), tokenizer, first=first)
                sample, length, wanted, first = [], 0, LATER_PAGES, False
                next_sample = read + BETWEEN_SAMPLES
        read += len(piece)
        yield piece
    if length and not warned:
        _tell(b"".join(sample), tokenizer, first=first)


def _tell(sample: bytes, tokenizer: str, *, first: bool) -> bool:
    """Refuse or warn if a sample is in a script without spaces; return whether it is."""
    found = unspaced(sample)
    if found is None:
        return False
    pages = "the first pages are" if first else "later pages are"
    what = (
        f"{pages} {found.share:.0%} {found.script} without spaces between words (runs of about "
        f"{found.run:.0f} characters)"
    )
    jieba = ", or jieba for Chinese," if found.script.startswith("Chinese") else ""
    missing = "" if segmenter_version("icu") != "unknown" else " (pip install icu4py)"
    advice = (
        Option("tokenizer", "icu"),
        f"{missing}{jieba} segments it, and so does a function of yours, MODULE:FUNCTION",
    )
    if first and found.share >= MOST and tokenizer == "words":
        raise DataError(
            f"{what}, so that a whole clause would become one word; ",
            *advice,
            "; ",
            Option("tokenizer", "whitespace"),
            " trains on the text between spaces",
        )
    warnings.warn(OptionWarning(f"{what}; there a whole clause becomes one word: ", *advice), stacklevel=3)
    return True
