"""Qrels and runs from their files straight to arrays, without a Python object a line.

The same answers as `rankings(read_qrels(…), read_run_by_line(…))`, to the last bit, and the same
errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.data import Qrels, Run
from labeler.errors import BadInput
from labeler.metrics.rankings import Rankings, ordinals, rankings, top_grade
from labeler.trec.columns import (
    Irregular,
    Small,
    Stretches,
    Words,
    fields,
    hashed,
    integers,
    joined,
    keys,
    keys_of,
    mixed,
    widened,
)
from labeler.trec.index import RUN, Batch, Scattered, batches, in_order, indexed, streamed
from labeler.trec.qrels import read_qrels
from labeler.trec.rows import QRELS_COLUMNS
from labeler.trec.runs import (
    read_run_by_line,
)

BLOCK = 1 << 22


@dataclass(frozen=True)
class JudgedPairs:
    """The pairs of some qrels, by query (sorted by id), then by grade, best first.

    `source` is the file that they were read from, or the dict itself.
    """

    source: Path | Qrels
    queries: tuple[str, ...]
    query: Integers
    grade: Integers
    documents: Words
    """The words of each document's id, as `Keys` has them."""
    name: str
    """What messages call them."""
    stale: int = 0
    """How many grades of their file are of texts that have changed since."""

    @cached_property
    def number(self) -> dict[bytes, int]:
        """The index in `queries` of each query id."""
        return {query.encode(): index for index, query in enumerate(self.queries)}

    @cached_property
    def starts(self) -> Integers:
        """Where each query's pairs begin, and where the last one's end."""
        return np.searchsorted(self.query, np.arange(len(self.queries) + 1))

    @cached_property
    def qrels(self) -> Qrels:
        """The same as a dict; a file is read again, by the slow reader."""
        return read_qrels(self.source) if isinstance(self.source, Path) else self.source

    @cached_property
    def max_grade(self) -> int:
        """The largest grade."""
        return top_grade(self.grade)


def read_judged_pairs(path: Path, warn: Callable[[str], None], block: int = BLOCK) -> JudgedPairs:
    """The pairs of a qrels file; repeated pairs and bad lines as `read_qrels` has them."""
    try:
        blocks = fields(path, QRELS_COLUMNS, block)
        parts = ((Stretches.of(b), integers(b, 3), keys(b, 2).words) for b in blocks)
        pool = _pool(path, str(path), parts)
        refuse_collisions(hashed(pool.documents) + mixed(pool.query))
    except (Irregular, BadInput):  # of several bad lines the slow reader names the first
        return replace(judged_pairs_of(read_qrels(path, warn), str(path)), source=path)
    return pool


def _pool(
    source: Path | Qrels, name: str, parts: Iterable[tuple[Stretches, Integers, Words]]
) -> JudgedPairs:
    stretches, grades, words = zip(*parts, strict=True)
    names = sorted({query_id for of_part in stretches for query_id in of_part.names})
    number = {query_id: i for i, query_id in enumerate(names)}
    query = np.concatenate([np.array([number[q] for q in s.names])[s.of_line] for s in stretches])
    # the query and the grade of a pair as one number: sorted by it, best grades come first
    grade = np.concatenate(grades)
    top = int(grade.max())
    order = np.argsort(query * (top - int(grade.min()) + 1) + top - grade, kind="stable")
    queries = tuple(query_id.decode() for query_id in names)
    return JudgedPairs(source, queries, query[order], grade[order], joined(words)[order], name)


def judged_pairs_of(qrels: Qrels, name: str = "the qrels") -> JudgedPairs:
    """The judged pairs of qrels that a program holds, without queries that have none."""
    qrels = {query_id: grades for query_id, grades in qrels.items() if grades}
    sizes = [len(grades) for grades in qrels.values()]
    edges = np.cumsum([0, *sizes])
    stretches = Stretches([query_id.encode() for query_id in qrels], edges)
    grades = np.array([grade for grades in qrels.values() for grade in grades.values()])
    ids = [doc_id.encode() for grades in qrels.values() for doc_id in grades]
    return _pool(qrels, name, [(stretches, grades, keys_of(ids).words)])


