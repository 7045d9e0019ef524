"""The registry of statistics: a decorator on a dict, from which every list of names is read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats, Integers
from labeler.entry_points import fill
from labeler.errors import Misuse

# Paired grades, and the contingency tables on which every statistic of two assessors rests.


@dataclass(frozen=True, eq=False)
class GradedPairs:
    """Grades of the same pairs by people and by an assessor, one row a pair.

    `query`, `human` and `assessor` hold positions in `queries` and in `grades` (the scale,
    ascending); `row` is the pair's place among the human pairs, so that several assessors' rows can
    be matched; `weight` is one over the pair's inclusion probability, `None` where every pair of
    the pool was graded.
    """

    queries: tuple[str, ...]
    grades: tuple[int, ...]
    query: Integers
    human: Integers
    assessor: Integers
    row: Integers
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.query)


def restricted(pairs: GradedPairs, rows: Integers) -> GradedPairs:
    """The pairs whose `row` is among `rows`, and their queries."""
    keep = np.isin(pairs.row, rows)
    used, query = np.unique(pairs.query[keep], return_inverse=True)
    return replace(
        pairs,
        queries=tuple(pairs.queries[index] for index in used),
        query=query.astype(np.int64),
        human=pairs.human[keep],
        assessor=pairs.assessor[keep],
        row=pairs.row[keep],
        weight=None if pairs.weight is None else pairs.weight[keep],
    )


def query_tables(pairs: GradedPairs) -> Floats:
    """One `(k, k)` table of counts (or of weights) a query, human grades in rows."""
    k = len(pairs.grades)
    cell = (pairs.query * k + pairs.human) * k + pairs.assessor
    size = len(pairs.queries) * k * k
    counts = np.bincount(cell, weights=pairs.weight, minlength=size)
    return counts.astype(np.float64).reshape(len(pairs.queries), k, k)


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
    return np.asarray(tables.reshape(*tables.shape[:-2], -1) @ matrix, dtype=np.float64)


def cut(tables: Floats, position: int) -> Floats:
    """The `(..., 2, 2)` tables of "below" and "at or above" the grade at `position`."""
    below = np.add.reduceat(tables, [0, position], axis=-1)
    return np.asarray(np.add.reduceat(below, [0, position], axis=-2), dtype=np.float64)


def within_use(tables: Floats) -> NDArray[np.bool_]:
    """`(..., k)`: whether a grade lies between the lowest and the highest that a table uses."""
    used = (row_totals(tables) + column_totals(tables)) > 0
    from_lowest = np.maximum.accumulate(used, axis=-1)
    to_highest = np.maximum.accumulate(used[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(from_lowest & to_highest)


def distances(grades: Sequence[float], exponent: int) -> Floats:
    """`|i - j| ** exponent` of all pairs of grades, scaled so that the farthest pair is 1.

    An exponent of 0 gives 1 wherever two grades differ.
    """
    g = np.asarray(grades, dtype=np.float64)
    apart = np.abs(g[:, None] - g[None, :])
    if exponent == 0 or apart.max() == 0:
        return (apart > 0).astype(np.float64)
    return np.asarray((apart / apart.max()) ** exponent, dtype=np.float64)


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
    "icc(2,1)": "icc",
    "icc(a,1)": "icc",
    "icc2": "icc",
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
    `cut` is the grade at which the scale is cut first.
    """

    name: str
    compute: Compute
    about: str
    undefined: str
    low: float | None = -1.0
    high: float | None = 1.0
    better: int = 1
    cut: int | None = None

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
    if grade is None:
        return STATISTICS[inner]
    name = f"{inner.removesuffix('-nominal')}>={grade}"
    if grade not in grades[1:]:
        cuts = ", ".join(map(str, grades[1:])) or "none"
        raise Misuse(f"cannot cut at {grade} in {name!r}; this scale's cuts: {cuts}")
    return _cut_statistic(name, STATISTICS[inner], grade)


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
        raise Misuse(f"no statistic {name!r}{_nearest(name)}; known: {', '.join(all_names())}")
    return inner, int(match["grade"])


def _registered(name: str) -> str:
    """A name in the registry's spelling, if it is one in anybody's; else as it was given."""
    if name in STATISTICS:
        return name
    plain = re.sub(r"[\s_-]+", "-", name.strip().lower())
    plain = plain.removesuffix("-score")
    return ALIASES.get(_POSSESSIVE.sub("", plain), plain)


def _cut_statistic(name: str, inner: Statistic, grade: int) -> Statistic:
    def compute(tables: Floats, grades: Floats) -> Floats:
        position = int(grades.tolist().index(grade))
        import numpy as np

        return inner.compute(cut(tables, position), np.array([0.0, 1.0]))

    about = f"{inner.about}, after cutting the scale at {grade}"
    undefined = f"{inner.undefined} (cut at {grade})"
    described = replace(inner, about=about, undefined=undefined)
    return replace(described, name=name, compute=compute, cut=grade)


def all_names() -> list[str]:
    """Every registered name, and the cuts as `kappa>=G`."""
    fill(STATISTICS, "statistics", Statistic)
    return [*STATISTICS, *(f"{name}>=G" for name in CUTTABLE)]


def _nearest(name: str) -> str:
    close = difflib.get_close_matches(name, [*all_names(), *ALIASES], n=1)
    return f"; did you mean {close[0]!r}" if close else ""


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
