"""Writing queries: ask a model for candidates about a passage, and keep the best of them."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from labeler.data import Document, Query
from labeler.errors import CallFailed, ProviderError
from labeler.messages import Advance
from labeler.model import NO_COMPLETION, NO_TEXT, Model, Reply, Request
from labeler.models.ending import status_of_ending
from labeler.prompt import Prompt
from labeler.queries.filter import reason_to_reject, tidied
from labeler.text.terms import TermStatistics, matched_share, terms
from labeler.text.vectors import can_encode, encode

T = TypeVar("T")

BEATEN = "another was closer"
IN_A_ROW, FEWEST = 20, 2
"""So many passages in a row that give fewer queries than this are the last to be paid for."""

PASSAGES_OF_A_QUERY = 3
"""So many passages for each missing query, and `IN_A_ROW` more, are asked about at most."""

MAX_WORDS = 260
"""The words of a passage that the model is shown, counted from its beginning."""

_NOTHING = {NO_COMPLETION: "no completion", NO_TEXT: "no text"}
"""Endings of replies that hold nothing, in words."""

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

    `failures` counts the passages whose every reply failed, by the reason of the first. `latest`
    says of each of the last passages whether it gave a query. `stopped` says why no more passages
    were asked about, though the corpus has some; it is empty where that was no reason to end.
    """

    queries: list[Query] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    latest: deque[bool] = field(default_factory=lambda: deque(maxlen=IN_A_ROW))
    stopped: str = ""

    @property
    def is_fruitless(self) -> bool:
        """Whether the last passages gave next to nothing."""
        return len(self.latest) == IN_A_ROW and sum(self.latest) < FEWEST

    @property
    def reasons(self) -> Counter[str]:
        """How many candidates were dropped, by the reason; those that another beat are none."""
        named = (rejected.reason.partition(":")[0] for rejected in self.rejected)
        return Counter(reason for reason in named if reason != BEATEN)


@dataclass(frozen=True, slots=True)
class Writer:
    """All that decides which queries come out of a corpus; `already` are the first of them.

    With `retry_failed`, a remembered reply that is no query is not taken, but asked for again.
    """

    prompt: Prompt
    model: Model
    closeness: Closeness
    samples: int = 5
    seed: int = 0
    already: tuple[Query, ...] = ()
    retry_failed: bool = False

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

    `documents` are those to ask about, in order. At most one a passage; fewer where the passages
    run out, or many in a row give next to none.
    What comes out does not depend on `concurrency`: passages are asked in waves, and a wave's
    results are taken in order.
    """
    result = Generated(list(writer.already))
    unused = unused_passages(documents, writer)
    most = most_passages(total - len(writer.already))
    passages = iter(unused[:most])
    limit = asyncio.Semaphore(concurrency)
    while len(result.queries) < total and not result.is_fruitless:
        wave = _next_wave(passages, min(total - len(result.queries), max(1, concurrency)))
        if not wave:
            break
        answers = await _ask_all(wave, writer, limit)
        _check_that_some_call_worked(answers)
        for document, replies in zip(wave, answers, strict=True):
            if not result.is_fruitless:
                _keep_best(document, replies, writer, result)
        advance(len(result.queries), total)
    if len(result.queries) < total:
        result.stopped = _why_stopped(result, most, len(unused))
    return result


def unused_passages(documents: Iterable[Document], writer: Writer) -> list[Document]:
    """The passages that the queries there are already do not come from, in their order."""
    used = {source["doc_id"] for query in writer.already for source in query.metadata["source"]}
    return [document for document in documents if document.id not in used]


def most_passages(missing: int) -> int:
    """About how many passages a model is asked at most, for so many queries."""
    return PASSAGES_OF_A_QUERY * missing + IN_A_ROW if missing > 0 else 0


def _why_stopped(result: Generated, most: int, passages: int) -> str:
    """Why the passages that are left are not asked about; empty where none is left."""
    if result.is_fruitless:
        return f"of the last {IN_A_ROW} passages {sum(result.latest) or 'none'} gave a query"
    return f"{most:,} passages are the most that are asked about" if passages > most else ""


def _next_wave(passages: Iterator[Document], size: int) -> list[Document]:
    return list(islice(passages, size))


async def _ask_all(
    wave: Sequence[Document], writer: Writer, limit: asyncio.Semaphore
) -> list[list[Reply | CallFailed]]:
    async def ask(request: Request) -> Reply | CallFailed:
        async with limit:
            try:
                return await _answer(request, writer)
            except CallFailed as error:
                return error

    async def ask_for(document: Document) -> list[Reply | CallFailed]:
        return await _all_ended(map(ask, generation_requests(document, writer)))

    return await _all_ended(map(ask_for, wave))


async def _answer(request: Request, writer: Writer) -> Reply:
    """The reply to a request; asked anew where the remembered one is no query, if that is asked."""
    reply = await writer.model.ask(request)
    while writer.retry_failed and reply.remembered and is_no_query(reply):
        request = replace(request, attempt=request.attempt + 1)
        reply = await writer.model.ask(request)
    return reply


def is_no_query(reply: Reply) -> bool:
    """Whether a reply is none at all: refused, cut short or empty."""
    return bool(_candidate(reply)[1])


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
        result.latest.append(False)
        return
    result.latest.append(True)
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
    if reply.finish_reason in _NOTHING:
        return "", _NOTHING[reply.finish_reason]
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
