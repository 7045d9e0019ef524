"""`rerank`: the first documents of a run in the order of a model that reads them, as a new run."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler.collection.corpus import documents_of
from labeler.collection.layout import Collection, open_collection, safe_name
from labeler.collection.provenance import check_made
from labeler.collection.queries import read_queries
from labeler.errors import BadInput, Misuse, ProviderError, Stopped
from labeler.exchange.runs import read_run
from labeler.messages import count_of, no_query_in_common
from labeler.models.call_plan import CallPlan, plan_calls
from labeler.models.control import Control
from labeler.models.cross_encoder import CrossEncoder, Score, load_cross_encoder, remembering
from labeler.models.limits import Limits
from labeler.models.loop import run_to_end
from labeler.models.session import Session, SessionOptions, open_session, select_model
from labeler.models.settings import AnyModel
from labeler.prompt import Prompt, find_prompt
from labeler.runs.listwise import TRIES, ListwiseRanker, Windows, window_requests
from labeler.runs.reranked import Ordering, RerankResult, RerankSource, write_reranked
from labeler.runs.retrieve_run import check_run_name
from labeler.store.vectors import VectorFile
from labeler.text.terms import text_to_search
from labeler.trec.order import ranking

_SHOWN = 80
_LONGEST = 100
"""Characters of a model's name in the name of a file."""


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """Who orders the documents of a run, how many of them, and within which limits.

    `cross_encoder` is the folder of one; empty, an LLM is asked, `model` and `base_url` being as
    for judging. `windows` say what it is shown. A run of a user's own is replaced with `force`.
    With `retry_failed`, windows are asked about again whose replies were no order.
    """

    prompt: str = "rerank"
    model: AnyModel | None = None
    base_url: str | None = None
    cross_encoder: str = ""
    windows: Windows = field(default_factory=Windows)
    limits: Limits = field(default_factory=Limits)
    concurrency: int | None = None
    redact: bool = False
    force: bool = False
    retry_failed: bool = False

    def session(self, *, rehearsal: bool = False) -> SessionOptions:
        """Which model to ask, and how."""
        how = (self.limits, self.concurrency, self.redact)
        return SessionOptions(self.model, self.base_url, *how, rehearsal=rehearsal)


def rerank(
    collection: Collection | Path | str,
    run: Path | str,
    name: str,
    options: RerankOptions | None = None,
    control: Control | None = None,
) -> RerankResult:
    """Write `runs/NAME.trec`: a run with its first documents in the order of a model.

    `run` is the name of one of the collection's, or a file. What follows the first documents keeps
    its order; scores are 1 over the rank. Replies, and scores of a cross-encoder, are kept: the
    same call, made again, asks only for what is missing.
    """
    watch = control or Control()
    return run_to_end(lambda stop: arerank(collection, run, name, options, watch.with_stop(stop)))


async def arerank(
    collection: Collection | Path | str,
    run: Path | str,
    name: str,
    options: RerankOptions | None = None,
    control: Control | None = None,
) -> RerankResult:
    """`rerank` for callers that are asynchronous."""
    opened, how = open_collection(collection), options or RerankOptions()
    watch = control or Control()
    check_run_name(name)
    source = _source(opened, run, how.windows.depth)
    if not how.force:
        check_made(opened, [opened.run(name)])
    if how.cross_encoder:
        model = load_cross_encoder(how.cross_encoder)
        ranked = await _crossed(opened, source, model, watch)
        made = Ordering(model.id, {"cross_encoder": model.id, "depth": how.windows.depth})
        return write_reranked(opened, name, (source, ranked, made), how.force, watch)
    before = replace(watch.spent)
    async with _prepared(opened, source, how.session(), how, watch) as prepared:
        prompt, session = prepared
        ranker = ListwiseRanker(prompt, session.declared_model, how.windows, how.retry_failed)
        ranked = await _ordered(source, ranker, session, watch)
        choice, is_priced = session.selection.choice, session.selection.price is not None
    if ranker.asked and ranker.untouched == ranker.asked:
        some = " ".join(ranker.example.split())[:_SHOWN]
        raise ProviderError(f"no reply is an order of the passages it was asked about, as {some!r}")
    about = {"model": choice.name, "prompt": prompt.id, "windows": ranker.asked}
    about |= {"untouched": ranker.untouched, "depth": how.windows.depth}
    made = Ordering(choice.name, about)
    return replace(
        write_reranked(opened, name, (source, ranked, made), how.force, watch),
        spent=watch.spent.since(before),
        is_priced=is_priced,
    )


