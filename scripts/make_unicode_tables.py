"""Write kernels/unicode_tables.h from the ``unicodedata`` of the Python that runs this.

The header is committed, so that the tokens of a text depend on the version of this project and
not on the version of Python. Run this script only to move to a newer Unicode::

    python scripts/make_unicode_tables.py > kernels/unicode_tables.h

Every code point maps to one byte, the number of a record (class, distance to its lower-case
letter). The bytes are stored as pages of 128, and equal pages are stored once.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Iterable

PAGE_BITS = 7
CLASSES = ("SPACE", "LETTER", "DIGIT", "MARK", "JOINER", "LINKER", "POINT", "SYMBOL", "HIDDEN")

# ' - middle dot, gershayim of Hebrew acronyms, hyphens, right single quotation mark
JOINERS = {0x27, 0x2D, 0xB7, 0x5F4, 0x2010, 0x2011, 0x2019}
LETTERS = {0x5F, 0x5F3}  # _ and geresh, with which Hebrew words and abbreviations may also end
LINKERS = {0x200C, 0x200D}  # zero width (non-)joiner: invisible, part of Persian and Indic spelling
POINTS = {0x2C, 0x2E, 0x66B, 0x66C}  # , . and their Arabic counterparts
HIDDEN = {0xAD}  # soft hyphen: a hint to the typesetter, not a part of the word


def char_class(code: int) -> str:
    """Return the name of the class of one code point, as docs/tokenising.md describes it."""
    character = chr(code)
    category = unicodedata.category(character)
    for members, name in ((JOINERS, "JOINER"), (LINKERS, "LINKER"), (POINTS, "POINT"), (HIDDEN, "HIDDEN")):
        if code in members:
            return name
    if category == "Nd":
        return "DIGIT"
    if category[0] in "LN" or code in LETTERS:
        return "LETTER"
    if category[0] == "M":
        return "MARK"
    if category[0] == "Z" or category in ("Cc", "Cf"):
        return "SPACE"
    return "SYMBOL"


def lower_distance(code: int) -> int:
    """Return the code point of the lower-case letter minus that of the letter.

    For U+0130, whose lower case is two characters in Python, the first one counts.
    """
    lower = chr(code).lower()
    return ord("i" if code == 0x130 else lower) - code


def filled(values: Iterable[object]) -> str:
    """Return the elements of an array as text, on as few lines as possible."""
    return textwrap.fill(", ".join(map(str, values)), 108)


def main() -> None:
    records: dict[tuple[str, int], int] = {}
    pages: dict[tuple[int, ...], int] = {}
    page_of = []
    size = 1 << PAGE_BITS
    for start in range(0, 0x110000, size):
        page = tuple(
            records.setdefault((char_class(code), lower_distance(code)), len(records))
            for code in range(start, start + size)
        )
        page_of.append(pages.setdefault(page, len(pages)))
    assert len(records) < 256
    assert len(pages) < 256

    out = sys.stdout.write
    out("/* Character classes and simple lower case. Made by scripts/make_unicode_tables.py. */\n")
    out("#ifndef CAWV_UNICODE_TABLES_H\n#define CAWV_UNICODE_TABLES_H\n\n#include <stdint.h>\n\n")
    out(f'#define UNICODE_VERSION "{unicodedata.unidata_version}"\n\n')
    out("typedef enum { " + ", ".join(CLASSES) + " } CharClass;\n\n")
    out("typedef struct { int32_t class_; int32_t to_lower; } CharRecord;\n\n")
    out(f"static const CharRecord CHAR_RECORDS[{len(records)}] = {{\n")
    out(filled(f"{{{name},{distance}}}" for name, distance in records))
    out(f"\n}};\n\n/* page of code point c: CHAR_PAGE[c >> {PAGE_BITS}] */\n")
    out(f"static const uint8_t CHAR_PAGE[{len(page_of)}] = {{\n{filled(page_of)}\n}};\n\n")
    out(f"static const uint8_t CHAR_IN_PAGE[{len(pages)}][{size}] = {{\n")
    out("".join(f"{{{','.join(map(str, page))}}},\n" for page in pages))
    out("};\n\nstatic inline const CharRecord *char_record(uint32_t c)\n{\n")
    out(f"    return &CHAR_RECORDS[CHAR_IN_PAGE[CHAR_PAGE[c >> {PAGE_BITS}]][c & {size - 1}]];\n}}\n\n")
    out("#endif\n")


if __name__ == "__main__":
    main()
