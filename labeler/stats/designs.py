"""How the queries that people judged were drawn, and what each of them stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from labeler.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Design:
    """How people's queries were drawn: what share of all each stands for, and how much is open.

    `share` sums to 1. `left_open` is one less the chance of being drawn: what a query's like leave
    open of the variance where the target is finite. Queries of one `stratum` are compared with
    each other alone.
    """

    judged: Integers
    share: Floats
    left_open: Floats
    stratum: Integers

    @property
    def count(self) -> int:
        """How many queries were drawn."""
        return len(self.judged)

    @cached_property
    def strata(self) -> int:
        """How many strata there are."""
        return len(np.unique(self.stratum))

    @cached_property
    def effective(self) -> float:
        """How many queries of equal shares tell as much: Kish (1965), Survey Sampling."""
        return float(1 / (self.share**2).sum())

    @cached_property
    def open_share(self) -> float:
        """How much of the variance is open, of all queries together."""
        return float((self.share**2 * self.left_open).sum() * self.effective)

    @cached_property
    def own_leverage(self) -> Floats:
        """How far each query pulls its stratum's mean towards itself."""
        whole = np.bincount(self.stratum, weights=self.share)[self.stratum]
        return np.asarray(self.share / whole, dtype=np.float64)

    def mean(self, rows: Floats) -> Floats:
        """The mean of each row of `(rows, labelled)` values over all queries."""
        return np.asarray(rows @ self.share, dtype=np.float64)

    def centered(self, rows: Floats) -> Floats:
        """The values less the mean of their row in their stratum."""
        apart = np.array(rows, dtype=np.float64)
        for stratum in np.unique(self.stratum):
            inside = self.stratum == stratum
            share = self.share[inside] / self.share[inside].sum()
            apart[:, inside] -= (apart[:, inside] @ share)[:, None]
        return apart


def at_random(judged: Integers, total: int) -> Design:
    """The design of a simple random sample: every query was as likely to be drawn as any other."""
    n = len(judged)
    left_open = np.full(n, 1 - n / total)
    return Design(judged, np.full(n, 1 / n), left_open, np.zeros(n, dtype=np.int64))


def by_chance(judged: Integers, chance: Floats) -> Design:
    """The design of queries that were drawn with these chances: each counts for one over its own.

    Hajek's mean (Sarndal, Swensson and Wretman 1992, Model Assisted Survey Sampling, chapter 5).
    """
    weight = 1 / chance
    return Design(judged, weight / weight.sum(), 1 - chance, np.zeros(len(judged), dtype=np.int64))


def with_replacement(judged: Integers) -> Design:
    """The design of queries that leave open all of the variance, however many there are."""
    return replace(at_random(judged, len(judged)), left_open=np.ones(len(judged)))
