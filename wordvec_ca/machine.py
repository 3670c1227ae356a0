"""Processors and memory of this machine."""

from __future__ import annotations

import math
import os
from pathlib import Path


def machine_memory() -> float:
    """Return the bytes of memory of this machine; infinity if the system does not report it (Windows)."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def usable_cpus() -> int:
    """Return the number of processors that this process may use (its affinity, if the system reports it)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory() -> int:
    """Return how many bytes of memory this process may still take, as far as the system reports it."""
    free = int(min(1 << 62, machine_memory()))
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    free = min(free, int(line.split()[1]) * 1024)
        for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
            if os.path.exists(path):
                limit = Path(path).read_text().strip()
                free = min(free, int(limit) if limit.isdigit() else free)
    except (OSError, ValueError):
        pass  # another system
    return free


_NO_ADDRESSES = ("failed to map", "allocate memory", "libllvmlite")


def out_of_addresses(error: BaseException) -> bool:
    """Return whether a library could not be loaded because the address space is used up."""
    # Library loaders then raise ImportError or OSError; only the text distinguishes these from other
    # errors.
    return isinstance(error, ImportError | OSError) and any(mark in str(error) for mark in _NO_ADDRESSES)
