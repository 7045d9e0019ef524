"""A search system asked for many queries: a few at once, with retries, and a look at the first."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from labeler.collection.layout import Collection
from labeler.collection.lock import is_acquired, lock_file
from labeler.errors import BadInput, CallFailed, LabelerError, Misuse, ProviderError, Retryable
from labeler.files.boundary import reading
from labeler.files.jsonl import read_rows
from labeler.files.paths import file_to_append
from labeler.files.read import file_problems
from labeler.messages import Advance
from labeler.options import AT_ONCE, COUNT, SECONDS_OF_A_CALL, check_options, option
from labeler.runs.engines.answers import Hit, Search, Sleep, retrying

# What a search system answered so far, kept beside the runs until the run is whole.
#
# One row a query, appended and flushed when its answer has come, so that after a kill the same
# command asks for the others alone. Rows hold the system's own ids, under a hash of the query's
# text and of how the system was asked: a changed query, depth or address meets no old answer.


def journal_path(collection: Collection, name: str) -> Path:
    """The file that keeps the answers for a run that is not whole yet."""
    return collection.folder / "runs" / f".{name}.part"


def key_of(identity: str, depth: int, text: str) -> str:
    """What an answer is kept under."""
    parts = json.dumps([identity, depth, text]).encode()
    return hashlib.sha256(parts).hexdigest()[:32]


class Journal:
    """The answers that were kept, and a file to which more are appended."""

    def __init__(self, answers: dict[str, list[Hit]], file: IO[bytes]) -> None:
        self.answers = answers
        self._file = file

    def add(self, key: str, hits: Sequence[Hit]) -> None:
        """Keep an answer; it is on its way to the disk when this returns."""
        self.answers[key] = list(hits)
        row = json.dumps({"key": key, "hits": hits}, ensure_ascii=True)
        self._file.write(f"{row}\n".encode())
        self._file.flush()


@contextmanager
def opened_journal(collection: Collection, name: str) -> Iterator[Journal]:
    """The journal of a run; `Misuse` where another process retrieves that run now."""
    path = journal_path(collection, name)
    with file_problems(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_file(path.with_suffix(".lock"))
        if not is_acquired(lock):
            raise Misuse(f"another process is retrieving the run {name!r} of this collection")
        try:
            answers = read_journal(path) if path.exists() else {}
            with file_to_append(path) as file:
                if file.tell() and not _ends_with_a_line(path):
                    file.write(b"\n")
                yield Journal(answers, file)
        finally:
            lock.release()
            path.with_suffix(".lock").unlink(missing_ok=True)


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def read_journal(path: Path) -> dict[str, list[Hit]]:
    """The answers in a journal; a row that a kill cut off, or that is none, is left out.

    What is left out is asked for again.
    """
    answers: dict[str, list[Hit]] = {}
    with reading(path) as position:
        for _, row in position.follow(read_rows(path, _leave_out)):
            hits = _hits(row.get("hits"))
            if isinstance(row.get("key"), str) and hits is not None:
                answers[row["key"]] = hits
    return answers


def _leave_out(_error: BadInput) -> None:
    return None


def _hits(rows: Any) -> list[Hit] | None:
    if not isinstance(rows, list) or not all(isinstance(r, list) and len(r) == 2 for r in rows):
        return None
    if not all(isinstance(name, str) and name and _is_score(score) for name, score in rows):
        return None
    return [Hit(name, None if score is None else float(score)) for name, score in rows]


def _is_score(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value))


HOPELESS = 10
"""So many queries failing in a row end the work: the system is down, not slow."""


class SearchEngine(Protocol):
    """A search system that can be opened, and then asked."""

    def check(self) -> None:
        """Raise where it cannot be asked as it is described."""

    def tag(self) -> str:
        """The last column of its run, where none is given."""

    def shown(self) -> str:
        """Its address or program, without what may be secret."""

    def identity(self) -> str:
        """A hash of all that an answer depends on but the query and the depth."""

    def open(self, seconds: float) -> AbstractAsyncContextManager[Search]:
        """The function that asks it, while a block runs."""


@dataclass(frozen=True, slots=True)
class AskingLimits:
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

    def __post_init__(self) -> None:
        check_options(self)


class AnswerKeeping(NamedTuple):
    """Where answers are kept, who hears of how many there are, and what looks at the first one."""

    journal: Journal
    advance: Advance = lambda _done, _total: None
    check: Callable[[str, Sequence[Hit]], None] = lambda _query_id, _hits: None


@dataclass(slots=True)
class Asked:
    """The answers by query, how many were kept from before, and why the other queries failed."""

    answers: dict[str, list[Hit]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    remembered: int = 0


def retried_search(search: Search, tries: int, sleep: Sleep = asyncio.sleep) -> Search:
    """Ask again what failed in a way that may pass, later each time."""
    policy = retrying(tries, sleep)

    async def ask(query: str, depth: int) -> list[Hit]:
        return await policy.copy()(search, query, depth)

    return ask


async def ask_all(
    engine: SearchEngine,
    texts: Mapping[str, str],
    depth: int,
    asking: AskingLimits,
    keeping: AnswerKeeping,
) -> Asked:
    """Ask the system for every query whose answer the journal does not hold, and keep what comes.

    The first is asked alone: an error that it meets at once, as a wrong address or path, ends the
    work before a thousand others meet it too. So do many failures in a row.
    """
    keys = {q: key_of(engine.identity(), depth, text) for q, text in texts.items()}
    journal, advance, _ = keeping
    asked = Asked({q: journal.answers[k] for q, k in keys.items() if k in journal.answers})
    asked.remembered = len(asked.answers)
    left = {q: text for q, text in texts.items() if q not in asked.answers}
    advance(asked.remembered, len(texts))
    if not left:
        return asked
    async with engine.open(asking.seconds) as opened:
        work = _Work(retried_search(opened, asking.tries), depth, keys, keeping, asked)
        work.report = lambda: advance(len(asked.answers) + len(asked.failures), len(texts))
        queries = iter(left.items())
        await work.first(*next(queries))
        await _all_of([work.rest(queries) for _ in range(min(asking.concurrency, len(left)))])
    if work.in_a_row >= HOPELESS:
        query_id, problem = list(asked.failures.items())[-1]
        come = f"{len(asked.answers):,} of {len(texts):,} answers are kept"
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
    keys: Mapping[str, str]
    keeping: AnswerKeeping
    asked: Asked
    in_a_row: int = 0
    report: Callable[[], None] = lambda: None

    async def first(self, query_id: str, text: str) -> None:
        """Ask for one query; any error but a failure of this query alone goes up."""
        try:
            await self._answer(query_id, text)
        except CallFailed as error:
            if isinstance(error, Retryable):
                raise ProviderError(f"{error} (query {query_id}, asked first)") from error
            self._failed(query_id, error)
        else:
            self.keeping.check(query_id, self.asked.answers[query_id])

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
        self.keeping.journal.add(self.keys[query_id], hits)
        self.asked.answers[query_id] = hits
        self.in_a_row = 0
        self.report()

    def _failed(self, query_id: str, error: LabelerError) -> None:
        self.asked.failures[query_id] = str(error)
        self.in_a_row += 1
        self.report()
