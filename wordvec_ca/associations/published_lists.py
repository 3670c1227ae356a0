"""Word lists of published tests, unchanged; tests with names of people are not included."""

from __future__ import annotations

from typing import NamedTuple

from wordvec_ca.errors import known_names


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
"""Name -> test."""


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
