"""The options of ``cawv train``, under the headings of its help, the most needed first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cloup

from wordvec_ca.cli.options import option
from wordvec_ca.cli.settings import config_option, preset_option
from wordvec_ca.specs.options import GROUPS, OPTIONS


def train_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for title in reversed(GROUPS):
        names = [name for name, spec in OPTIONS.items() if spec.group == title]
        eager = {"config": config_option, "preset": preset_option}
        options = [eager.get(name) or option(name) for name in names]
        function = cloup.option_group(title, *options)(function)
    return function
