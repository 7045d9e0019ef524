"""Tests of differences of means that allow for all pairs of systems, as Tukey's HSD does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labeler.arrays import Floats

DRAWS = 10_000
"""How many sets of errors are drawn; of many pairs fewer."""
FEWEST_DRAWS = 2000
_CELLS = 2_000_000
"""The most |t| that are held at a time, and as many as are drawn of very many pairs."""


def adjusted_for_all_pairs(
    parts: Floats, observed: Floats, freedom: float, seed: int, draws: int = DRAWS
) -> Floats:
    """p of several |t|, against the largest |t| of any two systems where none differs.

    `parts` is `(systems, contributions)`, whose products are the covariances of systems' errors.
    Errors are multivariate t with so many degrees of freedom, as in Hothorn, Bretz and Westfall
    (2008), Biometrical Journal 50(3).
    """
    rounds = np.concatenate(list(_largest(parts, freedom, seed, draws)))
    beaten = (rounds[:, None] >= np.abs(observed)).sum(axis=0)
    return np.asarray((1.0 + beaten) / (1.0 + len(rounds)), dtype=np.float64)


def _largest(parts: Floats, freedom: float, seed: int, draws: int) -> Iterator[Floats]:
    """The largest |t| of all pairs, of blocks of draws."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(len(parts), 1)
    errors = np.sqrt(((parts[first] - parts[second]) ** 2).sum(axis=1))
    first, second, errors = (column[errors > 1e-12] for column in (first, second, errors))
    at_once = max(1, _CELLS // max(len(first), 1))
    draws = min(draws, max(at_once, FEWEST_DRAWS))
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        # (draws, systems): errors of all systems that move together as their parts do
        drawn = rng.standard_normal((size, parts.shape[1])) @ parts.T
        apart = np.abs(drawn[:, first] - drawn[:, second]) / errors
        scale = np.sqrt(rng.chisquare(freedom, size) / freedom)
        yield apart.max(axis=1, initial=0.0) / scale
