"""Statistics of two raters against published values, other libraries and slow formulas."""

import numpy as np
import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from labeler.agreement.align import Rules
from labeler.agreement.compare import compare_labels
from labeler.agreement.statistics import ALIASES, STATISTICS, default_names, find_statistic
from labeler.errors import Misuse

SMALL = [[20, 5], [10, 15]]
LARGE = [[50, 10, 3, 0], [8, 30, 9, 2], [2, 6, 25, 7], [0, 1, 5, 42]]

# Worked by hand or with irrCAC and krippendorff: textbook tables with two and four grades.
KNOWN = [
    (SMALL, "kappa", 0.4),
    (SMALL, "pi", 0.393939),
    (SMALL, "ac1", 0.405941),
    (SMALL, "alpha-nominal", 0.4),
    (LARGE, "kappa", 0.644164),
    (LARGE, "kappa-linear", 0.764370),
    (LARGE, "kappa-quadratic", 0.857323),
    (LARGE, "ac1", 0.647518),
    (LARGE, "alpha-nominal", 0.644976),
    (LARGE, "alpha-ordinal", 0.854396),
]


def value(table: object, name: str, first: int = 0) -> float:
    counts = np.array(table, dtype=np.float64)
    grades = np.arange(first, first + len(counts), dtype=np.float64)
    return float(find_statistic(name, [int(g) for g in grades])(counts))


def columns(table: object) -> tuple[list[int], list[int]]:
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return [i for i, _ in cells], [j for _, j in cells]


@every_row(("table", "name", "expected"), KNOWN)
def test_a_statistic_equals_its_published_value(table: object, name: str, expected: float) -> None:
    assert value(table, name) == pytest.approx(expected, abs=5.1e-7)


tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(
        st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=k, max_size=k
    ).filter(lambda t: sum(map(sum, t)) >= 3)
)
everywhere = steadily(60)


def both_vary(table: object) -> bool:
    a, b = columns(table)
    return len(set(a)) > 1 and len(set(b)) > 1


@pytest.mark.sweep
@everywhere
@given(tables.filter(both_vary))
def test_kappas_equal_scikit_learns(table: list[list[int]]) -> None:
    from sklearn import metrics

    a, b = columns(table)
    labels = list(range(len(table)))
    for name, weights in {
        "kappa": None,
        "kappa-linear": "linear",
        "kappa-quadratic": "quadratic",
    }.items():
        other = metrics.cohen_kappa_score(a, b, labels=labels, weights=weights)
        assert value(table, name) == pytest.approx(other, abs=1e-9)


@everywhere
@given(tables.filter(both_vary))
def test_orders_equal_scipys(table: list[list[int]]) -> None:
    a, b = columns(table)
    assert value(table, "tau-b") == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-9)
    assert value(table, "spearman") == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-9)
    assert value(table, "pearson") == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-9)


@everywhere
@given(tables.filter(both_vary))
def test_scotts_pi_is_fleiss_kappa_of_two_raters_by_statsmodels(table: list[list[int]]) -> None:
    from statsmodels.stats import inter_rater

    grade_matrix, _ = inter_rater.aggregate_raters(np.array(columns(table)).T, n_cat=len(table))
    other = inter_rater.fleiss_kappa(grade_matrix, method="fleiss")
    assert value(table, "pi") == pytest.approx(other, abs=1e-9)


def slow_alpha(rows: list[list[int]], apart: object) -> float:
    """Krippendorff's alpha from the list of pairable values, as its definition reads."""
    values = [v for row in rows for v in row]
    within = sum(
        apart(row[i], row[j]) / (len(row) - 1)
        for row in rows
        for i in range(len(row))
        for j in range(len(row))
        if i != j
    )
    between = sum(apart(v, w) for i, v in enumerate(values) for j, w in enumerate(values) if i != j)
    n = len(values)
    return 1 - (within / n) / (between / (n * (n - 1)))


@pytest.mark.sweep
@steadily(25)
@given(tables.filter(both_vary))
def test_alphas_equal_their_definition(table: list[list[int]]) -> None:
    rows = [list(pair) for pair in zip(*columns(table), strict=True)]
    counts = np.bincount([v for row in rows for v in row], minlength=len(table))

    def ordinal(c: int, k: int) -> float:
        low, high = min(c, k), max(c, k)
        return float(counts[low : high + 1].sum() - (counts[low] + counts[high]) / 2) ** 2

    metric = {
        "alpha-nominal": lambda c, k: float(c != k),
        "alpha-ordinal": ordinal,
        "alpha-interval": lambda c, k: float(c - k) ** 2,
    }
    for name, apart in metric.items():
        assert value(table, name) == pytest.approx(slow_alpha(rows, apart), abs=1e-9)


@everywhere
@given(tables)
def test_errors_equal_those_of_the_columns(table: list[list[int]]) -> None:
    a, b = np.array(columns(table))
    assert value(table, "mae") == pytest.approx(np.abs(b - a).mean())
    assert value(table, "bias") == pytest.approx((b - a).mean())
    assert value(table, "agreement") == pytest.approx((a == b).mean())


