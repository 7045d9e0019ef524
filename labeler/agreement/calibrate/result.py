"""What `calibrate` returns: how far probabilities hold on other queries, tables, JSON, a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.agreement.calibrate.saved import SavedCalibration
from labeler.agreement.calibrate.validation import CurvePoint
from labeler.agreement.calibration import Calibration
from labeler.agreement.sentences import short
from labeler.agreement.shares import GradeShares
from labeler.arrays import Floats
from labeler.collection.outputs import Output
from labeler.files.jsonl import write_rows
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.estimates import Mean

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class CutReliability:
    """How far the probabilities of a grade of `cut` or more lie from people's, before and after.

    Of an assessor without distributions, before means its grades taken for certain.
    """

    before: Calibration
    after: Calibration


@dataclass(frozen=True, eq=False, repr=False)
class CalibrateResult:
    """A fit, the probabilities it gives to every pair of the assessor, and how far they hold.

    `probabilities` are `(pairs, grades)`, in the order of `shares.pairs` and of the fit's scale.
    `log_loss` is in nats, by name: `calibrated`, `shares alone` (people's shares of grades, the
    same for every pair) and `as it came` (the assessor's own distributions). `gain` is how much
    less the first is than the second. `curve` is the log loss on other queries by how many were
    fitted to. All of these are empty where a saved fit was applied. `assessor` is whose pairs these
    are, the one that was fitted to where it is empty.
    """

    saved: SavedCalibration
    shares: GradeShares
    probabilities: Floats
    counts: tuple[int, int] = (0, 0)
    log_loss: Mapping[str, Mean] = field(default_factory=dict)
    gain: Mean | None = None
    cuts: tuple[CutReliability, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    findings: tuple[Finding, ...] = ()
    assessor: str = ""

    @property
    def name(self) -> str:
        """Whose pairs have these probabilities."""
        return self.assessor or self.saved.origin.assessor

    @property
    def scale(self) -> tuple[int, ...]:
        """People's grades."""
        return self.saved.fit.scale

    @cached_property
    def expected(self) -> dict[str, dict[str, float]]:
        """Query to document to the mean of the calibrated grade."""
        means = self.probabilities @ np.array(self.scale, dtype=np.float64)
        expected: dict[str, dict[str, float]] = {}
        for pair, mean in zip(self.shares.pairs, means.tolist(), strict=True):
            expected.setdefault(pair.query_id, {})[pair.doc_id] = mean
        return expected

    @property
    def sentences(self) -> list[str]:
        """What the probabilities tell, and how far they lie from people's grades."""
        name = short(self.name)
        given = count_of(len(self.shares.pairs), "pair", "pairs")
        if self.gain is None:
            fitted = short(self.saved.origin.assessor)
            return [f"{given} of {name} have probabilities by the saved fit to {fitted}."]
        pairs, queries = self.counts
        graded = f"{count_of(pairs, 'pair', 'pairs')} of {count_of(queries, 'query', 'queries')}"
        loss = self.log_loss["calibrated"]
        tells = (
            f"{name}: fitted to {graded} that {short(self.saved.origin.people)} graded, "
            f"probabilities for {given}."
        )
        gained = (
            f"On queries not fitted to, the log loss is {_mean(loss)} nats a pair, "
            f"{_mean(self.gain)} less than by people's shares of grades alone."
        )
        return [tells, gained, *(self._at_cut(cut) for cut in self.cuts)]

    def _at_cut(self, cut: CutReliability) -> str:
        before, after = (_error(side) for side in (cut.before, cut.after))
        reached = f"grade {cut.after.cut} or more"
        return f"The probability of {reached} was off by {before}, and is by {after}."

    def tables(self) -> list[Table]:
        """The tables `log loss`, `cuts` and `learning curve`."""
        if self.gain is None:
            return []
        loss = Table(
            "log loss",
            [Column("probabilities", align="left"), Column("log loss", format=".3f", ends=".3f")],
            [[name, Interval(m.value, m.low, m.high)] for name, m in self.log_loss.items()],
            title="log loss on queries not fitted to, in nats a pair",
        )
        return [loss, self._cut_table(), self._curve_table()]

    def _cut_table(self) -> Table:
        columns = [
            Column("cut", format="d"),
            Column("before", title="off by, before", format=".3f", ends=".3f"),
            Column("after", title="after", format=".3f", ends=".3f"),
            Column("brier before", format=".3f"),
            Column("brier after", format=".3f"),
        ]
        rows: list[Row] = [
            [
                c.after.cut,
                *(Interval(side.error, side.low, side.high) for side in (c.before, c.after)),
                c.before.brier,
                c.after.brier,
            ]
            for c in self.cuts
        ]
        return Table("cuts", columns, rows, title="probability of a grade of the cut or more")

    def _curve_table(self) -> Table:
        columns = [
            Column("queries", format="d"),
            Column("pairs", format=",.0f"),
            Column("log loss", format=".3f"),
            Column("error", title="standard error", format=".3f"),
        ]
        title = "log loss on other queries, by how many were fitted to"
        return Table("learning curve", columns, [list(point) for point in self.curve], title=title)

    def frame(self) -> DataFrame:
        """A row for each pair: ids, the probability of each grade, and the expected grade."""
        import pandas as pd

        frame = pd.DataFrame(list(self.shares.pairs), columns=pd.Index(["query_id", "doc_id"]))
        for grade, column in zip(self.scale, self.probabilities.T, strict=True):
            frame[f"p{grade}"] = column
        frame["expected"] = self.probabilities @ np.array(self.scale, dtype=np.float64)
        return frame

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `calibrate`."""
        return {
            "assessor": self.name,
            "people": self.saved.origin.people,
            "pairs": self.counts[0],
            "queries": self.counts[1],
            "probabilities": len(self.shares.pairs),
            "log_loss": {name.replace(" ", "_"): asdict(m) for name, m in self.log_loss.items()},
            "gain": None if self.gain is None else asdict(self.gain),
            "cuts": [
                {
                    "cut": c.after.cut,
                    "before": _reliability(c.before),
                    "after": _reliability(c.after),
                }
                for c in self.cuts
            ],
            "learning_curve": [point._asdict() for point in self.curve],
            "calibration": self.saved.as_json(),
            "warnings": [f.text for f in self.findings if f.level == "warning"],
        }

    def __repr__(self) -> str:
        pairs, queries = self.counts
        of = f"{pairs} pairs of {queries} queries" if pairs else "a saved fit"
        return f"CalibrateResult({self.name!r}, by {of})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.sentences)


def write_probabilities(output: Output, result: CalibrateResult) -> None:
    """Write a row for each pair: ids, the probability of each grade, and the expected grade."""
    expected = result.expected
    rows = (
        {
            **pair._asdict(),
            "probabilities": dict(zip(map(str, result.scale), row, strict=True)),
            "expected": expected[pair.query_id][pair.doc_id],
        }
        for pair, row in zip(result.shares.pairs, result.probabilities.tolist(), strict=True)
    )
    with output.writing():
        write_rows(output.path, rows)


def _reliability(side: Calibration) -> dict[str, Any]:
    whole = asdict(side)
    return {**whole, "bins": [b._asdict() for b in side.bins]}


def _mean(mean: Mean) -> str:
    ends = "" if mean.low is None else f" [{mean.low:.3f}, {mean.high:.3f}]"
    return f"{mean.value:.3f}{ends}"


def _error(side: Calibration) -> str:
    ends = "" if side.low is None else f" [{side.low:.3f}, {side.high:.3f}]"
    return f"{side.error:.3f}{ends}"