def refuse_collisions(marks: Words) -> None:
    """`Irregular` where two lines look like one pair; the slow reader tells whether they are."""
    ordered = np.sort(marks)
    if (ordered[1:] == ordered[:-1]).any():
        raise Irregular


class Outside(NamedTuple):
    """A run's documents outside the qrels: their queries, and a 64-bit mark of query and id."""

    query: Small
    mark: Words


SOME = 1000
"""How many ids of a run's queries are kept, for a guess why the qrels have none of them."""


@dataclass
class Facts:
    """What a reader of the scores should know of a run; `outside` where it is asked for."""

    common: int = 0
    extra: int = 0
    some_ids: list[str] = field(default_factory=list)
    matched: int = 0
    tied_pairs: int = 0
    contradictions: int = 0
    outside: Outside | None = None


def read_rankings(
    path: Path, pool: JudgedPairs, *, block: int = BLOCK, outside: bool = False
) -> tuple[Rankings, Facts]:
    """A run's rankings of the pool's queries (those that it lacks retrieve nothing), and facts.

    With `outside` the facts have the documents outside the qrels.
    """
    with suppress(Irregular, BadInput):
        try:
            return _ranked(streamed(path, RUN, block), pool, outside=outside)
        except Scattered:
            with indexed(path, RUN, block) as index:
                return _ranked(batches([index], size=block), pool, outside=outside)
    # the reader by line names the first that is wrong, and tells pairs of one hash apart
    return rankings_of(read_run_by_line(path), pool, outside=outside)


def rankings_of(run: Run, pool: JudgedPairs, *, outside: bool = False) -> tuple[Rankings, Facts]:
    """The same of a run that a program holds, which has no ranks to contradict its scores."""
    ranked = rankings(pool.qrels, run)
    common = len(pool.qrels.keys() & run.keys())
    tied = sum(_tied(list(scores.values())) for scores in run.values())
    facts = Facts(common, len(run) - common, list(run)[:SOME], len(ranked.query), tied)
    if outside:
        rows = [
            (number, doc_id.encode())
            for number, query in enumerate(pool.queries)
            for doc_id in run.get(query, {}).keys() - pool.qrels[query].keys()
        ]
        query = np.array([number for number, _ in rows], dtype=np.int32)
        facts.outside = Outside(query, keys_of([doc for _, doc in rows]).hashes + mixed(query))
    return ranked, facts


