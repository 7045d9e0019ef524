"""Team draft interleaving: one list of two systems' documents, and whose documents are clicked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse
from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.log.searches import LogPart
from labeler.monitoring.online.estimates import GroupedSums, added, ratio
from labeler.report.table import Interval
from labeler.stats.randomization import sign_test


class Drafted(NamedTuple):
    """A document of an interleaved list, and the team that it was drafted for: A or B."""

    doc_id: str
    team: str


def team_draft(
    first: Sequence[str],
    second: Sequence[str],
    depth: int = 10,
    chance: random.Random | None = None,
) -> list[Drafted]:
    """One list of two rankings' documents, made anew for each search: teams draft in turns.

    In each round a coin says which team chooses first; each takes its best document that is not in
    the list. Radlinski, Kurup and Joachims (2008), CIKM. Show the list, and log the team of each
    document: clicks then tell which ranking is better.

    >>> team_draft(["d1", "d2"], ["d3", "d1"], chance=random.Random(1))
    [Drafted(doc_id='d1', team='A'), Drafted(doc_id='d3', team='B'), Drafted(doc_id='d2', team='A')]
    """
    if depth < 1:
        raise Misuse("depth counts from 1", parameter="depth")
    chance = chance or random.Random()
    left = {"A": list(dict.fromkeys(first)), "B": list(dict.fromkeys(second))}
    drafted: list[Drafted] = []
    taken: set[str] = set()
    while len(drafted) < depth and any(left.values()):
        for team in chance.choice(["AB", "BA"]):
            left[team] = [doc for doc in left[team] if doc not in taken]
            if left[team] and len(drafted) < depth:
                drafted.append(Drafted(left[team][0], team))
                taken.add(left[team][0])
    return drafted


@dataclass
class TeamSums:
    """Wins of the first of two teams over users, or over searches where none are named.

    `first` and `second` are the numbers of the teams. `sums` is `(groups, 2)`: wins, of which a tie
    is half a one, and users.
    """

    first: int = 1
    second: int = 2
    wins: int = 0
    ties: int = 0
    losses: int = 0
    sums: Floats = field(default_factory=lambda: np.zeros((GROUPS, 2)))

    def add(self, part: LogPart) -> None:
        """Count the users of a part who clicked more documents of one team than of the other."""
        shown, own = part.impressions, part.searches
        teamed = np.flatnonzero(shown.team > 0)
        if not len(teamed):
            return
        who = np.where(own.client >= 0, own.client, -1 - np.arange(len(own)))
        users, user = np.unique(who[shown.search[teamed]], return_inverse=True)
        team = shown.team[teamed]
        sign = (team == self.first).astype(float) - (team == self.second).astype(float)
        ahead = np.bincount(user, weights=sign * shown.clicks[teamed], minlength=len(users))
        self.wins += int((ahead > 0).sum())
        self.losses += int((ahead < 0).sum())
        self.ties += int((ahead == 0).sum())
        group = np.zeros(len(users), dtype=np.int64)
        group[user] = own.group[shown.search[teamed]]
        values = np.where(ahead > 0, 1.0, np.where(ahead == 0, 0.5, 0.0))
        added(self.sums, (group, np.zeros_like(group)), values)
        added(self.sums, (group, np.ones_like(group)), np.ones(len(users)))


@dataclass(frozen=True)
class InterleavingOutcome:
    """Users who clicked more documents of the first team, of both alike, and of the second.

    `rate` is the first team's share of wins, ties being half a win (Chapelle et al. 2012, ACM TOIS
    30(1)); `p` is of the exact sign test over users, ties left out.
    """

    teams: tuple[str, str]
    wins: int
    ties: int
    losses: int
    rate: Interval
    p: float


def outcome_of(sums: TeamSums, teams: Sequence[str], seed: int = 0) -> InterleavingOutcome:
    """Which of two teams won."""
    rate = GroupedSums(sums.sums, seed).estimate(lambda of: ratio(of[..., 0], of[..., 1]))
    names = teams[sums.first - 1], teams[sums.second - 1]
    p = sign_test(sums.wins, sums.losses)
    return InterleavingOutcome(names, sums.wins, sums.ties, sums.losses, rate, p)
