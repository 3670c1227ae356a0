"""Options from a settings file and from variables; every run writes a settings file that repeats it."""

import shutil
import tomllib
from pathlib import Path

import pytest
from small_runs import Killed, killed_after

from wordvec_ca import KeyedVectors

SMALL = ("--epochs", "1", "-d", "8", "--workers", "1")


def vectors(folder: str) -> bytes:
    return Path(folder, "vectors.kv.vectors.npy").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--model", "sg", "--seed", "7"),
        ("--model", "attention", "--attention", "position", "--window", "3"),
    ],
    ids=["cbow", "skipgram", "attention"],
)
def test_every_run_leaves_settings_that_repeat_it(command, text, options):
    assert command("train", text, *SMALL, *options, "--valid", text, "-o", "first").code == 0
    settings = tomllib.loads(Path("first/run.toml").read_text())
    assert settings["corpus"] == [str(text.absolute())]
    assert settings["valid"] == str(text.absolute())
    assert settings["workers"] == 1
    assert "output" not in settings
    command("train", "--config", "first/run.toml", "-o", "second").says(0)
    assert vectors("first") == vectors("second")
    assert Path("second/run.toml").read_text() == Path("first/run.toml").read_text()


def test_a_run_from_python_leaves_settings_too(command, text):
    from wordvec_ca import TrainConfig, train

    config = TrainConfig(model="skipgram", epochs=1, vector_size=8, workers=1, min_count=2)
    train(text, config, output="first")
    assert command("train", "--config", "first/run.toml", "-o", "second").code == 0
    assert vectors("first") == vectors("second")
    train([["a", "b"]] * 50, config, output="third")
    assert "add it" in Path("third/run.toml").read_text()
    assert "corpus" not in tomllib.loads(Path("third/run.toml").read_text())


def test_settings_of_a_run_from_python_have_no_option_of_another_model(command, text):
    from wordvec_ca import TrainConfig, train

    config = TrainConfig(model="skipgram", alpha=0.03, epochs=1, vector_size=8, workers=1)
    train(text, config, output="first")  # attention_alpha follows alpha, but skipgram has no attention
    assert "attention-alpha" not in tomllib.loads(Path("first/run.toml").read_text())
    command("train", "--config", "first/run.toml", "-o", "second").says(0)
    assert vectors("first") == vectors("second")


def test_settings_of_a_continued_run_from_python_say_what_is_usual_too(command, text):
    from wordvec_ca import TrainConfig, train
    from wordvec_ca.runs import continued_config

    train(text, TrainConfig(epochs=2, sample=0.01, vector_size=8, workers=1), output="old")
    config = continued_config("old", {"epochs": 5, "sample": 1e-3, "workers": 1})
    train(text, config, continue_from="old", output="first")
    command("train", "--config", "first/run.toml", "-o", "second").says(0)
    assert vectors("first") == vectors("second")


def test_settings_of_a_run_that_replaced_the_model_it_began_with_are_refused(command, text):
    more = Path("more.txt")
    more.write_text("w1 w2 w3\n" * 500)
    assert command("train", text, *SMALL, "-o", "day").code == 0
    shutil.copytree("day", "base")
    for base in ("base", "day"):
        again = ("--continue-from", base, *SMALL[:2], "--workers", "1")
        assert command("train", more, *again, "-o", "day", "--overwrite").code == 0
        if base == "base":  # still the model that the run began with
            assert command("train", "--config", "day/run.toml", "-o", "same").code == 0
            assert vectors("same") == vectors("day")
    command("train", "--config", "day/run.toml", "-o", "other").says(1, "day", "--continue-from")
    assert not Path("other").exists()
    assert command("train", "--config", "day/run.toml", "--continue-from", "day", "-o", "other").code == 0
    shown = command("info", "day").out
    assert shown.index("c.txt") < shown.index("more.txt")
    assert shown.count("more.txt") == 2


def test_first_vectors_and_subwords_are_refused_before_anything_is_read(command, text):
    for more in ((), ("--dry-run",)):
        command("train", text, "--subwords", "--init-vectors", "none.vec", *more).says(2, "--subwords")


def test_a_resumed_run_leaves_the_settings_of_its_beginning(command, text):
    from wordvec_ca import TrainConfig
    from wordvec_ca.models import ResolvedConfig
    from wordvec_ca.runs import RunRequest, run_request

    settings = {"corpus": [str(text.absolute())], "vector-size": 8, "epochs": 40, "workers": 1}
    config = TrainConfig(epochs=40, vector_size=8, workers=1)
    request = RunRequest(
        config=ResolvedConfig.of(config),
        corpus=text,
        output="model",
        checkpoint_every="1k",
        settings=settings,
    )
    with pytest.raises(Killed):
        run_request(request, callbacks=[killed_after(0.5)])
    assert Path("model.run").exists()
    assert command("train", "--resume", "model").code == 0
    assert tomllib.loads(Path("model/run.toml").read_text()) == settings
    assert command("train", "--config", "model/run.toml", "-o", "again").code == 0
    assert vectors("model") == vectors("again")


