"""The pairs that qrels judge, and runs ranked against them, a few queries at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, repeat
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.data import Qrels, Run
from labeler.errors import BadInput
from labeler.metrics.rankings import Rankings, ordinals, top_grade
from labeler.trec.blocks import BLOCK, Batch
from labeler.trec.columns import Irregular, Keys, Words, hashed, id_ranks, mixed, widened
from labeler.trec.files import through_run
from labeler.trec.memory import as_qrels, as_run
from labeler.trec.pairs import PairColumns
from labeler.trec.rows import LARGEST_GRADE


@dataclass(frozen=True)
class JudgedPairs:
    """The judged pairs of some qrels, by query (sorted by id), then by grade, best first."""

    queries: tuple[str, ...]
    query: Integers
    grade: Integers
    documents: Keys
    name: str = "the qrels"
    """What messages call them."""
    stale: int = 0
    """How many grades of their file are of texts that have changed since."""

    @classmethod
    def of(cls, qrels: PairColumns[int], name: str = "the qrels", stale: int = 0) -> JudgedPairs:
        """The pool of qrels, without queries that have no judgement."""
        sizes = np.diff(qrels.edges)
        ids = [query_id for query_id, size in zip(qrels.queries, sizes, strict=True) if size]
        of_query = np.repeat(id_ranks(ids), sizes[sizes > 0])
        order = np.lexsort((-qrels.value.astype(np.int32), of_query))
        query, grade = (column[order].astype(np.int64) for column in (of_query, qrels.value))
        documents = qrels.document_keys.take(qrels.document[order])
        return cls(tuple(sorted(ids)), query, grade, documents, name, stale)

    @cached_property
    def number(self) -> dict[bytes, int]:
        """The index in `queries` of each query id."""
        return {query.encode(): index for index, query in enumerate(self.queries)}

    @cached_property
    def starts(self) -> Integers:
        """Where each query's pairs begin, and where the last one's end."""
        return np.searchsorted(self.query, np.arange(len(self.queries) + 1))

    @cached_property
    def max_grade(self) -> int:
        """The largest grade."""
        return top_grade(self.grade)

    def rank(
        self, run: Path | PairColumns[float], *, block: int = BLOCK, outside: bool = False
    ) -> tuple[Rankings, Facts]:
        """A run's rankings of the pool's queries (those that it lacks retrieve nothing), and facts.

        Documents rank by score, tied ones by id, both descending. A file is read about `block`
        bytes at a time. With `outside` the facts have the documents outside the qrels.
        """
        if isinstance(run, PairColumns):
            return _ranked(run.batches(), self, outside=outside)
        return through_run(run, lambda parts: _ranked(parts, self, outside=outside), block)


def rankings(qrels: Qrels, run: Run, max_grade: int | None = None) -> Rankings:
    """One run's rankings of the queries of the qrels; those that it lacks retrieve nothing."""
    try:
        ranked = _looked_up(qrels, run)
    except (Irregular, TypeError, ValueError, OverflowError):  # as columns, which say what is wrong
        grades = as_qrels(qrels) if any(qrels.values()) else PairColumns.of({}, np.int32)
        scores = as_run(run) if any(run.values()) else PairColumns.of({}, np.float64)
        ranked, _ = JudgedPairs.of(grades).rank(scores)
    return ranked if max_grade is None else replace(ranked, max_grade=max_grade)


# Plain dicts, in which judged documents are looked up: a third of the time that columns of them
# take (`scripts/bench_metrics.py`).


def _looked_up(qrels: Qrels, run: Run) -> Rankings:
    """The rankings of dicts; `Irregular` where these are none, or their values are unusual.

    Their ids are texts, and need not be such as a TREC file can hold.
    """
    if not (isinstance(qrels, dict) and isinstance(run, dict)):
        raise Irregular
    queries = sorted(query for query, grades in qrels.items() if grades)
    pools = [qrels[query] for query in queries]
    of_queries = [run.get(query, {}) for query in queries]
    every = [grade for grades in pools for grade in grades.values()]
    grade = np.fromiter(every, np.int64, len(every))
    first_ids = (next(iter(ids), "") for ids in [qrels, run, *pools, *of_queries])
    if set(map(type, first_ids)) != {str} or set(map(type, every)) != {int}:
        raise Irregular
    if np.abs(grade).max() > LARGEST_GRADE:
        raise Irregular
    query = np.repeat(np.arange(len(queries)), list(map(len, pools)))
    placed = list(map(_places, pools, of_queries))
    rank, score = (np.concatenate(column) for column in zip(*placed, strict=True))
    hits = np.flatnonzero(~np.isnan(score))
    hits = hits[np.lexsort((rank[hits], query[hits]))]
    order = np.lexsort((-grade, query))
    return Rankings(
        tuple(queries),
        np.array(list(map(len, of_queries)), np.int64),
        query[hits],
        rank[hits],
        grade[hits],
        query[order],
        grade[order],
        top_grade(grade),
    )


