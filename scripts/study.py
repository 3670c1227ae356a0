"""What studies share: the first words of a text, runs that are done once, correlations, memory, and the page.

A script of this folder measures something and writes a section of a record in docs/evidence/data/. A script
that measures several machines or sets of vectors writes a section for each. The head of a section has the
command that makes it again. People write what the figures mean, a paragraph for each study, in
docs/evidence/index.md.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import itertools
import json
import math
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "evidence" / "data"

LEFT_OUT = ("--data", "--page", "--into", "--output", "--log", "--corpus", "--folder", "--minutes")
"""Options that name paths on one machine, or when to stop: they are not part of the command on a page."""

Setting = dict[str, Any]
"""What identifies a run; it can be written as JSON."""


# ---- the command line ---------------------------------------------------------------------------------


def parser(
    doc: str | None, page: str, *, log: str | None = None, data: bool = False, layers: bool = False
) -> argparse.ArgumentParser:
    """Return a parser with the options that studies have."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--page", type=Path, default=FOLDER / f"{page}.json", help="record to write")
    if data:
        default = Path(os.environ["CAWV_DATA"]) if "CAWV_DATA" in os.environ else None
        options.add_argument(
            "--data", type=Path, default=default, help="folder of the data sets [$CAWV_DATA]"
        )
    if log is not None:
        options.add_argument("--log", type=Path, default=Path(log), help="what is finished, as JSON lines")
        options.add_argument("--minutes", type=float, default=math.inf, help="start no training after this")
    if layers:
        options.add_argument("--seed", type=int, default=0, help="first seed")
        options.add_argument("--threads", type=int, default=1, help="threads of PyTorch")
        options.add_argument("--full", action="store_true", help="the papers' size instead of a few minutes")
    return options


def data_files(data: Path | None, *names: str) -> list[Path]:
    """Return the paths of data files, or end the script with a message that names the missing one."""
    if data is None:
        sys.exit("Give --data DIR, or set CAWV_DATA to the folder of the data sets.")
    paths = [data / name for name in names]
    for path in paths:
        if not path.exists():
            sys.exit(f"{path} does not exist; --data must name a folder that holds {', '.join(names)}.")
    return paths


def values(text: str, kind: Callable[[str], Any] = str) -> list[Any]:
    """Return the values of an option that takes several, separated by commas."""
    return [kind(value) for value in text.split(",") if value]


