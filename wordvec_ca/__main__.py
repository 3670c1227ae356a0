"""Runs ``cawv`` (also ``python -m wordvec_ca``), without a traceback if Ctrl-C interrupts its loading."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal itself takes milliseconds to load

_INTERRUPTIBLE = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
if _INTERRUPTIBLE:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> None:
    """Run the command."""
    from wordvec_ca import cli

    if _INTERRUPTIBLE:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