def _places(grades: Mapping[str, int], scores: Mapping[str, float]) -> tuple[Integers, Floats]:
    """The rank and the score of each document of a query's qrels; not retrieved, its score is nan.

    A document's rank is how many have a higher score, or the same one and a greater id.
    """
    values = np.fromiter(scores.values(), float, len(scores))
    score = np.fromiter(map(scores.get, grades, repeat(math.nan)), float, len(grades))
    ordered = np.sort(values)
    if not np.isfinite(ordered[-1:] - ordered[:1]).all():
        raise Irregular
    end = len(values) - ordered.searchsorted(score)
    rank = len(values) - ordered.searchsorted(score, side="right")
    tied = np.flatnonzero(end - rank > 1)
    if len(tied):
        ids, order = list(scores), np.argsort(-values)
        of_tied = dict[str, int]()
        for start, stop in {*zip(rank[tied].tolist(), end[tied].tolist(), strict=True)}:
            alike = sorted([ids[at] for at in order[start:stop].tolist()], reverse=True)
            of_tied.update(zip(alike, count(start)))
        judged = list(grades)
        rank[tied] = [of_tied[judged[at]] for at in tied.tolist()]
    return rank, score


def marks_by_query(marks: Words, queries: int) -> Integers:
    """How many documents outside the qrels each of so many queries has, by their marks."""
    of_mark = (marks >> np.uint64(64 - _bits(queries))).view(np.int64)
    return np.bincount(of_mark, minlength=queries)


def _bits(queries: int) -> int:
    """How many bits hold the place of any query."""
    return max(queries - 1, 1).bit_length()


SOME = 1000
"""How many ids of a run's queries are kept, for a guess why the qrels have none of them."""


@dataclass
class Facts:
    """What a reader of the scores should know of a run.

    `outside` are its documents outside the qrels, where they are asked for, each as a 64-bit mark
    of its query and its id: the highest bits are the query's place in the qrels.
    """

    common: int = 0
    extra: int = 0
    some_ids: list[str] = field(default_factory=list)
    matched: int = 0
    tied_pairs: int = 0
    contradictions: int = 0
    outside: Words | None = None


def _ranked(parts: Iterable[Batch], pool: JudgedPairs, *, outside: bool) -> tuple[Rankings, Facts]:
    facts = Facts()
    n = len(pool.queries)
    gathered: list[Words] | None = [] if outside else None
    placed = [_placed(lines, pool, facts, gathered) for lines in parts]
    if gathered is not None:
        facts.outside = np.concatenate(gathered)
    retrieved = np.zeros(n, np.int64)
    for part in placed:
        retrieved[part.pop("queries")] = part.pop("retrieved")
    names = [*placed[0]]  # of columns, which are let go of one after another
    columns = {name: np.concatenate([part.pop(name) for part in placed]) for name in names}
    order = np.argsort(columns["query"], kind="stable")
    return Rankings(
        pool.queries,
        retrieved,
        **{name: columns.pop(name)[order] for name in names},
        pool_query=pool.query,
        pool_grade=pool.grade,
        max_grade=pool.max_grade,
    ), facts