def say(line: str) -> None:
    """Write a line of progress to standard error."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


# ---- text ---------------------------------------------------------------------------------------------


def lines_of(corpus: str | Path, count: int | None = None, first: int = 0) -> Iterator[str]:
    """Yield a number of lines of a text, which may be compressed, from the line ``first`` on."""
    from wordvec_ca.files import open_by_content

    with open_by_content(corpus) as source:
        lines = itertools.islice(source, first, None if count is None else first + count)
        yield from (line.decode("utf-8") for line in lines)


def write_tokens(corpus: str | Path, path: Path, words: float = math.inf) -> None:
    """Write the lower-case tokens of a text, separated by spaces, until its lines have so many words."""
    from wordvec_ca.files import atomic_file
    from wordvec_ca.text import tokenize

    n = 0
    with atomic_file(path) as out:
        for line in lines_of(corpus):
            out.write(" ".join(tokenize(line)).encode() + b"\n")
            n += len(line.split())
            if n >= words:
                break


# ---- runs ---------------------------------------------------------------------------------------------


class Runs:
    """Outcomes of runs. Each run is done once and recorded, so a study can be stopped and started again."""

    def __init__(self, path: Path | None, minutes: float = math.inf) -> None:
        self.path = path
        self.deadline = time.monotonic() + 60 * minutes
        self.done: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:  # a last line that was cut off
                    continue
                self.done[self.key(record["setting"])] = record

    @staticmethod
    def key(setting: Setting) -> str:
        """Return a setting as a string."""
        return json.dumps(setting, sort_keys=True)

    def summary(self) -> str:
        """Return how many runs are finished, and how long they took together."""
        seconds = sum(record["seconds"] for record in self.done.values())
        return f"{len(self.done)} runs, which took {seconds / 60:.0f} minutes together."

    def outcome(self, setting: Setting, run: Callable[[Setting], Mapping[str, Any]]) -> dict[str, Any] | None:
        """Return the outcome of a setting, after running it if it is new; None if time is over.

        Beside what ``run`` returns, it has the ``setting``, and ``seconds`` and ``cpu_seconds`` of the run.
        """
        key = self.key(setting)
        if key not in self.done:
            if time.monotonic() > self.deadline:
                return None
            began, cpu = time.monotonic(), time.process_time()
            record = {"setting": setting, **run(setting)}
            record["seconds"] = round(time.monotonic() - began, 1)
            record["cpu_seconds"] = round(time.process_time() - cpu, 2)
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(record) + "\n")
            say(json.dumps(record))
            self.done[key] = record
        return self.done[key]

    def with_best_rate(
        self,
        setting: Setting,
        rates: Sequence[float],
        seeds: Sequence[int],
        run: Callable[[Setting], dict[str, Any]],
        criterion: str,
    ) -> tuple[float, list[dict[str, Any]]] | None:
        """Choose the learning rate with the first seed, then run the others with it."""
        tried = {rate: self.outcome({**setting, "rate": rate, "seed": seeds[0]}, run) for rate in rates}
        found = {rate: outcome for rate, outcome in tried.items() if outcome is not None}
        if len(found) < len(rates):
            return None
        best = max(rates, key=lambda rate: found[rate][criterion])
        more = [self.outcome({**setting, "rate": best, "seed": seed}, run) for seed in seeds[1:]]
        return best, [found[best], *(outcome for outcome in more if outcome is not None)]


def spearman(vectors: Any, sets: Iterable[Any]) -> dict[str, float]:
    """Return Spearman's rho of each set of word pairs, by its name."""
    from wordvec_ca.eval import evaluate

    return {pairs.name: evaluate(vectors, pairs, seed=1).metrics["spearman"].value for pairs in sets}


def measured(command: Sequence[Any]) -> dict[str, float]:
    """Run a command to its end."""
    began = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{shlex.join(map(str, command))} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return {"wall": time.monotonic() - began, "cpu": cpu, "memory": usage.ru_maxrss * 1024}


# ---- recipes × seeds × tasks → table ------------------------------------------------------------------


@dataclass
class Table:
    """A table of a study: its recipes and the columns by which they are judged.

    Attributes
    ----------
    recipes : dict
        Name -> options of ``TrainConfig``; ``by`` names another way to train (see `run_study`).
    columns : dict
        (task, data set), as in reports, or ``LOSS`` -> heading.
    note : str
        What a reader must know besides the study's own note.
    less : str
        A recipe: a second table has its differences from the others.
    """

    recipes: Mapping[str, Setting]
    columns: Mapping[tuple[str, str], str]
    note: str = ""
    less: str = ""


LOSS = ("loss", "held-out")
"""Column of the loss on the lines after those of the training text."""

HELD_OUT = 2_000
"""Held-out lines."""

Trainer = Callable[[Path, Setting], Any]
"""Trains on a file of tokens with the options of a recipe; returns the vectors."""


def run_study(
    doc: str | None,
    record: str,
    title: str,
    common: Setting,
    tables: Mapping[str, Table],
    *,
    note: str = "",
    by: Mapping[str, Trainer] | None = None,
    options: argparse.ArgumentParser | None = None,
) -> None:
    """Train every recipe of every table with every seed, judge it once, and write the tables.

    Parameters
    ----------
    doc, record, title : str
        The script's docstring, the name of its record, and the title of a new record.
    common : dict
        Options of all recipes.
    tables : dict
        Section of the record -> table.
    note : str
        What the figures are.
    by : dict, optional
        Ways to train besides ``train``, for recipes with an option ``by``.
    options : ArgumentParser, optional
        The parser, if the script has read options of its own with it.
    """
    given = (options or study_parser(doc, record)).parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    given.corpus = given.corpus or data_files(given.data, "corpora/wiki.30M.txt.xz")[0]
    for seed in () if given.report else range(1, given.seeds + 1):
        for section, one in tables.items():
            for name, recipe in one.recipes.items():
                if re.search(given.only, f"{section}: {name}"):
                    _judge(given, name, {**common, **recipe, "seed": seed}, one.columns, by or {})
    for section, one in tables.items():
        if body := _table_of(given, one, common):
            about = f"First {given.lines:,} lines. " if given.lines else ""
            text = "\n\n".join(part for part in (f"{about}{note}", one.note, body) if part)
            print(text)
            write_section(given.page, title, section, text)


