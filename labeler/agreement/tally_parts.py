"""Tallies of parts of a collection: each made by one process, written, read, and merged.

Whole queries make a part, or whole pairs at least: no pair may stand in two. What comes of the
merged tally is what comes of all pairs together.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from labeler.agreement.agree import AgreeOptions, agree_all
from labeler.agreement.align import AssessorLabels
from labeler.agreement.memory import sources_of
from labeler.agreement.result import AgreementResult
from labeler.agreement.sources import AssessorSource, Sources
from labeler.agreement.tally import NO_LABEL, GradeTally, tally_of
from labeler.errors import BadInput
from labeler.files.atomic import replacing_bytes
from labeler.files.boundary import reading
from labeler.trec.memory import Source

_COLUMNS = ("query", "grade", "label", "count")
_VALUES = ("queries", "grades", "labels", "statuses")


def write_tally(path: Path, tally: GradeTally) -> None:
    """Write a tally as numpy's npz, with no Python object in it."""
    header = {name: getattr(tally, name) for name in _VALUES} | {"alone": tally.only_assessor}
    columns = {name: getattr(tally, name) for name in _COLUMNS}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with replacing_bytes(path) as out:
        np.savez_compressed(out, header=text, **columns)


def read_tally(path: Path) -> GradeTally:
    """A tally as `write_tally` wrote it; `BadInput` of anything else."""
    with reading(path), np.load(path, allow_pickle=False) as parts:
        if not {"header", *_COLUMNS} <= set(parts.files):
            raise BadInput(f"{path}: expected a tally of grades, as labeler writes them")
        header = json.loads(parts["header"].tobytes())
        query, grade, label, count = (np.asarray(parts[n], dtype=np.int64) for n in _COLUMNS)
        queries, grades, labels, statuses = (tuple(header[name]) for name in _VALUES)
        alone = int(header["alone"])
    tally = GradeTally(queries, grades, labels, statuses, query, grade, label, count, alone)
    _check(path, tally)
    return tally


def _check(path: Path, tally: GradeTally) -> None:
    """`BadInput` where columns differ in length, or name what is not there."""
    lowest = NO_LABEL - len(tally.statuses)
    for column, low, values in (
        (tally.query, 0, tally.queries),
        (tally.grade, 0, tally.grades),
        (tally.label, lowest, tally.labels),
    ):
        is_inside = (low <= column) & (column < len(values))
        if len(column) != len(tally.count) or not is_inside.all():
            raise BadInput(f"{path}: a damaged tally: its columns do not fit together")


def tally_between(human: Source, assessor: Source) -> GradeTally:
    """The tally of an assessor's labels beside human grades, given as `agree` takes them.

    Two files of plain labels are counted a few queries at a time, whatever their size.

    >>> tally = tally_between({"q1": {"d1": 2, "d2": 0}}, {"q1": {"d1": 2, "d2": 1}})
    >>> tally.grades, tally.labels, tally.count.tolist()
    ((2, 0), (2, 1), [1, 1])
    """
    sources = sources_of(human, (assessor,))
    judged = sources.assessors[0].judged
    return judged.tally or tally_of(sources.human, judged)


def agree_tally(
    tally: GradeTally,
    options: AgreeOptions | None = None,
    names: tuple[str, str] = ("human", "assessor"),
) -> AgreementResult:
    """How far an assessor agrees with human grades, from their tally.

    >>> from labeler.agreement.tally import merged
    >>> first = tally_between({"q1": {"d1": 2, "d2": 0}}, {"q1": {"d1": 2, "d2": 1}})
    >>> second = tally_between({"q2": {"d3": 1, "d4": 0}}, {"q2": {"d3": 1, "d4": 0}})
    >>> agree_tally(merged([first, second])).assessors[0].agreement.statistics["kappa"].value
    0.6363636363636364
    """
    human, assessor = names
    if not tally.meets and not tally.has_failures:
        raise BadInput(f"no pair of the tally has both a grade of {human} and of {assessor}")
    source = AssessorSource(assessor, AssessorLabels({}, tally=tally))
    reports = agree_all(Sources(human, {}, (source,)), options or AgreeOptions())
    return AgreementResult(tuple(reports), {assessor: {}})