def _tied(scores: Sequence[float]) -> int:
    """How many pairs of them are equal."""
    if len(set(scores)) == len(scores):
        return 0
    return sum(count * (count - 1) // 2 for count in Counter(scores).values())


def _ranked(parts: Iterator[Batch], pool: JudgedPairs, *, outside: bool) -> tuple[Rankings, Facts]:
    facts = Facts()
    n = len(pool.queries)
    gathered: list[Outside] | None = [] if outside else None
    placed = [_placed(lines, pool, facts, gathered) for lines in parts]
    if gathered is not None:
        facts.outside = Outside(*map(np.concatenate, zip(*gathered, strict=True)))
    retrieved = np.zeros(n, dtype=np.int64)
    for part in placed:
        retrieved[part.pop("queries")] = part.pop("retrieved")
    columns = {name: np.concatenate([part[name] for part in placed]) for name in placed[0]}
    order = np.argsort(columns["query"], kind="stable")
    ranked = Rankings(
        pool.queries,
        retrieved,
        **{name: column[order] for name, column in columns.items()},
        pool_query=pool.query,
        pool_grade=pool.grade,
        max_grade=pool.max_grade,
    )
    return ranked, facts


def _placed(
    lines: Batch, pool: JudgedPairs, facts: Facts, gathered: list[Outside] | None
) -> dict[str, Any]:
    """The documents of the pool in some lines of a run, as columns by query and rank.

    Beside them the pool's `queries` in these lines, and how many documents each `retrieved`.
    """
    numbers = [pool.number.get(name, -1) for name in lines.names]  # -1: not in the pool
    pool_query = np.array(numbers)
    _note(facts, lines, pool_query)
    marks = lines.documents.hashes + mixed(lines.query)  # a 64-bit mark for each pair
    refuse_collisions(marks)
    hits, pairs = _matches(lines, marks, pool, pool_query)
    facts.matched += len(hits)
    order = in_order(lines.query, lines.score, lines.documents)  # by query and rank
    facts.tied_pairs += tied_pairs(lines.query[order], lines.score[order])
    facts.contradictions += contradictions(lines.query, lines.declared, lines.score)
    # `position` is the inverse of `order`: where each line stands among all of the batch
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    sizes = np.bincount(lines.query, minlength=len(pool_query))
    starts = np.cumsum(sizes) - sizes
    rank = position[hits] - starts[lines.query[hits]]  # counted from 0 within its query
    query = pool_query[lines.query[hits]]
    sort = np.lexsort((rank, lines.query[hits]))
    in_pool = pool_query >= 0
    if gathered is not None:
        is_outside = in_pool[lines.query]
        is_outside[hits] = False
        of = pool_query[lines.query[is_outside]].astype(np.int32)
        gathered.append(Outside(of, lines.documents.hashes[is_outside] + mixed(of)))
    return {
        "queries": pool_query[in_pool],
        "retrieved": sizes[in_pool],
        "query": query[sort],
        "rank": rank[sort],
        "grade": pool.grade[pairs][sort],
        "score": lines.score[hits][sort],
    }


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


def _note(facts: Facts, lines: Batch, pool_query: Integers) -> None:
    facts.common += int((pool_query >= 0).sum())
    facts.extra += int((pool_query < 0).sum())
    free = SOME - len(facts.some_ids)
    facts.some_ids += [name.decode() for name in lines.names[:free]]


def _matches(
    lines: Batch, marks: Words, pool: JudgedPairs, pool_query: Integers
) -> tuple[Integers, Integers]:
    """Which lines stand in the pool, and as which of its pairs."""
    # the pool's pairs of the batch's queries, with the mark that such a line would have
    queries = np.flatnonzero(pool_query >= 0)
    sizes = pool.starts[pool_query[queries] + 1] - pool.starts[pool_query[queries]]
    owner = np.repeat(np.arange(len(queries)), sizes)
    pairs = ordinals(owner) + pool.starts[pool_query[queries]][owner]
    judged = hashed(pool.documents[pairs]) + mixed(queries[owner])
    order = np.argsort(judged)
    judged, pairs = judged[order], pairs[order]
    # each line that may be one of them is looked up by bisection
    candidates = _candidates(marks, judged)
    at = np.searchsorted(judged, marks[candidates])
    is_hit = np.zeros(len(candidates), dtype=np.bool_)
    if len(judged):
        is_hit = judged[np.minimum(at, len(judged) - 1)] == marks[candidates]
    hits, matched = candidates[is_hit], pairs[at[is_hit]]
    # equal marks could be of different ids: these are compared word by word
    width = max(lines.documents.words.shape[1], pool.documents.shape[1])
    ours = widened(lines.documents.words[hits], width)
    if (ours != widened(pool.documents[matched], width)).any():
        raise Irregular
    return hits, matched


def _candidates(marks: Words, judged: Words) -> Integers:
    """The indices of the marks that may be among `judged`: all that are, and few others.

    A table of bits says which values the first bits of `judged` have; 16 to 32 times as many bits
    as marks let one in 16 or fewer of the others through.
    """
    bits = max(12, len(judged).bit_length() + 4)
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, dtype=np.bool_)
    table[judged >> shift] = True
    return np.flatnonzero(table[marks >> shift])
