"""Makes an explorer: the chosen words, their maps, regions and vectors in few bytes, attention, and
how sure neighbours are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.files import Lines, terminal_text
from wordvec_ca.models import (
    PREFIX,
    SHOWN_DOCUMENTS,
    document_vectors,
    read_attention,
    read_config,
    read_record,
    table_of_both,
)
from wordvec_ca.report.explorer.coordinates import Method, WordMap, check_faithful, chosen_method, word_map
from wordvec_ca.report.explorer.neighbour_graph import (
    NEAREST,
    NeighbourGraph,
    change,
    cosines_with,
    distance_of_neighbourhoods,
    neighbour_graph,
)
from wordvec_ca.report.explorer.page import Contents, Explorer
from wordvec_ca.report.explorer.regions import Region, regions, snippets, typical_words
from wordvec_ca.report.explorer.suggestions import suggestions
from wordvec_ca.specs.model_files import MAPS_SUFFIX, ModelFile
from wordvec_ca.tables import Resamples, offsets_of
from wordvec_ca.vectors import SHOWN_COVERAGE, KeyedVectors, directions, interval

# Largest quantised number; with 127, one in fifty of the 20 nearest words would differ.
STEPS = 511


def whole_numbers(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return vectors as integers of ten bits, and the factor of each row."""
    highest = np.abs(vectors).max(axis=1)
    scales = np.where(highest > 0, highest / STEPS, 1).astype(np.float32)
    numbers = np.rint(vectors / scales[:, None]).astype(np.int16)
    rest = (numbers & 3).astype(np.uint8).ravel()
    fours = np.pad(rest, (0, -len(rest) % 4)).reshape(-1, 4)
    lower = fours[:, 0] | fours[:, 1] << 2 | fours[:, 2] << 4 | fours[:, 3] << 6
    return (numbers >> 2).astype(np.int8), lower, scales


# Default limit for the number of words on a page.
WORDS = 100_000

# Number of most frequent words that show how sure their neighbours are: for 100,000 it would take minutes
# and 14 MB.
FIRST = 20_000

# Number of documents nearest to each shown one, of all that the model has.
NEAR = 10

Model = KeyedVectors | str | os.PathLike[str]
Texts = Callable[[Container[str]], Mapping[str, str]]


