"""``python -m wordvec_ca.cli`` runs the command ``cawv`` even if it is not on the path."""

from wordvec_ca.cli import main

main()
