"""Sessions of a log: grouped, ordered and held out as an obvious program would, from every kind of file."""

import csv
import gc
import json
import pickle
import warnings
import weakref
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordvec_ca import TrainConfig, train
from wordvec_ca.corpus import TextOptions, sessions_of
from wordvec_ca.errors import OptionError
from wordvec_ca.text import sessions as module

Event = tuple[str, int, str]

ITEMS = ["sku 1", "sku 2", 'a "quoted", one', "été"]


def read(
    path: Path, test_last: str | None = None, order_by: str = "t"
) -> tuple[list[list[str]], list[list[str]]]:
    options = TextOptions(
        field="item", group_by="who", order_by=order_by, test_last=test_last, tokenizer="whitespace"
    )
    sessions = sessions_of(str(path), options)
    return sorted(sessions), sorted(sessions.held_out())


def write(path: Path, events: list[Event]) -> None:
    """Write a log as CSV, JSON lines or Parquet, by its suffix."""
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("t", "item", "who", "other"), *((t, i, w, 0) for w, t, i in events)])
    elif path.suffix == ".jsonl":
        lines = (json.dumps({"who": w, "t": t, "item": i}) for w, t, i in events)
        path.write_text("\n".join(lines) + "\n", "utf-8")
    else:
        pyarrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
        columns = {name: [event[k] for event in events] for k, name in enumerate(("who", "t", "item"))}
        parquet.write_table(pyarrow.table(columns), path)


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.integers(0, 200), st.sampled_from(ITEMS)), min_size=1),
    st.sampled_from([".csv", ".jsonl", ".parquet"]),
    st.sampled_from([None, "30s"]),
)
def test_sessions_as_a_dictionary_and_sorted_make_them(tmp_path_factory, events, suffix, test_last):
    path = tmp_path_factory.mktemp("log") / f"log{suffix}"
    write(path, events)
    grouped: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events:
        grouped[event[0]].append(event)
    newest = max(moment for _, moment, _ in events)
    trained, late = [], []
    for found in grouped.values():
        found.sort(key=lambda event: event[1])
        is_late = test_last is not None and found[-1][1] > newest - 30
        (late if is_late else trained).append([item for _, _, item in found])
    if test_last and not trained:
        with pytest.raises(OptionError, match="all of the"):
            read(path, test_last)
    else:
        assert read(path, test_last) == (sorted(trained), sorted(late))


def test_many_events_go_to_disk_in_portions(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 100)
    events = [(f"s{n % 300}", n, f"i{n % 7}") for n in range(5_000)]
    write(tmp_path / "log.csv", events)
    trained, late = read(tmp_path / "log.csv", "10%")
    assert len(late) == 30
    assert len(trained) == 270
    assert read(tmp_path / "log.csv", order_by="as-read") == (sorted(trained + late), [])


BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        lambda hours: (BEGIN + timedelta(hours=hours)).isoformat(),
        lambda hours: (BEGIN + timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M:%S"),
        lambda hours: BEGIN.timestamp() + 3600 * hours + 0.25,
        lambda hours: int(1e3 * (BEGIN.timestamp() + 3600 * hours)),
        lambda hours: int(BEGIN.timestamp() + 3600 * hours) * 10**9,
    ],
    ids=["ISO 8601", "without a zone", "seconds", "milliseconds", "nanoseconds"],
)
def test_a_day_is_a_day_in_any_notation(tmp_path, written):
    hours = {"a": 0, "b": 23, "c": 25, "d": 48}
    lines = [{"who": who, "t": written(hour), "item": 17} for who, hour in hours.items()]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    trained, late = read(tmp_path / "log.jsonl", "1d")
    assert (len(trained), len(late)) == (2, 2)
    assert trained[0] == ["17"]


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d%H%M%S"])
def test_a_date_without_signs_is_no_number_of_seconds(tmp_path, form):
    lines = [
        {"who": n, "t": int((BEGIN + timedelta(days=n)).strftime(form)), "item": 17} for n in range(9999)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(OptionError, match="looks like a date"):
        read(tmp_path / "log.jsonl", "1d")
    assert len(read(tmp_path / "log.jsonl", "1%")[1]) == 100


def test_events_that_cannot_be_used_are_counted(tmp_path):
    rows = [("a", 1, "x"), ("a", "soon", "y"), ("a", "inf", "y"), ("", 2, "x"), ("b", 3, ""), ("b", 4, "z")]
    with (tmp_path / "log.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("who", "t", "item"), *rows])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert read(tmp_path / "log.csv")[0] == [["x"], ["z"]]
    assert any("2 of 6" in str(one.message) and "'soon'" in str(one.message) for one in told)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"test_last": "10%"}, "group_by"),
        ({"group_by": "who", "order_by": "t"}, "group_by"),
        ({"group_by": "who", "order_by": "t", "field": ("a", "b")}, "field"),
        ({"group_by": "who", "order_by": "t", "field": "item", "test_last": "soon"}, "soon"),
        ({"group_by": "who", "order_by": "t", "field": "item", "test_last": "100%"}, "100%"),
    ],
)
def test_wrong_options_name_themselves(given, named):
    with pytest.raises(OptionError, match=named):
        TextOptions(tokenizer="whitespace", **given)


def test_a_sorted_log_belongs_to_what_was_made_of_it(tmp_path):
    """Its temporary files take as much room as the log: they go with the model, which may judge by it."""
    path = tmp_path / "log.csv"
    write(path, [(f"s{n}", 10 * n + k, ITEMS[(n + k) % 4]) for n in range(30) for k in range(3)])
    config = TrainConfig(
        model="skipgram", vector_size=4, min_count=1, epochs=1, workers=1, tokenizer="whitespace",
        field="item", group_by="who", order_by="t", test_last="10%",
    )  # fmt: skip
    model = train(str(path), config)
    assert len(list(model.sorted_log.held_out())) == 3
    assert pickle.loads(pickle.dumps(model)).sorted_log is None
    log = weakref.ref(model.sorted_log)
    del model
    gc.collect()
    assert log() is None
