"""Types of the compiled module ``_pool``."""

import numpy as np
from numpy.typing import NDArray

def fill_pool(
    ends: NDArray[np.float64], offset: float, order: NDArray[np.int32], out: NDArray[np.int32]
) -> None:
    """Fill ``out[i]`` with the word of the draw ``order[i]``."""
