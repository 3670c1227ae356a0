# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls the compiled training loop (``sgns_loop.h``); the reference implementation is ``sgns_reference.py``."""

from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef extern from "sgns.h" nogil:
    ctypedef struct Hyper:  # only the fields that are checked here; sgns.h has them all
        int32_t composition
        int32_t width
        int32_t out_width
        int32_t bands
        int32_t window
        int32_t most_tags
        int32_t drawn
        int32_t longest_path
        int32_t shared_by
        int32_t word_stride
        int32_t word_slots
        int32_t use_slots
        int32_t n_private
    ctypedef struct HyperField:
        const char *name
        const char *type
        size_t offset
    HyperField hyper_field(int k)
    int N_HYPER_FIELDS
    ctypedef struct Rows:
        float *shared
        float *private
        float *base
        int64_t stride
    ctypedef struct Task:
        const Hyper *hyper
        const int32_t *tokens
        int64_t n_tokens
        int64_t n_words
        const uint32_t *keep
        const int32_t *pool
        int64_t n_tuples
        const int64_t *path_ends
        const int32_t *path_nodes
        const float *path_labels
        Rows inputs
        Rows outputs
        Rows nodes
        Rows word_logits
        Rows slot_logits
        float *documents
        float *document_logits
        const int64_t *tags
        uint64_t *rng
        double *stats
        int32_t *lock
    ctypedef int (*TrainChunk)(const Task *task)
    enum Isa:
        N_ISAS
    const char *isa_name(Isa isa)
    TrainChunk sgns_kernel(Isa isa)
    enum:
        N_STATS
        TRAINED
        NO_SCRATCH_MEMORY
        NO_SUCH_WORD
        NO_SUCH_COMPOSITION
    const char *stat_name(int k)

cdef extern from *:
    const char *COMPILER "__VERSION__"


STATS = tuple(stat_name(k).decode().lower() for k in range(N_STATS))
cdef int SIDE_BY_SIDE = ord("s")
cdef enum:
    LARGEST = 1 << 16  # window and shared_by: far above what anybody wants, far below what overflows


def compiler() -> str:
    """Return the version of the compiler that built the training loop."""
    return COMPILER.decode()


def isas() -> tuple:
    """Return the names of the instruction sets that this processor runs, best first."""
    return tuple(isa_name(<Isa> k).decode() for k in range(N_ISAS) if sgns_kernel(<Isa> k) != NULL)


cdef TrainChunk kernel_named(str isa) except *:
    """Return the loop for an instruction set that this processor runs."""
    for k in range(N_ISAS):
        if isa_name(<Isa> k).decode() == isa and sgns_kernel(<Isa> k) != NULL:
            return sgns_kernel(<Isa> k)
    raise ValueError(f"this processor cannot run the instruction set {isa!r}; it runs {', '.join(isas())}")


def hyper_fields() -> tuple:
    """Return (name, type, offset in bytes) of each hyper-parameter; type "i" is int32, "f" float32."""
    return tuple(
        (hyper_field(k).name.decode(), hyper_field(k).type.decode(), hyper_field(k).offset)
        for k in range(N_HYPER_FIELDS)
    )


HYPER_FORMAT = "T{%s}" % "".join(f"{kind}:{name}:" for name, kind, _ in hyper_fields())