@everywhere
@given(tables)
def test_every_statistic_stays_within_its_bounds(table: list[list[int]]) -> None:
    for name, statistic in STATISTICS.items():
        found = value(table, name)
        if np.isfinite(found):
            low = -np.inf if statistic.low is None else statistic.low
            high = np.inf if statistic.high is None else statistic.high
            assert low - 1e-9 <= found <= high + 1e-9, name


@pytest.mark.sweep
@everywhere
@given(tables)
def test_a_batch_of_tables_gives_what_each_gives_alone(table: list[list[int]]) -> None:
    one = np.array(table, dtype=np.float64)
    batch = np.stack([one, one.T, one + 1])
    grades = np.arange(len(one), dtype=np.float64)
    for name in (*STATISTICS, *default_names(range(len(one)))):
        compute = find_statistic(name, range(len(one))).compute
        alone = [float(compute(t, grades)) for t in batch]
        np.testing.assert_allclose(compute(batch, grades), alone, atol=1e-12)


def test_where_the_scale_starts_makes_no_difference() -> None:
    for name in STATISTICS:
        assert value(LARGE, name, first=1) == pytest.approx(value(LARGE, name)), name


def test_one_grade_throughout_leaves_kappa_undefined_and_is_said() -> None:
    found = compare_labels({"q": {"a": 1, "b": 1}}, {"q": {"a": 1, "b": 1}}, Rules(scale=(0, 1)))
    assert found.statistics["kappa"].value is None
    assert found.statistics["agreement"].value == 1.0
    assert any("kappa" in w and "one and the same grade" in w for w in found.warnings)


def test_an_assessor_that_never_varies_has_kappa_zero_and_no_rank_correlation() -> None:
    assert value([[3, 0], [4, 0]], "kappa") == 0
    assert np.isnan(value([[3, 0], [4, 0]], "tau-b"))


def test_high_agreement_with_a_rare_grade_explains_its_low_kappa() -> None:
    table = [[980, 10], [10, 0]]
    assert value(table, "agreement") == 0.98
    assert value(table, "kappa") < 0
    assert value(table, "ac1") > 0.95


def test_an_unknown_statistic_names_the_nearest() -> None:
    with pytest.raises(Misuse, match="did you mean 'kappa-linear'"):
        find_statistic("kapa-linear", [0, 1])
    with pytest.raises(Misuse, match="cannot cut at 4"):
        find_statistic("kappa>=4", [0, 1, 2, 3])


def test_qwk_is_kappa_quadratic() -> None:
    assert find_statistic("qwk", [0, 1]).name == "kappa-quadratic"
    assert value(LARGE, "qwk>=2") == pytest.approx(value(LARGE, "kappa>=2"))


@every_row(
    ("spelling", "name"),
    [
        *((spelling, "kappa") for spelling in ("cohen", "Cohen's kappa", "cohens_kappa", "Kappa")),
        *((spelling, "kappa") for spelling in ("cohen_kappa_score", "cohen-kappa")),
        ("quadratic_weighted_kappa", "kappa-quadratic"),
        ("linear-weighted-kappa", "kappa-linear"),
        *((x, "alpha-ordinal") for x in ("krippendorff", "Krippendorff's alpha", "alpha")),
        ("spearmanr", "spearman"),
        ("pearsonr", "pearson"),
        *((spelling, "tau-b") for spelling in ("kendall", "kendalltau", "tau", "Kendall's tau")),
        ("Fleiss' kappa", "pi"),
        ("Scott's pi", "pi"),
        ("Gwet's AC1", "ac1"),
        ("accuracy_score", "agreement"),
        ("cohen>=2", "kappa>=2"),
        ("alpha-ordinal>=2", "alpha>=2"),
    ],
)
def test_a_statistic_is_known_in_anybodys_spelling(spelling: str, name: str) -> None:
    assert find_statistic(spelling, range(4)).name == name


@every_row("alias", ALIASES)
def test_every_alias_names_a_statistic(alias: str) -> None:
    assert find_statistic(alias.upper(), range(4)).name == ALIASES[alias]


def test_a_statistic_with_several_weights_asks_for_one() -> None:
    with pytest.raises(Misuse, match="its weights are kappa-linear or kappa-quadratic"):
        find_statistic("weighted_kappa", range(4))


def test_spellings_of_scipy_and_sklearn_give_their_numbers() -> None:
    from sklearn import metrics

    table = np.array([[30, 7, 2], [4, 20, 9], [1, 5, 22]])
    a, b = (np.repeat(x.ravel(), table.ravel()) for x in np.indices((3, 3)))
    theirs = {
        "cohen_kappa_score": metrics.cohen_kappa_score(a, b),
        "accuracy_score": metrics.accuracy_score(a, b),
        "quadratic_weighted_kappa": metrics.cohen_kappa_score(a, b, weights="quadratic"),
        "linear_weighted_kappa": metrics.cohen_kappa_score(a, b, weights="linear"),
        "kendalltau": stats.kendalltau(a, b).statistic,
        "spearmanr": stats.spearmanr(a, b).statistic,
        "pearsonr": stats.pearsonr(a, b).statistic,
    }
    for name, value in theirs.items():
        statistic = find_statistic(name, range(3))
        ours = statistic.compute(table.astype(float), np.arange(3.0))
        assert float(ours) == pytest.approx(float(value)), name
