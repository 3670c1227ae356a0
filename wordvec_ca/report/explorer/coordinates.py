"""Coordinates of words on a map, by t-SNE or, if it is not installed, by PCA; and how faithful the map is."""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from wordvec_ca.errors import install_extra
from wordvec_ca.files import atomic_file
from wordvec_ca.machine import usable_cpus
from wordvec_ca.report.explorer.neighbour_graph import NEAREST, NeighbourGraph, neighbour_graph

Method = Literal["auto", "tsne", "pca"]

FEWEST_FOR_TSNE = 50

# Iterations with and without exaggerated attraction; twice these numbers preserve no more neighbours.
EARLY, LATE = 125, 250

# Share of the nearest words that a map must keep; a map that keeps fewer shows noise.
FEWEST_KEPT = 0.03

INSTALL = install_extra("map")


class UnfaithfulMapError(ImportError):
    """The PCA map preserves almost no neighbours, and openTSNE is not installed."""


# Version of cached maps; to be increased by any change that gives another map for the same vectors.
_VERSION = 2


class WordMap(NamedTuple):
    """Words on a plane."""

    # shape (n_words, 2), float32; Coordinates within [0, 1], with the same scale along both axes.
    places: np.ndarray
    # The nearest words in the original space.
    graph: NeighbourGraph
    # Mean over all words of the share of a word's nearest words that are also among its nearest on the map.
    kept: float
    # ``'tsne'`` or ``'pca'``.
    method: str


def chosen_method(method: Method, n_words: int) -> str:
    """Return the method that is used."""
    installed = find_spec("openTSNE") is not None
    if method == "tsne" and not installed:
        raise ImportError(f"a map by t-SNE needs openTSNE: {INSTALL}; or take pca, which needs nothing")
    return "pca" if method == "pca" or not installed or n_words < FEWEST_FOR_TSNE else "tsne"


def check_faithful(made: WordMap, method: Method) -> None:
    """Raise for a map that preserves almost no neighbours, unless the caller named its method."""
    if method == "auto" and made.method == "pca" and made.kept < FEWEST_KEPT:
        raise UnfaithfulMapError(
            f"the map by PCA keeps only {made.kept:.1%} of the 20 nearest words of a word. For a map by "
            f"t-SNE, which keeps many more: {INSTALL}; or ask for this one: pca as method"
        )


