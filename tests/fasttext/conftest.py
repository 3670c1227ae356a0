"""Fixtures: files of labelled text, and the path of the real program."""

import shutil

import pytest
from real_program import labelled_lines


@pytest.fixture(scope="session")
def texts(tmp_path_factory):
    """Return a file to train on and one to test on."""
    folder = tmp_path_factory.mktemp("texts")
    for name, n, seed in (("train", 1200, 1), ("test", 300, 2)):
        (folder / name).write_text("\n".join(labelled_lines(n, seed)) + "\n", "utf-8")
    return folder / "train", folder / "test"


@pytest.fixture(scope="session")
def program():
    """Return the real program's path."""
    found = shutil.which("fasttext")
    if found is None:
        pytest.skip("the program fasttext is not installed (Debian: apt-get install fasttext)")
    return found
