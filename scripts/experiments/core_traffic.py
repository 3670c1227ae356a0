"""Simulates how long the cores of a machine wait for each other's cache lines, calibrated on two cores.

    python scripts/experiments/core_traffic.py --corpus WIKI.txt.xz [--lines N]

For the real sequence of rows of a text, the simulation keeps track of the core that wrote each row last.
Every prediction writes its rows of W and O. If another core wrote a row last, its lines come from that core's
cache (they change owner), unless they left that cache long ago. There are three designs: plain Hogwild (all
threads share all rows), private rows (each thread has its own copy of the most frequent rows and merges it
under a lock), and replicas of 8 threads with private rows inside. On this machine the script measures the
cost of a line (two threads write it in turn), and that of a token with one thread and with two Hogwild
threads. The page has the predictions for 2 to 64 cores on chiplets of 8, and what would refute them.
"""

from __future__ import annotations

import bisect
import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import lines_of, parser, table, write_section

from wordvec_ca.corpus import EncodedCorpus, encode_corpus
from wordvec_ca.models import EmbeddingModel, TrainConfig, memory_bytes
from wordvec_ca.training.merge_plan import MERGED_BYTES, MERGES
from wordvec_ca.training.private_rows import private_rows
from wordvec_ca.training.replica import Replica, Worker

PIECE = 2_000
"""Number of tokens that are timed together."""

CORES = (2, 4, 8, 16, 32, 64)
CHIPLET = 8
"""Number of cores that share a last-level cache, as on current AMD servers."""

FAR = 220 / 50
"""Cost of a line from another chiplet divided by that of one from the same chiplet (220 and 50 ns)."""

CACHED_ROWS = 2_048
"""Number of rows of 100 dimensions in the second-level cache of a core (1 MB). A row that was written longer
ago has left the cache, so a single thread would pay the same cost for it.
"""


@dataclass(frozen=True)
class Costs:
    """Costs measured on this machine, in nanoseconds: that of a token in one thread, and the wait for a line.

    The wait is shorter than the time that a line from another core takes, since several lines of a row are on
    their way at once.
    """

    token: float
    waited: float


@njit(cache=False)  # type: ignore[untyped-decorator]
def simulate(
    tokens: Any, keep: Any, pool: Any, cores: int, group: int, private: int, merge_every: int, shared_by: int,
    window: int, pairwise: bool, lines: int, steps: int, chiplet: int, cached: int, n_words: int, rng: Any,
) -> Any:  # fmt: skip
    """Return per token: lines from the same chiplet, lines from another, and lines written under the lock.

    Cores take turns, with ``shared_by`` predictions in each turn; each core reads its own part of the text.
    """
    n_groups = (cores + group - 1) // group
    owner = np.full((n_groups, 2, n_words), -1, np.int32)
    when = np.zeros((n_groups, 2, n_words), np.int64)
    clock = np.zeros(cores, np.int64)
    at = np.zeros((cores, shared_by), np.int64)
    cursor = np.zeros(cores, np.int64)
    since = np.zeros(cores, np.int64)
    for core in range(cores):
        cursor[core] = core * len(pool) // cores
        for r in range(shared_by):
            at[core, r] = (core * shared_by + r) * len(tokens) // (cores * shared_by)
    near = far = locked = read = 0
    warm = steps // 4
    for step in range(steps):
        if step == warm:
            near = far = locked = read = 0
        for core in range(cores):
            g = core // group
            # a target and its context for each prediction, then a tuple of negatives for all; if each context
            # word is a prediction, a tuple for each of them
            for r in range(shared_by + (window + 1 if pairwise else 1)):
                if r < shared_by:
                    while True:
                        at[core, r] += 1
                        if at[core, r] >= len(tokens) - window:
                            at[core, r] = window
                        word = tokens[at[core, r]]
                        read += word >= 0
                        since[core] += 1
                        if word >= 0 and rng.random() <= keep[word]:
                            break
                    place = at[core, r]
                    reach = rng.integers(1, window + 1)
                    n_rows = 2 * reach + 1
                else:
                    cursor[core] = (cursor[core] + 1) % len(pool)
                    n_rows = pool.shape[1]
                for k in range(n_rows):
                    which = 1
                    if r >= shared_by:
                        row = pool[cursor[core], k]
                    elif k == 0:
                        row = word
                    else:
                        offset = k - reach - 1
                        other = place + (offset if offset < 0 else offset + 1)
                        if other < 0 or other >= len(tokens):
                            continue
                        row = tokens[other]
                        which = 0
                        if row < 0 or rng.random() > keep[row]:
                            continue
                    clock[core] += 1
                    if row < private:
                        continue
                    last = owner[g, which, row]
                    if last >= 0 and last != core and clock[last] - when[g, which, row] < cached:
                        if last // chiplet == core // chiplet:
                            near += lines
                        else:
                            far += lines
                    owner[g, which, row] = core
                    when[g, which, row] = clock[core]
            if private > 0 and since[core] >= merge_every:
                since[core] = 0
                for which in range(2):
                    for row in range(private):
                        last = owner[g, which, row]
                        if last >= 0 and last != core:
                            if last // chiplet == core // chiplet:
                                near += lines
                            else:
                                far += lines
                        owner[g, which, row] = core
                        locked += lines
    return np.array([near, far, locked]) / max(1, read)


