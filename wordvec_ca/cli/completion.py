"""``cawv completion``: prints the script with which a shell completes commands, options and file names."""

from __future__ import annotations

import click

from wordvec_ca.cli.options import Choice


@click.command(name="completion", short_help="Completion for bash, zsh or fish.")
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options and names of files.

    \b
    bash:  cawv completion bash > ~/.local/share/bash-completion/completions/cawv
    zsh:   cawv completion zsh > FOLDER/_cawv, with a FOLDER of $fpath
    fish:  cawv completion fish > ~/.config/fish/completions/cawv.fish

    For this session alone: eval "$(cawv completion bash)" (or zsh), cawv completion fish | source.
    """  # noqa: D301 - click needs the backspace
    from click.shell_completion import ShellComplete, get_completion_class

    from wordvec_ca.cli import group

    kind = get_completion_class(shell)
    assert kind is not None  # click supports all three shells
    # the method of the base class, since that for bash starts a bash only to see its version
    click.echo(ShellComplete.source(kind(group, {}, "cawv", "_CAWV_COMPLETE")))
