"""A shop from the command line: ``cawv train --for items`` and ``cawv eval --tasks next-item``."""

import re
from pathlib import Path

import numpy as np

from wordvec_ca import KeyedVectors
from wordvec_ca.tables import NgramIndex, NgramVectors
from wordvec_ca.text import Sessions


def test_a_shop_of_known_answer(command):
    """Sessions stay in one of ten departments of eight items, so only the department can be predicted."""
    rng = np.random.default_rng(0)
    sessions = [" ".join(f"Item{d}-{n}" for n in rng.choice(8, 5)) for d in rng.choice(10, 3_000)]
    for part, lines in (("train", sessions[:2_500]), ("test", sessions[2_500:])):
        Path(f"shop.{part}.txt").write_text("\n".join(lines) + "\n")
    options = ("--for", "items", "--workers", 1, "--epochs", 5, "--window", "all", "-q")
    assert command("train", "shop.train.txt", *options, "-o", "m").code == 0
    settings = set(Path("m/run.toml").read_text().splitlines())
    assert {'tokenizer = "whitespace"', "epochs = 5", 'window = "all"'} <= settings
    sequences = ("--sequences", "shop.train.txt", "--sequences", "shop.test.txt")
    outcome = command("eval", "m", "--tasks", "next-item", *sequences, "--json", "-q")
    [report] = outcome.records
    figures = {name: metric["value"] for name, metric in report["metrics"].items()}
    assert figures["hit-rate@10"] == 1.0  # the seven other items of the department are the nearest
    assert figures["co-occurrence"] == 1.0
    assert figures["popularity"] < 0.3
    shown = command("eval", "m", "--tasks", "next-item", *sequences, "-q").out
    assert "followers" in shown
    assert "mrr@10" not in shown


def test_a_log_is_sorted_once(command, monkeypatch):
    """The sessions that training has left out are judged without reading the log again."""
    rows = [f"{60 * n + k},s{n},item {(n + k) % 9}" for n in range(300) for k in range(4)]
    Path("log.csv").write_text("\n".join(["time,session,item", *rows]) + "\n")
    sorted_logs, sort = [], Sessions._sort
    monkeypatch.setattr(Sessions, "_sort", lambda self: (sorted_logs.append(self), sort(self))[1])
    log = ("--group-by", "session", "--order-by", "time", "--field", "item", "--test-last", "10%")
    for name in ("m", "n"):
        trained = command("train", "log.csv", "--for", "items", *log, "--vector-size", 8, "-o", name)
        assert "hit-rate@10" in trained.out
    assert len(sorted_logs) == 2


