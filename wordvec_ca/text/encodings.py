"""Decodes text that is not UTF-8 while it is read; if no encoding was given, guesses one for the error
message.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from wordvec_ca.errors import DataError, Option, OptionError

# Language -> its letters beyond ASCII, and about twenty of its most frequent words.
#
# Several languages share most letters and no two share most frequent words, which mostly are ASCII and so
# the same in every encoding: words tell the language, letters the encoding.
LANGUAGES: dict[str, tuple[str, str]] = {
    "bg": ("абвгдежзийклмнопрстуфхцчшщъьюя", "и на да се не за от в с по е са че със до този като има беше"),
    "ca": ("àèéíïòóúüç·", "de la el i les que els en a un una per amb no del és al va ha més com es ser"),
    "cs": ("áčďéěíňóřšťúůýž", "a v se na je že s z do o to i jsem jako ve by pro za po k ale byl jen není"),
    "da": ("æøåé", "og i at det er en til af den som på de med for ikke der et han har var om jeg fra men"),
    "de": ("äöüß", "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch"),
    "el": ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ", "και το να του η της με που την από για είναι στο ο τα"),
    "es": ("áéíñóúü¿¡ªº", "de la que el en y a los se del las un por con no una su para es al lo como más"),
    "et": ("äöõüšž", "ja on ei et see ta oli kui ka mis oma ning aga siis nii või seda pole kas selle ma"),
    "fi": ("äöåšž", "ja on ei että se oli hän joka kun ovat myös mutta ole kuin niin tai sen jo en mukaan"),
    "fr": (
        "àâæçéèêëîïôœùûüÿ",
        "de la le et les des en un du une que est pour qui dans a par plus pas au sur",
    ),
    "hr": ("čćđšž", "i je u se na da su za od s ne bi kao koji što o iz ili nije bio ali po kako samo sam"),
    "hu": ("áéíóöőúüű", "a az és hogy nem is egy meg ez volt de csak már ha van mint vagy el azt még lehet"),
    "is": ("áðéíóúýþæö", "og í að á er sem til það um við en með ekki var hann af fyrir ég hún þetta þess"),
    "it": ("àèéìíîòóùú", "di e il la che in un per è a del non una con della i le si sono da al come più ha"),
    "lt": ("ąčęėįšųūž", "ir kad yra į su iš tai ne o bet buvo kaip jis dar tik nuo ar už per jau apie po"),
    "lv": (
        "āčēģīķļņšūž",
        "un ir ka no par ar uz bet kas tas arī nav kā vai lai bija pie to viņš ja tikai ne",
    ),
    "nl": ("áäéèêëïíóöüú", "de het een van en in is dat op te niet zijn met voor die er aan ook maar om als"),
    "no": ("æøåéòôó", "og i det er som på en til å av for at ikke med den har et var han de om jeg fra men"),
    "pl": ("ąćęłńóśźż", "i w na z się nie do to że jest o jak po co za ale od tak przez już tylko jego był"),
    "pt": ("áâãàçéêíóôõúüªº", "de a o que e do da em um para é com não uma os no se na por mais as dos ao"),
    "ro": (
        "ăâîșțşţ",
        "de și şi în a la cu pe nu că o un să din se este care mai pentru au ca o fost dar sunt",
    ),
    "ru": ("абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "и в не на что я с он как это а по но его к из у же за да"),
    "sk": (
        "áäčďéíĺľňóôŕšťúýž",
        "a v sa na je že s z do o to aj ako ale by pre som za po k bol si už nie len",
    ),
    "sl": ("čšž", "in je v na se da za so ki ne s z pa bi kot o po ni bil ali tudi če še iz od sem že kako"),
    "sv": ("åäöé", "och i att det som en på är av för med den till inte om ett han de har var jag men från"),
    "tr": (
        "çğıöşüâîû",
        "ve bir bu da de için ile çok ne daha o gibi olan kadar var sonra ama her ben diye en",
    ),
    "uk": ("абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", "і в не на що з у та до як я він це по за а але його є про"),
}

# If a text has more undecodable sequences per token than this, it is assumed to be in another encoding.
MOST_UNDECODABLE = 0.01

# This number of undecodable sequences is always accepted, since a short text may contain some.
FEW = 16

# Number of multi-byte characters that identify a text as UTF-8: in other encodings such bytes hardly occur.
FEW_WIDE = 2

_NOT_OF_TEXT_FILES = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}

# Common encodings of files. If several decode a text to the same characters, the first one is named.
_GUESSED = (
    "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp850 cp852 cp866 cp874 "
    "koi8_r koi8_u iso8859_2 iso8859_5 iso8859_6 iso8859_7 iso8859_8 iso8859_9 mac_roman mac_cyrillic "
    "cp932 euc_jp iso2022_jp gb18030 big5 cp949 euc_kr johab utf_16 utf_32"
)

# Encodings of one byte a character in which the texts of `LANGUAGES` are; the most frequent of a script
# first.
_ONE_BYTE = (
    "cp1252 cp1250 cp1257 cp1254 iso8859_15 iso8859_2 iso8859_4 iso8859_13 iso8859_9 cp850 cp852 cp437 "
    "cp857 cp775 mac_roman mac_latin2 mac_turkish cp1251 koi8_r koi8_u iso8859_5 cp866 mac_cyrillic "
    "cp1253 iso8859_7 mac_greek"
)

# Characters of every language. Signs such as £ and ¤ are left out: in wrong encodings they are letters.
_PUNCTUATION = set("«»“”„‘’–—…°§€\xa0")

# Least share of frequent words, and least likeness. In a dozen sentences the right language has a share of
# .28 to .43, in one sentence of .1; a text of which half the letters are explained is left to statistics.
_LEAST_COMMON, _LEAST_LIKENESS = 0.08, 0.6

# Likenesses that differ by less are equal; one wrong letter among fifty is as much.
_SAME = 0.02

_GUESSED_FROM = 1 << 14
# Name of an error handler for codecs: it turns undecodable sequences into bytes that are not UTF-8.
KEEP = "wordvec_ca.undecodable"


def check_encoding(encoding: str) -> str:
    """Return Python's name of an encoding; OptionError if Python cannot decode text of it piece by piece."""
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError, TypeError) as error:
        raise OptionError(
            Option("encoding"),
            f" {encoding!r} is unknown; give one that Python knows, such as cp1252, koi8_r, gb18030, "
            "shift_jis or utf-16 (docs.python.org/3/library/codecs.html#standard-encodings)",
        ) from error
    of_text = getattr(info, "_is_text_encoding", True)
    if not of_text or info.incrementaldecoder is None or info.name in _NOT_OF_TEXT_FILES:
        raise OptionError(
            Option("encoding"),
            f" {encoding!r} is not an encoding of text files; give one such as cp1252, koi8_r, gb18030, "
            "shift_jis or utf-16",
        )
    return info.name


