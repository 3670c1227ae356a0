"""Where a run on a cluster goes, and how patient it is: what it needs besides text and training options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wordvec_ca.cluster.connection import check_cluster_address
from wordvec_ca.cluster.engine import PATIENCE
from wordvec_ca.cluster.request import parse_patience


def check_nodes(nodes: int) -> None:
    """Raise a ValueError if a cluster cannot have this number of nodes."""
    if not 1 <= nodes <= 1024:
        raise ValueError(f"nodes must be 1 to 1024; got {nodes}")


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Where a run executes and which failures it tolerates.

    Parameters
    ----------
    cluster : str, default "local"
        ``local``: ``nodes`` nodes on this machine, to try it; ``auto``: the cluster to which this
        machine belongs; or ``HOST:PORT`` of its head, of which this machine must be a node.
    nodes : int, default 2
        How many replicas of the parameters to train, and at most so many nodes to use. With fewer, a node
        trains several replicas in turn; those that come later are taken up between two merges.
    checkpoint_dir : str, optional
        A folder that all nodes see, or a URL, for checkpoints; by default ``OUTPUT.run``.
    merging : mapping, optional
        Attributes of ``MergePlan`` to set otherwise, such as ``merges_per_epoch`` and ``rate``.
    patience : float, default 60
        Seconds after which a node that answers nothing is given up, and to wait for nodes.
    storage_patience : str, default "30m"
        For how long the text and the storage of checkpoints may be away before the run ends: 90s, 30m, 2h.
        Meanwhile it trains on what the nodes hold.

    Raises
    ------
    ValueError
        An option is outside its limits.
    """

    cluster: str = "local"
    nodes: int = 2
    checkpoint_dir: str | None = None
    merging: Mapping[str, Any] = field(default_factory=dict)
    patience: float = PATIENCE
    storage_patience: str = "30m"

    def __post_init__(self) -> None:
        check_cluster_address(self.cluster)
        check_nodes(self.nodes)
        parse_patience(self.storage_patience)
