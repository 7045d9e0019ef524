"""Runs in TREC's six columns, plain or gzip: `query Q0 document rank score tag`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.data import Run
from labeler.errors import BadInput
from labeler.files.boundary import reading
from labeler.files.read import byte_blocks, numbered_bytes, numbered_lines, rereadable
from labeler.trec.columns import Fields, Irregular, Keys, Words, keys, keys_of, split
from labeler.trec.index import PARTS, RUN, Dealt, Kind, dealing, numbers_by_query
from labeler.trec.rows import (
    BYTE_ORDER_MARK,
    LONGEST_ID,
    RUN_COLUMNS,
    rows,
    score_of,
    second_time,
    texts,
)

if TYPE_CHECKING:
    import numpy.typing as npt

# The order in which trec_eval ranks documents: by score, then by id, both descending.


def ranking(scores: Mapping[str, float]) -> list[str]:
    """The documents as trec_eval orders them: score descending, then document id descending.

    Ids compare by their UTF-8 bytes, which is the order of their code points.
    """
    return sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)


def best(scores: npt.NDArray[np.float32], ids: Sequence[str], depth: int) -> dict[str, float]:
    """The `depth` ids of the highest finite scores, highest first, ties by id descending.

    `scores` is `(documents,)`; documents scored `-inf` are left out.
    """
    candidates = np.flatnonzero(np.isfinite(scores))
    if len(candidates) > depth:
        floor = np.partition(scores[candidates], -depth)[-depth]
        candidates = candidates[scores[candidates] >= floor]
    ranked = sorted(((float(scores[i]), ids[i]) for i in candidates.tolist()), reverse=True)
    return {doc_id: score for score, doc_id in ranked[:depth]}


# The tag of a run: what its system calls itself.

_COLUMNS = 6
_BLOCK = 1 << 22


def read_tag(path: Path) -> str:
    """The last column of a run's first line; empty where there is none."""
    for _, line in numbered_lines(path):
        columns = line.split()
        if len(columns) == _COLUMNS:
            return columns[-1]
        if columns and not columns[0].startswith("#"):
            return ""
    return ""


def last_tag(path: Path) -> str:
    """The last column of a run's last line that is neither blank nor a comment: trec_eval's tag.

    Of a run that was found to have six columns throughout.
    """
    last = b""
    for block in byte_blocks(path, _BLOCK):
        lines = (line.split() for line in reversed(block.split(b"\n")))
        tags = (line[-1] for line in lines if line and not line[0].startswith(b"#"))
        last = next(tags, last)
    return last.decode("utf-8", "replace")


# The order in which trec_eval reads a run, and where a run's own ranks say another.


def in_order(
    group: Integers, score: Floats, documents: Keys, hits: Integers | None = None
) -> Integers:
    """Where the lines of ascending groups go in trec_eval's order: by score, then by document id.

    Both descend; ids compare by their bytes. Where only the places of some `hits` lines count,
    ties without any of them are left as they are.
    """
    order = np.arange(len(group))
    same = group[1:] == group[:-1]
    rising = same & (score[1:] > score[:-1])
    if rising.any():  # only the groups that are not sorted yet are
        unsorted = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
        unsorted[group[1:][rising]] = True
        lines = np.flatnonzero(unsorted[group])
        order[lines] = lines[np.lexsort((-score[lines], group[lines]))]
    score = score[order]
    tied = same & (score[1:] == score[:-1])
    if tied.any():
        part = np.append(tied, False) | np.append(False, tied)
        runs = np.cumsum(np.append(True, ~tied))  # a number for each run of equal scores
        if hits is not None:
            part &= _with_a_hit(runs, order, hits)
        runs = runs[part]
        words = documents.words[order[part]]
        # ids descend: the complement of big-endian words orders them so; the last key counts most
        by_id = [~words[:, i] for i in reversed(range(words.shape[1]))]
        order[part] = order[part][np.lexsort((*by_id, runs))]
    return order


def _with_a_hit(runs: Integers, order: Integers, hits: Integers) -> Flags:
    """Which places lie in a run of ties that holds one of the `hits` lines."""
    is_hit = np.zeros(len(order), dtype=np.bool_)
    is_hit[hits] = True
    holds = np.zeros(int(runs[-1]) + 1, dtype=np.bool_)
    holds[runs[is_hit[order]]] = True
    in_such_ties: Flags = holds[runs]
    return in_such_ties


