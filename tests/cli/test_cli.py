"""The command as users see it: messages, files that it leaves, and exit codes."""

import dataclasses
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wordvec_ca import KeyedVectors
from wordvec_ca.cli import main

CAWV = [sys.executable, "-m", "wordvec_ca"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
QUICK = ("--epochs", "1", "--vector-size", "8", "--workers", "1", "-o", "model")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return an empty working directory, with the system's temporary directory in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def cawv(here, command):
    """Return a function that runs the command in this process, in that directory."""
    return command


@pytest.fixture
def text(here):
    """Return a corpus of 40,000 tokens, 200 words."""
    return write_corpus(here / "c.txt")


def write_corpus(path: Path, n_lines: int = 2000) -> Path:
    """Write lines of 20 words, the same at each call."""
    rng = random.Random(1)
    words = [f"w{i}" for i in range(200)]
    path.write_text("".join(" ".join(rng.choices(words, k=20)) + "\n" for _ in range(n_lines)))
    return path


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return all files below a folder, hidden ones too, with their contents."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def one_model(folder: Path, *, interrupted: bool = False) -> KeyedVectors:
    """Return the vectors of a model that must be complete, without temporary files beside it."""
    assert not list(folder.parent.glob(".*"))
    assert interrupted == folder.with_name(folder.name + ".run").exists()
    assert not folder.with_name(folder.name + ".cache").exists()
    names = {path.name for path in folder.iterdir()}
    assert names >= {"config.json", "vocab.tsv", "vectors.kv.vectors.npy", "outputs.npy"}
    return KeyedVectors.load(folder)


# ---- help -------------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy():
    code = (
        "import sys, wordvec_ca.cli as cli\ntry: cli.main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    heavy = {"numpy", "numba", "scipy", "torch", "gensim", "sklearn", "rich", "matplotlib", "zstandard"}
    assert not heavy & set(loaded.split())


def test_train_help_names_every_option_and_its_default(cawv):
    from wordvec_ca import TrainConfig
    from wordvec_ca.cli.train import command
    from wordvec_ca.models import ResolvedConfig
    from wordvec_ca.specs.models import MODELS

    text = "".join(cawv("train", "--help-all").out.split())
    context = command.make_context("train", ["c.txt"])
    records = {p.name: p.get_help_record(context) for p in command.params if p.param_type_name == "option"}
    for name, (names, meaning) in records.items():
        assert f"--{name.replace('_', '-')}" in names
        assert "[default: " in meaning, name
        assert "".join(f"{names}{meaning}".split()) in text
    for field in dataclasses.fields(TrainConfig):
        assert context.params[field.name] == field.default, "command and library must have the same default"
    for model in MODELS:  # the help shows the defaults that depend on the model
        resolved = ResolvedConfig.of(TrainConfig(model=model))
        for name in ("window", "alpha", "cbow_update", "negatives"):
            assert str(getattr(resolved, name)) in records[name][1].split("[default:")[1]


def test_version_and_no_arguments(cawv):
    assert re.fullmatch(r"cawv, version \d+\.\d+\.\d+\n", cawv("--version").out)
    assert cawv().code == 2
    cawv("trian", "c.txt").says(2, "trian")


# ---- corpora that cannot be used --------------------------------------------------------------------------


def truncated(compress: Callable[[bytes], bytes]) -> bytes:
    """Return the first half of compressed text that does not compress well."""
    rng = random.Random(2)
    whole = compress(" ".join(str(rng.random()) for _ in range(20_000)).encode())
    return whole[: len(whole) // 2]


BAD_CORPORA: dict[str, tuple[bytes | None, list[str]]] = {
    "missing.txt": (None, ["missing.txt", "no file"]),
    "empty.txt": (b"", ["empty.txt", "empty"]),
    "blank.txt": (b" \n\n\t\n", ["no word"]),
    "rare.txt": (b"each word once only here\n", ["min_count", "1"]),
    "cut.gz": (truncated(gzip.compress), ["cut.gz", "truncated", "gzip"]),
    "*.nothing": (None, ["*.nothing", "pattern"]),
}


@pytest.mark.parametrize("name", BAD_CORPORA)
def test_corpus_that_cannot_be_used(cawv, here, name):
    content, words = BAD_CORPORA[name]
    if content is not None:
        (here / name).write_bytes(content)
    before = tree(here)
    for arguments in (["train", name, *QUICK], ["train", name, "--dry-run"], ["vocab", name, "-o", "v.tsv"]):
        cawv(*arguments).says(1, "Error: ", *words)
        assert tree(here) == before


def test_file_that_fails_while_it_is_read(cawv):
    # root can read every file, but this one can be opened and then not read
    cawv("train", "/proc/self/mem", *QUICK).says(1, "/proc/self/mem", "cannot read")


def test_directory_pattern_and_pipe_are_the_same_corpus(cawv, here, text):
    (here / "folder").mkdir()
    content = text.read_bytes()
    half = content.index(b"\n", len(content) // 2) + 1
    (here / "folder" / "1.txt").write_bytes(content[:half])
    (here / "folder" / "2.txt.gz").write_bytes(gzip.compress(content[half:]))
    vectors = []
    for corpus in (text, "folder", "folder/*"):
        assert cawv("train", corpus, *QUICK, "--overwrite").code == 0
        vectors.append(one_model(here / "model").vectors.copy())
    with open("c.txt", "rb") as stream:
        subprocess.run([*CAWV, "train", "-", *QUICK[:-1], "piped"], stdin=stream, check=True, env=ENVIRONMENT)
    vectors.append(one_model(here / "piped").vectors)
    assert all((other == vectors[0]).all() for other in vectors)


def test_corpus_given_twice_is_read_twice_but_said(cawv, here, text):
    cawv("train", text, "c.txt", *QUICK).says(0, "Warning: ", "c.txt", "twice")
    assert one_model(here / "model").metadata["corpus"]["raw_tokens"] == 80_000


def test_invalid_utf8_is_repaired_and_reported(cawv, here, text):
    lines = text.read_bytes().splitlines(keepends=True)
    lines[500] = b"w1 \xff\xfe w2\n"
    lines[900] = b"w1 caf\xe9 w2\n"
    text.write_bytes(b"".join(lines))
    cawv("train", text, *QUICK).says(0, "3 invalid UTF-8", "c.txt', line 501")
    assert one_model(here / "model").metadata["corpus"]["repaired_utf8"] == 3


@pytest.mark.parametrize("between", [" ", ""], ids=["words", "no-space"])
def test_line_of_50_megabytes_takes_little_memory(here, between):
    rng = random.Random(3)
    piece = b"abcdefghij" * 100_000
    if between:
        piece = " ".join(f"w{rng.randrange(500)}" for _ in range(200_000)).encode() + b" "
    with open("long.txt", "wb") as file:
        for _ in range(50_000_000 // len(piece) + 1):
            file.write(piece)
    process = subprocess.Popen(
        [*CAWV, "train", "long.txt", *QUICK, "--sample", "1e-5", "--min-count", "1"],
        env=ENVIRONMENT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    peak = 0
    while process.poll() is None:
        peak = max(peak, anonymous_memory(process.pid))
        time.sleep(0.005)
    assert process.returncode == 0
    assert process.stderr is not None
    assert "10,000 tokens" in process.stderr.read()
    assert len(one_model(here / "model")) >= (500 if between else 3)
    assert 10e6 < peak < 250e6


def anonymous_memory(pid: int) -> int:
    """Return the memory of a process without its mapped files, in bytes."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


# ---- options that cannot be used --------------------------------------------------------------------------


BAD_OPTIONS = [
    (("--vector-size", "0"), "--vector-size"),
    (("--vector-size", "many"), "--vector-size"),
    (("--backend", "cuda"), "--backend"),
    (("--vectorsize", "5"), "--vector-size"),
    (("--valid", "-", "-"), "--valid"),
    (("--output", ""), "--output is empty"),
    (("--attention", "word"), "--attention is for cbow-attn, pv-dm-attn, not for cbow"),
    (("--model", "skipgram", "--cbow-update", "exact"), "--cbow-update"),
    (("--shared-by", "4", "--negatives", "exact"), "--shared-by"),
]


@pytest.mark.parametrize(
    ("options", "named"), BAD_OPTIONS, ids=[" ".join(options) for options, _ in BAD_OPTIONS]
)
def test_impossible_options(cawv, here, text, options, named):
    before = tree(here)
    cawv("train", text, "-o", "model", *options).says(2, "Error: ", named)
    assert tree(here) == before


def test_more_parameters_than_memory(cawv, here, text, monkeypatch):
    real = os.sysconf
    monkeypatch.setattr(os, "sysconf", lambda name: 10 if name == "SC_PHYS_PAGES" else real(name))
    before = tree(here)
    cawv("train", text, *QUICK, "--vector-size", "500").says(1, "200 words", "memory", "vector_size")
    assert tree(here) == before


# ---- places that cannot be written ------------------------------------------------------------------------


BAD_PLACES = [
    (("-o", "c.txt/model"), 1),
    (("-o", "c.txt/deep/model"), 1),
    (("-o", "c.txt", "--overwrite"), 1),
    (("-o", "folder", "--overwrite"), 1),
    (("-o", "folder"), 2),
    (("-o", "/"), 1),
    (("-o", "model", "--cache-dir", "c.txt/cache"), 1),
    (("-o", "model", "--cache-dir", "c.txt"), 1),
    (("-o", "model", "--log-json", "c.txt/log"), 2),
    (("-o", "model", "--log-json", "folder"), 2),
    (("-o", "model", "--log-json", "c.txt"), 2),
    (("-o", "model", "--save-vocab", "nowhere/v.tsv"), 2),
    (("-o", "model", "--save-vocab", "folder"), 2),
    (("-o", "model", "--save-vocab", "c.txt"), 2),
    (("-o", "model", "--valid", "nowhere.txt"), 1),
    (("-o", "model", "--read-vocab", "nowhere.tsv"), 1),
]


@pytest.mark.parametrize(
    ("options", "code"), BAD_PLACES, ids=[" ".join(options) for options, _ in BAD_PLACES]
)
def test_places_are_looked_at_before_the_text_is_read(cawv, here, text, monkeypatch, options, code):
    (here / "folder").mkdir()
    (here / "folder" / "precious").write_text("not a model")
    before = tree(here)

    def reads_text(*_):
        raise AssertionError("the text was read before the places were looked at")

    monkeypatch.setattr("wordvec_ca.text.reader.TextFiles.pieces", reads_text)
    cawv("train", text, *options).says(code, options[-1] if options[-1] != "--overwrite" else options[1])
    assert tree(here) == before


def test_no_room_for_the_model_is_said_before_training(cawv, here, text, monkeypatch):
    before = tree(here)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000)
    )
    monkeypatch.setattr("wordvec_ca.training.trainer.Trainer.run", lambda *_: pytest.fail("it trained"))
    cawv("train", text, *QUICK).says(1, "no room", "'model'", "1.0 kB are free")
    assert tree(here) == before


def test_existing_output_needs_overwrite(cawv, here, text):
    assert cawv("train", text, *QUICK).out == "model\n"
    before = tree(here)
    cawv("train", text, *QUICK, "--seed", "2").says(2, "'model' exists", "--overwrite")
    assert tree(here) == before
    # a run that fails after its first checks also keeps the old model
    cawv("train", text, *QUICK, "--overwrite", "--alpha", "100", "--epochs", "50").says(
        1, "diverged", "alpha"
    )
    assert tree(here) == before
    assert cawv("train", text, *QUICK, "--overwrite", "--seed", "2").code == 0
    assert one_model(here / "model").metadata["config"]["seed"] == 2
    assert set(tree(here)) == set(before)


def test_overwrite_never_takes_what_is_not_ours(cawv, here, text):
    assert cawv("train", text, *QUICK).code == 0
    (here / "model" / "notes.txt").write_text("mine")
    before = tree(here)
    cawv("train", text, *QUICK, "--overwrite").says(1, "'notes.txt'", "not overwritten")
    assert tree(here) == before


def test_longest_name_that_is_allowed(cawv, here, text):
    name = "x" * 249  # too long with ".cache" added
    assert cawv("train", text, *QUICK[:-1], name).code == 0
    assert len(one_model(here / name)) == 200
    assert cawv("train", text, *QUICK[:-1], "x" * 256).code == 1


def test_overwrite_follows_a_link(cawv, here, text):
    (here / "elsewhere").mkdir()
    (here / "model").symlink_to("elsewhere/real")
    assert cawv("train", text, *QUICK).code == 0
    assert cawv("train", text, *QUICK, "--overwrite").code == 0
    assert (here / "model").is_symlink()
    assert [path.name for path in (here / "elsewhere").iterdir()] == ["real"]
    one_model(here / "model")


def test_a_model_that_cannot_be_saved_in_its_place_is_saved_elsewhere(here, text, monkeypatch):
    from wordvec_ca import DataError, TrainConfig, train

    def spoil(record):  # as --cache-dir or another program may do meanwhile
        shutil.rmtree("out", ignore_errors=True)
        Path("out").write_text("in the way")

    Path("out").mkdir()
    with pytest.raises(DataError, match=r"out/model.*The trained model is in '.*/model'") as error:
        train(
            "c.txt",
            TrainConfig(epochs=1, vector_size=8),
            output="out/model",
            cache_dir="cache",
            callbacks=[spoil],
        )
    fallback = re.search(r"is in '(.+?)'", str(error.value))
    assert fallback
    assert len(one_model(Path(fallback[1]))) == 200


# ---- a full disk ------------------------------------------------------------------------------------------


@pytest.fixture
def with_file_limit(cawv, monkeypatch):
    """Return a function that runs the command with a limit on the bytes of every file."""

    def run(limit, *arguments):
        # Python 3.11 does not notice that a .pyc was cut off, and every later run would fail with it
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))  # Python ignores SIGXFSZ
        try:
            return cawv(*arguments)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return run


def test_disk_full_for_the_log_does_not_end_the_run(with_file_limit, here, text):
    log = here / "log.json"
    log.write_text((json.dumps({"time": 1.0, "fraction": 1.0, "epoch": 1}) + "\n") * 20_000)
    size = log.stat().st_size
    with_file_limit(size + 1_000, "train", "c.txt", *QUICK, "--epochs", "9", "--log-json", "log.json").says(
        0, "Warning: ", "log.json", "File too large"
    )
    assert one_model(here / "model").metadata["trained_fraction"] == 1
    records = [json.loads(line) for line in log.read_text()[size:].splitlines()]
    assert [record["epoch"] for record in records] == list(range(1, len(records) + 1))
    assert 1 <= len(records) <= 3


# ---- held-out text and vocabularies -----------------------------------------------------------------------


BAD_VALID = {"": "empty", "unknown words only\n": "vocabulary", "\0\0\0": "binary"}


@pytest.mark.parametrize("content", BAD_VALID, ids=["empty", "unknown", "binary"])
def test_bad_held_out_text(cawv, here, text, monkeypatch, content):
    (here / "valid.txt").write_text(content)
    before = tree(here)
    monkeypatch.setattr("wordvec_ca.training.trainer.Trainer.run", lambda *_: pytest.fail("it trained"))
    cawv("train", text, *QUICK, "--valid", "valid.txt").says(1, "Error: held-out text: ", BAD_VALID[content])
    assert tree(here) == before


def test_vocabulary_goes_out_and_in_again(cawv, here, text):
    assert cawv("vocab", text, "-o", "v.tsv", "--min-count", "190").code == 0
    assert cawv("train", text, *QUICK, "--read-vocab", "v.tsv", "--save-vocab", "again.tsv").code == 0
    assert (here / "again.tsv").read_bytes() == (here / "v.tsv").read_bytes()
    assert 0 < len(one_model(here / "model")) < 200


def test_log_of_a_run_that_does_not_begin_is_not_left(cawv, here):
    assert cawv("train", "missing.txt", *QUICK, "--log-json", "log.json").code == 1
    assert not (here / "log.json").exists()


def test_log_is_never_appended_to_json_lines_of_another_kind(cawv, here):
    (here / "c.jsonl").write_text('{"text": "a b"}\n')
    cawv("train", "c.jsonl", "--field", "text", "--log-json", "c.jsonl").says(
        2, "Error: ", "--log-json", "c.jsonl"
    )
    assert (here / "c.jsonl").read_text() == '{"text": "a b"}\n'


# ---- signals ----------------------------------------------------------------------------------------------


def wait_for(condition: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait until something is true, at most 60 seconds."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process is None or process.poll() is None, "the command ended too early"
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_while_reading_leaves_nothing(here, text, number):
    content, before = text.read_bytes(), tree(here)
    process = subprocess.Popen(
        [*CAWV, "train", "-", *QUICK, "--log-json", "log.json"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=False,
    )  # fmt: skip
    assert process.stdin is not None
    for _ in range(20):
        process.stdin.write(content)
    process.stdin.flush()
    wait_for((here / "model.run" / "text").exists, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == b"Interrupted."
    assert tree(here) == before


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP", "SIGTERM in background"])
def test_ctrl_c_while_training_saves_the_model(here, text, how):
    def ignore_ctrl_c():  # as a shell does for a command in the background
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    valid = ("--valid", "c.txt")
    process = subprocess.Popen(
        [*CAWV, "train", "c.txt", *QUICK, "--epochs", "1000000", "--log-json", "log.json", *valid],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True,
        preexec_fn=ignore_ctrl_c if how.endswith("background") else None,
    )  # fmt: skip
    wait_for(
        lambda: (here / "log.json").exists() and (here / "log.json").read_text().count("\n") >= 2, process
    )
    if how.endswith("background"):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
    process.send_signal(signal.Signals[how.split()[0]])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == "model\n"
    assert "Traceback" not in err
    assert err.count("Warning: interrupted") == 1
    assert "what was trained is saved" in err
    assert "cawv train --resume model continues it" in err
    record = one_model(here / "model", interrupted=True).metadata
    assert record["interrupted"] is True
    assert 0 < record["trained_fraction"] < 1
    assert len(record["loss_by_epoch"]) - len(record["valid_loss_by_epoch"]) in (0, 1)
    last = json.loads((here / "log.json").read_text().splitlines()[-1])
    assert last["epoch"] == len(record["loss_by_epoch"])


SLOW_SAVE = """
import time
from wordvec_ca.models import EmbeddingModel, ResolvedConfig
from wordvec_ca.cli import main
save = EmbeddingModel.save
def slow(self, *args, **kwargs):
    print("saving", flush=True)
    time.sleep({seconds})
    save(self, *args, **kwargs)
EmbeddingModel.save = slow
main({arguments!r})
"""


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_saving(here, text, times):
    before = tree(here)
    code = SLOW_SAVE.format(seconds=1 if times == 1 else 60, arguments=["train", "c.txt", *QUICK])
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "saving\n"
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    if times == 1:  # the first Ctrl-C lets the finished work be saved
        assert process.returncode == 0
        one_model(here / "model")
    else:
        assert process.returncode == 130
        assert tree(here) == before


def test_signals_are_as_before_after_a_run(here, text):
    from wordvec_ca import TrainConfig, train

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    train(text, TrainConfig(epochs=1, vector_size=8))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


# ---- pipes, warnings, errors of our own -------------------------------------------------------------------


def test_reader_that_goes_early(cawv, here, text):
    assert cawv("train", text, *QUICK).code == 0
    words = [f"w{i}" for i in range(200)]
    process = subprocess.Popen(
        [*CAWV, "nn", "model", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1


def test_progress_lines_that_nobody_reads_do_not_end_the_run(here, text):
    process = subprocess.Popen([*CAWV, "train", "c.txt", *QUICK], stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert process.stderr is not None
    process.stderr.close()
    process.wait()
    one_model(here / "model")


def test_internal_error_is_one_line(here, text, monkeypatch, capfd):
    def fail(*_, **__):
        raise KeyError("surprise")

    monkeypatch.setattr("wordvec_ca.models.parameters.EmbeddingModel.initialise", fail)
    before = tree(here)
    with pytest.raises(SystemExit):
        main(["train", str(text), *QUICK])
    err = capfd.readouterr().err
    assert "Traceback" not in err
    assert re.search(r"^Error: internal error, KeyError: .*surprise.*--debug.*$", err, re.M)
    assert tree(here) == before
    with pytest.raises(KeyError):
        main(["--debug", "train", str(text), *QUICK])


def test_warnings_are_lines_for_people(cawv, text, monkeypatch):
    def warn(*_):
        warnings.warn("mind the gap", stacklevel=1)

    monkeypatch.setattr("wordvec_ca.training.collapse._warn_of_collapse", warn)
    outcome = cawv("train", text, *QUICK)
    assert "\nWarning: mind the gap\n" in outcome.err


def test_quiet_prints_the_name_only(cawv, text):
    outcome = cawv("train", text, *QUICK, "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "model\n", "")


def test_demonstration(cawv, here, monkeypatch):
    # a short optimisation: tests of the explorer make a whole map
    monkeypatch.setattr("wordvec_ca.report.explorer.coordinates.EARLY", 10)
    monkeypatch.setattr("wordvec_ca.report.explorer.coordinates.LATE", 20)
    outcome = cawv("demo", "--max-words", "50000", "--epochs", "1").says(0)
    assert "nearest neighbours" in outcome.out
    assert "explore demo.cbow-attn" in outcome.out  # the next step
    assert "usual" in outcome.out  # a third sounds little, and is what a plane has room for
    assert outcome.out.rstrip().endswith("words.html")
    one_model(here / "demo.cbow-attn")


def test_output_is_named_after_corpus_and_model(cawv, here, text):
    text.rename(here / "wiki.en.txt")
    outcome = cawv("train", "wiki.en.txt", "--model", "sg", "--epochs", "1")
    assert outcome.out == "wiki.en.skipgram\n"
    one_model(here / "wiki.en.skipgram")


def test_dry_run_plans_and_writes_nothing(cawv, here, text):
    before = tree(here)
    outcome = cawv("train", text, *QUICK, "--dry-run").says(0)
    for part in ("vocabulary", "200 words", "parameters", "3,200", "memory", "disk", "time"):
        assert part in outcome.out
    assert "Warning: --alpha is 0.05" in cawv("train", text, *QUICK, "--alpha", "0.05", "--dry-run").err
    assert tree(here) == before


def test_dry_run_with_the_words_of_another_text(cawv, here, text):
    assert cawv("train", text, *QUICK).code == 0
    (here / "few.tsv").write_text("w1\t5\nw2\t5\n")
    (here / "more.txt").write_text("w1 w2 new\n" * 2)
    assert (
        "2 words, 66.7% of the tokens"
        in cawv("train", "more.txt", "--read-vocab", "few.tsv", "--dry-run").out
    )
    assert "200 words, 66.7%" in cawv("train", "more.txt", "--continue-from", "model", "--dry-run").out


def test_dry_run_of_what_is_too_large(cawv, text):
    outcome = cawv("train", text, "--model", "ssg", "-d", "100000", "--window", "1000", "--dry-run").says(0)
    assert "it cannot run here" in outcome.out


def test_a_run_without_a_prediction_is_no_silent_success(cawv, here):
    (here / "words.txt").write_text("a\nb\n\n" * 10)
    cawv("train", "words.txt", *QUICK).says(1, "one word", "awk -v RS=")
    cawv("train", "words.txt", *QUICK, "--model", "pv-dbow", "-o", "documents").says(0)
    (here / "words.txt").write_text("a b\n" * 10)  # sub-sampling leaves hardly one of words so frequent
    outcome = cawv("train", "words.txt", *QUICK)
    assert "not one prediction was made" in outcome.err
    assert "nan" not in outcome.err
    record = (here / "model" / "config.json").read_text()
    assert json.loads(record, parse_constant=pytest.fail)["loss_by_epoch"] == [None]


def test_model_that_is_none(cawv, here, text):
    (here / "folder").mkdir()
    for arguments in (
        ["nn", "folder", "w1"],
        ["nn", "c.txt", "w1"],
        ["info", "folder"],
        ["export", "c.txt", "-o", "v.bin"],
    ):
        cawv(*arguments).says(1, "Error: ", arguments[1])
    assert cawv("nn", "missing", "w1").code == 2
    assert cawv("train", text, *QUICK).code == 0
    cawv("attention", "model", "w1 w2", "--target", "w1").says(1, "cbow-attn")
    cawv("nn", "model", "w1000").says(1, "w1000", "did you mean")


def test_attention_as_table_and_picture(cawv, here, text, monkeypatch):
    assert cawv("train", text, *QUICK, "--model", "cbow-attn", "--tokenizer", "whitespace").code == 0
    look = ("attention", "model", "w1 $x^$ w2 w3", "--target")
    outcome = cawv(*look, "w2", "--plot", "out.png").says(0)
    rows = outcome.out.splitlines()[2:]
    assert [row[6:10].rstrip() for row in rows] == ["w1", "$x^$", "w3"]
    assert "not in the vocabulary" in rows[1]
    assert (here / "out.png").read_bytes().startswith(b"\x89PNG")
    weights = [word["weight"] for word in json.loads(cawv(*look, "3", "--json").out)["context"]]
    assert weights[1] is None
    assert sum(weights[::2]) == pytest.approx(1, abs=1e-5)
    before = tree(here)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for target, place, code in (("w2", "out.png", 2), ("w9", "x.png", 2), ("w2", "c.txt/x.png", 2)):
        assert cawv(*look, target, "--plot", place).code == code
    cawv(*look, "w2", "--plot", "x.png").says(1, "matplotlib", "pip install")
    assert tree(here) == before


def test_min_count_also_prunes_a_vocabulary_that_is_read(here, cawv):
    Path("text").write_text("a b c d\n" * 50)
    Path("vocab").write_text("a\t900\nb\t30\nc\t2\n")
    for given, words in ([], 3), (["--min-count", "3"], 2), (["--max-final-vocab", "2"], 2):
        assert cawv("train", "text", *QUICK, "--overwrite", "--read-vocab", "vocab", *given).code == 0
        assert len(Path("model/vocab.tsv").read_text().splitlines()) == words
    cawv("train", "text", *QUICK, "--overwrite", "--read-vocab", "vocab", "--min-count", "1000").says(
        1, "no word is left"
    )


# ---- n-grams ----------------------------------------------------------------------------------------------


def test_words_that_were_never_seen(cawv, here):
    rng = random.Random(1)
    lines = [" ".join(rng.choices(["houses", "house", "housing", "mouse", "mice"], k=8)) for _ in range(300)]
    (here / "t.txt").write_text("\n".join(lines))
    cawv("train", "t.txt", *QUICK, "--subwords", "--min-n", "2", "--max-n", "4").says(0)
    assert (here / "model" / "ngrams.tsv").read_text().count("\t") > 10
    outcome = cawv("nn", "model", "Housed", "--json").says(0)
    assert json.loads(outcome.out)["neighbours"][0]["word"].startswith("hous")
    assert "made of its n-grams" in outcome.err
    assert cawv("analogy", "model", "house", "houses", "mouses").code == 0
    assert cawv("nn", "model", "xyzzy").code == 1
    (here / "pairs.tsv").write_text("house\thouses\t9\nhoused\tmices\t2\nmouse\tmousing\t5\nxyz\thouse\t1\n")
    outcome = cawv("eval", "model", "--similarity", "pairs.tsv", "--json").says(0)
    report = json.loads(outcome.out)
    assert report["details"]["words_from_ngrams"] == 3  # housed, mices, mousing
    assert report["coverage"] == 0.75
    for name in ("v.fasttext", "v.txt"):
        assert cawv("export", "model", "-o", name).code == 0
    assert cawv("nn", "v.fasttext", "housed").code == 0
    assert cawv("nn", "v.txt", "housed").code == 1
    cawv("train", "t.txt", *QUICK[:-1], "again", "--continue-from", "v.fasttext").says(0)
    assert json.loads((here / "again" / "config.json").read_text())["config"]["buckets"] == 2_000_000
    assert cawv("train", "t.txt", "--subwords", "--min-n", "5", "--max-n", "4").code == 2
