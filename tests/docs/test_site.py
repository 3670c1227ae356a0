"""The documentation site: it builds, its links lead to pages, and a browser shows it without an error."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import chromium
import pytest

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = (400, 1400)
WIDER = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]  # one process builds the site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the site, just built; a warning of MkDocs is an error."""
    for name in ("mkdocs", "material", "mkdocstrings", "latex2mathml"):
        pytest.importorskip(name, reason="the site needs the extra docs: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """The links, anchors and fetched files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the links, anchors and fetched files of an element."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(found["href"])
        elif tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.fetched.append(found["src"])


def test_every_link_leads_somewhere_and_nothing_is_fetched_from_elsewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 50
    faults = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at a server's root
            continue
        for fetched in page.fetched:
            if (
                not fetched.startswith("data:")
                and not (path.parent / unquote(urlsplit(fetched).path)).is_file()
            ):
                faults.append(f"{path.relative_to(site)} fetches {fetched}")
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if target not in pages and not target.is_file():
                faults.append(f"{path.relative_to(site)}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{path.relative_to(site)}: {link}: no such place on that page")
    assert not faults, "\n".join(faults)


def test_every_command_option_and_public_name_has_its_place(site):
    import click

    from wordvec_ca.cli import group

    context = click.Context(group, info_name="cawv")
    overview = (site / "commands" / "index.html").read_text(encoding="utf-8")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if command.hidden:
            continue
        page = "index-command" if name == "index" else name
        assert f'href="{page}.html"' in overview
        text = (site / "commands" / f"{page}.html").read_text(encoding="utf-8")
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.opts[-1] in text, f"{name}: {option.opts[-1]}"
    sys.path.insert(0, str(ROOT / "scripts" / "site"))
    from imported_names import imported_names

    assert set(imported_names()) <= {path.stem for path in (site / "reference").glob("*.html")}
    anchors = Page(site / "reference" / "vectors.html").anchors
    assert {"wordvec_ca.vectors.KeyedVectors", "wordvec_ca.vectors.KeyedVectors.most_similar"} <= anchors


def test_equations_are_rendered(site):
    text = (site / "models.html").read_text(encoding="utf-8")
    assert text.count("<math") > 20
    assert "\\frac" not in text.replace("\\(", "")
    assert "arithmatex" not in text


@pytest.fixture(scope="module")
def browser():
    """Return a headless browser."""
    path = chromium.executable()
    if path is None:
        pytest.skip("no Chromium here; on Debian: apt-get install chromium")
    pytest.importorskip("websocket", reason="the browser is driven through websocket-client: make docs")
    with chromium.Chromium(path) as made:
        yield made


def test_a_browser_shows_every_page_without_complaint(site, browser):
    """Follow every link from the start page: no error, nothing fetched, nothing wider than the window."""
    start = (site / "index.html").as_uri()
    to_do, seen, faults = [start], {start}, []
    while to_do:
        address = to_do.pop()
        browser.open(address)
        for width in WIDTHS:
            browser.resize(width)
            try:
                browser.wait(f"{WIDER} <= 0", seconds=2)  # the page may need a moment to adapt
            except AssertionError:
                wide = browser.evaluate(WIDER)
                faults.append(f"{address} is {wide} pixels wider than a window of {width}")
        if not browser.evaluate("document.querySelector('h1') !== null"):
            faults.append(f"{address} has no heading")
        faults += [f"{address}: {complaint}" for complaint in browser.complaints]
        seen |= set(browser.evaluate("[...document.querySelectorAll('iframe')].map(f => f.src)"))
        for link in browser.evaluate("[...document.links].map(a => a.href.split('#')[0])"):
            if link.startswith("file:") and link not in seen:
                seen.add(link)
                if link.endswith(".html"):
                    to_do.append(link)
                elif not Path(unquote(urlsplit(link).path)).is_file():
                    faults.append(f"{address} links to {link}, which does not exist")
    assert not faults, "\n".join(faults)
    not_reached = {path.as_uri() for path in site.rglob("*.html")} - seen - {(site / "404.html").as_uri()}
    assert not not_reached, f"no link leads to {not_reached}"


@pytest.mark.parametrize("query", ["checkpoint", "resume"])
def test_search_finds_the_guide_first_without_a_server(site, browser, query):
    browser.open((site / "index.html").as_uri())
    browser.resize(1400)
    browser.evaluate("document.querySelector('input[name=query]').focus()")
    browser.type(query)
    browser.wait("document.querySelectorAll('.md-search-result__item').length > 2")
    found = browser.evaluate("[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)")
    assert "long-runs" in found[0], found
    assert not browser.complaints


def test_a_button_copies_commands_without_prompts_and_output(site, browser):
    browser.open((site / "first-vectors.html").as_uri())
    browser.resize(1400)
    browser.evaluate(
        "document.execCommand = () => { window.copied = document.getSelection().toString()"
        " || document.activeElement.value; return true; }"
    )
    browser.wait("document.querySelector('[data-copy*=antarctica] button') !== null")
    browser.click("[data-copy*=antarctica] button")
    browser.wait("window.copied !== undefined")
    assert browser.evaluate("window.copied") == "cawv nn python.cbow antarctica"
