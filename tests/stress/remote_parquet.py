"""Train on Parquet from a real S3 server on this machine: memory, the same model, a server that dies.

    python tests/stress/remote_parquet.py --megabytes 1000 --folder FOLDER

writes the given number of megabytes of random text as Parquet files and as one text file, starts moto's
server with the tables in a bucket, and trains three times, each with one worker:

1. on the text file;
2. on the tables from S3; while they are read, the server is killed and started again ten seconds later;
3. without a cache, so that every epoch reads from S3 anew; after the first checkpoint the server is killed
   and stays off until the run has ended with a message; then it is started, and ``--resume`` continues the
   run.

All three models must be the same bit for bit, and no run may use more than 500 MB (mapped files, which the
system can drop from memory, are not counted). It needs
``pip install 'moto[server]' 'wordvec-ca[parquet,remote]'`` and writes docs/measurements/remote-parquet.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
from study import FOLDER, table, write_section

LARGEST = 500_000_000
"""Most bytes of memory that a run may use, without mapped files."""

OPTIONS = ["--model", "cbow", "-d", "20", "--epochs", "2", "--workers", "1", "--progress", "none", "-q"]

ROWS = 50_000
"""Texts in a row group."""

SERVER = """
import sys
from pathlib import Path
from moto.s3.models import s3_backends
from moto.server import main

tables = Path(sys.argv.pop())
bucket = s3_backends["123456789012"]["aws"]
bucket.create_bucket("corpora", "us-east-1")
for table in sorted(tables.iterdir()):
    bucket.put_object("corpora", table.name, table.read_bytes())