def explore(
    model: Model,
    other: Model | None = None,
    *,
    words: int = WORDS,
    documents: int | None = None,
    max_megabytes: float | None = None,
    method: Method = "auto",
    seed: int = 1,
    classes: Mapping[str, str] | None = None,
    changed: Mapping[str, bool] | None = None,
    texts: Texts | None = None,
    names: Mapping[str, str] | None = None,
    cache: bool = True,
    vectors: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> Explorer:
    """Return a page with a map of words, their neighbours and attention, for browsers and notebooks.

    Parameters
    ----------
    model : KeyedVectors or path
        The vectors; attention on sentences needs the directory of an attention model.
    other : KeyedVectors or path, optional
        Second model to compare with, on the words that both have.
    words : int
        Show at most this number of words, the most frequent.
    documents : int, optional
        For a model of documents: number of documents to show, evenly spaced; by default 2,000. They are shown
        together with the words, or alone if no vectors of words were trained. Their names are their tags,
        beside words with the prefix ``*dt_``.
    max_megabytes : float, optional
        Largest size of the page; fewer words are shown to stay below it.
    method : {'auto', 'tsne', 'pca'}
        Method of the map; 'auto': t-SNE if openTSNE is installed (``pip install 'wordvec-ca[map]'``), or PCA.
    seed : int
        The same seed gives the same map.
    classes : mapping of str to str, optional
        Classes of some words; the map can be coloured by them.
    changed : mapping of str to bool, optional
        For two models: whether each word has changed (`wordvec_ca.change.saved_verdicts`). Without it the
        page shows which neighbours differ, which is also due to chance.
    texts : callable, optional
        For a model of documents: a function that returns the texts of some tags. A document is shown with its
        beginning, and regions are named by their typical words.
    names : mapping of str to str, optional
        For items: the names of some in a catalogue. An item is shown, and found, as ``name (item)``.
    cache : bool
        Keep the map for the next time in ``MODEL.cawv-maps``, next to ``model``, if that is a path.
    vectors : str, optional
        For model directories: the form of the vectors, see ``KeyedVectors.load``.
    tell : callable, optional
        Receives lines of progress.

    Returns
    -------
    Explorer

    Raises
    ------
    DataError
        There are fewer than two words with a direction, or a file is damaged.
    ImportError
        The method is t-SNE, but openTSNE is not installed.
    """
    if words < 2:
        raise ValueError(f"words is {words}; a map needs at least 2")
    given = [one for one in (model, other) if one is not None]
    sources = [_source(one, f"model {'AB'[i]}", vectors) for i, one in enumerate(given)]
    n_documents = 0
    if other is None and not isinstance(model, KeyedVectors):
        sources[0], n_documents = _with_documents(sources[0], model, words, documents)
    elif documents:
        raise DataError("documents are on the map of one model directory alone: leave the documents out")
    labels = _labels(names or {})
    rows = _rows_that_fit(sources, words + n_documents, max_megabytes, n_documents, labels)
    n_words = len(rows[0])
    if tell is not None:
        beside = f", {n_documents:,} of them documents" if n_documents else ""
        tell(f"{n_words:,} words of {len(sources[0].table):,}{beside}")
    found = [sources[0].table.index_to_key[row] for row in rows[0].tolist()]
    near = _near_documents(model, found, tell) if n_documents else {}
    others = sorted({name for names_of in near.values() for name, _ in names_of})
    tags = {name.removeprefix(PREFIX) for name in (*found, *others)}
    of_tags = texts(tags) if texts and n_documents else {}
    alone = n_documents >= n_words

    def shown_name(word: str) -> str:
        """Return the name that the page shows; beside words, documents keep their prefix."""
        return labels.get(word, word.removeprefix(PREFIX) if alone else word)

    if n_documents and not classes and not alone:  # one class would say nothing
        classes = {word: "document" if word.startswith(PREFIX) else "word" for word in found}
    used = chosen_method(method, n_words)
    place = os.path.normpath(model) + MAPS_SUFFIX if cache and not isinstance(model, KeyedVectors) else None
    maps: list[WordMap] = []
    spaces: list[np.ndarray] = []
    named: list[list[Region]] = []
    entries: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    for number, (source, chosen) in enumerate(zip(sources, rows, strict=True)):
        matrix = np.asarray(source.table.vectors[chosen], dtype=np.float32)
        directions = matrix / np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True).astype("f4")
        start = maps[0].places if maps else None
        made = word_map(directions, method=used, seed=seed, start=start, cache=place, tell=tell)
        check_faithful(made, method)
        found_regions, region_of_word = regions(made.places, directions, found)
        maps.append(made)
        spaces.append(directions)
        named.append(found_regions)
        entry, of_words = _shown(source, chosen, made, found_regions, tell)
        if of_tags:
            members = [np.flatnonzero(region_of_word[one.level] == one.label) for one in found_regions]
            for region, typical in zip(entry["regions"], typical_words(of_tags, found, members), strict=True):
                region.append([terminal_text(word) for word in typical])
        upper, lower, scales = whole_numbers(matrix)
        of_words |= {"upper": upper, "lower": lower, "scales": scales, "region": region_of_word}
        if not number:
            suggested = suggestions(directions, made.graph, found, found_regions)
        entries.append(entry)
        arrays |= {f"{name}{number}": array for name, array in of_words.items()}
    if sources[0].table.counts is not None:
        arrays["counts"] = np.asarray(sources[0].table.counts[rows[0]], dtype=np.float32)
    if len(maps) == 2:
        arrays["change"] = np.rint(255 * change(maps[0].graph, maps[1].graph)).astype(np.uint8)
        arrays["distance"] = distance_of_neighbourhoods(maps[0].graph, maps[1].graph, *spaces)
        if changed is not None:
            arrays["changed"] = np.array([changed.get(word, False) for word in found], np.uint8)
    kinds = sorted(set(classes.values())) if classes else []
    if classes:
        number_of = {kind: i for i, kind in enumerate(kinds)}
        arrays["classes"] = np.array([number_of.get(classes.get(word, ""), -1) for word in found], np.int16)
    number_of = {name: i for i, name in enumerate(others)}
    about = {
        "version": __version__,
        "words": n_words,
        "noun": _noun(sources, alone, names),
        "all": [len(source.table) for source in sources],
        "method": used,
        "seed": seed,
        "classes": [terminal_text(kind) for kind in kinds],
        "coverage": SHOWN_COVERAGE,
        "models": entries,
        "suggestions": suggested,
        "snippets": [terminal_text(text) for text in snippets(of_tags, found)] if of_tags else None,
        "near": {row: [[number_of[name], cosine] for name, cosine in one] for row, one in near.items()},
        "others": list(
            zip(map(shown_name, others), map(terminal_text, snippets(of_tags, others)), strict=True)
        ),
        "types": {name: array.dtype.name for name, array in arrays.items()},
    }
    title = " and ".join(source.name for source in sources)
    return Explorer(Contents(title, list(map(shown_name, found)), maps, named, about, arrays))


