"""Another assessor's label file, read leniently: a label that is no grade is data, not an error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from labeler.data import Pair
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import numbered_lines, rereadable
from labeler.trec.columns import Irregular
from labeler.trec.pairs import labels_in_file
from labeler.trec.rows import QRELS_COLUMNS
from labeler.trec.values import NUMBER

CONFLICT, MALFORMED = "conflict", "malformed"
_COLUMNS = 4
_AFTER_DOCUMENT = 3
_BEIR_HEADER = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True)
class Labels:
    """Labels as they stand in a file, by query and document, and what it says of no label.

    `failures` holds the pairs that have two different labels (`conflict`), and those whose line
    has no label (`malformed`); `repeated` counts the lines that say the same a second time.
    """

    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)
    repeated: int = 0


def read_labels(path: Path) -> Labels:
    """The labels of a file in four columns, as qrels have them, or of BEIR's TSV.

    The fourth column may be anything, of several words even (`ERROR: timed out`); a line without
    it is no label, and one with fewer than three columns is `BadInput`.
    """
    with rereadable(), suppress(Irregular, BadInput), reading(path):
        return Labels(labels_in_file(path))
    return _read_by_line(path)


def _read_by_line(path: Path) -> Labels:
    """The same of a file of which some line is not plain, or says a pair once more."""
    labels: dict[str, dict[str, str]] = {}
    conflicts: set[Pair] = set()
    malformed: set[Pair] = set()
    repeated = 0
    for query_id, doc_id, label in _rows(path):
        if label is None:
            malformed.add(Pair(query_id, doc_id))
            continue
        row = labels.setdefault(query_id, {})
        earlier = row.get(doc_id)
        if earlier is None:
            row[doc_id] = label
            continue
        value = number(label)
        if earlier == label or (value is not None and value == number(earlier)):  # 2 and 2.0
            repeated += 1
        else:
            conflicts.add(Pair(query_id, doc_id))
    if not labels:
        what = "every line has three columns" if malformed else "no line in it"
        raise BadInput.at(path, 1, f"{what}; expected {QRELS_COLUMNS}")
    for pair in conflicts:
        del labels[pair.query_id][pair.doc_id]
    unlabelled = {pair for pair in malformed if pair.doc_id not in labels.get(pair.query_id, {})}
    statuses = dict.fromkeys(unlabelled, MALFORMED) | dict.fromkeys(conflicts, CONFLICT)
    return Labels(labels, {pair: statuses[pair] for pair in sorted(statuses)}, repeated)


def _rows(path: Path) -> Iterator[tuple[str, str, str | None]]:
    """Query, document and label of every line that is neither blank nor a comment.

    The label is `None` where the line has three columns.
    """
    beir = False
    for line_number, line in numbered_lines(path):
        columns = line.split(maxsplit=_COLUMNS - 1)
        if not columns or columns[0].startswith("#"):
            continue
        if columns == _BEIR_HEADER:
            beir = True
        elif len(columns) < _COLUMNS - 1:
            problem = f"expected {QRELS_COLUMNS}, found {len(columns)}"
            raise BadInput.at(path, line_number, problem)
        elif len(columns) == _COLUMNS and _is_of_a_run(columns[3]):
            problem = f"expected {QRELS_COLUMNS}, found 6 columns; a run?"
            raise BadInput.at(path, line_number, problem)
        elif beir:
            yield columns[0], columns[1], " ".join(columns[2:])
        else:
            yield columns[0], columns[2], columns[3].strip() if columns[3:] else None


def _is_of_a_run(label: str) -> bool:
    """Whether this is the rank, the score and the tag of a run, which are no label."""
    words = label.split()
    return len(words) == _AFTER_DOCUMENT and all(map(NUMBER.fullmatch, words[:2]))


def number(label: int | str) -> float | None:
    """A label as a finite number; `None` where it is none."""
    if isinstance(label, int):
        return float(label)
    value = float(label) if NUMBER.fullmatch(label.strip()) else math.inf
    return value if math.isfinite(value) else None


def whole(label: int | str) -> int | None:
    """A label as a whole number; `None` where it is none."""
    value = number(label)
    return int(value) if value is not None and value.is_integer() else None