def word_map(
    directions: np.ndarray,
    *,
    method: str,
    seed: int = 1,
    start: np.ndarray | None = None,
    cache: str | os.PathLike[str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> WordMap:
    """Return a map of words: their coordinates and neighbours.

    References
    ----------
    van der Maaten & Hinton 2008, t-SNE; Linderman et al. 2019, its interpolation by Fourier transforms;
    Kobak & Berens 2019, the start from PCA.

    Notes
    -----
    For a vocabulary of 65,484 words, trained on a text of 12 million, UMAP (15 neighbours) kept 3 % of the 20
    nearest words, and t-SNE kept 16 %.
    """
    file = None if cache is None else Path(cache) / f"{_digest(directions, method, seed, start)}.npz"
    found = None if file is None else _cached(file, len(directions), method)
    if found is not None:
        if tell is not None:
            tell(f"map: taken from {file}")
        return found
    if tell is not None:
        tell(f"neighbours of {len(directions):,} words")
    graph = neighbour_graph(directions, tell=tell)
    places = _upright(_pca(directions)) if start is None else start
    if method == "tsne":
        places = _tsne(graph, places, seed, tell)
    if start is not None:
        places = _turned_like(places, start)
    places = _in_unit_square(places)
    made = WordMap(places, graph, _kept(places, graph), method)
    if file is not None:
        _store(file, made)
    return made


def _pca(directions: np.ndarray) -> np.ndarray:
    centred = directions - directions.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T.astype(np.float64) @ centred)
    best: np.ndarray = axes[:, ::-1][:, :2]
    if best.shape[1] < 2:
        best = np.pad(best, ((0, 0), (0, 2 - best.shape[1])))
    return (centred @ best).astype(np.float32)


def _upright(places: np.ndarray) -> np.ndarray:
    """Flip each axis, whose sign is arbitrary, so that the farthest word is on the positive side."""
    farthest = places[np.abs(places).argmax(axis=0), range(2)]
    return places * np.where(farthest < 0, -1, 1).astype(np.float32)


def _tsne(
    graph: NeighbourGraph, start: np.ndarray, seed: int, tell: Callable[[str], None] | None
) -> np.ndarray:
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PerplexityBasedNN
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    done = 0

    def show(iteration: int, error: float, places: np.ndarray) -> None:
        if tell is not None:
            tell(f"map by t-SNE: {round(100 * (done + iteration) / (EARLY + LATE))} %")

    workers = usable_cpus()
    distances = np.maximum(1 - graph.cosines, 1e-6).astype(np.float64)
    near = PrecomputedNeighbors(graph.rows.astype(np.int64), distances)
    affinities = PerplexityBasedNN(
        perplexity=0.75 * graph.rows.shape[1], knn_index=near, n_jobs=workers, random_state=seed
    )
    centred = (start - start.mean(axis=0)).astype(np.float64)
    options = {"learning_rate": "auto", "callbacks": show, "callbacks_every_iters": 50}
    places = TSNEEmbedding(
        centred * 1e-4 / (centred[:, 0].std() or 1.0),
        affinities,
        negative_gradient_method="fft",
        n_jobs=workers,
        random_state=seed,
    )
    places = places.optimize(EARLY, exaggeration=12, momentum=0.5, **options)
    done = EARLY
    places = places.optimize(LATE, momentum=0.8, **options)
    return np.asarray(places, dtype=np.float32)


def _turned_like(places: np.ndarray, model: np.ndarray) -> np.ndarray:
    """Rotate and mirror coordinates so that they are near those of ``model`` (orthogonal Procrustes)."""
    centred, goal = places - places.mean(axis=0), model - model.mean(axis=0)
    left, _, right = np.linalg.svd(centred.T @ goal)
    return np.asarray(centred @ (left @ right), dtype=np.float32)


def _in_unit_square(places: np.ndarray) -> np.ndarray:
    low, high = places.min(axis=0), places.max(axis=0)
    size = float((high - low).max()) or 1.0
    return ((places - (low + high) / 2) / size + 0.5).clip(0, 1).astype(np.float32)


def _kept(places: np.ndarray, graph: NeighbourGraph) -> float:
    from scipy.spatial import cKDTree

    topn = min(NEAREST, graph.rows.shape[1])
    if not topn:
        return 1.0
    _, near = cKDTree(places).query(places, k=topn + 1)
    both = np.sort(np.concatenate([graph.rows[:, :topn], _without_self(near)], axis=1), axis=1)
    return float((both[:, 1:] == both[:, :-1]).sum(axis=1).mean() / topn)


def _without_self(near: np.ndarray) -> np.ndarray:
    """Remove each word from its own list of nearest words."""
    # If it is missing there because of ties at its coordinates, remove the last.
    own = near == np.arange(len(near))[:, None]
    own[~own.any(axis=1), -1] = True
    return near[~own].reshape(len(near), -1)


def _digest(directions: np.ndarray, method: str, seed: int, start: np.ndarray | None) -> str:
    what = [_VERSION, method, seed, directions.shape]
    if method == "tsne":
        from importlib.metadata import version

        what.append(version("openTSNE"))
    digest = hashlib.blake2b(repr(what).encode(), digest_size=8)
    digest.update(np.ascontiguousarray(directions).data)
    if start is not None:
        digest.update(np.ascontiguousarray(start).data)
    return digest.hexdigest()


def _cached(file: Path, n_words: int, method: str) -> WordMap | None:
    """Return a stored map, or None if it is missing or damaged."""
    topn = min(NEAREST, n_words - 1)
    try:
        with np.load(file, allow_pickle=False) as arrays:
            places, rows, cosines = (arrays[name] for name in ("places", "rows", "cosines"))
            kept = float(arrays["kept"])
    except Exception:  # a damaged archive raises errors of many kinds: the map is made again
        return None
    shapes = [array.shape for array in (places, rows, cosines)]
    if shapes != [(n_words, 2), (n_words, topn), (n_words, topn)]:
        return None
    return WordMap(places, NeighbourGraph(rows, cosines), kept, method)


def _store(file: Path, made: WordMap) -> None:
    """Store a map for the next time, if the folder is writable."""
    arrays: dict[str, Any] = {"places": made.places, "kept": made.kept, **made.graph._asdict()}
    try:
        file.parent.mkdir(exist_ok=True)
        with atomic_file(file, overwrite=True, follow_links=False) as stream:
            np.savez(stream, **arrays)
    except OSError as error:
        with contextlib.suppress(OSError):  # the folder holds other maps, or was never made
            file.parent.rmdir()
        warnings.warn(f"the map is not kept for the next time: {error}", stacklevel=2)
