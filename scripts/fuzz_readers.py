"""Feed damaged and hostile files to one of the readers, guided by coverage, for some minutes.

    pip install atheris
    python scripts/fuzz_readers.py safetensors --minutes 10

A reader may return or raise DataError. Anything else is a finding: another exception, more than 1 GiB of
memory, more than 15 seconds, a crash, or an act that no reader has any business with (starting a program,
opening a socket, writing outside its folder, unpickling by the default rules). Each finding is written once,
with its traceback, to ``--into``/READER/found; ``--replay FILE...`` runs such files again. Small ones become
regression tests: ``tests/fuzz_cases/READER``, which ``tests/test_fuzz.py`` replays.

A new reader is a function of a folder with the files under test, its seeds, and a line in ``READERS``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SEPARATOR = b"\n\x00==FILE==\x00\n"
"""Stands between the files of a reader that takes several; an empty one stands for a missing file."""

MEMORY = 1 << 30
SECONDS = 15
LONGEST = 4096

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Reader:
    """One way into the program.

    Attributes
    ----------
    names : tuple of str
        Files that an input is split into; the first always exists.
    read : callable
        Reads from the folder that holds them.
    seeds : callable
        Returns whole files to start from.
    """

    names: tuple[str, ...]
    read: Callable[[Path], None]
    seeds: Callable[[], Iterator[Files]]

    def join(self, files: Files) -> bytes:
        """Return the files as one input."""
        return SEPARATOR.join(files.get(name, b"") for name in self.names)

    def split(self, data: bytes) -> dict[str, bytes]:
        """Return the files of one input."""
        parts = dict(zip(self.names, data.split(SEPARATOR, len(self.names) - 1), strict=False))
        return {name: part for name, part in parts.items() if part or name == self.names[0]}


# ---- readers ----------------------------------------------------------------------------------------------


def vectors(folder: Path, *, name: str = "v", form: str = "auto") -> None:
    """Load vectors and use them as a command would."""
    from wordvec_ca.keyedvectors import KeyedVectors

    loaded = KeyedVectors.load(folder / name, format=form)
    if len(loaded):
        loaded.most_similar(loaded.index_to_key[0], topn=3)


def model(folder: Path) -> None:
    """Load a model directory in each of the ways that commands do."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.keyedvectors import KeyedVectors
    from wordvec_ca.model import EmbeddingModel, read_attention

    for load in (KeyedVectors.load, EmbeddingModel.load, read_attention):
        with suppress(DataError):
            load(folder)  # type: ignore[operator]


def vocabulary(folder: Path) -> None:
    """Load a vocabulary file."""
    from wordvec_ca.vocab import Vocab

    Vocab.load(folder / "v")


@cache
def trainer_of_small_model() -> Any:
    """Return what a checkpoint is read into; made once."""
    import numpy as np

    from wordvec_ca.trainer import Trainer

    return Trainer(small_model("cbow-attn"), np.array([0, 1, 2, -1] * 300, np.int32))


def checkpoint(folder: Path) -> None:
    """Go on from a checkpoint: a file, or one put together of its members so that their sums are right."""
    from wordvec_ca.checkpoint import read_checkpoint

    place = folder / "v"
    members = [path for path in folder.iterdir() if path != place]
    if members:
        with zipfile.ZipFile(place, "w") as archive:
            for path in members:
                archive.write(path, path.name)
    trainer = trainer_of_small_model()
    trainer.restore(read_checkpoint(place, trainer.model))


def dump(folder: Path) -> None:
    """Take the articles out of a dump. Processes with limits remove markup; here only that of short pages."""
    from wordvec_ca.mediawiki_dump import Pages
    from wordvec_ca.wikitext import plain_text

    data = (folder / "v").read_bytes()
    pieces = (data[i : i + 97] for i in range(0, len(data), 97))
    for page in Pages("v", Counter()).read(pieces):
        if len(page.wikitext) < 200:
            with suppress(RecursionError, LookupError, ValueError, TypeError):  # as its process does
                plain_text(page.wikitext)


