"""Another assessor's label file, read leniently: a label that is no grade is data, not an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from labeler.data import Pair
from labeler.errors import BadInput
from labeler.files import numbered_lines

CONFLICT = "conflict"
NO_LABEL = "(none)"
_COLUMNS = 4


@dataclass(frozen=True)
class Labels:
    """Labels as they stand in a file, by query and document, and what it says of no label.

    `failures` holds the pairs that have two different labels (`conflict`); `repeated` counts the
    lines that say the same a second time.
    """

    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)
    repeated: int = 0


def read_labels(path: Path) -> Labels:
    """The labels of a file in four columns, as qrels have them.

    The fourth column may be anything, of several words even (`ERROR: timed out`), or be missing;
    a line with fewer than three columns is `BadInput`.
    """
    labels: dict[str, dict[str, str]] = {}
    conflicts: set[Pair] = set()
    repeated = 0
    for number, line in numbered_lines(path):
        columns = line.split(maxsplit=_COLUMNS - 1)
        if not columns or columns[0].startswith("#"):
            continue
        if len(columns) < _COLUMNS - 1:
            problem = f"expected query iteration document label, found {len(columns)} columns"
            raise BadInput.at(path, number, problem)
        label = columns[3].strip() if len(columns) == _COLUMNS else NO_LABEL
        row = labels.setdefault(columns[0], {})
        known = row.get(columns[2])
        repeated += known == label
        row.setdefault(columns[2], label)
        if known not in (None, label):
            conflicts.add(Pair(columns[0], columns[2]))
    if not labels:
        raise BadInput.at(path, 1, "no line in it; expected query iteration document label")
    for pair in conflicts:
        del labels[pair.query_id][pair.doc_id]
    return Labels(labels, dict.fromkeys(sorted(conflicts), CONFLICT), repeated)
