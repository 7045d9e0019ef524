"""Counts of runs of any size, and whether their scores and ranks agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from labeler.exchange.runs import hold_run
from labeler.files.jsonl import JsonObject, RowValues
from labeler.files.read import rereadable
from labeler.metrics.judged import contradictions, tied_pairs
from labeler.report.table import SPREAD_HEADER, Column, Table, short_names, spread
from labeler.trec.blocks import Batch
from labeler.trec.files import through_run


def run_stats(path: Path) -> JsonObject:
    """Counts of a run, and what its scores and ranks say of each other."""
    with rereadable():
        hold_run(path)
        return {"run": str(path), **through_run(path, _counted)}


def _counted(lines: Iterable[Batch]) -> JsonObject:
    sizes = []
    ties = contradicting = 0
    lowest = np.inf
    highest = -np.inf
    for batch in lines:
        batch.refuse_repeated()
        score, order = batch.score, batch.ranked
        sizes.append(np.bincount(batch.query))
        ties += tied_pairs(batch.query[order], score[order])
        contradicting += contradictions(batch.query, batch.declared, score)
        lowest = min(lowest, score.min())
        highest = max(highest, score.max())
    ordered = np.sort(np.concatenate(sizes))
    return {
        "queries": len(ordered),
        "documents": int(ordered.sum()),
        "per_query": spread(ordered.tolist()),
        "scores": {"least": float(lowest), "most": float(highest)},
        "tied_pairs": ties,
        "contradicting_ranks": contradicting,
    }


def stats_table(counts: Sequence[RowValues]) -> Table:
    """The counts of some runs, a row for each."""
    names = short_names([row["run"] for row in counts])
    rows = [
        [
            name,
            row["queries"],
            row["documents"],
            *row["per_query"].values(),
            *row["scores"].values(),
            row["tied_pairs"],
            row["contradicting_ranks"],
        ]
        for name, row in zip(names, counts, strict=True)
    ]
    columns = [
        Column("run", align="left"),
        *map(Column, ("queries", "documents", *SPREAD_HEADER)),
        Column("lowest", format="g"),
        Column("highest", format="g"),
        *map(Column, ("tied pairs", "contradicting ranks")),
    ]
    return Table("runs", columns, rows)
