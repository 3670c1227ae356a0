"""The explorer in real browsers: a reader's actions on wide and narrow screens; nothing is fetched."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import chromium
import firefox
import numpy as np
import pytest

from wordvec_ca import KeyedVectors, TrainConfig, attention_weights, axis, explore, train

Browser = chromium.Chromium | firefox.Firefox

HOSTILE = [
    "<script>alert(1)</script>",
    "</script>",
    '"',
    "\u2028",
    "&lt;b&gt;",
    "'+alert(1)+'",
    "שלום",
    "\u202egnp.exe",
    "a" + "\u0301" * 200,
    "👩‍👩‍👧",
    "x" * 10_000,
    "=1+1",
    "a b",
    "c\td\n",
    "\ud800",
]
SUMS = Path(__file__).parents[1] / "vectors" / "word_sums.json"
TOPICS = ["north south east west wind", "bread cheese soup fruit salt", "king queen crown throne court"]
LETTERS = "abcdefghijklmnopqrst"

pytestmark = pytest.mark.xdist_group("browsers")


class Pages(NamedTuple):
    """The pages that are opened: of a model with topics, of the same with another seed, of hostile words."""

    model: Path
    one: Path
    two: Path
    hostile: Path


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Write the pages."""
    folder = tmp_path_factory.mktemp("explorer")
    rng = np.random.default_rng(1)
    topics = [topic.split() + [topic[0] + a + b for a in LETTERS for b in LETTERS[:6]] for topic in TOPICS]
    text = [[topic[i] for i in rng.integers(len(topic), size=12)] for topic in topics for _ in range(500)]
    rng.shuffle(text)
    for seed in (1, 2):
        config = TrainConfig(
            model="cbow-attn", vector_size=16, window=3, min_count=1, workers=1, epochs=3, seed=seed
        )
        train(text, config, output=folder / f"m{seed}", progress=False)
    one = folder / "one.html"
    explore(folder / "m1", method="pca").save(one)
    explore(folder / "m1", folder / "m2", method="pca").save(folder / "two.html")
    vectors = rng.normal(size=(3_000, 50)).astype(np.float32)
    words = [*HOSTILE, *(f"word{i}" for i in range(len(HOSTILE), 3_000))]
    hostile = KeyedVectors(words, vectors)
    hostile.save(folder / "hostile.safetensors")
    explore(hostile, method="pca").save(folder / "hostile.html")
    return Pages(folder / "m1", one, folder / "two.html", folder / "hostile.html")


@pytest.fixture(scope="session", params=[chromium, firefox], ids=["chromium", "firefox"])
def browser(request):
    """Return a headless browser."""
    pytest.importorskip("websocket", reason="the browsers are driven through websocket-client")
    path = request.param.executable()
    if path is None:
        pytest.skip(f"no {request.param.__name__} here; on Debian: apt-get install chromium firefox-esr")
    made = chromium.Chromium if request.param is chromium else firefox.Firefox
    with made(path) as opened:
        yield opened


def visit(browser: Browser, page: Path, width: int = 1280, hash_: str = "") -> None:
    """Open a page and wait until it answers."""
    browser.resize(width, 844 if width < 500 else 800)
    browser.open("about:blank")
    browser.open(page.as_uri() + hash_)
    browser.wait("document.documentElement.dataset.ready == 'yes'")


def words_of(browser: Browser, selector: str = "#content tbody .word") -> list[str]:
    """Return the texts of elements."""
    return browser.evaluate(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)")  # type: ignore[no-any-return]


