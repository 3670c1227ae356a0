"""Which form of vectors is published by default, without n-grams, with fitted and with trained ones?

    python scripts/quality/forms.py --data "$CAWV_DATA" --folder forms --log forms.jsonl --words 3,10,30

trains each cell (words, model, seed) once, on one thread, and judges its forms on the sets of the choice;
with --judge on the other ones. What is in --log is not done again; --report
writes the tables of it. RULE was written before any figure.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Runs, Setting, data_files, parser, table, values, write_section
from trained_cells import Judge, Study, cell

from wordvec_ca.eval import read_tagged
from wordvec_ca.eval.tasks import tagging
from wordvec_ca.vectors import KeyedVectors

RULE = """
A form replaces the default (without n-grams: both; with --subwords: input) if, in the mean over CBOW,
skip-gram and attention, three seeds, 3 M words, it is not below the default by more than .005 in any family,
and above it by more than .005 in one; and if with 10 M words, one seed, no family is below by more than .01.
Of several, the one with the highest mean over the families is taken, the simpler one if it is within .003.
N-grams are trained by default only if they pass the same test against the best form without them, trained for
as many CPU seconds. Families and their sets: similarity (ws353_sim, rg65, mturk287, yp130), analogies
(Google's), categories (ap), tagging and induction (UD EWT, dev part), sentiment (SST, SUBJ), sentences (STS
2012 and 2013, SIF). The other sets, among them EWT's test part, are opened after the choice: a default that
loses more than .01 in a family there is not adopted.
"""

CHOICE = {
    "similarity": ("ws353_sim", "rg65", "mturk287", "yp130"),
    "analogy": ("questions-words",),
    "categorization": ("ap",),
    "sentiment": ("sst-binary", "subj"),
    "sts": ("sts2012", "sts2013"),
    "tagging": ("dev",),
    "pos-induction": ("dev",),
}
OTHERS = {
    "similarity": ("ws353_rel", "verb143"),
    "categorization": ("essli-2008",),
    "sentiment": ("mr", "trec"),
    "sts": ("sts2014",),
    "tagging": ("test",),
    "pos-induction": ("test",),
}
TAGGED = {"dev": ("ud_ewt.dev.tsv", 3), "test": ("ud_ewt.test.tsv", 3), "wsj": ("wsj_sample.tsv", 2)}
"""Tagged corpora: file, column of the tags."""

PLAIN = ("input", "both", "input, fitted", "both, fitted")
TRAINED = ("input", "both")


def cells(words: int) -> Iterator[tuple[Setting, tuple[str, ...]]]:
    """Yield the cells of a size of the text, and their forms."""
    models = ("cbow-attn",) if words == 30 else ("cbow", "skipgram", "cbow-attn")
    for seed in range(1, 4 if words == 3 else 2):
        for model in models:
            yield cell(words, 100, model, seed), PLAIN
            yield cell(words, 100, f"{model}, n-grams", seed), TRAINED


def judge(of: Judge, vectors: KeyedVectors, sets: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """Return the mean of each family over its sets; items of words are those whose words are known."""
    found = {}
    # with n-grams every item would be judged, and the pairs of rare words are harder: all get the same items
    known = KeyedVectors(vectors.index_to_key, vectors.vectors, vectors.counts)
    for task, names in sets.items():
        if task == "tagging":
            files = [TAGGED[name] for name in names]
            corpora = [read_tagged(of.data / "pos" / name, tag_column=column) for name, column in files]
            each = [tagging.evaluate(vectors, tagging.divided(one), sizes=()).value for one in corpora]
        elif task == "pos-induction":
            each = [of.induction(vectors, *TAGGED[name]) for name in names]
        elif task == "sts":
            each = [of.sentences(vectors, *names)["SIF"]]
        elif task == "sentiment":
            each = [of.value(vectors, task, name) for name in names]
        else:
            each = [of.value(known, task, name) for name in names]
        found[task] = statistics.fmean(each)
    return found


def made(study: Study, setting: Setting, form: str) -> KeyedVectors:
    """Return the vectors of a cell in a form."""
    base, _, fitted = form.partition(", ")
    vectors = KeyedVectors.load(study.place(setting), vectors=base)
    return vectors.with_fitted_ngrams() if fitted else vectors


def beside_glove(study: Study, of: Judge, runs: Runs) -> None:
    """Judge attention of 30 M words and GloVe of 6,000 M on the words that both have, each set by itself."""
    glove = KeyedVectors.load(of.data / "vectors" / "glove.6B.100d.100k.txt.xz")
    attention = cell(30, 100, "cbow-attn", 1)
    of_ngrams = cell(30, 100, "cbow-attn, n-grams", 1)
    words = set(KeyedVectors.load(study.place(attention)).index_to_key)
    common = [word for word in glove.index_to_key if word in words]
    # GloVe's file has no counts: SIF and the fit take them from the text of attention, for both
    counts_of = KeyedVectors.load(study.place(attention))
    makers = {
        "GloVe": lambda: glove,
        "attention, both": lambda: made(study, attention, "both"),
        "attention, both, fitted": lambda: made(study, attention, "both, fitted"),
        "GloVe, fitted": glove.with_fitted_ngrams,
        "attention, n-grams, both": lambda: made(study, of_ngrams, "both"),
    }
    sets = [
        (task, name) for chosen in (CHOICE, OTHERS) for task, names in chosen.items() for name in names
    ] + [("pos-induction", "wsj"), ("tagging", "wsj")]
    for label, make in makers.items():
        if "n-grams" in label and not (study.place(of_ngrams) / "config.json").exists():
            continue

        def judged(_: Setting, make: Callable[[], KeyedVectors] = make) -> dict[str, float]:
            vectors = make()
            rows = vectors.vectors[[vectors.key_to_index[word] for word in common]]
            counts = counts_of.counts[[counts_of.key_to_index[word] for word in common]]
            vectors = KeyedVectors(common, rows, counts)
            return {f"{task} {name}": judge(of, vectors, {task: (name,)})[task] for task, name in sets}

        runs.outcome({"words": 30, "beside": "GloVe", "vectors": label, "common": len(common)}, judged)


HEADS = {
    ("", "input"): "W",
    ("", "both"): "both",
    ("", "both, fitted"): "fitted",
    (", n-grams", "input"): "n-grams W",
    (", n-grams", "both"): "n-grams both",
}
NOTE = """
3 M words of Wikipedia, 100 numbers, five epochs, one thread, the mean of the seeds. Families and sets are
those of RULE in scripts/quality/forms.py; pairs, questions and classes only of words that the vocabulary has,
for all forms alike. fitted: n-grams fitted to *both* (l = .5). CPU seconds are of training alone.
"""
BESIDE = """
Attention, 30 M words, 100 numbers, one seed, beside GloVe 6B (6,000 M words, 100 numbers, its 100,000 first
words): all are cut to the 75,163 words that both vocabularies have, and have the same counts. N-grams were
fitted before, with *l* = .5. Induction: the mean of three restarts.
"""


def report(page: Path, runs: Runs) -> None:
    """Write the tables of what is in the log."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    beside: dict[str, dict[str, float]] = {}
    for record in runs.done.values():
        setting = record["setting"]
        if setting.get("beside") and "refused" not in record:
            beside[setting["vectors"]] = record
        elif setting["words"] == 3 and "refused" not in record:
            cells = found.setdefault((setting["model"], setting["form"]), {})
            figures = {"CPU seconds": record["cpu_seconds"]} if not setting["form"] else record
            for family in ("CPU seconds", *CHOICE):
                if family in figures:
                    cells.setdefault(family, []).append(figures[family])
    body = NOTE.strip()
    means: dict[str, list[list[float]]] = {}
    for model in ("cbow", "skipgram", "cbow-attn"):
        rows = []
        for family in (*CHOICE, "CPU seconds"):
            forms = [(f"{model}{kind}", "" if family == "CPU seconds" else form) for kind, form in HEADS]
            row = [statistics.fmean(found[one][family]) for one in forms]
            means.setdefault(family, []).append(row)
            rows.append([family, *(f"{value:.{1 if family == 'CPU seconds' else 3}f}" for value in row)])
        seeds = min(len(found[f"{model}{kind}", form]["sts"]) for kind, form in HEADS)
        body += f"\n\n**{model}**, {seeds} seeds:\n\n{table(('family', *HEADS.values()), rows)}"
    rows = [
        [family, *(f"{statistics.fmean(values):.3f}" for values in zip(*rows_of, strict=True))]
        for family, rows_of in means.items()
    ]
    body += f"\n\n**mean** of the three models:\n\n{table(('family', *HEADS.values()), rows)}"
    write_section(page, "N-grams, trained and fitted", "default", body)
    sets = [name for name in beside["GloVe"] if " " in name]
    rows = [[name, *(f"{one[name]:.3f}" for one in beside.values())] for name in sets]
    body = f"{BESIDE.strip()}\n\n{table(('set', *beside), rows)}"
    write_section(page, "N-grams, trained and fitted", "beside GloVe", body)


