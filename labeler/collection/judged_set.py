"""What a set of judgements says of each pair, in columns, from `judgements/NAME.jsonl` or qrels."""

from __future__ import annotations

import json
import math
import re
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers, Places
from labeler.collection.judgements import JudgedBlock, Origin, Rest, Spent, judged_blocks
from labeler.collection.layout import Collection
from labeler.collection.pool import Pairs
from labeler.data import Pair, Qrels, State, judged
from labeler.errors import BadInput, LabelerError
from labeler.files.arrays import Arrays, open_arrays, writing_arrays
from labeler.files.jsonl import row_of_line
from labeler.files.read import byte_blocks, file_problems, sha256_of
from labeler.trec.columns import Codes, Small
from labeler.trec.files import read_qrels
from labeler.trec.pairs import NONE, PairColumns, taken


@dataclass(frozen=True, eq=False)
class Distributions:
    """How probable an assessor holds each of `grades` of some pairs.

    `shares` are `(pairs, grades)`.
    """

    pairs: PairColumns[Any]
    grades: tuple[int, ...]
    shares: Floats

    @classmethod
    def of(
        cls, pairs: PairColumns[Any], given: Sequence[Mapping[int, float] | None]
    ) -> Distributions:
        """Those of the pairs that have one, `given` being parallel to all of them."""
        grades = tuple(sorted({grade for each in given if each for grade in each}))
        shares = [[each.get(grade, 0.0) for grade in grades] for each in given if each]
        mask = np.fromiter(map(bool, given), dtype=np.bool_, count=len(given))
        return cls(pairs.keep(mask), grades, np.array(shares, dtype=np.float64))

    @classmethod
    def of_pairs(cls, by_pair: Mapping[Pair, Mapping[int, float]]) -> Distributions:
        """Those of a dict by pairs."""
        given = list(by_pair.values())
        pairs = PairColumns.of_pairs(dict(zip(by_pair, range(len(given)), strict=True)), np.int64)
        return cls.of(pairs, [given[row] for row in pairs.value.tolist()])

    def put(self, pairs: PairColumns[Any], grades: Sequence[int], matrix: Floats) -> Flags:
        """Put them in the place of rows of a `matrix`, `(pairs, grades)`; which rows these are.

        The shares of the grades sum to 1 then. A pair without a share of any of them is left.
        """
        column = {grade: self.shares[:, at] for at, grade in enumerate(self.grades)}
        nothing = np.zeros(len(self.shares))
        shares = np.stack([column.get(grade, nothing) for grade in grades], axis=1)
        whole, at = shares.sum(axis=1), pairs.rows_in(self.pairs)
        has = taken(whole, at, 0.0) > 0
        matrix[has] = shares[at[has]] / whole[at[has], None]
        return has


@dataclass(frozen=True)
class Reasons:
    """Why each pair has its grade, as a file of judgements says, read when somebody asks for it.

    `line`, `(n,)`, is the number of each pair's line, and `size` that of the file when it was read.
    """

    path: Path
    line: Places
    size: int

    def of(self, pairs: Places) -> list[str]:
        """The reasons of some pairs, of a failure its detail; empty of -1.

        `BadInput` where the file is not the one any more that was read.
        """
        if self.path.stat().st_size != self.size:
            raise BadInput(f"{self.path}: changed since it was read; compare the sets again")
        at = taken(self.line, pairs, NONE)
        texts, number, numbers = {NONE: ""}, 1, np.unique(at)
        for block in byte_blocks(self.path, _BLOCK):
            end = number + block.count(b"\n")
            here = numbers[np.searchsorted(numbers, number) : np.searchsorted(numbers, end)]
            lines = block.split(b"\n") if len(here) else []
            for line in here.tolist():
                values = row_of_line(self.path, line, lines[line - number] + b"\n") or {}
                what = "detail" if values.get("grade") is None else "reason"
                texts[line] = str(values.get(what) or "")
            number = end
        return [texts[line] for line in at.tolist()]


_BLOCK = 1 << 20


class ShownColumns(NamedTuple):
    """What rows say that was shown, in two parts: up to the hash of the document, and that hash.

    A row's are the one of `firsts` at its place in `first`, `(n,)`, and a number in `document`,
    `(n,)`, `NONE` where no hash ends the text.
    """

    firsts: Sequence[str]
    first: Small
    document: Integers

    def choose(self, rows: Flags | Small) -> ShownColumns:
        """The same of some rows."""
        return ShownColumns(self.firsts, self.first[rows], self.document[rows])