def tied_pairs(group: Integers, score: Floats) -> int:
    """How many pairs of one query's documents have one score, in lines that are in order."""
    tied = (score[1:] == score[:-1]) & (group[1:] == group[:-1])
    if not tied.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
    sizes = edges[1::2] - edges[::2] + 1
    return int((sizes * (sizes - 1) // 2).sum())


def contradictions(group: Integers, declared: Integers, score: Floats) -> int:
    """How many lines have a higher score than the line that the rank column puts before them.

    A rank of -1 is none.
    """
    numbered = declared >= 0
    if not numbered.all():
        group, declared, score = group[numbered], declared[numbered], score[numbered]
    same = group[1:] == group[:-1]
    if (same & (declared[1:] < declared[:-1])).any():
        order = np.lexsort((declared, group))
        declared, score = declared[order], score[order]
    return int((same & (declared[1:] > declared[:-1]) & (score[1:] > score[:-1])).sum())


# The first line of a run that no reader takes, or that retrieves a document a second time.
#
# What is held does not grow with the file: of each line a hash of its pair and its number are laid
# aside on the disk, and read again part by part.

_ROW = np.dtype([("mark", np.uint64), ("line", np.int64)])
_TIMES = 8
"""So many blocks of hashes and numbers are sorted at once."""
_LOOKED_UP = 1000
_ODD = np.uint64(0x9E3779B97F4A7C15)


class _Lines(NamedTuple):
    """The hashes of some lines' pairs, and the numbers of these lines in their file."""

    marks: Words
    numbers: Integers


def refuse_first_problem(path: Path, kind: Kind, block: int) -> None:
    """`BadInput` at the first line that is wrong; nothing where none is."""
    problem: BadInput | None = None
    with dealing() as dealt:
        try:
            for lines in _checked(path, kind, block):
                _lay_aside(dealt, lines)
        except _Wrong as wrong:
            _lay_aside(dealt, wrong.before)
            problem = wrong.problem
        _refuse_repeated(path, block, _likely(dealt, _TIMES * block))
    if problem is not None:
        raise problem


def refuse_bad_line(path: Path, kind: Kind, block: int) -> None:
    """`BadInput` at the first line that is wrong by itself; nothing where none is."""
    try:
        for _ in _checked(path, kind, block):
            pass
    except _Wrong as wrong:
        raise wrong.problem from wrong


class _Wrong(Exception):
    """A line is wrong: why, and the lines before it that have not been given yet."""

    def __init__(self, problem: BadInput, before: _Lines) -> None:
        super().__init__(str(problem))
        self.problem, self.before = problem, before


def _checked(path: Path, kind: Kind, block: int) -> Iterator[_Lines]:
    """The lines of each block; `_Wrong` at the first that is wrong."""
    number = 1
    blocks = byte_blocks(path, block)
    while True:
        try:
            text = next(blocks, None)
        except BadInput:  # damaged, or too long: the reader by line knows where
            yield from _one_by_one(path, kind, numbered_bytes(path), number)
            raise
        if text is None:
            break
        lines = _plain(text, kind, number)
        if lines is None:
            split_lines = enumerate(text.split(b"\n")[:-1], start=number)
            numbered = ((n, line + b"\n") for n, line in split_lines)
            yield from _one_by_one(path, kind, numbered)
        else:
            yield lines
        number += text.count(b"\n")


def _plain(text: bytes, kind: Kind, number: int) -> _Lines | None:
    """The lines of a block where all are right at first sight, else none."""
    part = split(text, kind.columns, number)
    if part is None or int((part.ends - part.starts)[:, [0, 2]].max(initial=0)) > LONGEST_ID:
        return None
    try:
        kind.values(part)
    except BadInput:
        return None
    return _Lines(_marks_in(part), number + np.arange(len(part.starts)))


def _marks_in(part: Fields) -> Words:
    return _paired(keys(part, 0).hashes, keys(part, 2).hashes)


def _paired(queries: Words, documents: Words) -> Words:
    """A hash of each pair."""
    return (queries ^ (queries >> np.uint64(31))) * _ODD + documents


def _one_by_one(
    path: Path, kind: Kind, numbered: Iterator[tuple[int, bytes]], first: int = 1
) -> Iterator[_Lines]:
    """Some lines, from the one numbered `first` on; `_Wrong` at the first that is wrong."""
    numbers: list[int] = []
    pairs: list[tuple[bytes, bytes]] = []
    try:
        for number, columns in rows(path, kind.columns, numbered):
            if number < first:
                continue
            texts(path, number, columns[0], columns[2])
            kind.parse(path, number, columns[kind.number])
            numbers.append(number)
            pairs.append((columns[0], columns[2]))
    except BadInput as error:
        raise _Wrong(error, _lines_of(pairs, numbers)) from error
    yield _lines_of(pairs, numbers)


def _lines_of(pairs: Sequence[tuple[bytes, bytes]], numbers: Sequence[int]) -> _Lines:
    queries, documents = (keys_of([pair[i] for pair in pairs]).hashes for i in (0, 1))
    return _Lines(_paired(queries, documents), np.array(numbers, dtype=np.int64))


def _lay_aside(dealt: Dealt, lines: _Lines) -> None:
    """The lines' hashes and numbers, by the first bits of the hash."""
    part = (lines.marks >> np.uint64(56)).astype(np.uint8)
    order = np.argsort(part, kind="stable")
    rows_of_lines = np.empty(len(part), dtype=_ROW)
    rows_of_lines["mark"], rows_of_lines["line"] = lines.marks[order], lines.numbers[order]
    edges = np.append(0, np.cumsum(np.bincount(part, minlength=PARTS))).tolist()
    for number in np.flatnonzero(np.diff(edges)).tolist():
        dealt.add(number, rows_of_lines[edges[number] : edges[number + 1]].tobytes())


def _likely(dealt: Dealt, size: int) -> Integers:
    """The first lines whose hash an earlier line has, each after the last such line: `(n, 2)`."""
    likely = np.zeros((0, 2), dtype=np.int64)
    for parts in dealt.neighbours(size):
        lines = np.frombuffer(b"".join(dealt.pieces(parts)), dtype=_ROW)
        order = np.lexsort((lines["line"], lines["mark"]))
        mark, line = lines["mark"][order], lines["line"][order]
        again = np.flatnonzero(mark[1:] == mark[:-1])
        likely = np.concatenate([likely, np.stack([line[again], line[again + 1]], axis=1)])
        likely = likely[np.argsort(likely[:, 1])][:_LOOKED_UP]
    return likely


def _refuse_repeated(path: Path, block: int, likely: Integers) -> None:
    """`BadInput` at the first of the lines that names the pair of the line before it here."""
    pairs: dict[int, tuple[bytes, bytes]] = {}
    earlier = dict(likely[:, ::-1].tolist())
    for number, line in _numbered(path, block, set(likely.ravel().tolist())):
        columns = (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).split()
        pairs[number] = columns[0], columns[2]
        if number in earlier and pairs[earlier[number]] == pairs[number]:
            raise second_time(path, number, *(text.decode() for text in pairs[number]))


def _numbered(path: Path, block: int, numbers: set[int]) -> Iterator[tuple[int, bytes]]:
    """The lines with these numbers."""
    first, last = 1, max(numbers, default=0)
    ordered = sorted(numbers)
    for text in byte_blocks(path, block) if numbers else ():
        count = text.count(b"\n")
        here = [number for number in ordered if first <= number < first + count]
        lines = text.split(b"\n") if here else []
        yield from ((number, lines[number - first]) for number in here)
        first += count
        if first > last:
            break


def read_run(path: Path | str) -> Run:
    """Read a run as `{query: {document: score}}`, in the file's order; the rank is not read.

    `BadInput` names the line that is not six columns, has no finite score, or retrieves a document
    a second time. Of what a program holds already, `labeler.trec.memory.as_run` makes the same.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "bm25.trec"
    >>> _ = path.write_text("q1 Q0 d1 1 2.5 bm25\\nq1 Q0 d2 2 1 bm25\\n")
    >>> read_run(path)
    {'q1': {'d1': 2.5, 'd2': 1.0}}
    """
    path = Path(path)
    with rereadable():
        try:
            with reading(path):
                return numbers_by_query(path, RUN)
        except (Irregular, BadInput):
            return read_run_by_line(path)


def read_run_by_line(path: Path) -> Run:
    """The same, line by line: it knows the line that is wrong, and takes several times as long."""
    run: Run = {}
    with reading(path):
        for number, columns in rows(path, RUN_COLUMNS):
            _add(run, path, number, columns)
    return run


def read_loose_run(path: Path) -> tuple[Run, str]:
    """The scores of a run and its tag, as trec_eval reads them.

    Columns after the sixth are ignored, and the last line's tag is the run's.
    """
    run: Run = {}
    tag = b""
    with reading(path):
        for number, columns in rows(path, RUN_COLUMNS, more=True):
            _add(run, path, number, columns)
            tag = columns[5]
    return run, tag.decode("utf-8", "replace")


def _add(run: Run, path: Path, number: int, columns: list[bytes]) -> None:
    """Put one line's document into the run."""
    query_id, doc_id = texts(path, number, columns[0], columns[2])
    score = score_of(path, number, columns[4])
    scores = run.setdefault(query_id, {})
    if doc_id in scores:
        raise second_time(path, number, query_id, doc_id)
    scores[doc_id] = score
