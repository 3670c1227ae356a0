"""Processes on this machine that work as nodes of a cluster that this process has started."""

from __future__ import annotations

import os

import psutil

MARK = "STRESS_TEST_OF"
"""Environment variable that these processes inherit and those of other clusters do not have. It does not
begin with ``CAWV_``, because commands warn of such variables if they are not options."""

os.environ[MARK] = str(os.getpid())


def actors() -> list[int]:
    """Return the processes that work for a run, including those whose raylet has already died."""
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
