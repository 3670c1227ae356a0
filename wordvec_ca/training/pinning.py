"""Pins the threads of a replica to processors that share a cache, so that its rows stay in that cache.

Pinning helps where there are several groups of processors (chiplets, sockets): memory is then allocated on
the socket of the thread that first writes it, and cache lines move between near cores. Threads are not pinned
if all processors share one cache, if there are fewer threads than processors (other programs may use them),
or if the system does not report its caches.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

SYSTEM = Path("/sys/devices/system/cpu")


def cpu_groups(threads: Sequence[int], system: Path = SYSTEM) -> list[set[int] | None]:
    """Return the processors of each replica, or None for each if threads are not pinned."""
    undecided: list[set[int] | None] = [None] * len(threads)
    if not hasattr(os, "sched_getaffinity"):
        return undecided
    usable = os.sched_getaffinity(0)
    places = {cpu: _place(cpu, system) for cpu in usable}
    if sum(threads) < len(usable) or len({place[:2] for place in places.values()}) < 2:
        return undecided
    order = sorted(usable, key=lambda cpu: (*places[cpu], cpu))
    groups: list[set[int] | None] = []
    done, total = 0, sum(threads)
    for number in threads:
        begin, end = done * len(order) // total, (done + number) * len(order) // total
        groups.append(set(order[begin : max(end, begin + 1)]))
        done += number
    return groups


def pin(cpus: set[int]) -> None:
    """Let the calling thread run on these processors only, if the system allows it."""
    try:
        os.sched_setaffinity(0, cpus)
    except (AttributeError, OSError):  # a container may forbid this; then the thread is not pinned
        pass


def _place(cpu: int, system: Path) -> tuple[int, int, int]:
    """Return socket, first processor with the same last-level cache, and core; 0 for unknown values."""
    folder = system / f"cpu{cpu}"
    socket = _number(folder / "topology" / "physical_package_id")
    core = _number(folder / "topology" / "core_id")
    caches = sorted(folder.glob("cache/index*/shared_cpu_list"))
    first = 0
    if caches:
        text = caches[-1].read_text().strip()
        first = int(text.replace(",", "-").split("-")[0]) if text else 0
    return socket, first, core


def _number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0
