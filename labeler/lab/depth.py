"""How many passages to hand to a reader, so that one that answers is among them for most queries.

The first relevant document of each query stands at some rank. The depth is the rank that a given
share of queries reaches, chosen a little deeper than in the sample, so that the promise holds for
the next query, too: split conformal prediction (Vovk, Gammerman and Shafer 2005). Nothing is
assumed but that the next query comes as these came.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput
from labeler.evaluation.inputs import is_path
from labeler.messages import count_of
from labeler.metrics import evaluate
from labeler.options import GRADE, Bounds, Options, option
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result, as_plain
from labeler.report.table import Column, Interval, Table, shown
from labeler.stats.means import wilson
from labeler.stats.student import SIGNIFICANT, binomial_below
from labeler.trec.memory import Source, as_qrels, as_run

DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The depths of the curve."""


@dataclass(frozen=True, slots=True)
class DepthOptions(Options):
    """For how many queries the reader may miss, and which grades are relevant."""

    miss: float = option(
        0.1, "The share of queries for which no relevant one may be among them.", Bounds(0.001, 0.5)
    )
    relevant_from: int = option(1, "The lowest grade that is relevant.", GRADE)


@dataclass(frozen=True, repr=False)
class ReaderDepth(Result):
    """How deep a reader has to be handed the ranking of one system.

    `depth` holds for the next query with a chance of at least 1 - `miss`, over samples of queries
    as this one; `sure_depth` in 95 of 100 samples for a share of at least 1 - `miss` of all
    queries. Either is None where these queries cannot say it, or where the run is too short.
    `first` is the rank of the first relevant document of each query, infinite where the run has
    none; `without` counts queries that have no relevant document, which are left out.
    """

    system: str
    miss: float
    queries: int
    without: int
    first: Hidden[Floats]

    @shown
    def depth(self) -> int | None:
        """The depth for the next query."""
        return self._rank(math.ceil((self.queries + 1) * (1 - self.miss)))

    @shown
    def sure_depth(self) -> int | None:
        """The depth for a share of all queries, with 95 % confidence (Wilks 1941)."""
        n = self.queries
        enough = (k for k in range(1, n + 1) if binomial_below(k - 1, n, 1 - self.miss) >= _SURE)
        return self._rank(next(enough, n + 1))

    def _rank(self, nth: int) -> int | None:
        """The rank that so many queries reach, by their first relevant document."""
        rank = float(np.sort(self.first)[nth - 1]) if nth <= self.queries else math.inf
        return int(rank) if math.isfinite(rank) else None

    @shown
    def reached(self) -> float:
        """The share of queries with a relevant document anywhere in the run."""
        return float(np.isfinite(self.first).mean())

    @property
    def sentences(self) -> list[str]:
        """Which depth does it, for the next query and for a share of all."""
        share = f"{100 * (1 - self.miss):g}%"
        if self.depth is None:
            return [f"{self.system}: {self._why_not(share)}"]
        passages = count_of(self.depth, "passage")
        sure = "no depth" if self.sure_depth is None else count_of(self.sure_depth, "passage")
        return [
            f"{self.system}: with {passages}, a relevant one is among them for the next query with "
            f"a chance of {share} or more; to be 95 % sure of {share} of all queries takes {sure}"
        ]

    def _why_not(self, share: str) -> str:
        least = math.ceil(1 / self.miss) - 1
        if self.queries < least:
            queries = count_of(self.queries, "query")
            return f"{queries} cannot say it for {share}: that takes {least:,} or more"
        return (
            f"no depth of this run does it: {self.reached:.0%} of queries have a relevant one in it"
        )

    def _findings(self) -> Iterator[Finding]:
        if self.without:
            queries = count_of(self.without, "query has", "queries have")
            yield Finding(f"{queries} no relevant document in the qrels, and are left out")

    def as_json(self) -> dict[str, Any]:
        """The depths, and the curve."""
        return {**super().as_json(), "curve": as_plain(self.tables()[0])}

    def tables(self) -> list[Table]:
        """The curve: the share of queries with a relevant document down to each depth."""
        deepest = self.first[np.isfinite(self.first)].max(initial=1)
        shorter = sum(depth < deepest for depth in DEPTHS)
        shares = np.array([(self.first <= depth).mean() for depth in DEPTHS[: shorter + 1]])
        curve = [each.tolist() for each in (shares, *wilson(shares, self.queries))]
        columns = [
            Column("depth", align="left"),
            Column("queries", format=".3f"),
            Column("", title="95% interval", format="", ends=".3f"),
        ]
        rows = [
            (depth, share, Interval(None, *ends))
            for depth, share, *ends in zip(DEPTHS, *curve, strict=False)
        ]
        return [Table(self.system, columns, rows, title=self.system)]


_SURE = 1 - SIGNIFICANT


def reader_depth(
    qrels: Source, run: Source, options: DepthOptions | None = None, **settings: Any
) -> ReaderDepth:
    """How many documents of a run to hand to a reader; `settings` are fields of `DepthOptions`.

    A document that nobody judged counts as not relevant, so that the depth may be too large and is
    never too small. Raises `BadInput` where no query has a relevant document.

    >>> qrels = {f"q{n}": {"d1": 1} for n in range(19)}
    >>> run = {f"q{n}": {"d0": 2.0, "d1": 1.0} for n in range(19)}
    >>> depth = reader_depth(qrels, run, miss=0.1)
    >>> depth.depth, depth.sure_depth
    (2, None)
    """
    how = options or DepthOptions(**settings)
    rel = how.relevant_from
    measures = [f"RR(rel={rel})", f"NumRel(rel={rel})"]
    first, relevant = evaluate(as_qrels(qrels), as_run(run), measures).values
    counted = first[relevant > 0]
    if not len(counted):
        raise BadInput(f"no query has a document of grade {rel} or more")
    with np.errstate(divide="ignore"):
        ranks = np.round(1 / counted)
    name = Path(run).name.partition(".")[0] if is_path(run) else "run"
    return ReaderDepth(name, how.miss, len(ranks), int((relevant == 0).sum()), ranks)
