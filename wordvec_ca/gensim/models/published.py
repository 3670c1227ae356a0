"""Vectors of both matrices of a model, in addition to ``wv``, which holds the input rows as in gensim."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordvec_ca.gensim.models.keyedvectors import KeyedVectors
from wordvec_ca.tables import FittedForm, Halves, output_weight, published_vectors


class WithForms:
    """A model that can make vectors of its input and output rows."""

    wv: Any
    vector_size: int

    def published(self, form: str = "both") -> KeyedVectors:
        """Return vectors in another form than ``wv``; gensim has no such method.

        These vectors are mostly better than ``wv``. Models that gensim has trained have them too: see
        docs/both-halves.md.

        Parameters
        ----------
        form : {'both', 'output', 'input', 'fitted'}
            ``both``: principal components of input and output rows. ``output``: output rows minus their mean.
            ``input``: input rows. ``fitted``: ``both``, with what n-grams tell of each word.

        Returns
        -------
        KeyedVectors
            A copy with the words and counts of ``wv``, without vectors of unknown words.

        Raises
        ------
        ValueError
            The form is unknown.
        RuntimeError
            The model was trained without negative sampling, or its output rows were dropped.
        """
        outputs = getattr(self, "syn1neg", None)
        if outputs is None or len(outputs) != len(self.wv.vectors):
            raise RuntimeError("the model has no output rows: train with negative=5, and keep syn1neg")
        halves = Halves(
            self.wv.vectors,
            np.asarray(outputs)[:, None, :],
            output_weight(bool(getattr(self.wv, "bucket", 0))),
        )
        counts = self.wv.expandos.get("count")
        vectors, _ = published_vectors(FittedForm(form, halves), halves, self.wv.index_to_key, counts)
        made = KeyedVectors(vectors.shape[1])
        made.index_to_key, made.key_to_index = list(self.wv.index_to_key), dict(self.wv.key_to_index)
        made.vectors, made.next_index = vectors, len(vectors)
        made.expandos = {name: np.array(values) for name, values in self.wv.expandos.items()}
        return made
