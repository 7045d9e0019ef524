"""Why kappa can be low where agreement is high: prevalence, bias, the kappa that was possible."""

from __future__ import annotations

import numpy as np

from labeler.agreement.kappas import shares
from labeler.agreement.registry import NO_PAIRS, ONE_GRADE, statistic
from labeler.agreement.tables import ratio, within_use
from labeler.arrays import Floats


@statistic(
    "kappa-max",
    "the highest kappa that these two distributions of grades allow",
    ONE_GRADE,
    better=0,
)
def kappa_max(tables: Floats, _grades: Floats) -> Floats:
    """Cohen's kappa, had the raters agreed as often as their marginals let them."""
    p = shares(tables)
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    chance = (rows * columns).sum(axis=-1)
    return ratio(np.minimum(rows, columns).sum(axis=-1) - chance, 1.0 - chance)


@statistic(
    "prevalence", "prevalence index: how unevenly the grades are used", NO_PAIRS, (0.0, 1.0), 0
)
def prevalence_index(tables: Floats, _grades: Floats) -> Floats:
    """The share of the commonest agreed grade minus the rarest's of those in use.

    Of two grades it is the prevalence index of Byrt, Bishop and Carlin (1993), Journal of Clinical
    Epidemiology 46(5), without its sign.
    """
    agreed = np.diagonal(shares(tables), axis1=-2, axis2=-1)
    inside = within_use(tables)
    rarest = np.where(inside, agreed, 1.0).min(axis=-1) * (inside.sum(axis=-1) > 1)
    return np.asarray(agreed.max(axis=-1) - rarest, dtype=np.float64)


@statistic(
    "bias-index", "bias index: how differently the raters use the grades", NO_PAIRS, (0.0, 1.0), -1
)
def bias_index(tables: Floats, _grades: Floats) -> Floats:
    """Half the sum of the marginals' differences; of two grades, Byrt, Bishop and Carlin's."""
    p = shares(tables)
    apart = np.abs(p.sum(axis=-1) - p.sum(axis=-2))
    return np.asarray(apart.sum(axis=-1) / 2, dtype=np.float64)
