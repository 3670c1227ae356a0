"""Import this before torch: where PyTorch is missing, it says what to install."""

import importlib.util
import sys

if importlib.util.find_spec("torch") is None:
    sys.exit("This experiment needs PyTorch, which is not installed: pip install 'wordvec-ca[torch]'")