def _placed(
    lines: Batch, pool: JudgedPairs, facts: Facts, gathered: list[Words] | None
) -> dict[str, Any]:
    """The documents of the pool in some lines of a run, as columns by query and rank.

    Beside them the pool's `queries` in these lines, and how many documents each `retrieved`.
    """
    numbers = [pool.number.get(name, -1) for name in lines.names]  # -1: not in the pool
    pool_query = np.array(numbers)
    facts.common += int((pool_query >= 0).sum())
    facts.extra += int((pool_query < 0).sum())
    facts.some_ids += [name.decode() for name in lines.names[: SOME - len(facts.some_ids)]]
    hits, pairs = _matches(lines, pool, pool_query)
    facts.matched += len(hits)
    order = lines.ranked  # by query and rank
    facts.tied_pairs += tied_pairs(lines.query[order], lines.score[order])
    if lines.part is not None:  # only lines of a file have a rank column
        facts.contradictions += contradictions(lines.query, lines.declared, lines.score)
    pair_of_line = np.full(len(order), -1)
    pair_of_line[hits] = pairs
    places = np.flatnonzero(pair_of_line[order] >= 0)  # of the hits, by query and rank
    line = order[places]
    sizes = np.bincount(lines.query, minlength=len(pool_query))
    starts = np.cumsum(sizes) - sizes
    in_pool = pool_query >= 0
    if gathered is not None:
        is_outside = in_pool[lines.query]
        is_outside[hits] = False
        bits = np.uint64(_bits(len(pool.queries)))
        of = pool_query[lines.query[is_outside]].astype(np.uint64) << np.uint64(64) - bits
        gathered.append(lines.documents.hashes[is_outside] >> bits | of)
    return {
        "queries": pool_query[in_pool],
        "retrieved": sizes[in_pool],
        "query": pool_query[lines.query[line]],
        "rank": places - starts[lines.query[line]],  # counted from 0 within its query
        "grade": pool.grade[pair_of_line[line]],
    }


def tied_pairs(group: Integers, score: Floats) -> int:
    """How many pairs of one query's documents have one score, in lines that are in order."""
    tied = (score[1:] == score[:-1]) & (group[1:] == group[:-1])
    sizes = np.bincount(np.cumsum(np.append(True, ~tied)))
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


def _matches(lines: Batch, pool: JudgedPairs, pool_query: Integers) -> tuple[Integers, Integers]:
    """Which lines stand in the pool, and as which of its pairs; `BadInput` where a pair is twice.

    Pairs are told apart by a mark of each. Where two of them have one, others are made.
    """
    queries = np.flatnonzero(pool_query >= 0)
    firsts = pool.starts[pool_query[queries]]
    owner = np.repeat(np.arange(len(queries)), pool.starts[pool_query[queries] + 1] - firsts)
    judged = ordinals(owner) + firsts[owner]
    n, words, pool_words = len(lines.query), lines.documents.words, pool.documents.words
    of_each = mixed(np.concatenate([lines.query, queries[owner]]))
    hashes = np.concatenate([lines.documents.hashes, pool.documents.hashes[judged]])
    bits = len(hashes).bit_length()
    for salt in count(1):
        # a mark's lowest bits say whose it is: numbers are sorted in a tenth of `argsort`'s time
        low = np.uint64((1 << bits) - 1)
        marks = (hashes + of_each) & ~low | np.arange(len(hashes), dtype=np.uint64)
        marks = np.sort(marks[_crowded((marks >> np.uint64(62 - bits)).view(np.int64))])
        alike = np.flatnonzero(marks[1:] ^ marks[:-1] <= low)
        first, second = ((marks[at] & low).astype(np.int64) for at in (alike, alike + 1))
        if (first < n).all() and (second >= n).all():
            pairs = judged[second - n]
            if _same(words[first], pool_words[pairs]).all():
                return first, pairs
        _refuse_repeated(lines, first[second < n], second[second < n])
        hashes = np.concatenate([hashed(words, salt), hashed(pool_words[judged], salt)])
    raise AssertionError


def _crowded(slots: Integers) -> Flags:
    """Which entries share their slot with another: of most of a run's lines none is alike."""
    last = np.empty(int(slots.max(initial=0)) + 1, np.int32)
    number = np.arange(len(slots), dtype=np.int32)
    last[slots] = number
    is_crowded = np.zeros(len(last), np.bool_)
    is_crowded[slots[last[slots] != number]] = True
    return is_crowded[slots]


def _refuse_repeated(lines: Batch, first: Integers, second: Integers) -> None:
    """`BadInput` where the two lines of any of these are one pair."""
    words, query = lines.documents.words, lines.query
    again = (query[first] == query[second]) & _same(words[first], words[second])
    if again.any():  # the reader by line says which
        raise BadInput("a query retrieves a document a second time")


def _same(first: Words, second: Words) -> Flags:
    """Whether each two texts are the same."""
    width = max(first.shape[1], second.shape[1])
    same: Flags = (widened(first, width) == widened(second, width)).all(axis=1)
    return same
