"""Processes of this machine that work as nodes of a cluster which this process has started."""

from __future__ import annotations

import os

import psutil

MARK = "STRESS_TEST_OF"
"""Variable of the environment that tells them from those of other clusters: they inherit it. It does not
begin with ``CAWV_``: commands warn of such variables that are not option of theirs."""

os.environ[MARK] = str(os.getpid())


def actors() -> list[int]:
    """Return the processes that work for a run, also those whose raylet has died before them."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or [""]
        if not words[0].startswith("ray::NodeActor") or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        try:
            if process.environ().get(MARK) == str(os.getpid()):
                found.append(process.pid)
        except psutil.NoSuchProcess:
            pass
    return found
