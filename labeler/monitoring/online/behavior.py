"""What users did, as sums over groups of users: clicks by rank, and of whole searches."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput, Misuse
from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.log.searches import LogPart, Searches
from labeler.queries.filter import words
from labeler.report.table import Interval
from labeler.stats.intervals import Replicates, cluster_bootstrap
from labeler.stats.randomization import sign_test
from labeler.stats.resampling import Sample
from labeler.stats.shares import wilson
from labeler.stats.student import chi_square_above

# How clicks are read.


@dataclass(frozen=True)
class OnlineOptions:
    """How clicks are read.

    `depth` is how many ranks are looked at. A click is satisfied whose document was looked at for
    `satisfied` seconds or more. A search within `reformulated` minutes after another of the same
    visit, with other words but one of them the same, reformulates that. `shares` are the users that
    each variant was meant to have, equal ones where none are given.
    """

    depth: int = 10
    satisfied: float = 30.0
    reformulated: float = 5.0
    shares: Mapping[str, float] = field(default_factory=dict, hash=False)
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= 100:
            raise Misuse("expected a depth from 1 to 100", parameter="depth")
        for name in ("satisfied", "reformulated"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise Misuse("expected a number from 0", parameter=name)
        if any(not (math.isfinite(share) and share > 0) for share in self.shares.values()):
            raise Misuse("expected shares above 0", parameter="shares")


# Intervals of online measures: groups of users are what is resampled.

FEWEST = 10
"""With fewer groups of users there is no interval."""
UNKNOWN = Interval(None, None, None)

Cell = tuple[int, ...]
"""Which of the sums of a group."""


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """Sums over groups of users, `(groups, ...)`, all of whose searches stand in one group.

    Users are in groups by chance, so that groups are as independent as users are.
    """

    sums: Floats
    seed: int = 0

    @cached_property
    def sample(self) -> Sample:
        """The groups that hold anything."""
        flat = self.sums.reshape(len(self.sums), -1)
        return Sample(self.sums[np.abs(flat).sum(axis=1) > 0], seed=self.seed)

    @cached_property
    def total(self) -> Floats:
        """The sums over all groups."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    def estimate(self, compute: Callable[[Floats], Floats]) -> Interval:
        """A value that is a function of the sums, with its interval of 95 %."""
        value = float(compute(self.total))
        if not math.isfinite(value):
            return UNKNOWN
        groups = self.sample.queries
        if groups < FEWEST:
            return Interval(value, None, None)
        of = Replicates(self.sample, compute, freedom=groups - 1.0)
        low, high = cluster_bootstrap(of) or (None, None)
        return Interval(value, low, high)

    def share(self, part: Cell, whole: Cell) -> Interval:
        """The share that one sum is of another, such as clicks of impressions.

        Where it is 0 or 1, the interval is Wilson's, as if each group were one observation.
        """
        estimate = self.estimate(lambda sums: ratio(_at(sums, part), _at(sums, whole)))
        if estimate.value is None or estimate.low is None:
            return estimate
        if 0 < estimate.value < 1:
            return Interval(estimate.value, max(estimate.low, 0.0), min(estimate.high or 1.0, 1.0))
        groups = float((_at(self.sums, whole) > 0).sum())
        low, high = wilson(np.array([estimate.value]), groups)
        return Interval(estimate.value, float(low[0]), float(high[0]))


def _at(sums: Floats, cell: Cell) -> Floats:
    places: Any = (Ellipsis, *cell)
    return np.asarray(sums[places], dtype=np.float64)


def ratio(part: Floats, whole: Floats) -> Floats:
    """One sum over another; nan where that is 0."""
    safe = np.where(whole > 0, whole, 1.0)
    return np.asarray(np.where(whole > 0, part / safe, np.nan), dtype=np.float64)


def added(target: Floats, places: tuple[Any, ...], values: Floats) -> None:
    """Add values to the cells of an array that these index arrays name."""
    flat = np.ravel_multi_index(places, target.shape)
    target += np.bincount(flat, weights=values, minlength=target.size).reshape(target.shape)


FEATURES = (
    *("searches", "clicked", "shown", "clicks", "dwells", "satisfied", "followed", "reformulated"),
    *("ups", "thumbs", "bought"),
)
"""What is added up for each search."""
AT = {name: number for number, name in enumerate(FEATURES)}
DELAYS = np.concatenate([[0.0], np.geomspace(0.5, 3600, 79)])
"""Seconds to the first click, in steps of a ninth; a median is exact to half a step."""


