"""Pages of results for people to look at: those of one run, or of two side by side."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from labeler.annotate.journal import RatingJournal
from labeler.annotate.passages import GONE, Folding, PageTexts, shown_line
from labeler.annotate.session import RaterAnswer, RatingItem, RatingSession, RatingTask
from labeler.collection.annotations import journal_path
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import Note
from labeler.collection.queries import read_queries
from labeler.collection.user_files import run_name
from labeler.errors import BadInput, Misuse
from labeler.evaluation.query_facts import QueryFields
from labeler.exchange.runs import read_run
from labeler.messages import count_of, no_query_in_common
from labeler.options import COUNT, DEPTH_LOOKED_AT, SEED, Option, check_options, option
from labeler.trec.runs import ranking

# The first results of runs, as people look at them, and which queries they look at.

DEPTH = 10
FOLDING = Folding(whole=80, window=60)
"""Ten documents stand below each other: a long one shows its best passage."""
NOTHING = "The system returned nothing for this query."


LOOK, STATUS = "Pages of results", "What the answers say"
WEIGHTS = Option(
    "Of runs: what a query counts, by a field of its metadata.",
    metavar="FIELD",
    panel=STATUS,
    rare=True,
)
QRELS = Option(
    "Of runs: the qrels of the measure beside (default: human).",
    metavar="NAME",
    panel=STATUS,
    rare=True,
)
MEASURE = Option(
    "Of runs: the measure beside (default: nDCG at the depth).", panel=STATUS, rare=True
)
"""How answers about pages of results are read."""


@dataclass(frozen=True)
class QueryDraw:
    """Which queries people look at, and how far down: `queries` of them, all where `None`.

    With `by`, a field of the queries' metadata, each of its groups gets as many queries as the
    others, so that small ones are seen too. The same seed draws the same queries, and more of them
    where more are asked for.
    """

    queries: int | None = option(None, "Draw so many queries (default: all).", COUNT, panel=LOOK)
    depth: int = option(DEPTH, "Results of each query.", DEPTH_LOOKED_AT, panel=LOOK)
    by: str = option(
        "",
        "Draw as many queries of each group, by a field of their metadata.",
        metavar="FIELD",
        panel=LOOK,
        rare=True,
    )
    seed: int = option(0, "Decides which queries are drawn.", SEED, rare=True)

    def __post_init__(self) -> None:
        check_options(self)


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


# The task of looking at a run: a query with its first ten results, good or not.

LGTM_INSTRUCTIONS = """\
Look at the results as whoever typed the query would: from the top, and no longer than they would.
Good means that they would be content with this page and stop searching.
Not good means that they would try again, or give up.
Judge the page as a whole: one poor result among good ones may do no harm.
Where you cannot tell, say so and why.
"""


def lgtm_task(collection: Collection, run: str | Path, draw: QueryDraw | None = None) -> RatingTask:
    """The drawn queries of a run as a task; an answer holds for the results that were shown.

    Where the run's first results of a query change, that query is asked about again.
    """
    draw = draw or QueryDraw()
    name, path = named_run(collection, run, "lgtm")
    firsts, texts = first_results(collection, path, draw.depth), PageTexts(collection)
    drawn = {row.query_id: row for row in drawn_queries(collection, firsts, draw)}
    items = [
        RatingItem(item_id(query_id, firsts), query_id, "", row.probability)
        for query_id, row in drawn.items()
    ]

    def show(item: RatingItem) -> Mapping[str, Any]:
        documents = firsts[item.query_id]
        notice = {} if documents else {"notice": NOTHING}
        results = results_shown(texts, item.query_id, documents)
        return {"query": texts.query(item.query_id), "results": results, **notice}

    def check(item: RatingItem, answer: RaterAnswer) -> Mapping[str, Any]:
        if not answer.cannot_judge and answer.answer not in ("good", "not"):
            raise Misuse("expected one of the answers good, not")
        documents = list(firsts[item.query_id])
        return {"documents": documents, "depth": draw.depth, "by": draw.by}

    return RatingTask(
        "lgtm",
        "audit",
        name,
        items,
        show,
        check,
        lambda item: identity_of_results(texts, item.query_id, firsts[item.query_id]),
        session={"scale": [], "instructions": LGTM_INSTRUCTIONS, "depth": draw.depth},
    )


def item_id(query_id: str, firsts: Firsts) -> str:
    """The id of the question whether these results of a query are good."""
    return f"{query_id}#{digest_of(firsts[query_id])}"


# The task of comparing two runs: their first results for a query side by side, names hidden.

SIDE_BY_SIDE_INSTRUCTIONS = """\
Two systems answered the same query. Which page of results would serve whoever typed it better?
Look from the top, and no longer than they would.
Which system stands left is drawn anew for every query: it says nothing.
Say that they are as good as each other where you would not mind which one you got.
Where you cannot tell, say so and why.
"""
EMPTY = "The system on the {} returned nothing for this query."


class RunsSideBySide(NamedTuple):
    """The first results of two runs for the queries that one of them answers, or both.

    `alike` are the queries for which both show the same documents in the same order: nobody is
    asked about them, and they are ties.
    """

    names: tuple[str, str]
    firsts: tuple[Firsts, Firsts]
    alike: tuple[str, ...]
    queries: tuple[str, ...]

    @property
    def apart(self) -> list[str]:
        """The queries whose results differ."""
        alike = set(self.alike)
        return [query_id for query_id in self.queries if query_id not in alike]

    def item_id(self, query_id: str) -> str:
        """The id of the question which of these two lists is better, in either order."""
        by_name = sorted(zip(self.names, self.firsts, strict=True))
        return f"{query_id}#{digest_of(*(firsts[query_id] for _, firsts in by_name))}"

    @property
    def sample(self) -> str:
        """The name under which answers are kept; the same whichever run is named first."""
        return " ".join(sorted(self.names))


def two_runs(
    collection: Collection, first: str | Path, second: str | Path, depth: int
) -> RunsSideBySide:
    """The first results of two runs; `Misuse` where they are one, or nowhere differ."""
    named = [named_run(collection, run, "side_by_side") for run in (first, second)]
    names = (named[0][0], named[1][0])
    if names[0] == names[1]:
        problem = f"expected two runs, found {names[0]!r} twice"
        raise Misuse(problem, parameter="side_by_side")
    results = [first_results(collection, path, depth) for _, path in named]
    if not results[0].keys() & results[1].keys():
        raise BadInput(f"{names[0]} and {names[1]} answer no query in common")
    # a query that one of them alone answers is one for which the other returned nothing
    queries = tuple({**results[0], **results[1]})
    results = [{query_id: of.get(query_id, ()) for query_id in queries} for of in results]
    alike = tuple(q for q in queries if results[0][q] == results[1][q])
    if len(alike) == len(queries):
        those = count_of(len(queries), "query", "queries")
        problem = f"{names[0]} and {names[1]} show the same first {depth} documents"
        raise Misuse(f"{problem} for all {those}: there is nothing to compare", parameter="depth")
    return RunsSideBySide(names, (results[0], results[1]), alike, queries)


def left_run(names: tuple[str, str], seed: int, rater: str, query_id: str) -> str:
    """Which of two runs stands left for a rater and a query, each as likely as the other."""
    low, high = sorted(names)
    whole = "\0".join((str(seed), rater, query_id, low, high))
    return low if hashlib.sha256(whole.encode()).digest()[0] < 128 else high


def side_by_side_task(
    collection: Collection,
    first: str | Path,
    second: str | Path,
    rater: str,
    draw: QueryDraw | None = None,
) -> RatingTask:
    """The drawn queries whose results differ, as a rater's task; who stands left is kept here."""
    draw = draw or QueryDraw()
    runs, texts = two_runs(collection, first, second, draw.depth), PageTexts(collection)
    by_name = dict(zip(runs.names, runs.firsts, strict=True))
    items = [
        RatingItem(runs.item_id(row.query_id), row.query_id, "", row.probability)
        for row in drawn_queries(collection, runs.apart, draw)
    ]

    def sides(query_id: str) -> tuple[str, str]:
        left = left_run(runs.names, draw.seed, rater, query_id)
        return left, next(name for name in runs.names if name != left)

    def show(item: RatingItem) -> Mapping[str, Any]:
        left, right = (
            results_shown(texts, item.query_id, by_name[name][item.query_id])
            for name in sides(item.query_id)
        )
        empty = [side for side, results in (("left", left), ("right", right)) if not results]
        notice = {"notice": EMPTY.format(empty[0])} if empty else {}
        return {"query": texts.query(item.query_id), "left": left, "right": right, **notice}

    def check(item: RatingItem, answer: RaterAnswer) -> Mapping[str, Any]:
        if not answer.cannot_judge and answer.answer not in ("left", "right", "tie"):
            raise Misuse("expected one of the answers left, right, tie")
        left, right = sides(item.query_id)
        return {"left": left, "right": right, "depth": draw.depth, "by": draw.by}

    def identity(item: RatingItem) -> str:
        both = (doc_id for name in runs.names for doc_id in by_name[name][item.query_id])
        return identity_of_results(texts, item.query_id, both)

    alike = count_of(len(runs.alike), "query", "queries")
    same = f"{alike} of {len(runs.queries):,} not asked about: both show the same"
    return RatingTask(
        "side-by-side",
        "audit",
        runs.sample,
        items,
        show,
        check,
        identity,
        session={"scale": [], "instructions": SIDE_BY_SIDE_INSTRUCTIONS, "depth": draw.depth},
        notes=(same,) if runs.alike else (),
    )


