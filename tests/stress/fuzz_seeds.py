"""Undamaged files that fuzzing starts from, and pieces of the formats that it inserts."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

Files = Mapping[str, bytes]


def small_vectors() -> Any:
    import numpy as np

    from wordvec_ca.vectors import KeyedVectors

    numbers = np.array([[1, -2.5, 1e-7], [0.1, 0, 3e8], [-1, 1, 0.5]], np.float32)
    return KeyedVectors(["the", "wörd", "1/2"], numbers, np.array([9, 3, 1]))


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def saved(save: Callable[[Path], object], name: str = "v") -> dict[str, bytes]:
    """Return the files that a function writes at a place in an empty folder, or in that place if it is a
    folder."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name
        save(place)
        return files_in(place if place.is_dir() else Path(folder))


def seeds_of(form: str, *extra: bytes) -> Iterator[Files]:
    whole = saved(lambda place: small_vectors().save(place, format=form))["v"]
    yield {"v": whole}
    yield {"v": whole.replace(b"\n", b"\r\n")}
    if form in ("word2vec", "word2vec-binary", "glove"):
        yield {"v": gzip.compress(whole)}
    for content in extra:
        yield {"v": content}


def seeds_of_fasttext() -> Iterator[Files]:
    import numpy as np

    from wordvec_ca.formats.fasttext import FastTextModel, Options, write_model

    rng, words = np.random.default_rng(1), [b"</s>", b"the", "wörd".encode()]
    for n_labels, options in ((0, Options(2, bucket=5, minn=2, maxn=3)), (1, Options(2, model=3))):
        n = len(words) - n_labels
        types = np.array([0] * n + [1] * n_labels, np.int8)
        inputs = rng.random((n + options.bucket, 2)).astype(np.float32)
        outputs = rng.random((n_labels or n, 2)).astype(np.float32)
        made = FastTextModel(options, words, np.array([9, 3, 1]), types, 13, inputs, outputs)
        whole = saved(partial(write_model, made))["v"]
        yield {"v": whole}
        yield {"v": gzip.compress(whole)}
        if not n_labels:  # as in 2016: neither magic and version, nor marks of what is pruned or quantised
            rows, at = whole.index(inputs.tobytes()), 8 + 56
            matrices = whole[rows - 16 : rows + inputs.nbytes] + whole[rows + inputs.nbytes + 1 :]
            yield {"v": whole[8 : at + 20] + whole[at + 28 : rows - 17] + matrices}


def seeds_of_classifiers() -> Iterator[Files]:
    import numpy as np

    from wordvec_ca.formats import FastTextModel, FastTextOptions, QuantisedRows, write_fasttext_model

    rng, words = np.random.default_rng(1), [b"</s>", b"the", "wörd".encode(), b"__label__a", b"__label__b"]
    counts, types = np.array([9, 3, 1, 5, 4]), np.array([0, 0, 0, 1, 1], np.int8)

    def codes(n: int, norms: bool) -> QuantisedRows:
        made = rng.integers(0, 256, (n, 2), np.uint8), rng.random(768, np.float32), 3, 2
        own = (rng.integers(0, 256, n, np.uint8), rng.random(256, np.float32)) if norms else (None, None)
        return QuantisedRows(*made, *own)

    for loss, options in (
        (3, {}),
        (1, {"minn": 2, "maxn": 3, "bucket": 5}),
        (4, {"wordNgrams": 2, "bucket": 5}),
    ):
        o = FastTextOptions(3, loss=loss, model=3, **options)
        places = np.array([-1, 1, -1, 0, -1], np.int32) if o.bucket else None
        for inputs, outputs, kept in (
            (rng.random((3 + o.bucket, 3), np.float32), rng.random((2, 3), np.float32), None),
            (codes(3 + 2 * bool(o.bucket), bool(o.bucket)), codes(2, False), places),
        ):
            made = FastTextModel(o, words, counts, types, 13, inputs, outputs, places=kept)
            yield saved(partial(write_fasttext_model, made))


