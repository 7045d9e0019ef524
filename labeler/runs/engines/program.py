"""A program as a retrieval engine: it stays alive, and reads and writes a line of JSON a query."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import IO, Any

from labeler.errors import CallFailed, Misuse, NoAnswer, Retryable
from labeler.messages import squeezed
from labeler.options import option
from labeler.runs.engines.answers import (
    LARGEST_OUTPUT,
    SYSTEM,
    Hit,
    HitOptions,
    HitPaths,
    Search,
    has_query,
    hits_in,
    parsed,
)

_LAST_WORDS = 120
_NUMBER = "id"


@dataclass(frozen=True, slots=True)
class ProgramEngine(HitOptions):
    """A command line, which no shell reads, of a program that answers one query after another.

    It reads lines of `{"id": 7, "query": …, "depth": 100}`. For each it writes a line: a list of
    ids or hits, an object that holds one, or `{"error": …}`. An object that repeats the `id` may
    come out of turn. `pass_env` names variables of the environment that it is given beside the
    usual ones, as one with a key.
    """

    command: str = option(
        "",
        "A program that reads a query and writes a ranking, a line of JSON each.",
        metavar="LINE",
        panel=SYSTEM,
    )
    pass_env: tuple[str, ...] = option(
        (), "A variable that the program may see.", metavar="VAR", panel=SYSTEM, rare=True
    )

    @property
    def words(self) -> list[str]:
        """The program and its arguments; `Misuse` where quotes are open or nothing stands there."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise Misuse(f"{error} in {self.command!r:.100}", parameter="command") from error
        if not words:
            raise Misuse("expected a program and its arguments", parameter="command")
        return words

    @property
    def paths(self) -> HitPaths:
        """Where a hit has its id and its score."""
        score = self.hit_score
        return HitPaths("", self.hit_id or "id", score or "score", bool(score))

    def check(self) -> None:
        """Raise where the program cannot be found, or expects the query among its arguments."""
        from labeler.models.local.child import find_program

        program, *arguments = self.words
        if any(map(has_query, arguments)):
            problem = "a query is no argument; the program reads a line a query from its input"
            line = json.dumps({_NUMBER: 1, "query": "where do cats sleep", "depth": 100})
            raise Misuse(f"{problem}, as {line}", parameter="command")
        find_program(program)

    def tag(self) -> str:
        """What the run is called by default in its last column."""
        return "command"

    def shown(self) -> str:
        """The program's name."""
        return Path(self.words[0]).name

    @asynccontextmanager
    async def open(self, seconds: float) -> AsyncIterator[Search]:
        """A function that asks the program, which is ended with the block."""
        from labeler.models.local.child import find_program

        self.check()
        program, *arguments = self.words
        environment = {n: os.environ[n] for n in self.pass_env if n in os.environ}
        with tempfile.TemporaryFile(prefix="labeler-") as errors:
            asked = _Program(self.shown(), [find_program(program), *arguments], environment, errors)

            async def search(query: str, depth: int) -> list[Hit]:
                answer = await asked.answer(query, depth, seconds)
                inner = "hits" if isinstance(answer, dict) and self.hits is None else self.hits
                return hits_in(answer, replace(self.paths, hits=inner or ""), asked.where)[:depth]

            try:
                yield search
            finally:
                await asked.end()


@dataclass(slots=True)
class _Program:
    """A program and the queries that it has not answered; it is started anew where it ended.

    `last` is when it was last asked or answered something: one that is busy with an earlier query
    is not late with the next.
    """

    where: str
    command: Sequence[str]
    environment: dict[str, str]
    errors: IO[bytes]
    child: asyncio.subprocess.Process | None = None
    reading: asyncio.Task[None] | None = None
    waiting: dict[int, asyncio.Future[bytes]] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=lambda: count(1))
    last: float = 0.0
    has_answered: bool = False
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, query: str, depth: int, seconds: float) -> Any:
        """The JSON that it answers; raises where it fails, says an error, or takes too long."""
        loop = asyncio.get_running_loop()
        number = next(self.numbers)
        future = loop.create_future()
        line = json.dumps({_NUMBER: number, "query": query, "depth": depth}) + "\n"
        async with self.starting:
            child = await self._running()
            if not self.waiting:
                self.last = loop.time()
            self.waiting[number] = future
            if child.stdin and not child.stdin.is_closing():
                child.stdin.write(line.encode())
        try:
            while not future.done():
                left = self.last + seconds - loop.time()
                if left <= 0:
                    await self.end()
                    raise NoAnswer(
                        f"{self.where}: no answer in {seconds:g} seconds; does it write each "
                        "line at once?"
                    )
                await asyncio.wait([future], timeout=left)
        finally:
            self.waiting.pop(number, None)
        answer = parsed(future.result(), self.where)
        if isinstance(answer, dict) and answer.get("error"):
            raise CallFailed(f"{self.where}: {answer['error']!r:.200}")
        return answer

    async def _running(self) -> asyncio.subprocess.Process:
        """The program, started where it does not run."""
        from labeler.models.local.child import start_program

        if self.child is None or self.reading is None or self.reading.done():
            await self.end()
            try:
                self.child = await start_program(
                    self.command, self.environment, self.errors, LARGEST_OUTPUT
                )
            except OSError as error:
                raise CallFailed(f"{self.where}: {error.strerror or error}") from error
            self.reading = asyncio.create_task(self._read(self.child))
        return self.child

    async def _read(self, child: asyncio.subprocess.Process) -> None:
        """Hand over every line that it writes; once it ends, whatever waits has failed."""
        problem = ""
        try:
            while child.stdout and (line := await child.stdout.readline()):
                if line.strip():
                    self._hand_over(line)
        except ValueError:
            problem = f"more than {LARGEST_OUTPUT:,} bytes in a line"
        else:
            problem = f"exit code {await child.wait()}{_last_line(self.errors)}"
        kind = Retryable if self.has_answered else CallFailed
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(kind(f"{self.where}: {problem}"))

    def _hand_over(self, line: bytes) -> None:
        """Give a line to the query that it names, else to the one that has waited longest."""
        self.last = asyncio.get_running_loop().time()
        self.has_answered = True
        open_ones = {number: each for number, each in self.waiting.items() if not each.done()}
        if open_ones:
            number = _number_in(line)
            open_ones.get(number, next(iter(open_ones.values()))).set_result(line)

    async def end(self) -> None:
        """End the program; what waits for it has failed."""
        from labeler.models.local.child import end_program

        child = self.child
        self.child = None
        if child is not None:
            await end_program(child)
        if self.reading is not None and await asyncio.wait([self.reading], timeout=1):
            self.reading.cancel()  # what it started may hold the pipe open


def _number_in(line: bytes) -> int:
    """The number of the query that an answer repeats; -1 where it names none."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return -1
    number = answer.get(_NUMBER) if isinstance(answer, dict) else None
    return number if isinstance(number, int) else -1


def _last_line(errors: IO[bytes]) -> str:
    """The last line of what a program printed to stderr, which says why it failed."""
    errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
    lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {squeezed(lines[-1])[:_LAST_WORDS]}" if lines else ""
