"""The rows of partitions as Parquet holds them: pairs with their texts, and judgements."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from labeler.data import JUDGED, Document, Failure, Judged, Judgement, Listed, Pair, Query
from labeler.errors import BadInput
from labeler.exchange.parquet import batches_of_parquet, parquet_writer
from labeler.files.cache import sha256_of
from labeler.files.read import file_problems
from labeler.judging.assessor import TOPIC, Lists, Texts, values_of
from labeler.judging.partitions.folder import Partition

PAIRS = {
    "position": "int64",
    "query_id": "string",
    "query": "string",
    **dict.fromkeys(TOPIC, "string"),
    "doc_id": "string",
    "title": "string",
    "text": "string",
    "list": "string",
}
"""The columns of pairs; `list` is JSON: the documents with which one was shown before."""

JUDGEMENTS = {
    "position": "int64",
    "query_id": "string",
    "doc_id": "string",
    "grade": "int64",
    "status": "string",
    "reason": "string",
    "detail": "string",
    "distribution": "string",
    "attempts": "int64",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "cached_tokens": "int64",
    "cost": "double",
    "model": "string",
    "remembered": "bool",
    "shared": "bool",
    "suspicions": "string",
    "list": "string",
    "alone": "bool",
    "votes": "string",
    "passages": "string",
    "sent": "string",
}
"""The columns of judgements; `distribution`, `suspicions`, `list` and the last three are JSON."""

ROWS_AT_ONCE = 10_000


class PartitionPairs(NamedTuple):
    """The pairs of a partition in their order, where each stands in the set, and their texts."""

    pairs: list[Pair]
    positions: list[int]
    texts: Texts
    lists: Lists


class PositionedPair(NamedTuple):
    """A pair, and where it stands among all pairs of its set."""

    position: int
    pair: Pair


def write_pairs(
    path: Path, pairs: Sequence[PositionedPair], texts: Texts, lists: Lists
) -> Partition:
    """Write the pairs of a partition with their texts."""
    with parquet_writer(path, PAIRS) as write:
        for start in range(0, len(pairs), ROWS_AT_ONCE):
            some = pairs[start : start + ROWS_AT_ONCE]
            write(list(zip(*(_pair_row(each, texts, lists) for each in some), strict=True)))
    return Partition(len(pairs), min(each.position for each in pairs), sha256_of(path))


def _pair_row(each: PositionedPair, texts: Texts, lists: Lists) -> tuple[Any, ...]:
    query, document = texts.of(each.pair)
    values = values_of(query)
    listed = lists.get(each.pair)
    return (
        each.position,
        query.id,
        query.text,
        *(values[name] for name in TOPIC),
        document.id,
        document.title,
        document.text,
        json.dumps(listed) if listed else None,
    )


def read_pairs(path: Path, partition: Partition) -> PartitionPairs:
    """The pairs of a partition; `BadInput` where the file is not as it was written."""
    with file_problems(path):
        is_whole = path.is_file() and sha256_of(path) == partition.sha256
    if not is_whole:
        problem = "is damaged" if path.is_file() else "is not there"
        raise BadInput(f"{path}: this partition {problem}; write the partitions to a new folder")
    pairs, positions = list[Pair](), list[int]()
    queries, documents, lists = dict[str, Query](), dict[str, Document](), dict[Pair, Any]()
    for position, query_id, query, *topic, doc_id, title, text, listed in _rows(path, PAIRS):
        pair = Pair(query_id, doc_id)
        pairs.append(pair)
        positions.append(position)
        if query_id not in queries:
            queries[query_id] = Query(query_id, query, dict(zip(TOPIC, topic, strict=True)))
        if doc_id not in documents:
            documents[doc_id] = Document(doc_id, text, title)
        if listed:
            lists[pair] = tuple(json.loads(listed))
    return PartitionPairs(pairs, positions, Texts(queries, documents), lists)


def read_positions(path: Path) -> dict[Pair, int]:
    """Where the pairs of a partition stand in the set."""
    rows = _rows(path, ["position", "query_id", "doc_id"])
    return {Pair(query_id, doc_id): position for position, query_id, doc_id in rows}


def write_judged(path: Path, positions: Sequence[int], judged: Sequence[Judged]) -> None:
    """Write the judgements of a partition, whole or not at all."""
    with parquet_writer(path, JUDGEMENTS) as write:
        for start in range(0, len(judged), ROWS_AT_ONCE):
            some = zip(
                positions[start : start + ROWS_AT_ONCE],
                judged[start : start + ROWS_AT_ONCE],
                strict=True,
            )
            write(list(zip(*(_judged_row(*each) for each in some), strict=True)))


def _judged_row(position: int, judged: Judged) -> tuple[Any, ...]:
    outcome, listed = judged.outcome, judged.listed
    if isinstance(outcome, Failure):
        outcome_cells: tuple[Any, ...] = (None, outcome.status, None, outcome.detail, None)
    else:
        shares = json.dumps(dict(outcome.distribution)) if outcome.distribution else None
        outcome_cells = (outcome.grade, JUDGED, outcome.reason, None, shares)
    return (
        position,
        *outcome.pair,
        *outcome_cells,
        judged.attempts,
        judged.prompt_tokens,
        judged.completion_tokens,
        judged.cached_tokens,
        judged.cost,
        judged.model,
        judged.remembered,
        judged.shared,
        json.dumps(judged.suspicions) if judged.suspicions else None,
        json.dumps(listed.documents) if listed else None,
        listed.alone if listed else False,
        *(json.dumps(getattr(outcome, name, ())) for name in ("votes", "passages")),
        json.dumps(dict(judged.sent)),
    )


def read_judged(path: Path) -> Iterator[tuple[int, Judged]]:
    """The judgements of a partition, each with its pair's position in the set."""
    with _as_written(path):
        for row in _rows(path, JUDGEMENTS):
            yield row[0], _judged(row)


def statuses_in(path: Path) -> Counter[str]:
    """How many pairs of a partition have no grade, by the status of their failure."""
    with _as_written(path):
        statuses = Counter(status for (status,) in _rows(path, ["status"]))
    del statuses[JUDGED]
    return statuses


def _judged(row: tuple[Any, ...]) -> Judged:
    _, query_id, doc_id, grade, status, reason, detail, shares, *rest = row
    attempts, tokens_in, tokens_out, cached, cost, model, remembered, shared, *more = rest
    suspicions, listed, alone, *made_of, sent = more
    pair = Pair(query_id, doc_id)
    outcome: Judgement | Failure
    if status == JUDGED:
        distribution = {int(g): p for g, p in json.loads(shares).items()} if shares else None
        votes, passages = (tuple(json.loads(grades)) for grades in made_of)
        outcome = Judgement(pair, int(grade), reason, distribution, votes, passages)
    else:
        outcome = Failure(pair, status, detail)
    documents = tuple(json.loads(listed)) if listed else ()
    return Judged(
        outcome,
        attempts,
        tokens_in,
        tokens_out,
        cost,
        model,
        remembered,
        shared,
        tuple(json.loads(suspicions)) if suspicions else (),
        Listed(documents, documents.index(doc_id) + 1, alone) if documents else None,
        cached,
        sent=json.loads(sent),
    )


def _rows(path: Path, columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    names = list(columns)
    for batch in batches_of_parquet(path, names, is_shared=False):
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


@contextmanager
def _as_written(path: Path) -> Iterator[None]:
    """`BadInput` of judgements that are not as `write_judged` writes them."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput(f"{path}: no judgements of a partition; remove it, and run again") from error
    except BadInput as error:
        raise BadInput(f"{error}; remove it, and run again") from error