def study_parser(doc: str | None, record: str) -> argparse.ArgumentParser:
    """Return a parser with the options of `run_study`."""
    asked = parser(doc, record, data=True)
    asked.add_argument("--corpus", type=Path, help="training text; DATA/corpora/wiki.30M.txt.xz by default")
    asked.add_argument("--lines", type=int, help="train on the first lines only")
    asked.add_argument("--output", type=Path, default=Path(record), help="folder of what is finished")
    asked.add_argument("--seeds", type=int, default=3, help="number of seeds")
    asked.add_argument(
        "--only", default="", metavar="REGEX", help="only recipes whose 'section: name' matches"
    )
    asked.add_argument("--report", action="store_true", help="only write the tables")
    return asked


def _place(given: argparse.Namespace, name: str, setting: Setting) -> Path:
    """Return where the judgement of a recipe is: its name, and a digest of all options."""
    digest = hashlib.sha1(Runs.key({**setting, "lines": given.lines}).encode()).hexdigest()[:8]
    return Path(given.output, "reports", f"{re.sub('[^a-z0-9.]+', '-', name.lower())}.{digest}.json.gz")


def _judge(
    given: argparse.Namespace,
    name: str,
    setting: Setting,
    columns: Mapping[tuple[str, str], str],
    by: Mapping[str, Trainer],
) -> None:
    """Train a recipe and run the tasks that are missing; what is finished is not done again."""
    from wordvec_ca.errors import DataError
    from wordvec_ca.eval import plan, run

    place = _place(given, name, setting)
    found = _reports(place)
    if not (missing := [key for key in columns if key not in found]):
        return
    say(f"{name}, seed {setting['seed']}")
    try:
        vectors, loss = _trained(given, setting, by, place)
    except DataError as error:  # training diverged, which is a result too
        say(f"  {error}")
        return
    found |= {LOSS: loss} if loss is not None else {}
    jobs, _ = plan(list(dict.fromkeys(task for task, _ in missing if task != LOSS[0])), folder=given.data)
    for job in jobs:
        if (job.task, job.dataset) in missing:
            [report] = run(vectors, [job], seed=setting["seed"], workers=1)
            found[job.task, job.dataset] = report
    place.parent.mkdir(parents=True, exist_ok=True)
    content = [one if isinstance(one, float) else one.to_dict(items=True) for one in found.values()]
    with gzip.open(place.with_suffix(".partial"), "wt", encoding="utf-8") as stream:
        json.dump(content, stream)
    os.replace(place.with_suffix(".partial"), place)


def _trained(
    given: argparse.Namespace, setting: Setting, by: Mapping[str, Trainer], place: Path
) -> tuple[Any, float | None]:
    """Return the vectors of a recipe, and its held-out loss; a model that is there is not trained again."""
    from wordvec_ca.models import TrainConfig
    from wordvec_ca.runs import train
    from wordvec_ca.text import tokenize
    from wordvec_ca.vectors import KeyedVectors

    chosen = {key: value for key, value in setting.items() if key != "by"}
    if "by" in setting:
        tokens = given.output / f"tokens.{given.lines}.txt"
        if not tokens.exists():
            lines = (" ".join(tokenize(line)) for line in lines_of(given.corpus, given.lines))
            tokens.write_text("\n".join(lines), encoding="utf-8")
        return by[setting["by"]](tokens, chosen), None
    folder = Path(given.output, "models", place.name.removesuffix(".json.gz"))
    if not (folder / "config.json").exists():
        valid = lines_of(given.corpus, HELD_OUT, given.lines) if given.lines else None
        train(lines_of(given.corpus, given.lines), TrainConfig(**chosen), output=folder, valid=valid)
    record = json.loads((folder / "config.json").read_text("utf-8"))
    losses = record.get("valid_loss_by_epoch")
    return KeyedVectors.load(folder), losses[-1] if losses else None


