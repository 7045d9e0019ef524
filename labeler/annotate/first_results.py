"""The first results of runs, as people look at them, and which queries they look at."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from labeler.annotate.passages import Folding, shown_line
from labeler.annotate.texts import GONE, PageTexts
from labeler.collection.choose import run_name
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput, Misuse
from labeler.evaluation.query_facts import QueryFields
from labeler.exchange.runs import read_run
from labeler.messages import count_of, no_query_in_common
from labeler.trec.order import ranking

DEPTH = 10
DEEPEST = 100
FOLDING = Folding(whole=80, window=60)
"""Ten documents stand below each other: a long one shows its best passage."""
NOTHING = "The system returned nothing for this query."


@dataclass(frozen=True)
class QueryDraw:
    """Which queries people look at, and how far down: `queries` of them, all where `None`.

    With `by`, a field of the queries' metadata, each of its groups gets as many queries as the
    others, so that small ones are seen too. The same seed draws the same queries, and more of them
    where more are asked for.
    """

    queries: int | None = None
    depth: int = DEPTH
    by: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= DEEPEST:
            problem = f"expected a depth of 1 to {DEEPEST}, found {self.depth}"
            raise Misuse(problem, parameter="depth")


class DrawnQuery(NamedTuple):
    """A query to look at, the chance with which a draw like this holds it, and its group."""

    query_id: str
    probability: float
    stratum: str = ""


Firsts = dict[str, tuple[str, ...]]
"""Query id to the ids of the first documents of a run, best first."""


def named_run(collection: Collection, run: str | Path, parameter: str) -> tuple[str, Path]:
    """The name and the file of a run of the collection, or of a file that somebody named."""
    files = collection.run_files()
    if str(run) in files:
        return str(run), files[str(run)]
    if Path(run).is_file():
        return run_name(Path(run)), Path(run)
    names, close = ", ".join(files) or "none", get_close_matches(str(run), files, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    problem = f"{collection.folder} has no run {str(run)!r}; {hint}there are: {names}"
    raise Misuse(problem, parameter=parameter)


def first_results(collection: Collection, path: Path, depth: int) -> Firsts:
    """The first documents of a run for each of the collection's queries that it answers."""
    queries = read_queries(collection.queries)
    run = read_run(path)
    if not run:
        raise BadInput(f"{path}: the run holds no query")
    common = {query_id: run[query_id] for query_id in queries if query_id in run}
    if not common:
        raise BadInput(no_query_in_common(path, list(run), collection.queries, list(queries)))
    return {query_id: tuple(ranking(scores)[:depth]) for query_id, scores in common.items()}


def drawn_queries(
    collection: Collection, queries: Iterable[str], draw: QueryDraw
) -> list[DrawnQuery]:
    """The queries to look at, in a random order in which every beginning is a random sample."""
    every = sorted(queries, key=lambda query_id: _number(draw.seed, query_id))
    if draw.queries is not None and not 0 < draw.queries <= len(every):
        whole = count_of(len(every), "query", "queries")
        problem = f"cannot draw {draw.queries:,} of {whole}"
        raise Misuse(problem, parameter="queries")
    strata = strata_of(collection, every, draw.by)
    sizes = Counter(strata.values())
    asked_for = _shared_out(sizes, len(every) if draw.queries is None else draw.queries)
    # the n-th query of a group comes when its group has had that share of its queries
    turn: Counter[str] = Counter()
    placed = []
    for number, query_id in enumerate(every):
        stratum = strata[query_id]
        turn[stratum] += 1
        if turn[stratum] <= asked_for[stratum]:
            row = DrawnQuery(query_id, asked_for[stratum] / sizes[stratum], stratum)
            placed.append(
                ((turn[stratum] - 0.5) / asked_for[stratum] if draw.by else 0.0, number, row)
            )
    return [row for _, _, row in sorted(placed)]


def strata_of(collection: Collection, queries: Sequence[str], by: str) -> dict[str, str]:
    """The group of each query by a field of its metadata; one group without a field."""
    if not by:
        return dict.fromkeys(queries, "")
    path = collection.queries
    fields = QueryFields({q.id: q.metadata for q in read_queries(path).values()}, str(path))
    groups = fields.groups(by, queries)
    return {query_id: groups[query_id] for query_id in queries}


def _shared_out(sizes: Mapping[str, int], queries: int) -> dict[str, int]:
    """How many queries of each group: as many of each, and all of a group that has fewer."""
    left, asked_for = queries, {}
    for position, (stratum, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        asked_for[stratum] = min(size, max(left // (len(sizes) - position), 0))
        left -= asked_for[stratum]
    for stratum in sorted(sizes, key=lambda name: (-sizes[name], name)):
        more = min(left, sizes[stratum] - asked_for[stratum])
        asked_for[stratum] += more
        left -= more
    return asked_for


def _number(seed: int, query_id: str) -> str:
    return hashlib.sha256(f"{seed}\0{query_id}".encode()).hexdigest()


def digest_of(*firsts: Sequence[str]) -> str:
    """Eight hex digits of lists of documents: an answer is about these, and no others."""
    whole = "\0\0".join("\0".join(documents) for documents in firsts)
    return hashlib.sha256(whole.encode()).hexdigest()[:8]


def results_shown(
    texts: PageTexts, query_id: str, documents: Sequence[str]
) -> list[dict[str, Any]]:
    """The first results of a query as JSON for the page."""
    return [
        {"rank": rank, "document": _document(texts, query_id, doc_id)}
        for rank, doc_id in enumerate(documents, start=1)
    ]


def _document(texts: PageTexts, query_id: str, doc_id: str) -> Mapping[str, Any]:
    if doc_id in texts.documents:
        return texts.document(doc_id, query_id, FOLDING)
    empty = {
        "id": shown_line(doc_id),
        "title": "",
        "path": "",
        "paragraphs": [],
        "words": 0,
        "language": None,
    }
    return {**empty, "notice": GONE}


def identity_of_results(texts: PageTexts, query_id: str, documents: Iterable[str]) -> str:
    """What identifies the texts of a query and its first results, those that are there."""
    return texts.identity(query_id, *(doc_id for doc_id in documents if doc_id in texts.documents))
