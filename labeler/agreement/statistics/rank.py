"""Do two assessors order pairs alike, and how far apart are their grades: statistics of tables."""

from __future__ import annotations

import numpy as np

from labeler.agreement.statistics.contingency import column_totals, inner, ratio, row_totals, totals
from labeler.agreement.statistics.kappas import shares
from labeler.agreement.statistics.registry import CONSTANT, NO_PAIRS, statistic
from labeler.arrays import Floats

NO_VARIANCE = "both assessors used one grade throughout, so there is no variance to attribute"


@statistic("tau-b", "Kendall's tau-b over all pairs of pairs, ties corrected for", CONSTANT)
def tau_b(tables: Floats, _grades: Floats) -> Floats:
    """Kendall (1945), Biometrika 33(3), from the table: no loop over pairs of pairs."""
    p = shares(tables)
    after = _strictly_after(p)
    mirrored = _strictly_after(p[..., ::-1])[..., ::-1]
    ordered = 2 * inner(p, after - mirrored)
    untied_rows = 1.0 - (row_totals(p) ** 2).sum(axis=-1)
    untied_columns = 1.0 - (column_totals(p) ** 2).sum(axis=-1)
    return ratio(ordered, np.sqrt(np.maximum(untied_rows * untied_columns, 0.0)))


def _strictly_after(p: Floats) -> Floats:
    """The mass in later rows and later columns than each cell."""
    tail = np.cumsum(np.cumsum(p[..., ::-1, ::-1], axis=-1), axis=-2)[..., ::-1, ::-1]
    after = np.zeros_like(p)
    after[..., :-1, :-1] = tail[..., 1:, 1:]
    return after


@statistic("tau-ap", "AP correlation: as tau, with the highest grades counting most", CONSTANT)
def tau_ap(tables: Floats, _grades: Floats) -> Floats:
    """Urbano and Marrero (ICTIR 2017), tau_AP,b: both sides tie pairs, and neither is the truth.

    For a pair below the top grade, the share of the pairs above it by the one that are above it by
    the other too; meant both ways. It is `metrics.correlation.tau_ap_b` of all pairs as one list.
    """
    p = shares(tables)
    return (_concordance_above(p) + _concordance_above(np.swapaxes(p, -1, -2))) / 2


def _concordance_above(p: Floats) -> Floats:
    columns = column_totals(p)
    above = np.cumsum(columns[..., ::-1], axis=-1)[..., ::-1] - columns
    lower = above > 1e-12
    concordant = (p * _strictly_after(p)).sum(axis=-2) / np.where(lower, above, 1.0)
    return 2 * ratio((concordant * lower).sum(axis=-1), (columns * lower).sum(axis=-1)) - 1


def correlation(p: Floats, rows: Floats, columns: Floats) -> Floats:
    """Pearson's r of `(..., k, k)` shares whose rows and columns have these `(..., k)` values."""
    r, c = row_totals(p), column_totals(p)
    x = rows - (r * rows).sum(axis=-1, keepdims=True)
    y = columns - (c * columns).sum(axis=-1, keepdims=True)
    together = np.einsum("...i,...i->...", x, np.einsum("...ij,...j->...i", p, y))
    apart = (r * x**2).sum(axis=-1) * (c * y**2).sum(axis=-1)
    return ratio(together, np.sqrt(np.maximum(apart, 0.0)))


@statistic("spearman", "Spearman's rho, the correlation of ranks (ties share theirs)", CONSTANT)
def spearman(tables: Floats, _grades: Floats) -> Floats:
    """Pearson's r of mean ranks."""
    p = shares(tables)
    r, c = row_totals(p), column_totals(p)
    return correlation(p, np.cumsum(r, axis=-1) - r / 2, np.cumsum(c, axis=-1) - c / 2)


@statistic("pearson", "Pearson's r of the grades as numbers", CONSTANT)
def pearson(tables: Floats, grades: Floats) -> Floats:
    """Pearson's r."""
    return correlation(shares(tables), grades, grades)


@statistic("mae", "mean absolute error, in grades", NO_PAIRS, (0.0, None), -1)
def mae(tables: Floats, grades: Floats) -> Floats:
    """Mean absolute difference of grades."""
    return inner(shares(tables), np.abs(grades[None, :] - grades[:, None]))


@statistic("bias", "mean of the other's grade minus people's", NO_PAIRS, (None, None), 0)
def bias(tables: Floats, grades: Floats) -> Floats:
    """Signed bias: above 0 where the other is more generous than people."""
    return inner(shares(tables), grades[None, :] - grades[:, None])


@statistic("icc", "intraclass correlation ICC(A,1): absolute agreement", NO_VARIANCE, (None, 1.0))
def icc(tables: Floats, grades: Floats) -> Floats:
    """ICC(A,1), or ICC(2,1), of two assessors: two-way, absolute agreement, single rating.

    McGraw and Wong (1996), Psychological Methods 1(1). Weighted tables count as their total many
    pairs.
    """
    n = totals(tables)
    p = shares(tables)
    x, y = grades[:, None], grades[None, :]
    middle = (x + y) / 2
    mean = inner(p, middle)[..., None, None]
    shift = inner(p, y - x)
    rows = ratio(2 * n * inner(p, (middle - mean) ** 2), n - 1)
    columns = n * shift**2 / 2
    within = inner(p, (y - x - shift[..., None, None]) ** 2) / 2
    error = ratio(n * within, n - 1)
    return ratio(rows - error, rows + error + 2 * ratio(columns - error, n))
