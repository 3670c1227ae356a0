"""Headings in the help, completion in shells, and the nearest known word for a misspelt one."""

import os
import shutil
import subprocess
import sys

import click
import pytest

from wordvec_ca.cli import COMMANDS, MEANINGS, SECTIONS, group
from wordvec_ca.cli.train import command as train_command
from wordvec_ca.specs.options import GROUPS, OPTIONS


def test_options_of_train_stand_under_headings_those_first_that_everyone_needs(command):
    text = command("train", "--help-all").out
    first = command("train", "--help").out
    assert GROUPS[0] in first
    assert GROUPS[1] not in first
    assert "--subwords" in complete("cawv train --subw")[0]  # completed, though not on the first page
    places = [text.index(f"{title}:") for title in GROUPS]
    assert places == sorted(places)
    for name in ("--output", "--model", "--vector-size", "--window", "--epochs", "--min-count"):
        assert places[0] < text.index(name, places[0]) < places[1], name
    shown = [param.name for param in train_command.params if param.param_type_name == "option"]
    assert shown == list(OPTIONS)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns_and_breaks_no_word(name, monkeypatch):
    def shown(columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        one = group if not name else group.get_command(click.Context(group), name)
        context = one.context_class(one, info_name=f"cawv {name}".strip(), **one.context_settings)
        return one.get_help(context)

    assert max(map(len, shown(80).splitlines())) <= 80
    assert shown(80).split() == shown(100).split()


def test_what_people_type_instead_leads_to_commands():
    assert {meant.split()[0] for meant in MEANINGS.values()} <= {*COMMANDS, "--completion"}
    assert not set(MEANINGS) & set(COMMANDS)
    assert len(set(named := sum(SECTIONS.values(), ()))) == len(named)


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["trian"], "Did you mean train?"),
        (["similar"], "cawv nn"),
        (["predict"], "cawv recommend"),
        (["check"], "cawv info MODEL --check"),
        (["serach"], "Did you mean search"),
        (["train", "c.txt", "--vectorsize", "5"], "--vector-size"),
        (["train", "c.txt", "--model", "cbow-atn"], "Did you mean cbow-attn"),
        (["train", "c.txt", "--negatives", "shard"], "Did you mean shared?"),
        (["train", "c.txt", "--tokenizer", "wrods"], "Did you mean words?"),
        (["train", "c.txt", "--normalize", "NFCC"], "Did you mean nfc or nfkc?"),
        (["--completion", "bsh"], "Did you mean bash"),
        (["demo", "--model", "skip-grams"], "Did you mean skipgram?"),
        (["eval", "v.safetensors", "--tasks", "analogy,simlarity"], "Did you mean similarity?"),
        (["compare", "v.safetensors", "v.safetensors", "--method", "atention"], "Did you mean attention"),
        (["axis", "v.safetensors", "--published", "math-art"], "Did you mean math-arts"),
        (["nn", "v.safetensors", "quen"], "did you mean queen?"),
        (["analogy", "v.safetensors", "kign", "king", "quen"], "did you mean queen?"),
    ],
)
def test_a_slip_gets_the_nearest_right_word(command, vectors_of, arguments, suggestion):
    vectors_of(["king", "queen", "man"])
    outcome = command(*arguments)
    assert outcome.code in (1, 2)
    assert suggestion in outcome.err


def test_a_sum_is_one_argument_with_spaces_or_without(command, vectors_of):
    vectors_of(["king", "queen", "man", "woman", "new-york"])
    spaced = command("nn", "v.safetensors", "king - man + woman").out
    assert spaced.startswith("king - man + woman\n")
    assert command("nn", "v.safetensors", "King-Man+woman").out == spaced
    assert command("nn", "v.safetensors", "new-york").out.startswith("new-york\n")
    assert command("nn", "v.safetensors", "woman-man+king", "--json").json["sum"][1] == {
        "word": "man", "sign": -1,
    }  # fmt: skip
    assert "put it in quotes" in command("nn", "v.safetensors", "king", "-", "man", "+", "woman").err
    command("nn", "v.safetensors", "king-man").says(1, "put spaces around the sign: 'king - man'")


def complete(words: str) -> list[str]:
    """Return what the command offers to a bash in which these words were typed."""
    typed = words.split(" ")
    environment = {
        **os.environ,
        "_CAWV_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from wordvec_ca.cli import main; main([])"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_commands_options_values_and_files_are_completed():
    assert {"plain,train"} <= set(complete("cawv tr"))
    assert "plain,--vector-size" in complete("cawv train --vec")
    assert "plain,skipgram" in complete("cawv train --model s")
    assert complete("cawv train c.t") == ["file,c.t"]
    assert complete("cawv nn mod") == ["file,mod"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(command, shell):
    outcome = command("--completion", shell)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{shell}_complete" in outcome.out
    assert "cawv" in outcome.out
    if program := shutil.which(shell):
        syntax = subprocess.run([program, "-n"], input=outcome.out, text=True, capture_output=True)
        assert syntax.returncode == 0, syntax.stderr
