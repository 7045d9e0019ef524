"""What people ask of qrels: their counts, whether they are sound, how two of them differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.errors import BadInput
from labeler.exchange.qrels import indexed_qrels
from labeler.messages import Note
from labeler.report.table import Column, Table
from labeler.trec.index import SPREAD_HEADER, files_per_query, nothing_shared, short_names, spread
from labeler.trec.qrels import pair_batches


def qrels_stats(path: Path) -> dict[str, Any]:
    """Counts of a qrels file."""
    warnings: list[str] = []
    sizes: list[Integers] = []
    grades: Counter[int] = Counter()
    relevant = 0
    with indexed_qrels(path) as index:
        for batch, lines, _ in pair_batches([index], warnings.append):
            query, grade = batch.query[lines], batch.grade[lines]
            sizes.append(np.bincount(query))
            relevant += len(np.unique(query[grade > 0]))
            grades.update(_counted(grade))
    ordered = np.sort(np.concatenate(sizes))
    return {
        "qrels": str(path),
        "queries": len(ordered),
        "pairs": int(ordered.sum()),
        "per_query": spread(ordered),
        "grades": {str(grade): grades[grade] for grade in sorted(grades)},
        "without_relevant": len(ordered) - relevant,
        "warnings": warnings,
    }


def _counted(grade: Integers) -> dict[int, int]:
    grades, counts = np.unique(grade, return_counts=True)
    return dict(zip(grades.tolist(), counts.tolist(), strict=True))


def validate_qrels(path: Path, scale: Collection[int]) -> dict[str, Any]:
    """The counts, if the file reads and its grades are on the scale; else `BadInput`."""
    counts = qrels_stats(path)
    outside = [g for g in map(int, counts["grades"]) if scale and g not in scale]
    if outside:
        listed = ", ".join(f"{counts['grades'][str(g)]} of grade {g}" for g in outside)
        raise BadInput(f"{path}: grades outside the scale {_range(scale)}: {listed}")
    return counts


def stats_table(counts: Sequence[Mapping[str, Any]]) -> Table:
    """The counts of some qrels, a row for each."""
    grades = sorted({int(grade) for row in counts for grade in row["grades"]})
    names = short_names([row["qrels"] for row in counts])
    header = ("queries", "pairs", *SPREAD_HEADER, "none relevant", *(f"grade {g}" for g in grades))
    rows = [
        [
            name,
            row["queries"],
            row["pairs"],
            *row["per_query"].values(),
            row["without_relevant"],
            *(row["grades"].get(str(grade), 0) for grade in grades),
        ]
        for name, row in zip(names, counts, strict=True)
    ]
    return Table("qrels", [Column("qrels", align="left"), *map(Column, header)], rows)


def _range(scale: Collection[int]) -> str:
    return ", ".join(map(str, sorted(scale)))


# How two qrels differ.


def comparison_table(comparison: Mapping[str, Any]) -> Table:
    """The grades that both give, the first's in rows and the second's in columns."""
    cells = {(row["first"], row["second"]): row["pairs"] for row in comparison["grades"]}
    ours, theirs = (sorted({cell[side] for cell in cells}) for side in (0, 1))
    rows = [[a, *(cells.get((a, b), 0) for b in theirs)] for a in ours]
    return Table("grades", [Column("grade", align="left"), *map(Column, map(str, theirs))], rows)


def compare_qrels(first: Path, second: Path, warn: Note) -> dict[str, Any]:
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