def is_utf8(encoding: str) -> bool:
    """Return whether an encoding needs no decoding: UTF-8, with or without a byte order mark."""
    return check_encoding(encoding) in ("utf-8", "utf-8-sig")


def decoded(pieces: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield text of another encoding as UTF-8, piece by piece."""
    # A sequence that cannot be decoded becomes one byte that is not UTF-8. So the code that counts and
    # locates invalid sequences of UTF-8 text works for other encodings too.
    try:
        yield from map(in_utf8, codecs.iterdecode(pieces, encoding, KEEP))
    except UnicodeError as error:  # the decoders of UTF-16 and UTF-32 need a byte order mark
        raise DataError(
            f"{name} is not {encoding}: {error}; give its encoding (without a byte order mark: utf-16-le or "
            "utf-16-be)"
        ) from error


def in_utf8(text: str) -> bytes:
    """Encode text; what could not be decoded, and lone surrogates, become bytes that are not UTF-8."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", KEEP)


def from_utf8(data: bytes) -> str:
    """Decode text; each undecodable sequence becomes a surrogate, which `in_utf8` encodes as an undecodable
    byte.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", KEEP)


def _keep(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeDecodeError):
        return "\udc80", error.end
    if isinstance(error, UnicodeEncodeError):
        halves = error.object[error.start : error.end]
        kept = [b"\x80" if half == "\udc80" else half.encode("utf-8", "surrogatepass") for half in halves]
        return b"".join(kept), error.end
    raise error


codecs.register_error(KEEP, _keep)


def undecodable(text: bytes) -> tuple[int, int]:
    """Return the number of undecodable sequences in a text (which may end within a character), and of
    words.
    """
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        bad = from_utf8(text[: max(0, len(text) - 3)]).count("\udc80")
        return bad, words_in(len(text.split()), len(text))
    return 0, 0


def words_in(tokens: int, size: int) -> int:
    """Return the number of words in a text of ``size`` bytes: its tokens, or one per ten bytes if spaces are
    rare.
    """
    return max(tokens, size // 10)


def too_many_undecodable(bad: int, words: int) -> bool:
    """Decide from the numbers of undecodable sequences and words whether a text is in another encoding."""
    return bad >= FEW and bad > MOST_UNDECODABLE * words


class WrongEncodingError(DataError):
    """A text is not in the given or assumed encoding."""


def is_disguised_utf8(head: bytes, encoding: str) -> bool:
    """Return whether the beginning of a text is UTF-8 although another encoding was given."""
    try:
        head[: max(0, len(head) - 3)].decode("utf-8")
    except UnicodeDecodeError:
        return False
    n_wide = sum(byte >= 0xC2 for byte in head)
    return n_wide >= FEW_WIDE and b"\0" not in head and check_encoding(encoding) != "utf-8"


def wrong_encoding(
    what: str, bad: int, words: int, sample: bytes, encoding: str | None
) -> WrongEncodingError:
    """Return the error for a text, the subject of a sentence, that is not in the given or assumed encoding,
    from its numbers of undecodable sequences and of words, and a part of it with such sequences.
    """
    given = encoding or "UTF-8"
    return WrongEncodingError(
        f"{what} is not {given}: {bad:,} sequences among {words:,} words cannot be decoded, more than "
        f"{MOST_UNDECODABLE:.0%}; ",
        *encoding_advice(sample, encoding),
        f". If it is damaged {given}, drop the damaged bytes: iconv -c -f {iconv_name(given)} -t UTF-8 FILE",
    )


def unmarked_encoding(head: bytes) -> str | None:
    """Return the encoding if the beginning of a file is UTF-16 or UTF-32 without a byte order mark."""
    spaces = {}
    for name in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        text = head[: min(len(head), _GUESSED_FROM) // 4 * 4].decode(name, "replace")[:-1]
        # The last character may be half of one. In a wrong order of bytes, spaces become other characters; in
        # a wrong width, some are zero bytes.
        if not set(text) & {"\0", "\ufffd"} and (n_spaces := text.count(" ") + text.count("\n")):
            spaces[name] = n_spaces
    return max(spaces, key=spaces.__getitem__, default=None)


def likely_encodings(sample: bytes) -> list[str]:
    """Return Python's names of the most likely encodings of a text: one, two if they are equally likely, or
    none.
    """
    end = sample.rfind(b"\n", 0, _GUESSED_FROM) + 1  # not within a character of several bytes
    sample = sample[: end or _GUESSED_FROM]
    return _by_language(sample) or _by_statistics(sample)


def _by_language(sample: bytes) -> list[str]:
    """Return the encodings in which a text consists of one language's frequent words and letters."""
    found: dict[str, tuple[float, str]] = {}  # text -> score, the first encoding that decodes to it
    for name in _ONE_BYTE.split():
        text = sample.decode(name, "replace")[:-1]
        if text not in found:
            found[text] = max(map(_likeness(text), LANGUAGES.values())), name
    ranked = sorted(found.values(), key=lambda one: -one[0])
    if ranked[0][0] < _LEAST_LIKENESS:
        return []
    return [name for score, name in ranked[:2] if score > ranked[0][0] - _SAME]