class Workload:
    """A text and a model on it.

    Parameters
    ----------
    encoded : EncodedCorpus
    model : str
    """

    def __init__(self, encoded: EncodedCorpus, model: str) -> None:
        self.tokens = np.asarray(encoded.tokens)
        self.model = EmbeddingModel(TrainConfig(model=model, workers=2, vector_size=100), encoded.vocab)
        self.model.initialise()
        self.replica = Replica(self.model, 10**9, threads=2)  # rates and sharing of a long text
        self.lines = self.model.inputs.shape[1] // 16
        keep = self.replica.keep
        self.keep = keep / 2.0**32 if len(keep) else np.ones(len(encoded.vocab))

    def private(self, threads: int) -> tuple[int, int]:
        """Return the number of private rows with this number of threads, and the tokens between merges."""
        config = self.model.config
        return private_rows(
            self.model.vocab.counts,
            self.replica.keep,
            threads,
            predictions=config.contexts() if config.spec.pairwise else 1,
            contexts=config.contexts(),
        )

    def simulate(self, cores: int, group: int, *, private: bool) -> tuple[np.ndarray, int]:
        """Return the lines per token, and the tokens between merges of private rows."""
        config, hyper = self.model.config, self.replica.hyper
        rows, every = self.private(min(group, cores)) if private else (0, 0)
        shared_by = int(hyper["shared_by"][0])
        steps = max(200, 400_000 // (cores * shared_by))
        assert config.window is not None
        found = simulate(
            self.tokens, self.keep, self.replica.negatives.at(0), cores, min(group, cores), rows, every,
            shared_by, config.window, config.spec.pairwise, self.lines, steps, CHIPLET, CACHED_ROWS,
            len(self.model.vocab), np.random.default_rng(1),
        )  # fmt: skip
        return found, every

    def measured(self, threads: int, seconds: float, *, private: bool = False) -> float:
        """Return the nanoseconds per token of an undisturbed thread.

        All threads train pieces of about half a millisecond. The result is the median over the pieces during
        which the thread ran all the time while the other thread was at work, too.
        """
        rows, every = self.private(threads) if private else (0, 0)
        self.replica.hyper["n_private"], self.replica.hyper["merge_every"] = rows, every or 2**31 - 1
        workers = [Worker(self.replica) for _ in range(threads)]
        cpus = sorted(os.sched_getaffinity(0))
        pieces: list[list[tuple[float, float, float]]] = [[] for _ in range(threads)]
        until = time.perf_counter() + seconds

        def work(which: int) -> None:
            os.sched_setaffinity(0, {cpus[which % len(cpus)]})
            places = np.random.default_rng(which)
            while time.perf_counter() < until:
                start = int(places.integers(0, len(self.tokens) - PIECE))
                tokens = self.tokens[start : start + PIECE]
                begin, cpu = time.perf_counter(), time.thread_time()
                self.replica.train_chunk(workers[which], tokens, start, [start])
                end = time.perf_counter()
                pieces[which].append((begin, end, time.thread_time() - cpu))

        crew = [threading.Thread(target=work, args=(which,)) for which in range(threads)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        steady = [[piece for piece in own if piece[1] - piece[0] < 1.1 * piece[2]] for own in pieces]
        found = [piece for piece in steady[0] if all(_covered(piece, other) for other in steady[1:])]
        print(f"{threads} threads: {len(found)} undisturbed pieces", file=sys.stderr)
        if len(found) < 20:
            raise SystemExit(
                "the machine is too busy: no twenty pieces that all threads trained side by side"
            )
        return float(np.median([1e9 * cpu / PIECE for _, _, cpu in found]))


def _covered(piece: tuple[float, float, float], others: list[tuple[float, float, float]]) -> bool:
    """Return whether another thread was at work for nine tenths of a piece."""
    first = bisect.bisect_left(others, piece[0], key=lambda other: other[1])
    covered = 0.0
    for begin, end, _ in others[first : first + 20]:
        covered += max(0.0, min(end, piece[1]) - max(begin, piece[0]))
    return covered > 0.9 * (piece[1] - piece[0])


def line_cost(seconds: float = 8.0) -> float:
    """Return how many nanoseconds a line takes to change owner between the first two processors."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "ping_pong.so"
        source = Path(__file__).with_name("ping_pong.c")
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-pthread", str(source), "-o", str(library)], check=True
        )
        game = ctypes.CDLL(str(library)).ping_pong
        game.restype = ctypes.c_double
        game.argtypes = ctypes.c_int, ctypes.c_int, ctypes.c_int64
        cpus = sorted(os.sched_getaffinity(0))
        begin, found = time.monotonic(), []
        while time.monotonic() - begin < seconds:
            found.append(game(cpus[0], cpus[1], 20_000))
    return float(min(found))


DESIGNS = (
    ("plain Hogwild", 1_000, False),
    ("private rows", 1_000, True),
    ("replicas of 8", 8, True),
    ("replicas of 4", 4, True),
    ("replicas of 1", 1, True),
)

TEXT = 10**9
"""Tokens of a run, all epochs together; the time of its 200 merges is spread over them."""


def predictions(load: Workload, costs: Costs) -> list[list[str]]:
    """Return a row of the table for each design and number of cores."""
    rows = []
    for name, group, private in DESIGNS:
        for cores in CORES:
            (near, far, locked), every = load.simulate(cores, group, private=private)
            wait = (near + FAR * far) * costs.waited
            token = costs.token + wait
            members = min(group, cores)
            if every:  # the lock is held while rows are merged; another thread wrote most of their lines last
                distance = 1.0 if members <= CHIPLET else FAR
                token = max(token, members * locked * costs.waited * distance)
            replicas = -(-cores // group)
            merging = 0.0
            if replicas > 1:
                merged = MERGES * memory_bytes(load.model.config, len(load.model.vocab), replicas)
                merging = 1e9 * merged / (MERGED_BYTES * min(cores, 16)) / (TEXT / cores)
            speedup = cores * costs.token / (token + merging)
            row = [f"{near:.1f}", f"{far:.1f}", f"{token:.0f}", f"{merging:.0f}", f"{speedup:.1f}"]
            rows.append([name, str(cores), *row])
            print(*rows[-1], sep="\t", flush=True)
    return rows


def measured(load: Workload, line: float, seconds: float) -> list[str]:
    """Measure and simulate one model; return its row of the page."""
    token = load.measured(1, seconds)
    rows, waits = [], []
    for name, private in (("plain Hogwild", False), ("private rows", True)):
        shared = load.measured(2, seconds, private=private)
        (near, far, _), _ = load.simulate(2, 2, private=private)
        waits.append(max(0.0, shared - token) / (near + far))
        rows.append([name, f"{shared:.0f}", f"{near + far:.1f}", f"{waits[-1]:.0f}"])
    costs = Costs(token, float(np.mean(waits)))
    columns = ("two threads", "ns a token, measured", "lines a token, simulated", "ns a line")
    told = ("design", "cores", "lines, same chiplet", "lines, other", "ns a token", "merging", "speed-up")
    return [
        f"A token takes one thread alone {token:.0f} ns. A thread waits {costs.waited:.0f} ns for a line on "
        f"average, {costs.waited / line:.0%} of what the line takes.",
        table(columns, rows),
        f"Predicted, with {len(load.model.vocab):,} words; merging in ns a token, spread over a run of "
        f"{TEXT / 1e9:g} G tokens:",
        table(told, predictions(load, costs)),
    ]


REFUTATION = """### What would refute it

The simulation knows no order of waiting (a line that several cores want at once), no limit of the links
between chiplets, and no read-only copies. It claims this, which a machine of 16 or more cores can check with
`cawv train TEXT --workers N --replicas R` on 100 M words or more (`words_per_second` in `config.json`):

1. With one replica, 16 threads on two chiplets are slower than 8 on one. If they are faster, lines of another
   chiplet cost less than here, and replicas may be larger.
2. For cbow, 8 replicas of one thread are at least 1.5 times as fast as 8 threads with private rows. If they
   are not, the limit is memory, not traffic, and `--replicas` should take fewer by itself.
3. With replicas of 8, each on its chiplet, words a second grow in proportion to the replicas, up to what
   merging takes (`merging_seconds`). If they grow by less, something that replicas still share (memory, the
   interpreter's lock between chunks) is the limit.
"""


def main() -> None:
    """Measure, simulate, write the page."""
    asked = parser(__doc__, "core-traffic")
    asked.add_argument("--corpus", required=True)
    asked.add_argument("--lines", type=int, default=30_000)
    asked.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    options = asked.parse_args()
    started = time.monotonic()
    text = [line.split() for line in lines_of(options.corpus, options.lines)]
    line = line_cost()
    sections = [f"Two threads that write a line in turn take it from each other in {line:.0f} ns."]
    with tempfile.TemporaryDirectory() as folder, encode_corpus(text, cache_dir=Path(folder)) as encoded:
        for model in ("cbow", "skipgram"):
            load = Workload(encoded, model)
            sections += [f"### {model}", *measured(load, line, options.seconds)]
    sections.append(REFUTATION)
    write_section(
        options.page,
        "Traffic between cores",
        "simulation",
        "\n\n".join(sections),
        time.monotonic() - started,
    )


if __name__ == "__main__":
    main()
