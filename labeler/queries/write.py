"""Writing queries: ask a model for candidates about a passage, and keep the best of them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints

from labeler.data import Document, Query
from labeler.errors import CallFailed, ProviderError
from labeler.messages import Advance
from labeler.model import Reply, Request
from labeler.models.server.answers import parsed
from labeler.prompt import Prompt, object_schema
from labeler.queries.filter import SAME_SHARE, overlap
from labeler.queries.passages import values_of
from labeler.queries.writer import (
    BEATEN,
    IN_A_ROW,
    Candidates,
    Generated,
    PassageTurn,
    Turns,
    Writer,
    candidate_of,
    candidates_of,
    expected_language,
    generation_requests,
    shown,
)
from labeler.text.terms import can_encode, encode, terms, text_to_search

# What the person behind a query wants.

Sentences = Annotated[str, StringConstraints(strip_whitespace=True, min_length=10, max_length=1200)]


class Topic(BaseModel):
    """What the person behind a query wants, and what is relevant to it."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    description: Sentences
    narrative: Sentences


_TOPIC_SCHEMA = object_schema({name: {"type": "string"} for name in Topic.model_fields})


def topic_request(prompt: Prompt, query: str, document: Document) -> Request:
    """The request for the topic of a query that was written about a document."""
    passage = replace(document, text=shown(document))
    values = {"query": query, "title": passage.title, "text": passage.text}
    values["passage"] = text_to_search(passage)
    return Request(prompt.render(values), {**prompt.front.parameters, "seed": 0}, _TOPIC_SCHEMA)


T = TypeVar("T")

PASSAGES_OF_A_QUERY = 3
"""So many passages for each missing query, and `IN_A_ROW` more, are asked about at most."""


@dataclass(slots=True)
class _Progress:
    """What is known while queries are written: `candidates` of turns that have not come yet."""

    writer: Writer
    turns: Turns
    result: Generated
    earlier: list[frozenset[str]]
    candidates: dict[str, Candidates] = field(default_factory=dict)
    new: list[tuple[Query, Document]] = field(default_factory=list)


async def generate_queries(
    documents: Iterable[Document],
    writer: Writer,
    total: int,
    concurrency: int = 1,
    advance: Advance = lambda done, total: None,
) -> Generated:
    """Write queries until there are `total` with those that the writer has `already`.

    `documents` are those to ask about, in order. At most one a passage; fewer where the passages
    run out, or many in a row give next to none. What comes out does not depend on `concurrency`:
    what is asked ahead waits until its turn comes.
    """
    passages = list(documents)
    result = Generated(list(writer.already))
    earlier = [_term_set(text) for text in (*writer.real, *(q.text for q in writer.already))]
    now = _Progress(writer, Turns.of(passages, writer), result, earlier)
    most = most_passages(total - len(writer.already))
    asked = 0
    limit = asyncio.Semaphore(concurrency)
    while len(result.queries) < total and not result.is_fruitless:
        ahead = now.turns.next(min(total - len(result.queries), max(1, concurrency)))
        wave = [turn for turn in ahead if turn.document.id not in now.candidates][: most - asked]
        answers = await _ask_all(wave, writer, limit)
        asked += len(wave)
        now.candidates |= {answer.turn.document.id: answer for answer in answers}
        has_taken = _take_turns(now, total)
        await _add_topics(now, limit)
        if not has_taken:
            break
        advance(len(result.queries), total)
    result.given_up = now.turns.given_up
    if len(result.queries) < total:
        if result.is_fruitless:
            count = sum(result.latest) or "none"
            result.stopped = f"of the last {IN_A_ROW} passages {count} gave a query"
        elif len(passages) - len(writer.used) > asked:
            result.stopped = f"{most:,} passages are the most that are asked about"
    return result


def most_passages(missing: int) -> int:
    """About how many passages a model is asked at most, for so many queries."""
    return PASSAGES_OF_A_QUERY * missing + IN_A_ROW if missing > 0 else 0


async def _ask_all(
    wave: Sequence[PassageTurn], writer: Writer, limit: asyncio.Semaphore
) -> list[Candidates]:
    async def ask(request: Request) -> Reply | CallFailed:
        async with limit:
            try:
                return await _answer(request, writer)
            except CallFailed as error:
                return error

    async def ask_for(turn: PassageTurn) -> Candidates:
        requests = generation_requests(turn, writer)
        return candidates_of(turn, await _all_ended(map(ask, requests)), writer)

    answers = await _all_ended(map(ask_for, wave))
    replies = [reply for candidates in answers for reply in candidates.replies]
    failures = [reply for reply in replies if isinstance(reply, CallFailed)]
    if failures and len(failures) == len(replies):
        raise ProviderError(f"every one of {len(replies)} calls failed: {failures[0]}")
    return answers


