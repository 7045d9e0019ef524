"""Statistics of two assessors: functions of contingency tables, in a registry by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from labeler.arrays import Floats
from labeler.entry_points import fill
from labeler.errors import Misuse
from labeler.messages import meant

# The contingency tables on which every statistic of two assessors rests.


def row_totals(tables: Floats) -> Floats:
    """The sum of each row, `(..., k)`."""
    return _product(tables, np.repeat(np.eye(tables.shape[-1]), tables.shape[-1], axis=0))


def column_totals(tables: Floats) -> Floats:
    """The sum of each column, `(..., k)`."""
    return _product(tables, np.tile(np.eye(tables.shape[-1]), (tables.shape[-1], 1)))


def totals(tables: Floats) -> Floats:
    """The sum of all cells of each table."""
    return _product(tables, np.ones(tables.shape[-1] ** 2))


def _product(tables: Floats, matrix: Floats) -> Floats:
    """The cells of each table times a matrix: of many small tables a tenth of the time of sums."""
    return tables.reshape(*tables.shape[:-2], len(matrix)) @ matrix


def cut(tables: Floats, position: int) -> Floats:
    """The `(..., 2, 2)` tables of "below" and "at or above" the grade at `position`."""
    below = np.add.reduceat(tables, [0, position], axis=-1)
    return np.asarray(np.add.reduceat(below, [0, position], axis=-2), dtype=np.float64)


def distances(grades: Sequence[float], exponent: int) -> Floats:
    """`|i - j| ** exponent` of all pairs of grades, scaled so that the farthest pair is 1.

    An exponent of 0 gives 1 wherever two grades differ.
    """
    g = np.asarray(grades, dtype=np.float64)
    apart = np.abs(g[:, None] - g[None, :])
    if exponent == 0 or apart.max() == 0:
        return (apart > 0).astype(np.float64)
    return np.asarray((apart / apart.max()) ** exponent)


def inner(tables: Floats, cells: Floats) -> Floats:
    """The sum over each table of its cells times these, `(k, k)` or `(..., k, k)`."""
    return _product(tables, cells.ravel()) if cells.ndim == 2 else totals(tables * cells)


def ratio(above: Floats, below: Floats) -> Floats:
    """`above / below`, `nan` where `below` is zero up to rounding."""
    below = np.asarray(below, dtype=np.float64)
    empty = np.abs(below) <= 1e-12
    with np.errstate(invalid="ignore"):
        return np.where(empty, np.nan, above / np.where(empty, 1.0, below))


Compute = Callable[[Floats, Floats], Floats]
"""`(..., k, k)` tables and the `k` grades to `(...)` values, `nan` where undefined."""

_CUT = re.compile(r"(?P<name>.+)>=(?P<grade>-?\d+)")
ALIASES = {
    "accuracy": "agreement",
    "alpha": "alpha-ordinal",
    "cohen": "kappa",
    "cohen-kappa": "kappa",
    "fleiss": "pi",
    "fleiss-kappa": "pi",
    "gwet": "ac1",
    "gwet-ac1": "ac1",
    "kendall": "tau-b",
    "kendall-tau": "tau-b",
    "kendalltau": "tau-b",
    "krippendorff": "alpha-ordinal",
    "krippendorff-alpha": "alpha-ordinal",
    "linear-kappa": "kappa-linear",
    "linear-weighted-kappa": "kappa-linear",
    "mean-absolute-error": "mae",
    "pearsonr": "pearson",
    "percent-agreement": "agreement",
    "quadratic-kappa": "kappa-quadratic",
    "quadratic-weighted-kappa": "kappa-quadratic",
    "qwk": "kappa-quadratic",
    "scott": "pi",
    "scott-pi": "pi",
    "spearman-rho": "spearman",
    "spearmanr": "spearman",
    "tau": "tau-b",
}
"""What sklearn, scipy, statsmodels and papers call statistics; grades are ordered, so alpha is."""

_POSSESSIVE = re.compile(
    r"['’]s?(?=-)|(?<=cohen)s(?=-)|(?<=scott)s(?=-)|(?<=krippendorff)s(?=-)|(?<=gwet)s(?=-)"
)
"""What is left out of Cohen's kappa and cohens_kappa."""
_REFUSED = {"weighted-kappa": "its weights are kappa-linear or kappa-quadratic"}


