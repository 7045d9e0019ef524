"""What users did, as sums over groups of users: clicks by rank, and of whole searches."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from labeler.arrays import Floats
from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.log.searches import LogPart, Searches
from labeler.monitoring.online.estimates import added
from labeler.monitoring.online.options import OnlineOptions
from labeler.queries.filter import words

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
