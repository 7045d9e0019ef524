"""What commands that score runs share: what must hold, and what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeler.evaluation.options import DEFAULT_MEASURES, GROUPS, Thin
from labeler.options import Option, option

if TYPE_CHECKING:
    from labeler.evaluation.gates import Gates, ScoreGate
    from labeler.evaluation.score_report import Report

TABLES, GATES = "Tables", "Gates"
PLOT = Option("Draw it (.png, .svg, .pdf).", flags="--plot", metavar="FILE", panel=TABLES)
PER_QUERY = Option("Add each query's scores.", panel=TABLES)


@dataclass(frozen=True, slots=True)
class GateFlags:
    """What must hold, else the command ends with exit code 5."""

    require: tuple[str, ...] = option(
        (), "A gate, as nDCG@10:0.45: exit 5 where a run lies below; repeatable.", panel=GATES
    )
    require_low: tuple[str, ...] = option(
        (),
        "The same of the interval's low end (the high one where lower is better).",
        panel=GATES,
        rare=True,
    )
    no_worse_than: str | None = option(
        None,
        "A gate: exit 5 unless runs are shown to lose less than a margin against it.",
        metavar="RUN",
        panel=GATES,
    )
    margin: tuple[str, ...] = option(
        (), "How much may be lost: 0.05 (the gate's default) or AP:0.02; repeatable.", panel=GATES
    )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Let the gate be blamed for a baseline that no run is, where it named that one."""
        from labeler.errors import about

        with about("no_worse_than", "baseline") if self.no_worse_than else nullcontext():
            yield

    def margins(self, measures: Sequence[str]) -> dict[str, float]:
        """The margins by measure; a gate has a default one, by what `-m` names or else nDCG@10."""
        if not self.no_worse_than and not self.margin:
            return {}
        from labeler.evaluation.comparison.equivalence import margins_from

        named = () if measures == DEFAULT_MEASURES else measures
        return margins_from(self.margin, named, default=bool(self.no_worse_than))

    def score_gates(self) -> list[ScoreGate]:
        """The gates that were asked for; the module is not loaded where none was."""
        if not self.require and not self.require_low:
            return []
        from labeler.evaluation.gates import score_gates

        of_low_end = score_gates(self.require_low, low_end=True)
        return [*score_gates(self.require), *of_low_end]


@dataclass(frozen=True, slots=True)
class GroupGateFlags(GateFlags):
    """What must hold of all queries, or of groups."""

    require: tuple[str, ...] = option(
        (),
        "A gate: nDCG@10:0.45, nDCG@10:0.4@worst-kind or nDCG@10:0.4@kind=keyword. "
        "Exit 5 where a run lies below; repeatable.",
        panel=GATES,
    )

    thin: Thin = option(
        "fail",
        "Thin groups fail a gate on the worst group, or it skips them.",
        panel=GROUPS,
        rare=True,
    )

    def read(self) -> Gates | None:
        """The gates that were asked for; the module is not loaded where none was."""
        if not self.require and not self.require_low:
            return None
        from labeler.evaluation.gates import read_gates

        return read_gates(self.require, self.require_low)

    def check_thin(self, held: Gates | None) -> None:
        """`Misuse` where there is no gate on a group that thin groups could fail."""
        from labeler.errors import Misuse

        if self.thin != "fail" and not (held and held.groups):
            problem = "this says what gates on groups do, and there is none"
            raise Misuse(problem, parameter="thin")

    def blamed_for_groups(self, by: Sequence[str]) -> AbstractContextManager[None]:
        """Let the gates be blamed for a field that no query has, where they alone named it."""
        from labeler.errors import about

        if by or not (self.require or self.require_low):
            return nullcontext()
        return about("require" if self.require else "require_low", "by")

    def check(self, report: Report, gates: Gates | None) -> None:
        """`GateFailed` names all that did not keep its gate."""
        if not gates and not self.no_worse_than:
            return
        from labeler.evaluation.gates import check_scores, group_failures

        failures = group_failures(report, gates.groups, self.thin) if gates else ()
        held = gates.overall if gates else ()
        check_scores(report, held, no_worse_than=bool(self.no_worse_than), of_groups=failures)
