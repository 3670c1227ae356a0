r"""Millions of documents on disk: memory, time of an epoch, checkpoints, and a run that is killed.

    python scripts/quality/documents_on_disk.py CORPUS --documents 5000000 --words 6

The script cuts the lines of the corpus into documents of a few words. One run trains to its end. A second run
is killed (SIGKILL) between two checkpoints of its last epoch, and resumed: all its arrays must have the same
bits as those of the first. Memory is the peak resident set of the process, which includes pages of mapped
files.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import Page, lines_of, parser, say

RUN = """
import json, os, resource, signal, sys, time, warnings
from wordvec_ca import TrainConfig, resume, train
from wordvec_ca.training import Checkpoints

warnings.simplefilter("ignore")
corpus, output, model, kill_at, every = sys.argv[1:]
write, written = Checkpoints.write, []

def timed(self, state, model, position):
    began = time.monotonic()
    done = write(self, state, model, position)
    seconds = time.monotonic() - began
    newest = self.names()[0]
    written.append([round(state.fraction, 4), seconds, os.path.getsize(self.storage.path(newest))])
    if kill_at != "-" and state.fraction >= float(kill_at):
        killed.append(position)
    return done

killed = []

def kill(record):
    if killed:
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoints.write = timed
options = dict(model=model, vector_size=100, epochs=2, workers=1, min_count=5)
if output.endswith(".run"):
    made = resume(output.removesuffix(".run"))
else:
    made = train(corpus, TrainConfig(**options), output=output, checkpoint_every=every, callbacks=[kill])
record = made.record
print(json.dumps({
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "cpu": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
    "training": record["timings"]["training_seconds"],
    "checkpoints": written,
    "words": record["n_words"] if "n_words" in record else len(made.vocab),
}))
"""


def make_documents(corpus: Path, path: Path, n: int, words: int) -> int:
    """Write documents of ``words`` words, cut from lines; return how many documents there are."""

    def pieces() -> Any:
        for line in lines_of(corpus):
            found = line.split()
            for start in range(0, len(found) - words + 1, words):
                yield " ".join(found[start : start + words]) + "\n"

    written = 0
    with open(path, "w", encoding="utf-8") as file:
        for piece in islice(pieces(), n):
            file.write(piece)
            written += 1
    return written


def run(*arguments: Any) -> tuple[dict[str, Any] | None, float]:
    """Return what a run printed, or None if it was killed, and its seconds by the clock."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)], stdout=subprocess.PIPE, check=False
    )
    seconds = time.monotonic() - began
    if done.returncode not in (0, -9):
        sys.exit(done.returncode)
    return (json.loads(done.stdout) if done.returncode == 0 else None), seconds


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of each array of a model."""
    found = {}
    for path in sorted(folder.glob("*.npy")):
        with open(path, "rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def main() -> None:
    """Measure."""
    asked = parser(__doc__, "documents-on-disk")
    asked.add_argument("corpus", type=Path)
    asked.add_argument("--documents", type=int, default=5_000_000)
    asked.add_argument("--words", type=int, default=6)
    asked.add_argument("--model", default="pv-dbow")
    asked.add_argument("--every", default="10M", help="tokens between two checkpoints")
    asked.add_argument("--folder", type=Path, help="where the runs go; by default a temporary folder")
    options = asked.parse_args()
    page = Page(options.page, "Millions of documents on disk")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        text = folder / "documents.txt"
        n = make_documents(options.corpus, text, options.documents, options.words)
        say(f"{n:,} documents")
        whole, whole_seconds = run(text, folder / "whole", options.model, "-", options.every)
        assert whole is not None
        say(f"whole: {whole_seconds:.0f} s, {whole['peak'] / 1e9:.2f} GB")
        killed, _ = run(text, folder / "again", options.model, 0.6, options.every)
        assert killed is None, "the run was to be killed"
        run_bytes = sum(path.stat().st_size for path in folder.glob("again.run/documents.*"))
        resumed, resumed_seconds = run(text, f"{folder / 'again'}.run", options.model, "-", options.every)
        assert resumed is not None
        same = digests(folder / "whole") == digests(folder / "again")
        stored = (folder / "whole/documents.npy").stat().st_size
    assert same, "the resumed run has other bits"
    page.text(
        f"{n:,} documents of {options.words} words, {whole['words']:,} words that occur 5 times or more, "
        f"{options.model}, 100 dimensions, 2 epochs, one thread. The rows of documents are "
        f"{stored / 1e9:.2f} GB in the model and {run_bytes / 1e9:.2f} GB in the folder of the "
        "run (`documents.work`, `documents.base`)."
    )
    rows = [
        ("training, seconds an epoch", f"{whole['training'] / 2:.0f}"),
        ("the whole run, reading and saving included, seconds", f"{whole_seconds:.0f}"),
        ("processor seconds", f"{whole['cpu']:.0f}"),
        ("highest resident memory, GB", f"{whole['peak'] / 1e9:.2f}"),
        ("the resumed run: seconds; GB", f"{resumed_seconds:.0f}; {resumed['peak'] / 1e9:.2f}"),
        ("killed and resumed", "all arrays have the bits of the whole run"),
    ]
    page.table(("", "measured"), rows)
    page.text("Checkpoints of the whole run:")
    page.table(
        ("share of the run", "GB", "seconds"),
        [
            (f"{share:.0%}", f"{size / 1e9:.2f}", f"{seconds:.1f}")
            for share, seconds, size in whole["checkpoints"]
        ],
    )
    page.text(
        "Seconds are by the clock; other programs may have had most of the machine: see the processor "
        "seconds."
    )
    page.write()


if __name__ == "__main__":
    main()
