"""Ordered outcomes from what foretells them: logistic regressions of all cuts."""

from __future__ import annotations

import numpy as np

from labeler.arrays import Floats, Integers

RIDGE = 0.05
"""The penalty of a squared slope, so that a few pairs that grades part perfectly have a fit."""
HOLD = 1e-3
"""The penalty of a squared intercept, so that a grade that nobody gave has one, too."""
ORDINAL_STEPS = 60


def cumulative_logistic(
    columns: Floats, outcome: Integers, weight: Floats
) -> tuple[Floats, Floats]:
    """Intercepts of the cuts and slopes that all cuts share: `logit P(Y >= k) = a_k + x_k b`.

    `columns` are `(rows, cuts, features)`, and an outcome is a position from 0 to `cuts`. The cuts'
    regressions are fitted together by Newton's method, which a small ridge keeps from diverging.
    The slopes are shared as in McCullagh (1980), Journal of the Royal Statistical Society B 42(2).
    """
    _, cuts, features = columns.shape
    above = (outcome[:, None] > np.arange(cuts)).astype(np.float64)
    share = weight[:, None] / weight.mean()
    penalty = np.repeat([HOLD, RIDGE], [cuts, features])
    theta = np.zeros(cuts + features)
    loss = _ordinal_loss(theta, columns, above, share, penalty)
    for _ in range(ORDINAL_STEPS):
        step = _newton_step(theta, columns, above, share, penalty)
        size = 1.0
        while (
            new := _ordinal_loss(theta + size * step, columns, above, share, penalty)
        ) > loss + 1e-12:
            size /= 2
            if size < 1e-6:
                return theta[:cuts], theta[cuts:]
        theta, loss = theta + size * step, new
        if np.abs(size * step).max() < 1e-9:
            break
    return theta[:cuts], theta[cuts:]


def _linear(theta: Floats, columns: Floats) -> Floats:
    cuts = columns.shape[1]
    return theta[:cuts] + columns @ theta[cuts:]


def _ordinal_loss(
    theta: Floats, columns: Floats, above: Floats, share: Floats, penalty: Floats
) -> float:
    """The weighted log loss of all cuts with the ridge."""
    eta = _linear(theta, columns)
    return float((share * (np.logaddexp(0, eta) - above * eta)).sum() + (penalty * theta**2).sum())


def _newton_step(
    theta: Floats, columns: Floats, above: Floats, share: Floats, penalty: Floats
) -> Floats:
    cuts = columns.shape[1]
    probability = logistic_function(_linear(theta, columns))
    residual = share * (above - probability)
    gradient = np.concatenate([residual.sum(axis=0), np.einsum("nc,ncf->f", residual, columns)])
    curvature = share * probability * (1 - probability)
    size = len(theta)
    hessian = np.zeros((size, size))
    hessian[:cuts, :cuts] = np.diag(curvature.sum(axis=0))
    hessian[:cuts, cuts:] = np.einsum("nc,ncf->cf", curvature, columns)
    hessian[cuts:, :cuts] = hessian[:cuts, cuts:].T
    hessian[cuts:, cuts:] = np.einsum("nc,ncf,ncg->fg", curvature, columns, columns)
    hessian += np.diag(2 * penalty)
    return np.asarray(np.linalg.solve(hessian, gradient - 2 * penalty * theta), dtype=np.float64)


def logistic_function(values: Floats) -> Floats:
    """One over one plus the exponential of the negative, without overflow."""
    return 0.5 * (1 + np.tanh(values / 2))
