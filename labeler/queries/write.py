"""Writing queries: ask a model for candidates about a passage, and keep the best of them."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from labeler.data import Document, Query
from labeler.errors import CallFailed, ProviderError
from labeler.messages import Advance
from labeler.model import NO_COMPLETION, Model, Reply, Request
from labeler.models.ending import status_of_ending
from labeler.prompt import Prompt
from labeler.queries.filter import reason_to_reject, tidied
from labeler.queries.passages import passages_in_order
from labeler.text.terms import TermStatistics, matched_share, terms
from labeler.text.vectors import can_encode, encode

T = TypeVar("T")

BEATEN = "another was closer"
FRUITLESS = 50
"""Passages in a row without a query, after which no more are asked about and paid for."""

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
    """The queries that were kept, in order, and the candidates that were not.

    `failures` counts the passages whose every reply failed, by the reason of the first;
    `in_a_row` the passages that gave no query since the last that gave one.
    """

    queries: list[Query] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    in_a_row: int = 0

    @property
    def reasons(self) -> Counter[str]:
        """How many candidates were dropped, by the reason; those that another beat are none."""
        named = (rejected.reason.partition(":")[0] for rejected in self.rejected)
        return Counter(reason for reason in named if reason != BEATEN)


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

    At most one a passage; fewer where the passages run out, or many in a row give none. What comes
    out does not depend on `concurrency`: passages are asked in waves, and a wave's results are
    taken in order.
    """
    result = Generated(list(writer.already))
    used = {source["doc_id"] for query in writer.already for source in query.metadata["source"]}
    ordered = passages_in_order(documents, writer.seed)
    passages = iter([document for document in ordered if document.id not in used])
    limit = asyncio.Semaphore(concurrency)
    while len(result.queries) < total and result.in_a_row < FRUITLESS:
        wave = _next_wave(passages, min(total - len(result.queries), max(1, concurrency)))
        if not wave:
            break
        answers = await _ask_all(wave, writer, limit)
        _check_that_some_call_worked(answers)
        for document, replies in zip(wave, answers, strict=True):
            if result.in_a_row < FRUITLESS:
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
    document: Document, replies: Sequence[Reply | CallFailed], writer: Writer, result: Generated
) -> None:
    taken = {query.text.casefold() for query in result.queries}
    fit: dict[str, None] = {}
    failures = list[str]()
    for reply in replies:
        text, failure = _candidate(reply)
        reason = failure or _reason_to_reject(text, document, writer, taken)
        if reason:
            result.rejected.append(Rejected(document.id, text, reason))
            failures += [failure.partition(":")[0]] if failure else []
        else:
            fit[text] = None
    if not fit:
        result.failures.update(failures[:1] if len(failures) == len(replies) else ())
        result.in_a_row += 1
        return
    result.in_a_row = 0
    scores = writer.closeness(document.text, list(fit))
    ordered = sorted(zip(scores, fit, strict=True), key=lambda scored: -scored[0])
    best, *rest = (text for _, text in ordered)
    result.rejected += [Rejected(document.id, text, BEATEN) for text in rest]
    number = f"q{len(result.queries) + 1}"
    result.queries.append(Query(number, best, _origin(document, writer)))


def _candidate(reply: Reply | CallFailed) -> tuple[str, str]:
    """What a reply says in a query's place, and why it says none, empty where it may be one."""
    if isinstance(reply, CallFailed):
        return "", f"call_failed: {reply}"
    status = status_of_ending(reply.finish_reason)
    if reply.refusal or status == "refused":
        return reply.refusal or "", "refused"
    if status == "filtered":
        return "", "filtered"
    if reply.finish_reason == NO_COMPLETION:
        return "", "no completion"
    text = tidied(reply.text)
    if status:
        return text, "cut at the token limit" if status == "truncated" else "broken off"
    return text, "" if text else "no text"


def _reason_to_reject(text: str, document: Document, writer: Writer, taken: Set[str]) -> str | None:
    """Why a text is no query of a passage."""
    examples = [m.content for m in writer.prompt.turns if m.role == "assistant"]
    repeated = "asked already" if text.casefold() in taken else None
    return reason_to_reject(text, document.text, examples) or repeated


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
