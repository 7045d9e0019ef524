"""The grades of a set by the origin and the kind of its queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labeler.collection_report.systems import fields_with_groups, group_of
from labeler.data import Qrels, Query
from labeler.report.table import Cell, Column, Table


@dataclass(frozen=True)
class GradesOfGroup:
    """How many pairs of a group of queries have each grade.

    `field` is empty of all queries together; `without_relevant` counts queries without a relevant
    document.
    """

    field: str
    group: str
    queries: int
    grades: Mapping[int, int]
    without_relevant: int

    def as_json(self) -> dict[str, Any]:
        """The counts by name."""
        return {
            "field": self.field,
            "group": self.group,
            "queries": self.queries,
            "grades": {str(grade): count for grade, count in self.grades.items()},
            "without_relevant": self.without_relevant,
        }


def grades_by_group(qrels: Qrels, queries: Mapping[str, Query]) -> tuple[GradesOfGroup, ...]:
    """The grades of all queries, then by each field in which these have more than one value."""
    return (_of("", "all queries", list(qrels), qrels), *_by_field(qrels, queries))


def _by_field(qrels: Qrels, queries: Mapping[str, Query]) -> Iterator[GradesOfGroup]:
    for field in fields_with_groups(queries, qrels):
        members: dict[str, list[str]] = {}
        for query_id in qrels:
            value = group_of(queries[query_id], field) if query_id in queries else ""
            members.setdefault(str(value) or "(none)", []).append(query_id)
        named = sorted(members, key=lambda group: (-len(members[group]), group))
        yield from (_of(field, group, members[group], qrels) for group in named)


def _of(field: str, group: str, queries: Sequence[str], qrels: Qrels) -> GradesOfGroup:
    counts = Counter(grade for query in queries for grade in qrels[query].values() if grade >= 0)
    barren = sum(all(grade <= 0 for grade in qrels[query].values()) for query in queries)
    return GradesOfGroup(field, group, len(queries), dict(sorted(counts.items())), barren)


def grades_table(groups: Sequence[GradesOfGroup], names: Mapping[int, str]) -> Table:
    """A row for each group: its queries, pairs, and how many pairs have each grade."""
    grades = sorted({grade for group in groups for grade in group.grades})
    columns = [
        Column("field", title="by", align="left"),
        Column("group", title="queries", align="left"),
        Column("queries", title="how many"),
        Column("without relevant"),
        Column("pairs"),
    ]
    for grade in grades:
        named = f"{grade} {names[grade]}" if grade in names else f"grade {grade}"
        columns += [Column(f"grade {grade}", only="programs"), Column("", named, only="people")]
    rows: list[list[Cell]] = []
    for group in groups:
        total = sum(group.grades.values())
        cells: list[Cell] = [
            group.field or "-",
            group.group,
            group.queries,
            group.without_relevant,
            total,
        ]
        for grade in grades:
            count = group.grades.get(grade, 0)
            cells += [count, f"{count:,} ({count / total:.0%})" if count else "0"]
        rows.append(cells)
    return Table("grades", columns, rows)