def _noun(sources: list[_Source], documents_alone: bool, names: Mapping[str, str] | None) -> str:
    """Return what the page calls its points."""
    if documents_alone:
        return "document"
    return "item" if names or all((source.made or {}).get("items") for source in sources) else "word"


def _labels(names: Mapping[str, str]) -> dict[str, str]:
    """Return what to show for items with names; with the item, since two may have the same name."""
    return {item: f"{terminal_text(name)} ({item})" for item, name in names.items() if name}


class _Source(NamedTuple):
    """A model to show: its vectors, its name, its attention, and the options and text it was trained with."""

    table: KeyedVectors
    name: str
    attends: _Attention | None
    made: dict[str, Any] | None


def _source(model: Model, otherwise: str, form: str | None) -> _Source:
    """Open a model with one form of its vectors; vectors without a file get the name ``otherwise``."""
    if isinstance(model, KeyedVectors):
        return _Source(model, otherwise, None, None)
    name = terminal_text(Path(model).resolve().name)
    return _Source(KeyedVectors.load(model, vectors=form), name, _attention(Path(model)), _made(Path(model)))


def _with_documents(
    source: _Source, model: str | os.PathLike[str], words: int, documents: int | None
) -> tuple[_Source, int]:
    """Return a model with its documents after its words, and the number of documents."""
    # Words that were not trained are left out.
    folder = Path(model)
    has_record = (folder / ModelFile.CONFIG).is_file() and (folder / ModelFile.DOCUMENTS).is_file()
    if not has_record or not (config := read_config(folder)).spec.documents:
        if documents:
            raise DataError(f"{os.fspath(model)!r} has no vectors of documents: leave the documents out")
        return source, 0
    table, _ = document_vectors(folder)
    known = source.table
    n_words = min(words, len(known)) if config.learns_words else 0
    counts = None if known.counts is None else known.counts[:n_words]
    rows = known.vectors[:n_words] if n_words else np.empty((0, known.vector_size), np.float32)
    kept = KeyedVectors(known.index_to_key[:n_words], rows, counts)
    n = min(SHOWN_DOCUMENTS if documents is None else documents, len(table))
    return source._replace(table=table_of_both(kept, table, n)), n


def _near_documents(
    model: Model, found: list[str], tell: Callable[[str], None] | None
) -> dict[int, list[tuple[str, float]]]:
    """Return, for the place of each shown document, the nearest of all; nothing if all are shown."""
    assert not isinstance(model, KeyedVectors)
    table, _ = document_vectors(model)
    places = [place for place, name in enumerate(found) if name.startswith(PREFIX)]
    rows = [table.key_to_index[found[place].removeprefix(PREFIX)] for place in places]
    if len(rows) == len(table):
        return {}
    order = np.append(rows, np.setdiff1d(np.arange(len(table)), rows))  # the shown first
    graph = neighbour_graph(directions(table.vectors[order], centred=False), NEAR, tell, first=len(rows))
    names = [[PREFIX + table.index_to_key[order[row]] for row in one] for one in graph.rows.tolist()]
    cosines = [[round(cosine, 3) for cosine in one] for one in graph.cosines.tolist()]
    return {place: list(zip(*one, strict=True)) for place, *one in zip(places, names, cosines, strict=True)}


