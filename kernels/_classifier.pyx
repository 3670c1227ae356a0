# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=True
"""The loops of the classifier, and text as fastText splits it: the Python face of classifier.h and lexicon.h."""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.math cimport sqrtf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

import numpy as np

cdef extern from "lexicon.h" nogil:
    const int ABSENT
    const int NO_MEMORY

    ctypedef struct Record:
        int64_t count
        int32_t id
        uint32_t length

    ctypedef struct CLexicon "Lexicon":
        int32_t size
        int32_t closed

    int lexicon_open(CLexicon *)
    void lexicon_free(CLexicon *)
    uint32_t hash_text(const char *, size_t)
    int32_t lexicon_id(CLexicon *, const char *, uint32_t, uint32_t, int64_t)
    Record *first_record(const CLexicon *)
    Record *next_record(const CLexicon *, Record *)
    char *text_of(Record *)

cdef extern from "classifier.h" nogil:
    ctypedef struct Lines:
        const int32_t *tokens
        const int64_t *ends
        int64_t n_lines
        int32_t n_types
        const int64_t *row_ends
        const int32_t *rows
        const int32_t *labels
        const int32_t *hashes
        int32_t word_ngrams, n_words
        int64_t buckets
        const int32_t *places
        int32_t skip_unknown

    ctypedef struct Bag:
        int32_t *rows
        int64_t n
        int failed

    void gather(const Lines *, int64_t, Bag *)
    void bag_free(Bag *)

    ctypedef struct Branch:
        int32_t node

    ctypedef struct Matrix:
        const float *numbers
        int64_t n, stride
        int32_t dim
        const uint8_t *codes
        int32_t n_parts, part
        const float *centroids
        const uint8_t *norm_codes
        const float *norms

    ctypedef struct Prediction:
        const Lines *lines
        const Matrix *inputs
        const Matrix *outputs
        int32_t n_labels, loss
        const int32_t *left
        const int32_t *right
        int32_t k
        float threshold
        float *scores
        int32_t *found
        int32_t *n_found

    ctypedef struct Lesson:
        const Lines *lines
        int64_t first, last
        float *inputs
        float *outputs
        int64_t width
        int32_t n_labels, loss, negative
        float *own_outputs
        float *seen_outputs
        int64_t copied_every
        const int64_t *path_ends
        const int32_t *path_nodes
        const float *path_labels
        const int32_t *pool
        int64_t n_pool
        float alpha
        double tokens_before, tokens_in_all
        uint64_t seed
        float *scratch
        int64_t n_met
        double loss_sum
        int64_t n_examples

    ctypedef struct Room:
        float *numbers
        Branch *branches

    enum Isa:
        N_ISAS
    const char *isa_name(Isa isa)
    ctypedef int (*PredictBag)(const Prediction *, const Bag *, int64_t, const Room *)
    ctypedef void (*Mean)(const Matrix *, const Bag *, float *)
    PredictBag predict_bag_loop(Isa isa)
    Mean mean_loop(Isa isa)
    ctypedef int (*Predict)(const Prediction *)
    ctypedef int (*Learn)(Lesson *)
    Predict predict_loop(Isa isa)
    Learn learn_loop(Isa isa)
    const int IGNORED

cdef extern from "text_line.h" nogil:
    ctypedef struct LineReader:
        Lines rules
        CLexicon *entries
        int32_t min_n, max_n
        const char *label
        int64_t label_bytes
        char *marked

    int is_space(char)
    int is_line_end(const char *, int64_t)
    int32_t fnv(const char *, int64_t)
    int32_t number_of(const LineReader *, const char *, int64_t)
    int64_t next_token(const char *, int64_t, int64_t *, const char **)
    void push_word(LineReader *, const char *, int64_t, int32_t, Bag *)
    void gather_text(LineReader *, const char *, int64_t, Bag *)

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object, Py_ssize_t *) except NULL

LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
"""fastText's numbers of its losses."""

cdef bytes END_OF_LINE = b"</s>"


cdef Isa isa_of(str name) except *:
    for k in range(N_ISAS):
        if isa_name(<Isa> k).decode() == name:
            return <Isa> k
    raise ValueError(f"there is no instruction set {name!r}")


