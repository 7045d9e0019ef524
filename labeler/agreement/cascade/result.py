"""What `cascade` returns: who decided how many pairs, what that saved and lost, tables, JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labeler.agreement.cascade.sets import CascadeMember, took_by, unit_of
from labeler.agreement.cascade.thresholds import CascadeCheck, ThresholdPoint
from labeler.agreement.sentences import plain, signed
from labeler.data import Pair
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.estimates import Mean

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class CascadeResult:
    """A cascade's set of judgements: who decided which pairs, and what is known of its worth.

    `points` are agreement and cost by threshold on people's pairs, `check` what the choice brings
    on queries that it was not made on; neither is known without people's grades. `calls` counts
    those of this run. `others` are the sets that helped to tell the cheap one's doubt, whose cost
    counts with its own.
    """

    name: str
    members: tuple[CascadeMember, CascadeMember]
    by: str
    threshold: float
    sent: frozenset[Pair]
    statistic: str
    points: tuple[ThresholdPoint, ...] = ()
    check: CascadeCheck | None = None
    calls: int = 0
    findings: tuple[Finding, ...] = ()
    others: tuple[CascadeMember, ...] = ()

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.members[0].rows)

    @property
    def unit(self) -> str:
        """What costs are counted in: dollars, tokens or calls."""
        cheap, strong = self.members
        return unit_of(cheap, *self.others, strong)

    @property
    def failures(self) -> dict[Pair, str]:
        """The pairs that were sent and have no grade."""
        failed = self.members[1].failures
        return {pair: failed[pair] for pair in sorted(self.sent) if pair in failed}

    @property
    def spent(self) -> Mapping[str, float]:
        """What all replies took, and about what the strong assessor alone would have.

        That is its mean over the pairs that it judged, for every pair.
        """
        cheap, strong = self.members
        unit = self.unit
        of_cheap = sum(took_by((cheap, *self.others), pair, unit) for pair in cheap.rows)
        of_strong = sum(strong.took(pair, unit) for pair in strong.rows)
        alone = of_strong / len(strong.rows) * self.pairs if strong.rows else math.nan
        return {"cheap": of_cheap, "strong": of_strong, "strong alone": alone}

    @property
    def sentences(self) -> list[str]:
        """Who decided, what was saved, and what that lost."""
        cheap, strong = self.members
        failed = len(cheap.failures.keys() & self.sent)
        why = f", of which {failed:,} had no grade" if failed else ""
        decided = (
            f"{strong.name} decides {len(self.sent):,} of {count_of(self.pairs, 'pair', 'pairs')}"
            f"{why}{self._sure()}."
        )
        if self.check is None:
            return [decided, self._spent()]
        check = self.check
        return [
            decided,
            f"{_saved(check.saving)} {self.unit}. On queries that the threshold was not chosen on "
            f"it loses {_mean(check.loss)} of {self.statistic} with people: "
            f"{_mean(check.cascade)}, where the strong one alone has {_mean(check.strong)} and "
            f"the cheap one {_mean(check.cheap)}.",
            self._spent(),
        ]

    def _sure(self) -> str:
        """That the cheap assessor was sure of the others, where there are some."""
        if len(self.sent) == self.pairs:
            return f", by {self.by}"
        return f"; {self.members[0].name} was sure enough of the others, by {self.by}"

    def _spent(self) -> str:
        spent = self.spent
        both = spent["cheap"] + spent["strong"]
        if math.isnan(spent["strong alone"]):
            return f"Nothing was sent; all replies took {_amount(both, self.unit)}."
        return (
            f"All replies took {_amount(both, self.unit)}; the strong assessor alone would take "
            f"about {_amount(spent['strong alone'], self.unit)}."
        )

    def tables(self) -> list[Table]:
        """The table `thresholds`: agreement and cost on people's pairs by what is sent."""
        if not self.points:
            return []
        columns = [
            Column("threshold", format=".3f"),
            Column("sent", format=".0%"),
            Column(self.statistic, format=".3f"),
            Column("cost", title="of the strong one's cost", format=".0%"),
        ]
        rows: list[Row] = [list(point) for point in self.points]
        title = "by threshold, on the pairs that it is chosen on"
        return [Table("thresholds", columns, rows, title=title), *self._checked()]

    def _checked(self) -> list[Table]:
        if self.check is None:
            return []
        columns = [
            Column("on other queries", align="left"),
            Column("value", format=".3f", ends=".3f"),
        ]
        means: dict[str, Mean] = {
            f"{self.statistic}: cheap": self.check.cheap,
            f"{self.statistic}: strong": self.check.strong,
            f"{self.statistic}: cascade": self.check.cascade,
            "lost": self.check.loss,
            "cost saved, by this threshold": self.check.saving,
            "sent, by this threshold": self.check.sent,
        }
        rows: list[Row] = [[name, Interval(m.value, m.low, m.high)] for name, m in means.items()]
        return [Table("check", columns, rows)]

    def frame(self) -> DataFrame:
        """A row for each pair: its ids, and who decided it."""
        import pandas as pd

        cheap, strong = self.members
        rows = [(*p, strong.name if p in self.sent else cheap.name) for p in cheap.rows]
        return pd.DataFrame(rows, columns=pd.Index(["query_id", "doc_id", "decided"]))

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `cascade`."""
        return {
            "name": self.name,
            "cheap": self.members[0].name,
            "strong": self.members[1].name,
            "by": self.by,
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
            "pairs": self.pairs,
            "sent": len(self.sent),
            "failures": len(self.failures),
            "statistic": self.statistic,
            "check": None if self.check is None else asdict(self.check),
            "thresholds": [
                {**p._asdict(), "threshold": p.threshold if math.isfinite(p.threshold) else None}
                for p in self.points
            ],
            "unit": self.unit,
            "spent": {
                name.replace(" ", "_"): None if math.isnan(amount) else amount
                for name, amount in self.spent.items()
            },
            "calls": self.calls,
            "warnings": [f.text for f in self.findings if f.level == "warning"],
        }

    def __repr__(self) -> str:
        return f"CascadeResult({self.name!r}, sent={len(self.sent)} of {self.pairs} pairs)"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.sentences)


def _amount(value: float, unit: str) -> str:
    if unit == "dollars":
        return f"${value:,.2f}" if value >= 0.01 else f"${value:.4f}"
    return f"{value:,.0f} {unit}"


def _mean(mean: Mean) -> str:
    value = plain(mean.value, 3)
    if mean.low is None or mean.high is None:
        return value
    return (
        f"{value} [{signed(mean.low, 3)}, {signed(mean.high, 3)}]"
        if mean.low < 0
        else (f"{value} [{plain(mean.low, 3)}, {plain(mean.high, 3)}]")
    )


def _saved(mean: Mean) -> str:
    """What is saved, or how much more it takes, of what the strong assessor alone takes."""
    if mean.value >= 0:
        return f"It saves {_percent(mean)} of what the strong assessor alone takes in"
    ends = (None, None) if mean.low is None or mean.high is None else (-mean.high, -mean.low)
    return f"It takes {_percent(Mean(-mean.value, *ends))} more than the strong assessor alone in"


def _percent(mean: Mean) -> str:
    ends = "" if mean.low is None or mean.high is None else f" [{mean.low:.0%}, {mean.high:.0%}]"
    return f"{mean.value:.0%}{ends}"