def main() -> None:
    """Train, judge, and log."""
    options = parser(__doc__, "forms", log="forms.jsonl", data=True)
    options.add_argument("--folder", type=Path, default=Path("forms"), help="models")
    options.add_argument("--words", default="3", help="millions of words, separated by commas")
    options.add_argument("--fitted", action="store_true", help="judge fitted forms, too")
    options.add_argument("--judge", action="store_true", help="judge on the sets that the choice left out")
    options.add_argument("--report", action="store_true", help="only write the tables of what is in --log")
    options.add_argument("--beside-glove", action="store_true", help="compare 30 M words with GloVe instead")
    given = options.parse_args()
    [corpus] = data_files(given.data, "corpora/wiki.30M.txt.xz")
    given.folder.mkdir(parents=True, exist_ok=True)
    runs = Runs(given.log, given.minutes)
    of = Judge(given.data)
    study = Study(corpus, given.folder, of, runs)
    sets = OTHERS if given.judge else CHOICE
    if given.report:
        report(given.page, runs)
        return
    if given.beside_glove:
        beside_glove(study, of, runs)
        return
    for words in values(given.words, int):
        for setting, forms in cells(words):
            study.model(setting)
            for form in (one for one in forms if given.fitted or "fitted" not in one):
                runs.outcome(
                    {**setting, "form": form, "sets": "others" if given.judge else "choice"},
                    lambda key: judge(of, made(study, key, key["form"]), sets),
                )


if __name__ == "__main__":
    main()
