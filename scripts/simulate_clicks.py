#!/usr/bin/env python3
"""Simulate logs of clicks with known users, and say how often intervals and tests are right.

    python scripts/simulate_clicks.py [ROUNDS]

Users look by rank, or from the top; they differ in how readily they click, or not; documents move
much or little. Printed are, each with its standard error: how often the interval of attention to a
rank holds the true one, and how far estimates are off; the same for CTR, differences of variants
without a difference, and clicks that another ranking would get; how often tests of interleaving and
of the split of users reject where nothing is to be found.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator

import numpy as np

from labeler.monitoring.log.made import part_of_clicks
from labeler.monitoring.online.behavior import AT, BehaviorSums
from labeler.monitoring.online.cascade import cascade_reading
from labeler.monitoring.online.counterfactual import RankedSums, counterfactual
from labeler.monitoring.online.estimates import GroupedSums
from labeler.monitoring.online.interleaving import team_draft
from labeler.monitoring.online.options import OnlineOptions
from labeler.monitoring.online.pairs import PairsAtRanks
from labeler.monitoring.online.propensities import propensities
from labeler.monitoring.online.variants import mismatch, variants_of
from labeler.report.table import Interval
from labeler.stats.randomization import sign_test
from labeler.testing.click_log import ClickWorld, made_clicks

WORLDS = {
    "by rank": ClickWorld(),
    "by rank, 20 queries": ClickWorld(queries=20, searches=2000),
    "by rank, 1,000 queries": ClickWorld(queries=1000),
    "by rank, documents move little": ClickWorld(moving=0.3),
    "by rank, few clicks": ClickWorld(most_attractive=0.1),
    "by rank, 20 searches a user, eager ones": ClickWorld(same_user=20, eager=1.0),
    "from the top (misspecified)": ClickWorld(users="cascade"),
}


def rate(count: int, of: int) -> str:
    """A rate with its standard error."""
    share = count / of
    return f"{share:.3f} ± {math.sqrt(max(share * (1 - share), 1 / of) / of):.3f}"


def holds(interval: Interval, value: float) -> bool:
    return interval.low is not None and interval.low <= value <= (interval.high or -math.inf)


def one_world(name: str, world: ClickWorld, rounds: int) -> Iterator[str]:
    known = np.array(world.examined)
    logs, inside = [], np.zeros(world.depth - 1)
    ctr_inside = same = best_inside = 0
    cascades = eager = 0
    attractive = world.attractive()
    truth_best = float((-np.sort(-attractive, axis=1) * known).sum(axis=1).mean())
    best = {str(q): [str(d) for d in np.argsort(-row)] for q, row in enumerate(attractive)}
    true_ctr = mean_ctr(world)
    off = []
    for seed in range(rounds):
        rows = made_clicks(world, seed)
        rows["variant"] = 1 + (rows["session"] * 7919 % 1000 >= 500)
        part = part_of_clicks(rows)
        counts, sums = PairsAtRanks(world.depth, 10**6), BehaviorSums(OnlineOptions(), 2)
        ranked = RankedSums(best, world.depth)
        for taker in (counts, sums, ranked):
            taker.add(part)
        attention = propensities(counts, seed)
        logs.append(np.log(attention.values[1:] / known[1:]))
        inside += [holds(e, v) for e, v in zip(attention.estimates[1:], known[1:], strict=True)]
        reading = cascade_reading(counts, sums, seed)
        cascades += reading.is_cascade
        eager += reading.is_eager
        of_all = GroupedSums(sums.searches.sum(axis=1), seed)
        ctr_inside += holds(of_all.share((AT["clicks"],), (AT["shown"],)), true_ctr)
        rows_of = variants_of(sums, ["a", "b"], {}, ["CTR"]).rows
        same += holds(rows_of[1].difference, 0.0)
        estimate = counterfactual("best", ranked, attention, 10.0, seed)
        best_inside += holds(estimate.clicks, truth_best)
        off.append((estimate.clicks.value or 0) / truth_best - 1)
    away = np.mean(logs, axis=0)
    error = np.std(logs, axis=0) / math.sqrt(rounds)
    cells = rounds * (world.depth - 1)
    spread = np.std(inside / rounds) / math.sqrt(world.depth - 1)
    searches = f"{rounds} logs of {world.searches:,} searches, {world.queries:,} queries"
    yield f"{name} ({searches})"
    held = f"{inside.sum() / cells:.3f} ± {spread:.3f}"
    yield f"  attention: intervals hold the true one {held}"
    for rank in (2, 5, 10):
        bias = f"{np.expm1(away[rank - 2]):+.1%} ± {error[rank - 2]:.1%}"
        yield f"    off by {bias} at rank {rank}"
    yield f"  CTR: {rate(ctr_inside, rounds)}; no difference of variants: {rate(same, rounds)}"
    yield f"  clicks of the best ranking: {rate(best_inside, rounds)}, off by {np.mean(off):+.1%}"
    yield f"    ± {np.std(off) / math.sqrt(rounds):.1%}"
    yield f"  said to read from the top: {rate(cascades, rounds)}; to differ: {rate(eager, rounds)}"


def mean_ctr(world: ClickWorld) -> float:
    """The CTR that many searches have."""
    many = ClickWorld(**{**world.__dict__, "searches": 200_000})
    return float(made_clicks(many, 10**6)["clicked"].mean())


def interleaved(rounds: int, searches: int = 150) -> Iterator[str]:
    """Two rankings of equal worth, drafted anew for each search, read by users who look by rank."""
    rejected = {1: 0, 5: 0}
    for per_user, seed in ((n, s) for n in rejected for s in range(rounds)):
        chance, users = random.Random(seed * 10 + per_user), {}
        for search in range(searches):
            first = [f"a{n}" if n % 2 else f"c{n}" for n in range(10)]
            second = [f"b{n}" if n % 2 else f"c{n}" for n in range(10)]
            for rank, (_, team) in enumerate(team_draft(first, second, 10, chance), start=1):
                if chance.random() < 0.4 / rank:
                    user = search // per_user
                    users[user] = users.get(user, 0) + (1 if team == "A" else -1)
        wins = sum(ahead > 0 for ahead in users.values())
        rejected[per_user] += sign_test(wins, sum(ahead < 0 for ahead in users.values())) < 0.05
    for per_user, count in rejected.items():
        said = f"{per_user} searches a user, no preference: {rate(count, rounds)}"
        yield f"interleaving, {said} at .05"


def split(rounds: int) -> Iterator[str]:
    """Users split as meant."""
    rng = np.random.default_rng(0)
    two = sum(mismatch("ab", (n, 10_000 - n), {}) < 0.05 for n in rng.binomial(10_000, 0.5, rounds))
    shares = {"a": 0.8, "b": 0.1, "c": 0.1}
    drawn = rng.multinomial(10_000, list(shares.values()), rounds)
    three = sum(mismatch("abc", counts.tolist(), shares) < 0.05 for counts in drawn)
    yield f"split as meant: two variants {rate(two, rounds)}, three {rate(three, rounds)} at .05"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for lines in (interleaved(rounds * 5), split(10_000)):
        for line in lines:
            print(line, flush=True)
    for name, world in WORLDS.items():
        for line in one_world(name, world, rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
