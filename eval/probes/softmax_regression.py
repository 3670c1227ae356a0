"""Multinomial logistic regression with an L2 penalty, by L-BFGS on float32 matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

BLOCK = 32_768
"""Examples per matrix product: the residuals of one block are all that is held besides the features."""


@dataclass(frozen=True)
class SoftmaxRegression:
    """A fitted classifier.

    Attributes
    ----------
    weights : ndarray of shape (n_features, n_classes), float32
    bias : ndarray of shape (n_classes,), float32
    steps : int
        Iterations of L-BFGS.
    converged : bool
        Whether the gradient became small before ``steps`` ran out.
    """

    weights: np.ndarray
    bias: np.ndarray
    steps: int
    converged: bool

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Return the most probable class of each row: ndarray of shape (n_examples,), int64."""
        parts = [
            (features[i : i + BLOCK] @ self.weights + self.bias).argmax(axis=1)
            for i in range(0, len(features), BLOCK)
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def fit(
    features: np.ndarray,
    classes: np.ndarray,
    n_classes: int,
    C: float,
    *,
    steps: int = 200,
    tolerance: float = 1e-4,
    start: SoftmaxRegression | None = None,
) -> SoftmaxRegression:
    """Minimise ``C * sum of -ln P(class | features) + |weights|^2 / 2``; the bias is not penalised.

    The objective is that of scikit-learn's ``LogisticRegression``.

    Parameters
    ----------
    features : ndarray of shape (n_examples, n_features), float32
    classes : ndarray of shape (n_examples,), int in 0 .. n_classes - 1
    n_classes : int
    C : float
        Inverse strength of the penalty.
    steps : int
        At most so many iterations of L-BFGS.
    tolerance : float
        Converged when no component of the gradient of the mean loss is larger.
    start : SoftmaxRegression, optional
        Start from these weights instead of zero.
    """
    n, width = features.shape
    shape = (width + 1, n_classes)
    scale = 1.0 / (C * n)  # of the penalty, when the loss is a mean

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = flat.reshape(shape)
        weights, bias = parameters[:-1].astype(np.float32), parameters[-1].astype(np.float32)
        gradient = np.empty(shape)
        of_weights, of_bias, total = np.zeros((width, n_classes)), np.zeros(n_classes), 0.0
        for i in range(0, n, BLOCK):
            x, y = features[i : i + BLOCK], classes[i : i + BLOCK]
            scores = x @ weights
            scores += bias
            scores -= scores.max(axis=1, keepdims=True)
            right = scores[np.arange(len(y)), y]
            np.exp(scores, out=scores)
            sums = scores.sum(axis=1)
            total += float((np.log(sums) - right).sum(dtype=np.float64))
            scores /= sums[:, None]
            scores[np.arange(len(y)), y] -= 1
            of_weights += x.T @ scores
            of_bias += scores.sum(axis=0)
        gradient[:-1] = of_weights / n + scale * parameters[:-1]
        gradient[-1] = of_bias / n
        return total / n + scale / 2 * float((parameters[:-1] ** 2).sum()), gradient.ravel()

    first = np.zeros(shape) if start is None else np.vstack([start.weights, start.bias]).astype(np.float64)
    found = minimize(
        loss,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "gtol": tolerance, "ftol": 0.0, "maxcor": 10},
    )
    best = found.x.reshape(shape).astype(np.float32)
    return SoftmaxRegression(best[:-1], best[-1], int(found.nit), bool(np.abs(found.jac).max() <= tolerance))
