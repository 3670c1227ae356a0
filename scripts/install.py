"""Installs the package with pip, and says in one line how far it is; the arguments are those of pip install.

``make`` calls it: compiling takes a minute or more, in which pip alone says nothing. If pip fails, all that
it said is shown.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time


def main() -> int:
    """Run pip; return its exit code."""
    pip = subprocess.Popen(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--verbose", *sys.argv[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # setuptools warns of editable installations; PYTHONUNBUFFERED lets the build's own lines pass at once
        env={**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1"},
        text=True,
        errors="replace",
    )
    assert pip.stdout is not None
    on_terminal = sys.stderr.isatty()
    said: list[str] = []
    packages: set[str] = set()
    kind, last = "", 0.0
    for line in pip.stdout:
        said.append(line)
        state = ""
        if found := re.match(r"Collecting ([\w.-]+)", line):
            packages.add(found[1])
            state = f"fetching package {len(packages)}: {found[1]}"
        elif found := re.match(r"\s*(compiled \d+ of \d+): ", line):
            state = found[1]
        elif line.startswith("Installing collected packages:"):
            state = f"installing {line.count(',') + 1} packages"
        if state and on_terminal:
            sys.stderr.write(f"\r\x1b[K{state}")
        elif state and (state.split()[0] != kind or time.monotonic() > last + 10):
            # a log gets a line a stage, and one after ten seconds
            kind, last = state.split()[0], time.monotonic()
            sys.stderr.write(f"{state}\n")
        sys.stderr.flush()
    if on_terminal:
        sys.stderr.write("\r\x1b[K")
    code = pip.wait()
    if code:
        sys.stderr.writelines(said)
    return code


if __name__ == "__main__":
    sys.exit(main())