def json_lines(folder: Path) -> None:
    """Take the texts out of JSON lines."""
    from wordvec_ca.json_lines import field_texts, looks_like_json_lines

    data = (folder / "v").read_bytes()
    looks_like_json_lines(data)
    pieces = (data[i : i + 31] for i in range(0, len(data), 31))
    deque(field_texts(pieces, "text", "v", Counter()), maxlen=0)


# ---- seeds ------------------------------------------------------------------------------------------------


def small_vectors() -> Any:
    import numpy as np

    from wordvec_ca.keyedvectors import KeyedVectors

    numbers = np.array([[1, -2.5, 1e-7], [0.1, 0, 3e8], [-1, 1, 0.5]], np.float32)
    return KeyedVectors(["the", "wörd", "1/2"], numbers, np.array([9, 3, 1]))


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def seeds_of(form: str, *extra: bytes) -> Iterator[Files]:
    with tempfile.TemporaryDirectory() as place:
        small_vectors().save(Path(place) / "v", format=form)
        whole = files_in(Path(place))["v"]
    yield {"v": whole}
    yield {"v": whole.replace(b"\n", b"\r\n")}
    if form in ("word2vec", "word2vec-binary", "glove"):
        yield {"v": gzip.compress(whole)}
    for content in extra:
        yield {"v": content}


def seeds_of_gensim() -> Iterator[Files]:
    import numpy as np

    kv = small_vectors()
    with tempfile.TemporaryDirectory() as place:
        kv.save(Path(place) / "v", format="gensim")
        yield files_in(Path(place))
    whole = kv.to_gensim()
    for protocol in range(5):
        stream = io.BytesIO()
        pickle.Pickler(stream, protocol).dump(whole)
        yield {"v": stream.getvalue()}
    whole.vectors = np.asfortranarray(whole.vectors.astype(">f8"))
    yield {"v": pickle.dumps(whole)}


def small_model(kind: str) -> Any:
    from wordvec_ca.config import TrainConfig
    from wordvec_ca.history import Point
    from wordvec_ca.model import EmbeddingModel
    from wordvec_ca.vocab import Vocab

    words = Vocab(["the", "wörd", "1/2"], [9, 3, 1])
    made = EmbeddingModel(TrainConfig(model=kind, vector_size=3, window=2, workers=1), words)
    made.initialise()
    made.history.points = [Point(1.5, 0.5, 1, 600, 0.03, 2.5), Point(3.0, 1.0, 1, 1200, 0.01, 2.25, 2.5, 0.3)]
    return made


def seeds_of_models() -> Iterator[Files]:
    for kind in ("cbow-attn", "ssg", "cwindow"):
        with tempfile.TemporaryDirectory() as place:
            small_model(kind).save(Path(place) / "m")
            yield files_in(Path(place) / "m")


def seeds_of_checkpoints() -> Iterator[Files]:
    from wordvec_ca.checkpoint import State, write_checkpoint
    from wordvec_ca.kernels import STATS

    trainer, zeros = trainer_of_small_model(), [0.0] * len(STATS)
    points = [[1.5, 0.5, 1, 600, 0.03, 2.5, 2.5, 0.3]]
    state = State(
        *("run", trainer.config.as_dict(), "0", "avx2", "print", 1000, 2, 0, 0, 0.5, 1.5, zeros, zeros),
        **{"losses": [2.0], "history": points},
    )
    with tempfile.TemporaryDirectory() as place:
        write_checkpoint(Path(place) / "v", state, trainer.model)
        yield files_in(Path(place))
        with zipfile.ZipFile(Path(place) / "v") as archive:
            yield {name: archive.read(name) for name in archive.namelist()}


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


MODEL_FILES = (
    *("config.json", "vocab.tsv", "vectors.kv.vectors.npy", "outputs.npy"),
    *("attention_words.npy", "attention_slots.npy", "history.tsv"),
)
CHECKPOINT_MEMBERS = (
    *("state.json", "vocab.tsv", "inputs.npy", "outputs.npy", "word_logits.npy", "slot_logits.npy"),
)

