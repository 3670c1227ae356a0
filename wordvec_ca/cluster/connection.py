"""The cluster that a run uses: an existing one, or a few nodes on this machine for a trial."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from wordvec_ca.cluster.silence import RaySilence
from wordvec_ca.errors import DataError, Option, OptionError, install_extra
from wordvec_ca.machine import machine_memory, usable_cpus

LOCAL_STORE = 256 << 20
"""Smallest size in bytes of the object store of a node on this machine."""


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
    cluster: str, nodes: int, threads: int | None = None, silence: RaySilence | None = None
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
    local = None
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "namespace": "cawv"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Ray's to those who run Ray
            try:
                if cluster == "local":
                    local = _local(nodes, threads)
                    if silence is not None:
                        silence.clear = partial(_kill, local)
                    ray.init(address=local.address, **quiet)
                else:
                    ray.init(address=cluster, **quiet)
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
    finally:
        ray.shutdown()
        if local is not None:
            for node in list(local.worker_nodes):  # each takes seconds
                local.remove_node(node)
                if silence is not None:
                    silence.beat()
            local.shutdown()


def _kill(local: Any) -> None:
    """Kill the processes of nodes on this machine at once, suspended ones too."""
    for node in local.list_all_nodes():
        node.kill_all_processes(check_alive=False, allow_graceful=False)


def _local(nodes: int, threads: int | None) -> Any:
    """Start nodes on this machine, each with processes and an object store of its own."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_worker_niceness", "0")  # by default all else on this machine comes first
    memory = machine_memory()
    store = LOCAL_STORE if memory == float("inf") else max(LOCAL_STORE, int(0.1 * memory / nodes))
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
