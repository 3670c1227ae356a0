"""The page about a model: it is complete, names what is missing, and no word can make it run code."""

import html.parser
import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

import chromium
import numpy as np
import pytest

from wordvec_ca import EmbeddingModel, TrainConfig, Vocab
from wordvec_ca.models import ResolvedConfig
from wordvec_ca.report.attention import relative_attention, word_classes
from wordvec_ca.report.charts import Scale, Series, chart, heat_map
from wordvec_ca.report.page import render
from wordvec_ca.report.run import reproduction
from wordvec_ca.runs import RunRequest, run_request

HOSTILE = [
    "<script>document.title='run'</script>",
    '"><img src=x onerror=alert(1)>',
    "</svg></style>",
    "&amp;",
]
HOSTILE += [
    "\x00\x1b[31m",
    "\u202egnp.exe",
    "https://example.com/x.js",
    "'$(rm)",
    "]]>",
    "<!--",
    "日本",
    "a\tb",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the directory of a cbow-attn model with hostile words and a hostile name."""
    folder = tmp_path_factory.mktemp("report") / "m<i>&amp;"
    rng = np.random.default_rng(1)
    words = HOSTILE + [f"wort{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)] + [".", "7", "1.5"]
    text = [[words[i - 1] for i in rng.zipf(1.4, 15) if i <= len(words)] for _ in range(2_000)]
    config = TrainConfig(model="cbow-attn", vector_size=8, window=4, min_count=1, workers=1, epochs=4)
    told = {"valid": text[:50], "validates": True, "command": "cawv train '<b>'"}
    run_request(RunRequest(config=ResolvedConfig.of(config), corpus=text, output=folder, **told))
    return folder


class Elements(html.parser.HTMLParser):
    """Collects the elements and the text of a page, and checks that they are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "link", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_says_what_there_is_to_say(trained):
    page = render(trained)
    seen = Elements(page)
    for name in ("Training", "Vocabulary", "Attention", "Neighbours", "How to repeat", "Configuration"):
        assert name in seen.text
    record = json.loads((trained / "config.json").read_text())
    assert f"{record['valid_loss_by_epoch'][-1]:.4f}" in seen.text
    assert "cawv train '<b>'" in seen.text
    assert "attention warmup" in seen.text
    assert seen.names.count("svg") == 9
    assert page.count('<svg role="img"') == page.count("<desc>") == 9  # each picture has a description


def test_words_cannot_become_markup_and_nothing_is_fetched(trained):
    seen = Elements(render(trained))
    assert not {"script", "img", "iframe", "object", "a", "base", "form", "video"} & set(seen.names)
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "srcset")]
    assert [value for name, value in seen.attributes if name == "href"] == ["data:,"]
    assert "<script>document.title='run'</script>" in seen.text
    assert "m<i>&amp;" in seen.text
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", seen.text)
    assert r"\x00\x1b[31m" in seen.text
    assert "default-src 'none'" in render(trained)


