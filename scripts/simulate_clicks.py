#!/usr/bin/env python3
"""Simulate logs of clicks with known users, and say how often intervals and tests are right.

    python scripts/simulate_clicks.py [ROUNDS]

Users differ in how readily they click, or not; documents move much or little. Printed are, each
with its standard error: how often the interval of CTR holds the true one, and that of the
difference of variants without a difference holds 0.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from labeler.monitoring.log import open_log
from labeler.monitoring.online import online
from labeler.report.table import Interval

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from made_clicks import ClickWorld, made_clicks

WORLDS = {
    "100 queries": ClickWorld(),
    "20 queries": ClickWorld(queries=20, searches=2000),
    "1,000 queries": ClickWorld(queries=1000),
    "documents move little": ClickWorld(moving=0.3),
    "few clicks": ClickWorld(most_attractive=0.1),
    "20 searches a user, eager ones": ClickWorld(same_user=20, eager=1.0),
}


def rate(count: int, of: int) -> str:
    """A rate with its standard error."""
    share = count / of
    return f"{share:.3f} ± {math.sqrt(max(share * (1 - share), 1 / of) / of):.3f}"


def holds(interval: Interval, value: float) -> bool:
    return interval.low is not None and interval.low <= value <= (interval.high or -math.inf)


def one_world(name: str, world: ClickWorld, rounds: int, path: Path) -> Iterator[str]:
    ctr_inside = same = 0
    true_ctr = mean_ctr(world)
    for seed in range(rounds):
        frame = pd.DataFrame(made_clicks(world, seed))
        frame["variant"] = np.where(frame["session"] * 7919 % 1000 >= 500, "b", "a")
        frame.to_csv(path, index=False)
        with open_log(path) as log:
            result = online(log, seed=seed)
        ctr_inside += holds(result.measures["CTR"], true_ctr)
        same += holds(result.variants[1].difference, 0.0)
    searches = f"{rounds} logs of {world.searches:,} searches, {world.queries:,} queries"
    yield f"{name} ({searches})"
    yield f"  CTR: {rate(ctr_inside, rounds)}; no difference of variants: {rate(same, rounds)}"


def mean_ctr(world: ClickWorld) -> float:
    """The CTR that many searches have."""
    many = ClickWorld(**{**world.__dict__, "searches": 200_000})
    return float(made_clicks(many, 10**6)["clicked"].mean())


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with TemporaryDirectory() as folder:
        for name, world in WORLDS.items():
            for line in one_world(name, world, rounds, Path(folder) / "log.csv"):
                print(line, flush=True)


if __name__ == "__main__":
    main()