async def aplan_rerank(
    collection: Collection | Path | str,
    run: Path | str,
    options: RerankOptions | None = None,
    control: Control | None = None,
) -> CallPlan:
    """What an LLM would be asked; asks nothing and writes nothing."""
    opened, how = open_collection(collection), options or RerankOptions()
    source, watch = _source(opened, run, how.windows.depth), control or Control()
    async with _prepared(opened, source, how.session(rehearsal=True), how, watch) as prepared:
        prompt, session = prepared
        every = [
            request
            for query_id, top in source.tops.items()
            for request in window_requests(prompt, source.queries[query_id], top, how.windows)
        ]
        replies = session.declared_model.recall(every)
        unasked = [request for request, reply in zip(every, replies, strict=True) if reply is None]
        return plan_calls(unasked, session, tries=TRIES)


@asynccontextmanager
async def _prepared(
    collection: Collection,
    source: RerankSource,
    session_options: SessionOptions,
    options: RerankOptions,
    control: Control,
) -> AsyncIterator[tuple[Prompt, Session]]:
    prompt = find_prompt(options.prompt, "rank")
    selection = await select_model("rank", session_options, control)
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
    queries = {query.id: query.text for query in read_queries(collection.queries).values()}
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


async def _crossed(
    collection: Collection, source: RerankSource, model: CrossEncoder, control: Control
) -> dict[str, list[str]]:
    """The order of a cross-encoder, whose scores are kept as they come, so that none is lost."""
    name = safe_name(model.id)[-_LONGEST:].lstrip(".")
    file = VectorFile.read(collection.vectors / f"{name}.vectors", model.id)
    async with file.appending_in_loop(control.note, control.stop.is_set):
        return await asyncio.to_thread(_scored, source, remembering(model, file), control)


def _scored(source: RerankSource, score: Score, control: Control) -> dict[str, list[str]]:
    """The first documents of each query by their scores, equal ones as they were."""
    ranked: dict[str, list[str]] = {}
    with control.progress("re-ranking") as advance:
        for done, (query_id, top) in enumerate(source.tops.items(), start=1):
            texts = [text_to_search(document) for document in top]
            if control.stop.is_set():
                raise Stopped("stopped before all queries were re-ranked")
            scores = score(source.queries[query_id], texts)
            order = sorted(range(len(top)), key=lambda at: -scores[at])
            ranked[query_id] = [top[at].id for at in order]
            advance(done, len(source.tops))
    return ranked


async def _ordered(
    source: RerankSource, ranker: ListwiseRanker, session: Session, control: Control
) -> dict[str, list[str]]:
    """The first documents of each query in the model's order.

    The windows of a query follow one another; several queries are asked about at once. The first
    error ends the work, once the windows under way have ended: their replies are kept.
    """
    waiting, ranked = deque(source.tops.items()), dict[str, list[str]]()
    problems: list[Exception] = []

    async def go_on() -> None:
        while waiting and not problems:
            query_id, top = waiting.popleft()
            try:
                if control.stop.is_set():
                    raise Stopped("stopped before all queries were re-ranked")
                ordered = await ranker.ranked(source.queries[query_id], top)
            except Exception as problem:
                problems.append(problem)
                return
            ranked[query_id] = [document.id for document in ordered]

    total = sum(len(ranker.windows.starts(len(top))) for top in source.tops.values())
    with control.progress("re-ranking") as advance:
        ranker.advance = lambda: advance(ranker.asked, total)
        await asyncio.gather(*(go_on() for _ in range(session.at_once)))
    if problems:
        raise problems[0]
    return ranked
