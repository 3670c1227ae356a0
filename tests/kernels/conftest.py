"""One process of pytest compiles the reference for all, as each type of number takes half a minute."""

import fcntl
import os

import numba
import numpy as np
import pytest

from wordvec_ca.kernels import sgns_reference


@pytest.fixture(scope="session", autouse=True)
def reference_compiled_once(tmp_path_factory):
    """Compile for both types at the first call; every second process does so in the other order.

    Two processes then compile one type each at the same time, and take the other one from numba's cache.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        yield
        return
    compiled, folder = sgns_reference._train_chunk, tmp_path_factory.getbasetemp().parent
    kinds = [np.float32, np.float64][:: -1 if int(worker.removeprefix("gw")) % 2 else 1]

    def first(*given):
        sgns_reference._train_chunk = compiled
        for kind in kinds:
            with open(folder / f"reference-{kind.__name__}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                arrays = (type(x)(*(a.astype(kind) for a in x)) if x is given[4] else x for x in given)
                compiled.compile(tuple(map(numba.typeof, arrays)))
        compiled(*given)

    sgns_reference._train_chunk = first
    yield
    sgns_reference._train_chunk = compiled