def same(found: list[str], expected: list[str]) -> bool:
    """Return whether lists of neighbours differ in at most one word, as the page has vectors of ten bits."""
    return len(found) == len(expected) and len(set(found) & set(expected)) >= len(expected) - 1


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_reader_finds_neighbours_goes_on_and_back(browser, pages, width, theme, tmp_path):
    visit(browser, pages.one, width)
    if browser.evaluate("document.documentElement.dataset.theme") != theme:
        browser.click("#theme")
    assert browser.evaluate("document.documentElement.dataset.theme") == theme
    browser.click("#query")
    browser.type("QUEE")  # case does not matter
    browser.wait("document.querySelectorAll('#suggestions li').length > 0")
    browser.press("ArrowDown")
    browser.press("Enter")
    browser.wait("document.querySelector('#content h2')?.textContent == 'queen'")
    expected = [word for word, _ in KeyedVectors.load(pages.model).most_similar("queen", topn=20)]
    assert same(words_of(browser), expected)
    assert browser.evaluate("location.hash") == "#word=queen"
    first = words_of(browser)[0]
    browser.click("#content tbody .word")
    browser.wait(f"document.querySelector('#content h2').textContent == {first!r}")
    browser.evaluate("history.back()")
    browser.wait("document.querySelector('#content h2')?.textContent == 'queen'")
    wider = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
    assert browser.evaluate(wider) <= 0
    browser.click("#whole")
    # until points are drawn
    browser.wait("explorer.map.view.scale == 1 && new Set(explorer.map.pixels).size > 20")
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000
    assert browser.complaints == []


def test_a_click_on_the_map_and_a_lasso_find_words(browser, pages):
    visit(browser, pages.one)
    row = browser.evaluate("explorer.vocabulary.find('cheese')")
    browser.evaluate(f"explorer.map.setView({{x: explorer.map.places[2 * {row}], "
                     f"y: explorer.map.places[2 * {row} + 1], scale: 300}})")  # fmt: skip
    x, y = browser.evaluate("(b => [b.x + b.width / 2, b.y + b.height / 2])(points.getBoundingClientRect())")
    browser.drag([(x, y)])
    browser.wait("document.querySelector('#content h2')?.textContent == 'cheese'")
    browser.evaluate("(explorer.map.turn++, explorer.map.setView({x: .5, y: .5, scale: 1}))")
    browser.click("#lasso")
    browser.drag([(x + 420, y - 380), (x + 420, y + 380), (x - 420, y + 380), (x - 420, y - 380)])
    browser.wait("document.querySelector('#tab-selection').getAttribute('aria-selected') == 'true'")
    n_words = len(KeyedVectors.load(pages.model))
    assert browser.evaluate("document.querySelector('#content h2').textContent") == f"{n_words} words"
    assert len(words_of(browser, "#selected .word")) == 200
    browser.evaluate("explorer.select([0, 1, 2])")
    assert browser.evaluate("[...explorer.marked].reduce((a, b) => a + b)") == 3
    assert browser.complaints == []


def test_attention_on_a_typed_sentence_is_that_of_the_model(browser, pages):
    visit(browser, pages.one)
    browser.click("#tab-sentence")
    browser.click("#sentence")
    sentence = "north south unheard east west wind salt king"
    browser.type(sentence)
    tokens = sentence.split()
    browser.wait(f"document.querySelectorAll('#targets li').length >= {len(tokens)}")
    for target in (0, 3, 7):
        browser.click(f"#targets li:nth-child({target + 1}) button")
        expected = [w.weight for w in attention_weights(pages.model, tokens, target) if w.weight is not None]
        browser.wait(f"document.querySelectorAll('[data-weight]').length == {len(expected)}")
        shown = browser.evaluate(
            "[...document.querySelectorAll('[data-weight]')].map(e => +e.dataset.weight)"
        )
        assert shown == pytest.approx(expected, abs=1e-3)
    browser.click("#sentence")
    browser.type(" queen")
    browser.wait("document.querySelectorAll('#targets li').length >= 9")
    assert browser.complaints == []


