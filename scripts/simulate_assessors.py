#!/usr/bin/env python3
"""How often is what `agree` says of assessors beside people wrong, where the truth is known?

`closer`: two assessors that are equally good; how often is either called closer to people by any
statistic, with the verdicts as they are and by intervals that are looked at one by one?
`calibration`: a judge whose probabilities are all off by so much; what does the expected
calibration error come to, with chance in it and without, and how often do the ends hold it?
`plans`: of a pilot, how many queries it takes for an interval two thirds as wide; how often is the
interval over so many new queries as narrow as that (in .8, it is said)?

Usage: simulate_assessors.py closer calibration plans [--repeats 400] [--queries 25 50]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from harness import parser
from simulate_coverage import World, simulated, skewed

from labeler.agreement.calibration import calibration
from labeler.agreement.compare import Agreement, StatisticOptions, compare_labels
from labeler.agreement.differences import Difference, differences
from labeler.agreement.plan import plan
from labeler.agreement.statistics import default_names, find_statistic
from labeler.arrays import Floats
from labeler.collection.judged_set import Distributions
from labeler.data import Pair, Qrels

SCALE = (0, 1, 2, 3)
OPTIONS = StatisticOptions(draws=1000)
PAIRS = (100, 200, 1000)


def equal_judges(rng: np.random.Generator, queries: int) -> list[Qrels]:
    """A person and two judges, with habits of their own on each query, alike in the long run.

    A judge keeps the person's grade with a probability of the query and of its own; otherwise it
    guesses from its habit there.
    """
    everybody: list[Qrels] = [{}, {}, {}]
    for number in range(queries):
        size = int(rng.integers(40, 301))
        human = rng.choice(4, size, p=rng.dirichlet([1.6, 1.0, 0.7, 0.4]))
        columns = [human]
        for _ in range(2):
            guesses = rng.choice(4, size, p=rng.dirichlet([1.6, 1.0, 0.7, 0.4]))
            columns.append(np.where(rng.random(size) < rng.beta(1.2, 1.8), human, guesses))
        for qrels, grades in zip(everybody, columns, strict=True):
            qrels[f"q{number}"] = {f"d{place}": int(grade) for place, grade in enumerate(grades)}
    return everybody


def compared(queries: int, rng: np.random.Generator, names: Sequence[str]) -> list[Difference]:
    """What is said of two equal assessors."""
    human, first, second = equal_judges(rng, queries)
    sides = [compare_labels(human, qrels, None, StatisticOptions(())) for qrels in (first, second)]
    statistics = [find_statistic(name, SCALE) for name in names]
    return differences(sides[0].paired, sides[1].paired, statistics, OPTIONS)


def false_closer(
    queries: int, repeats: int, names: Sequence[str] | None = None
) -> tuple[float, float]:
    """The shares of pairs of equal assessors told apart: by any interval, and by any verdict."""
    rng = np.random.default_rng(queries)
    alone = together = 0
    for _ in range(repeats):
        rows = compared(queries, rng, names or default_names(SCALE))
        alone += any(d.low is not None and not d.low <= 0 <= (d.high or 0) for d in rows)
        together += any(d.verdict not in ("cannot tell apart", "undefined") for d in rows)
    return alone / repeats, together / repeats


def calibration_error(pairs: int, queries: int, off: float, repeats: int) -> tuple[float, ...]:
    """The true error, the means of ours and of the plain one, and how often our ends hold it.

    What is said lies too high by `off` above one half, too low below it.
    """
    rng = np.random.default_rng(pairs + queries)

    def true_share(said: Floats) -> Floats:
        return np.clip(said + off * np.where(said > 0.5, -1, 1), 0, 1)

    said = rng.beta(0.7, 0.9, 400_000)
    apart = np.bincount((said * 10).astype(int), weights=true_share(said) - said)
    truth = float(np.abs(apart).sum() / len(said))
    rows = []
    for _ in range(repeats):
        query, said = rng.integers(0, queries, pairs), rng.beta(0.7, 0.9, pairs)
        true = rng.random(pairs) < true_share(said)
        human: Qrels = {}
        shares = {}
        for place, (q, p, hit) in enumerate(zip(query, said, true, strict=True)):
            human.setdefault(f"q{q}", {})[f"d{place}"] = int(hit)
            shares[Pair(f"q{q}", f"d{place}")] = {1: float(p), 0: float(1 - p)}
        (at,) = calibration(human, Distributions.of_pairs(shares), [1])
        holds = at.low is not None and at.high is not None and at.low <= truth <= at.high
        rows.append((at.error, at.plain_error, float(holds)))
    return (truth, *np.mean(rows, axis=0))


def reached(queries: int, repeats: int, name: str, world: World) -> tuple[float, float]:
    """How often the planned queries reach the width, and the median of their numbers."""
    rng = np.random.default_rng(queries)
    rows = []
    for _ in range(repeats):
        pilot = agreement_of_tables(world(rng, queries), name)
        now = pilot.statistics[name]
        if now.low is None or now.high is None:
            continue
        wished = 2 / 3 * (now.high - now.low)
        planned = plan(pilot, find_statistic(name, SCALE), wished)
        if planned is None:
            continue
        later = agreement_of_tables(world(rng, min(planned.queries, 2000)), name).statistics[name]
        width = (later.high or 0) - (later.low or 0)
        rows.append((later.low is not None and width <= wished, planned.queries))
    hits, numbers = zip(*rows, strict=True)
    return float(np.mean(hits)), float(np.median(numbers))


def agreement_of_tables(tables: Floats, name: str) -> Agreement:
    """What is known of two assessors with these tables of counts."""
    human: Qrels = {}
    other: Qrels = {}
    for number, table in enumerate(tables.astype(int)):
        cells = np.repeat(np.arange(16), table.ravel())
        for qrels, grades in ((human, cells // 4), (other, cells % 4)):
            row = {f"d{place}": int(grade) for place, grade in enumerate(grades)}
            qrels[f"q{number}"] = row
    return compare_labels(human, other, None, StatisticOptions((name,), draws=400))


def main() -> None:
    given = parser(
        __doc__, what=("closer", "calibration", "plans"), repeats=400, queries=[25, 50]
    ).parse_args()
    for queries in given.queries:
        if "closer" in given.what:
            alone, together = false_closer(queries, given.repeats)
            error = (together * (1 - together) / given.repeats) ** 0.5
            said = f"{together:.3f} ± {error:.3f} of pairs, one by one {alone:.3f}"
            print(f"closer, {queries} queries: a false verdict in {said}", flush=True)
    for pairs in PAIRS if "calibration" in given.what else ():
        for off in (0.0, 0.03, 0.1, 0.2):
            truth, ours, plain, held = calibration_error(pairs, 25, off, given.repeats)
            said = f"truth {truth:.3f}, ours {ours:.3f}, plain {plain:.3f}, ends hold {held:.3f}"
            print(f"calibration, {pairs} pairs of 25 queries: {said}", flush=True)
    for queries in given.queries if "plans" in given.what else ():
        for name in ("kappa", "kappa-quadratic"):
            for world in (simulated, skewed):
                sure, many = reached(queries, given.repeats, name, world)
                said = f"{sure:.2f} ({many:.0f} queries)"
                print(f"plans, {queries} queries, {world.__name__}, {name}: {said}", flush=True)


if __name__ == "__main__":
    main()
