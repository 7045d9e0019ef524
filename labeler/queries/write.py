"""Writing queries: ask a model for candidates about a passage, and keep the best of them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from labeler.data import Document, Query
from labeler.errors import CallFailed, ProviderError
from labeler.messages import Advance
from labeler.model import Model, Reply, Request
from labeler.prompt import Prompt
from labeler.queries.filter import reason_to_reject, tidied
from labeler.queries.passages import passages_in_order
from labeler.text.terms import TermStatistics, matched_share, terms
from labeler.text.vectors import can_encode, encode

T = TypeVar("T")

MAX_WORDS = 260
"""The words of a passage that the model is shown, counted from its beginning."""

Closeness = Callable[[str, Sequence[str]], Sequence[float]]
"""How close each of some candidates is to a passage; the highest wins."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate that was dropped, and why."""

    doc_id: str
    text: str
    reason: str


@dataclass(slots=True)
class Generated:
    """The queries that were kept, in order, and the candidates that were not."""

    queries: list[Query] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Writer:
    """All that decides which queries come out of a corpus; `already` are the first of them."""

    prompt: Prompt
    model: Model
    closeness: Closeness
    samples: int = 5
    seed: int = 0
    already: tuple[Query, ...] = ()

    @property
    def origin(self) -> dict[str, Any]:
        """What distinguishes one way of writing queries from another."""
        return {"prompt": self.prompt.id, "model": self.model.id, "seed": self.seed}


def generation_requests(document: Document, writer: Writer) -> list[Request]:
    """The requests for one passage: the same messages, another seed each."""
    text = _first_words(document.text, MAX_WORDS)
    values = {"title": document.title, "text": text, "passage": f"{document.title}\n{text}"}
    messages = writer.prompt.render(values)
    front = writer.prompt.front
    shared: dict[str, Any] = {"temperature": front.temperature, "max_tokens": front.max_tokens}
    if front.stop:
        shared["stop"] = list(front.stop)
    return [
        Request(messages, {**shared, "seed": writer.seed + repeat}, repeat=repeat)
        for repeat in range(writer.samples)
    ]


def _first_words(text: str, count: int) -> str:
    """`text` up to its `count`-th word, white space kept."""
    pieces = text.split(" ")
    return " ".join(pieces[:count]) if len(pieces) > count else text


async def generate_queries(
    documents: Iterable[Document],
    writer: Writer,
    total: int,
    concurrency: int = 1,
    advance: Advance = lambda done, total: None,
) -> Generated:
    """Write queries until there are `total` with those that the writer has `already`.

    At most one a passage; fewer where the passages run out. What comes out does not depend on
    `concurrency`: passages are asked in waves, and a wave's results are taken in order.
    """
    result = Generated(list(writer.already))
    used = {source["doc_id"] for query in writer.already for source in query.metadata["source"]}
    ordered = passages_in_order(documents, writer.seed)
    passages = iter([document for document in ordered if document.id not in used])
    limit = asyncio.Semaphore(concurrency)
    while len(result.queries) < total:
        wave = _next_wave(passages, min(total - len(result.queries), max(1, concurrency)))
        if not wave:
            break
        answers = await _ask_all(wave, writer, limit)
        _check_that_some_call_worked(answers)
        for document, replies in zip(wave, answers, strict=True):
            _keep_best(document, replies, writer, result)
        advance(len(result.queries), total)
    return result


def _next_wave(passages: Iterator[Document], size: int) -> list[Document]:
    return list(islice(passages, size))


async def _ask_all(
    wave: Sequence[Document], writer: Writer, limit: asyncio.Semaphore
) -> list[list[Reply | CallFailed]]:
    async def ask(request: Request) -> Reply | CallFailed:
        async with limit:
            try:
                return await writer.model.ask(request)
            except CallFailed as error:
                return error

    async def ask_for(document: Document) -> list[Reply | CallFailed]:
        return await _all_ended(map(ask, generation_requests(document, writer)))

    return await _all_ended(map(ask_for, wave))


async def _all_ended(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all the work; where some failed, only when the rest has ended and is kept."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    await asyncio.gather(*tasks, return_exceptions=True)
    return [task.result() for task in tasks]


def _check_that_some_call_worked(answers: Iterable[Iterable[Reply | CallFailed]]) -> None:
    flat = [answer for replies in answers for answer in replies]
    failures = [answer for answer in flat if isinstance(answer, CallFailed)]
    if len(failures) == len(flat):
        raise ProviderError(f"every one of {len(flat)} calls failed: {failures[0]}")


def _keep_best(
    document: Document, replies: Iterable[Reply | CallFailed], writer: Writer, result: Generated
) -> None:
    taken = {query.text.casefold() for query in result.queries}
    fit: dict[str, None] = {}
    for text, reason in _candidates(document, replies, writer):
        repeated = "asked already" if text.casefold() in taken else None
        if reason or repeated:
            result.rejected.append(Rejected(document.id, text, reason or repeated or ""))
        else:
            fit[text] = None
    if not fit:
        return
    scores = writer.closeness(document.text, list(fit))
    ordered = sorted(zip(scores, fit, strict=True), key=lambda scored: -scored[0])
    best, *rest = (text for _, text in ordered)
    result.rejected += [Rejected(document.id, text, "another was closer") for text in rest]
    number = f"q{len(result.queries) + 1}"
    result.queries.append(Query(number, best, _origin(document, writer)))


def _candidates(
    document: Document, replies: Iterable[Reply | CallFailed], writer: Writer
) -> Iterator[tuple[str, str | None]]:
    examples = [m.content for m in writer.prompt.turns if m.role == "assistant"]
    for reply in replies:
        if isinstance(reply, CallFailed):
            yield "", f"call_failed: {reply}"
        elif reply.refusal or reply.finish_reason == "content_filter":
            yield reply.refusal or "", "refused"
        elif reply.finish_reason == "length":
            yield tidied(reply.text), "cut at the token limit"
        else:
            text = tidied(reply.text)
            yield text, reason_to_reject(text, document.text, examples)


def _origin(document: Document, writer: Writer) -> Mapping[str, Any]:
    digest = hashlib.sha256(document.text.encode()).hexdigest()
    source = [{"doc_id": document.id, "sha256": digest}]
    return {"origin": "generated", "source": source, **writer.origin}


def closeness(corpus: Iterable[Document]) -> Closeness:
    """Cosine to the passage; where nothing can encode, the passage's share of the query's terms."""
    if can_encode():
        return _cosines
    statistics = TermStatistics.of(terms(document.text) for document in corpus)

    def shares(passage: str, candidates: Sequence[str]) -> list[float]:
        of_passage = terms(passage)
        return [matched_share(terms(text), of_passage, statistics) for text in candidates]

    return shares


def _cosines(passage: str, candidates: Sequence[str]) -> list[float]:
    vectors = encode([passage, *candidates])
    return [float(cosine) for cosine in vectors[1:] @ vectors[0]]
