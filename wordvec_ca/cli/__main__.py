"""``python -m wordvec_ca.cli``: the command, where it is not on the path."""

from wordvec_ca.__main__ import main

main()
