"""Without mwparserfromhell, reading a dump gives an error that says so, and everything else works."""

import subprocess
import sys
from pathlib import Path

BLOCKED = "import sys; sys.modules['mwparserfromhell'] = None; from wordvec_ca.cli import main; main({!r})"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKED.format(list(arguments))], cwd=folder, capture_output=True, text=True
    )


def test_text_is_read_and_a_dump_says_what_to_install(tmp_path):
    (tmp_path / "c.txt").write_text("one two three four\n" * 100)
    (tmp_path / "d.xml").write_text("<mediawiki><page><title>T</title><ns>0</ns></page></mediawiki>")
    trained = run(tmp_path, "train", "c.txt", "--epochs", "1", "-q")
    assert trained.returncode == 0, trained.stderr
    refused = run(tmp_path, "vocab", "d.xml", "-o", "v.tsv")
    assert refused.returncode == 1
    assert "pip install mwparserfromhell" in refused.stderr
    assert "Traceback" not in refused.stderr
