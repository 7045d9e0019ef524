"""What clicks under one ranking say of another: clicks weighted by attention to ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.monitoring.log.cleaning import mixed
from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.log.searches import LogPart
from labeler.monitoring.log.values import identity_of
from labeler.monitoring.online.estimates import UNKNOWN, added
from labeler.monitoring.online.pairs import query_keys
from labeler.monitoring.online.propensities import Propensities
from labeler.queries.traffic import normalized
from labeler.report.table import Interval
from labeler.stats.intervals import quantiles

Rankings = Mapping[str, Sequence[str]]
"""Documents in the order of their ranks, by the query's text."""


@dataclass
class RankedSums:
    """Of one system: clicks and impressions of its documents, by the rank logged and its own.

    `sums` is `(groups, 2, logged ranks, own ranks)`, `searches` those of its queries `(groups,)`,
    and `slots` how many documents it would have shown in them.
    """

    rankings: Rankings
    depth: int
    sums: Floats = field(init=False)
    searches: Floats = field(init=False)
    slots: float = 0.0
    _pairs: Integers = field(init=False)
    _ranks: Integers = field(init=False)
    _lengths: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sums = np.zeros((GROUPS, 2, self.depth, self.depth))
        self.searches = np.zeros(GROUPS)
        pairs: list[int] = []
        ranks: list[int] = []
        for text, documents in self.rankings.items():
            query = identity_of(normalized(text).casefold())
            held = list(dict.fromkeys(documents))[: self.depth]
            self._lengths[query] = len(held)
            keys = np.array([identity_of(doc) for doc in held], dtype=np.int64)
            pairs += mixed(np.full(len(held), query), keys).tolist()
            ranks += range(1, len(held) + 1)
        order = np.argsort(np.array(pairs, dtype=np.int64))
        self._pairs = np.array(pairs, dtype=np.int64)[order]
        self._ranks = np.array(ranks, dtype=np.int64)[order]

    def add(self, part: LogPart) -> None:
        """Add up the searches of this system's queries in a part of the log."""
        own, shown = part.searches, part.impressions
        identity, _ = query_keys(list(own.texts))
        lengths = np.array([self._lengths.get(key, -1) for key in identity.tolist()])[own.text]
        here = lengths >= 0
        added(self.searches, (own.group[here],), np.ones(int(here.sum())))
        self.slots += float(lengths[here].sum())
        in_depth = (shown.rank > 0) & (shown.rank <= self.depth) & (shown.shown > 0)
        usable = np.flatnonzero(in_depth & here[shown.search])
        search = shown.search[usable]
        keys = mixed(identity[own.text[search]], shown.document[usable])
        position = np.minimum(np.searchsorted(self._pairs, keys), max(len(self._pairs) - 1, 0))
        hit = self._pairs[position] == keys if len(self._pairs) else np.zeros(len(keys), bool)
        usable, search, ranks = usable[hit], search[hit], self._ranks[position[hit]]
        where = own.group[search], shown.rank[usable] - 1, ranks - 1
        added(self.sums[:, 0], where, np.minimum(shown.clicks[usable], 1.0))
        added(self.sums[:, 1], where, np.ones(len(usable)))


@dataclass(frozen=True)
class CounterfactualEstimate:
    """Clicks a search that a system would get, from clicks under the ranking that was shown.

    `seen` is the share of its documents that a search showed: those that none showed get no click,
    so that the estimate is a lower bound. `clipped` is the share of clicks whose weight was cut at
    the clip, `effective` how many impressions of equal weight would say as much.
    """

    system: str
    clicks: Interval
    searches: int
    seen: float
    clipped: float
    effective: float
    impressions: int


def counterfactual(
    system: str, ranked: RankedSums, attention: Propensities, clip: float, seed: int
) -> CounterfactualEstimate:
    """The clicks a search of a system, each click weighted by its own rank's attention.

    A click at rank k of a document that the system ranks at j counts as the propensity at j over
    that at k, at most `clip`: the item-position estimator of Li et al. (2018), KDD. The interval
    resamples users for clicks and queries for propensities.
    """
    weights = _weights(attention.values, clip)
    clicks, shown = ranked.sums.sum(axis=0)
    searches = float(ranked.searches.sum())
    value = float((clicks * weights).sum() / searches) if searches else float("nan")
    over = _raw(attention.values) > clip
    size, squares = float((shown * weights).sum()), float((shown * weights**2).sum())
    return CounterfactualEstimate(
        system,
        Interval(value, *_ends(ranked, attention, clip, seed)) if searches else UNKNOWN,
        int(searches),
        float(shown.sum() / ranked.slots) if ranked.slots else 0.0,
        float(clicks[over].sum() / clicks.sum()) if clicks.sum() else 0.0,
        size**2 / squares if squares else 0.0,
        int(shown.sum()),
    )


def _raw(values: Floats) -> Floats:
    """The weight of a click, `(..., logged ranks, own ranks)`; 0 where attention is not known."""
    weights = values[..., None, :] / values[..., :, None]
    return np.nan_to_num(weights, nan=0.0)


def _weights(values: Floats, clip: float) -> Floats:
    return np.minimum(_raw(values), clip)


def _ends(
    ranked: RankedSums, attention: Propensities, clip: float, seed: int
) -> tuple[float | None, float | None]:
    filled = np.flatnonzero(ranked.searches > 0)
    drawn = attention.drawn
    if len(filled) < 10 or not len(drawn):
        return None, None
    rng = np.random.default_rng(seed + 1)
    counts = rng.multinomial(len(filled), np.full(len(filled), 1 / len(filled)), size=len(drawn))
    flat = ranked.sums[filled, 0].reshape(len(filled), -1)
    clicks = (counts @ flat).reshape(len(drawn), *ranked.sums.shape[2:])
    searches = counts @ ranked.searches[filled]
    values = (clicks * _weights(drawn, clip)).sum(axis=(1, 2)) / searches
    return quantiles(values, 0.025, 0.975) or (None, None)