def test_from_the_log_to_the_shelf(command):
    """Sessions stay on one of four shelves: what is recommended is on that shelf and in stock."""
    rng = np.random.default_rng(1)
    rows = [
        f"{86_400 * (n // 100) + 30 * k},s{n},shelf {shelf} item {item}"
        for n in range(500)
        for shelf in [rng.choice(4)]
        for k, item in enumerate(rng.choice(8, 5))
    ]
    Path("log.csv").write_text("\n".join(["time,session,item", *rng.permutation(rows)]) + "\n")
    log = ("--group-by", "session", "--order-by", "time", "--field", "item", "--test-last", "1d")
    options = ("--for", "items", "--workers", 1, "--vector-size", 20)
    trained = command("train", "log.csv", *options, *log, "-o", "m").says(
        0, "100 sessions held out", "recommend m"
    )
    assert "hit-rate@10" in trained.out
    assert "co-occurrence" in trained.out
    again = command("train", "log.csv", *options, *log, "-o", "m", "--overwrite", "-q")
    assert again.out == "m\n"
    held_out = command("info", "m", "--json").json["held_out"]  # stored, also where nothing is shown
    assert f"{held_out['metrics']['hit-rate@10']['value']:.3f}" in trained.out
    assert "followers" in command("info", "m").out
    assert command("info", "m", "--check").code == 0

    # the next day: the model remembers the fields of its log, and notices a day that it knows already
    Path("day.2.csv").write_text(re.sub(r",s(\d)", r",t\1", Path("log.csv").read_text()))
    [judged] = command("eval", "m", "--sequences", "day.2.csv", "--json", "-q").records
    assert judged["details"]["sequences"] == 500
    more = ("--continue-from", "m", "--epochs", 1)
    outcome = command("train", "day.2.csv", *more, "-o", "two").says(0, "--order-by time", "32 items")
    assert "learned" not in outcome.err
    Path("renamed.csv").write_bytes(Path("day.2.csv").read_bytes())
    for name in ("renamed.csv", "log.csv"):
        again = ("train", name, "--continue-from", "two", "--epochs", 1, "--test-last", "1d", "-q")
        command(*again, "-o", "o", "--overwrite").says(0, f"{name}' was already learned")

    basket = ("--basket", "shelf 1 item 0, shelf 1 item 3")
    Path("names.tsv").write_text("id\tname\nshelf 1 item 5\tGreen tea\n")
    Path("stock.txt").write_text("".join(f"shelf 1 item {n}\n" for n in (0, 5, 6)) + "shelf 2 item 1\n")
    found = command(
        "recommend", "m", *basket, "-n", 3, "--allow", "stock.txt", "--names", "names.tsv", "--json"
    ).json
    assert [item["item"] for item in found["items"]][2:] == ["shelf 2 item 1"]
    assert {"item", "score", "name"} == set(
        *(item for item in found["items"] if item["item"] == "shelf 1 item 5")
    )
    assert command("explore", "m", "--names", "names.tsv", "--method", "pca").code == 0
    page = Path("m/words.html").read_text()
    assert '"Green tea (shelf 1 item 5)"' in page
    assert "Map of items" in page
    for name in ("all.csv", "all.jsonl"):
        assert command("recommend", "m", "-n", 2, "-o", name).code == 0
        assert len(Path(name).read_text().splitlines()) == 2 * 32 + (name == "all.csv")
    assert command("recommend", "m", "-o", "all.csv").code != 0  # exists
    assert command("recommend", "m", "--basket", "unknown").code == 1
    Path("stock.csv").write_text("item,stock\nshelf 1 item 5,3\n")
    one = command("recommend", "m", *basket, "--allow", "stock.csv", "--json").json
    assert [item["item"] for item in one["items"]] == ["shelf 1 item 5"]
    Path("prices.csv").write_text("price,item,name\n1.50,shelf 1 item 5,Green tea\n")
    for option in ("--allow", "--names"):
        command("recommend", "m", *basket, option, "prices.csv").says(1, "32 items", "prices.csv", "'price'")
    assert command("recommend", "m").code == 2
    Path("latin1.txt").write_bytes("shelf 1 item 5\ncaf\u00e9\n".encode("latin-1"))
    for option in ("--allow", "--names"):
        command("recommend", "m", *basket, option, "latin1.txt").says(1, "latin1.txt, line 2", "UTF-8")
    late = [f"{86_400 * 9 + 30 * k},late,{item}" for k, item in enumerate([*["shelf 1 item 0"] * 4, "new"])]
    Path("next.csv").write_text("\n".join(["time,session,item", *late]) + "\n")
    further = ("--continue-from", "m", *log[:-2], "--min-count", 3, "--workers", 1, "-o", "day")
    command("train", "next.csv", *further).says(
        0, "32 items began as in", "0 are new", "1 new item still too rare"
    )
    for wrong, option in (("group_by", "--group-by"), ("order_by", "--order-by"), ("field", "--field")):
        columns = {"group_by": "session", "order_by": "time", "field": "item"} | {wrong: "nothing"}
        given = [word for name, column in columns.items() for word in (f"--{name.replace('_', '-')}", column)]
        found = command("train", "log.csv", "--for", "items", *given, "-o", "n", "-q")
        assert {option} == {"--group-by", "--order-by", "--field"} & set(re.findall("--[a-z-]+", found.err))


def test_an_item_with_a_comma_is_a_basket(command):
    KeyedVectors(["Lamp, red", "bike"], np.eye(2, dtype=np.float32)).save("shop.kv")
    assert command("recommend", "shop.kv", "--basket", "Lamp, red", "--json").json["basket"] == ["Lamp, red"]
    command("recommend", "shop.kv", "--basket", "").says(1, "it is empty")
    vectors = NgramVectors(NgramIndex(3, 6, 10, None, 0), np.ones((10, 2), np.float32))
    items = KeyedVectors(["cup", "pot", "tray"], np.eye(3, 2, dtype=np.float32), ngrams=vectors)
    items.save("ngrams.kv")
    assert "cup,pot" in items  # n-grams give each string a vector
    assert command("recommend", "ngrams.kv", "--basket", "cup,pot", "--json").json["basket"] == ["cup", "pot"]