cdef class TokenTypes:
    """The types of a text as fastText splits it: bytes between ASCII white space and zeros; see the stub."""

    cdef CLexicon lexicon

    def __cinit__(self, list words=None):
        if lexicon_open(&self.lexicon):
            raise MemoryError("no memory for a table of words")
        for word in words or ():
            self.number(PyBytes_AsString(word), PyBytes_Size(word), 0)
        self.lexicon.closed = words is not None

    def __dealloc__(self):
        lexicon_free(&self.lexicon)

    def __len__(self):
        return self.lexicon.size

    cdef int32_t number(self, const char *text, size_t length, int64_t times) except? -3:
        cdef int32_t found
        if length >= 1 << 31:
            raise ValueError("a word has 2^31 bytes or more")
        found = lexicon_id(&self.lexicon, text, <uint32_t> length, hash_text(text, length), times)
        if found == NO_MEMORY:
            raise MemoryError(f"no memory for more than {self.lexicon.size:,} words")
        return found

    def find(self, bytes word):
        """Return the number of a type, or ``ABSENT``; an open table learns it."""
        return self.number(PyBytes_AsString(word), PyBytes_Size(word), 0)

    cdef int64_t split(self, const char *text, size_t n, int32_t[::1] ids) except -1:
        cdef size_t at = 0, begin
        cdef int64_t found = 0
        cdef int32_t number
        while at < n:
            if is_space(text[at]):
                at += 1
                if text[at - 1] != b"\n":
                    continue
                number = self.number(END_OF_LINE, 4, 1)
            else:
                begin = at
                while at < n and not is_space(text[at]):
                    at += 1
                number = self.number(text + begin, at - begin, 1)
            ids[found] = number
            found += 1
        return found

    def read(self, bytes text not None):
        """Return the types of the tokens of a text, int32; a line end is the token ``</s>``."""
        cdef Py_ssize_t n = PyBytes_Size(text)
        ids = np.empty(n + 1, np.int32)
        return ids[: self.split(PyBytes_AsString(text), n, ids)]

    def words(self):
        """Return the types, bytes."""
        cdef list words = []
        cdef Record *record = first_record(&self.lexicon)
        while record != NULL:
            words.append(PyBytes_FromStringAndSize(text_of(record), record.length))
            record = next_record(&self.lexicon, record)
        return words

    def counts(self):
        """Return how often each type was read, int64."""
        cdef int64_t[::1] counts = np.empty(self.lexicon.size, np.int64)
        cdef Record *record = first_record(&self.lexicon)
        while record != NULL:
            counts[record.id] = record.count
            record = next_record(&self.lexicon, record)
        return np.asarray(counts)

    def hashes(self):
        """Return fastText's hash of each type, FNV-1a with signed bytes, int32."""
        cdef int32_t[::1] hashes = np.empty(self.lexicon.size, np.int32)
        cdef Record *record = first_record(&self.lexicon)
        while record != NULL:
            hashes[record.id] = fnv(text_of(record), record.length)
            record = next_record(&self.lexicon, record)
        return np.asarray(hashes)

    def begin_with(self, bytes prefix not None):
        """Return which types begin with some bytes."""
        cdef uint8_t[::1] flags = np.zeros(self.lexicon.size, np.uint8)
        cdef Record *record = first_record(&self.lexicon)
        cdef size_t n = PyBytes_Size(prefix)
        while record != NULL:
            flags[record.id] = record.length >= n and memcmp(text_of(record), PyBytes_AsString(prefix), n) == 0
            record = next_record(&self.lexicon, record)
        return np.asarray(flags).view(np.bool_)

    def numbers_in(self, TokenTypes other not None):
        """Return the number of each type in a closed table, int32, or ``ABSENT``."""
        cdef int32_t[::1] numbers = np.empty(self.lexicon.size, np.int32)
        cdef Record *record = first_record(&self.lexicon)
        while record != NULL:
            numbers[record.id] = other.number(text_of(record), record.length, 0)
            record = next_record(&self.lexicon, record)
        return np.asarray(numbers)


