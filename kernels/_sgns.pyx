# cython: language_level=3, boundscheck=False, wraparound=False
"""The door to the compiled training loop (``sgns_loop.h``); its twin is ``sgns_numba.py``."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef extern from "sgns.h" nogil:
    ctypedef struct Hyper:
        int32_t model
        int32_t width
        int32_t out_width
        int32_t bands
        int32_t window
        int32_t shrink_windows
        int32_t drawn
        int32_t shared_by
        float alpha_begin
        float alpha_end
        int32_t word2vec_update
        int32_t word_stride
        int32_t word_slots
        int32_t use_slots
        float attention_rate
        float attention_clip
        int32_t n_private
        int32_t merge_every
        int32_t skip_dots
    ctypedef struct Rows:
        float *shared
        float *own
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
        Rows inputs
        Rows outputs
        Rows word_logits
        Rows slot_logits
        uint64_t *rng
        double *stats
        int32_t *lock
    ctypedef int (*TrainChunk)(const Task *task)
    TrainChunk sgns_kernel(const char *isa)
    enum:
        MODEL_SSG
        MODEL_CWINDOW
        MODEL_CBOW_ATTN
    int STATS "N_STATS"


N_STATS = STATS
cdef enum:
    LARGEST = 1 << 16  # window and shared_by: far above what anybody wants, far below what overflows


def isas() -> tuple:
    """Return the names of the instruction sets that this processor runs, best first."""
    return tuple(name for name in ("avx512", "avx2", "baseline") if sgns_kernel(name.encode()) != NULL)


cdef Rows rows_of(float[:, ::1] shared, float[:, :, ::1] private, int64_t n_private) except *:
    cdef Rows rows
    if (
        private.shape[0] != 2
        or private.shape[1] != min(n_private, shared.shape[0])
        or private.shape[2] != shared.shape[1]
    ):
        raise ValueError("private rows must have the shape (2, n_private, stride) of their shared array")
    rows.stride = shared.shape[1]
    rows.shared = &shared[0, 0] if shared.size else NULL
    rows.own = &private[0, 0, 0] if private.size else NULL
    rows.base = &private[1, 0, 0] if private.size else NULL
    # rows of another stride are read number by number: one attention logit per word
    if rows.stride % 16 == 0 and (
        <size_t> rows.shared % 64 or <size_t> rows.own % 64 or <size_t> rows.base % 64
    ):
        raise ValueError("parameter rows must be aligned to 64 bytes: make them with kernels.aligned_zeros")
    return rows


def train_chunk(
    const Hyper[::1] hyper not None,
    const int32_t[::1] tokens not None,
    const uint32_t[::1] keep not None,
    const int32_t[:, ::1] pool not None,
    tuple shared not None,
    tuple private not None,
    int32_t[::1] lock not None,
    uint64_t[::1] rng not None,
    double[::1] stats not None,
    str isa not None,
) -> None:
    """Train on one chunk of encoded text; see ``sgns_numba.train_chunk`` for the arguments.

    ``isa`` names the instruction set, one of ``isas()``. The GIL is released. All shapes and all
    tokens are checked; that the pool holds word ids only is taken on trust.
    """
    if isa not in isas():
        raise ValueError(f"this processor cannot run the instruction set {isa!r}; it runs {', '.join(isas())}")
    if hyper.size != 1 or len(shared) != 4 or len(private) != 4:
        raise ValueError("expected one record of hyper-parameters, four parameter arrays and their private rows")
    cdef TrainChunk kernel = sgns_kernel(isa.encode())
    cdef const Hyper *p = &hyper[0]
    cdef Task task
    task.inputs = rows_of(shared[0], private[0], p.n_private)
    task.outputs = rows_of(shared[1], private[1], p.n_private)
    task.word_logits = rows_of(shared[2], private[2], p.n_private)
    task.slot_logits = rows_of(shared[3], private[3], p.n_private)
    cdef int64_t n_words = len(shared[0]), slots = 2 * <int64_t> p.window
    if (
        not 0 <= p.model <= MODEL_CBOW_ATTN
        or not 1 <= p.window <= LARGEST
        or not 1 <= p.shared_by <= LARGEST
        or (p.shared_by > 1 and p.model in (MODEL_SSG, MODEL_CWINDOW))
        or not 0 <= p.n_private <= n_words
        or p.width < 16
        or p.width % 16
        or p.out_width != (slots if p.model == MODEL_CWINDOW else 1) * <int64_t> p.width
        or p.bands != (slots if p.model == MODEL_SSG else 1)
        or task.inputs.stride != p.width
        or task.outputs.stride != <int64_t> p.bands * p.out_width
        or len(shared[1]) != n_words
        or (p.word_stride and (len(shared[2]) != n_words or task.word_logits.stride != p.word_stride))
        or (p.word_stride and p.word_slots and p.word_stride < slots)
        or (p.use_slots and (len(shared[3]) != 1 or task.slot_logits.stride < slots))
        or (keep.size and keep.size != n_words)
        or pool.shape[1] != p.drawn
        or pool.shape[0] == 0
        or rng.size != 2
        or rng[1] >= <uint64_t> pool.shape[0]
        or stats.size != STATS
        or lock.size == 0
    ):
        raise ValueError("the arrays do not fit the hyper-parameters")
    if tokens.size == 0:
        return
    task.hyper = p
    task.tokens = &tokens[0]
    task.n_tokens = tokens.size
    task.n_words = n_words
    task.keep = &keep[0] if keep.size else NULL
    task.pool = &pool[0, 0] if pool.size else NULL
    task.n_tuples = pool.shape[0]
    task.rng = &rng[0]
    task.stats = &stats[0]
    task.lock = &lock[0]
    cdef int status
    with nogil:
        status = kernel(&task)
    if status == -1:
        raise MemoryError("no memory for the scratch space of a training thread")
    if status == -2:
        raise ValueError("the encoded corpus holds a word id outside the vocabulary: the cache is damaged")
