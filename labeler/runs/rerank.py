"""`rerank`: the first documents of a run in the order of a model that reads them, as a new run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from labeler.collection.card import check_made, read_card
from labeler.collection.corpus import documents_of
from labeler.collection.layout import AnyCollection, Collection, locked, open_collection, safe_name
from labeler.collection.queries import query_texts
from labeler.collection.user_files import run_name
from labeler.collection.whose import models_behind
from labeler.data import Document, Run
from labeler.errors import BadInput, CallFailed, Misuse, ProviderError, Retryable, Stopped
from labeler.exchange.runs import read_run
from labeler.files.jsonl import JsonObject
from labeler.messages import count_of, no_query_in_common, squeezed
from labeler.model import Model, Request, status_of_ending
from labeler.models.call_plan import CallPlan, plan_calls
from labeler.models.policies.limits import Spending, WithCost
from labeler.models.server.answers import parsed
from labeler.models.session import (
    Act,
    CallOptions,
    Control,
    Session,
    each_done,
    open_session,
    select_model,
    sync,
)
from labeler.models.settings import AnyModel
from labeler.options import COUNT, Bounds, check_options, given, option
from labeler.prompt import Prompt, find_prompt, object_schema
from labeler.report.result import Result
from labeler.runs.retrieve import check_run_name
from labeler.runs.retrieve_run import keep_run
from labeler.text.languages import first_words
from labeler.trec.files import ranking, read_tag

# A re-ranked run: what it was made of, its file, and its entry in the card.


@dataclass(frozen=True, eq=False, repr=False)
class RerankResult(WithCost, Result):
    """The new run, and how many windows an LLM ordered; `untouched` ones kept their order.

    `spent` is what this took; `is_priced` says whether the price of a call is known.
    """

    run: Path
    queries: int
    documents: int
    windows: int
    untouched: int
    spent: Spending
    is_priced: bool

    def as_json(self) -> JsonObject:
        """The counts, the file, and what the calls took."""
        return self.picked(
            *("run", "queries", "documents", "windows", "untouched", "cost"),
            calls=self.spent.calls,
            tokens=self.spent.tokens,
        )


class RerankSource(NamedTuple):
    """A run to re-rank: its file, its rankings, the queries' texts, and the first documents."""

    path: Path
    run: Run
    queries: Mapping[str, str]
    tops: Mapping[str, list[Document]]


# Re-ranking by an LLM that is shown several passages at once: a window slides from the last to the
# first of a ranking, so that what is good climbs. After Sun et al. (EMNLP 2023), RankGPT.

TRIES = 2
"""Calls for a window: a reply that is no order of its passages is asked for once more."""

_SCHEMA = object_schema({"order": {"type": "array", "items": {"type": "integer"}}})


