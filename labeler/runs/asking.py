"""A search system asked for many queries: a few at once, with retries, and a look at the first."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from labeler.errors import BadInput, CallFailed, LabelerError, ProviderError, Retryable
from labeler.files.read import file_problems
from labeler.messages import Advance
from labeler.options import AT_ONCE, COUNT, SECONDS_OF_A_CALL, Options, option
from labeler.runs.engines.answers import Hit, Search

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0

HOPELESS = 10
"""So many queries failing in a row end the work: the system is down, not slow."""


@runtime_checkable
class SearchEngine(Protocol):
    """A search system that can be opened, and then asked."""

    def check(self) -> None:
        """Raise where it cannot be asked as it is described."""

    def tag(self) -> str:
        """The last column of its run, where none is given."""

    def shown(self) -> str:
        """Its address or program, without what may be secret."""

    def open(self, seconds: float) -> AbstractAsyncContextManager[Search]:
        """The function that asks it, while a block runs."""


@dataclass(frozen=True, slots=True)
class AskingLimits(Options):
    """How a system is asked: queries at once, seconds and tries for each."""

    concurrency: int = option(4, "Calls under way at once, at most.", AT_ONCE)
    seconds: float = option(
        30.0,
        "The longest a call may take.",
        SECONDS_OF_A_CALL,
        flags="--timeout",
        metavar="SECONDS",
        rare=True,
    )
    tries: int = option(4, "Calls for one request before it has failed.", COUNT, rare=True)


class Observers(NamedTuple):
    """Who hears of how many answers there are, what looks at the first one, and who keeps each."""

    advance: Advance = lambda _done, _total: None
    check: Callable[[str, Sequence[Hit]], None] = lambda _query_id, _hits: None
    keep: Callable[[str, Sequence[Hit]], None] = lambda _query_id, _hits: None


@dataclass(slots=True)
class Asked:
    """The answers by query, and why the other queries failed."""

    answers: dict[str, list[Hit]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def retried_search(search: Search, tries: int) -> Search:
    """Ask again what failed in a way that may pass, later each time."""

    async def ask(query: str, depth: int) -> list[Hit]:
        for number in range(1, tries):
            try:
                return await search(query, depth)
            except Retryable as error:
                pause = random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**number))
                await asyncio.sleep(pause + min(error.wait or 0.0, _LONGEST_WAIT))
        return await search(query, depth)

    return ask


async def ask_all(
    engine: SearchEngine,
    texts: Mapping[str, str],
    depth: int,
    asking: AskingLimits,
    watch: Observers,
) -> Asked:
    """Ask the system for every query.

    The first is asked alone: an error that it meets at once, as a wrong address or path, ends the
    work before a thousand others meet it too. So do many failures in a row.
    """
    asked = Asked()
    async with engine.open(asking.seconds) as opened:
        work = _Work(retried_search(opened, asking.tries), depth, len(texts), watch, asked)
        queries = iter(texts.items())
        await work.first(*next(queries))
        await _all_of([work.rest(queries) for _ in range(min(asking.concurrency, len(texts)))])
    if work.in_a_row >= HOPELESS:
        query_id, problem = list(asked.failures.items())[-1]
        come = f"{len(asked.answers):,} of {len(texts):,} were answered"
        raise ProviderError(
            f"{work.in_a_row} queries failed in a row; {come}; {query_id}: {problem}"
        )
    return asked


async def _all_of(workers: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run all to their ends; where one raises, the others are cancelled first."""
    tasks = [asyncio.create_task(worker) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Work:
    """Queries that are being asked, and how many have failed in a row."""

    search: Search
    depth: int
    total: int
    watch: Observers
    asked: Asked
    in_a_row: int = 0

    async def first(self, query_id: str, text: str) -> None:
        """Ask for one query; any error but a failure of this query alone goes up."""
        try:
            await self._answer(query_id, text)
        except CallFailed as error:
            if isinstance(error, Retryable):
                raise ProviderError(f"{error} (query {query_id}, asked first)") from error
            self._failed(query_id, error)
        else:
            self.watch.check(query_id, self.asked.answers[query_id])

    async def rest(self, queries: Iterator[tuple[str, str]]) -> None:
        """Ask for queries one after another, until none is left or there is no hope."""
        for query_id, text in queries:
            if self.in_a_row >= HOPELESS:
                return
            try:
                await self._answer(query_id, text)
            except (CallFailed, BadInput) as error:
                self._failed(query_id, error)

    async def _answer(self, query_id: str, text: str) -> None:
        hits = await self.search(text, self.depth)
        self.asked.answers[query_id] = hits
        self.watch.keep(query_id, hits)
        self.in_a_row = 0
        self._report()

    def _failed(self, query_id: str, error: LabelerError) -> None:
        self.asked.failures[query_id] = str(error)
        self.in_a_row += 1
        self._report()

    def _report(self) -> None:
        self.watch.advance(len(self.asked.answers) + len(self.asked.failures), self.total)


@dataclass(frozen=True, slots=True)
class AnswerJournal:
    """A file of answers, a line each, to the queries with these texts by id.

    `asked` is all that the answers depend on, but for the query: those to something else are
    forgotten.
    """

    path: Path
    asked: str
    texts: Mapping[str, str]

    def earlier(self) -> dict[str, list[Hit]]:
        """The answers that an earlier start was given to these queries; no others are kept."""
        answers: dict[str, list[Hit]] = {}
        with file_problems(self.path), suppress(OSError, ValueError, TypeError, KeyError):
            lines = self.path.read_text(encoding="utf-8").splitlines()
            for line in lines[1:] if lines[:1] == [self._head] else ():
                row = json.loads(line)  # the last one may be cut short
                if self.texts.get(row["query_id"]) == row["text"]:
                    answers[row["query_id"]] = [Hit(*hit) for hit in row["hits"]]
        with file_problems(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(f"{self._head}\n", encoding="utf-8")
        for query_id, hits in answers.items():
            self.add(query_id, hits)
        return answers

    @property
    def _head(self) -> str:
        return json.dumps({"asked": hashlib.sha256(self.asked.encode()).hexdigest()})

    def add(self, query_id: str, hits: Sequence[Hit]) -> None:
        """Keep the answer to a query."""
        row = {"query_id": query_id, "text": self.texts[query_id], "hits": hits}
        with file_problems(self.path), self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")

    def forget(self) -> None:
        """Remove the file: all is answered, or nothing of it is of use."""
        with file_problems(self.path):
            self.path.unlink(missing_ok=True)
