"""Training on many machines: nodes of a Ray cluster, each with all parameters and a part of the text.

Input: files or URLs that all nodes know, a `TrainConfig`, and where the cluster is. Output: the model
directory that one machine would make. The driver gives segments of text to nodes and records in a ledger what
was merged; it holds neither text nor parameters. Only functions of this package import Ray.
"""

from wordvec_ca.cluster.connection import check_cluster_address
from wordvec_ca.cluster.cost import describe_cluster_plan, plan_on_cluster
from wordvec_ca.cluster.driver import FinishedRun
from wordvec_ca.cluster.options import ClusterOptions
from wordvec_ca.cluster.request import files_of_cluster_run, is_cluster_run
from wordvec_ca.cluster.run import cluster_request, resume_on_cluster, run_on_cluster, train_on_cluster

__all__ = [
    "ClusterOptions",
    "FinishedRun",
    "check_cluster_address",
    "cluster_request",
    "describe_cluster_plan",
    "files_of_cluster_run",
    "is_cluster_run",
    "plan_on_cluster",
    "resume_on_cluster",
    "run_on_cluster",
    "train_on_cluster",
]