@dataclass(frozen=True)
class Statistic:
    """A function of a contingency table, what it says, and when it is undefined.

    `low` and `high` bound its values (`None`: nothing simple does), so that no interval leaves
    them. `better` is 1 where more means closer to people, -1 where less does, 0 where neither.
    `cut` is the grade at which the scale is cut first; `grades` are those of the scale for which
    `find_statistic` gave it.
    """

    name: str
    compute: Compute
    about: str
    undefined: str
    low: float | None = -1.0
    high: float | None = 1.0
    better: int = 1
    cut: int | None = None
    grades: Sequence[int] = ()

    def __call__(self, tables: Floats) -> Floats:
        """The values of `(..., k, k)` tables of its grades, `nan` where undefined."""
        grades = np.array(self.grades, dtype=np.float64)
        if self.cut is not None:
            tables, grades = cut(tables, self.grades.index(self.cut)), np.array([0.0, 1.0])
        return np.asarray(self.compute(tables, grades), dtype=np.float64)

    @property
    def bounded(self) -> bool:
        """Whether it is a share or a coefficient that cannot exceed 1."""
        return self.high == 1.0


STATISTICS: dict[str, Statistic] = {}

SINGLE_GRADE = (
    "both assessors used one and the same grade throughout, so agreement by chance is certain"
)
CONSTANT = "one of the assessors used one grade throughout, so there is no order to compare"
NO_PAIRS = "there are no pairs"
ONE_SIDE = "grades stand on one side of the cut alone"

CUTTABLE = ("kappa", "alpha")


def statistic(
    name: str,
    about: str,
    undefined: str,
    bounds: tuple[float | None, float | None] = (-1.0, 1.0),
    better: int = 1,
) -> Callable[[Compute], Compute]:
    """Register a function under `name`."""

    def register(compute: Compute) -> Compute:
        STATISTICS[name] = Statistic(name, compute, about, undefined, *bounds, better)
        return compute

    return register


def find_statistic(name: str, grades: Sequence[int]) -> Statistic:
    """The statistic called `name`; `kappa>=2` is kappa after cutting the scale at grade 2."""
    inner, grade = parse_name(name)
    whole = replace(STATISTICS[inner], grades=tuple(grades))
    if grade is None:
        return whole
    name = f"{inner.removesuffix('-nominal')}>={grade}"
    if grade not in grades[1:]:
        cuts = ", ".join(map(str, grades[1:])) or "none"
        raise Misuse(f"cannot cut at {grade} in {name!r}; this scale's cuts: {cuts}")
    return replace(whole, name=name, undefined=ONE_SIDE, cut=grade)


def parse_name(name: str) -> tuple[str, int | None]:
    """The registered statistic that a name stands for, and the grade at which `kappa>=G` cuts."""
    whole = _registered(name)
    if whole not in STATISTICS:
        fill(STATISTICS, "statistics", Statistic)
        whole = _registered(name)
    if whole in STATISTICS:
        return whole, None
    if whole in _REFUSED:
        raise Misuse(f"no statistic {name!r} alone: {_REFUSED[whole]}")
    match = _CUT.fullmatch(name)
    inner = _registered(match["name"]) if match else ""
    # two classes have one order: all of Krippendorff's alphas are the nominal one there
    inner = "alpha-nominal" if inner.startswith("alpha-") else inner
    if match is None or inner not in STATISTICS:
        names = all_names()
        hint = meant(name, [*names, *ALIASES])
        raise Misuse(f"no statistic {name!r}; {hint}known: {', '.join(names)}")
    return inner, int(match["grade"])


def _registered(name: str) -> str:
    """A name in the registry's spelling, if it is one in anybody's; else as it was given."""
    if name in STATISTICS:
        return name
    plain = re.sub(r"[\s_-]+", "-", name.strip().lower())
    plain = plain.removesuffix("-score")
    return ALIASES.get(_POSSESSIVE.sub("", plain), plain)


def all_names() -> list[str]:
    """Every registered name, and the cuts as `kappa>=G`."""
    fill(STATISTICS, "statistics", Statistic)
    return [*STATISTICS, *(f"{name}>=G" for name in CUTTABLE)]


DEFAULT_BEFORE_CUTS = (
    "agreement",
    "kappa",
    "kappa-linear",
    "kappa-quadratic",
    "pi",
    "ac1",
    "alpha-nominal",
    "alpha-ordinal",
    "alpha-interval",
)
DEFAULT_AFTER_CUTS = ("tau-b", "spearman", "mae", "bias")


def default_names(grades: Sequence[int]) -> list[str]:
    """The statistics that are reported on this scale by default, in their order."""
    cuts = [f"{name}>={grade}" for name in CUTTABLE for grade in grades[1:]]
    return [*DEFAULT_BEFORE_CUTS, *cuts, *DEFAULT_AFTER_CUTS]


# Statistics of coincidence matrices, for any number of assessors: Krippendorff's alpha, Fleiss'.
#
# A coincidence matrix adds, for every ordered pair of grades that two assessors gave to one item,
# `1 / (m - 1)` where `m` assessors graded the item. Of two assessors' contingency table it is the
# table plus its transpose. Matrices of queries add up, so intervals over queries come from sums.


