"""Processes of this machine that work as nodes of a cluster which this process has started."""

from __future__ import annotations

import psutil


def actors() -> list[int]:
    """Return the processes that work for a run, also those whose raylet has died before them."""
    found, me = [], psutil.Process().pid
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or [""]
        if not words[0].startswith("ray::NodeActor") or process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        try:
            above = [parent.pid for parent in process.parents()]
        except psutil.NoSuchProcess:
            continue
        if me in above or above == [1]:
            found.append(process.pid)
    return found
