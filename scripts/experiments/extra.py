"""Import this before torch: it lets scripts import ``study``, and ends them with advice without PyTorch."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from study import need_torch

need_torch()
