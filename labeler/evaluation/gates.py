"""Gates on scores: what a continuous-integration job asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from labeler.errors import GateFailed, Misuse, about
from labeler.metrics import Measure, parse
from labeler.metrics.scores import whole_queries

if TYPE_CHECKING:
    from labeler.evaluation.evaluate import Report
    from labeler.evaluation.groups import ByGroup, GroupScore
    from labeler.evaluation.scores import RunScores


class Limit(NamedTuple):
    """The gate that `NAME:NUMBER` asks for, before its name is looked up."""

    name: str
    number: float


@dataclass(frozen=True)
class ScoreGate:
    """The mean that every run must reach; with `low_end` the low end of its interval must."""

    measure: Measure
    bound: float
    low_end: bool = False


def parse_limits(texts: Sequence[str], example: str, parameter: str = "require") -> list[Limit]:
    """Names with finite numbers behind the last colon; `Misuse` shows the example."""
    limits = []
    for text in texts:
        name, colon, number = text.rpartition(":")
        try:
            limit = float(number) if colon else math.nan
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            problem = f"cannot read the gate {text!r}; write it as {example}"
            raise Misuse(problem, parameter=parameter)
        limits.append(Limit(name, limit))
    return limits


def check_scores(
    report: Report,
    gates: Sequence[ScoreGate],
    *,
    no_worse_than: bool = False,
    of_groups: Iterable[str] = (),
) -> None:
    """`GateFailed` names each run below a gate, or not shown to lose less than a margin.

    `of_groups` are what gates on groups of queries say against runs.

    Every run must pass every gated measure. Then at most 5 % of builds that truly lose a margin
    pass, however many runs and measures are held (Berger 1982, Technometrics 24).
    `Misuse` where these data could not pass the gate, or not fail it.
    """
    failures = [short for run in report.runs for short in _short_scores(run, gates)]
    failures += of_groups
    if no_worse_than:
        from labeler.evaluation.equivalence import (
            check_equivalences,  # agreement needs none of it
        )

        failures += check_equivalences(report.equivalences)
    raise_failed(failures)


def _short_scores(run: RunScores, gates: Sequence[ScoreGate]) -> Iterator[str]:
    means = run.scores.means()
    for gate in gates:
        name = str(gate.measure)
        if gate.low_end:
            yield from short_end(f"{run.name}: {name}", gate, run.intervals[name])
            continue
        value = means[name]
        if short := shortfall(gate, value):
            is_what = short if math.isnan(value) else f"{value:.4f}, {short}"
            yield f"{run.name}: {gate.measure} is {is_what}"


def short_end(
    whose: str, gate: ScoreGate, ends: tuple[float | None, float | None]
) -> Iterator[str]:
    """How the low end of an interval does not keep a gate; nothing where it does."""
    worst = ends[0]
    if worst is None or math.isnan(worst):
        yield f"{whose} has no interval to hold against {gate.bound:g}"
    elif short := shortfall(gate, worst):
        yield f"{whose} may be as low as {worst:.4f}, {short}"


def shortfall(gate: ScoreGate, value: float) -> str | None:
    """That a value lies below its bound or is undefined, `None` where it keeps it."""
    if math.isnan(value):
        return f"undefined, and so not held against {gate.bound:g}"
    return None if value >= gate.bound else f"below {gate.bound:g}"


def raise_failed(failures: Sequence[str]) -> None:
    """`GateFailed` with all that did not keep its gate; nothing where all did."""
    if failures:
        raise GateFailed("; ".join(failures))


# Gates on groups of queries: the worst group of a field, or one that is named.

WORST = "worst-"
EXAMPLE = "nDCG@10:0.4@worst-kind or nDCG@10:0.4@kind=keyword"


class GroupGate(NamedTuple):
    """A gate on every group of a field, or on one of them."""

    gate: ScoreGate
    by: str
    group: str | None = None


@dataclass(frozen=True)
class Gates:
    """Gates on the scores of all queries, and on those of groups."""

    overall: tuple[ScoreGate, ...] = ()
    groups: tuple[GroupGate, ...] = ()

    @property
    def scores(self) -> list[ScoreGate]:
        """All of them as gates on a measure."""
        return [*self.overall, *(group.gate for group in self.groups)]

    @property
    def fields(self) -> list[str]:
        """The fields by which they group queries."""
        return list(dict.fromkeys(group.by for group in self.groups))

    def check_names(self, report: Report) -> None:
        """`Misuse` where a gate names a group that no query is in."""
        for gate in self.groups:
            grouped = _grouped(report, gate)
            if gate.group is not None and gate.group not in grouped.sizes:
                listed = ", ".join(f"{name:.40}" for name in list(grouped.sizes)[:12])
                problem = f"no query has {gate.by}={gate.group}; {gate.by} is one of {listed}"
                low = gate.gate.low_end
                raise Misuse(problem, parameter="require_low" if low else "require")


def read_gates(require: Sequence[str] = (), require_low: Sequence[str] = ()) -> Gates:
    """Gates from `nDCG@10:0.45`, `nDCG@10:0.4@worst-kind` and `nDCG@10:0.4@kind=keyword`."""
    overall: list[ScoreGate] = []
    groups: list[GroupGate] = []
    for texts, low_end in ((require, False), (require_low, True)):
        for text in texts:
            parameter = "require_low" if low_end else "require"
            name, colon, rest = text.partition(":")
            bound, at, where = rest.partition("@")
            (limit,) = parse_limits([f"{name}{colon}{bound}"], "nDCG@10:0.45", parameter)
            with about(parameter):
                gate = ScoreGate(parse(limit.name), limit.number, low_end)
                if at:
                    groups.append(GroupGate(gate, *_group_of(text, where)))
                else:
                    overall.append(gate)
    return Gates(tuple(overall), tuple(groups))


def _group_of(text: str, where: str) -> tuple[str, str | None]:
    by, equals, group = where.partition("=")
    if equals and by and group:
        return by, group
    if not equals and where.startswith(WORST) and len(where) > len(WORST):
        return where.removeprefix(WORST), None
    raise Misuse(f"cannot read the gate {text!r}; write it as {EXAMPLE}")


def group_failures(report: Report, gates: Sequence[GroupGate]) -> Iterator[str]:
    """What does not keep its gate, and what cannot be held against it.

    A group of few queries decides nothing: it fails its gate, whatever its score.
    """
    for gate in gates:
        grouped, measure = _grouped(report, gate), str(gate.gate.measure)
        scores = [
            s for s in grouped.scores if s.measure == measure and gate.group in (None, s.group)
        ]
        yield from _undecided(scores, gate, grouped)
        for score in (s for s in scores if not s.thin):
            whose = f"{score.run}, {gate.by} {score.group}: {measure}"
            if gate.gate.low_end:
                yield from short_end(whose, gate.gate, (score.low, score.high))
            elif short := shortfall(gate.gate, score.value):
                yield f"{whose} is {score.value:.4f}, {short}"


def _grouped(report: Report, gate: GroupGate) -> ByGroup:
    return next(grouped for grouped in report.by if grouped.by == gate.by)


def _undecided(scores: Sequence[GroupScore], gate: GroupGate, grouped: ByGroup) -> Iterator[str]:
    """Which groups are too thin, said once where that is so for all runs."""
    thin: dict[str, list[str]] = {score.run: [] for score in scores}
    for score in scores:
        if score.thin:
            thin[score.run].append(f"{score.group} ({whole_queries(score.effective)})")
    runs_by_groups: dict[str, list[str]] = {}
    for run, groups in thin.items():
        runs_by_groups.setdefault(", ".join(groups), []).append(run)
    for listed, runs in runs_by_groups.items():
        whose = f"{', '.join(runs)}: " if len(runs) < len(thin) else ""
        few = f"fewer than {grouped.fewest} queries decide no gate"
        if listed:
            yield f"{whose}{gate.gate.measure} by {gate.by}: {listed}: {few}"
