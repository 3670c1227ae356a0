"""Hook of MkDocs: a small live map of words, from a model that is trained while the site is built."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from wordvec_ca.models import TrainConfig
from wordvec_ca.report import explore
from wordvec_ca.runs import train
from wordvec_ca.text import docstrings

WORDS = 300_000
"""Words of the documentation of Python and of installed packages; training on them takes half a minute."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page that the tutorial shows in a frame."""
    files.append(File.generated(config, "assets/explorer.html", content=page()))
    return files


@functools.cache
def page() -> str:
    """Return the page."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "documentation"
        config = TrainConfig(model="cbow-attn", window=10, epochs=8, workers=1)
        train(docstrings(max_words=WORDS), config, output=model, progress=False)
        return explore(model, cache=False).html
