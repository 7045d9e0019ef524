"""What judging gave: the counts of a set of judgements, its files, and the cost of the run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.collection.judgements import read_judgements
from labeler.data import JUDGED, Failure, Pair
from labeler.errors import BudgetReached
from labeler.judging.job import Job
from labeler.judging.tally import Tally
from labeler.models.policies.budget import Spending, WithCost
from labeler.report.table import Column, Row, Table

if TYPE_CHECKING:
    from pandas import DataFrame

    from labeler.judging.methods.position import PositionEffect


@dataclass(frozen=True, slots=True, repr=False)
class JudgeResult(WithCost):
    """A set of judgements as a run left it, and what the run took.

    `total` counts the pairs that were to be judged: those that have a grade, those that failed,
    and those that a budget left out. `spent.calls` and `cost` are those of this run alone, the
    tokens of the tally those of all replies behind the judgements. `caveat` says how far an
    embedded assessor is to be trusted.
    """

    job: Job
    tally: Tally
    spent: Spending
    is_priced: bool = False
    caveat: str | None = None

    @property
    def name(self) -> str:
        """The name of the set of judgements."""
        return self.job.name

    @property
    def total(self) -> int:
        """How many pairs were to be judged."""
        return self.job.total

    @property
    def judged(self) -> int:
        """How many pairs have a grade."""
        return self.tally.judged

    @property
    def failed(self) -> int:
        """How many pairs were asked about and have no grade."""
        return self.tally.failed

    @property
    def failures(self) -> dict[str, int]:
        """How many pairs failed in each way that occurred."""
        return self.tally.failures_by_status

    @property
    def suspicious(self) -> int:
        """How many pairs have a document that looks as if it was written for the assessor."""
        return self.tally.suspicious

    @property
    def examples(self) -> dict[str, list[tuple[Pair, str]]]:
        """The first pairs that failed in each way that occurred, each with its detail."""
        return {status: self.tally.examples[status] for status in self.failures}

    @property
    def cached_tokens(self) -> int:
        """Tokens of this run's requests that the server says it had ready from earlier ones."""
        return self.tally.cached_tokens

    @property
    def stopped(self) -> BudgetReached | None:
        """What ended the run before all pairs were done."""
        return self.tally.stopped

    @property
    def judgements(self) -> Path:
        """The file of the judgements, failures among them."""
        return self.job.collection.judgements(self.name)

    @property
    def qrels(self) -> Path:
        """The file of the grades."""
        return self.job.collection.qrels(self.name)

    def position(self, seed: int = 0) -> PositionEffect | None:
        """What a document's position in its list does to its grade; None where none was listed."""
        if not self.tally.listed:
            return None
        from labeler.judging.methods.position import position_effect

        return position_effect(self.judgements, seed)

    def as_json(self) -> dict[str, Any]:
        """The counts, the files and the cost by name."""
        position = self.position()
        return {
            **({"position": position.as_json()} if position else {}),
            "name": self.name,
            "pairs": self.total,
            "judged": self.judged,
            "failed": self.failed,
            "failures": self.failures,
            "suspicious": self.suspicious,
            "calls": self.spent.calls,
            "cached_tokens": self.cached_tokens,
            "cost": self.cost,
            "cost_at_most": self.cost_at_most,
            "stopped": str(self.stopped) if self.stopped else None,
            "pilot": asdict(self.tally.pilot) if self.tally.pilot else None,
            "judgements": str(self.judgements),
            "qrels": str(self.qrels),
        }

    def table(self) -> Table:
        """How many pairs have a grade, failed in each way, or were not asked about."""
        left = self.total - self.tally.pairs
        counts = {JUDGED: self.judged, **self.failures, **({"not asked": left} if left else {})}
        columns = [Column("status", align="left"), Column("pairs", format=",d")]
        rows: list[Row] = [list(row) for row in counts.items()]
        return Table("judging", columns, rows, title=self.name)

    def frame(self) -> DataFrame:
        """The judgements as a pandas DataFrame: a row a pair, with its grade or why it has none."""
        import pandas as pd

        outcomes = [row.judged.outcome for row in read_judgements(self.judgements)]
        rows = [
            (*o.pair, None, o.status, o.detail)
            if isinstance(o, Failure)
            else (*o.pair, o.grade, JUDGED, o.reason)
            for o in outcomes
        ]
        columns = ["query_id", "doc_id", "grade", "status", "reason"]
        return pd.DataFrame(rows, columns=pd.Index(columns)).astype({"grade": "Int64"})

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        failures = "".join(f", {status}={count}" for status, count in self.failures.items())
        return f"JudgeResult({self.name!r}, judged={self.judged} of {self.total}{failures})"