cdef class TextLines:
    """Lines ready for the loops; see the stub. Arrays are checked once, here."""

    cdef Lines lines
    cdef object kept
    cdef readonly int64_t most_rows

    def __init__(
        self,
        const int32_t[::1] tokens not None,
        const int64_t[::1] ends not None,
        const int64_t[::1] row_ends not None,
        const int32_t[::1] rows not None,
        const int32_t[::1] labels not None,
        const int32_t[::1] hashes not None,
        int word_ngrams,
        int n_words,
        int64_t buckets,
        const int32_t[::1] places=None,
        int64_t n_places=0,
        bint skip_unknown=False,
    ):
        cdef int64_t i, before = 0, most = n_words
        cdef int32_t n_types = labels.shape[0]
        cdef bint fits = row_ends.shape[0] == n_types + 1 and hashes.shape[0] == n_types and row_ends[0] == 0
        fits = fits and (places is None or places.shape[0] >= buckets)
        if fits:
            for i in range(ends.shape[0]):
                fits = fits and before <= ends[i] <= tokens.shape[0]
                before = ends[i]
            for i in range(tokens.shape[0]):
                fits = fits and 0 <= tokens[i] < n_types
            for i in range(n_types):
                fits = fits and row_ends[i] <= row_ends[i + 1] <= rows.shape[0]
            for i in range(rows.shape[0]):
                fits = fits and rows[i] >= -1
                most = max(most, rows[i] + <int64_t> 1)
            if places is None:
                most = max(most, n_words + (buckets if word_ngrams > 1 else 0))
            else:  # checking two million places would take longer than reading a line: the caller has counted them
                most = max(most, n_words + n_places)
        if not fits:
            raise ValueError("the arrays do not fit each other")
        self.most_rows = most
        self.kept = (tokens, ends, row_ends, rows, labels, hashes, places)
        self.lines.n_lines = ends.shape[0]
        self.lines.n_types = n_types
        self.lines.tokens = &tokens[0] if tokens.shape[0] else NULL
        self.lines.ends = &ends[0] if ends.shape[0] else NULL
        self.lines.row_ends = &row_ends[0]
        self.lines.rows = &rows[0] if rows.shape[0] else NULL
        self.lines.labels = &labels[0] if n_types else NULL
        self.lines.hashes = &hashes[0] if n_types else NULL
        self.lines.word_ngrams = word_ngrams
        self.lines.n_words = n_words
        self.lines.buckets = buckets
        self.lines.places = &places[0] if places is not None and places.shape[0] else NULL
        self.lines.skip_unknown = skip_unknown
        if places is not None and not places.shape[0]:
            self.lines.buckets = 0

    def __len__(self):
        return self.lines.n_lines

    def number_buckets(self, int32_t[::1] places not None):
        """Number the buckets that lines use, in the order of their first use; return how many there are.

        Parameters
        ----------
        places : ndarray of shape (buckets,), int32
            The number of each bucket, -1 for those that no line uses; updated.
        """
        cdef Bag bag = Bag(NULL, 0, 0)
        cdef int64_t line, i, bucket
        cdef int32_t used = 0
        if self.lines.places != NULL or places.shape[0] < self.lines.buckets:
            raise ValueError("the buckets have numbers, or there are more than places")
        with nogil:
            for line in range(self.lines.n_lines):
                gather(&self.lines, line, &bag)
                for i in range(bag.n):
                    bucket = bag.rows[i] - self.lines.n_words
                    if bucket >= 0 and places[bucket] < 0:
                        places[bucket] = used
                        used += 1
        cdef bint failed = bag.failed
        bag_free(&bag)
        if failed:
            raise MemoryError("no memory for the longest line")
        return used


