"""A command as a retrieval engine: started for each query, it prints JSON or a TREC run."""

from __future__ import annotations

import asyncio
import math
import os
import shlex
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from labeler.errors import BadInput, CallFailed, Misuse, NoAnswer
from labeler.options import option
from labeler.runs.engines.answers import (
    HIT_ID,
    HIT_SCORE,
    HITS,
    LARGEST_OUTPUT,
    SYSTEM,
    Filling,
    Hit,
    HitPaths,
    Search,
    filled,
    has_query,
    hits_in,
    parsed,
)

_CHUNK = 1 << 16
_COLUMNS = 6
_LAST_WORDS = 120


@dataclass(frozen=True, slots=True)
class ProgramEngine:
    """A command line with `{query}` and `{depth}`, which no shell reads.

    `pass_env` names variables of the environment that it is given beside the usual ones, as one
    with a key.
    """

    command: str = option(
        "",
        "A program that prints JSON or a TREC run; no shell reads it.",
        metavar="LINE",
        panel=SYSTEM,
    )
    hits: str | None = option(None, HITS)
    hit_id: str | None = option(None, HIT_ID)
    hit_score: str | None = option(None, HIT_SCORE)
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
        """Where its JSON holds the hits, their ids and their scores."""
        score = self.hit_score
        return HitPaths(self.hits or "", self.hit_id or "id", score or "score", bool(score))

    def check(self) -> None:
        """Raise where the program cannot be found, or would not be given the query."""
        from labeler.models.local.child import find_program

        program, *arguments = self.words
        if not any(map(has_query, arguments)):
            problem = "the query has no place; write {query} as an argument"
            raise Misuse(f"{problem}, as python search.py {{query}}", parameter="command")
        find_program(program)

    def tag(self) -> str:
        """What the run is called by default in its last column."""
        return "command"

    def shown(self) -> str:
        """The program's name."""
        return Path(self.words[0]).name

    @asynccontextmanager
    async def open(self, seconds: float) -> AsyncIterator[Search]:
        """A function that runs the command, as long as the block runs."""
        from labeler.models.local.child import find_program

        self.check()
        program, *arguments = self.words
        path = find_program(program)
        environment = {n: os.environ[n] for n in self.pass_env if n in os.environ}
        where = self.shown()

        async def search(query: str, depth: int) -> list[Hit]:
            if "\0" in query:
                raise CallFailed(f"{where}: a query with a NUL byte can be no argument")
            filling = Filling(query, depth)
            command = [path, *(filled(word, filling) for word in arguments)]
            if _is_option(arguments, command[1:]):
                problem = f"the query {query!r:.60} would be an option of the program"
                raise CallFailed(f"{where}: {problem}; write -- before {{query}}, if it knows that")
            output = await _printed(command, environment, seconds, where)
            return hits_printed(output, self.paths, where)[:depth]

        yield search


def _is_option(templates: Sequence[str], arguments: Sequence[str]) -> bool:
    """Whether a query turns an argument into an option, with no `--` before it."""
    ends = templates.index("--") if "--" in templates else len(templates)
    pairs = zip(templates[:ends], arguments, strict=False)
    return any(word.startswith("-") and not own.startswith("-") for own, word in pairs)


async def _printed(
    command: Sequence[str], environment: Mapping[str, str], seconds: float, where: str
) -> bytes:
    """What a command prints; `CallFailed` where it fails, `NoAnswer` where it takes too long."""
    from labeler.models.local.child import end_program, start_program

    with tempfile.TemporaryFile(prefix="labeler-") as errors:
        try:
            child = start_program(command, environment, errors)
        except OSError as error:
            raise CallFailed(f"{where}: {error.strerror or error}") from error
        try:
            reading = asyncio.to_thread(_bounded, child, where)
            output, code = await asyncio.wait_for(reading, seconds)
        except TimeoutError:
            raise NoAnswer(f"{where}: no answer in {seconds:g} seconds") from None
        finally:
            end_program(child)
        if code:
            raise CallFailed(f"{where}: exit code {code}{_last_line(errors)}")
        return output


def _bounded(child: subprocess.Popen[bytes], where: str) -> tuple[bytes, int]:
    """What a child prints, and its exit code."""
    parts, size, pipe = [], 0, child.stdout
    while pipe and (part := pipe.read1(_CHUNK)):  # type: ignore[attr-defined]  # it is buffered
        size += len(part)
        if size > LARGEST_OUTPUT:
            raise CallFailed(f"{where}: more than {LARGEST_OUTPUT:,} bytes of output")
        parts.append(part)
    return b"".join(parts), child.wait()


def _last_line(errors: IO[bytes]) -> str:
    """The last line of what a program printed to stderr, which says why it failed."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - 4096))
    lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {' '.join(lines[-1].split())[:_LAST_WORDS]}" if lines else ""


def hits_printed(output: bytes, paths: HitPaths, where: str) -> list[Hit]:
    """The hits in JSON, or in the lines of a TREC run, best first; nothing printed is no hit."""
    text = output.strip()
    if not text:
        return []
    if text[:1] in b"[{":
        return hits_in(parsed(text, where), paths, where)
    hits = [_trec_hit(line, f"{where}: line {n}") for n, line in enumerate(text.splitlines(), 1)]
    return sorted(hits, key=lambda hit: -(hit.score or 0.0))


def _trec_hit(line: bytes, where: str) -> Hit:
    columns = line.decode("utf-8", "replace").split()
    if len(columns) != _COLUMNS:
        problem = "expected JSON, or the six columns of a TREC run"
        raise BadInput(f"{where}: {problem}, found {' '.join(columns)[:60]!r}")
    try:
        score = float(columns[4])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise BadInput(f"{where}: expected a finite number as score, found {columns[4]!r:.40}")
    return Hit(columns[2], score)
