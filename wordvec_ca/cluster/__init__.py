"""Training on many machines: nodes of a Ray cluster, each with all parameters and a part of the text.

Input: files or URLs that all nodes know, a `TrainConfig`, and where the cluster is. Output: the model
directory that one machine would make. The work is tasks of Ray; the driver holds neither text nor parameters.
Only functions of this package import Ray.
"""

# What this face imports is what it hands out:
# mypy: implicit-reexport
# ruff: noqa: F401

from wordvec_ca.cluster.connection import check_cluster_address
from wordvec_ca.cluster.cost import describe_cluster_plan, plan_on_cluster
from wordvec_ca.cluster.driver import FinishedRun
from wordvec_ca.cluster.request import ClusterOptions, files_of_cluster_run, is_cluster_run
from wordvec_ca.cluster.run import resume_on_cluster, train_on_cluster