def _reports(place: Path) -> dict[tuple[str, str], Any]:
    """Return what is finished of a judgement: data set -> report, and the loss."""
    from wordvec_ca.eval import Report

    if not place.exists():
        return {}
    with gzip.open(place, "rt", encoding="utf-8") as stream:
        content = json.load(stream)
    reports = [one if isinstance(one, float) else Report.from_dict(one) for one in content]
    return {LOSS if isinstance(one, float) else (one.task, one.dataset): one for one in reports}


def _table_of(given: argparse.Namespace, one: Table, common: Setting) -> str:
    """Return the table of means over the seeds, and that of differences if one is asked for."""
    found: dict[str, list[dict[tuple[str, str], Any]]] = {}
    for name, recipe in one.recipes.items():
        settings = ({**common, **recipe, "seed": seed} for seed in range(1, given.seeds + 1))
        if judged := [reports for s in settings if (reports := _reports(_place(given, name, s)))]:
            found[name] = judged

    def of(name: str, key: tuple[str, str]) -> list[Any]:
        return [reports[key] for reports in found[name] if key in reports]

    rows = [[name, len(found[name]), *(_mean(of(name, key)) for key in one.columns)] for name in found]
    parts = [table(("recipe", "seeds", *one.columns.values()), rows)] if rows else []
    if one.less in found:
        keys = [key for key in one.columns if key != LOSS]
        rivals = [name for name in found if name != one.less]
        rows = [[name, *(difference(of(one.less, key), of(name, key)) for key in keys)] for name in rivals]
        parts += [
            table((f"{one.less} less", *(one.columns[key] for key in keys)), rows),
            "In brackets 95 % from seeds and items together (Student's t).",
        ]
    return "\n\n".join(parts)


def _mean(reports: Sequence[Any]) -> str:
    values = [one if isinstance(one, float) else one.value for one in reports]
    spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.3f}{spread}" if values else ""


def difference(reports: Sequence[Any], others: Sequence[Any]) -> str:
    """Return the difference of two recipes' means over the seeds, with its interval if there are several
    seeds.

    The variance is that between seeds plus that between samples of items, which are the same for both.
    """
    import numpy as np
    from scipy.stats import t

    if not reports or not others:
        return ""
    a, b = (np.array([one.value for one in those]) for those in (reports, others))
    shown = f"{a.mean() - b.mean():+.3f}"
    if min(len(a), len(b)) < 2:
        return shown
    items = np.mean([draws(one) for one in reports], axis=0) - np.mean([draws(one) for one in others], axis=0)
    error = math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b) + items.var())
    half = float(t.ppf(0.975, len(a) + len(b) - 2)) * error
    return f"{shown} ({a.mean() - b.mean() - half:+.3f} to {a.mean() - b.mean() + half:+.3f})"


def draws(report: Any, metric: str | None = None, resamples: int = 300) -> Any:
    """Return a metric (the headline by default) on resampled items, the same ones for all."""
    from wordvec_ca.eval import bootstrap

    found = report.metrics[metric or report.headline]
    columns, units = report.chosen(found.columns)
    return bootstrap(found.statistic, columns, units, seed=0, resamples=resamples)


# ---- the page -----------------------------------------------------------------------------------------


def command() -> str:
    """Return the command line of this script, without options that name paths."""
    script = Path(sys.argv[0]).resolve()
    name = script.relative_to(ROOT) if script.is_relative_to(ROOT) else script.name
    options = []
    rest = iter(sys.argv[1:])
    for option in rest:
        if option in LEFT_OUT:
            next(rest, None)
        elif option.partition("=")[0] not in LEFT_OUT:
            options.append(Path(option).name if os.sep in option and Path(option).exists() else option)
    return shlex.join(["python", str(name), *options])