cdef Hyper hyper_of(hyper) except *:
    """Return a copy of the one record in an array of HYPER_DTYPE."""
    cdef Py_buffer buffer
    cdef Hyper record
    PyObject_GetBuffer(hyper, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    try:
        if buffer.len != sizeof(Hyper) or buffer.format.decode() != HYPER_FORMAT:
            raise ValueError("expected one record of hyper-parameters, an array of kernels.HYPER_DTYPE")
        record = (<const Hyper *> buffer.buf)[0]
    finally:
        PyBuffer_Release(&buffer)
    return record


cdef Rows rows_of(float[:, ::1] shared, float[:, :, ::1] private, int64_t n_private) except *:
    cdef Rows rows
    rows.stride = shared.shape[1]
    rows.shared = &shared[0, 0] if shared.size else NULL
    rows.private = rows.base = NULL
    if private is None:
        if n_private:
            raise ValueError("n_private is not 0: give the private rows and their lock")
        return aligned(rows)
    if (
        private.shape[0] != 2
        or private.shape[1] != min(n_private, shared.shape[0])
        or private.shape[2] != shared.shape[1]
    ):
        raise ValueError("private rows must have the shape (2, n_private, stride) of their shared array")
    rows.private = &private[0, 0, 0] if private.size else NULL
    rows.base = &private[1, 0, 0] if private.size else NULL
    return aligned(rows)


cdef Rows aligned(Rows rows) except *:
    """Return the rows if they are aligned to 64 bytes."""
    # rows of another stride (one attention logit per word) are read number by number and need no alignment
    if rows.stride % 16 == 0 and (
        <size_t> rows.shared % 64 or <size_t> rows.private % 64 or <size_t> rows.base % 64
    ):
        raise ValueError("parameter rows must be aligned to 64 bytes: make them with kernels.aligned_zeros")
    return rows


cdef int take_paths(Task *task, paths, int64_t n_words) except -1:
    """Set the paths of a task, arrays as in ``huffman.Paths``."""
    cdef const int64_t[::1] ends
    cdef const int32_t[::1] nodes
    cdef const float[::1] labels
    ends, nodes, labels = paths
    if ends.shape[0] != n_words + 1 or nodes.shape[0] != ends[n_words] or labels.shape[0] != ends[n_words]:
        raise ValueError("the paths of the Huffman tree do not fit the vocabulary")
    task.path_ends = &ends[0]
    task.path_nodes = &nodes[0] if nodes.shape[0] else NULL
    task.path_labels = &labels[0] if labels.shape[0] else NULL
    return 0


cdef int take_documents(Task *task, const int32_t[::1] tokens, documents) except -1:
    """Set the documents of a task: rows, logits, and the row of each line end of the tokens."""
    cdef float[:, ::1] rows
    cdef float[::1] logits
    cdef const int64_t[::1] tags
    cdef int64_t i, n_tags = 0, line_ends = 0, most = 0
    rows, logits, tags = documents
    for i in range(tokens.shape[0]):
        if tokens[i] < 0:
            n_tags = n_tags + 1 if tokens[i] == -2 else 1
            most = max(most, n_tags)
            line_ends += 1
    for i in range(tags.shape[0]):
        if not -1 <= tags[i] < rows.shape[0]:
            raise ValueError("a line has a document that there is not")
    if (
        line_ends != tags.shape[0]
        or most > task.hyper.most_tags
        or rows.shape[1] != task.hyper.width
        or logits.shape[0] != rows.shape[0]
        or (rows.size and <size_t> &rows[0, 0] % 64)
    ):
        raise ValueError("the documents do not fit the tokens and the hyper-parameters")
    task.documents = &rows[0, 0] if rows.size else NULL
    task.document_logits = &logits[0] if logits.size else NULL
    task.tags = &tags[0] if tags.size else NULL
    return 0


cdef int64_t places_of_x(const Hyper *p, int64_t tags) noexcept:
    """Return how many rows x concatenates, with this number of tags if those are concatenated too."""
    return 2 * <int64_t> p.window + tags if p.composition == SIDE_BY_SIDE else 1


def train_chunk(
    hyper,
    const int32_t[::1] tokens not None,
    const uint32_t[::1] keep not None,
    const int32_t[:, ::1] pool not None,
    tuple shared not None,
    uint64_t[::1] rng not None,
    double[::1] stats not None,
    paths=None,
    tuple private=None,
    int32_t[::1] lock=None,
    documents=None,
    *,
    str isa not None,
) -> None:
    """Train on one chunk of encoded text; see ``sgns_reference.train_chunk`` for the arguments.

    ``isa`` names the instruction set, one of ``isas()``. The GIL is released. All shapes and all
    tokens are checked. Not checked: that the pool holds only word ids, and the paths only nodes.
    """
    cdef TrainChunk kernel = kernel_named(isa)
    cdef Hyper record = hyper_of(hyper)
    cdef const Hyper *p = &record
    cdef Task task
    cdef int n_arrays = 5 if p.longest_path else 4
    if private is None:
        private = (None,) * n_arrays
    if (documents is None) != (p.most_tags == 0) or p.most_tags < 0:
        raise ValueError("most_tags is 0 without documents, and only then")
    if len(shared) != n_arrays or len(private) != n_arrays:
        raise ValueError(f"expected {n_arrays} parameter arrays and their private rows")
    task.inputs = rows_of(shared[0], private[0], p.n_private)
    task.outputs = rows_of(shared[1], private[1], p.n_private)
    task.word_logits = rows_of(shared[2], private[2], p.n_private)
    task.slot_logits = rows_of(shared[3], private[3], p.n_private)
    cdef int64_t n_words = len(shared[0]), slots = 2 * <int64_t> p.window
    if not p.drawn:
        task.outputs.stride = 0  # never used, whatever its shape
    if p.longest_path:
        task.nodes = rows_of(shared[4], private[4], p.n_private)
        take_paths(&task, paths, n_words)
    if (
        not 1 <= p.window <= LARGEST
        or not 1 <= p.shared_by <= LARGEST
        or (p.shared_by > 1 and (p.bands > 1 or p.out_width > p.width))
        or not 0 <= p.n_private <= n_words
        or p.width < 16
        or p.width % 16
        or p.out_width % p.width
        or not places_of_x(p, 0) <= p.out_width // p.width <= places_of_x(p, LARGEST * (p.most_tags > 0))
        or p.bands != (slots if p.bands > 1 else 1)
        or task.inputs.stride != p.width
        or p.drawn < 0
        or (p.drawn and (len(shared[1]) != n_words or task.outputs.stride != <int64_t> p.bands * p.out_width))
        or not 0 <= p.longest_path <= LARGEST
        or not (p.drawn or p.longest_path)
        or (p.longest_path and (p.bands > 1 or len(shared[4]) != n_words or task.nodes.stride != p.out_width))
        or (p.word_stride and (len(shared[2]) != n_words or task.word_logits.stride != p.word_stride))
        or (p.word_stride and p.word_stride < (slots if p.word_slots else 1))
        or (p.use_slots and (len(shared[3]) != 1 or task.slot_logits.stride < slots + (p.most_tags > 0)))
        or (keep.size and keep.size != n_words)
        or pool.shape[1] != p.drawn
        or pool.shape[0] == 0
        or rng.size != 2
        or rng[1] >= <uint64_t> pool.shape[0]
        or stats.size != N_STATS
        or (lock is None and p.n_private)
        or (lock is not None and lock.size == 0)
    ):
        raise ValueError("the arrays do not fit the hyper-parameters")
    if tokens.size == 0:
        return
    task.hyper = p
    task.tokens = &tokens[0]
    task.n_tokens = tokens.size
    if documents is not None:
        take_documents(&task, tokens, documents)
    task.n_words = n_words
    task.keep = &keep[0] if keep.size else NULL
    # without negatives nothing is read from the pool, but the loop computes addresses in it: C forbids NULL there
    task.pool = &pool[0, 0] if pool.size else &tokens[0]
    task.n_tuples = pool.shape[0]
    task.rng = &rng[0]
    task.stats = &stats[0]
    task.lock = &lock[0] if lock is not None else NULL
    cdef int status
    with nogil:
        status = kernel(&task)
    if status == NO_SCRATCH_MEMORY:
        raise MemoryError("no memory for the scratch space of a training thread")
    if status == NO_SUCH_WORD:
        raise ValueError("the encoded corpus holds a word id outside the vocabulary: the cache is damaged")
    if status == NO_SUCH_COMPOSITION:
        raise ValueError("the training loop does not know this composition of a hidden vector")
