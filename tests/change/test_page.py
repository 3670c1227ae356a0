"""The page of changed words in a browser: it can be searched and sorted; hostile words are shown, not run."""

import chromium
import numpy as np
import pytest

from wordvec_ca.change import Changes, Example, WordChange, changes_page

HOSTILE = [
    "<script>document.title='run'</script>",
    "</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnp",
]
SENTENCES = (
    Example(0, "typical", "a/<one>.txt", 7, "… left of", "word", "</script> right"),
    Example(1, "different", "b/two.txt", 9, "", "word", "of another kind …"),
)
WORDS = [*HOSTILE, *(f"word{i}" for i in range(300))]

pytestmark = pytest.mark.xdist_group("browsers")


def changed(n_texts: int, permutations: int) -> Changes:
    """Return words of which the first three changed; the last one is undecided."""
    known = {
        "change": 0.5, "low": 0.3, "high": 0.7, "distance_rank": 0.3, "turnover_rank": 0.4,
        "trajectory": (0.4, 0.6)[: n_texts - 1], "band": (0.3, 0.3)[: n_texts - 1],
    }  # fmt: skip
    words = [
        WordChange(word, (40 + i,) * n_texts, 0.6 - i / 1000, 0.5, p=(i + 1) / 400,
                   fdr=0.01 if i < 3 else 0.5, changed=i < 3 if permutations else None, examples=SENTENCES,
                   lost=(HOSTILE[1], "word7"), **(known if permutations else {}))
        for i, word in enumerate(WORDS[:-1])
    ]  # fmt: skip
    words.append(WordChange(WORDS[-1], (12,) * n_texts, np.nan, np.nan))
    return Changes(words, [("rare<b>", (3,) * n_texts)], [[("old", 20)], *[[]] * (n_texts - 1)], permutations)


@pytest.mark.skipif(chromium.executable() is None, reason="Chromium is not installed")
@pytest.mark.parametrize(("n_texts", "permutations"), [(2, 20), (3, 20), (2, 0)])
def test_words_are_searched_sorted_and_opened(n_texts, permutations, tmp_path):
    names = ["a/</script>one", "a/two.txt", f"a/{'three-' * 12}.txt"][:n_texts]
    page = tmp_path / "page.html"
    page.write_text(changes_page(changed(n_texts, permutations), names), encoding="utf-8")
    with chromium.Chromium(str(chromium.executable())) as browser:

        def words():
            found = browser.evaluate(
                "[...document.querySelectorAll('#table tbody .name bdi')].map(e => e.textContent)"
            )
            return list(found)

        def choose(menu, beginning):
            browser.evaluate(
                f"(() => {{ const menu = document.getElementById('{menu}');"
                f"menu.value = [...menu.options].find(o => o.text.startsWith('{beginning}')).value;"
                "menu.dispatchEvent(new Event('change')); })()"
            )

        browser.resize(1280)
        browser.open(page.as_uri())
        assert browser.evaluate("document.title").endswith("changed words")
        assert len(words()) == (3 if permutations else 100)
        cards = browser.evaluate("[...document.querySelectorAll('.card')].map(e => e.textContent)")
        assert len(cards) == (3 if permutations else 6)  # the answer first: words that changed
        assert "… left of word </script> right" in cards[0]
        assert "(empty)" not in cards[0]  # a sentence that begins with the word
        assert words()[:3] == WORDS[:3]
        browser.click(".word")
        text = browser.evaluate("document.querySelector('.detail')?.textContent ?? ''")
        assert ("moved less than most words" in text) == bool(permutations)
        assert "typical (<one>.txt:7): … left of word </script> right" in text
        assert "most different (two.txt:9)" in text
        choose("kind", "all")
        assert (len(words()), words()[3]) == (100, "\\u202egnp")
        browser.click("#more")
        assert len(words()) == 200
        choose("order", "most frequent")
        assert words()[0] == WORDS[-2]
        choose("order", "farthest")
        browser.click("#query")
        browser.type("word29")
        assert words() == ["word29", *(f"word29{i}" for i in range(10))]
        browser.click(".word")
        assert (
            browser.evaluate("document.querySelector('.detail').textContent").count("</script>, word7") == 1
        )
        assert bool(browser.evaluate("document.querySelector('.detail svg') !== null")) == (n_texts > 2)
        text = browser.evaluate("document.querySelector('.detail').textContent")
        assert ("more than 30 % of the words of its frequency" in text) == bool(permutations)
        browser.click(".near")
        assert words() == HOSTILE[1::-1]
        choose("kind", "undecided")
        assert browser.evaluate("document.getElementById('said').textContent").startswith("Not here")
        browser.evaluate("document.getElementById('query').value = ''")
        choose("kind", "undecided")
        assert words() == ["rare<b>"]
        browser.resize(390)
        choose("kind", "all")
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert browser.complaints == []