main()
"""
"""A server that already has its files when it first answers, like a real server after a restart."""


class Server:
    """moto's server with one bucket that holds the tables.

    Parameters
    ----------
    tables : Path
        The folder of the tables.
    log : Path
        Its log, a line for each request.
    """

    def __init__(self, tables: Path, log: Path) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self.tables = tables
        self.log = log
        os.environ.update(
            AWS_ACCESS_KEY_ID="x",
            AWS_SECRET_ACCESS_KEY="x",
            AWS_DEFAULT_REGION="us-east-1",
            AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.port}",
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, which has the tables when it answers."""
        command = [sys.executable, "-c", SERVER, "-H", "127.0.0.1", "-p", str(self.port), str(self.tables)]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        while True:
            if self.process.poll() is not None:
                sys.exit(f"the server does not start: {self.log.read_text()[-2000:]}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/moto-api/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)

    def kill(self) -> None:
        """Kill the server."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def tables_begun(self) -> int:
        """Return the number of tables of which a part was sent since the server was started."""
        sent = (line for line in self.log.read_text().splitlines() if '"GET /' in line and ".parquet" in line)
        return len({line.split(".parquet")[0].split("GET ")[1] for line in sent if '" 206' in line})


def write(folder: Path, megabytes: int, n_tables: int) -> tuple[Path, Path]:
    """Write the same random text as lines and as tables without compression."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(1)
    words = np.array([f"w{i:05}" for i in range(20_000)])
    weights = 1 / np.arange(1, len(words) + 1)
    text, tables = folder / "text.txt", folder / "tables"
    shutil.rmtree(tables, ignore_errors=True)
    tables.mkdir()
    schema = pyarrow.schema([("id", pyarrow.int64()), ("text", pyarrow.string())])
    rows = 0
    with open(text, "w") as lines:
        for number in range(n_tables):
            path = tables / f"{number:03}.parquet"
            with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as out:
                while text.stat().st_size < megabytes * 1_000_000 * (number + 1) / n_tables:
                    drawn = rng.choice(words, size=(ROWS, 20), p=weights / weights.sum())
                    texts = [" ".join(row) for row in drawn]
                    lines.writelines(line + "\n" for line in texts)
                    lines.flush()
                    out.write_table(pyarrow.table([range(rows, rows + ROWS), texts], schema=schema))
                    rows += ROWS
    return text, tables


class Run:
    """``cawv train`` in a process, with its time and memory.

    Parameters
    ----------
    arguments : list of str
        Arguments of the command.
    **variables : str
        Environment variables.
    """

    def __init__(self, arguments: list[str], **variables: str) -> None:
        command = [sys.executable, "-m", "wordvec_ca", "train", *arguments]
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._own = self._whole = 0

    def running(self) -> bool:
        """Measure the memory; return whether the process still runs."""
        self._own = max(self._own, self._memory("RssAnon"))
        self._whole = max(self._whole, self._memory("VmHWM"))
        time.sleep(0.05)
        return self._process.poll() is None

    def end(self, what: str, expected: int = 0) -> list[str]:
        """Wait for the end; check the exit code and the memory, and return a row for the page."""
        while self.running():
            pass
        seconds = time.perf_counter() - self._began
        assert self._process.stderr is not None
        said = self._process.stderr.read().strip().splitlines()
        status = self._process.returncode
        print(
            f"{what}: status {status}, {seconds:,.0f} s, {self._own / 1e6:,.0f} MB",
            *said,
            sep="\n  ",
            flush=True,
        )
        if status != expected or self._own > LARGEST:
            sys.exit(f"{what}: expected status {expected} and at most {LARGEST / 1e6:,.0f} MB")
        return [what, str(status), f"{seconds:,.0f}", f"{self._own / 1e6:,.0f}", f"{self._whole / 1e6:,.0f}"]

    def _memory(self, kind: str) -> int:
        """Return bytes of memory; 0 when the process has ended."""
        try:
            lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(kind + ":")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--tables", type=int, default=16)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--page", type=Path, default=FOLDER / "remote-parquet.md")
    given = parser.parse_args()
    began = time.perf_counter()
    given.folder.mkdir(parents=True, exist_ok=True)
    text, tables = write(given.folder, given.megabytes, given.tables)
    size = sum(path.stat().st_size for path in tables.iterdir())
    print(f"{size / 1e6:,.0f} MB of Parquet, {text.stat().st_size / 1e6:,.0f} MB of text", flush=True)
    server = Server(tables, given.folder / "server.log")
    server.start()
    models = [given.folder / name for name in ("from-file", "from-s3", "resumed")]
    for model in models:
        shutil.rmtree(model, ignore_errors=True)
    url = ["s3://corpora/*.parquet", "--field", "text"]

    rows = [Run([str(text), *OPTIONS, "-o", str(models[0])]).end("text file")]

    run = Run([*url, *OPTIONS, "-o", str(models[1])])
    while server.tables_begun() < max(2, given.tables // 3) and run.running():
        pass
    server.kill()
    print("the server is dead", flush=True)
    away = time.perf_counter() + 10
    while time.perf_counter() < away and run.running():
        pass
    server.start()
    print("the server is back", flush=True)
    rows.append(run.end("Parquet from S3; the server killed while it is read, back after 10 s"))

    options = [*OPTIONS, "--no-cache", "--checkpoint-every", "5s", "-o", str(models[2])]
    run = Run([*url, *options], CAWV_REMOTE_SECONDS="5")
    while not list(given.folder.rglob("*.checkpoint")) and run.running():
        pass
    server.kill()
    what = "the same without a cache; the server killed after the first checkpoint, and stays away"
    rows.append(run.end(what, expected=1))
    server.start()
    rows.append(Run(["--resume", str(models[2]), "-q"]).end("that run, resumed when the server is back"))
    server.kill()

    whole = [(model / "vectors.kv.vectors.npy").read_bytes() for model in models]
    if not whole[0] == whole[1] == whole[2]:
        sys.exit("the models differ")
    print("the three models are the same bit for bit")
    body = (
        f"{size / 1e6:,.0f} MB of Parquet in {given.tables} files, from moto's server on this machine; the "
        "same text as lines. **The three models are the same bit for bit, and no run takes "
        f"{LARGEST / 1e6:,.0f} MB of memory of its own.** What is mapped from files leaves memory when there "
        "is no room.\n\n"
        + table(
            (
                "cbow, size 20, 2 epochs, one worker",
                "exit status",
                "seconds",
                "memory, MB",
                "with mapped files",
            ),
            rows,
        )
    )
    write_section(given.page, "Parquet from an object store", "remote", body, time.perf_counter() - began)


if __name__ == "__main__":
    main()
