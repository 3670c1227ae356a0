"""``python -m wordvec_ca`` is ``cawv``."""

from wordvec_ca.cli import main

if __name__ == "__main__":
    main()