class _Order(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    order: list[int]


WINDOWS = "What the model is shown"
SEVERAL = Bounds(2, 10**9)


@dataclass(frozen=True, slots=True)
class Windows:
    """How much of a ranking a model orders: `depth` documents, `size` at once, moved by `step`.

    Of each document it is shown the first `words`.
    """

    depth: int = option(50, "Documents to order.", SEVERAL, panel=WINDOWS)
    size: int = option(20, "Documents of each call.", SEVERAL, flags="--window", panel=WINDOWS)
    step: int = option(10, "By how many the window moves.", COUNT, panel=WINDOWS)
    words: int = option(150, "Words of each document.", COUNT, flags="--shown-words", panel=WINDOWS)

    def __post_init__(self) -> None:
        check_options(self)
        if self.step > self.size:
            raise Misuse(
                f"a window of {self.size} that moves by {self.step} leaves documents out",
                parameter="step",
            )

    def starts(self, documents: int) -> list[int]:
        """Where the windows over so many documents begin, the last of the ranking first."""
        if documents < 2:
            return []
        starts = [max(0, documents - self.size)]
        while starts[-1]:
            starts.append(max(0, starts[-1] - self.step))
        return starts


def window_request(
    prompt: Prompt, query: str, documents: Sequence[Document], words: int
) -> Request:
    """The request for the order of some documents."""
    passages = "\n\n".join(
        f"[{number}] {_shown(document, words)}" for number, document in enumerate(documents, 1)
    )
    values = {"query": query, "passages": passages, "count": str(len(documents))}
    return Request(prompt.render(values), prompt.front.parameters, _SCHEMA)


def _shown(document: Document, words: int) -> str:
    text = f"{document.title}: {document.text}" if document.title else document.text
    return first_words(text, words)


@dataclass(slots=True)
class ListwiseRanker:
    """Orders documents by what a model says; counts its windows and those it left as they were.

    `example` is the last reply that was no order; `advance` is called after each window. With
    `retry_failed`, replies of earlier runs that were none do not count, and more are asked for.
    """

    prompt: Prompt
    model: Model
    windows: Windows
    retry_failed: bool = False
    asked: int = 0
    untouched: int = 0
    example: str = ""
    advance: Callable[[], None] = lambda: None

    async def ranked(self, query: str, documents: Sequence[Document]) -> list[Document]:
        """The documents in the model's order; a window without a usable reply keeps its own."""
        ranking = list(documents)
        for start in self.windows.starts(len(ranking)):
            window = ranking[start : start + self.windows.size]
            order = await self._order(query, window)
            self.asked += 1
            self.untouched += order is None
            self.advance()
            if order is not None:
                ranking[start : start + len(window)] = [window[number - 1] for number in order]
        return ranking

    async def _order(self, query: str, window: Sequence[Document]) -> list[int] | None:
        """The numbers of a window's documents in the model's order; None where it gives none."""
        request = window_request(self.prompt, query, window, self.windows.words)
        left = TRIES
        while left > 0:
            try:
                reply = await self.model.ask(request)
            except Retryable:  # the server is gone: nothing is known of the window
                raise
            except CallFailed as error:
                self.example = str(error)
                return None
            answer = parsed(reply, _Order)
            if answer and sorted(answer.order) == list(range(1, len(window) + 1)):
                return answer.order
            self.example = reply.refusal or reply.text
            left -= not (self.retry_failed and reply.remembered)
            is_cut = status_of_ending(reply.finish_reason) == "truncated"
            request = request.again(is_longer=is_cut)
        return None


_SHOWN = 80


@dataclass(frozen=True, slots=True)
class RerankOptions(CallOptions):
    """Who orders the documents of a run, how many of them, and within which limits.

    `model` and `base_url` are as for judging. `windows` say what it is shown. A run of a user's own
    is replaced with `force`.
    """

    prompt: str = option("rerank", "A prompt's name, or a file's path.", panel=WINDOWS)
    model: AnyModel | None = None
    base_url: str | None = None
    windows: Windows = field(default_factory=Windows)
    force: bool = False


def arerank(
    collection: AnyCollection,
    run: Path | str,
    name: str,
    options: RerankOptions | None = None,
    *,
    control: Control | None = None,
    **settings: Any,
) -> Act[RerankResult, CallPlan]:
    """Write `runs/NAME.trec`: a run with its first documents in the order of a model.

    `run` is the name of one of the collection's, or a file. What follows the first documents keeps
    its order; scores are 1 over the rank. Replies are kept: the same call, made again, asks only
    for what is missing. `settings` are fields of `RerankOptions`.
    """
    opened = open_collection(collection)
    how = given(RerankOptions, options, settings)
    watch = control or Control()
    check_run_name(name)
    source = _source(opened, run, how.windows.depth)

    async def plan() -> CallPlan:
        async with _prepared(opened, source, how, watch, rehearsal=True) as (prompt, session):
            windows = how.windows
            every = [  # if no reply changed an order
                window_request(prompt, source.queries[query_id], window, windows.words)
                for query_id, top in source.tops.items()
                for window in (top[at : at + windows.size] for at in windows.starts(len(top)))
            ]
            replies = session.declared_model.recall(every)
            unasked = [r for r, reply in zip(every, replies, strict=True) if reply is None]
            return plan_calls(unasked, session, tries=TRIES)

    return Act(lambda: _rerank(opened, source, name, how, watch), plan)


rerank = sync(arerank)


async def _rerank(
    opened: Collection, source: RerankSource, name: str, how: RerankOptions, watch: Control
) -> RerankResult:
    if not how.force:
        check_made(opened, [opened.run(name)])
    before = replace(watch.spent)
    async with _prepared(opened, source, how, watch) as prepared:
        prompt, session = prepared
        ranker = ListwiseRanker(prompt, session.declared_model, how.windows, how.retry_failed)
        ranked = await _ordered(source, ranker, session, watch)
        choice = session.selection.choice
        is_priced = session.selection.price is not None
    if ranker.asked and ranker.untouched == ranker.asked:
        some = squeezed(ranker.example)[:_SHOWN]
        raise ProviderError(f"no reply is an order of the passages it was asked about, as {some!r}")
    old = run_name(source.path)
    entry = {
        "engine": "rerank",
        "of": old,
        "tag": f"{read_tag(source.path) or old}-rerank-{safe_name(choice.name)}",
        "models": [*models_behind(read_card(opened), old), choice.name],
        "model": choice.name,
        "prompt": prompt.id,
        "windows": ranker.asked,
        "untouched": ranker.untouched,
        "depth": how.windows.depth,
    }
    # all documents of a query: those in their new order, then the others as they were
    orders = {q: dict.fromkeys([*ranked[q], *ranking(dict(source.run[q]))]) for q in source.run}
    new = {q: {d: 1 / rank for rank, d in enumerate(order, 1)} for q, order in orders.items()}
    with locked(opened, watch.note):
        path = keep_run(opened, name, new, entry, force=how.force)
    return RerankResult(
        path,
        len(new),
        sum(map(len, new.values())),
        ranker.asked,
        ranker.untouched,
        watch.spent.since(before),
        is_priced,
    )


@asynccontextmanager
async def _prepared(
    collection: Collection,
    source: RerankSource,
    options: RerankOptions,
    control: Control,
    *,
    rehearsal: bool = False,
) -> AsyncIterator[tuple[Prompt, Session]]:
    prompt = find_prompt(options.prompt, "rank")
    asked = options.session_of(options.model, options.base_url, rehearsal=rehearsal)
    selection = await select_model("rank", asked, control)
    documents = [document for top in source.tops.values() for document in top]
    async with open_session(selection, documents, collection.store, control) as session:
        yield prompt, session


def _source(collection: Collection, run: Path | str, depth: int) -> RerankSource:
    """The run that is meant, and the texts that a model will see; `BadInput` where some lack."""
    files = collection.run_files()
    path = files.get(str(run), Path(run))
    if not path.exists():
        names = ", ".join(files) or "none"
        raise Misuse(f"no run {str(run)!r}; the collection has: {names}", parameter="run")
    queries = query_texts(collection.queries)
    whole = read_run(path)
    rankings = {query_id: scores for query_id, scores in whole.items() if query_id in queries}
    if not rankings:
        raise BadInput(no_query_in_common(path, whole, collection.queries, queries))
    tops = {query_id: ranking(scores)[:depth] for query_id, scores in rankings.items()}
    ids = {doc_id for top in tops.values() for doc_id in top}
    documents = documents_of(collection.corpus, ids)
    if missing := ids - documents.keys():
        some = ", ".join(sorted(missing)[:3])
        verb = count_of(len(missing), "document is", "documents are")
        raise BadInput(f"{path}: {verb} not in {collection.corpus}: {some}")
    texts = {query_id: [documents[doc_id] for doc_id in top] for query_id, top in tops.items()}
    return RerankSource(path, rankings, queries, texts)


async def _ordered(
    source: RerankSource, ranker: ListwiseRanker, session: Session, control: Control
) -> dict[str, list[str]]:
    """The first documents of each query in the model's order.

    The windows of a query follow one another; several queries are asked about at once.
    """
    ranked = {}

    async def order(query_id: str) -> None:
        if control.stop.is_set():
            raise Stopped("stopped before all queries were re-ranked")
        ordered = await ranker.ranked(source.queries[query_id], source.tops[query_id])
        ranked[query_id] = [document.id for document in ordered]

    total = sum(len(ranker.windows.starts(len(top))) for top in source.tops.values())
    with control.progress("re-ranking") as advance:
        ranker.advance = lambda: advance(ranker.asked, total)
        await each_done(source.tops, order, session.at_once)
    return ranked
