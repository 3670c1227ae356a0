"""What an explorer holds: the words that are taken, their maps, regions and vectors, and attention."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordvec_ca._version import __version__
from wordvec_ca.errors import DataError
from wordvec_ca.files import terminal_text
from wordvec_ca.models import read_attention, read_config, read_record
from wordvec_ca.report.explorer.coordinates import Method, WordMap, chosen_method, word_map
from wordvec_ca.report.explorer.neighbour_graph import NEAREST, change, distance_of_neighbourhoods
from wordvec_ca.report.explorer.quantised import whole_numbers
from wordvec_ca.report.explorer.regions import Region, regions
from wordvec_ca.report.explorer.sureness import FIRST, sureness
from wordvec_ca.vectors import KeyedVectors, logits_by_part

Model = KeyedVectors | str | os.PathLike[str]


class Contents(NamedTuple):
    """Words with all that is shown about them.

    Attributes
    ----------
    title : str
        The names of the models.
    words : list of str
        Most frequent first.
    maps : list of WordMap
        One for each model.
    regions : list of list of Region
        The same.
    about : dict
        What the page is told.
    arrays : dict of str to ndarray
        What the page has of each word.
    """

    title: str
    words: list[str]
    maps: list[WordMap]
    regions: list[list[Region]]
    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def gather(
    model: Model,
    other: Model | None,
    *,
    words: int,
    max_megabytes: float | None,
    method: Method,
    seed: int,
    classes: Mapping[str, str] | None,
    cache: bool,
    tell: Callable[[str], None] | None,
) -> Contents:
    """Return what an explorer of these models holds; the arguments are those of `explore`."""
    if words < 2:
        raise ValueError(f"words is {words}; a map needs at least 2")
    tables = [_table(one) for one in (model, other) if one is not None]
    names = [_name(one, f"model {'AB'[i]}") for i, one in enumerate([model, other]) if one is not None]
    attention = [_attention(one) for one in (model, other) if one is not None]
    rows = _common_rows(tables, words)
    if max_megabytes is not None:
        once = sum(7 * NEAREST * FIRST * 4 / 3 for table in tables if table.resamples is not None)
        fits = int((max_megabytes * 1e6 - once) / _bytes_of_word(tables, attention, rows))
        if fits < 2:
            raise DataError(f"a page of {max_megabytes:g} MB holds no words of these vectors")
        rows = [chosen[:fits] for chosen in rows]
    n_words = len(rows[0])
    if n_words < 2:
        raise DataError("there are fewer than two words with a direction: there is nothing to explore")
    if tell is not None:
        tell(f"{n_words:,} words of {len(tables[0]):,}")
    used = chosen_method(method, n_words)
    found = [tables[0].index_to_key[row] for row in rows[0].tolist()]
    maps: list[WordMap] = []
    spaces: list[np.ndarray] = []
    named: list[list[Region]] = []
    entries: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    place = f"{os.path.normpath(model)}.cawv-maps" if cache and not isinstance(model, KeyedVectors) else None
    for number, (table, chosen) in enumerate(zip(tables, rows, strict=True)):
        vectors = np.asarray(table.vectors[chosen], dtype=np.float32)
        directions = vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True).astype("f4")
        start = maps[0].places if maps else None
        made = word_map(directions, method=used, seed=seed, start=start, cache=place, tell=tell)
        maps.append(made)
        spaces.append(directions)
        found_regions, region_of_word = regions(made.places, directions, found, seed)
        named.append(found_regions)
        upper, lower, scales = whole_numbers(vectors)
        arrays |= {f"upper{number}": upper, f"lower{number}": lower, f"scales{number}": scales}
        arrays[f"places{number}"] = np.rint(made.places * 65_535).astype(np.uint16)
        arrays[f"region{number}"] = region_of_word
        arrays[f"nearest{number}"] = made.graph.rows[:, 0]
        entry = {
            "name": terminal_text(names[number]),
            "size": table.vector_size,
            "of": len(table),
            "made": _made(model if number == 0 else other),
            "kept": round(made.kept, 4),
            "regions": [
                [r.level, round(r.x, 4), round(r.y, 4), r.rows, r.size, r.label] for r in found_regions
            ],
        }
        if table.resamples is not None:
            judged = sureness(table.resamples, chosen, made.graph, tell)
            entry["resamples"] = len(table.resamples)
            arrays |= {f"{name}{number}": array for name, array in judged._asdict().items()}
        if (attends := attention[number]) is not None:
            entry["attention"], arrays[f"logits{number}"] = attends(chosen)
        if (weights := _weights(table, chosen)) is not None:
            arrays[f"weights{number}"] = weights
        entries.append(entry)
    if tables[0].counts is not None:
        arrays["counts"] = np.asarray(tables[0].counts[rows[0]], dtype=np.float32)
    if len(maps) == 2:
        arrays["change"] = np.rint(255 * change(maps[0].graph, maps[1].graph)).astype(np.uint8)
        arrays["distance"] = distance_of_neighbourhoods(maps[0].graph, maps[1].graph, *spaces)
    kinds = sorted(set(classes.values())) if classes else []
    if classes:
        number_of = {kind: i for i, kind in enumerate(kinds)}
        arrays["classes"] = np.array([number_of.get(classes.get(word, ""), -1) for word in found], np.int16)
    about = {
        "version": __version__,
        "words": n_words,
        "all": [len(table) for table in tables],
        "method": used,
        "seed": seed,
        "classes": [terminal_text(kind) for kind in kinds],
        "models": entries,
        "types": {name: array.dtype.name for name, array in arrays.items()},
    }
    title = " and ".join(terminal_text(name) for name in names)
    return Contents(title, found, maps, named, about, arrays)


def _table(model: Model) -> KeyedVectors:
    return model if isinstance(model, KeyedVectors) else KeyedVectors.load(model)


def _name(model: Model, otherwise: str) -> str:
    return otherwise if isinstance(model, KeyedVectors) else Path(model).resolve().name


def _made(model: Model | None) -> dict[str, Any] | None:
    """Return what a model was trained with and on, if it is a directory with a record."""
    if model is None or isinstance(model, KeyedVectors) or not (Path(model) / "config.json").is_file():
        return None
    folder = Path(model)
    try:
        record, config = read_record(folder), read_config(folder)
    except DataError:
        return None  # another program's, beside its vectors
    made: dict[str, Any] = {"kind": config.model, "seed": config.seed}
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


def _bytes_of_word(tables: list[KeyedVectors], attention: list[Any], rows: list[np.ndarray]) -> float:
    """Return about how many bytes of the page a word needs."""
    numbers = sum(1.25 * table.vector_size + 19 for table in tables) + 7
    numbers += sum(2 * attends.columns for attends in attention if attends is not None)
    sample = [tables[0].index_to_key[row] for row in rows[0][:: max(1, len(rows[0]) // 1_000)].tolist()]
    return numbers * 4 / 3 + len(json.dumps(sample)) / max(1, len(sample))


class _Attention:
    """The logits of an attention model, for a page."""

    def __init__(self, folder: Path) -> None:
        self.config = read_config(folder)
        self.words, self.slots = read_attention(folder)
        self.columns = self.words.shape[1]

    def __call__(self, rows: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
        """Return what the page is told, and the logits of words as 16-bit numbers."""
        config = self.config
        logits = np.asarray(self.words[rows], np.float32)
        step = float(np.abs(logits).max(initial=0.0)) / 32_767 or 1.0
        parts = []
        for part, of_words, of_slots in logits_by_part(
            np.arange(self.columns)[None], self.slots, config.attention, config.rings()
        ):
            parts.append(
                {
                    "name": part.name,
                    "offsets": part.offsets,
                    "slots": [float(value) for value in of_slots],
                    "columns": of_words[0].tolist(),
                }
            )
        told = {
            "step": step,
            "clip": config.attention_clip,
            "kind": config.attention,
            "width": self.columns,
            "parts": parts,
            "tokenizer": config.tokenizer,
            "lowercase": config.lowercase,
        }
        return told, np.rint(logits / step).astype(np.int16)


def _attention(model: Model) -> _Attention | None:
    """Return the attention of a model directory, if it has any."""
    if isinstance(model, KeyedVectors) or not (Path(model) / "attention_slots.npy").is_file():
        return None
    folder = Path(model)
    return _Attention(folder) if read_config(folder).spec.attends else None


def _weights(table: KeyedVectors, rows: np.ndarray) -> np.ndarray | None:
    """Return how much each word counts in a sentence: by attention, else by frequency (SIF, a = 0.001)."""
    if table.attention is not None:
        return np.asarray(table.attention[rows], np.float32)
    if table.counts is None or not table.counts.sum() > 0:
        return None
    shares = table.counts[rows] / float(table.counts.sum())
    return np.asarray(1e-3 / (1e-3 + shares), np.float32)
