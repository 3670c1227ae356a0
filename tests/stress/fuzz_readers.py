"""Feed damaged and hostile files to one of the readers, guided by coverage, for some minutes.

    pip install atheris
    python tests/stress/fuzz_readers.py safetensors --minutes 10

A reader may return or raise DataError. Anything else is a finding: another exception, more than 1 GiB of
memory, more than 15 seconds, a crash, or an act that no reader may do (starting a program, opening a socket,
writing outside its folder, unpickling by the default rules). Each finding is written once,
with its traceback, to ``--into``/READER/found; ``--replay FILE...`` runs such files again. Small ones become
regression tests: ``tests/stress/fuzz_cases/READER``, which ``tests/stress/test_fuzz.py`` replays.

A new reader is a function of a folder with the files under test, its seeds (``fuzz_seeds.py``), and a line in
``READERS`` (``fuzz_targets.py``).
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fuzz_seeds import WORDS
from fuzz_targets import READERS, Reader

ROOT = Path(__file__).resolve().parents[2]

MEMORY = 1 << 30
SECONDS = 15
LONGEST = 4096

# ---- one input --------------------------------------------------------------------------------------------

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.", "socket.", "ctypes.dlopen")
WRITES = ("open", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.symlink")


class ForbiddenAct(BaseException):
    """A reader did something forbidden. It is a BaseException, so that no ``except Exception`` hides it."""


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
            below = event in ("os.remove", "os.rmdir") and arguments[1] >= 0  # within a folder that is open
            bad = writing and not inside and not below
        if bad:
            self.acts.append(f"{event} {arguments!r}"[:300])


def run(reader: Reader, data: bytes, folder: Path, watch: Watch) -> None:
    """Give one input to a reader; raises what it should not raise."""
    from wordvec_ca.errors import DataError

    written(folder, reader, data)
    with watch.over(folder), suppress(DataError):
        reader.read(folder)


def signature(error: BaseException) -> str:
    """Return a key of the fault: the type of the exception and the last three lines of its traceback."""
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
        import wordvec_ca.formats as formats
        import wordvec_ca.training  # noqa: F401 - imports all but the formats, each of which comes when it is needed

        for module in pkgutil.iter_modules(formats.__path__):
            importlib.import_module(f"{formats.__name__}.{module.name}")
    warnings.simplefilter("ignore")
    reader, watch, seen = READERS[name], Watch(), set[str]()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    corpus, found = into / "corpus", into / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    for i, files in enumerate(reader.seeds()):
        data = reader.join(files)
        (corpus / f"seed{i}").write_bytes(data)
        reader.read(written(folder, reader, data))  # warm up with an undamaged file
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


def written(folder: Path, reader: Reader, data: bytes) -> Path:
    """Write the files of one input into an empty folder; return it."""
    for path in folder.iterdir():
        path.unlink()
    for name, content in reader.split(data).items():
        (folder / name).write_bytes(content)
    return folder


def _hexadecimal(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def replay(name: str, paths: list[Path]) -> int:
    """Run inputs again; return how many are still findings."""
    watch, bad = Watch(), 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for files in READERS[name].seeds():
            READERS[name].read(written(Path(folder), READERS[name], READERS[name].join(files)))
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
    options.add_argument("--seconds", type=int, help=argparse.SUPPRESS)  # the time of one process
    given = options.parse_args()
    into = given.into / given.reader
    if given.replay:
        sys.exit(replay(given.reader, given.replay) > 0)
    if given.seconds:
        fuzz(given.reader, into, given.seconds)
        return
    end, n_processes = time.monotonic() + 60 * given.minutes, 0
    while (left := round(end - time.monotonic())) > 5:  # it starts again after each hang or crash
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
