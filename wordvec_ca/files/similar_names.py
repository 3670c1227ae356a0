"""Suggests the file that the user may have meant."""

from __future__ import annotations

import difflib
import os


def nearest_name(path: str) -> str:
    """Return `` Did you mean this?`` with similarly spelled names in the same folder, or an empty string."""
    folder, name = os.path.split(path)
    try:
        entries = os.listdir(folder or ".")
        # not the folder of a run beside its model, which users do not read
        here = sorted(name for name in entries if not name.startswith(".") and not name.endswith(".run"))
    except OSError:
        return ""
    close = difflib.get_close_matches(name, here, n=2, cutoff=0.6)
    return f" Did you mean {' or '.join(os.path.join(folder, entry) for entry in close)}?" if close else ""
