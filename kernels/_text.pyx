# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=True
"""Text to token ids: the Python face of lexicon.h (types and counts) and text.h (tokenisers).

Everything that loops over text or tokens runs in C without the GIL, and one `Lexicon` belongs to one thread
at a time, unless it is closed: then any number of threads may read with it.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

cdef extern from "text.h" nogil:
    const char *UNICODE_VERSION_TEXT "UNICODE_VERSION"
    const int C_LINE_END "LINE_END"
    const int C_ABSENT "ABSENT"
    const int C_LONGEST_TOKEN "LONGEST_TOKEN"
    const int NO_MEMORY

    ctypedef struct Record:
        int64_t count
        int32_t id
        uint32_t length

    ctypedef struct CLexicon "Lexicon":
        int32_t size
        int32_t closed
        char *arena
        size_t used

    ctypedef struct Ranked:
        int64_t count
        const char *text
        uint32_t length
        int32_t id

    ctypedef struct TextStats:
        int64_t tokens, lines, cut, repaired, first_repaired

    ctypedef struct Renumbered:
        int64_t head, closed, size, tail, kept, lines, split

    int lexicon_open(CLexicon *)
    void lexicon_free(CLexicon *)
    uint32_t hash_text(const char *, size_t)
    int32_t lexicon_id(CLexicon *, const char *, uint32_t, uint32_t, int64_t)
    int32_t lexicon_rank(const CLexicon *, int64_t, Ranked *)
    Record *first_record(const CLexicon *)
    Record *next_record(const CLexicon *, Record *)
    char *text_of(Record *)
    ctypedef struct Run:
        const char *at
        const char *end

    size_t lexicon_memory(const CLexicon *)
    uint32_t part_of_text(const char *, uint32_t, int)
    size_t record_bytes(uint32_t)
    int record_is_whole(const char *, const char *)
    void sift_down(Run *, int, int)
    size_t merge_runs(Run *, int *, char *, size_t)
    void fill_byte_class()
    ctypedef struct CharRecord:
        int32_t class_

    const CharRecord *char_record(uint32_t)
    int64_t read_text(CLexicon *, const uint8_t *, size_t, int, int, int, int32_t *, TextStats *)
    int64_t c_cut_point "cut_point"(const uint8_t *, int64_t)
    int64_t c_count_strange "count_strange"(const uint8_t *, int64_t)
    void c_renumber "renumber"(const int32_t *, int64_t, const int32_t *, int64_t, int, int32_t *, Renumbered *)

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL

UNICODE_VERSION = UNICODE_VERSION_TEXT.decode("ascii")
LINE_END = C_LINE_END
ABSENT = C_ABSENT
LONGEST_TOKEN = C_LONGEST_TOKEN
CHARACTER_CLASSES = ("space", "letter", "digit", "mark", "joiner", "linker", "point", "symbol", "hidden")

fill_byte_class()


cdef class PhraseTable:
    """Phrases, ready to be joined while text is encoded; see the stub."""

    cdef CLexicon parts
    cdef CLexicon joined
    cdef uint64_t[::1] keys
    cdef int32_t[::1] nexts
    cdef int32_t[::1] phrase_at
    cdef const char **part_texts
    cdef uint32_t *part_lengths
    cdef readonly int n_phrases

    def __cinit__(self, list phrases):
        cdef dict edges = {}
        cdef list phrase_at = [-1]
        cdef Py_ssize_t length = 0
        cdef const char *text
        cdef Record *record
        cdef uint64_t key, mask, at
        if lexicon_open(&self.parts) or lexicon_open(&self.joined):
            raise MemoryError("no memory for phrases")
        for words in phrases:
            state = 0
            for word in words:
                text = PyUnicode_AsUTF8AndSize(word, &length)
                part = lexicon_id(&self.parts, text, <uint32_t>length, hash_text(text, length), 0)
                if (state, part) not in edges:
                    edges[state, part] = len(phrase_at)
                    phrase_at.append(-1)
                state = edges[state, part]
            whole = "_".join(words)
            text = PyUnicode_AsUTF8AndSize(whole, &length)
            # A phrase of its own for each sequence: "a_b c" and "a b_c" join to the same word.
            phrase_at[state] = lexicon_id(&self.joined, text, <uint32_t>length, hash_text(text, length), 0)
        self.n_phrases = len(phrases)
        self.phrase_at = np.array(phrase_at, dtype=np.int32)
        size = 16
        while size < 2 * len(edges):
            size *= 2
        self.keys = np.full(size, 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
        self.nexts = np.full(size, -1, dtype=np.int32)
        mask = size - 1
        for (state, part), target in edges.items():
            key = <uint64_t>state << 32 | <uint64_t>part
            at = (key * 0x9E3779B97F4A7C15u >> 20) & mask
            while self.nexts[at] >= 0:
                at = (at + 1) & mask
            self.keys[at] = key
            self.nexts[at] = target
        self.part_texts = <const char **>malloc((self.parts.size + self.joined.size + 1) * sizeof(char *))
        self.part_lengths = <uint32_t *>malloc((self.parts.size + self.joined.size + 1) * sizeof(uint32_t))
        if self.part_texts == NULL or self.part_lengths == NULL:
            raise MemoryError("no memory for phrases")
        record = first_record(&self.parts)  # the texts of the parts, and behind them those of the phrases
        while record != NULL:
            self.part_texts[record.id] = text_of(record)
            self.part_lengths[record.id] = record.length
            record = next_record(&self.parts, record)
        record = first_record(&self.joined)
        while record != NULL:
            self.part_texts[self.parts.size + record.id] = text_of(record)
            self.part_lengths[self.parts.size + record.id] = record.length
            record = next_record(&self.joined, record)
        self.parts.closed = 1

    def __dealloc__(self):
        lexicon_free(&self.parts)
        lexicon_free(&self.joined)
        free(self.part_texts)
        free(self.part_lengths)

    cdef int32_t follow(self, int32_t state, int32_t part) noexcept nogil:
        cdef uint64_t key = <uint64_t>state << 32 | <uint64_t>part
        cdef uint64_t mask = <uint64_t>self.nexts.shape[0] - 1
        cdef uint64_t at = (key * 0x9E3779B97F4A7C15u >> 20) & mask
        while self.nexts[at] >= 0:
            if self.keys[at] == key:
                return self.nexts[at]
            at = (at + 1) & mask
        return -1


cdef class Lexicon:
    """The types of a text, numbered in the order of their first occurrence, with counts.

    Parameters
    ----------
    words : iterable of str, optional
        If given, the lexicon holds exactly these, numbered in this order, and is closed: it counts nothing
        and answers ``ABSENT`` for every other token.
    """

    cdef CLexicon types
    cdef int32_t *part_of   # of each type, its id among the parts of phrases
    cdef int32_t n_looked_up, room
    cdef size_t looked_up   # bytes of the arena

    def __cinit__(self, words=None):
        if lexicon_open(&self.types):
            raise MemoryError("no memory for a table of words")
        if words is not None:
            for word in words:
                self._id(word, 0)
            self.types.closed = 1

    def __dealloc__(self):
        lexicon_free(&self.types)
        free(self.part_of)

    def __len__(self):
        return self.types.size

    def look_up_parts(self, PhraseTable table):
        """Find out which types are parts of phrases; needed once before a closed lexicon is shared."""
        cdef Record *record
        cdef int32_t *larger
        if self.n_looked_up == self.types.size:
            return
        if self.types.size > self.room:
            larger = <int32_t *>realloc(self.part_of, (self.types.size + self.types.size // 2) * sizeof(int32_t))
            if larger == NULL:
                raise MemoryError(f"no memory for phrases among {self.types.size:,} words")
            self.part_of = larger
            self.room = self.types.size + self.types.size // 2
        while self.looked_up < self.types.used:
            record = <Record *>(self.types.arena + self.looked_up)
            self.part_of[record.id] = lexicon_id(
                &table.parts, text_of(record), record.length, hash_text(text_of(record), record.length), 0)
            self.looked_up += record_bytes(record.length)
        self.n_looked_up = self.types.size

    def join(self, PhraseTable table, int32_t[::1] ids):
        """Join phrases in ids, in place; return how many ids are left."""
        cdef int64_t i = 0, j, w = 0, end, n = ids.shape[0]
        cdef int32_t state, phrase, part, id_
        cdef uint32_t length
        cdef const char *text
        cdef bint failed = False
        if not self.types.closed or self.n_looked_up < self.types.size:
            self.look_up_parts(table)
        with nogil:
            while i < n:
                state = 0
                phrase = -1
                end = i
                j = i
                while j < n and ids[j] >= 0:
                    part = self.part_of[ids[j]]
                    if part < 0:
                        break
                    state = table.follow(state, part)
                    if state < 0:
                        break
                    j += 1
                    if table.phrase_at[state] >= 0:
                        phrase = table.phrase_at[state]
                        end = j
                if phrase < 0:
                    ids[w] = ids[i]
                    w += 1
                    i += 1
                    continue
                if not self.types.closed:
                    for j in range(i, end):  # the phrase occurs instead of these tokens: take back their counts
                        part = self.part_of[ids[j]]
                        text = table.part_texts[part]
                        length = table.part_lengths[part]
                        lexicon_id(&self.types, text, length, hash_text(text, length), -1)
                text = table.part_texts[table.parts.size + phrase]
                length = table.part_lengths[table.parts.size + phrase]
                id_ = lexicon_id(&self.types, text, length, hash_text(text, length), 1)
                if id_ == NO_MEMORY:
                    failed = True
                    break
                ids[w] = id_
                w += 1
                i = end
        if failed:
            raise MemoryError(f"no memory for more than {self.types.size:,} words (a table holds 32 GiB at most)")
        return w

    @property
    def nbytes(self):
        """Bytes in use: texts, counts and slots."""
        return lexicon_memory(&self.types)

    cdef int32_t _id(self, word, int64_t times) except? -3:
        cdef Py_ssize_t length = 0
        cdef const char *text = PyUnicode_AsUTF8AndSize(word, &length)
        if length < 1 or length > 1 << 30:
            raise ValueError(f"a token has 1 to 2^30 bytes; got {length}")
        cdef int32_t i = lexicon_id(&self.types, text, <uint32_t>length, hash_text(text, length), times)
        if i == NO_MEMORY:
            raise MemoryError(f"no memory for more than {self.types.size:,} words (a table holds 32 GiB at most)")
        return i

    def read_text(self, bytes text, bint words, bint lowercase, bint every_line=False):
        """Tokenise UTF-8 text (without the GIL); see the stub for the result."""
        cdef Py_ssize_t size = PyBytes_Size(text)
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AsString(text)
        cdef int32_t[::1] ids = np.empty(size + 1, dtype=np.int32)
        cdef TextStats stats
        cdef int64_t n
        with nogil:
            n = read_text(&self.types, data, size, words, lowercase, every_line, &ids[0], &stats)
        if n < 0:
            raise MemoryError(f"no memory for more than {self.types.size:,} words (a table holds 32 GiB at most)")
        return np.asarray(ids)[:n], stats

    def read_tokens(self, list tokens, int32_t[::1] ids):
        """Look up str tokens as they are; write len(tokens) ids and a LINE_END."""
        cdef Py_ssize_t i, n = len(tokens)
        if ids.shape[0] < n + 1:
            raise IndexError(f"{n} tokens need room for {n + 1} ids; got {ids.shape[0]}")
        for i in range(n):
            ids[i] = self._id(tokens[i], 1)
        ids[n] = C_LINE_END

    def counts(self):
        """Return the count of each type."""
        cdef int64_t[::1] counts = np.empty(self.types.size, dtype=np.int64)
        cdef Record *record = first_record(&self.types)
        while record != NULL:
            counts[record.id] = record.count
            record = next_record(&self.types, record)
        return np.asarray(counts)

    def words(self):
        """Return the types in the order of their ids."""
        cdef list words = []
        cdef Record *record = first_record(&self.types)
        while record != NULL:
            words.append(PyUnicode_DecodeUTF8(text_of(record), record.length, NULL))
            record = next_record(&self.types, record)
        return words

    def scatter(self, size_t start, size_t room, int bits):
        """Sort the records from an offset of the arena on into 2^bits parts by hash; see the stub."""
        cdef Record *record = <Record *>(self.types.arena + start)
        cdef Record *first = record
        cdef char *end = self.types.arena + self.types.used
        cdef int64_t[::1] sizes = np.zeros(1 << bits, dtype=np.int64)
        cdef int64_t[::1] places
        cdef bytes out
        cdef char *to
        cdef uint32_t part
        cdef size_t n = 0, bytes_
        while <char *>record < end and (n == 0 or n + record_bytes(record.length) <= room):
            bytes_ = record_bytes(record.length)
            sizes[part_of_text(text_of(record), record.length, bits)] += bytes_
            n += bytes_
            record = <Record *>(<char *>record + bytes_)
        places = np.cumsum(sizes) - np.asarray(sizes)
        out = PyBytes_FromStringAndSize(NULL, n)
        to = PyBytes_AsString(out)
        end = <char *>record
        record = first
        with nogil:
            while <char *>record < end:
                bytes_ = record_bytes(record.length)
                part = part_of_text(text_of(record), record.length, bits)
                memcpy(to + places[part], record, bytes_)
                places[part] += bytes_
                record = <Record *>(<char *>record + bytes_)
        return out, np.asarray(sizes), start + n

    @property
    def arena_bytes(self):
        """Bytes of the records, which `scatter` goes through."""
        return self.types.used

    def absorb_records(self, const uint8_t[::1] data):
        """Add the types and counts of scattered records; return the ids in their lexicon and in this one."""
        cdef const char *p = <const char *>&data[0] if data.shape[0] else NULL
        cdef const char *end = p + data.shape[0]
        # the shortest record has 24 bytes: a header of 16, and a text of at least one byte, padded to 8
        cdef int32_t[::1] theirs = np.empty(data.shape[0] // 24 + 1, dtype=np.int32)
        cdef int32_t[::1] ours = np.empty(data.shape[0] // 24 + 1, dtype=np.int32)
        cdef Record *record
        cdef int64_t n = 0
        cdef int32_t i = 0
        with nogil:
            while p < end and i != NO_MEMORY and record_is_whole(p, end):
                record = <Record *>p
                i = lexicon_id(&self.types, text_of(record), record.length,
                               hash_text(text_of(record), record.length), record.count)
                theirs[n] = record.id
                ours[n] = i
                n += 1
                p += record_bytes(record.length)
        if i == NO_MEMORY:
            raise MemoryError(f"no memory for more than {self.types.size:,} words (a table holds 32 GiB at most)")
        if p != end:
            raise OSError("a temporary file of counts was changed by somebody else")
        return np.asarray(theirs)[:n], np.asarray(ours)[:n]

    def ranked_records(self, int64_t min_count):
        """Return the records of types of at least min_count in the final order."""
        cdef Ranked *ranked = <Ranked *>malloc((self.types.size + 1) * sizeof(Ranked))
        cdef int32_t n, i
        cdef size_t total = 0
        cdef Record *record
        cdef bytes out
        cdef char *to
        if ranked == NULL:
            raise MemoryError(f"no memory to sort {self.types.size:,} words")
        try:
            with nogil:
                n = lexicon_rank(&self.types, min_count, ranked)
                for i in range(n):
                    total += record_bytes(ranked[i].length)
            out = PyBytes_FromStringAndSize(NULL, total)
            to = PyBytes_AsString(out)
            with nogil:
                for i in range(n):
                    record = <Record *>(ranked[i].text - sizeof(Record))
                    memcpy(to, record, record_bytes(record.length))
                    to += record_bytes(record.length)
            return out
        finally:
            free(ranked)

    def absorb(self, Lexicon other, int64_t min_count=-1):
        """Add the types and counts of another lexicon; return the id here of each of its types.

        Types of less than min_count are left out; their id is -1.
        """
        cdef int32_t[::1] ids = np.empty(other.types.size, dtype=np.int32)
        cdef Record *record
        cdef int32_t i = 0
        with nogil:
            record = first_record(&other.types)
            while record != NULL and i != NO_MEMORY:
                if record.count < min_count:
                    ids[record.id] = -1
                    record = next_record(&other.types, record)
                    continue
                i = lexicon_id(&self.types, text_of(record), record.length,
                               hash_text(text_of(record), record.length), record.count)
                ids[record.id] = i
                record = next_record(&other.types, record)
        if i == NO_MEMORY:
            raise MemoryError(f"no memory for more than {self.types.size:,} words (a table holds 32 GiB at most)")
        return np.asarray(ids)

    def rank(self, int64_t min_count):
        """Return the types of at least min_count by (count descending, bytes ascending): words, counts, ids."""
        cdef Ranked *ranked = <Ranked *>malloc((self.types.size + 1) * sizeof(Ranked))
        cdef int32_t n, i
        cdef list words
        cdef int64_t[::1] counts
        cdef int32_t[::1] ids
        if ranked == NULL:
            raise MemoryError(f"no memory to sort {self.types.size:,} words")
        try:
            with nogil:
                n = lexicon_rank(&self.types, min_count, ranked)
            words = []
            counts = np.empty(n, dtype=np.int64)
            ids = np.empty(n, dtype=np.int32)
            for i in range(n):
                words.append(PyUnicode_DecodeUTF8(ranked[i].text, ranked[i].length, NULL))
                counts[i] = ranked[i].count
                ids[i] = ranked[i].id
            return words, np.asarray(counts), np.asarray(ids)
        finally:
            free(ranked)


def vocabulary_lines(list runs, size_t room=1 << 20):
    """Yield the lines of a vocabulary file, merged from lists of ranked records."""
    cdef Run *heap = <Run *>malloc((len(runs) + 1) * sizeof(Run))
    cdef int n = 0, i
    cdef const uint8_t[::1] data
    cdef bytes out
    cdef char *to
    cdef size_t written
    if heap == NULL:
        raise MemoryError("no memory to merge words")
    try:
        for run in runs:
            data = run
            if data.shape[0]:
                heap[n].at = <const char *>&data[0]
                heap[n].end = heap[n].at + data.shape[0]
                n += 1
        for i in range(n // 2 - 1, -1, -1):
            sift_down(heap, n, i)
        while n:
            out = PyBytes_FromStringAndSize(NULL, room)
            to = PyBytes_AsString(out)
            with nogil:
                written = merge_runs(heap, &n, to, room)
            if not written and n:
                room *= 2
                continue
            yield out[:written]
    finally:
        free(heap)


def renumber(const int32_t[::1] raw, const int32_t[::1] final, int64_t longest, bint every_line=False):
    """Turn provisional ids into final ones (without the GIL); see the stub for the result."""
    cdef int32_t[::1] out = np.empty(raw.shape[0] + raw.shape[0] // longest + 2, dtype=np.int32)
    cdef const int32_t *source = &raw[0] if raw.shape[0] else NULL
    cdef const int32_t *target = &final[0] if final.shape[0] else NULL
    cdef Renumbered result
    with nogil:
        c_renumber(source, raw.shape[0], target, longest, every_line, &out[0], &result)
    return np.asarray(out)[:result.size], result


def character_classes():
    """Return the class of each code point; see the stub."""
    cdef uint8_t[::1] classes = np.empty(0x110000, dtype=np.uint8)
    cdef uint32_t code
    for code in range(0x110000):
        classes[code] = <uint8_t>char_record(code).class_
    return np.asarray(classes)


def cut_point(bytes text, int64_t n):
    """Return where to cut text[:n]: behind its last line end, else behind its last ASCII space, else 0."""
    return c_cut_point(<const uint8_t *>PyBytes_AsString(text), min(n, PyBytes_Size(text)))


def count_strange(bytes text):
    """Return how many bytes are invalid UTF-8 or control characters (the last three are not looked at)."""
    return c_count_strange(<const uint8_t *>PyBytes_AsString(text), PyBytes_Size(text))