def test_two_models_are_compared(browser, pages):
    visit(browser, pages.two, hash_="#word=queen")
    models = [KeyedVectors.load(pages.model.with_name(name)) for name in ("m1", "m2")]
    near = [[word for word, _ in model.most_similar("queen", topn=20)] for model in models]
    found = words_of(browser)
    assert same(found[:20], near[0])
    assert same(found[20:], near[1])
    common = set(found[:20]) & set(found[20:])
    assert f"{len(common)} of 20" in browser.evaluate("document.querySelector('#content').textContent")
    assert set(words_of(browser, "#content .both .word")) == common
    browser.click("#tab-differences")
    assert browser.evaluate("document.querySelectorAll('#content table').length") == 2
    first = browser.evaluate(
        "[...document.querySelector('#content tbody tr').children].map(e => e.textContent)"
    )
    nearest = [model.most_similar(first[0], topn=1)[0] for model in models]
    assert [first[1], first[3]] == [word for word, _ in nearest]
    cosines = [float(cosine.replace("−", "-")) for cosine in (first[2], first[4])]
    assert cosines == pytest.approx([cosine for _, cosine in nearest], abs=0.006)
    told = words_of(browser, "#made dd")
    assert "cbow-attn · " in told[0]
    assert [fact.rsplit(" · ", 1)[1] for fact in told] == ["seed 1", "seed 2"]
    assert "chance" in browser.evaluate("document.querySelector('#content p:nth-of-type(2)').textContent")
    browser.click("#tab-words")
    browser.evaluate("(model.value = 1, model.dispatchEvent(new Event('change')))")
    browser.wait("explorer.map.places === explorer.places[1]")
    assert browser.complaints == []


def test_the_search_box_is_replaced_by_what_is_typed_and_restored(browser, pages):
    visit(browser, pages.one, hash_="#word=queen")
    browser.click("#query")
    browser.type("kingq")  # not "queenkingq"
    assert browser.evaluate("query.value") == "kingq"
    assert words_of(browser, "#suggestions:not([hidden]) li") == ["No such word"]
    browser.press("Enter")
    browser.wait("explorer.state.kind === 'unknown'")
    browser.press("Escape")
    browser.wait("explorer.state.kind === 'word'")
    assert browser.evaluate("query.value") == "queen"
    browser.type("kingq")
    browser.press("Escape")
    assert browser.evaluate("query.value") == "queen"
    browser.type("king - quee")
    # not "No such word", as a word begins with "quee"
    assert words_of(browser, "#suggestions:not([hidden]) li") == []
    assert browser.complaints == []


def test_escape_clears_poles_and_a_link_keeps_what_is_shown(browser, pages):
    visit(browser, pages.one, hash_="#find=king%20%E2%80%A6%20bread")
    browser.evaluate("points.focus()")
    browser.press("Escape")  # clears the poles
    browser.wait("!explorer.axis && explorer.state.kind === 'none'")
    visit(browser, pages.one, hash_="#word=queen")
    browser.evaluate(
        "(explorer.makeColours('frequency'), explorer.selectRegion(explorer.map.regions[1]),"
        "explorer.map.turn++, explorer.map.setView({x: 0.4, y: 0.6, scale: 2}))"
    )
    address = browser.evaluate("explorer.link()")
    selected = browser.evaluate("[...explorer.marked]")
    visit(browser, pages.one)
    visit(browser, pages.one, hash_="#" + address.partition("#")[2])
    browser.wait("explorer.map.view.scale === 2")
    assert browser.evaluate("[explorer.map.view.x, explorer.map.view.y]") == [0.4, 0.6]
    assert browser.evaluate("colour.value") == "frequency"
    assert browser.evaluate("[...explorer.marked]") == selected
    assert browser.evaluate("explorer.words[explorer.state.row]") == "queen"
    assert browser.evaluate("explorer.link()") == address
    assert browser.complaints == []


