"""Options of groups of queries: by which field, what each query counts, and gates on groups."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.cli.scoring import GATES, GateFlags
from labeler.evaluation.options import FEWEST, Grouping, Thin
from labeler.options import Bounds, option

if TYPE_CHECKING:
    from labeler.evaluation.gates import Gates
    from labeler.evaluation.score_report import Report

GROUPS = "Groups and weights of queries"
IN_A_GROUP = Bounds(2, 10**9)


@dataclass(frozen=True, slots=True)
class GroupFlags:
    """By which fields of queries they are grouped and weighted."""

    by: tuple[str, ...] = option(
        (),
        "Score groups of queries apart: kind, or any field of metadata. Repeatable.",
        metavar="FIELD",
        panel=GROUPS,
    )
    weights: str = option(
        "",
        "What each query counts in means, as the weight of queries from-log.",
        metavar="FIELD",
        panel=GROUPS,
    )
    queries: Path | None = option(
        None,
        "A table with query_id and these fields; else the collection's queries.",
        metavar="FILE",
        panel=GROUPS,
    )
    min_queries: int = option(
        FEWEST, "A group of fewer is too thin to decide a gate.", IN_A_GROUP, panel=GROUPS
    )
    thin: Thin = option(
        "fail", "Thin groups fail a gate on the worst group, or it skips them.", panel=GROUPS
    )

    def grouping(self, fields: Sequence[str]) -> Grouping:
        """The groups that were asked for, and those that gates need."""
        by = tuple(dict.fromkeys([*(self.by or ()), *fields]))
        return Grouping(by, self.weights, self.queries, self.min_queries)

    def check_thin(self, held: Gates | None) -> None:
        """`Misuse` where there is no gate on a group that thin groups could fail."""
        from labeler.errors import Misuse

        if self.thin != "fail" and not (held and held.groups):
            problem = "this says what gates on groups do, and there is none"
            raise Misuse(problem, parameter="thin")

    def blamed(self, gates: GroupGateFlags) -> AbstractContextManager[None]:
        """Let the gates be blamed for a field that no query has, where they alone named it."""
        from labeler.errors import about

        if self.by or not (gates.require or gates.require_low):
            return nullcontext()
        return about("require" if gates.require else "require_low", "by")


@dataclass(frozen=True, slots=True)
class GroupGateFlags(GateFlags):
    """What must hold of all queries, or of groups."""

    require: tuple[str, ...] = option(
        (),
        "A gate: nDCG@10:0.45, nDCG@10:0.4@worst-kind or nDCG@10:0.4@kind=keyword. "
        "Exit 5 where a run lies below; repeatable.",
        panel=GATES,
    )

    def read(self) -> Gates | None:
        """The gates that were asked for; the module is not loaded where none was."""
        if not self.require and not self.require_low:
            return None
        from labeler.evaluation.gates import read_gates

        return read_gates(self.require or (), self.require_low or ())

    def check(self, report: Report, gates: Gates | None, thin: Thin) -> None:
        """`GateFailed` names all that did not keep its gate."""
        if not gates and not self.no_worse_than:
            return
        from labeler.evaluation.gates import check_scores, group_failures

        failures = group_failures(report, gates.groups, thin) if gates else ()
        held = gates.overall if gates else ()
        check_scores(report, held, no_worse_than=bool(self.no_worse_than), of_groups=failures)
