"""What corrections are tried on: TREC DL 2019, and judgements that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.metrics import JudgedPairs, parse_all, score
from labeler.trec.files import read_qrels

MEASURES = ("P@10", "P@5", "P@1", "RR@10", "Success@5", "DCG")
DEPTH = 10
JUDGES = ("gpt-4o", "llama-3.1-8b")


def dl19(data: Path, measures: Sequence[str]) -> dict[str, Floats]:
    """`(measures, systems, queries)` scores of TREC DL 2019 by NIST's labels and each judge's."""
    scores = {}
    for name in ("nist", *JUDGES):
        pool = JudgedPairs.of(read_qrels(data / f"{name}.qrels"))
        paths = sorted((data / "runs").iterdir())
        rankings = [pool.rank(path)[0] for path in paths]
        values = [score(ranked, parse_all(list(measures))).values for ranked in rankings]
        scores[name] = np.array(values).transpose(1, 0, 2)
    return scores


@dataclass(frozen=True)
class World:
    """How many queries there are, how easy they are, and how the assessor differs from people.

    `hopeless` is the share of queries far harder than the others, which makes a tail.
    """

    queries: int
    ease: float
    spread: float
    lenient: float
    noise: float
    hopeless: float = 0.0


WORLDS = {
    "easy, 50": World(50, 2.5, 1.0, 0.5, 0.8),
    "easy, 300": World(300, 3.0, 1.2, 0.8, 1.0),
    "middle, 300": World(300, 0.0, 1.5, 0.3, 1.0),
    "skewed, 60": World(60, 2.0, 0.6, 0.5, 0.6, hopeless=0.12),
    "skewed, 300": World(300, 2.0, 0.6, 0.5, 0.6, hopeless=0.12),
    "hard, 300": World(300, -2.5, 1.2, 0.6, 1.0),
}


def made_up(world: World, systems: int, seed: int) -> tuple[Floats, Floats]:
    """`(measures, systems, queries)` scores by people and by the assessor."""
    rng = np.random.default_rng(seed)
    query = rng.standard_normal(world.queries) * world.spread
    query -= 4 * (rng.random(world.queries) < world.hopeless)
    system = rng.normal(0, 0.4, systems)[:, None]
    logit = world.ease + query + system + rng.normal(0, 0.7, (systems, world.queries))
    by_rank = logit[:, :, None] - 0.15 * np.arange(DEPTH)
    own = rng.normal(world.lenient, world.noise, world.queries)[None, :, None]
    draw = rng.random(by_rank.shape)
    again = np.where(rng.random(draw.shape) < 0.6, draw, rng.random(draw.shape))
    return _scores(draw < _logistic(by_rank)), _scores(again < _logistic(by_rank + own))


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)), dtype=np.float64)


def _scores(relevant: Flags) -> Floats:
    """Each measure of `(systems, queries, DEPTH)` documents."""
    discount = 1 / np.log2(np.arange(DEPTH) + 2)
    first = np.where(relevant.any(axis=2), 1 / (relevant.argmax(axis=2) + 1), 0.0)
    return np.array(
        [
            relevant.mean(axis=2),
            relevant[:, :, :5].mean(axis=2),
            relevant[:, :, 0],
            first,
            relevant[:, :, :5].any(axis=2),
            relevant @ (discount / discount.sum()),
        ]
    )