_HASH = len(" 0123456789ab")
_LAST = re.compile(rb" [0-9a-f]{12}")
FIRST = re.compile(r"([\w+]{1,200}) ([a-z+]{1,99}:[0-9]{0,9}) ([0-9a-f]{12})")
"""The rules by which a query and a document are shown, and the query's hash."""


@dataclass(frozen=True, eq=False)
class JudgedSet:
    """What a set of judgements says of each pair, in columns over the pairs of `states`.

    `of_spent`, `(n,)`, is the place of what each pair took in `spent_on`, and `shown` what the
    assessor was shown; both are None where only grades are known. `shares` say how probable each
    grade is, where that was read. `asked` are the models that were asked, `served` what servers
    called theirs; `origin` is that of the last row.
    """

    states: PairColumns[State]
    spent_on: Sequence[Spent] = ()
    of_spent: Small | None = None
    reasons: Reasons | None = None
    shares: Sequence[Mapping[int, float] | None] = ()
    shown: ShownColumns | None = None
    asked: frozenset[str] = frozenset()
    served: frozenset[str] = frozenset()
    prompts: frozenset[str] = frozenset()
    origin: Origin | None = None

    @classmethod
    def of_grades(cls, qrels: Qrels) -> JudgedSet:
        """A set of which only grades are known."""
        grades = PairColumns.of(qrels, np.int64)
        distinct, code = grades.coded
        return cls(grades.holding(code, tuple(map(judged, distinct))))

    def __len__(self) -> int:
        return self.states.size

    @property
    def labels(self) -> PairColumns[int | None]:
        """The grade of each pair, or None, as the states are held: in no more bytes."""
        labels, code = self.states.coded
        return self.states.holding(code, tuple(state.grade for state in labels))

    @property
    def used(self) -> set[int]:
        """The grades that any pair has."""
        return {grade for grade in self.labels.used() if grade is not None}

    @cached_property
    def grades(self) -> PairColumns[int]:
        """The grades of the pairs that have one."""
        return self.states.holding(self.grade).keep(self.is_graded)

    @cached_property
    def grade(self) -> Small:
        """The grade of each pair, `(n,)`; 0 where it has none."""
        labels, code = self.states.coded
        return np.array([state.grade or 0 for state in labels], dtype=np.int32)[code]

    @cached_property
    def amounts(self) -> Floats:
        """Replies, prompt tokens, completion tokens and dollars of `spent_on`, in a row each."""
        rows = [
            [*spent[:3], np.nan if spent.cost is None else spent.cost] for spent in self.spent_on
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    @cached_property
    def failures(self) -> dict[Pair, str]:
        """The status of each pair that has no grade."""
        failed = self.restricted(~self.is_graded).states
        return {pair: state.status for pair, state in failed.by_pair()}

    @cached_property
    def is_graded(self) -> Flags:
        """Which pairs have a grade, `(n,)`."""
        labels, code = self.states.coded
        return np.array([state.grade is not None for state in labels], dtype=np.bool_)[code]

    @cached_property
    def distributions(self) -> Distributions | None:
        """How probable each grade is, of the pairs of which the assessor says it."""
        return Distributions.of(self.states, self.shares) if any(self.shares) else None

    def reasons_of(self, rows: Places) -> list[str]:
        """Why some of the pairs have their grades; empty where that is not known."""
        return self.reasons.of(rows) if self.reasons and len(rows) else [""] * len(rows)

    def answer(self, row: int) -> int | str | None:
        """The grade of a pair, or the status of its failure; None where it stands in no row."""
        if row == NONE:
            return None
        labels, code = self.states.coded
        state: State = labels[code[row]]
        return state.answer

    def shown_to(self, row: int) -> str:
        """What was shown for the grade of a pair; empty where there is none, or it is not known."""
        shown = self.shown
        if shown is None or not self.is_graded[row]:
            return ""
        first, document = shown.firsts[shown.first[row]], int(shown.document[row])
        return f"{first} {document:012x}" if document != NONE and FIRST.fullmatch(first) else ""

    def restricted(self, mask: Flags) -> JudgedSet:
        """The same of the pairs of a mask, `(n,)`, alone."""
        if mask.all():
            return self
        return replace(
            self,
            states=self.states.keep(mask),
            of_spent=None if self.of_spent is None else self.of_spent[mask],
            reasons=self.reasons and replace(self.reasons, line=self.reasons.line[mask]),
            shares=list(compress(self.shares, mask.tolist())),
            shown=self.shown and self.shown.choose(mask),
        )

    def among(self, pairs: PairColumns[Any]) -> JudgedSet:
        """The same of some pairs alone."""
        return self.restricted(self.states.rows_in(pairs) != NONE)

    def without(self, pairs: Set[Pair]) -> JudgedSet:
        """The same without some pairs."""
        return self.restricted(self.states.outside(pairs)) if pairs else self

    def spent(self) -> Spent | None:
        """What all of its pairs took; None where that is not known."""
        if self.of_spent is None:
            return None
        pairs = np.bincount(self.of_spent, minlength=len(self.amounts))
        replies, inside, outside = (pairs @ self.amounts[:, :3].astype(np.int64)).tolist()
        cost = float(sum(self.amounts[:, 3][self.of_spent].data))
        return Spent(replies, inside, outside, None if math.isnan(cost) else cost)


def read_set(collection: Collection, name: str, *, shares: bool = False) -> JudgedSet:
    """What `judgements/NAME.jsonl` says of each pair, or the qrels where there is none."""
    path = collection.judgements(name)
    if path.exists():
        return judged_in(path, shares=shares)
    return JudgedSet.of_grades(read_qrels(collection.existing_qrels(name)))


def judged_in(path: Path, *, shares: bool = False) -> JudgedSet:
    """What a file of judgements says of each pair; `shares` is as of `set_of_blocks`."""
    if not path.is_file():
        return _read(path, None, shares=shares)
    identity = FileIdentity.of(path)
    is_settled = identity.written + _SETTLED < time.time_ns()
    return (_read if is_settled else _read.__wrapped__)(path, identity, shares=shares)


class FileIdentity(NamedTuple):
    """What tells a file from what it was before it changed: its number, size, and times in ns.

    Nobody sets the second time; on Windows it is that of the file's making.
    """

    number: int
    size: int
    written: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileIdentity:
        """That of a file as it is now."""
        status = path.stat()
        return cls(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


_SETTLED = 2 * 10**9
"""A file that was written so many ns ago may change without another time: it is not kept."""


@lru_cache(4)
def _read(path: Path, file: FileIdentity | None, *, shares: bool) -> JudgedSet:
    """The same, kept as long as few others were read: what reads a set once reads it again.

    The columns of a large file of a collection are kept beside it, too, for whoever reads it next.
    """
    is_large = file is not None and file.size >= KEPT_FROM and path.parent.name == JUDGEMENTS
    stored = _kept_in(path) if is_large else None
    arrays = open_arrays(*stored) if stored else None
    columns, given = _stored(arrays) if arrays else None, Shares()
    if columns is None or (shares and columns["rest"]["has_shares"]):
        columns, given = _columns_of(judged_blocks(path), shares=shares)
    if stored and arrays is None and FileIdentity.of(path) == file:
        with suppress(LabelerError, OSError, UnicodeError):  # as where one may not write
            _keep(columns, *stored)
            arrays = open_arrays(*stored)
            columns = _stored(arrays) if arrays else columns  # where they take no memory
    read = replace(_set_of(columns), shares=given)
    return replace(read, reasons=Reasons(path, columns["line"], file.size)) if file else read


# The columns of a large file of judgements, kept beside it, for as long as its bytes are the same.

KEPT_FROM = 1 << 24
"""Columns of a file of fewer bytes are not stored: it is read in a moment."""
JUDGEMENTS, KEPT = "judgements", ".columns"
_FORM = 2
"""The number of what is stored: another one where it means something else."""


def _kept_in(path: Path) -> tuple[Path, dict[str, Any]]:
    """Where the columns of a set are kept, and what is noted of them."""
    with file_problems(path):
        sha256 = sha256_of(path)
    columns = path.parent.with_name("indexes") / f"{path.stem}-{sha256[:12]}{KEPT}"
    return columns, {JUDGEMENTS: sha256, "form": _FORM}


def _keep(columns: Columns, path: Path, about: Mapping[str, Any]) -> None:
    """Keep the columns of a set but for its shares; those of what the file held before go."""
    path.parent.mkdir(exist_ok=True)
    with writing_arrays(path, about) as out:
        for name in _ARRAYS:
            out.add(name, [columns[name]])
        for name in _TEXTS:
            out.add_texts(name, columns[name])
        out.add_texts("rest", [json.dumps(columns["rest"], default=dict)])
    for other in path.parent.glob(f"*{KEPT}"):
        is_of_same = other.name.rpartition("-")[0] == path.name.rpartition("-")[0]
        if is_of_same and other != path:
            other.unlink(missing_ok=True)


def _stored(arrays: Arrays) -> Columns:
    """The columns that were kept."""
    columns: Columns = {name: arrays[name] for name in _ARRAYS}
    columns |= {name: tuple(arrays.texts(name)) for name in _TEXTS}
    return columns | {"rest": json.loads(arrays.texts("rest")[0])}


Columns = dict[str, Any]
"""What a file of judgements says: arrays and texts by name, and as JSON has it the `rest`."""
_ARRAYS = ("edges", "document", "state", "spent", "first", "shown", "line")
_TEXTS = ("queries", "documents", "firsts")


def _set_of(columns: Columns) -> JudgedSet:
    """The set whose columns these are."""
    rest = columns["rest"]
    edges, document, state, spent, first, shown, _ = (columns[name] for name in _ARRAYS)
    queries, documents, firsts = (columns[name] for name in _TEXTS)
    labels = tuple(State(*each) for each in rest["states"])
    asked, served, prompts = (frozenset(rest[name]) for name in ("asked", "served", "prompts"))
    return JudgedSet(
        PairColumns(queries, edges, documents, document, state, labels),
        tuple(Spent(*each) for each in rest["spent"]),
        spent,
        shown=ShownColumns(firsts, first, shown),
        asked=asked,
        served=served,
        prompts=prompts,
        origin=rest["origin"] and Origin(*rest["origin"]),
    )


def set_of_blocks(blocks: Iterable[JudgedBlock]) -> JudgedSet:
    """What rows say of each pair, its last row where there are several, with distributions."""
    columns, given = _columns_of(blocks, shares=True)
    return replace(_set_of(columns), shares=given)


Shares = list[Mapping[int, float] | None]


def _columns_of(blocks: Iterable[JudgedBlock], *, shares: bool) -> tuple[Columns, Shares]:
    """The columns of rows, and how probable each grade is, where that is asked for."""
    queries, documents, states, took, first = (Codes() for _ in range(5))
    lines, shown, given = array("i"), array("q"), Shares()
    rests, served, origin, has_shares = dict[int, Rest](), set[str](), None, False
    for block in blocks:
        queries.extend(block.query_id)
        documents.extend(block.doc_id)
        states.extend(block.state)
        took.extend(block.spent)
        first.extend([text[:-_HASH] for text in block.shown])
        shown.extend(map(_hash_in, block.shown))
        lines.extend(block.line)
        rests |= zip(map(id, block.rest), block.rest, strict=True)
        served.update(block.model)
        given += [made_of.distribution for made_of in block.made_of] if shares else []
        has_shares = has_shares or any(made_of.distribution for made_of in block.made_of)
        origin = block.rest[-1].origin
    every = Pairs(tuple(queries.place), tuple(documents.place), queries.code, documents.code)
    row = _last_rows(every)
    origins = [rest.origin for rest in rests.values()]
    columns = {
        "queries": every.queries,
        "edges": np.searchsorted(every.query[row], np.arange(len(every.queries) + 1)),
        "documents": every.documents,
        "document": every.document[row],
        "state": states.code[row],
        "spent": took.code[row],
        # texts that were cut within a character match nothing
        "firsts": [text.decode(errors="surrogateescape") for text in first.place],
        "first": first.code[row],
        "shown": np.asarray(shown)[row],
        "line": np.asarray(lines)[row],
        "rest": {
            "states": tuple(states.place),
            "spent": tuple(took.place),
            "has_shares": has_shares,
            "asked": sorted({each.model for each in origins if each.model}),
            "served": sorted(served - {""}),
            "prompts": sorted({each.prompt for each in origins}),
            "origin": origin and (origin.prompt, origin.model, origin.parameters),
        },
    }
    if shares and not isinstance(row, slice):
        given = [given[at] for at in row.tolist()]
    return columns, given


def _hash_in(shown: bytes) -> int:
    """The hash at the end of what was shown, as a number; `NONE` where there is none."""
    last = shown[-_HASH:]
    return int(last, 16) if _LAST.fullmatch(last) else NONE


def _last_rows(every: Pairs) -> Small | slice:
    """The last row of each pair, by query, both in the order in which they first appear."""
    if not every.has_repeated() and (every.query[1:] >= every.query[:-1]).all():
        return slice(None)  # as they are written, so that no column is copied
    order = np.argsort(every.codes, kind="stable")
    codes = every.codes[order]
    is_last = np.append(codes[1:] != codes[:-1], True)[: len(codes)]
    first, last = order[np.roll(is_last, 1)], order[is_last]
    return np.asarray(last[np.lexsort((first, every.query[first]))], dtype=np.int32)
