"""The lines of batch files: a request with its key, and what was answered to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from labeler.model import Request
from labeler.models.server.client import request_body

ENDPOINT: Final = "/v1/chat/completions"
MOST_LINES = 50_000
MOST_BYTES = 200_000_000
"""What a file of requests may hold (OpenAI's Batch API, 2026: 50,000 requests and 200 MB)."""

_KEY = re.compile("[0-9a-f]{64}")


class AnswerLine(NamedTuple):
    """What a line says of one request: the HTTP status and the body, as a call would have had them.

    `code` and `problem` say why there is no answer, where the service gave none at all.
    """

    key: bytes
    status: int
    body: bytes
    code: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FileBounds:
    """How many requests and bytes a file of requests may hold."""

    lines: int = MOST_LINES
    size: int = MOST_BYTES


def request_line(key: bytes, model_name: str, request: Request) -> bytes:
    """A request as a line of a batch file, named by the key of its reply."""
    line = {
        "custom_id": key.hex(),
        "method": "POST",
        "url": ENDPOINT,
        "body": request_body(model_name, request),
    }
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def read_answer_line(line: bytes) -> AnswerLine:
    """What a line of answers says; `ValueError` where it is none, or names no key.

    >>> key = bytes(32).hex()
    >>> line = '{"custom_id": "%s", "response": {"status_code": 200, "body": {}}}' % key
    >>> read_answer_line(line.encode()).status
    200
    """
    try:
        row = json.loads(line)
        name, response, error = row["custom_id"], row.get("response"), row.get("error")
    except (KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise ValueError("expected a line of a batch's answers, with custom_id") from problem
    if not (isinstance(name, str) and _KEY.fullmatch(name)):
        raise ValueError(f"custom_id {str(name)[:40]!r} names no request of ours")
    key = bytes.fromhex(name)
    if isinstance(response, Mapping) and isinstance(response.get("status_code"), int):
        body = json.dumps(response.get("body"), ensure_ascii=False)
        return AnswerLine(key, response["status_code"], body.encode("utf-8", "surrogatepass"))
    if isinstance(error, Mapping):
        return AnswerLine(key, 0, b"", _text(error.get("code")), _text(error.get("message")))
    raise ValueError("a line with neither a response nor an error")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


class RequestFiles:
    """Writes requests to numbered files, each within the bounds of what a service takes."""

    def __init__(self, folder: Path, bounds: FileBounds | None = None) -> None:
        self.counts: list[int] = []
        self._folder = folder
        self._bounds = bounds or FileBounds()
        self._bytes = 0
        self._out: IO[bytes] | None = None

    def paths(self) -> list[Path]:
        """The files that were begun."""
        return [self._path(number) for number in range(len(self.counts))]

    def _path(self, number: int) -> Path:
        return self._folder / f"requests.{number + 1}.jsonl"

    def add(self, line: bytes) -> int:
        """Write a line; the number of its file, from 0."""
        is_full = self.counts and (
            self.counts[-1] >= self._bounds.lines or self._bytes + len(line) > self._bounds.size
        )
        if self._out is None or is_full:
            self.close()
            self.counts.append(0)
            self._bytes = 0
            self._out = self._path(len(self.counts) - 1).open("wb")
        self._out.write(line)
        self.counts[-1] += 1
        self._bytes += len(line)
        return len(self.counts) - 1

    def close(self) -> None:
        """Close the file that is being written."""
        if self._out is not None:
            self._out.close()
            self._out = None


def answer_lines(lines: Iterable[bytes]) -> Iterator[AnswerLine | ValueError]:
    """What each line says that is not empty, or why it says nothing."""
    for line in lines:
        if not line.strip():
            continue
        try:
            yield read_answer_line(line)
        except ValueError as problem:
            yield problem
