"""Runs from their files straight to `Rankings`, without a Python object a line.

The same answers as `rankings(read_qrels(…), read_run_by_line(…))`, to the last bit, and the same
errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.data import Run
from labeler.errors import BadInput
from labeler.metrics.rankings import Rankings, ordinals, rankings
from labeler.trec.blocks import Batch, Scattered, streamed
from labeler.trec.columns import Irregular, Stretches, Words, fields, hashed, mixed, widened
from labeler.trec.first_problem import refuse_first_problem
from labeler.trec.holes import GatheredHoles, RunHoles, holes_in, holes_of
from labeler.trec.index import RUN
from labeler.trec.pool import BLOCK, Pool, refuse_collisions
from labeler.trec.runs import read_run_by_line
from labeler.trec.scattered import regrouped
from labeler.trec.ties import contradictions, in_order, tied_pairs

SOME = 1000
"""How many ids of a run's queries are kept, for a guess why the qrels have none of them."""


@dataclass
class Facts:
    """What a reader of the scores should know of a run file; its holes where they are asked for."""

    common: int = 0
    extra: int = 0
    some_ids: list[str] = field(default_factory=list)
    matched: int = 0
    tied_pairs: int = 0
    contradictions: int = 0
    holes: RunHoles | None = None


def read_rankings(
    path: Path,
    pool: Pool,
    ties: str = "trec",
    block: int = BLOCK,
    *,
    holes: Sequence[float] | None = None,
) -> tuple[Rankings, Facts]:
    """A run's rankings of the pool's queries (those that it lacks retrieve nothing), and facts.

    `holes` are the ranks down to which unjudged documents are kept; `None` keeps no word of them.
    """
    if pool.has_collisions:
        return rankings_of(read_run_by_line(path), pool, ties, holes=holes)
    try:
        return _in_parts(path, pool, ties, block, holes=holes)
    except (Irregular, BadInput):
        refuse_first_problem(path, RUN, block)
        # no line is wrong: two pairs have one hash, which the reader that holds all lines tells
        return rankings_of(read_run_by_line(path), pool, ties, holes=holes)


def _in_parts(
    path: Path, pool: Pool, ties: str, block: int, *, holes: Sequence[float] | None
) -> tuple[Rankings, Facts]:
    """A run in one pass; in two where the lines of a query stand apart."""
    try:
        return _ranked(streamed(path, RUN, block), pool, ties, holes=holes)
    except Scattered:
        ranked, facts = _ranked(regrouped(path, RUN, block), pool, ties, holes=holes)
        facts.some_ids = facts.some_ids if facts.common else _first_ids(path, block)
        return ranked, facts


def _first_ids(path: Path, block: int) -> list[str]:
    """Some ids of a run's queries, in the order of their first lines."""
    ids: dict[bytes, None] = {}
    for part in fields(path, RUN.columns, block):
        ids.update(dict.fromkeys(Stretches.of(part).names))
        if len(ids) >= SOME:
            break
    return [name.decode() for name in list(ids)[:SOME]]


def rankings_of(
    run: Run, pool: Pool, ties: str = "trec", *, holes: Sequence[float] | None = None
) -> tuple[Rankings, Facts]:
    """The same of a run that a program holds, which has no ranks to contradict its scores."""
    ranked = rankings(pool.qrels, run, ties=ties)
    common = len(pool.qrels.keys() & run.keys())
    tied = sum(_tied(list(scores.values())) for scores in run.values())
    facts = Facts(common, len(run) - common, list(run)[:SOME], len(ranked.query), tied)
    if holes is not None:
        gathered = GatheredHoles(len(pool.queries), holes)
        gathered.add(holes_of(run, pool, ties))
        facts.holes = gathered.done()
    return ranked, facts


def _tied(scores: Sequence[float]) -> int:
    """How many pairs of them are equal."""
    if len(set(scores)) == len(scores):
        return 0
    return sum(count * (count - 1) // 2 for count in Counter(scores).values())


@dataclass(frozen=True)
class _Placed:
    """The documents of the pool in some lines of a run, by query and rank."""

    queries: Integers
    retrieved: Integers
    query: Integers
    rank: Integers
    grade: Integers
    score: Floats


def _ranked(
    parts: Iterator[Batch], pool: Pool, ties: str, *, holes: Sequence[float] | None
) -> tuple[Rankings, Facts]:
    facts = Facts()
    n = len(pool.queries)
    gathered = None if holes is None else GatheredHoles(n, holes)
    placed = [_placed(lines, pool, ties, facts, gathered) for lines in parts]
    facts.holes = None if gathered is None else gathered.done()
    retrieved = np.zeros(n, dtype=np.int64)
    for part in placed:
        retrieved[part.queries] = part.retrieved
    query = np.concatenate([part.query for part in placed])
    order = np.argsort(query, kind="stable")
    columns = {
        name: np.concatenate([getattr(part, name) for part in placed])[order]
        for name in ("query", "rank", "grade", "score")
    }
    ranked = Rankings(
        pool.queries,
        retrieved,
        **columns,
        pool_query=pool.query,
        pool_grade=pool.grade,
        max_grade=pool.max_grade,
    )
    return ranked, facts


def _placed(
    lines: Batch, pool: Pool, ties: str, facts: Facts, gathered: GatheredHoles | None
) -> _Placed:
    pool_query = np.array(
        [pool.number.get(name, -1) for name in lines.names]
    )  # -1: not in the pool
    _note(facts, lines, pool_query)
    marks = lines.documents.hashes + mixed(lines.query)  # a 64-bit mark for each pair
    refuse_collisions(marks)
    hits, pairs = _matches(lines, marks, pool, pool_query)
    facts.matched += len(hits)
    # `order` lists the lines by query and rank; ties without a hit need not be broken
    order = in_order(lines.query, lines.score, lines.documents, hits if gathered is None else None)
    facts.tied_pairs += tied_pairs(lines.query[order], lines.score[order])
    facts.contradictions += contradictions(lines.query, lines.declared, lines.score)
    # `position` is the inverse of `order`: where each line stands among all of the batch
    position = np.arange(len(order))
    if ties != "file":
        position[order] = np.arange(len(order))
    sizes = np.bincount(lines.query, minlength=len(pool_query))
    starts = np.cumsum(sizes) - sizes
    rank = position[hits] - starts[lines.query[hits]]  # counted from 0 within its query
    query = pool_query[lines.query[hits]]
    sort = np.lexsort((rank, lines.query[hits]))
    in_pool = pool_query >= 0
    if gathered is not None:
        judged = (hits[pool.grade[pairs] >= 0], hits)
        gathered.add(holes_in(lines, pool_query, position - starts[lines.query], judged))
    return _Placed(
        pool_query[in_pool],
        sizes[in_pool],
        query[sort],
        rank[sort],
        pool.grade[pairs][sort],
        lines.score[hits][sort],
    )


def _note(facts: Facts, lines: Batch, pool_query: Integers) -> None:
    facts.common += int((pool_query >= 0).sum())
    facts.extra += int((pool_query < 0).sum())
    free = SOME - len(facts.some_ids)
    facts.some_ids += [name.decode() for name in lines.names[:free]]


def _matches(
    lines: Batch, marks: Words, pool: Pool, pool_query: Integers
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
