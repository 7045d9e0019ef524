"""What panels of the 22 LLMJudge assessors are worth: members chosen on half of the queries.

    python scripts/panels.py LLMJUDGE/ [SPLITS]

LLMJUDGE/ holds `human.qrels` and `labels/*.txt`. The queries are split into halves at random.
Members are chosen by their kappa with people on one half, and the panel's kappa is measured on the
other. Panels of all 22 choose nobody. Prints the mean over
the splits, the difference from the best single assessor of the same half, and intervals of both
over queries: the jackknife of the mean over all splits, with the degrees of freedom that `agree`
takes. Then how many independent assessors panels are worth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np

from labeler.agreement.align import GradeMatrix, GradeReader, Rules
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.sources import assessor_of
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats, Integers
from labeler.collection.judged_set import JudgedSet
from labeler.lab.panel import independence
from labeler.lab.panel_rules import PANEL_RULES, combine, votes_of
from labeler.stats.intervals import degrees, jackknife_error
from labeler.stats.student import t_quantile
from labeler.trec.files import read_qrels

SCALE = (0, 1, 2, 3)
KAPPA = find_statistic("kappa", SCALE)
GRADES = np.array(SCALE, dtype=np.float64)
Choice = Callable[["Study", Floats], tuple[str, ...]]
"""The study and each assessor's kappa on one half, by name's order, to a key of `tables`."""


class Study:
    """The votes, people's grades, and each panel's tables by query, made when they are needed."""

    def __init__(self, folder: Path) -> None:
        human = read_qrels(folder / "human.qrels")
        files = sorted((folder / "labels").glob("*.txt"))
        self.votes: GradeMatrix = votes_of({file.stem: set_in(file) for file in files}, SCALE)
        self.human = human
        self.true = self.votes.pairs.beside(human, -1)
        self.queries, self.query = self.votes.pairs.by_query_id()
        self.singles = np.stack([self.tables(column) for column in self.votes.values.T])
        self._panels: dict[tuple[str, ...], Floats] = {}
        self._stacks: dict[tuple[tuple[str, ...], ...], Floats] = {}

    def tables(self, values: Integers) -> Floats:
        """`(queries, 4, 4)`: people's grades in rows."""
        counts = np.zeros((len(self.queries), 4, 4))
        np.add.at(counts, (self.query, self.true, values), 1)
        return counts

    def panel(self, key: tuple[str, ...]) -> Floats:
        """The tables of a panel, whose key is a rule and its members."""
        rule, *members = key
        key = rule, *sorted(members)
        if key not in self._panels:
            values = combine(some_members(self.votes, members), rule) if len(members) > 1 else None
            column = self.votes.assessors.index(members[0])
            self._panels[key] = self.singles[column] if values is None else self.tables(values)
        return self._panels[key]

    def stacked(self, keys: tuple[tuple[str, ...], ...]) -> Floats:
        """The tables of several panels, `(panels, queries, 4, 4)`."""
        if keys not in self._stacks:
            self._stacks[keys] = np.stack([self.panel(key) for key in keys])
        return self._stacks[keys]


def set_in(path: Path) -> JudgedSet:
    """The grades of a file of labels."""
    labels = assessor_of(path, path.stem).labels
    return JudgedSet.of_grades(GradeReader(SCALE, Rules()).of_assessor(labels))


def some_members(votes: GradeMatrix, members: Sequence[str]) -> GradeMatrix:
    """The votes of some members, in this order."""
    columns = [votes.assessors.index(member) for member in members]
    return replace(votes, assessors=tuple(members), values=votes.values[:, columns])


def kappa(tables: Floats) -> Floats:
    return KAPPA.compute(tables, GRADES)


def strongest(number: int, rule: str = "median") -> Choice:
    def choose(study: Study, kappas: Floats) -> tuple[str, ...]:
        best = np.argsort(-kappas, kind="stable")[:number]
        return rule, *(study.votes.assessors[index] for index in best)

    return choose


