"""How often the alternative annotator test passes an assessor that just should not.

    python scripts/simulate_alternative.py [WORLDS]

Three people and an assessor grade pairs of several queries. Some queries are hard for the assessor
and some are easy, so that pairs of a query go together. In other worlds it guesses at a share of
the queries, which a sample of few may lack, and queries have pools of unequal sizes. `epsilon` is
set to the true difference between a person's share of advantages and the assessor's, which is the
limit of the hypothesis: a test should then say in at most 5 of 100 worlds that it wins. Prints how
often it does, for the test over queries and the paper's over pairs, alone and of three corrected.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from labeler.agreement.align import GradeMatrix
from labeler.agreement.alternative import alternative_test
from labeler.agreement.compare import StatisticOptions
from labeler.arrays import Floats
from labeler.data import Pair
from labeler.stats.families import benjamini_yekutieli
from labeler.stats.student import t_below
from labeler.trec.pairs import PairColumns

PAIRS = 24
WORLDS = ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.0, 0.1), (0.0, 0.2))
"""The standard deviation of its log odds of a hit, and the share of queries at which it guesses."""
UNEQUAL = 0.8
"""The standard deviation of the logs of pools' sizes, where it guesses at some queries."""
QUERIES = (10, 25, 50, 135)
PERSON = 0.62
"""How often a person gives a pair its true grade; else they are a grade off."""
ASSESSOR = 0.55


def world(queries: int, spread: float, fails: float, rng: np.random.Generator) -> GradeMatrix:
    """Grades of three people and of an assessor whose hit rate differs from query to query."""
    sizes = np.exp(UNEQUAL * bool(fails) * rng.standard_normal(queries)) * PAIRS
    query = np.repeat(np.arange(queries), np.maximum(sizes.astype(int), 1))
    n = len(query)
    true = rng.integers(1, 4, n)
    logit = math.log(ASSESSOR / (1 - ASSESSOR)) + spread * rng.standard_normal(queries)
    rate = np.stack([np.full(n, PERSON)] * 3 + [(1 / (1 + np.exp(-logit)))[query]], axis=1)
    off = rng.random((n, 4)) >= rate
    step = rng.choice([-1, 1], (n, 4))
    grades = true[:, None] + off * step
    fails_at = (rng.random(queries) < fails)[query]
    grades[fails_at, 3] = rng.integers(0, 5, n)[fails_at]
    pairs = {Pair(f"q{at}", f"d{number}"): 0 for number, at in enumerate(query.tolist())}
    rows = PairColumns.of_pairs(pairs, np.int64)
    return GradeMatrix(("a", "b", "c", "llm"), tuple(range(5)), rows, grades)


def true_difference(spread: float, fails: float) -> float:
    """The mean difference over so many queries that it hardly errs."""
    test = alternative_test(
        world(40_000, spread, fails, np.random.default_rng(99)), "llm", 0.0, ONCE
    )
    return float(np.mean([row.difference for row in test.people]))


ONCE = StatisticOptions(draws=100)


def p_over_pairs(grades: Floats, epsilon: float) -> Floats:
    """The p of the paper's one-sided t-test against each person; the last column is the LLM's."""
    p = []
    for person in range(grades.shape[1] - 1):
        others = np.delete(grades, [person, -1], axis=1)
        its, theirs = (((grades[:, [at]] - others) ** 2).mean(axis=1) for at in (-1, person))
        apart = (theirs <= its) * 1.0 - (its <= theirs)
        error = apart.std(ddof=1) / math.sqrt(len(apart))
        p.append(t_below((apart.mean() - epsilon) / error, len(apart) - 1.0))
    return np.array(p)


def measured(queries: int, spread: float, fails: float, worlds: int, epsilon: float) -> None:
    rng = np.random.default_rng(queries)
    made = [world(queries, spread, fails, rng) for _ in range(worlds)]
    tests = [alternative_test(each, "llm", epsilon, ONCE) for each in made]
    over_pairs = [p_over_pairs(each.numbers, epsilon) for each in made]
    alone = np.mean([test.people[0].p < 0.05 for test in tests])
    alone_pairs = np.mean([p[0] < 0.05 for p in over_pairs])
    passes = np.mean([test.passes for test in tests])
    passes_pairs = np.mean([(benjamini_yekutieli(p) < 0.05).mean() >= 0.5 for p in over_pairs])
    shares = (alone, alone_pairs, passes, passes_pairs)
    error = math.sqrt(0.05 * 0.95 / worlds)
    print(
        f"{queries:7}  {spread:6}  {fails:5}  " + "  ".join(f"{s:12.3f}" for s in shares),
        f"  ±{error:.3f}",
    )


def main(worlds: int = 1000) -> None:
    print("queries  spread  fails  one, queries    one, pairs  pass, queries  pass, pairs")
    for spread, fails in WORLDS:
        epsilon = true_difference(spread, fails)
        for queries in QUERIES:
            measured(queries, spread, fails, worlds, epsilon)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
