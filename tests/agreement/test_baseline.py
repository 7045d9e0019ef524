"""The baseline to beat: cut points against all there are, and no pair graded by its own query."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from labeler.agreement.baseline import (
    GradedScores,
    cross_validated,
    fitted_cuts,
    fitted_grades,
    graded_by,
)
from labeler.agreement.statistics import find_statistic
from labeler.data import Pair

SCALE = (0, 1, 2, 3)


def graded(pairs: int = 300, noise: float = 0.2, seed: int = 0, queries: int = 15) -> GradedScores:
    rng = np.random.default_rng(seed)
    scores = rng.random(pairs)
    edges = np.array([0.3, 0.6, 0.8])
    grades = np.searchsorted(edges, scores + rng.normal(0, noise, pairs)).astype(np.int64)
    return GradedScores(scores, grades, np.arange(pairs) % queries)


def value(of: GradedScores, cuts: np.ndarray) -> float:
    table = np.zeros((4, 4))
    np.add.at(table, (of.grades, graded_by(of.scores, cuts)), 1.0)
    statistics = (find_statistic(name, SCALE) for name in ("kappa", "kappa-quadratic"))
    return sum(float(s.compute(table, np.arange(4.0))) for s in statistics)


@pytest.mark.parametrize("seed", range(3))
def test_fitted_cuts_are_as_good_as_the_best_of_all(seed: int) -> None:
    of = graded(20, 0.15, seed)
    edges = np.append(np.sort(of.scores), 2.0)
    best = max(value(of, np.array(cuts)) for cuts in combinations_with_replacement(edges, 3))
    assert value(of, fitted_cuts(of, SCALE)) >= best - 0.02


def test_cuts_are_those_that_were_put_in() -> None:
    of = graded(4000, 0.0)
    assert fitted_cuts(of, SCALE) == pytest.approx([0.3, 0.6, 0.8], abs=0.02)


def test_no_query_is_graded_by_cuts_that_its_own_grades_moved() -> None:
    of = graded(300, queries=10)
    grades = cross_validated(of, SCALE)
    turned = of._replace(grades=np.where(of.query == 4, 3 - of.grades, of.grades))
    own = of.query == 4
    assert np.array_equal(cross_validated(turned, SCALE)[own], grades[own])


def test_scores_that_say_nothing_have_a_kappa_of_about_0() -> None:
    """Without cross-validation cut points of noise would agree with the noise."""
    kappas = []
    for seed in range(40):
        scores = np.random.default_rng(seed + 1000).random(200)
        of = graded(200, seed=seed, queries=10)._replace(scores=scores)
        table = np.zeros((4, 4))
        np.add.at(table, (of.grades, cross_validated(of, SCALE, seed)), 1)
        kappas.append(float(find_statistic("kappa", SCALE).compute(table, np.arange(4.0))))
    # a standard error of about .007
    assert np.mean(kappas) == pytest.approx(-0.01, abs=0.03)


def test_grades_of_any_scores_can_be_fitted() -> None:
    human = {f"q{q}": {f"d{d}": d % 2 for d in range(10)} for q in range(4)}
    scores = {Pair(q, d): float(g) for q, row in human.items() for d, g in row.items()}
    assert fitted_grades(scores, human, (0, 1)) == human
