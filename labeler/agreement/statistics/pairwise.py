"""Do two assessors order pairs alike, and how far apart are their grades: statistics of tables."""

from __future__ import annotations

import numpy as np

from labeler.agreement.statistics.registry import (
    CONSTANT,
    NO_PAIRS,
    SINGLE_GRADE,
    column_totals,
    distances,
    inner,
    ratio,
    row_totals,
    statistic,
    totals,
    within_use,
)
from labeler.arrays import Floats

# Agreement corrected for chance, as two assessors' own habits make it: kappa, pi, AC1, AC2.


def shares(tables: Floats) -> Floats:
    """Tables of counts as tables of shares; `nan` throughout an empty one."""
    return ratio(tables, totals(tables)[..., None, None])


def _expected(rows: Floats, apart: Floats, columns: Floats) -> Floats:
    return np.asarray(np.einsum("...j,...j->...", rows @ apart, columns), dtype=np.float64)


def cohen(tables: Floats, apart: Floats) -> Floats:
    """Cohen's kappa with disagreements counted as `apart` says.

    Cohen (1968), Psychological Bulletin 70(4): one minus observed over expected disagreement.
    """
    p = shares(tables)
    expected = _expected(row_totals(p), apart, column_totals(p))
    return 1.0 - ratio(inner(p, apart), expected)


@statistic("agreement", "share of pairs with the same grade", NO_PAIRS, (0.0, 1.0))
def agreement(tables: Floats, _grades: Floats) -> Floats:
    """Raw agreement."""
    return np.asarray(np.trace(shares(tables), axis1=-2, axis2=-1), dtype=np.float64)


@statistic("kappa", "Cohen's kappa, every disagreement alike", SINGLE_GRADE)
def kappa(tables: Floats, grades: Floats) -> Floats:
    """Cohen (1960), Educational and Psychological Measurement 20(1)."""
    return cohen(tables, distances(grades.tolist(), 0))


@statistic("kappa-linear", "Cohen's kappa, disagreements by their distance", SINGLE_GRADE)
def kappa_linear(tables: Floats, grades: Floats) -> Floats:
    """Cohen's kappa with linear weights."""
    return cohen(tables, distances(grades.tolist(), 1))


@statistic(
    "kappa-quadratic", "Cohen's kappa, disagreements by their squared distance", SINGLE_GRADE
)
def kappa_quadratic(tables: Floats, grades: Floats) -> Floats:
    """Cohen's kappa with quadratic weights ("QWK")."""
    return cohen(tables, distances(grades.tolist(), 2))


@statistic("pi", "Scott's pi: chance as both assessors' pooled grades make it", SINGLE_GRADE)
def scott_pi(tables: Floats, grades: Floats) -> Floats:
    """Scott (1955), Public Opinion Quarterly 19(3)."""
    p = shares(tables)
    pooled = (row_totals(p) + column_totals(p)) / 2
    apart = distances(grades.tolist(), 0)
    return 1.0 - ratio(inner(p, apart), _expected(pooled, apart, pooled))


@statistic("ac1", "Gwet's AC1: chance as if assessors guess at hard pairs only", NO_PAIRS)
def ac1(tables: Floats, _grades: Floats) -> Floats:
    """Gwet's AC1, which depends on how many categories there are.

    Here those are the grades from the lowest to the highest in use, for two assessors of 0 and 1
    have but two, however long the scale. Gwet (2008), British Journal of Mathematical and
    Statistical Psychology 61(1).
    """
    p, k = shares(tables), within_use(tables).sum(axis=-1)
    agreed = inner(p, np.eye(p.shape[-1]))
    # chance: sum of pi (1 - pi) / (k - 1), pi the pooled shares
    pooled = (row_totals(p) + column_totals(p)) / 2
    chance = 1.0 / np.maximum(k - 1.0, 1.0) * (pooled * (1.0 - pooled)).sum(axis=-1)
    return ratio(agreed - chance, 1.0 - chance)


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
