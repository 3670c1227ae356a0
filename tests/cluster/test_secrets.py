"""On a cluster too, no file and no message shows the secrets of the text's address."""

import subprocess
import sys

import pytest
from guarded_text import check_no_secret, guarded_text

pytest.importorskip("aiohttp")
pytestmark = pytest.mark.slow


def test_a_run_on_a_cluster_and_a_failed_one_show_no_secret(machines, tmp_path):
    machines.have(1)
    with guarded_text() as url:
        options = ["--cluster", machines.cluster.address, "--nodes", "1", "--workers", "1", "-d", "8"]
        options += ["--epochs", "1", "--min-count", "1"]
        for source, code in ((url, 0), (url.replace("t.txt", "missing"), 1)):
            command = [sys.executable, "-m", "wordvec_ca", "train", source, "-o", f"model{code}", *options]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == code, done.stderr
            check_no_secret(tmp_path, done.stdout, done.stderr)