def seeds_of_gensim() -> Iterator[Files]:
    import numpy as np

    kv = small_vectors()
    yield saved(partial(kv.save, format="gensim"))
    whole = kv.to_gensim()
    for protocol in range(5):
        stream = io.BytesIO()
        pickle.Pickler(stream, protocol).dump(whole)
        yield {"v": stream.getvalue()}
    whole.vectors = np.asfortranarray(whole.vectors.astype(">f8"))
    yield {"v": pickle.dumps(whole)}


def small_model(kind: str, tags: Any = None, **options: Any) -> Any:
    from wordvec_ca.corpus import Vocab
    from wordvec_ca.models import EmbeddingModel, Point, TrainConfig

    words = Vocab(["the", "wörd", "1/2"], [9, 3, 1])
    config = TrainConfig(model=kind, vector_size=3, window=2, workers=1, **options)
    made = EmbeddingModel(config, words, tags)
    made.initialise()
    made.history.points = [Point(1.5, 0.5, 1, 600, 0.03, 2.5), Point(3.0, 1.0, 1, 1200, 0.01, 2.25, 2.5, 0.3)]
    return made


def seeds_of_models() -> Iterator[Files]:
    for kind in ("cbow-attn", "ssg", "cwindow"):
        yield saved(small_model(kind).save)


def seeds_of_rare_models() -> Iterator[Files]:
    """Models of documents, with n-grams, and with a tree that words have joined."""
    import numpy as np

    from wordvec_ca.corpus.documents import DocumentTags

    tags = DocumentTags(3, ["1", "wörd", "3/4"])
    models = [small_model(kind, tags) for kind in ("pv-dbow", "pv-dm-attn")]
    models += [small_model("cbow", subwords=True), small_model("cbow", hs=True)]
    models[-1].tree = np.array([[1, 0, 0], [0, 0, 1], [0, 1, 1]])
    for made in models:
        yield saved(made.save)


def seeds_of_drop_ins() -> Iterator[Files]:
    """Files of the drop-in's classes, which ``save`` writes without pickle."""
    from wordvec_ca.gensim.models import FastText, Word2Vec
    from wordvec_ca.gensim.models.doc2vec import Doc2Vec, TaggedDocument

    sentences = [["the", "wörd", "1/2"]] * 9
    small: dict[str, Any] = {"vector_size": 3, "min_count": 1, "workers": 1, "epochs": 1}
    for made in (
        Word2Vec(sentences, **small),
        Word2Vec(sentences, hs=1, negative=0, **small).wv,
        FastText(sentences, bucket=5, **small),
        Doc2Vec([TaggedDocument(words, [f"d{i}"]) for i, words in enumerate(sentences)], **small),
    ):
        yield saved(lambda place, made=made: made.save(str(place)))