@dataclass
class BehaviorSums:
    """Sums over groups of users: of each variant's searches, by rank, and of first clicks' times.

    `searches` is `(groups, variants, features)`, variant 0 being that of no name; `ranks` is
    `(groups, ranks, 2)`: impressions and clicks; `delays` is `(groups, steps)`. `users` are those
    of each variant, and `mixed` those of several.
    """

    options: OnlineOptions
    variants: int
    searches: Floats = field(init=False)
    ranks: Floats = field(init=False)
    delays: Floats = field(init=False)
    users: Floats = field(init=False)
    mixed: int = 0

    def __post_init__(self) -> None:
        self.searches = np.zeros((GROUPS, self.variants + 1, len(FEATURES)))
        self.ranks = np.zeros((GROUPS, self.options.depth, 2))
        self.delays = np.zeros((GROUPS, len(DELAYS) + 1))
        self.users = np.zeros(self.variants + 1)

    def add(self, part: LogPart) -> None:
        """Add up a part of the log."""
        own = part.searches
        values = np.zeros((len(own), len(FEATURES)))
        values[:, AT["searches"]] = own.times
        values[:, AT["clicked"]] = own.is_clicked * np.minimum(own.times, 1.0)
        values[:, AT["ups"]] = own.ups
        values[:, AT["thumbs"]] = own.ups + own.downs
        values[:, AT["bought"]] = own.is_bought
        self._shown(part, values)
        followed, reformulated = reformulations(own, self.options.reformulated * 60)
        values[:, AT["followed"]], values[:, AT["reformulated"]] = followed, reformulated
        for feature in range(len(FEATURES)):
            added(self.searches[..., feature], (own.group, own.variant), values[:, feature])
        timed = np.flatnonzero(~np.isnan(own.delay))
        step = np.searchsorted(DELAYS, own.delay[timed], side="right")
        added(self.delays, (own.group[timed], step), np.ones(len(timed)))
        self._by_rank(part)
        self._users(own)

    def _shown(self, part: LogPart, values: Floats) -> None:
        shown = part.impressions
        count = len(values)
        seen = (shown.shown > 0) & (shown.rank > 0) & (shown.rank <= self.options.depth)
        for name, of in (("shown", shown.shown), ("clicks", shown.clicks)):
            sums = np.bincount(shown.search[seen], weights=of[seen], minlength=count)
            values[:, AT[name]] = sums
        dwelt = (shown.clicks > 0) & ~np.isnan(shown.dwell)
        long = dwelt & (shown.dwell >= self.options.satisfied)
        values[:, AT["dwells"]] = np.bincount(shown.search[dwelt], minlength=count)
        values[:, AT["satisfied"]] = np.bincount(shown.search[long], minlength=count)

    def _by_rank(self, part: LogPart) -> None:
        shown, depth = part.impressions, self.options.depth
        seen = np.flatnonzero((shown.shown > 0) & (shown.rank > 0) & (shown.rank <= depth))
        places = part.searches.group[shown.search[seen]], shown.rank[seen] - 1
        added(self.ranks[..., 0], places, shown.shown[seen])
        added(self.ranks[..., 1], places, shown.clicks[seen])

    def _users(self, own: Searches) -> None:
        """Count the users of each variant; where none are named, the searches."""
        if not self.variants:
            return
        who = np.where(own.client >= 0, own.client, -1 - np.arange(len(own)))
        pairs = np.unique(np.stack([who, own.variant], axis=1)[own.variant > 0], axis=0)
        self.users += np.bincount(pairs[:, 1], minlength=self.variants + 1)
        self.mixed += len(pairs) - len(np.unique(pairs[:, 0]))


def reformulations(own: Searches, within: float) -> tuple[Floats, Floats]:
    """Whether each search could be reformulated, and whether it was.

    It is by the next search of the same visit, `within` so many seconds, whose words are not the
    same but have one in common. One without a time or a user cannot be.
    """
    usable = np.flatnonzero((own.client >= 0) & ~np.isnan(own.time))
    order = usable[np.lexsort((own.time[usable], own.session[usable], own.client[usable]))]
    could, was = np.zeros(len(own)), np.zeros(len(own))
    could[order] = 1.0
    if len(order) < 2:
        return could, was
    first, second = order[:-1], order[1:]
    follows = (own.client[first] == own.client[second]) & (
        own.session[first] == own.session[second]
    )
    follows &= (own.time[second] - own.time[first] <= within) & (
        own.text[first] != own.text[second]
    )
    terms: dict[int, frozenset[str]] = {}
    for here in np.flatnonzero(follows).tolist():
        words_here, others = (_terms(own, int(own.text[of[here]]), terms) for of in (first, second))
        was[first[here]] = float(words_here != others and not words_here.isdisjoint(others))
    return could, was


def _terms(own: Searches, text: int, terms: dict[int, frozenset[str]]) -> frozenset[str]:
    if text not in terms:
        terms[text] = frozenset(words(own.texts[text].casefold()))
    return terms[text]


def median_delay(sums: Floats) -> Floats:
    """The median of the seconds to the first click, from `(..., steps)` counts; nan of none."""
    total = sums.sum(axis=-1)
    below = np.cumsum(sums, axis=-1)
    step = np.argmax(below >= total[..., None] / 2, axis=-1)
    ends = np.append(DELAYS, DELAYS[-1])
    low, high = ends[np.maximum(step - 1, 0)], ends[np.minimum(step, len(DELAYS) - 1)]
    before = np.take_along_axis(below, np.maximum(step - 1, 0)[..., None], axis=-1)[..., 0]
    inside = np.take_along_axis(sums, step[..., None], axis=-1)[..., 0]
    part = (total / 2 - np.where(step > 0, before, 0.0)) / np.where(inside > 0, inside, 1.0)
    return np.where(total > 0, low + (high - low) * part, np.nan)


