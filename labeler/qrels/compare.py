"""How two qrels differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Flags
from labeler.exchange.qrels import indexed_qrels
from labeler.qrels.stats import Warn
from labeler.report.table import Column, Table
from labeler.trec.blocks import files_per_query
from labeler.trec.distinct import pair_batches
from labeler.trec.spread import nothing_shared


def comparison_table(comparison: Mapping[str, Any]) -> Table:
    """The grades that both give, the first's in rows and the second's in columns."""
    cells = {(row["first"], row["second"]): row["pairs"] for row in comparison["grades"]}
    ours, theirs = (sorted({cell[side] for cell in cells}) for side in (0, 1))
    rows = [[a, *(cells.get((a, b), 0) for b in theirs)] for a in ours]
    return Table("grades", [Column("grade", align="left"), *map(Column, map(str, theirs))], rows)


def compare_qrels(first: Path, second: Path, warn: Warn) -> dict[str, Any]:
    """How many pairs each has, and the grades of those that both have."""
    alone, table = [0, 0], Counter[tuple[int, int]]()
    with indexed_qrels(first) as ours, indexed_qrels(second) as theirs:
        for batch, lines, pair in pair_batches([ours, theirs], warn):
            grade, origin = batch.grade[lines], batch.origin[lines]
            both: Flags = np.append(pair[1:] == pair[:-1], False)
            for side in (0, 1):
                alone[side] += int((origin == side).sum()) - int(both.sum())
            grades = np.stack([grade[both], grade[np.roll(both, 1)]], axis=1)
            kinds, counts = np.unique(grades, axis=0, return_counts=True)
            for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
                table[kind[0], kind[1]] += count
        if int(files_per_query([ours, theirs]).max()) == 1:
            warn(nothing_shared(ours, theirs))
    return {
        "first_only": alone[0],
        "second_only": alone[1],
        "both": sum(table.values()),
        "same_grade": sum(n for (a, b), n in table.items() if a == b),
        "grades": [{"first": a, "second": b, "pairs": table[a, b]} for a, b in sorted(table)],
    }
