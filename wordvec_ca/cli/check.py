"""``cawv check``: verifies the checksums of a model."""

from __future__ import annotations

from pathlib import Path

import click

from wordvec_ca.cli.output import say, show
from wordvec_ca.cli.paths import ExistingPath


@click.command(name="check", short_help="Verify a model's checksums.")
@click.argument("model", type=ExistingPath(file_okay=False, path_type=Path))
def command(model: Path) -> None:
    """Compare each file of the model directory MODEL with its checksum, and open the model.

    The exit code is 1 if a file is missing or has changed, or if the model cannot be opened.
    """
    from wordvec_ca.errors import DataError
    from wordvec_ca.files import CHECKSUMS, changed_files, read_checksums
    from wordvec_ca.vectors import KeyedVectors

    checksums, changed = read_checksums(model), changed_files(model)
    for name in checksums:
        show(f"{changed.get(name, 'ok'):<7}  {name}")
    if changed:
        raise DataError(
            f"{len(changed)} of {len(checksums)} files are not as they were saved: take them from a "
            "backup, or train again (run.toml has the settings)"
        )
    KeyedVectors.load(model)
    if not checksums:
        say(f"{str(model)!r} opens, but has no checksums ({CHECKSUMS}) to compare its files with")