# Variants of a search beside each other: an A/B test, and whether users were split as meant.

MISMATCH = 0.001
"""A split as uneven by chance is that rare: experiments stop to be believed below it."""


class OnlineMeasure(NamedTuple):
    """A share of one sum in another; `up` says that more is better."""

    name: str
    part: str
    whole: str
    up: bool
    about: str


MEASURES = (
    OnlineMeasure("CTR", "clicks", "shown", True, "clicks of documents shown"),
    OnlineMeasure("clicked", "clicked", "searches", True, "searches with a click"),
    OnlineMeasure("clicks/search", "clicks", "searches", True, "clicks a search"),
    OnlineMeasure("satisfied", "satisfied", "dwells", True, "clicks followed by a long look"),
    OnlineMeasure("reformulated", "reformulated", "followed", False, "searches put in other words"),
    OnlineMeasure("thumbs up", "ups", "thumbs", True, "thumbs that point up"),
    OnlineMeasure("bought", "bought", "searches", True, "searches with a purchase"),
)
"""What is measured of searches, by name; abandonment is what `clicked` leaves of 1."""


@dataclass(frozen=True)
class VariantDifference:
    """A measure of a variant, and its difference from the first variant's."""

    measure: OnlineMeasure
    variant: str
    value: Interval
    difference: Interval


@dataclass(frozen=True)
class Variants:
    """Variants beside each other: `users` of each, and their measures.

    `mismatch` is the p of the split beside the one that was meant, which `is_meant_even` where no
    shares were named; `mixed` counts users whom several variants served.
    """

    names: tuple[str, ...]
    users: tuple[int, ...]
    mixed: int
    mismatch: float
    is_meant_even: bool
    rows: tuple[VariantDifference, ...]

    @property
    def is_mismatched(self) -> bool:
        """Whether the split is so uneven that chance does not explain it."""
        return self.mismatch < MISMATCH


def variants_of(
    sums: BehaviorSums, names: Sequence[str], shares: Mapping[str, float], measures: Sequence[str]
) -> Variants:
    """The measures of each variant, and the differences from the first by name.

    Users are resampled, whole, so that the searches of one hang together.
    """
    served = [number for number in range(len(names)) if sums.users[number + 1] > 0]
    order = sorted(served, key=lambda number: names[number])
    unknown = sorted(set(shares) - set(names))
    if unknown:
        problem = f"no variant {unknown[0]!r:.60}; there are {', '.join(sorted(names)[:10])}"
        raise BadInput(problem, parameter="shares")
    grouped = GroupedSums(sums.searches, sums.options.seed)
    rows = []
    for measure in (m for m in MEASURES if m.name in measures):
        whole = [_value(grouped, measure, number + 1) for number in order]
        for position, number in enumerate(order):
            difference = Interval(None, None, None)
            if position:
                difference = grouped.estimate(_difference(measure, number + 1, order[0] + 1))
            rows.append(VariantDifference(measure, names[number], whole[position], difference))
    users = tuple(int(sums.users[number + 1]) for number in order)
    ordered = tuple(names[number] for number in order)
    p = mismatch(ordered, users, shares)
    return Variants(ordered, users, sums.mixed, p, not shares, tuple(rows))


def _of_variant(measure: OnlineMeasure, variant: int) -> Callable[[Floats], Floats]:
    part, whole = AT[measure.part], AT[measure.whole]
    return lambda sums: ratio(sums[..., variant, part], sums[..., variant, whole])


def _difference(measure: OnlineMeasure, variant: int, base: int) -> Callable[[Floats], Floats]:
    first, second = _of_variant(measure, variant), _of_variant(measure, base)
    return lambda sums: first(sums) - second(sums)


def _value(grouped: GroupedSums, measure: OnlineMeasure, variant: int) -> Interval:
    if measure.name == "clicks/search":
        return grouped.estimate(_of_variant(measure, variant))
    return grouped.share((variant, AT[measure.part]), (variant, AT[measure.whole]))


def mismatch(names: Sequence[str], users: Sequence[int], shares: Mapping[str, float]) -> float:
    """p of so many users of each variant, were they split as meant; chi-square, of two exact.

    >>> mismatch(["a", "b"], [5000, 5000], {}), mismatch(["a", "b"], [5000, 5400], {}) < 1e-4
    (1.0, True)
    """
    meant = np.array([shares.get(name, 1.0) for name in names])
    counts = np.array(users, dtype=np.float64)
    expected = counts.sum() * meant / meant.sum()
    if len(names) < 2 or not counts.sum():
        return math.nan
    if len(names) == 2 and len(set(meant.tolist())) == 1:
        return sign_test(users[0], users[1])
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return chi_square_above(statistic, len(names) - 1)