def test_the_page_opens_in_a_browser_without_errors(trained, tmp_path):
    """Our pages have no script, so every message of the console is an error of the page."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    place = tmp_path / "page.html"
    place.write_text(render(trained), encoding="utf-8")

    def console(path):
        command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
        command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=420,900", "--v=0"]
        command += [f"--screenshot={tmp_path / 'page.png'}", path.as_uri()]
        done = subprocess.run(command, capture_output=True, timeout=120, text=True, errors="replace")
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if "CONSOLE" in line or "Refused" in line]

    broken = tmp_path / "broken.html"  # the check finds an error in a broken page
    broken.write_text(place.read_text("utf-8").replace("</main>", "<script>absent()</script></main>"))
    assert console(broken)
    (tmp_path / "page.png").unlink(missing_ok=True)
    assert console(place) == []
    assert (tmp_path / "page.png").stat().st_size > 20_000


@pytest.mark.skipif(chromium.executable() is None, reason="needs Chromium: apt-get install chromium")
def test_nothing_sticks_out_of_a_narrow_screen(trained, tmp_path):
    (tmp_path / "page.html").write_text(render(trained), encoding="utf-8")
    with chromium.Chromium(str(chromium.executable())) as browser:
        browser.resize(390)
        browser.open((tmp_path / "page.html").as_uri())
        assert browser.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("attention", ["full", "position", "word"])
def test_relative_attention_is_one_on_average(tmp_path, attention):
    config = TrainConfig(model="cbow-attn", attention=attention, vector_size=4, window=3, workers=1, sample=0)
    made = EmbeddingModel(config, Vocab(["a", "b", "c"], [10, 5, 1]))
    rng = np.random.default_rng(3)
    made.word_logits[:] = rng.normal(size=made.word_logits.shape)
    made.slot_logits[:] = rng.normal(size=made.slot_logits.shape)
    made.initialise()
    made.save(tmp_path / "m")
    found = relative_attention(tmp_path / "m", made.vocab.counts, made.config)
    assert found.weights == pytest.approx([10 / 16, 5 / 16, 1 / 16])
    assert (found.weights @ found.by_word).mean() == pytest.approx(1)
    if attention == "full":
        logits = made.word_logits[:, :6] + made.slot_logits[0, :6]
        assert found.by_word[2, 4] / found.by_word[0, 1] == pytest.approx(
            math.exp(logits[2, 4] - logits[0, 1])
        )
    Elements(render(tmp_path / "m"))


def test_a_command_that_was_not_recorded_has_the_options_of_the_command_line():
    config = ResolvedConfig.of(
        TrainConfig(cbow_mean=False, alpha=0.1, field=("title", "text"), hs=True, workers=1)
    )
    command = reproduction({}, config)["command"]
    assert command == (
        "cawv train CORPUS --model cbow --workers 1 --field title --field text --alpha 0.1 --hs --cbow-sum"
    )


def test_words_are_put_into_classes():
    words = ["the", ".", "of", "1980"] + [f"w{i}" for i in range(1_100)]
    classes = dict(word_classes(words))
    assert classes["punctuation"].tolist() == [1]
    assert classes["numbers"].tolist() == [3]
    assert sum(map(len, classes.values())) == len(words)
    assert [len(rows) for rows in list(classes.values())[2:]] == [48, 950, 104]


@pytest.mark.parametrize("n_words", [1, 2, 40, 3_000])
@pytest.mark.parametrize("kind", ["cbow", "ssg"])
def test_models_without_history_and_of_any_size(tmp_path, kind, n_words):
    words = Vocab([f"wort{i}" for i in range(n_words)], [3] * n_words)
    made = EmbeddingModel(TrainConfig(model=kind, vector_size=2, window=2, workers=1), words)
    made.save(tmp_path / "m")  # all vectors are zero
    seen = Elements(render(tmp_path / "m"))
    assert "no history" in seen.text
    assert "its vector has no direction" in seen.text
    assert "cawv train CORPUS --model" in seen.text
    assert "nan" not in seen.text


def test_the_command(trained, command):
    assert command("report", trained).says(0).out == f"{trained / 'report.html'}\n"
    assert "<!DOCTYPE html>" in command("report", trained, "-o", "-").out
    command("report", trained, "-o", "page.html").says(0)
    command("report", trained, "-o", "page.html").says(2, "--overwrite")
    assert "cawv explore" in Path("page.html").read_text("utf-8")
    command("explore", trained, "--method", "pca", "--no-cache", "-q").says(0)
    command("report", trained, "-o", "page.html", "--overwrite").says(0)
    link = re.search('href="([^"]*words.html)"', Path("page.html").read_text("utf-8"))
    assert Path(unquote(link[1])).samefile(trained / "words.html")
    model = EmbeddingModel.load(trained)
    model.save(trained, overwrite=True)  # a report within does not protect a model
    Path("none").mkdir()
    command("report", "none").says(1)


def test_ticks_are_round_and_within():
    for low, high in [(0, 1), (1.93, 2.74), (-3, 17), (0, 9.7e5), (0.0399, 0.04)]:
        ticks = Scale(low, high, 0, 100).ticks()
        assert 2 <= len(ticks) <= 8
        assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    assert Scale(1, 50_000, 0, 100, log=True).ticks() == [1, 10, 100, 1_000, 10_000]
    assert Scale(1, 100, 0, 100, log=True).place(10) == pytest.approx(50)


def test_a_chart_leaves_gaps_where_nothing_is_known():
    drawn = chart("t", "d", [Series("s", [1, 2, 3, 4, 5], [1, 2, math.nan, 2, 1])], "x", "y")
    assert drawn.count('class="mark0"') == 2
    assert "nan" not in drawn
    assert chart("t", "d", [Series("s", [1], [math.nan])], "x", "y") == ""


def test_a_few_extremes_do_not_make_a_heat_map_pale():
    drawn = heat_map("t", "d", ["a", "b"], ["1", "2", "3", "4"], [[1, 1, 2, 0.5], [2, 0.5, 2, 1000]])
    assert drawn.count('fill-opacity="1.00"') == 2 + 6  # two ends of the key, and six cells
    assert "≥ 2×" in drawn
