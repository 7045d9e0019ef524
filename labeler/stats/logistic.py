"""Logistic regression with a ridge, of rows that have weights."""

from __future__ import annotations

import numpy as np

from labeler.arrays import Floats

STEPS = 50
_CLOSE = 1e-9


def logistic(features: Floats, outcome: Floats, weights: Floats, ridge: float = 1.0) -> Floats:
    """The coefficients, `(features + 1,)`, of which the last is the intercept.

    They minimize the sum of the rows' weighted losses and half of `ridge` times the squared
    coefficients, where the intercept is free: scikit-learn's `C` is `1 / ridge`. By Newton's
    method, with steps halved where they would overshoot.
    """
    rows = np.column_stack([features, np.ones(len(features))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 0.0
    share = float(np.clip(np.average(outcome, weights=weights), 1e-6, 1 - 1e-6))
    coefficients = np.zeros(rows.shape[1])
    coefficients[-1] = np.log(share / (1 - share))
    loss = _loss(rows, outcome, weights, penalty, coefficients)
    for _ in range(STEPS):
        step = _newton(rows, outcome, weights, penalty, coefficients)
        length = 1.0
        new = _loss(rows, outcome, weights, penalty, coefficients - step)
        while new > loss + 1e-12 * abs(loss) and length > 1e-4:
            length /= 2
            new = _loss(rows, outcome, weights, penalty, coefficients - length * step)
        coefficients, loss = coefficients - length * step, new
        if np.abs(length * step).max() < _CLOSE:
            break
    return coefficients


def linear_scores(features: Floats, coefficients: Floats) -> Floats:
    """The logarithm of the odds of each row."""
    scores: Floats = features @ coefficients[:-1] + coefficients[-1]
    return scores


def _loss(
    rows: Floats, outcome: Floats, weights: Floats, penalty: Floats, coefficients: Floats
) -> float:
    scores = rows @ coefficients
    # log(1 + exp(s)) - y s, without overflow
    losses = np.logaddexp(0.0, scores) - outcome * scores
    return float(weights @ losses) + 0.5 * float(penalty @ coefficients**2)


def _newton(
    rows: Floats, outcome: Floats, weights: Floats, penalty: Floats, coefficients: Floats
) -> Floats:
    chances = 0.5 * (1.0 + np.tanh(0.5 * (rows @ coefficients)))
    slope = rows.T @ (weights * (chances - outcome)) + penalty * coefficients
    curvature = weights * np.maximum(chances * (1 - chances), 1e-12)
    hessian = (rows * curvature[:, None]).T @ rows + np.diag(penalty)
    return np.asarray(np.linalg.lstsq(hessian, slope, rcond=None)[0], dtype=np.float64)
