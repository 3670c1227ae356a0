"""N-grams and their hashes, one word at a time, under gensim's names."""

from __future__ import annotations

# fastText's end of line: it has no n-grams.
END_OF_LINE = "</s>"


def compute_ngrams(word: str, min_n: int, max_n: int) -> list[str]:
    """Return the n-grams of a word between ``<`` and ``>``, the shortest first."""
    marked = f"<{word}>"
    lengths = range(max(min_n, 1), min(max_n, len(marked)) + 1)
    return [marked[i : i + n] for n in lengths for i in range(len(marked) - n + 1)]


def compute_ngrams_bytes(word: str, min_n: int, max_n: int) -> list[bytes]:
    """Return the n-grams of a word in UTF-8, in the order of their places, as fastText does.

    A single mark, ``<`` or ``>``, is not an n-gram.
    """
    marked = f"<{word}>"
    found = []
    for i in range(len(marked)):
        for n in range(max(min_n, 1), min(max_n, len(marked) - i) + 1):
            if n > 1 or 0 < i < len(marked) - 1:
                found.append(marked[i : i + n].encode("utf-8", "surrogatepass"))
    return found


def ft_hash_bytes(ngram: bytes) -> int:
    """Return fastText's hash of an n-gram: FNV-1a of 32 bits, with bytes above 127 taken as negative."""
    found = 2_166_136_261
    for byte in ngram:
        found = ((found ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16_777_619) & 0xFFFFFFFF
    return found


def ft_ngram_hashes(word: str, minn: int, maxn: int, num_buckets: int) -> list[int]:
    """Return the buckets of a word's n-grams, in the order of their places."""
    ngrams = [] if word == END_OF_LINE else compute_ngrams_bytes(word, minn, maxn)
    return [ft_hash_bytes(ngram) % num_buckets for ngram in ngrams]