cdef class RowMatrix:
    """A matrix of numbers or of codes; see the stub."""

    cdef Matrix matrix
    cdef object kept

    def __init__(self, numbers=None, codes=None, centroids=None, int part=0, norm_codes=None, norms=None):
        cdef const float[:, :] given
        cdef const uint8_t[:, ::1] parts
        cdef const float[::1] points
        cdef const uint8_t[::1] sizes
        self.kept = (numbers, codes, centroids, norm_codes, norms)
        if codes is None:
            given = numbers
            self.matrix.n, self.matrix.dim = given.shape[0], given.shape[1]
            self.matrix.stride = given.strides[0] // 4
            if given.shape[1] > 1 and given.strides[1] != 4:
                raise ValueError("the numbers of a row must be contiguous")
            # NULL would mean codes; an empty matrix has no row that could be read there
            self.matrix.numbers = &given[0, 0] if given.shape[0] and given.shape[1] else <const float *> 1
            return
        parts, points = codes, centroids
        self.matrix.n, self.matrix.n_parts, self.matrix.part = parts.shape[0], parts.shape[1], part
        self.matrix.dim = points.shape[0] // 256
        if part < 1 or points.shape[0] % 256 or -(-self.matrix.dim // part) != parts.shape[1]:
            raise ValueError("the arrays do not fit each other")
        self.matrix.codes = &parts[0, 0] if parts.shape[0] and parts.shape[1] else NULL
        self.matrix.centroids = &points[0] if points.shape[0] else NULL
        if norm_codes is not None:
            sizes, points = norm_codes, norms
            if sizes.shape[0] != parts.shape[0] or points.shape[0] != 256:
                raise ValueError("the arrays do not fit each other")
            self.matrix.norm_codes = &sizes[0] if sizes.shape[0] else NULL
            self.matrix.norms = &points[0]


cdef class LineModel:
    """The labels or the vector of one line or word, in one call; see the stub. All calls use the memory of the object,
    so they must not overlap: they hold the GIL throughout."""

    cdef LineReader reader
    cdef Bag bag
    cdef Room room
    cdef Prediction task
    cdef Mean mean
    cdef PredictBag predict_bag
    cdef int64_t dim
    cdef object kept

    def __init__(
        self,
        TokenTypes entries not None,
        RowMatrix inputs not None,
        RowMatrix outputs,
        bytes label not None,
        *,
        int n_words,
        int n_labels,
        int loss,
        const int32_t[:, ::1] tree,
        int min_n,
        int max_n,
        int word_ngrams,
        int64_t buckets,
        const int32_t[::1] places,
        bint skip_unknown,
        str isa not None,
    ):
        cdef int n_outputs = n_labels - 1 if loss == 1 else n_labels
        cdef bint fits = entries.lexicon.closed and (places is None or places.shape[0] >= buckets) and min_n > 0
        if outputs is not None:
            fits = fits and outputs.matrix.dim == inputs.matrix.dim and outputs.matrix.n >= n_outputs
            fits = fits and (loss != 1 or (tree is not None and tree.shape[0] == 2 and tree.shape[1] == 2 * n_labels - 1))
        if not fits or self.kept is not None:
            raise ValueError("the arrays do not fit each other")
        self.kept = (entries, inputs, outputs, label, tree, places)
        self.reader.rules.n_words, self.reader.rules.word_ngrams = n_words, word_ngrams
        self.reader.rules.buckets, self.reader.rules.skip_unknown = buckets, skip_unknown
        self.reader.rules.places = &places[0] if places is not None and places.shape[0] else NULL
        self.reader.entries = &entries.lexicon
        self.reader.min_n, self.reader.max_n = min_n, max_n if buckets > 0 else 0
        self.reader.label, self.reader.label_bytes = PyBytes_AsString(label), PyBytes_Size(label)
        self.dim, self.mean = inputs.matrix.dim, mean_loop(isa_of(isa))
        self.predict_bag = predict_bag_loop(isa_of(isa))
        self.task.inputs, self.task.n_labels, self.task.loss = &inputs.matrix, n_labels, loss
        if outputs is None:
            self.task.n_labels = 0
        else:
            self.task.outputs = &outputs.matrix
            if loss == 1:
                self.task.left, self.task.right = &tree[0, 0], &tree[1, 0]
        self.room.numbers = <float *> malloc((self.dim + n_labels + 1) * sizeof(float))
        self.room.branches = <Branch *> malloc((<size_t> n_labels + 2) * sizeof(Branch))
        self.task.scores = <float *> malloc((<size_t> n_labels + 1) * sizeof(float))
        self.task.found = <int32_t *> malloc((<size_t> n_labels + 1) * sizeof(int32_t))
        if not (self.room.numbers and self.room.branches and self.task.scores and self.task.found):
            raise MemoryError("no memory for the labels of a line")

    def __dealloc__(self):
        bag_free(&self.bag)
        free(self.reader.marked)
        free(self.room.numbers)
        free(self.room.branches)
        free(self.task.scores)
        free(self.task.found)

    cdef const char *line(self, object text, Py_ssize_t *n) except NULL:
        """Return the bytes of a text of one line."""
        if not isinstance(text, str):
            raise TypeError(f"a line of text is a str; this is a {type(text).__name__}: {text!r:.100}")
        cdef const char *found = PyUnicode_AsUTF8AndSize(text, n)
        if memchr(found, b"\n", n[0]) != NULL:
            raise ValueError("predict and get_sentence_vector process one line at a time (remove '\\n')")
        return found

    cdef int check(self) except -1:
        if self.bag.failed:
            self.bag.failed = 0
            raise MemoryError("no memory for the rows of a line")
        return 0

    def predict(self, text, int k, float threshold):
        """Return the numbers of the best labels of a line, and their probabilities, float64; see the stub."""
        cdef Py_ssize_t n
        cdef const char *line = self.line(text, &n)
        if not self.task.n_labels:
            raise ValueError("Model needs to be supervised for prediction!")
        if k < 1 and k != -1:
            raise ValueError(f"k is {k}: it needs to be 1 or higher, or -1 for all labels")
        self.task.k = self.task.n_labels if k == -1 else min(k, self.task.n_labels)
        self.task.threshold = threshold
        gather_text(&self.reader, line, n, &self.bag)
        self.check()
        cdef int i, found = max(0, self.predict_bag(&self.task, &self.bag, 0, &self.room))
        return [self.task.found[i] for i in range(found)], np.array([self.task.scores[i] for i in range(found)])

    cdef int mean_of_word(self, const char *word, int64_t n, float *mean) except -1:
        self.bag.n = 0
        push_word(&self.reader, word, n, number_of(&self.reader, word, n), &self.bag)
        self.check()
        self.mean(self.task.inputs, &self.bag, mean)
        return 0

    def word_vector(self, text):
        """Return the vector of a word, known or not, shape (dim,), float32: the mean of its rows."""
        cdef Py_ssize_t n
        if not isinstance(text, str):
            raise TypeError(f"a word is a str; this is a {type(text).__name__}: {text!r:.100}")
        cdef const char *word = PyUnicode_AsUTF8AndSize(text, &n)
        vector = np.empty(self.dim, np.float32)
        cdef float[::1] to = vector
        self.mean_of_word(word, n, &to[0])
        return vector

    def word_vectors(self, list words not None):
        """Return the vectors of words, shape (n_words, dim), float32."""
        vectors = np.empty((len(words), self.dim), np.float32)
        cdef float[:, ::1] to = vectors
        cdef Py_ssize_t i
        for i in range(len(words)):
            self.mean_of_word(PyBytes_AsString(words[i]), PyBytes_Size(words[i]), &to[i, 0])
        return vectors

    def line_vector(self, text):
        """Return the mean of the rows of a line, shape (dim,), float32."""
        cdef Py_ssize_t n
        cdef const char *line = self.line(text, &n)
        vector = np.empty(self.dim, np.float32)
        cdef float[::1] to = vector
        gather_text(&self.reader, line, n, &self.bag)
        self.check()
        self.mean(self.task.inputs, &self.bag, &to[0])
        return vector

    def mean_of_units(self, text):
        """Return the mean of a line's word vectors, each scaled to length 1, shape (dim,), float32; see the stub."""
        cdef Py_ssize_t n
        cdef const char *line = self.line(text, &n)
        cdef const char *token
        cdef int64_t at = 0, length, k, n_units = 0
        cdef float squares, scale
        vector = np.zeros(self.dim, np.float32)
        cdef float[::1] to = vector
        while True:
            length = next_token(line, n, &at, &token)
            if is_line_end(token, length):
                break
            self.mean_of_word(token, length, self.room.numbers)
            squares = 0
            for k in range(self.dim):
                squares += self.room.numbers[k] * self.room.numbers[k]
            if squares > 0:
                scale = 1 / sqrtf(squares)
                for k in range(self.dim):
                    to[k] += scale * self.room.numbers[k]
                n_units += 1
        if n_units:
            vector /= np.float32(n_units)
        return vector


def predict(
    TextLines lines not None,
    RowMatrix inputs not None,
    RowMatrix outputs not None,
    int n_labels,
    int loss,
    int k,
    float threshold,
    const int32_t[:, ::1] tree,
    str isa not None,
):
    """Return the k best labels of each line, their probabilities, and how many there are; see the stub."""
    cdef int64_t n = len(lines)
    cdef int n_outputs = n_labels - 1 if loss == 1 else n_labels
    if inputs.matrix.dim != outputs.matrix.dim or not 0 <= k <= n_labels or outputs.matrix.n < n_outputs:
        raise ValueError("the arrays do not fit each other")
    scores, found, n_found = np.zeros((n, k), np.float32), np.zeros((n, k), np.int32), np.zeros(n, np.int32)
    cdef float[:, ::1] all_scores = scores
    cdef int32_t[:, ::1] all_found = found
    cdef int32_t[::1] all_n = n_found
    cdef Prediction task
    cdef Predict loop = predict_loop(isa_of(isa))
    cdef int state
    if not scores.size:
        return found, scores, n_found
    if loss == 1:
        if tree is None or tree.shape[0] != 2 or tree.shape[1] != 2 * n_labels - 1:
            raise ValueError("the tree does not fit the labels")
        task.left, task.right = &tree[0, 0], &tree[1, 0]
    task.lines, task.inputs, task.outputs = &lines.lines, &inputs.matrix, &outputs.matrix
    task.n_labels, task.loss, task.k, task.threshold = n_labels, loss, k, threshold
    task.scores, task.found, task.n_found = &all_scores[0, 0], &all_found[0, 0], &all_n[0]
    with nogil:
        state = loop(&task)
    if state:
        raise MemoryError("no memory for the longest line")
    return found, scores, n_found


def learn(
    TextLines lines not None,
    int64_t first,
    int64_t last,
    float[:, ::1] inputs not None,
    float[:, ::1] outputs not None,
    float[:, :, ::1] own_outputs,
    int64_t copied_every,
    int n_labels,
    int loss,
    int negative,
    const int64_t[::1] path_ends not None,
    const int32_t[::1] path_nodes not None,
    const float[::1] path_labels not None,
    const int32_t[::1] pool not None,
    float alpha,
    double tokens_before,
    double tokens_in_all,
    uint64_t seed,
    float[::1] scratch not None,
    str isa not None,
):
    """Learn from consecutive lines; return the sum of their losses and how many were examples; see the stub."""
    cdef Lesson t
    cdef int state
    cdef Learn loop = learn_loop(isa_of(isa))
    t.n_met = (scratch.shape[0] - 2 * inputs.shape[1]) // 64 * 16
    cdef int64_t i
    cdef int64_t most = n_labels if loss >= 3 else negative + 1 if loss == 2 else 0
    if loss == 1 and path_ends.shape[0] == n_labels + 1:
        for i in range(n_labels):
            most = max(most, path_ends[i + 1] - path_ends[i])
    if (
        not 0 <= first <= last <= len(lines)
        or inputs.shape[1] != outputs.shape[1]
        or inputs.shape[1] % 16
        or lines.most_rows > inputs.shape[0]
        or outputs.shape[0] < n_labels
        or most + 16 > t.n_met
        or (loss == 1 and (path_ends.shape[0] != n_labels + 1 or path_ends[n_labels] > path_nodes.shape[0]))
        or (loss == 2 and not pool.shape[0])
        or (own_outputs is not None and (
            own_outputs.shape[0] != 2 or own_outputs.shape[1] != n_labels
            or own_outputs.shape[2] != outputs.shape[1] or copied_every < 1))
    ):
        raise ValueError("the arrays do not fit each other")
    if not inputs.shape[0] or not n_labels or first == last:
        return 0.0, 0
    t.lines, t.first, t.last = &lines.lines, first, last
    t.inputs, t.outputs, t.width = &inputs[0, 0], &outputs[0, 0], inputs.shape[1]
    t.n_labels, t.loss, t.negative = n_labels, loss, negative
    t.own_outputs = t.seen_outputs = NULL
    if own_outputs is not None:
        t.own_outputs, t.seen_outputs = &own_outputs[0, 0, 0], &own_outputs[1, 0, 0]
    t.copied_every = copied_every
    t.path_ends = &path_ends[0] if path_ends.shape[0] else NULL
    t.path_nodes = &path_nodes[0] if path_nodes.shape[0] else NULL
    t.path_labels = &path_labels[0] if path_labels.shape[0] else NULL
    t.pool, t.n_pool = &pool[0] if pool.shape[0] else NULL, pool.shape[0]
    t.alpha, t.tokens_before, t.tokens_in_all, t.seed = alpha, tokens_before, tokens_in_all, seed
    t.scratch = &scratch[0]
    cdef size_t places = <size_t> t.inputs | <size_t> t.outputs | <size_t> t.scratch
    if (places | <size_t> t.own_outputs | <size_t> t.seen_outputs) % 64:
        raise ValueError("rows must be aligned to 64 bytes: make them with kernels.aligned_zeros")
    with nogil:
        state = loop(&t)
    if state:
        raise MemoryError("no memory for the longest line")
    return t.loss_sum, t.n_examples
