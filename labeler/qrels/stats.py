"""What people ask of qrels: their counts, whether they are sound, how two of them differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labeler.errors import BadInput
from labeler.exchange.qrels import read_qrels
from labeler.messages import Note, no_query_in_common
from labeler.report.table import SPREAD_HEADER, Column, Table, short_names, spread
from labeler.trec.pairs import NONE, joined_pairs


def qrels_stats(path: Path, warn: Note) -> dict[str, Any]:
    """Counts of a qrels file."""
    qrels = read_qrels(path, warn)
    sizes = np.sort(np.diff(qrels.edges))
    grades, counts = np.unique(qrels.value, return_counts=True)
    return {
        "qrels": str(path),
        "queries": len(sizes),
        "pairs": qrels.size,
        "per_query": spread(sizes.tolist()),
        "grades": dict(zip(map(str, grades.tolist()), counts.tolist(), strict=True)),
        "without_relevant": len(sizes) - len(np.unique(qrels.query[qrels.value > 0])),
    }


def validate_qrels(path: Path, scale: Collection[int], warn: Note) -> dict[str, Any]:
    """The counts, if the file reads and its grades are on the scale; else `BadInput`."""
    counts = qrels_stats(path, warn)
    outside = [g for g in map(int, counts["grades"]) if scale and g not in scale]
    if outside:
        listed = ", ".join(f"{counts['grades'][str(g)]} of grade {g}" for g in outside)
        raise BadInput(
            f"{path}: grades outside the scale {', '.join(map(str, sorted(scale)))}: {listed}"
        )
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


# How two qrels differ.


def comparison_table(comparison: Mapping[str, Any]) -> Table:
    """The grades that both give, the first's in rows and the second's in columns."""
    cells = {(row["first"], row["second"]): row["pairs"] for row in comparison["grades"]}
    ours, theirs = (sorted({cell[side] for cell in cells}) for side in (0, 1))
    rows = [[a, *(cells.get((a, b), 0) for b in theirs)] for a in ours]
    return Table("grades", [Column("grade", align="left"), *map(Column, map(str, theirs))], rows)


def compare_qrels(first: Path, second: Path, warn: Note) -> dict[str, Any]:
    """How many pairs each has, and the grades of those that both have."""
    ours, theirs = sets = [read_qrels(path, warn) for path in (first, second)]
    row = joined_pairs(sets).row
    rows = row[(row != NONE).all(axis=1)]
    grades = np.stack([own.value[rows[:, side]] for side, own in enumerate(sets)], axis=1)
    kinds, counts = np.unique(grades, axis=0, return_counts=True)
    if not ours.keys() & theirs.keys():
        warn(no_query_in_common(first, ours, second, theirs))
    return {
        "first_only": ours.size - len(rows),
        "second_only": theirs.size - len(rows),
        "both": len(rows),
        "same_grade": int((grades[:, 0] == grades[:, 1]).sum()),
        "grades": [
            {"first": a, "second": b, "pairs": pairs}
            for (a, b), pairs in zip(kinds.tolist(), counts.tolist(), strict=True)
        ],
    }
