"""Statistics of coincidence matrices, for any number of assessors: Krippendorff's alpha, Fleiss'.

A coincidence matrix adds, for every ordered pair of grades that two assessors gave to one item,
`1 / (m - 1)` where `m` assessors graded the item. Of two assessors' contingency table it is the
table plus its transpose. Matrices of queries add up, so intervals over queries come from sums.
"""

from __future__ import annotations

import numpy as np

from labeler.agreement.statistics.registry import (
    SINGLE_GRADE,
    distances,
    inner,
    ratio,
    row_totals,
    statistic,
)
from labeler.arrays import Floats


def krippendorff(coincidences: Floats, apart: Floats) -> Floats:
    """Krippendorff's alpha of `(..., k, k)` coincidences; `apart` is `(k, k)` or `(..., k, k)`.

    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; `nan` where one value stands
    throughout.
    """
    each = row_totals(coincidences)
    total = each.sum(axis=-1)
    observed = inner(coincidences, apart)
    expected = inner(each[..., :, None] * each[..., None, :], apart)
    return np.asarray(1.0 - (total - 1.0) * ratio(observed, expected), dtype=np.float64)


def nominal(coincidences: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha, every disagreement alike."""
    return krippendorff(coincidences, distances(grades.tolist(), 0))


def ordinal(coincidences: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha by how many grades were given between two, which depends on the data.

    `sum(n_c..n_k) - (n_c + n_k) / 2` is the distance of the two grades' mean ranks.
    """
    each = row_totals(coincidences)
    rank = np.cumsum(each, axis=-1) - each / 2
    apart = (rank[..., :, None] - rank[..., None, :]) ** 2
    total = each.sum(axis=-1)[..., None, None]
    return krippendorff(coincidences, ratio(apart, total**2))


def interval(coincidences: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha by the squared difference of grades."""
    return krippendorff(coincidences, distances(grades.tolist(), 2))


def fleiss(coincidences: Floats, grades: Floats) -> Floats:
    """Fleiss' kappa (1971); as defined only where every item has the same number of assessors.

    With missing grades an item counts by its number of assessors, as in alpha, from which this
    differs by the correction for small samples alone.
    """
    each = row_totals(coincidences)
    total = each.sum(axis=-1)
    agreed = ratio(np.trace(coincidences, axis1=-2, axis2=-1), total)
    chance = ratio((each**2).sum(axis=-1), total**2)
    return ratio(agreed - chance, 1.0 - chance)


def both_ways(tables: Floats) -> Floats:
    """The coincidences of two assessors' contingency tables."""
    return tables + np.swapaxes(tables, -1, -2)


@statistic(
    "alpha-nominal", "Krippendorff's alpha, every disagreement alike", SINGLE_GRADE, (None, 1.0)
)
def alpha_nominal(tables: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha of two assessors, nominal."""
    return nominal(both_ways(tables), grades)


@statistic("alpha-ordinal", "Krippendorff's alpha by ranks", SINGLE_GRADE, (None, 1.0))
def alpha_ordinal(tables: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha of two assessors, ordinal."""
    return ordinal(both_ways(tables), grades)


@statistic(
    "alpha-interval", "Krippendorff's alpha by squared differences", SINGLE_GRADE, (None, 1.0)
)
def alpha_interval(tables: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha of two assessors, interval."""
    return interval(both_ways(tables), grades)