async def _answer(request: Request, writer: Writer) -> Reply:
    """The reply to a request; asked anew where the remembered one is no query, if that is asked."""
    reply = await writer.model.ask(request)
    while writer.retry_failed and reply.remembered and is_no_query(reply):
        request = request.again()
        reply = await writer.model.ask(request)
    return reply


def is_no_query(reply: Reply) -> bool:
    """Whether a reply is none at all: refused, cut short or empty."""
    return bool(candidate_of(reply)[1])


async def _all_ended(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all the work; where some failed, only when the rest has ended and is kept."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    await asyncio.gather(*tasks, return_exceptions=True)
    return [task.result() for task in tasks]


def _take_turns(now: _Progress, total: int) -> bool:
    """Take the turns whose candidates are there, in order; whether there was any."""
    is_any = False
    while len(now.result.queries) < total and not now.result.is_fruitless:
        turn = next(iter(now.turns.next()), None)
        if turn is None or turn.document.id not in now.candidates:
            break
        now.turns.take(turn, is_fruitful=_keep_best(now, now.candidates.pop(turn.document.id)))
        is_any = True
    return is_any


def _keep_best(now: _Progress, candidates: Candidates) -> bool:
    """Keep the best candidate that no earlier query is like; whether there is one."""
    result = now.result
    best = ""
    for text in candidates.fit:
        reason = BEATEN if best else _repeats(text, now)
        if reason:
            candidates.reject(text, reason)
        else:
            best = text
    result.rejected += candidates.rejected
    result.latest.append(bool(best))
    if not best:
        result.has_failed |= candidates.failed == len(candidates.replies)
        return False
    query = _query(best, candidates.turn, now)
    now.earlier.append(_term_set(best))
    result.queries.append(query)
    now.new.append((query, candidates.turn.document))
    return True


def _repeats(text: str, now: _Progress) -> str:
    """Which earlier query a text is nearly the same as; empty where it is like none."""
    own = _term_set(text)
    real = now.writer.real
    for at, other in enumerate(now.earlier):
        if own and overlap(own, other) >= SAME_SHARE:
            if at < len(real):
                return f"like a real query: {real[at]}"
            return f"like another query: {now.result.queries[at - len(real)].text}"
    return ""


def _term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _query(text: str, turn: PassageTurn, now: _Progress) -> Query:
    """A query with where it comes from and what it is."""
    writer = now.writer
    sources = [
        {"doc_id": d.id, "sha256": hashlib.sha256(d.text.encode()).hexdigest()}
        for d in turn.documents
    ]
    language = expected_language(turn.document, writer)
    key = writer.stratify
    metadata = {
        **({key: ", ".join(values_of(turn.document, key))} if key else {}),
        "origin": "generated",
        "kind": turn.kind,
        "source": sources,
        **({"language": language} if language else {}),
        **writer.origin_of(turn.kind),
    }
    return Query(f"q{len(now.result.queries) + 1}", text, metadata)


async def _add_topics(now: _Progress, limit: asyncio.Semaphore) -> None:
    """Write a topic with each new query; where the model gives none, the query stands alone."""
    prompt = now.writer.topic
    if prompt is None or not now.new:
        return

    async def ask(query: Query, document: Document) -> Query:
        topic = None
        async with limit:
            with suppress(CallFailed):
                request = topic_request(prompt, query.text, document)
                topic = parsed(await now.writer.model.ask(request), Topic)
        return replace(query, metadata={**query.metadata, **(topic.model_dump() if topic else {})})

    written = await _all_ended(ask(query, document) for query, document in now.new)
    now.result.queries[-len(written) :] = written
    now.new.clear()
    now.result.without_topic += sum("narrative" not in query.metadata for query in written)


def cosines(passage: str, candidates: Sequence[str]) -> Sequence[float]:
    """Cosine of each candidate to the passage; all alike where nothing can encode."""
    if not can_encode():
        return [0.0] * len(candidates)
    vectors = encode([passage, *candidates])
    return [float(cosine) for cosine in vectors[1:] @ vectors[0]]
