"""The history of a gate that is looked at after every commit: errors add up, and so do slow losses.

A gate that fails by chance at one look in twenty fails at some look in a hundred for nearly sure.
So each look may be held to a smaller level than the one before (`level_of`); a file of earlier
looks says how many there were. It also keeps the scores of the first baseline. Each new system is
held against that one, too: losses too small to be shown are found once they add up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from labeler.collection.stale import hash_of
from labeler.evaluation.equivalence import WORSE, Equivalence, bounds
from labeler.evaluation.evaluate import Report
from labeler.evaluation.gates import doubt_of
from labeler.evaluation.rulings import Ruling, Verdict
from labeler.files.boundary import reading
from labeler.files.jsonl import read_rows
from labeler.files.read import file_problems
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.report.result import Hidden
from labeler.stats.power import level_of
from labeler.stats.student import SIGNIFICANT

Policy = Literal["each", "sequential"]
"""What fails by chance in 5 % of cases at most: each look, or any look of a whole series."""
_DECIMALS = 6
"""To so many decimals scores are kept and compared."""


@dataclass(frozen=True)
class Since:
    """What a system gained since the oldest baseline, or lost below 0, with bounds at one level."""

    looks: int
    baseline: str
    gain: float
    low: float
    high: float

    def __str__(self) -> str:
        verb, sign = ("lost", -1) if self.gain < 0 else ("gained", 1)
        low, high = sorted((sign * self.low, sign * self.high))
        return (
            f"{count_of(self.looks, 'look')} since {self.baseline} {verb} {abs(self.gain):.3f} "
            f"in all [{low:.3f}, {high:.3f}]"
        )


@dataclass(frozen=True)
class Look:
    """One look at a gate: what was compared, when, and what came of it; a line of the history.

    `error` is the chance of a false failure at this look, 0 where nothing was tested, and `spent`
    that at any look so far. A failure needs `most`, the upper bound of the difference at that
    level, below the margin. `compared` is a hash of all that the verdict depends on, `grades` one
    of the qrels. `scores` are the baseline's by query, where it is the oldest by these grades.
    """

    when: str
    measure: str
    margin: float
    baseline: str
    system: str
    queries: int
    difference: float
    verdict: Verdict
    compared: str
    grades: str
    error: float = 0.0
    spent: float = 0.0
    most: float | None = None
    since: Since | None = None
    scores: Hidden[Mapping[str, float]] = field(default_factory=dict)

    @property
    def slow_loss(self) -> str:
        """That more than the margin was lost since the oldest baseline; else empty."""
        if self.since is None or self.since.high >= -self.margin:
            return ""
        return f"{self.since}: fail, as that is more than {self.margin:g}"

    def holds(self, e: Equivalence) -> Equivalence:
        """The equivalence, whose verdict is then that of this look."""
        return e if self.most is None else replace(e, most=self.most)

    def __str__(self) -> str:
        if not self.error:
            return f"{self.measure}: {self.verdict}; nothing is tested."
        since = f"; {self.slow_loss or self.since}" if self.since else ""
        return (
            f"{self.measure}: {self.verdict}; a false failure has a chance of {self.error:.2g} at "
            f"most, at any look so far of {self.spent:.2g}{since}."
        )


def read_looks(path: Path) -> tuple[Look, ...]:
    """The looks of a history, the oldest first; none where there is no file yet."""
    from pydantic import TypeAdapter  # takes long to load

    if not path.exists():
        with file_problems(path.parent):
            path.parent.stat()  # a history may begin here
        return ()
    line = TypeAdapter(Look)
    with reading(path) as position:
        return tuple(line.validate_python(row) for _, row in position.follow(read_rows(path)))


def keep_looks(path: Path, looks: Iterable[Look]) -> None:
    """Add the looks to a history that it does not hold yet."""
    earlier = {look.compared for look in read_looks(path)}
    rows = [asdict(look) for look in looks if look.compared not in earlier]
    with file_problems(path), path.open("a+", encoding="utf-8") as out:
        out.seek(0)
        if rows and out.read()[-1:] not in ("", "\n"):  # as editors leave it
            out.write("\n")
        out.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def slow_losses(looks: Iterable[Look]) -> list[Ruling]:
    """The failures that are shown by many looks together."""
    return [
        Ruling(
            look.system,
            "history",
            f"a loss of {look.margin:g} in {look.measure}, in all",
            "fail",
            f"{look.system}: {look.measure}: {look.slow_loss}",
        )
        for look in looks
        if look.slow_loss
    ]


@dataclass(frozen=True)
class History:
    """The looks so far, and how the next one is made: by which grades, and when."""

    looks: tuple[Look, ...]
    policy: Policy
    grades: str
    when: str

    def look_at(self, report: Report) -> tuple[Look, ...]:
        """A look at each margin of a report.

        The very same scores were looked at before: that look counts, and nothing is spent anew.
        Alike rankings, and scores that nobody may rely on, are not tested.
        """
        history, made = self, list[Look]()
        for e in report.equivalences:
            made.append(look := history._look(report, e))
            if look not in history.looks:
                history = replace(history, looks=(*history.looks, look))
        return tuple(made)

    def _look(self, report: Report, e: Equivalence) -> Look:
        system, base = (_scores(report, name, e.measure) for name in (e.run, e.baseline))
        doubt = doubt_of(report, e)
        decisive = [e.measure, e.margin, self.policy, self.grades, doubt, system, base]
        compared = hash_of(json.dumps(decisive))
        if same := next((look for look in self.looks if look.compared == compared), None):
            return same
        series = [of for of in self.looks if (of.measure, of.grades) == (e.measure, self.grades)]
        oldest = next((look for look in series if look.scores), None)
        look = Look(
            self.when,
            e.measure,
            e.margin,
            e.baseline,
            e.run,
            e.queries,
            e.difference,
            "pass" if e.identical else "cannot tell",
            compared,
            self.grades,
            scores={} if oldest or doubt else base,
        )
        if doubt or e.identical:
            return look
        tests = sum(look.error > 0 for look in self.looks)
        error = level_of(tests + 1) if self.policy == "sequential" else SIGNIFICANT
        since = None  # else each of both tests has a half of the error
        if oldest and oldest.scores != base:
            change = _change(system, oldest.scores, e.measure, error / 2)
            since = Since(len(series) + 1, f"{oldest.baseline} of {oldest.when[:10]}", *change)
        *_, most = _change(system, base, e.measure, error / 2 if since else error)
        spent = error + sum(look.error for look in self.looks)
        look = replace(look, error=error, spent=spent, most=most, since=since)
        held = look.holds(e)
        failed = look.slow_loss or held.verdict == WORSE
        return replace(look, verdict="fail" if failed else "pass" if held.passes else look.verdict)


def _scores(report: Report, name: str, measure: str) -> dict[str, float]:
    """A run's scores by query, as a history keeps them."""
    assert report.comparing is not None  # a margin is one between two systems
    scores = report.comparing.scores[name]
    values = np.round(scores.of(parse(measure)), _DECIMALS).tolist()
    return {q: v for q, v in zip(scores.queries, values, strict=True) if not math.isnan(v)}


def _change(
    system: Mapping[str, float], base: Mapping[str, float], measure: str, level: float
) -> tuple[float, float, float]:
    """The mean gain over the queries that both have, and its bounds."""
    common = [query for query in system if query in base]
    new, old = (np.array([side[query] for query in common]) for side in (system, base))
    return float((new - old).mean()), *bounds(new, old, parse(measure), level)