READERS = {
    "model": Reader(MODEL_FILES, model, seeds_of_models),
    "word2vec": Reader(("v",), partial(vectors, form="word2vec"), partial(seeds_of, "word2vec")),
    "glove": Reader(("v",), partial(vectors, form="glove"), partial(seeds_of, "glove", b". . 1 2\na 3 4\n")),
    "word2vec-binary": Reader(
        ("v",), partial(vectors, form="word2vec-binary"), partial(seeds_of, "word2vec-binary")
    ),
    "safetensors": Reader(("v",), partial(vectors, form="safetensors"), partial(seeds_of, "safetensors")),
    "gensim": Reader(("v", "v.vectors.npy"), partial(vectors, form="gensim"), seeds_of_gensim),
    "checkpoint": Reader(("v", *CHECKPOINT_MEMBERS), checkpoint, seeds_of_checkpoints),
    "dump": Reader(("v",), dump, seeds_of_dumps),
    "json-lines": Reader(("v",), json_lines, seeds_of_json_lines),
    "vocab": Reader(("v",), vocabulary, seeds_of_vocabularies),
}

WORDS = (
    *(
        b"nan",
        b"inf",
        b"1e999",
        b"-0.0",
        b"99999999999",
        b"2147483648",
        b"-1",
        b"1_0",
        b"0x10",
        b"\\t",
        b"\\x",
    ),
    *(
        b'"format"',
        b'"config"',
        b'"n_words"',
        b'"model"',
        b'"window"',
        b'"vector_size"',
        b'"attention"',
        b"null",
    ),
    *(
        b"true",
        b"[]",
        b"{}",
        b'"shape"',
        b'"dtype"',
        b'"data_offsets"',
        b'"F32"',
        b'"F16"',
        b'"I64"',
        b'"U8"',
    ),
    *(b'"words"', b'"vectors"', b'"counts"', b'"__metadata__"', b"'descr'", b"'<f4'", b"'|O'", b"'<f8'"),
    *(b"'fortran_order'", b"'shape'", b"(3, 3)", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x03\x00", SEPARATOR),
    *(
        b"cos\nsystem\n",
        b"cbuiltins\neval\n",
        b"cnumpy\ndtype\n",
        b"cnumpy\nndarray\n",
        b"\x8c\x0dindex_to_key",
    ),
    *(
        b"\x8c\x07vectors",
        b"\x93",
        b"\x81",
        b"tR",
        b"(lp0\n",
        b"r\xff\xff\xff\x7f",
        b"\x96\xff\xff\xff\xff\x00",
    ),
)
"""Pieces of the formats, which mutation alone would take long to find."""


# ---- one input --------------------------------------------------------------------------------------------

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.", "socket.", "ctypes.dlopen")
WRITES = ("open", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.symlink")


class ForbiddenAct(BaseException):
    """A reader did what readers do not do; no ``except Exception`` may hide it."""


class Watch:
    """Notices forbidden acts through Python's audit events while a reader runs."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.acts: list[str] = []
        sys.addaudithook(self._event)

    @contextmanager
    def over(self, folder: Path) -> Iterator[None]:
        """Watch what happens within the block; raise ``ForbiddenAct`` after it if there was something."""
        self.folder, self.acts = folder, []
        try:
            yield
        finally:
            self.folder = None
            if self.acts:
                raise ForbiddenAct("; ".join(self.acts[:3]))

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        bad = event.startswith(FORBIDDEN) or event == "pickle.find_class"
        if event in WRITES:
            writing = event != "open" or bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            inside = str(arguments[0]).startswith((str(self.folder), "/dev/null"))
            bad = writing and not inside
        if bad:
            self.acts.append(f"{event} {arguments!r}"[:300])


def run(reader: Reader, data: bytes, folder: Path, watch: Watch) -> None:
    """Give one input to a reader; raises what it should not raise."""
    from wordvec_ca.errors import DataError

    for path in folder.iterdir():
        path.unlink()
    for name, content in reader.split(data).items():
        (folder / name).write_bytes(content)
    with watch.over(folder), suppress(DataError):
        reader.read(folder)


def signature(error: BaseException) -> str:
    """Return what tells one fault from another: the type and the last three places."""
    places = [
        f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
    ]
    return " ".join([type(error).__name__, *places[-3:]])


def write_finding(into: Path, data: bytes, error: BaseException, seen: set[str]) -> None:
    """Write an input and its traceback, once for each fault."""
    sign = signature(error)
    if sign in seen:
        return
    seen.add(sign)
    into.mkdir(parents=True, exist_ok=True)
    path = into / hashlib.sha1(sign.encode()).hexdigest()[:12]
    path.write_bytes(data)
    text = "".join(traceback.format_exception(error))
    path.with_suffix(".txt").write_text(text[-4000:])
    print(f"FOUND {path}: {sign}", file=sys.stderr, flush=True)


# ---- the run ----------------------------------------------------------------------------------------------


def limit_memory() -> None:
    """Let this process grow by no more than ``MEMORY``."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def fuzz(name: str, into: Path, seconds: int) -> None:
    """Fuzz in this process until the time is up; a hang or a crash ends the process."""
    import atheris

    with atheris.instrument_imports(include=["wordvec_ca"]):
        import wordvec_ca.attention
        import wordvec_ca.gensim_format
        import wordvec_ca.keyedvectors
        import wordvec_ca.model
        import wordvec_ca.projector_format
        import wordvec_ca.safetensors_format
        import wordvec_ca.training
        import wordvec_ca.vocab  # noqa: F401
    warnings.simplefilter("ignore")
    reader, watch, seen = READERS[name], Watch(), set[str]()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    corpus, found = into / "corpus", into / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    for i, files in enumerate(reader.seeds()):
        data = reader.join(files)
        (corpus / f"seed{i}").write_bytes(data)
        reader.read(_written(folder, reader, data))  # warm up; seeds are whole
    (into / "words.dict").write_text("".join(f'"{_hexadecimal(word)}"\n' for word in WORDS))
    limit_memory()

    def one_input(data: bytes) -> None:
        try:
            run(reader, data, folder, watch)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            write_finding(found, data, error, seen)

    options = [
        *(f"-max_total_time={seconds}", f"-timeout={SECONDS}", f"-max_len={LONGEST}", "-rss_limit_mb=3000"),
        *(f"-dict={into / 'words.dict'}", f"-artifact_prefix={found}/", "-print_final_stats=1"),
    ]
    found.mkdir(exist_ok=True)
    atheris.Setup([sys.argv[0], *options, str(corpus)], one_input, enable_python_coverage=True)
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _written(folder: Path, reader: Reader, data: bytes) -> Path:
    for path in folder.iterdir():
        path.unlink()
    for name, content in reader.split(data).items():
        (folder / name).write_bytes(content)
    return folder


def _hexadecimal(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def replay(name: str, paths: list[Path]) -> int:
    """Run inputs again; return how many are findings still."""
    watch, bad = Watch(), 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for files in READERS[name].seeds():
            READERS[name].read(_written(Path(folder), READERS[name], READERS[name].join(files)))
        limit_memory()
        for path in paths:
            started = time.monotonic()
            try:
                run(READERS[name], path.read_bytes(), Path(folder), watch)
                outcome = "fine"
            except BaseException as error:
                bad += 1
                outcome = signature(error)
            print(f"{path}  {time.monotonic() - started:.2f} s  {outcome}")
    return bad


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("reader", choices=READERS)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--into", type=Path, default=ROOT / "build" / "fuzz", help="corpus and findings")
    options.add_argument("--replay", type=Path, nargs="+", metavar="FILE")
    options.add_argument("--seconds", type=int, help=argparse.SUPPRESS)  # of one process
    given = options.parse_args()
    into = given.into / given.reader
    if given.replay:
        sys.exit(replay(given.reader, given.replay) > 0)
    if given.seconds:
        fuzz(given.reader, into, given.seconds)
        return
    end, n_processes = time.monotonic() + 60 * given.minutes, 0
    while (left := round(end - time.monotonic())) > 5:  # again after each hang or crash
        n_processes += 1
        before = time.monotonic()
        command = [sys.executable, __file__, given.reader, "--into", given.into, "--seconds", str(left)]
        if subprocess.run(command).returncode and time.monotonic() - before < 5:
            sys.exit("the reader or its seeds do not work")
    findings = sorted(path for path in (into / "found").iterdir() if not path.suffix)
    print(f"{given.reader}: {n_processes} processes, {len(findings)} findings in {into / 'found'}")
    sys.exit(len(findings) > 0)


if __name__ == "__main__":
    main()
