"""``python -m wordvec_ca.cli``: the command, for when it is not on the path."""

from wordvec_ca.cli import main

main()
