"""The torch part is optional: nothing else imports torch, and without it the message says what to install."""

import os
import subprocess
import sys

WITHOUT_TORCH = """
import runpy, sys

class Hide:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] == "torch" else self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Hide(finder) for finder in sys.meta_path]
sys.argv[:] = sys.argv[1:]
"""


def without_torch(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code where torch cannot be found, as if it were not installed."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH + code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def test_missing_torch_says_how_to_install_it():
    done = without_torch("import wordvec_ca.nn")
    assert "pip install 'wordvec-ca[torch]'" in done.stderr.splitlines()[-1]


def test_command_line_says_how_to_install_it(tmp_path):
    vectors, tagged = tmp_path / "vectors.txt", tmp_path / "tags.tsv"
    vectors.write_text("1 2\na 1 0\n", encoding="utf-8")
    tagged.write_text("a\tX\n\n" * 40, encoding="utf-8")
    code = "from wordvec_ca.cli import main; main()"
    done = without_torch(code, "cawv", "eval", str(vectors), "--bilstm-tagging", str(tagged))
    assert done.returncode == 1
    assert "pip install 'wordvec-ca[torch]'" in done.stderr
    assert "Traceback" not in done.stderr