def test_a_link_restores_lasso_sentence_and_the_map_of_the_second_model(browser, pages):
    visit(browser, pages.two, hash_="#word=queen")
    browser.evaluate(
        "(explorer.showMapOf(1, 0), explorer.selectWithin(explorer.map.inView()),"
        "explorer.map.turn++, explorer.map.setView({x: 0.5, y: 0.5, scale: 3}))"
    )
    browser.evaluate("explorer.selectWithin([[-.1, -.1], [.5, -.1], [.51, 1.1], [-.1, 1.1]])")
    selected = browser.evaluate("explorer.panels.selection")
    assert 0 < len(selected) < browser.evaluate("explorer.n")
    browser.click("#tab-sentence")
    browser.click("#sentence")
    browser.type("king & queen + 100 % bread")
    browser.click("#targets li:nth-child(3) button")
    address = browser.evaluate("explorer.link()")
    visit(browser, pages.two, hash_="#" + address.partition("#")[2])
    assert browser.evaluate("explorer.panels.selection") == selected
    assert browser.evaluate("explorer.map.places === explorer.places[1] && model.value === '1'")
    assert browser.evaluate("sentence.value") == "king & queen + 100 % bread"
    assert browser.evaluate("document.querySelector('#targets [aria-pressed=true]').textContent") == "queen"
    assert browser.evaluate("explorer.words[explorer.state.row]") == "queen"
    assert browser.evaluate("explorer.link()") == address
    browser.resize(390, 844)
    browser.evaluate("explorer.panels.sentence = 'north south east west wind '.repeat(3)")
    browser.evaluate("explorer.show('sentence')")
    browser.wait("document.querySelector('.grid').scrollWidth > document.querySelector('.grid').clientWidth")
    browser.wait("!document.querySelector('details .soft').hidden")  # the hint
    assert browser.complaints == []


def test_the_name_of_a_region_selects_its_words_until_they_are_cleared(browser, pages):
    visit(browser, pages.one)
    for level, scale in enumerate((1, 3)):  # coarse regions, and finer ones
        browser.evaluate(  # the boxes of the old view are removed, to wait for those of the new one
            f"(([, x, y]) => (explorer.map.setView({{x, y, scale: {scale}}}), explorer.map.named = []))"
            f"(explorer.map.regions.find(region => region[0] === {level}))"
        )
        browser.wait(f"explorer.map.named[0]?.[1][0] === {level}")
        (west, north, east, south), region = browser.evaluate(
            "(({width, height, named}) => named.map(([box, region]) => [Math.hypot("
            "(box[0] + box[2] - width) / 2, (box[1] + box[3] - height) / 2), box, region])"
            ".sort(([one], [other]) => one - other)[0].slice(1))(explorer.map)"
        )
        left, top = browser.evaluate("(b => [b.x, b.y])(points.getBoundingClientRect())")
        browser.drag([(left + (west + east) / 2, top + (north + south) / 2)])
        browser.wait(
            f"document.querySelector('#content h2 + p')?.textContent == 'A region of {region[4]} words.'"
        )
        name = browser.evaluate(f"{region[3]}.map(row => explorer.words[row]).join(' · ')")
        assert browser.evaluate("document.querySelector('#content h2').textContent") == name
        assert browser.evaluate(f"{region[3]}.every(row => explorer.marked[row])")
    browser.click("#content .regions button")
    size = browser.evaluate("explorer.panels.selection.length")
    browser.click("#selected .word")
    browser.wait("explorer.state.kind === 'word'")
    browser.click("#tab-selection")
    assert (
        browser.evaluate("document.querySelector('#content h2 + p').textContent")
        == f"A region of {size} words."
    )
    browser.click("#content .actions button:last-child")
    assert browser.evaluate("explorer.marked") is None
    assert browser.complaints == []