def processor() -> str:
    """Return the name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def head(seconds: float | None = None) -> dict[str, str]:
    """Return how a section was measured: command, machine, date, duration, versions."""
    from wordvec_ca import kernels

    torch = f", PyTorch {sys.modules['torch'].__version__}" if "torch" in sys.modules else ""
    return {
        "command": command(),
        "machine": f"{processor()}, {os.cpu_count()} processors, {kernels.isa()}",
        "date": datetime.date.today().isoformat(),
        **({"time": f"{seconds / 60:.1f} minutes"} if seconds is not None else {}),
        "versions": f"Python {platform.python_version()}{torch}",
    }


def table(columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table in Markdown."""
    columns = list(columns)
    lines = ["| " + " | ".join(map(str, columns)) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def as_parts(markdown: str) -> list[Any]:
    """Return the parts of a section in Markdown: paragraphs as they are, tables as columns and rows."""
    parts: list[Any] = []
    for paragraph in re.split(r"\n{2,}", markdown.strip("\n")):
        lines = paragraph.split("\n")
        start = next((i for i, line in enumerate(lines) if line.startswith("|")), len(lines))
        if lines[:start] and any(lines[:start]):
            parts.append("\n".join(lines[:start]))
        if lines[start:]:
            cells = [re.split(r"(?<!\\)\|", line.strip()[1:-1]) for line in lines[start:]]
            columns, _, *rows = [[cell.strip() for cell in row] for row in cells]
            parts.append({"columns": columns, "rows": rows})
    return parts


def write_section(page: Path, title: str, name: str, body: str, seconds: float | None = None) -> None:
    """Replace a section of a study's record, or append it."""
    record = json.loads(page.read_text("utf-8")) if page.exists() else {"title": title, "sections": []}
    section = {"name": name, "head": head(seconds), "parts": as_parts(body)}
    places = [i for i, old in enumerate(record["sections"]) if old["name"] == name]
    place = places[0] if places else len(record["sections"])
    record["sections"][place : place + 1] = [section]
    write_record(page, record)
    print(f"wrote the section {name} of {page}", file=sys.stderr)


def write_record(page: Path, record: dict[str, Any]) -> None:
    """Write a record with a row of a table on a line, so that differences between two are readable."""
    text = json.dumps(record, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s*((?:\"(?:[^\"\\]|\\.)*\",?\s*)+)\]", lambda row: f"[{_on_one_line(row[1])}]", text)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text + "\n", encoding="utf-8")


def _on_one_line(cells: str) -> str:
    return ", ".join(line.strip().rstrip(",") for line in cells.strip().split("\n"))


def tables_of(name: str) -> Iterator[dict[str, Any]]:
    """Yield the tables of a record: columns and rows."""
    record = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    for section in record["sections"]:
        yield from (part for part in section["parts"] if isinstance(part, dict))


class Page:
    """A section that consists of text, tables and figures."""

    def __init__(self, page: Path, title: str, section: str | None = None) -> None:
        self.page, self.title, self.section = page, title, section or page.stem
        self.parts: list[str] = []
        self.start = time.monotonic()

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        self.parts += paragraphs

    def table(self, columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
        """Add a table."""
        self.parts.append(table(columns, rows))

    def write(self, done: bool = True) -> None:
        """Write the section, and print its text when the study is done."""
        body = "\n\n".join(self.parts)
        if done:
            print(body)
        write_section(self.page, self.title, self.section, body, time.monotonic() - self.start)


def interval(numbers: Iterable[float], digits: int = 4, scale: float = 1.0) -> str:
    """Return "mean ± half-width" of a 95 % t interval; of a single value, only the value."""
    import numpy as np
    from scipy import stats

    array = np.asarray(list(numbers), dtype=float) * scale
    if len(array) < 2:
        return f"{array.mean():.{digits}f}"
    width = stats.t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array))
    return f"{array.mean():.{digits}f} ± {width:.{digits}f}"


def progress(done: int, total: int, what: str) -> None:
    """Print how far a study is."""
    say(f"[{done}/{total}] {what}")
