"""Pages of results for people to look at: those of one run, or of two side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from labeler.annotate.journal import RatingJournal
from labeler.annotate.passages import GONE, Folding, PageTexts, shown_line
from labeler.annotate.session import RaterAnswer, RatingItem, RatingSession, RatingTask
from labeler.collection.annotations import journal_path
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.collection.user_files import run_name
from labeler.errors import BadInput, Misuse
from labeler.exchange.runs import read_run
from labeler.messages import Note, count_of, no_query_in_common
from labeler.options import COUNT, DEPTH_LOOKED_AT, SEED, Options, option
from labeler.trec.runs import ranking

# The first results of runs, as people look at them, and which queries they look at.

DEPTH = 10
FOLDING = Folding(whole=80, window=60)
"""Ten documents stand below each other: a long one shows its best passage."""


LOOK = "Pages of results"


@dataclass(frozen=True)
class QueryDraw(Options):
    """Which queries people look at, and how far down: `queries` of them, all where `None`.

    The same seed draws the same queries, and more of them where more are asked for.
    """

    queries: int | None = option(None, "Draw so many queries (default: all).", COUNT, panel=LOOK)
    depth: int = option(DEPTH, "Results of each query.", DEPTH_LOOKED_AT, panel=LOOK)
    seed: int = option(0, "Decides which queries are drawn.", SEED, rare=True)

    def of(self, queries: Sequence[str]) -> list[str]:
        """The queries to look at, in a random order in which every beginning is a sample."""
        if self.queries is not None and not 0 < self.queries <= len(queries):
            whole = count_of(len(queries), "query", "queries")
            raise Misuse(f"cannot draw {self.queries:,} of {whole}", parameter="queries")
        return sorted(queries, key=lambda query_id: _digest(f"{self.seed}\0{query_id}"))[
            : self.queries
        ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


Firsts = dict[str, tuple[str, ...]]
"""Query id to the ids of the first documents of a run, best first."""


def named_run(collection: Collection, run: str | Path, parameter: str) -> tuple[str, Path]:
    """The name and the file of a run of the collection, or of a file that somebody named."""
    files = collection.run_files()
    if str(run) in files:
        return str(run), files[str(run)]
    if Path(run).is_file():
        return run_name(Path(run)), Path(run)
    names = ", ".join(files) or "none"
    problem = f"{collection.folder} has no run {str(run)!r}; there are: {names}"
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


class ResultPages(NamedTuple):
    """The first results of a run, or of two side by side, as people look at them.

    `firsts` has those of each run for every query that one of them answers. `alike` are the queries
    for which two runs show the same documents in the same order: nobody is asked about them, and
    they are ties.
    """

    names: tuple[str, ...]
    paths: tuple[Path, ...]
    firsts: Mapping[str, Firsts]
    queries: tuple[str, ...]
    alike: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["lgtm", "side-by-side"]:
        """What is asked: whether the results of one run are good, or which of two are better."""
        return "lgtm" if len(self.names) == 1 else "side-by-side"

    @property
    def asked(self) -> list[str]:
        """The queries that people are asked about."""
        alike = set(self.alike)
        return [query_id for query_id in self.queries if query_id not in alike]

    def item_id(self, query_id: str) -> str:
        """The id of the question about these results, whichever run is named first."""
        firsts = (self.firsts[name][query_id] for name in sorted(self.names))
        return f"{query_id}#{_digest(_joined(firsts))[:8]}"

    @property
    def sample(self) -> str:
        """The name under which answers are kept; the same whichever run is named first."""
        return " ".join(sorted(self.names))

    def sides(self, seed: int, rater: str, query_id: str) -> tuple[str, ...]:
        """The runs as they stand from left to right, each as likely left as the other."""
        names = tuple(sorted(self.names))
        whole = "\0".join((str(seed), rater, query_id, *names))
        is_turned = len(names) > 1 and int(_digest(whole)[:2], 16) >= 128
        return names[::-1] if is_turned else names


def result_pages(
    collection: Collection, runs: Sequence[str | Path], depth: int, parameter: str = "runs"
) -> ResultPages:
    """The first results of a run, or of two; `Misuse` where two are one, or nowhere differ."""
    named = dict(named_run(collection, run, parameter) for run in runs)
    names = tuple(named)
    if len(names) < len(runs):
        raise Misuse(f"expected two runs, found {names[0]!r} twice", parameter=parameter)
    results = [first_results(collection, path, depth) for path in named.values()]
    if not set(results[0]).intersection(*results):
        raise BadInput(f"{' and '.join(names)} answer no query in common")
    # a query that one of them alone answers is one for which the other returned nothing
    queries = tuple({query_id: None for of in results for query_id in of})
    firsts = {
        name: {query_id: of.get(query_id, ()) for query_id in queries}
        for name, of in zip(names, results, strict=True)
    }
    pages = ResultPages(names, tuple(named.values()), firsts, queries)
    if len(names) == 1:
        return pages
    first, second = firsts.values()
    alike = tuple(query_id for query_id in queries if first[query_id] == second[query_id])
    if len(alike) == len(queries):
        those = count_of(len(queries), "query", "queries")
        problem = f"{' and '.join(names)} show the same first {depth} documents for all {those}"
        raise Misuse(f"{problem}: there is nothing to compare", parameter="depth")
    return pages._replace(alike=alike)


def _joined(firsts: Iterable[Sequence[str]]) -> str:
    return "\0\0".join("\0".join(documents) for documents in firsts)


INSTRUCTIONS = {
    "lgtm": """\
