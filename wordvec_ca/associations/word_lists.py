"""Lists of words and pairs of words: read, looked up, and those of published tests, unchanged; tests with
names of people are not included.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from wordvec_ca.errors import DataError, known_names
from wordvec_ca.files import Lines
from wordvec_ca.vectors import KeyedVectors

# A list that ends in one of these suffixes is the name of a file, not a word.
FILES = (".txt", ".tsv", ".csv", ".lst", ".gz", ".xz")


def read_words(source: str | os.PathLike[str] | Iterable[str]) -> list[str]:
    """Return the different words of a list.

    Parameters
    ----------
    source : str, path or iterable of str
        A file with one or more words on each line (lines that begin with ``#`` are comments), a string of
        words separated by commas, or the words themselves.

    Raises
    ------
    DataError
        There is no word, or the file is not UTF-8.
    """
    if not isinstance(source, str | os.PathLike):
        words = list(source)
    elif os.path.isfile(source):
        words = [word for line in _lines(source) for word in line.replace(",", " ").split()]
    elif isinstance(source, str) and os.sep not in source and not source.endswith(FILES):
        words = [word.strip() for word in source.split(",")]
    else:
        raise DataError(f"{source}: no such file; give a file of words, or words with commas between them")
    words = list(dict.fromkeys(word for word in words if word))
    if not words:
        raise DataError(f"{source!r} has no word; give a file of words, or words with commas between them")
    return words


def read_pairs(source: str | os.PathLike[str] | Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of words written ``he:she``.

    Parameters
    ----------
    source : str, path or iterable of str
        A file with a pair on each line (``he:she``, or two words separated by a tab or blanks), or the pairs
        themselves.

    Raises
    ------
    DataError
        Something is not a pair, or the file is not UTF-8.
    """
    is_file = isinstance(source, str | os.PathLike)
    pairs = []
    for number, text in enumerate(_lines(source) if isinstance(source, str | os.PathLike) else source, 1):
        if not text:
            continue
        words = [word.strip() for word in (text.split(":") if ":" in text else text.split())]
        if len(words) != 2 or not all(words) or words[0] == words[1]:
            where = f"{source}, line {number}: " if is_file else ""
            raise DataError(f"{where}{text!r} is not a pair of two different words, such as he:she")
        pairs.append((words[0], words[1]))
    return list(dict.fromkeys(pairs))


def _lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a file without blanks around them; those of comments are empty."""
    return ("" if line.startswith("#") else line for line in map(str.strip, Lines(path)))


def known_words(vectors: KeyedVectors, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that have vectors, spelled as in the vocabulary, and the words that have none."""
    # A word without a vector is looked up in lower case too, as `cawv nn` does.
    found: dict[str, None] = {}
    missing = []
    for word in words:
        form = vectors.known_form(word)
        if form is None:
            missing.append(word)
        else:
            found[form] = None
    return list(found), missing


class PublishedTest(NamedTuple):
    """A test of Caliskan, Bryson and Narayanan 2017 (Science 356, supplement).

    Attributes
    ----------
    name : str
    number : int
        Number of the test in table 1 of the paper.
    a, b, x, y : tuple of str
        Targets and attributes.
    effect_size : float
        Effect size in the paper, with GloVe of 840 billion words (300 dimensions).
    """

    name: str
    number: int
    a: tuple[str, ...]
    b: tuple[str, ...]
    x: tuple[str, ...]
    y: tuple[str, ...]
    effect_size: float


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PLEASANT = _words(
    "caress freedom health love peace cheer friend heaven loyal pleasure diamond gentle honest lucky rainbow "
    "diploma gift honor miracle sunrise family happy laughter paradise vacation"
)
UNPLEASANT = _words(
    "abuse crash filth murder sickness accident death grief poison stink assault disaster hatred pollute "
    "tragedy divorce jail poverty ugly cancer kill rotten vomit agony prison"
)
MALE = _words("male man boy brother he him his son")
FEMALE = _words("female woman girl sister she her hers daughter")

# Name -> test.
PUBLISHED = {
    test.name: test
    for test in (
        PublishedTest(
            "flowers-insects",
            1,
            _words(
                "aster clover hyacinth marigold poppy azalea crocus iris orchid rose bluebell daffodil lilac "
                "pansy tulip buttercup daisy lily peony violet carnation gladiola magnolia petunia zinnia"
            ),
            _words(
                "ant caterpillar flea locust spider bedbug centipede fly maggot tarantula bee cockroach gnat "
                "mosquito termite beetle cricket hornet moth wasp blackfly dragonfly horsefly roach weevil"
            ),
            PLEASANT,
            UNPLEASANT,
            1.50,
        ),
        PublishedTest(
            "instruments-weapons",
            2,
            _words(
                "bagpipe cello guitar lute trombone banjo clarinet harmonica mandolin trumpet bassoon drum "
                "harp oboe tuba bell fiddle harpsichord piano viola bongo flute horn saxophone violin"
            ),
            _words(
                "arrow club gun missile spear axe dagger harpoon pistol sword blade dynamite hatchet rifle "
                "tank bomb firearm knife shotgun teargas cannon grenade mace slingshot whip"
            ),
            PLEASANT,
            UNPLEASANT,
            1.53,
        ),
        PublishedTest(
            "math-arts",
            7,
            _words("math algebra geometry calculus equations computation numbers addition"),
            _words("poetry art dance literature novel symphony drama sculpture"),
            MALE,
            FEMALE,
            1.06,
        ),
        PublishedTest(
            "science-arts",
            8,
            _words("science technology physics chemistry einstein nasa experiment astronomy"),
            _words("poetry art shakespeare dance literature novel symphony drama"),
            _words("brother father uncle grandfather son he his him"),
            _words("sister mother aunt grandmother daughter she hers her"),
            1.24,
        ),
        PublishedTest(
            "mental-physical-disease",
            9,
            _words("sad hopeless gloomy tearful miserable depressed"),
            _words("sick illness influenza disease virus cancer"),
            _words("impermanent unstable variable fleeting short-term brief occasional"),
            _words("stable always constant persistent chronic prolonged forever"),
            1.38,
        ),
    )
}


def published_test(name: str) -> PublishedTest:
    """Return a published test by its name.

    Raises
    ------
    ValueError
        There is no such test.
    """
    if name not in PUBLISHED:
        raise ValueError(f"there is no published test {name!r}; there are {known_names(name, PUBLISHED)}")
    return PUBLISHED[name]
