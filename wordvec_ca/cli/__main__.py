"""``python -m wordvec_ca.cli``: the command, where it is not on the path."""

from wordvec_ca.cli import main

main()
