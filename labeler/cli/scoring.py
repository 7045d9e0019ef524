"""What commands that score runs share: what must hold, and what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeler.evaluation.options import DEFAULT_MEASURES
from labeler.options import Option, option

if TYPE_CHECKING:
    from labeler.evaluation.gates import ScoreGate

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
        from labeler.evaluation.equivalence import margins_from

        named = () if measures == DEFAULT_MEASURES else measures
        return margins_from(self.margin, named, default=bool(self.no_worse_than))

    def score_gates(self) -> list[ScoreGate]:
        """The gates that were asked for; the module is not loaded where none was."""
        if not self.require and not self.require_low:
            return []
        from labeler.evaluation.gates import score_gates

        of_low_end = score_gates(self.require_low, low_end=True)
        return [*score_gates(self.require), *of_low_end]
