"""The cluster that a run uses: an existing one, or a few nodes on this machine for a trial; and its end.

`watched` writes a message if this process is ended at once and without an exception, and ends Ray's on this
machine. If the driver's raylet or the GCS dies, the part of Ray in this process calls ``_exit``, and no
handler of ours runs; nor does one after kill -9. So another process waits for the end of this one. Ray lets
its servers end with the process that has started them; their agents would notice only after a minute or more.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wordvec_ca.errors import DataError, Option, OptionError, install_extra
from wordvec_ca.machine import machine_memory, usable_cpus

_WATCH = """
import glob, os, signal, sys
message, folder = sys.argv[1], None
for line in sys.stdin:
    kind, _, rest = line.rstrip("\\n").partition(" ")
    message, folder = (rest, folder) if kind == "message" else (message, rest)
if message:
    print(message, file=sys.stderr, flush=True)
    # A process that Ray has given a title has lost its command line, but not the files of its log.
    for link in glob.glob("/proc/[0-9]*/fd/*") if folder else []:
        try:
            if os.readlink(link).startswith(folder):
                os.kill(int(link.split("/")[2]), signal.SIGKILL)
        except OSError:
            pass
"""

Tell = Callable[[str, str], None]
"""Sets the ``message``, or the ``folder`` in which processes that are to be ended have open files."""


@contextmanager
def watched(message: str) -> Iterator[Tell]:
    """Have a message written to stderr, and processes ended, if this process ends within the block."""
    watcher = subprocess.Popen(
        [sys.executable, "-ISc", _WATCH, message],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the driver
    )

    def tell(kind: str, text: str) -> None:
        assert watcher.stdin is not None
        with contextlib.suppress(OSError):
            watcher.stdin.write(f"{kind} {text}\n".encode("utf-8", "replace"))
            watcher.stdin.flush()

    try:
        yield tell
    finally:
        tell("message", "")
        with contextlib.suppress(OSError):
            watcher.communicate()


LOCAL_STORE = 256 << 20
"""Smallest size in bytes of the object store of a node on this machine."""


ENDING, FAILED = 30.0, 15.0
"""Seconds within which Ray must end: for each node, and in all if the run has failed. After that the process
ends, and with it what runs on this machine (see ``watched``)."""


def check_cluster_address(cluster: str) -> None:
    """Raise a ValueError unless this names a cluster: ``local``, ``auto`` or ``HOST:PORT``."""
    if cluster not in ("local", "auto") and not re.fullmatch(
        r"[^\s:/]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}", cluster
    ):
        raise OptionError(
            Option("cluster"),
            f" is {cluster!r}; it must be local (nodes on this machine, to try it), auto (the cluster "
            "to which this machine belongs) or HOST:PORT, as in 10.0.0.1:6379",
        )


@contextmanager
def connected(
    cluster: str, nodes: int, threads: int | None = None, tell: Tell = lambda kind, text: None
) -> Iterator[Any]:
    """Connect to a cluster for the duration of the block; yields the module ``ray``."""
    check_cluster_address(cluster)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise DataError(f"a cluster needs Ray, which is not installed: {install_extra('cluster')}") from error
    if ray.is_initialized():  # by a program that uses Ray for more than this
        yield ray
        return
    limit = ENDING * nodes
    local: Any = None
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "namespace": "cawv"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Ray's to those who run Ray
            try:
                if cluster == "local":
                    local = _local(nodes, threads)
                    tell("folder", f"{local.head_node.get_session_dir_path()}/")
                ray.init(address=local.address if local else cluster, **quiet)
            except Exception as error:  # Ray raises this class itself if a node does not start in time
                why = (str(error) or repr(error)).splitlines()[0]
                if cluster == "local":
                    raise DataError(
                        f"Ray does not start {nodes} nodes on this machine: {why} If the machine is busy, "
                        "try again, or fewer nodes"
                    ) from error
                raise DataError(
                    f"cannot connect to {cluster!r}: {why}; is it running (ray status), and is this machine "
                    "one of its nodes?"
                ) from error
        yield ray
    except BaseException:
        limit = FAILED  # perhaps since Ray does not answer: then it does not end either
        raise
    finally:
        with open(os.devnull, "w") as nowhere:
            faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
            ray.shutdown()
            if local is not None:
                local.shutdown()
            faulthandler.cancel_dump_traceback_later()


def _local(nodes: int, threads: int | None) -> Any:
    """Start nodes on this machine, each with processes and an object store of its own."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_worker_niceness", "0")  # by default all else on this machine comes first
    memory = machine_memory()
    store = LOCAL_STORE if memory == float("inf") else max(LOCAL_STORE, int(0.3 * memory / nodes))
    given: dict[str, Any] = {
        "num_cpus": threads or max(1, usable_cpus() // nodes),
        "object_store_memory": store,
    }
    cluster = Cluster(initialize_head=True, head_node_args={**given, "include_dashboard": False})
    try:
        for _ in range(nodes - 1):
            cluster.add_node(**given)
    except BaseException:
        cluster.shutdown()
        raise
    return cluster