def _likeness(text: str) -> Callable[[tuple[str, str]], float]:
    """Return a function from letters and words of a language to how much of a text they explain, up to 2."""
    beyond = Counter(character for character in text if character > "\x7f")
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    # Cyrillic letters in another encoding are often the same letters in the other case.
    controls = sum(n for character, n in beyond.items() if character < "\xa0")
    shouted = sum(n for character, n in beyond.items() if character.isupper()) / max(1, beyond.total())

    def explained(language: tuple[str, str]) -> float:
        letters, frequent = language
        known = sum(n for one, n in beyond.items() if one.lower() in letters or one in _PUNCTUATION)
        common = sum(words[word] for word in set(frequent.split())) / max(1, words.total())
        if common < _LEAST_COMMON:  # letters alone would take French with é and è for Slovak with é and č
            return 0.0
        # Five times: ISO 8859 has control characters, which nobody writes, where cp1252 has quotes and œ.
        return (known - 4 * controls) / max(1, beyond.total()) + common - shouted / 2

    return explained


def _by_statistics(sample: bytes) -> list[str]:
    """Return the most likely encoding by frequencies of letters, for other languages and scripts."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return []
    import logging

    logging.getLogger("charset_normalizer").setLevel(logging.ERROR)
    guess = from_bytes(sample, cp_isolation=_GUESSED.split()).best()
    if guess is None:
        return []
    text = sample.decode(guess.encoding, "replace")
    return [next(name for name in _GUESSED.split() if sample.decode(name, "replace") == text)]


def encoding_advice(sample: bytes, encoding: str | None) -> tuple[str | Option, ...]:
    """Return advice for a text that is not in the given or assumed encoding, from its beginning."""
    # a sample that was decoded from a given encoding says nothing about the original bytes
    guesses = likely_encodings(sample) if encoding is None or is_utf8(encoding) else []
    if len(guesses) == 2:
        one, other = guesses
        lines = zip(*(sample.decode(name, "replace").splitlines() for name in guesses), strict=False)
        first, second = next(((a, b) for a, b in lines if a != b), ("", ""))
        return (
            f"if it is text in another encoding, it is {one} if this line is right: {first.strip()[:80]!r}, "
            f"and {other} if this is: {second.strip()[:80]!r}; give ",
            Option("encoding", one),
            " or ",
            Option("encoding", other),
        )
    if guesses:
        return (
            f"if it is text in another encoding, most likely {guesses[0]}, convert it: iconv -f "
            f"{iconv_name(guesses[0])} -t UTF-8 FILE > NEW, or if all files are {guesses[0]}, give ",
            Option("encoding", guesses[0]),
        )
    return (
        "if it is text in another encoding, give its name, ",
        Option("encoding"),
        ", or convert it: iconv -f NAME -t UTF-8 FILE",
    )


def iconv_name(encoding: str) -> str:
    """Return iconv's name of one of Python's encodings."""
    name = encoding.upper().replace("_", "-")
    return name.replace("ISO8859", "ISO-8859").replace("MAC-ROMAN", "MACINTOSH")
