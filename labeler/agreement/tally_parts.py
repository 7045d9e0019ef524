"""Tallies of parts of a collection: each made by one process, written, read, and merged.

Whole queries make a part: no pair may stand in two. What comes of the merged tally is what comes of
all pairs together.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from labeler.agreement.agree import AgreeOptions, agree_all
from labeler.agreement.align import AssessorLabels
from labeler.agreement.report import AgreementResult
from labeler.agreement.sources import AssessorSource, FilePath, Sources, sources_of
from labeler.agreement.tally import NO_LABEL, GradeTally, narrow, tally_of
from labeler.arrays import Integers
from labeler.collection.user_files import Output
from labeler.errors import BadInput
from labeler.files.atomic import replacing_bytes
from labeler.files.boundary import reading
from labeler.files.read import file_problems
from labeler.trec.memory import Source

KIND = "labeler tally of grades"
VERSION = 1

_COLUMNS = ("query", "grade", "label", "count")
_VALUES: dict[str, type | tuple[type, ...]] = {
    "queries": str,
    "grades": int,
    "labels": (int, str),
    "statuses": str,
}
"""The values that columns count, and what each of them is."""
_MOST = 1 << 31


def write_tally(output: Output | FilePath, tally: GradeTally) -> None:
    """Write a tally as numpy's npz, with no Python object in it; `read_tally` reads it.

    >>> import tempfile
    >>> part = tally_between({"q1": {"d1": 2, "d2": 0}}, {"q1": {"d1": 2, "d2": 1}})
    >>> path = Path(tempfile.mkdtemp()) / "part-1.npz"
    >>> write_tally(path, part)
    >>> read_tally(path).labels
    (2, 1)
    """
    to = Output.of(output if isinstance(output, Output) else Path(output))
    header = {"kind": KIND, "version": VERSION, "alone": tally.only_assessor}
    header |= {name: getattr(tally, name) for name in _VALUES}
    columns = {name: getattr(tally, name) for name in _COLUMNS}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with to.writing(), replacing_bytes(to.path, read_tally) as out:
        np.savez_compressed(out, header=text, **columns)


def read_tally(path: FilePath) -> GradeTally:
    """A tally as `write_tally` wrote it; `BadInput` of anything else.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "part-1.npz"
    >>> write_tally(path, tally_between({"q1": {"d1": 2}}, {"q1": {"d1": 2}}))
    >>> read_tally(path).count.tolist()
    [1]
    """
    path = Path(path)
    with file_problems(path), reading(path):
        with path.open("rb") as file:
            is_packed = zipfile.is_zipfile(file)
        if not is_packed:
            raise _no_tally(path)
        with np.load(path, allow_pickle=False) as parts:
            if not {"header", *_COLUMNS} <= set(parts.files):
                raise _no_tally(path)
            header = _header(path, parts["header"].tobytes())
            columns = {name: _column(path, parts[name]) for name in _COLUMNS}
    queries, grades, labels, statuses = (tuple(header[name]) for name in _VALUES)
    query, grade, label, count = (columns[name] for name in _COLUMNS)
    tally = GradeTally(
        queries, grades, labels, statuses, query, grade, label, count, header["alone"]
    )
    _check(path, tally)
    return tally


def _no_tally(path: Path) -> BadInput:
    return BadInput(f"{path}: expected a tally of grades, as labeler writes them")


def _damaged(path: Path, problem: str) -> BadInput:
    return BadInput(f"{path}: a damaged tally: {problem}")


def _header(path: Path, text: bytes) -> Any:
    """What a tally's columns count, each value once and of its type."""
    header: Any = json.loads(text)
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise _no_tally(path)
    if header.get("version") != VERSION:
        version = f"a tally of version {header.get('version')!r:.20}"
        raise BadInput(f"{path}: {version}; this labeler reads version {VERSION}")
    for name, kind in _VALUES.items():
        values: Any = header.get(name)
        is_right = isinstance(values, list) and all(isinstance(value, kind) for value in values)
        if not is_right or len({(type(value), value) for value in values}) < len(values):
            raise _damaged(path, f"its {name} are no values, each once")
    if not isinstance(header.get("alone"), int) or header["alone"] < 0:
        raise _damaged(path, "it counts no pairs of the assessor alone")
    return header


def _column(path: Path, column: Any) -> Integers:
    """A column of whole numbers, in 32 bits each."""
    is_whole = column.ndim == 1 and column.dtype.kind == "i"
    if not is_whole or (np.abs(column.astype(np.int64)) >= _MOST).any():
        raise _damaged(path, "its columns are no counts")
    return narrow(column)


def _check(path: Path, tally: GradeTally) -> None:
    """`BadInput` where columns differ in length, count nothing, or name what is not there."""
    lowest = NO_LABEL - len(tally.statuses)
    for column, low, values in (
        (tally.query, 0, len(tally.queries)),
        (tally.grade, 0, len(tally.grades)),
        (tally.label, lowest, len(tally.labels)),
        (tally.count, 1, _MOST),
    ):
        is_inside = (low <= column) & (column < values)
        if len(column) != len(tally.count) or not is_inside.all():
            raise _damaged(path, "its columns do not fit together")


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

    >>> from labeler.agreement.tally import merge_tallies
    >>> first = tally_between({"q1": {"d1": 2, "d2": 0}}, {"q1": {"d1": 2, "d2": 1}})
    >>> second = tally_between({"q2": {"d3": 1, "d4": 0}}, {"q2": {"d3": 1, "d4": 0}})
    >>> agree_tally(merge_tallies([first, second])).assessors[0].agreement.statistics["kappa"].value
    0.6363636363636364
    """
    human, assessor = names
    if not tally.meets and not tally.has_failures:
        raise BadInput(f"no pair of the tally has both a grade of {human} and of {assessor}")
    source = AssessorSource(assessor, AssessorLabels({}, tally=tally))
    reports = agree_all(Sources(human, {}, (source,)), options or AgreeOptions())
    return AgreementResult(tuple(reports), {assessor: {}})
