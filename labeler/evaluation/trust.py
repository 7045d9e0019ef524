"""What must hold before the verdict of a comparison counts: enough judged, enough queries, no kin.

A test of scores takes the grades as they are. These rules come before it: where one is broken the
verdict is `not known`, with the reason and with the command that would change that.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from labeler.evaluation.grades import GradesUsed
from labeler.evaluation.inputs import Doubt, Kin
from labeler.evaluation.options import FEWEST
from labeler.evaluation.scores import Comparison, RunScores
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.report.table import Cell, Column, Ends, Table

LEAST_JUDGED = 0.7
"""The share of a system's first documents that must be judged: below it a new system is scored by
what nobody looked at."""
PEOPLE_CHECK = 200
"""Pairs that people grade as a rule to check an assessor."""


@dataclass(frozen=True)
class Trust:
    """How far scores by some grades may be believed: the grades, the systems, and their kin."""

    grades: GradesUsed = field(default_factory=GradesUsed)
    runs: Mapping[str, RunScores] = field(default_factory=dict)
    kin: Mapping[str, Kin] = field(default_factory=dict)

    @property
    def unchecked(self) -> str:
        """The assessor whose grades nobody checked; empty where somebody did."""
        assessor = self.grades.assessor
        return assessor.name if assessor and self.grades.is_unchecked else ""

    def of(
        self, names: Sequence[str], measure: str, queries: int, *, decided: bool = False
    ) -> Doubt | None:
        """The first rule that scores of some runs break; None where they keep all.

        With `decided` no grade of an unjudged document could change what is asked.
        """
        if queries < FEWEST:
            few = f"{count_of(queries, 'query is', 'queries are')} too few"
            return Doubt(f"{few} (at least {FEWEST})", f"labeler power {self._where}", "free")
        if not decided and (doubt := self._holes(names, measure)):
            return doubt
        akin = [str(self.kin[name]) for name in names if name in self.kin]
        if not akin or self.grades.assessor is None:
            return None
        by_hand = self.grades.is_unchecked
        price = f"{PEOPLE_CHECK} pairs by hand" if by_hand else "free"
        board = f"labeler lab leaderboard {self._folder} human {self.grades.assessor.name}"
        command = self._people if by_hand else board
        return Doubt(f"it is circular: {akin[0]}", command, price)

    def believed(self, comparison: Comparison) -> Comparison:
        """The comparison with what is doubtful about it."""
        names, measure = (comparison.run, comparison.baseline), comparison.measure
        doubt = self.of(
            names, measure, comparison.queries, decided=self._one_is_above(names, measure)
        )
        return comparison.with_doubt(doubt, self.unchecked)

    def against_gate(self, names: Sequence[str], measure: str, *, decided: bool = False) -> str:
        """Why scores of some runs cannot be held against a gate; empty where they can."""
        queries = min(len(self.runs[name].scores.queries) for name in names)
        doubt = self.of(names, measure, queries, decided=decided)
        if doubt is None and self.unchecked:
            unchecked = f"nobody checked the grades of {self.unchecked}"
            doubt = Doubt(unchecked, self._people, f"{PEOPLE_CHECK} pairs by hand")
        return str(doubt or "")

    def _holes(self, names: Sequence[str], measure: str) -> Doubt | None:
        """That too little of a run is judged."""
        shares = {name: self.judged(name, measure) for name in names}
        name = min(shares, key=lambda run: shares[run][1])
        what, share = shares[name]
        if share >= LEAST_JUDGED:
            return None
        cutoff = int(what.partition("@")[2])
        holes = round(len(self.runs[name].scores.queries) * (1 - share) * cutoff)
        because = f"{what} of {name} is {share:.2f}, below {LEAST_JUDGED:.2f}"
        return Doubt(because, self._filling(names), f"about {count_of(holes, 'pair')} of {name}")

    def judged(self, name: str, measure: str) -> tuple[str, float]:
        """The share judged of a run's documents that a measure looks at, and what it is called."""
        shares = self.runs[name].judged
        own = f"Judged@{parse(measure).cutoff}"
        return (own, shares[own]) if own in shares else next(iter(shares.items()))

    def _one_is_above(self, names: Sequence[str], measure: str) -> bool:
        """Whether one run's least score is above the other's most, whatever is unjudged."""
        first, second = (self.runs[name].scenarios.get(measure, {}) for name in names)
        if "low" not in first or "low" not in second:
            return False
        return first["low"] > second["high"] or second["low"] > first["high"]

    @property
    def _folder(self) -> str:
        return shlex.quote(self.grades.folder or "COLL")

    @property
    def _where(self) -> str:
        return f"{self._folder} {self.grades.name}" if self.grades.folder else "QRELS RUNS"

    @property
    def _people(self) -> str:
        return f"labeler annotate {self._folder}"

    def _filling(self, names: Sequence[str]) -> str:
        return f"labeler compare {self._folder} {shlex.join(names)}"


def scenario_table(runs: Sequence[RunScores]) -> Table:
    """What unjudged documents leave open, a row for each run and measure."""
    columns = [
        *(Column(name, align="left") for name in ("run", "measure")),
        *map(Column, ("score", "unjudged irrelevant", "unjudged of top grade")),
        *(Column(name, only="programs") for name in ("least", "most")),
        Column("least and most", format="", ends=".4f", only="people"),
    ]
    rows: list[list[Cell]] = []
    for run in runs:
        for name, case in run.scenarios.items():
            mean, ends = run.means()[name].value, Ends(case.get("low"), case.get("high"))
            cases = case["unjudged_irrelevant"], case["unjudged_top"]
            rows.append([run.name, name, mean, *cases, *ends, ends])
    return Table("scenarios", columns, rows)
