"""Published packages that build on gensim's Word2Vec, as they are and with its import redirected to ours.

    pip install --no-deps node2vec pecanpy karateclub nptyping numba-progress
    python scripts/quality/dropin_packages.py

Each package embeds the nodes of the same graph, of planted communities, with the calls of its own README.
What is compared: the share of nodes whose nearest neighbour is of their community, and seconds. Runs are
processes of their own, in alternation. Writes a section of docs/measurements/gensim-dropin.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import FOLDER, table, write_section

COMMUNITIES, NODES = 10, 30
WITHIN, BETWEEN = 0.3, 0.01
"""Communities, nodes of each, and how probable an edge within and between them is."""


def graph() -> Any:
    """Return the graph."""
    import networkx

    return networkx.planted_partition_graph(COMMUNITIES, NODES, WITHIN, BETWEEN, seed=1)


def by_node2vec() -> np.ndarray:
    """Return vectors of nodes; the example of node2vec's README."""
    from node2vec import Node2Vec

    walks = Node2Vec(graph(), dimensions=64, walk_length=30, num_walks=10, workers=1, quiet=True, seed=1)
    started = time.process_time()
    model = walks.fit(window=10, min_count=1, batch_words=4, seed=1)
    report(started)
    model.wv.most_similar("2")
    with tempfile.TemporaryDirectory() as folder:
        model.wv.save_word2vec_format(f"{folder}/vectors.txt")
        model.save(f"{folder}/model")
        assert type(model).load(f"{folder}/model").wv.vectors.shape == model.wv.vectors.shape
    return np.array([model.wv[str(node)] for node in range(COMMUNITIES * NODES)])


def by_pecanpy() -> np.ndarray:
    """Return vectors of nodes; the example of PecanPy's README: walks first, then Word2Vec on them."""
    renamed_types()
    import gensim.models
    from pecanpy import pecanpy

    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder) / "graph.edg"
        edges.write_text("".join(f"{a}\t{b}\n" for a, b in graph().edges))
        made = pecanpy.SparseOTF(p=1, q=0.5, workers=1, verbose=False)
        made.read_edg(str(edges), weighted=False, directed=False)
    walks = made.simulate_walks(num_walks=10, walk_length=80)
    started = time.process_time()
    model = gensim.models.Word2Vec(
        walks, vector_size=64, window=10, min_count=0, sg=1, workers=1, epochs=1, seed=1
    )
    report(started)
    return np.array([model.wv[str(node)] for node in range(COMMUNITIES * NODES)])


def by_karateclub() -> np.ndarray:
    """Return vectors of nodes by DeepWalk of karateclub: hierarchical softmax and negatives together."""
    from karateclub.node_embedding.neighbourhood import deepwalk

    made = deepwalk.DeepWalk(workers=1, dimensions=64)
    timed(deepwalk)
    made.fit(graph())
    return np.asarray(made.get_embedding())


PACKAGES = {
    "node2vec": by_node2vec,
    "pecanpy": by_pecanpy,
    "karateclub": by_karateclub,
}


def renamed_types() -> None:
    """Give NumPy the names that it had before 2.0, which these packages still use."""
    for old, new in {"bool8": "bool_", "object0": "object_", "int0": "intp", "uint0": "uintp"}.items():
        setattr(np, old, getattr(np, new))
    for old, new in {"float_": "float64", "complex_": "complex128", "unicode_": "str_"}.items():
        setattr(np, old, getattr(np, new))
    for old, new in {"string_": "bytes_", "bytes0": "bytes_", "str0": "str_", "void0": "void"}.items():
        setattr(np, old, getattr(np, new))
    for old, new in {"longfloat": "longdouble", "singlecomplex": "complex64", "cfloat": "complex128"}.items():
        setattr(np, old, getattr(np, new))
    for old in ("longcomplex", "clongfloat"):
        setattr(np, old, np.clongdouble)


def timed(module: Any) -> None:
    """Have the time reported that a module takes to make a ``Word2Vec``."""
    make = module.Word2Vec

    def measured(*arguments: Any, **options: Any) -> Any:
        started = time.process_time()
        model = make(*arguments, **options)
        report(started)
        return model

    module.Word2Vec = measured


def report(started: float) -> None:
    """Print the seconds of processor time since then."""
    print(json.dumps({"seconds": time.process_time() - started}))


def redirect() -> None:
    """Let ``gensim.models.Word2Vec`` and the like lead to the drop-in."""
    import gensim.models

    import wordvec_ca.gensim.models as ours

    for name in ("word2vec", "keyedvectors"):
        sys.modules[f"gensim.models.{name}"] = getattr(ours, name)
        setattr(gensim.models, name, getattr(ours, name))
    gensim.models.Word2Vec, gensim.models.KeyedVectors = ours.Word2Vec, ours.KeyedVectors


def purity(vectors: np.ndarray) -> float:
    """Return the share of nodes whose nearest neighbour is of their community."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -2)
    nearest = likeness.argmax(axis=1)
    return float((nearest // NODES == np.arange(len(vectors)) // NODES).mean())


def main() -> None:
    """Run all packages, or one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--one", choices=PACKAGES)
    parser.add_argument("--redirect", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.one:
        if options.redirect:
            redirect()
        print(json.dumps({"purity": purity(PACKAGES[options.one]())}))
        return
    started, rows = time.monotonic(), []
    for package in PACKAGES:
        found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for _ in range(options.rounds):
            for ours, runs in found.items():
                command = [sys.executable, __file__, "--one", package, *(["--redirect"] if ours else [])]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
                told = [json.loads(line) for line in out if line.startswith("{")]
                runs.append((told[0]["seconds"], told[-1]["purity"]))
        seconds = [statistics.median(run[0] for run in runs) for runs in found.values()]
        shares = [statistics.mean(run[1] for run in runs) for runs in found.values()]
        version = importlib.metadata.version(package)
        cells = (
            [f"{s:.2f}" for s in seconds] + [f"{seconds[0] / seconds[1]:.1f}"] + [f"{s:.3f}" for s in shares]
        )
        rows.append((f"{package} {version}", *cells))
        print(rows[-1], flush=True)
    columns = (
        *("package", "gensim: seconds", "drop-in: seconds", "ratio"),
        *("gensim: nearest of the same community", "drop-in"),
    )
    told = (
        f"A graph of {COMMUNITIES} planted communities of {NODES} nodes; each package's README, with "
        "one worker. Processor seconds of `Word2Vec(...)`, vocabulary and training; walks are the package's "
        f"own. Medians and means of {options.rounds} runs. By chance, "
        f"{(NODES - 1) / (COMMUNITIES * NODES - 1):.3f} would be of the same community."
    )
    body = f"## Packages that build on gensim\n\n{told}\n\n{table(columns, rows)}"
    write_section(
        FOLDER / "gensim-dropin.md", "The drop-in beside gensim", "packages", body, time.monotonic() - started
    )


if __name__ == "__main__":
    main()