def _rows_that_fit(
    sources: list[_Source],
    words: int,
    max_megabytes: float | None,
    n_documents: int,
    labels: Mapping[str, str],
) -> list[np.ndarray]:
    """Return each model's rows of the documents and of the most frequent words that fit into the page."""
    rows = _common_rows([source.table for source in sources], words)
    if max_megabytes is not None:
        resampled = sum(source.table.resamples is not None for source in sources)
        once = 7 * NEAREST * FIRST * 4 / 3 * resampled
        fits = int((max_megabytes * 1e6 - once) / _bytes_of_word(sources, rows, labels))
        if fits < 2:
            raise DataError(f"a page of {max_megabytes:g} MB holds no words of these vectors")
        n_words = len(rows[0]) - n_documents if fits < len(rows[0]) else fits
        rows = [
            np.concatenate([chosen[: max(0, min(n_words, fits - n_documents))], chosen[n_words:][:fits]])
            for chosen in rows
        ]
    if len(rows[0]) < 2:
        raise DataError("there are fewer than two words with a direction: there is nothing to explore")
    return rows


def _shown(
    source: _Source,
    chosen: np.ndarray,
    made: WordMap,
    named: list[Region],
    tell: Callable[[str], None] | None,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return facts about a model for the page, and all arrays of its words except the vectors."""
    entry: dict[str, Any] = {
        "name": source.name,
        "size": source.table.vector_size,
        "of": len(source.table),
        "made": source.made,
        "kept": round(made.kept, 4),
        "regions": [
            [r.level, round(r.x, 4), round(r.y, 4), r.rows, r.size, r.label, round(r.top, 4)] for r in named
        ],
    }
    arrays = {
        "places": np.rint(made.places * 65_535).astype(np.uint16),
        "nearest": made.graph.rows[:, 0],
    }
    if (resamples := source.table.resamples) is not None:
        entry["resamples"] = len(resamples)
        arrays |= sureness(resamples, chosen, made.graph, tell)
    if source.attends is not None:
        entry["attention"], arrays["logits"] = source.attends(chosen)
    if (weights := _weights(source.table, chosen)) is not None:
        arrays["weights"] = weights
    return entry, arrays


def _made(folder: Path) -> dict[str, Any] | None:
    """Return the record of a model (options and text), or None if it is not a directory with a record."""
    if not (folder / ModelFile.CONFIG).is_file():
        return None
    try:
        record, config = read_record(folder), read_config(folder)
    except DataError:
        return None  # the record is not ours: another program wrote this file next to its vectors
    made: dict[str, Any] = {"kind": config.model, "seed": config.seed, "items": config.window == "all"}
    settings = record.get("settings")
    corpus = settings.get("corpus") if isinstance(settings, dict) else None
    files = [Path(file).name for file in corpus if isinstance(file, str)] if isinstance(corpus, list) else []
    if files:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        made |= {"text": terminal_text(files[0]) + more, "tokens": record.get("raw_tokens", 0)}
    return made


def _common_rows(tables: list[KeyedVectors], n: int) -> list[np.ndarray]:
    """Return, for each table, the rows of the first ``n`` words that have a direction in all of them."""
    usable = [(table.norms > 0) & np.isfinite(table.norms) for table in tables]
    first = np.flatnonzero(usable[0])
    if len(tables) == 1:
        return [first[:n]]
    of_word = tables[1].key_to_index
    second = np.array([of_word.get(tables[0].index_to_key[row], -1) for row in first.tolist()], np.int64)
    both = second >= 0
    both[both] = usable[1][second[both]]
    return [first[both][:n], second[both][:n]]


def _bytes_of_word(sources: list[_Source], rows: list[np.ndarray], labels: Mapping[str, str]) -> float:
    """Estimate how many bytes of the page a word needs."""
    numbers = sum(1.25 * source.table.vector_size + 19 for source in sources) + 7
    numbers += sum(2 * source.attends.columns for source in sources if source.attends is not None)
    words, step = sources[0].table.index_to_key, max(1, len(rows[0]) // 1_000)
    sample = [labels.get(words[row], words[row]) for row in rows[0][::step].tolist()]
    return numbers * 4 / 3 + len(json.dumps(sample)) / max(1, len(sample))


class _Attention:
    """The logits of an attention model, for a page."""

    def __init__(self, folder: Path) -> None:
        self.config = read_config(folder)
        self.words, self.slots = read_attention(folder)
        self.columns = self.words.shape[1]

    def __call__(self, rows: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
        """Return facts for the page, and the logits of words as 16-bit numbers."""
        config = self.config
        logits = np.zeros((len(rows), self.columns), np.float32)  # 0 for documents: no logits by place
        logits[rows < len(self.words)] = self.words[rows[rows < len(self.words)]]
        step = float(np.abs(logits).max(initial=0.0)) / 32_767 or 1.0
        n_places = 2 * config.reach
        facts = {
            "step": step,
            "clip": config.attention_clip,
            "kind": config.attention,
            "width": self.columns,
            "offsets": offsets_of(n_places),
            "slots": [float(value) for value in self.slots[:n_places]],
            "tokenizer": config.tokenizer,
            "lowercase": config.lowercase,
        }
        return facts, np.rint(logits / step).astype(np.int16)


def _attention(folder: Path) -> _Attention | None:
    """Return the attention of a model directory, if it has any."""
    if not (folder / ModelFile.ATTENTION_SLOTS).is_file():
        return None
    return _Attention(folder) if read_config(folder).spec.attends else None


def _weights(table: KeyedVectors, rows: np.ndarray) -> np.ndarray | None:
    """Return how much each word counts in a sentence: by attention, else by frequency (SIF, a = 0.001)."""
    if table.attends:
        return np.asarray(table.attention[rows], np.float32)
    if table.counts is None or not table.counts.sum() > 0:
        return None
    shares = table.counts[rows] / float(table.counts.sum())
    return np.asarray(1e-3 / (1e-3 + shares), np.float32)


def sureness(
    resamples: Resamples, words: np.ndarray, graph: NeighbourGraph, tell: Callable[[str], None] | None = None
) -> dict[str, np.ndarray]:
    """Return how sure the neighbours of the most frequent words are, from models of resampled text."""
    # Of shape (n_first, topn): ``rows`` of the neighbours, int32; ``low`` and ``high``, the interval, in
    # hundredths, of the cosine that a single run on other text would give, int8; ``again``, the number of
    # resampled models in which the word is again among the ``topn`` nearest, uint8.
    rows = graph.rows[:FIRST]
    again = np.zeros(rows.shape, np.uint8)
    cosines = []
    for number in range(len(resamples)):
        if tell is not None:
            tell(f"how sure neighbours are: model {number + 1} of {len(resamples)}")
        units = directions(resamples.vectors(number)[words], centred=False)
        cosines.append(cosines_with(units, rows))
        found = neighbour_graph(units, topn=rows.shape[1], first=len(rows)).rows
        again += (rows[:, :, None] == found[:, None, :]).any(axis=2)
    low, high = (np.rint(100 * end).astype(np.int8) for end in interval(np.stack(cosines)))
    return {"rows": rows, "low": low, "high": high, "again": again}


def read_classes(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the class of each word from a UTF-8 file of lines ``word TAB class``; empty lines are skipped."""
    found: dict[str, str] = {}
    lines = Lines(path)
    for line in lines:
        word, tab, kind = line.partition("\t")
        if tab:
            found[word] = kind.partition("\t")[0]
        elif line.strip():
            raise lines.wrong("there is no tab", "expected a word, a tab and its class")
    return found