def seeds_of_tables() -> Iterator[Files]:
    """Vectors and texts in Parquet and Arrow."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "v.parquet"
        small_vectors().save(path, format="parquet")
        yield files_in(Path(place))
        lists = pa.table({"text": ["the wörd", None], "tokens": [["the", "1/2"], []]})
        for options in ({}, {"compression": "none", "use_dictionary": False}):
            pa.parquet.write_table(lists, path, **options)
            yield files_in(Path(place))
        pa.feather.write_feather(lists, path, compression="zstd")
        yield files_in(Path(place))
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, lists.schema) as stream:
            stream.write_table(lists)
        yield files_in(Path(place))


def seeds_of_csv() -> Iterator[Files]:
    """A table of vectors as pandas writes it."""
    yield {"v.csv": "word,d0,d1,d2\nthe,1,-2.5,1e-7\nwörd,0.1,0,3e8\n".encode()}
    yield {"v.csv": b'token,count,vector\nthe,3,"[1, 2]"\n1/2,1,"[3.5, -4]"\n'}


def seeds_of_arrays() -> Iterator[Files]:
    yield saved(partial(small_vectors().save, format="numpy"), "v.npy")


def seeds_of_zip_archives() -> Iterator[Files]:
    with tempfile.TemporaryDirectory() as place:
        small_vectors().save(Path(place) / "w.vec", format="word2vec")
        for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            stream = io.BytesIO()
            with zipfile.ZipFile(stream, "w", kind) as archive:
                archive.write(Path(place) / "w.vec", "w.vec")
            yield {"v.zip": stream.getvalue()}


def seeds_of_folders() -> Iterator[Files]:
    for form in ("projector", "model2vec", "huggingface", "sentence-transformers"):
        yield saved(partial(small_vectors().save, format=form))


def seeds_of_texts() -> Iterator[Files]:
    """Text as it is read without a name of a format."""
    text = "the wörd 1/2\r\nof the\ta\n\n".encode()
    rows = b"id,text\n1,\"the w\"\n2,\"['a', 'b']\"\n"
    yield {"v": text}
    yield {"v": b"\xff\xfe" + text.decode().encode("utf-16-le")}
    for module in (gzip, bz2, lzma):
        yield {"v": module.compress(text)}
    yield {"v": b'[{"text": "the w", "n": [1]}, {"text": null}]'}
    yield {"v": b'[["the", "a"],\n ["b"]]\n'}
    yield {"v": b'["the", "a"]\n[1, 2]\n'}
    yield {"v": b"", "v.csv": rows}
    yield {"v": b"", "v.tsv": rows.replace(b",", b"\t")}


def seeds_of_word_lists() -> Iterator[Files]:
    yield {"v": "new york\t9\nthe wörd 1/2\t3\n".encode()}
    yield {"v": b"the\tgood\nof\tbad\n"}
    yield {"v": b"cat dog\nthe of\n"}


def seeds_of_fits() -> Iterator[Files]:
    """What is kept of fitted sentence vectors."""
    from wordvec_ca.sentences import SentenceVectorizer

    for method in ("usif", "ca-sem-sif"):
        fitted = SentenceVectorizer(vectors_of_sentences(), method=method)
        fitted.fit(["the wörd", "the 1/2", "wörd wörd the"])
        yield saved(fitted.save)


def seeds_of_runs() -> Iterator[Files]:
    """The record of an unfinished run, and settings."""
    from wordvec_ca.files import Storage
    from wordvec_ca.models import ResolvedConfig, TrainConfig
    from wordvec_ca.runs import RunRequest

    with tempfile.TemporaryDirectory() as place:
        text, model = Path(place) / "t", Path(place) / "m"
        text.write_text("the")
        config = ResolvedConfig.of(TrainConfig(vector_size=3))
        RunRequest(config=config, corpus=[str(text)], output=model).write_file(Storage(Path(place)))
        yield {"run.json": files_in(Path(place))["run.json"], "run.toml": b'size = 3\nmodel = "cbow"\n'}


@cache
def trainer_of_small_model() -> Any:
    """Return what a checkpoint is read into; made once."""
    import numpy as np

    from wordvec_ca.training import Trainer

    return Trainer(small_model("cbow-attn"), np.array([0, 1, 2, -1] * 300, np.int32))


def seeds_of_checkpoints() -> Iterator[Files]:
    from wordvec_ca.files import Storage
    from wordvec_ca.kernels import STATS
    from wordvec_ca.training.checkpoint import State, write_checkpoint

    trainer, zeros = trainer_of_small_model(), [0.0] * len(STATS)
    points = [[1.5, 0.5, 1, 600, 0.03, 2.5, 2.5, 0.3]]
    state = State(
        *("run", trainer.config.as_dict(), "0", "avx2", "print", 2, 0, 0, 0.5, 1.5, zeros, zeros),
        **{"losses": [2.0], "history": points, "pools": trainer.replica.negatives.plan},
    )
    with tempfile.TemporaryDirectory() as place:
        write_checkpoint(Storage(place), "v", asdict(state), trainer.model.learnt, trainer.model.vocab)
        yield files_in(Path(place))
        with zipfile.ZipFile(Path(place) / "v") as archive:
            yield {name: archive.read(name) for name in archive.namelist()}


def seeds_of_resamples() -> Iterator[Files]:
    import numpy as np

    from wordvec_ca.tables import EightBit, Resamples

    rng, made = np.random.default_rng(1), small_model("cbow-attn")
    codes = [EightBit.empty(3, 3, columns) for columns in (3, 4)]
    for one in codes:
        for number in range(3):
            one.put(number, 0, rng.normal(size=(3, one.codes.shape[2])).astype(np.float32))
    made.resamples = Resamples(*codes, rng.normal(size=(3, 4)).astype(np.float32))
    yield saved(made.save)


@cache
def numbers_of_index() -> Any:
    """Return the rows of which there is an approximate index."""
    import numpy as np

    return np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)


def seeds_of_neighbours() -> Iterator[Files]:
    from wordvec_ca.vectors import ApproximateNeighbours

    yield saved(lambda place: ApproximateNeighbours.build(numbers_of_index(), place, workers=1))


@cache
def vectors_of_sentences() -> Any:
    """Return the word vectors of a search index."""
    return small_vectors()


def seeds_of_search_indexes() -> Iterator[Files]:
    from wordvec_ca.sentences import SearchIndex, SentenceVectorizer

    sentences = ["the wörd", "the 1/2", "unknown", "wörd wörd the"]
    for method in ("mean", "sif"):
        fitted = SentenceVectorizer(vectors_of_sentences(), method=method).fit(sentences)
        yield saved(partial(SearchIndex.build, sentences, fitted))


def seeds_of_caches() -> Iterator[Files]:
    from wordvec_ca.models import TrainConfig
    from wordvec_ca.runs import train

    with tempfile.TemporaryDirectory() as place:
        text = Path(place) / "text"
        text.write_text("the wörd the 1/2\n" * 20)
        options = TrainConfig(min_count=1, epochs=1, vector_size=2, workers=1)
        train(str(text), options, output=Path(place) / "m", cache_dir=Path(place) / "c", keep_cache=True)
        yield from (files_in(path.parent) for path in (Path(place) / "c").rglob("cache.json"))


def seeds_of_dumps() -> Iterator[Files]:
    pages = "".join(
        f"<page><title>T{i}</title><ns>{i // 3}</ns><revision><model>wikitext</model><text bytes='9'>{text}"
        "</text></revision></page>"
        for i, text in enumerate(
            ["''a'' {{b|c}} [[d|e]] &lt;ref&gt;f&lt;/ref&gt;", "#REDIRECT [[x]]", "", "q"]
        )
    )
    site = '<siteinfo><namespaces><namespace key="6">Datei</namespace></namespaces></siteinfo>'
    whole = f'<mediawiki xmlns="x" version="0.11">{site}{pages}</mediawiki>'.encode()
    yield {"v": whole}


def seeds_of_json_lines() -> Iterator[Files]:
    yield {"v": b'{"text": "a b\\u00e9", "n": [1, null]}\n\n{"text": null}\n{"x": {}}\n["text"]\n'}


def seeds_of_vocabularies() -> Iterator[Files]:
    yield {"v": "the\t9\nwörd\t3\n1/2\t1\n".encode()}
    yield {"v": b"the 9\r\nof 3\r\na\\tb 2\n\n"}
    yield {"v": b"\xef\xbb\xbfa\\tb\t9007199254740992\n"}


WORDS = (
    *b"nan inf 1e999 -0.0 99999999999 2147483648 -1 1_0 0x10 \\t \\x null true [] {}".split(),
    *b'"format" "config" "n_words" "model" "window" "vector_size" "attention" "shape" "dtype"'.split(),
    *b'"data_offsets" "F32" "F16" "I64" "U8" "words" "vectors" "counts" "__metadata__"'.split(),
    *b"'descr' '<f4' '|O' '<f8' 'fortran_order' 'shape'".split(),
    *(b"\x93NUMPY\x01\x00", b"\x93NUMPY\x03\x00", b"cos\nsystem\n", b"cbuiltins\neval\n"),
    *(
        b"cnumpy\ndtype\n",
        b"cnumpy\nndarray\n",
        b"\x8c\x0dindex_to_key",
        b"\x8c\x07vectors",
        b"\x93",
        b"\x81",
    ),
    *(b"tR", b"(lp0\n", b"r\xff\xff\xff\x7f", b"\x96\xff\xff\xff\xff\x00", b"(3, 3)"),
)
"""Pieces of the formats that random changes would take long to find."""
