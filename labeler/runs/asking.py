"""A search system asked for many queries: a few at once, with retries, and a look at the first."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from labeler.errors import BadInput, CallFailed, LabelerError, ProviderError, Retryable
from labeler.files.read import file_problems
from labeler.messages import Advance
from labeler.models.session import each_done
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


@dataclass(slots=True)
class AskedQueries:
    """The queries of a journal that are being asked of a system, with the answers and failures.

    `check` looks at the first answer; `advance` hears of how many queries are done.
    """

    journal: AnswerJournal
    limits: AskingLimits
    depth: int
    check: Callable[[Mapping[str, Sequence[Hit]]], object]
    answers: dict[str, list[Hit]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    advance: Advance = lambda _done, _total: None
    _in_a_row: int = 0
    _total: int = 0

    async def ask(self, engine: SearchEngine) -> None:
        """Ask the system for every query that has no answer yet.

        The first is asked alone: an error that it meets at once, as a wrong address or path, ends
        the work before a thousand others meet it too. So do many failures in a row.
        """
        texts = {q: text for q, text in self.journal.texts.items() if q not in self.answers}
        queries = iter(texts.items())
        earlier = len(self.answers)
        self._total = len(texts)
        async with engine.open(self.limits.seconds) as search:
            await self._first(search, *next(queries))
            await each_done(queries, partial(self._next, search), self.limits.concurrency)
        if self._in_a_row >= HOPELESS:
            query_id, problem = list(self.failures.items())[-1]
            raise ProviderError(
                f"{self._in_a_row} queries failed in a row; {len(self.answers) - earlier:,} of "
                f"{len(texts):,} were answered; {query_id}: {problem}"
            )

    async def _first(self, search: Search, query_id: str, text: str) -> None:
        """Ask for one query; any error but a failure of this query alone goes up."""
        try:
            await self._answer(search, query_id, text)
        except CallFailed as error:
            if isinstance(error, Retryable):
                raise ProviderError(f"{error} (query {query_id}, asked first)") from error
            self._failed(query_id, error)
        else:
            self.check({query_id: self.answers[query_id]})

    async def _next(self, search: Search, query: tuple[str, str]) -> None:
        """Ask for a query, unless there is no hope."""
        if self._in_a_row < HOPELESS:
            try:
                await self._answer(search, *query)
            except (CallFailed, BadInput) as error:
                self._failed(query[0], error)

    async def _answer(self, search: Search, query_id: str, text: str) -> None:
        """Take in an answer; what failed in a way that may pass is asked again, later each time."""
        for number in range(1, self.limits.tries + 1):
            try:
                hits = await search(text, self.depth)
                break
            except Retryable as error:
                if number == self.limits.tries:
                    raise
                pause = random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**number))
                await asyncio.sleep(pause + min(error.wait or 0.0, _LONGEST_WAIT))
        self.answers[query_id] = hits
        self.journal.add(query_id, hits)
        self._in_a_row = 0
        self._report()

    def _failed(self, query_id: str, error: LabelerError) -> None:
        self.failures[query_id] = str(error)
        self._in_a_row += 1
        self._report()

    def _report(self) -> None:
        left = len(self.journal.texts) - len(self.answers) - len(self.failures)
        self.advance(self._total - left, self._total)


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
        answers = {}
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
