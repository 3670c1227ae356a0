"""The torch part is optional: nothing else imports torch, and without it the message says what to install."""

import subprocess
import sys

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
try:
    import wordvec_ca.nn
except ImportError as error:
    print(error)
"""


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_core_and_command_line_do_not_import_torch():
    code = (
        "import sys, wordvec_ca, wordvec_ca.cli\n"
        "try: wordvec_ca.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print('torch' in sys.modules)"
    )
    assert run(code).splitlines()[-1] == "False"


def test_missing_torch_says_how_to_install_it():
    assert "pip install wordvec-ca[torch]" in run(WITHOUT_TORCH)
