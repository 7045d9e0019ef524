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

    def linear(at: Floats) -> Floats:
        return at[:cuts] + columns @ at[cuts:]

    def loss_at(at: Floats) -> float:
        """The weighted log loss of all cuts with the ridge."""
        eta = linear(at)
        losses = share * (np.logaddexp(0, eta) - above * eta)
        return float(losses.sum() + (penalty * at**2).sum())

    def newton_step() -> Floats:
        probability = logistic_function(linear(theta))
        residual = share * (above - probability)
        gradient = np.concatenate([residual.sum(axis=0), np.einsum("nc,ncf->f", residual, columns)])
        curvature = share * probability * (1 - probability)
        hessian = np.diag(np.append(curvature.sum(axis=0), np.zeros(features)))
        hessian[:cuts, cuts:] = np.einsum("nc,ncf->cf", curvature, columns)
        hessian[cuts:, :cuts] = hessian[:cuts, cuts:].T
        hessian[cuts:, cuts:] = np.einsum("nc,ncf,ncg->fg", curvature, columns, columns)
        hessian += np.diag(2 * penalty)
        return np.asarray(np.linalg.solve(hessian, gradient - 2 * penalty * theta))

    loss = loss_at(theta)
    for _ in range(ORDINAL_STEPS):
        step, size = newton_step(), 1.0
        while (new := loss_at(theta + size * step)) > loss + 1e-12:
            size /= 2
            if size < 1e-6:
                return theta[:cuts], theta[cuts:]
        theta, loss = theta + size * step, new
        if np.abs(size * step).max() < 1e-9:
            break
    return theta[:cuts], theta[cuts:]


def logistic_function(values: Floats) -> Floats:
    """One over one plus the exponential of the negative, without overflow."""
    return 0.5 * (1 + np.tanh(values / 2))
