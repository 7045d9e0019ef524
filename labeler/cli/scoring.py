"""Options of commands that score runs: how they are scored, what must hold, and what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.numbers import TOP_GRADE, number
from labeler.evaluation.options import DEFAULT_MEASURES, Missing, Stale, Ties
from labeler.options import Option

if TYPE_CHECKING:
    from labeler.evaluation.gates import ScoreGate

SCORING = "Scoring"
COMPARING = "Comparing runs"
TABLES = "Tables"
GATES = "Gates"

Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="RUN",
        help="The run to compare with (default: the best).",
        rich_help_panel=COMPARING,
    ),
]

Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw it (.png, .svg, .pdf).", rich_help_panel=TABLES
    ),
]

PLOT = Option("Draw it (.png, .svg, .pdf).", metavar="FILE", panel=TABLES, flags=("--plot",))

PerQuery = Annotated[
    bool, typer.Option("--per-query", help="Add each query's scores.", rich_help_panel=TABLES)
]


StaleGrades = Annotated[
    Stale,
    typer.Option(
        help="Grades of texts that have changed since: drop, or keep.", rich_help_panel=SCORING
    ),
]


@dataclass(frozen=True, slots=True)
class ScoringFlags:
    """How runs are scored."""

    measures: Annotated[
        list[str] | None,
        typer.Option(
            *("-m", "--measure"),
            help="A measure, as nDCG@10 or P(rel=2)@5; repeatable.",
            rich_help_panel=SCORING,
        ),
    ] = None
    missing: Annotated[
        Missing,
        typer.Option(
            help="Queries that a run lacks: zero, or skip as trec_eval does.",
            rich_help_panel=SCORING,
        ),
    ] = "zero"
    ties: Annotated[
        Ties,
        typer.Option(
            help="Order of a run: trec (score, then id), or file (as written).",
            rich_help_panel=SCORING,
        ),
    ] = "trec"
    max_grade: Annotated[
        int | None,
        number(TOP_GRADE, help="The scale's top grade, for ERR and RBP.", rich_help_panel=SCORING),
    ] = None

    def measures_with(self, gates: Sequence[ScoreGate]) -> tuple[str, ...]:
        """The measures asked for, and those of the gates."""
        return (*(self.measures or DEFAULT_MEASURES), *(str(gate.measure) for gate in gates))


@dataclass(frozen=True, slots=True)
class GateFlags:
    """What must hold, else the command ends with exit code 5."""

    require: Annotated[
        list[str] | None,
        typer.Option(
            help="A gate, as nDCG@10:0.45: exit 5 where a run lies below; repeatable.",
            rich_help_panel=GATES,
        ),
    ] = None
    require_low: Annotated[
        list[str] | None,
        typer.Option(
            help="The same of the interval's low end (the high one where lower is better).",
            rich_help_panel=GATES,
        ),
    ] = None
    no_worse_than: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="A gate: exit 5 unless runs are shown to lose less than a margin against it.",
            rich_help_panel=GATES,
        ),
    ] = None
    margin: Annotated[
        list[str] | None,
        typer.Option(
            help="How much may be lost: 0.05 (the gate's default) or AP:0.02; repeatable.",
            rich_help_panel=GATES,
        ),
    ] = None

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Let the gate be blamed for a baseline that no run is, where it named that one."""
        from labeler.errors import about

        with about("no_worse_than", "baseline") if self.no_worse_than else nullcontext():
            yield

    def margins(self, scoring: ScoringFlags) -> dict[str, float]:
        """The margins by measure; a gate has a default one, by what `-m` names or else nDCG@10."""
        if not self.no_worse_than and not self.margin:
            return {}
        from labeler.evaluation.comparison.equivalence import margins_from

        measures = scoring.measures or ()
        return margins_from(self.margin or (), measures, default=bool(self.no_worse_than))

    def score_gates(self) -> list[ScoreGate]:
        """The gates that were asked for; the module is not loaded where none was."""
        if not self.require and not self.require_low:
            return []
        from labeler.evaluation.gates import score_gates

        of_low_end = score_gates(self.require_low or (), low_end=True)
        return [*score_gates(self.require or ()), *of_low_end]