def test_vocabulary_in_settings_is_pruned_only_if_that_was_given(command, text):
    Path("v.tsv").write_text("w1\t9\nw2\t9\nw3\t2\n")
    assert command("train", text, *SMALL, "--read-vocab", "v.tsv", "-o", "first").code == 0
    assert command("train", "--config", "first/run.toml", "-o", "second").code == 0
    assert len(Path("second/vocab.tsv").read_text().splitlines()) == 3
    assert command("train", "--config", "first/run.toml", "--min-count", "5", "-o", "third").code == 0
    assert len(Path("third/vocab.tsv").read_text().splitlines()) == 2


def test_command_line_goes_before_variables_and_these_before_the_file(command, text, monkeypatch):
    Path("s.toml").write_text("corpus = 'c.txt'\nvector_size = 5\nepochs = 1\nworkers = 1\nlowercase = false")
    assert command("train", "--config", "s.toml", "-o", "a").code == 0
    monkeypatch.setenv("CAWV_TRAIN_VECTOR_SIZE", "6")
    monkeypatch.setenv("CAWV_TRAIN_CONFIG", "s.toml")
    assert command("train", "-o", "b").code == 0
    assert command("train", "-d", "7", "-o", "c").code == 0
    sizes = [command("info", name, "--json").json["config"]["vector_size"] for name in "abc"]
    assert sizes == [5, 6, 7]
    assert command("info", "a", "--json").json["config"]["lowercase"] is False
    assert tomllib.loads(Path("b/run.toml").read_text())["vector-size"] == 6


def test_variables_are_for_every_command_and_in_its_help(command, vectors_of, monkeypatch):
    path = vectors_of(["a", "b", "c", "d"])
    monkeypatch.setenv("CAWV_NN_TOPN", "1")
    monkeypatch.setenv("CAWV_NN_JSON", "1")
    assert len(command("nn", path, "a").json["neighbours"]) == 1
    assert "CAWV_NN_" in command("nn", "--help").out
    assert "CAWV_COMMAND_OPTION" in command("--help").out
    monkeypatch.setenv("CAWV_NN_TOPN", "many")
    assert command("nn", path, "a").code == 2


def test_a_variable_for_another_model_is_no_error(command, text, monkeypatch):
    monkeypatch.setenv("CAWV_TRAIN_ATTENTION", "word")
    assert command("train", text, *SMALL, "-o", "a").code == 0
    assert "attention" not in tomllib.loads(Path("a/run.toml").read_text())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("vector-sise = 5", ["vector-sise", "vector-size"]),
        ("vector-size = [5]", ["vector-size", "string or a number"]),
        ("vector-size = 5.5", ["vector-size"]),
        ("lowercase = 'x'", ["lowercase", "true or false"]),
        ("no-cache = 1", ["no-cache", "true or false"]),
        ("corpus = [1]", ["corpus", "list of strings"]),
        ("model = 'cbwo'", ["model", "cbow"]),
        ("[train]\nepochs = 1", ["train"]),
        ("epochs = ", ["not TOML"]),
        ("attention = 'word'", ["--attention is for"]),
        ("config = 'other.toml'", ["config"]),
        ("\xff = 1", ["not TOML"]),
    ],
)
def test_settings_that_cannot_be_used(command, text, content, words):
    Path("s.toml").write_text(content)
    outcome = command("train", text, "--config", "s.toml", "-o", "model")
    assert outcome.code in (1, 2)
    for word in words:
        assert word in outcome.err
    assert not Path("model").exists()
    command("train", text, "--config", "nowhere.toml", "-o", "model").says(1, "nowhere.toml")


def test_settings_may_have_short_names_and_errors_name_the_file(command, text):
    Path("s.toml").write_text('corpus = "c.txt"\nd = 8\nlr = 0.1\nepochs = 1\nworkers = 1\n')
    assert command("train", "--config", "s.toml", "-o", "short").code == 0
    assert KeyedVectors.load("short").vector_size == 8
    for wrong in ('epochs = "x"', "epochs = 0"):
        Path("s.toml").write_text(f'corpus = "c.txt"\n{wrong}\n')
        command("train", "--config", "s.toml", "-o", "m").says(2, "'s.toml'")
    outcome = command("train", text, "--epochs", "0", "-o", "m")
    assert "settings" not in outcome.err


def test_a_variable_that_is_no_option_is_told(command, text, monkeypatch):
    monkeypatch.setenv("CAWV_TRAIN_EPOCS", "1")
    monkeypatch.setenv("CAWV_NN_TOPN", "1")
    outcome = command("train", text, *SMALL, "-o", "m")
    assert "CAWV_TRAIN_EPOCS is not an option of cawv train. Did you mean CAWV_TRAIN_EPOCHS" in outcome.err
    assert "CAWV_NN_TOPN" not in outcome.err


def test_settings_do_not_go_with_resume(command, text):
    Path("s.toml").write_text("epochs = 2")
    command("train", "--resume", "model", "--config", "s.toml").says(2, "--config does not go with --resume")
