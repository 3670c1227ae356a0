"""``cawv train --cluster``: options that are refused before a cluster is started."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cluster", "ray://head:10001"], "must be local"),
        (["--cluster", "local", "--no-cache"], "--no-cache does not go with --cluster"),
        (["--cluster", "local", "--nodes", "0"], "--nodes is 0; it must be a whole number from 1 to 1,024"),
        (["--cluster", "local", "--epochs", "0"], "--epochs"),
    ],
)
def test_wrong_usage_is_told_at_once(command, tmp_path, arguments, message):
    (tmp_path / "text.txt").write_text("a b c\n")
    command("train", "text.txt", *arguments).says(2, message)


def test_standard_input_is_refused(command):
    command("train", "-", "--cluster", "local", "-o", "model").says(1, "read only once")


def test_there_is_nothing_to_resume(command):
    command("train", "--resume", "memory://nowhere/run", "--cluster", "nowhere:1").says(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epochs", "9"], "--epochs does not go with --resume of a run on a cluster"),
        (["--nodes", "3"], "--nodes does not go with --resume: a run keeps its number of replicas"),
        (["--dry-run"], "--dry-run does not go with --resume of a run on a cluster"),
        (["--checkpoint-dir", "elsewhere"], "--checkpoint-dir does not go with --resume"),
        (["text.txt"], "CORPUS does not go with --resume"),
    ],
)
def test_a_resumed_run_goes_on_as_it_began(command, tmp_path, arguments, message):
    (tmp_path / "model.run").mkdir()
    (tmp_path / "model.run" / "run.json").write_text('{"cluster": "local"}')
    command("train", "--resume", "model", *arguments).says(2, message)


def test_a_resumed_run_of_one_machine_has_no_cluster(command):
    command("train", "--resume", "model", "--cluster", "local").says(2, "--cluster is for runs on a cluster")
