"""Extension of griffe that adds what docstrings and signatures do not state.

Sphinx's roles (:class:`Vocab`) become links, or code; options get their defaults and documentation from the
table of options.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

from wordvec_ca.models import TrainConfig
from wordvec_ca.specs.options import OPTIONS

ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|exc|obj):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Rewrites the docstrings of a package after it has been loaded."""

    def __init__(self, public: dict[str, str]) -> None:
        self.public = public

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Walk through everything of the package."""
        for owner in ("TextFields", "TrainFields"):
            for name, attribute in pkg[f"specs.options.{owner}"].attributes.items():
                attribute.value = repr(OPTIONS[name].default)
        pkg["models.config.TrainConfig"].docstring.value = TrainConfig.__doc__
        self._rewrite(pkg)

    def _rewrite(self, found: griffe.Object) -> None:
        if found.docstring is not None:
            found.docstring.value = ROLE.sub(self._link, found.docstring.value)
        for member in found.members.values():
            if not member.is_alias:
                self._rewrite(member)  # type: ignore[arg-type]

    def _link(self, role: re.Match[str]) -> str:
        name = role[1].rpartition(".")[2]
        return f"[`{name}`][{self.public[name]}]" if name in self.public else f"`{role[1]}`"