@dataclass(frozen=True)
class LookChoice:
    """What is looked at: `lgtm` names a run, `side_by_side` two; and the queries that are drawn."""

    lgtm: str | None = option(
        None,
        "A query and its first results: good or not? That gives LGTM@10.",
        metavar="RUN",
        panel=LOOK,
    )
    side_by_side: tuple[str, str] | None = option(
        None,
        "The first results of two runs, names hidden: which are better?",
        metavar="A B",
        panel=LOOK,
    )
    draw: QueryDraw = field(default_factory=QueryDraw)

    @property
    def is_asked_for(self) -> bool:
        """Whether pages of results are looked at, and not pairs graded."""
        return self.lgtm is not None or self.side_by_side is not None


def look_sessions(
    collection: Collection | Path | str,
    choice: LookChoice,
    raters: Sequence[str],
    note: Note = lambda _line: None,
) -> list[RatingSession]:
    """A session for each rater, to be served; all of them look at the same queries.

    >>> from labeler.annotate.session import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> collection.run("bm25").parent.mkdir()
    >>> _ = collection.run("bm25").write_text("q1 Q0 cats 1 2.5 bm25\\nq2 Q0 cats 1 1.5 bm25\\n")
    >>> (session,) = look_sessions(collection, LookChoice(lgtm="bm25"), ["anna"])
    >>> item = session.state()["item"]
    >>> [result["document"]["id"] for result in item["results"]]
    ['cats']
    >>> session.answer(RaterAnswer(item["id"], answer="good"))["progress"]["done"]
    1
    """
    opened = open_collection(collection)
    tasks = [_task(opened, choice, rater) for rater in raters]
    for line in dict.fromkeys(line for task in tasks for line in task.notes):
        note(line)
    return [
        RatingSession(rater, task, RatingJournal(journal_path(opened, rater)))
        for rater, task in zip(raters, tasks, strict=True)
    ]


def _task(collection: Collection, choice: LookChoice, rater: str) -> RatingTask:
    if (choice.lgtm is None) == (choice.side_by_side is None):
        raise Misuse("expected one run to look at, or two side by side", parameter="lgtm")
    if choice.side_by_side is not None:
        return side_by_side_task(collection, *choice.side_by_side, rater, choice.draw)
    return lgtm_task(collection, str(choice.lgtm), choice.draw)
