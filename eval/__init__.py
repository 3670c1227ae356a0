"""Tasks that say how good word vectors are."""
