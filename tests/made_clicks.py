"""Made logs of clicks, of users who look at results in a way that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.arrays import Floats, Integers

Columns = dict[str, Any]
EXAMINED = tuple(1 / rank**0.7 for rank in range(1, 11))
START = 1_714_521_600.0
"""The first of May 2024, in seconds since 1970."""


@dataclass(frozen=True)
class ClickWorld:
    """Users who search, look and click.

    Each search is of one of `queries`, drawn evenly; its documents stand in an order of their own,
    shuffled with noise of size `moving`, so that a document is seen at several ranks. Users look at
    each rank with the chance that `examined` gives. Whoever looks at a document clicks with a
    chance that is its own, between 0.02 and `most_attractive`. A user makes `same_user` searches;
    `eager` is how much users differ in how readily they click, as the standard deviation of the
    logarithm of their odds.
    """

    queries: int = 100
    searches: int = 5000
    examined: Sequence[float] = EXAMINED
    moving: float = 1.0
    most_attractive: float = 0.6
    same_user: int = 2
    eager: float = 0.0

    @property
    def depth(self) -> int:
        """How many documents a search shows."""
        return len(self.examined)

    def attractive(self) -> Floats:
        """The chance of a click on each document of each query, `(queries, documents)`."""
        rng = np.random.default_rng(1)
        return np.asarray(
            rng.uniform(0.02, self.most_attractive, (self.queries, self.depth)), dtype=np.float64
        )


def made_clicks(world: ClickWorld, seed: int = 0) -> Columns:
    """The rows of a log, column by column: a document that was shown, and whether it was clicked.

    >>> columns = made_clicks(ClickWorld(searches=3))
    >>> sorted(columns), len(columns["rank"])
    (['clicked', 'doc_id', 'query', 'rank', 'session', 'time'], 30)
    """
    rng = np.random.default_rng(seed)
    query = rng.integers(0, world.queries, world.searches)
    order = shown_orders(world, query, rng)
    clicks = clicks_on(world, query, order, rng)
    search = np.repeat(np.arange(world.searches), world.depth)
    return {
        "time": START + 60.0 * search,
        "session": search // world.same_user,
        "query": np.repeat(query, world.depth),
        "doc_id": order.ravel(),
        "rank": np.tile(np.arange(1, world.depth + 1), world.searches),
        "clicked": clicks.ravel().astype(np.int64),
    }


def shown_orders(world: ClickWorld, query: Integers, rng: np.random.Generator) -> Integers:
    """The documents of each search from the first rank on, `(searches, ranks)`."""
    usual = np.argsort(np.random.default_rng(2).random((world.queries, world.depth)), axis=1)
    away = rng.normal(0, world.moving, (len(query), world.depth))
    order: Integers = np.argsort(usual[query] + away, axis=1)
    return order


def clicks_on(
    world: ClickWorld, query: Integers, order: Integers, rng: np.random.Generator
) -> Integers:
    """Which of the documents each search clicked, `(searches, ranks)`."""
    chance = world.attractive()[query[:, None], order]
    if world.eager:
        users = np.arange(len(query)) // world.same_user
        odds = np.exp(rng.normal(0, world.eager, users.max(initial=0) + 1))[users][:, None]
        chance = chance * odds / (1 - chance + chance * odds)
    attracted = rng.random(order.shape) < chance
    return (attracted & (rng.random(order.shape) < np.array(world.examined))).astype(np.int64)