def krippendorff(coincidences: Floats, apart: Floats) -> Floats:
    """Krippendorff's alpha of `(..., k, k)` coincidences; `apart` is `(k, k)` or `(..., k, k)`.

    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; `nan` where one value stands
    throughout.
    """
    each = row_totals(coincidences)
    total = each.sum(axis=-1)
    observed = inner(coincidences, apart)
    expected = inner(each[..., :, None] * each[..., None, :], apart)
    return np.asarray(1.0 - (total - 1.0) * ratio(observed, expected))


def nominal_alpha(coincidences: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha, every disagreement alike."""
    return krippendorff(coincidences, distances(grades.tolist(), 0))


def ordinal_alpha(coincidences: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha by how many grades were given between two, which depends on the data.

    `sum(n_c..n_k) - (n_c + n_k) / 2` is the distance of the two grades' mean ranks.
    """
    each = row_totals(coincidences)
    rank = np.cumsum(each, axis=-1) - each / 2
    apart = (rank[..., :, None] - rank[..., None, :]) ** 2
    return krippendorff(coincidences, ratio(apart, each.sum(axis=-1)[..., None, None] ** 2))


def interval_alpha(coincidences: Floats, grades: Floats) -> Floats:
    """Krippendorff's alpha by the squared difference of grades."""
    return krippendorff(coincidences, distances(grades.tolist(), 2))


def fleiss_kappa(coincidences: Floats, grades: Floats) -> Floats:
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


def _of_two(joint: Compute, tables: Floats, grades: Floats) -> Floats:
    """A statistic of any number of assessors, of the tables of two."""
    return joint(both_ways(tables), grades)


for _name, _alpha, _how in (
    ("alpha-nominal", nominal_alpha, ", every disagreement alike"),
    ("alpha-ordinal", ordinal_alpha, " by ranks"),
    ("alpha-interval", interval_alpha, " by squared differences"),
):
    _about = f"Krippendorff's alpha{_how}"
    statistic(_name, _about, SINGLE_GRADE, (None, 1.0))(partial(_of_two, _alpha))


# Agreement corrected for chance, as two assessors' own habits make it: kappa, pi, AC1, AC2.


def shares(tables: Floats) -> Floats:
    """Tables of counts as tables of shares; `nan` throughout an empty one."""
    return ratio(tables, totals(tables)[..., None, None])


def cohen(exponent: int, tables: Floats, grades: Floats) -> Floats:
    """Cohen's kappa with disagreements counted by a power of how far two grades lie apart.

    With 0 that of Cohen (1960), Educational and Psychological Measurement 20(1); with weights that
    of Cohen (1968), Psychological Bulletin 70(4): one minus observed over expected disagreement.
    """
    p, apart = shares(tables), distances(grades.tolist(), exponent)
    expected = np.einsum("...j,...j->...", row_totals(p) @ apart, column_totals(p))
    return 1.0 - ratio(inner(p, apart), np.asarray(expected))


@statistic("agreement", "share of pairs with the same grade", NO_PAIRS, (0.0, 1.0))
def agreement(tables: Floats, _grades: Floats) -> Floats:
    """Raw agreement."""
    return np.asarray(np.trace(shares(tables), axis1=-2, axis2=-1))


for _exponent, (_name, _how) in enumerate(
    [
        ("kappa", "every disagreement alike"),
        ("kappa-linear", "disagreements by their distance"),
        ("kappa-quadratic", "disagreements by their squared distance"),
    ]
):
    statistic(_name, f"Cohen's kappa, {_how}", SINGLE_GRADE)(partial(cohen, _exponent))


# Scott (1955), Public Opinion Quarterly 19(3): of two assessors Fleiss' kappa is his pi
_about = "Scott's pi: chance as both assessors' pooled grades make it"
statistic("pi", _about, SINGLE_GRADE)(partial(_of_two, fleiss_kappa))


@statistic("ac1", "Gwet's AC1: chance as if assessors guess at hard pairs only", NO_PAIRS)
def ac1(tables: Floats, _grades: Floats) -> Floats:
    """Gwet's AC1, which depends on how many categories there are.

    Here those are the grades from the lowest to the highest in use, for two assessors of 0 and 1
    have but two, however long the scale. Gwet (2008), British Journal of Mathematical and
    Statistical Psychology 61(1).
    """
    p = shares(tables)
    used = (row_totals(tables) + column_totals(tables)) > 0
    from_lowest = np.maximum.accumulate(used, axis=-1)
    to_highest = np.maximum.accumulate(used[..., ::-1], axis=-1)[..., ::-1]
    k = (from_lowest & to_highest).sum(axis=-1)
    agreed = inner(p, np.eye(p.shape[-1]))
    # chance: sum of pi (1 - pi) / (k - 1), pi the pooled shares
    pooled = (row_totals(p) + column_totals(p)) / 2
    chance = 1.0 / np.maximum(k - 1.0, 1.0) * (pooled * (1.0 - pooled)).sum(axis=-1)
    return ratio(agreed - chance, 1.0 - chance)


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