def test_sums_poles_and_unknown_words(browser, pages):
    visit(browser, pages.one, hash_="#find=king%20-%20queen%20%2B%20bread")
    expected = KeyedVectors.load(pages.model).most_similar(["king", "bread"], ["queen"], topn=20)
    assert same(words_of(browser), [word for word, _ in expected])
    visit(browser, pages.one, hash_="#find=king%20%E2%80%A6%20bread")
    assert browser.evaluate("document.querySelector('#colour').value") == "axis"
    assert browser.evaluate("document.querySelectorAll('#content table').length") == 2
    vectors = KeyedVectors.load(pages.model)
    words = browser.evaluate("explorer.words")
    projected = {one.word: one.value for one in axis(vectors, [("king", "bread")]).project(words)}
    np.testing.assert_allclose(
        browser.evaluate("[...explorer.axis.line]"), [projected[word] for word in words], atol=0.005
    )
    visit(browser, pages.one, hash_="#find=queeen")
    assert "queen" in words_of(browser, "#content .words button")
    assert browser.complaints == []


def test_sums_are_read_as_in_python(browser, pages):
    given = json.loads(SUMS.read_text("utf-8"))
    visit(browser, pages.one)
    for text, expected in given["cases"]:
        found = browser.evaluate(
            f"sumTerms({json.dumps(text)}, word => {json.dumps(given['words'])}.includes(word.toLowerCase()))"
        )
        assert [[term["word"], term["sign"]] for term in found] == expected, text
    visit(browser, pages.one, hash_="#find=king-queen%2Bbread")
    typed = words_of(browser)
    visit(browser, pages.one, hash_="#find=king%20-%20queen%20%2B%20bread")
    assert typed == words_of(browser)
    browser.click("#query")
    browser.type("king-que")
    # not "No such word", as a word begins with "que"
    assert words_of(browser, "#suggestions:not([hidden]) li") == []
    assert browser.complaints == []


def test_hostile_words_are_shown_and_do_nothing(browser, pages):
    page = pages.hostile.read_text("utf-8")
    assert page.count("<script>") == 1
    assert "alert(1)</script>" not in page
    visit(browser, pages.hostile)
    browser.evaluate("window.alert = () => document.title = 'run'")
    for row in range(len(HOSTILE)):
        browser.evaluate(f"explorer.go({{word: {row}}})")
        browser.wait(f"explorer.state.row === {row}")
        shown = browser.evaluate("document.querySelector('#content h2').textContent")
        assert shown
        assert not re.search("[\x00-\x1f\u2028\u202e\ud800]", shown)
        heights = browser.evaluate(
            "[...new Set([...document.querySelectorAll('#content tbody tr')].map(e => e.offsetHeight))]"
        )
        assert len(heights) == 1
    browser.evaluate("explorer.select([...Array(20).keys()])")
    heights = browser.evaluate(
        "[...document.querySelectorAll('#selected tbody tr')].map(e => e.offsetHeight)"
    )
    assert len(set(heights)) == 1
    assert browser.evaluate("document.querySelector('#page').scrollWidth <= innerWidth")
    assert browser.evaluate("document.title") != "run"
    assert browser.evaluate("document.querySelectorAll('script:not([type])').length") == 1
    assert browser.complaints == []


def test_the_page_can_reach_nothing(browser, pages):
    visit(browser, pages.one)
    refused = browser.evaluate(
        "new Promise(done => { addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));"
        "fetch('http://127.0.0.1:9/').then(() => done('reached'), () => 0); })"
    )
    assert refused == "connect-src"


def test_neighbours_are_those_of_the_exact_vectors(browser, pages):
    """At least 99 % of them are, for words in noise, whose cosines are as close together as possible."""
    visit(browser, pages.hostile)
    rng = np.random.default_rng(1)
    rows = rng.choice(3_000, 200, replace=False).tolist()
    found = browser.evaluate(
        f"{json.dumps(rows)}.map(row => explorer.models[0].vectors.neighbours(row, 20).map(n => n.row))"
    )
    model = KeyedVectors.load(pages.hostile.with_suffix(".safetensors"))
    exact = [[model.key_to_index[word] for word, _ in model.most_similar(row, topn=20)] for row in rows]
    same = [len(set(a) & set(b)) / 20 for a, b in zip(found, exact, strict=True)]
    assert np.mean(same) >= 0.99