Look at the results as whoever typed the query would: from the top, and no longer than they would.
Good means that they would be content with this page and stop searching.
Not good means that they would try again, or give up.
Judge the page as a whole: one poor result among good ones may do no harm.
Where you cannot tell, say so and why.
""",
    "side-by-side": """\
Two systems answered the same query. Which page of results would serve whoever typed it better?
Look from the top, and no longer than they would.
Which system stands left is drawn anew for every query: it says nothing.
Say that they are as good as each other where you would not mind which one you got.
Where you cannot tell, say so and why.
""",
}
ANSWERS = {"lgtm": ("good", "not"), "side-by-side": ("left", "right", "tie")}
NOTHING = "The system returned nothing for this query."
EMPTY = "The system on the {} returned nothing for this query."


def look_task(
    collection: Collection, pages: ResultPages, rater: str, draw: QueryDraw
) -> RatingTask:
    """The drawn queries with their results as a rater's task; who stands left is kept here.

    An answer holds for the results that were shown: where a run's first results of a query change,
    that query is asked about again.
    """
    texts, asked = PageTexts(collection), draw.of(pages.asked)
    probability = len(asked) / len(pages.asked)
    items = [RatingItem(pages.item_id(query), query, "", probability) for query in asked]

    def shown(item: RatingItem) -> dict[str, Sequence[str]]:
        """The documents by where they stand on the page."""
        at = ("left", "right") if len(pages.names) > 1 else ("results",)
        names = pages.sides(draw.seed, rater, item.query_id)
        return {side: pages.firsts[n][item.query_id] for side, n in zip(at, names, strict=True)}

    def show(item: RatingItem) -> Mapping[str, Any]:
        documents = shown(item)
        empty = [side for side, ids in documents.items() if not ids]
        text = NOTHING if "results" in documents else EMPTY.format(*empty or [""])
        results = {
            side: [
                {"rank": rank, "document": _document(texts, item.query_id, doc_id)}
                for rank, doc_id in enumerate(ids, start=1)
            ]
            for side, ids in documents.items()
        }
        notice = {"notice": text} if empty else {}
        return {"query": texts.query(item.query_id), **results, **notice}

    def check(item: RatingItem, answer: RaterAnswer) -> Mapping[str, Any]:
        allowed = ANSWERS[pages.kind]
        if not answer.cannot_judge and answer.answer not in allowed:
            raise Misuse(f"expected one of the answers {', '.join(allowed)}")
        if len(pages.names) == 1:
            return {"documents": list(*shown(item).values()), "depth": draw.depth}
        left, right = pages.sides(draw.seed, rater, item.query_id)
        return {"left": left, "right": right, "depth": draw.depth}

    def identity(item: RatingItem) -> str:
        """What identifies the texts of a query and its results, those that are there."""
        ids = (doc_id for name in pages.names for doc_id in pages.firsts[name][item.query_id])
        return texts.identity(item.query_id, *(each for each in ids if each in texts.documents))

    alike = count_of(len(pages.alike), "query", "queries")
    same = f"{alike} of {len(pages.queries):,} not asked about: both show the same"
    return RatingTask(
        pages.kind,
        "audit",
        pages.sample,
        items,
        show,
        check,
        identity,
        session={"scale": [], "instructions": INSTRUCTIONS[pages.kind], "depth": draw.depth},
        notes=(same,) if pages.alike else (),
    )


def _document(texts: PageTexts, query_id: str, doc_id: str) -> Mapping[str, Any]:
    if doc_id in texts.documents:
        return texts.document(doc_id, query_id, FOLDING)
    empty = {"title": "", "path": "", "paragraphs": [], "words": 0, "language": None}
    return {"id": shown_line(doc_id), **empty, "notice": GONE}


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
    collection: AnyCollection,
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
    if (choice.lgtm is None) == (choice.side_by_side is None):
        raise Misuse("expected one run to look at, or two side by side", parameter="lgtm")
    runs = choice.side_by_side or (str(choice.lgtm),)
    parameter = "side_by_side" if choice.side_by_side else "lgtm"
    pages = result_pages(opened, runs, choice.draw.depth, parameter)
    tasks = [look_task(opened, pages, rater, choice.draw) for rater in raters]
    for line in dict.fromkeys(line for task in tasks for line in task.notes):
        note(line)
    return [
        RatingSession(rater, task, RatingJournal(journal_path(opened, rater)))
        for rater, task in zip(raters, tasks, strict=True)
    ]
