"""Import this before torch: scripts can then import ``study``, and end with advice if PyTorch is missing."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import need_torch

need_torch()