def strongest_of_teams(number: int) -> Choice:
    """The strongest assessor of each team, and of these the strongest."""

    def choose(study: Study, kappas: Floats) -> tuple[str, ...]:
        best: dict[str, str] = {}
        for index in np.argsort(-kappas, kind="stable"):
            name = study.votes.assessors[index]
            best.setdefault(name.partition("-")[0], name)
        return "median", *list(best.values())[:number]

    return choose


def best_triple(study: Study, queries: Integers) -> tuple[str, ...]:
    """The three of the eight strongest whose median is best on the same half."""
    kappas = kappa(study.singles[:, queries].sum(axis=1))
    names = strongest(8)(study, kappas)[1:]
    triples = [("median", *three) for three in combinations(sorted(names), 3)]
    stacked = study.stacked(tuple(triples))
    return triples[int(np.argmax(kappa(stacked[:, queries].sum(axis=1))))]


def everybody(rule: str) -> Choice:
    return lambda study, _kappas: (rule, *study.votes.assessors)


CHOICES: dict[str, Choice] = {
    "the strongest alone": strongest(1),
    "median of the three strongest": strongest(3),
    "median of the five strongest": strongest(5),
    "median of the strongest of three teams": strongest_of_teams(3),
    "median of the strongest of all seven teams": strongest_of_teams(7),
    **{f"{rule} of the three strongest": strongest(3, rule) for rule in ("majority", "mean")},
    **{f"{rule} of all 22": everybody(rule) for rule in PANEL_RULES},
}
TRIPLE = "median of the best three of eight by their panel"


def over_splits(study: Study, splits: Sequence[Integers], left_out: int | None) -> Floats:
    """The mean kappa over splits of each choice, `(choices,)`, without one query."""
    totals = np.zeros(len(CHOICES) + 1)
    for order in splits:
        queries = order[order != left_out] if left_out is not None else order
        fitted, held = queries[: len(queries) // 2], queries[len(queries) // 2 :]
        kappas = kappa(study.singles[:, fitted].sum(axis=1))
        keys = [choose(study, kappas) for choose in CHOICES.values()]
        keys.append(best_triple(study, fitted))
        totals += [float(kappa(study.panel(key)[held].sum(axis=0))) for key in keys]
    return totals / len(splits)


def print_choices(study: Study, splits: int) -> None:
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(study.queries)) for _ in range(splits)]
    whole = over_splits(study, orders, None)
    without = np.array([over_splits(study, orders, q) for q in range(len(study.queries))])
    print(f"{splits} splits of {len(study.queries)} queries; kappa on the other half")
    for index, name in enumerate([*CHOICES, TRIPLE]):
        value, apart = whole[index], whole[index] - whole[0]
        ends = interval(value, without[:, index])
        more = interval(apart, without[:, index] - without[:, 0])
        print(f"{name:50} {value:.3f} {ends}  {apart:+.3f} {more if index else ''}")


def interval(value: float, without_one: Floats) -> str:
    """A t interval by the jackknife."""
    reached = t_quantile(0.975, degrees(len(without_one)))
    half = reached * jackknife_error(without_one)
    return f"[{value - half:+.3f}, {value + half:+.3f}]"


def print_worth(study: Study) -> None:
    kappas = kappa(study.singles.sum(axis=1))
    choices = {
        "all 22": everybody("median"),
        "the three strongest": strongest(3),
        "the five strongest": strongest(5),
        "the strongest of three teams": strongest_of_teams(3),
        "the strongest of all seven teams": strongest_of_teams(7),
    }
    print("\nindependent assessors, and the correlation of errors")
    for name, choose in choices.items():
        votes = some_members(study.votes, choose(study, kappas)[1:])
        worth = independence(votes, study.human, StatisticOptions(draws=1000))
        number, r = worth.effective_number, worth.correlation
        print(
            f"{name:34} {number.value:.2f} [{number.low:.2f}, {number.high:.2f}]  "
            f"{r.value:.2f} [{r.low:.2f}, {r.high:.2f}]"
        )


def main(folder: str, splits: str = "200") -> None:
    study = Study(Path(folder))
    print_choices(study, int(splits))
    print_worth(study)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
