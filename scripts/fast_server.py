"""A loopback server that answers chat completions, for `scripts/bench_transport.py` and others.

    python scripts/fast_server.py [--seconds S] [--rpm N] [--counts FILE] [--logprobs] [--seed N]

It answers at once, or where `--seconds` is given, after a time drawn for each call around it
(log-normal, with a standard deviation of half the mean). Beyond `--rpm` calls a minute, counted in
a bucket of one second, it refuses with 429. Grades depend on the request. With `--counts`, a file
holds how many calls came, how many of them were refused, how many were answered before, the most
under way at once, and when the first and the last one came, and the last that nobody had asked
before; it is written twice a second. `--logprobs` adds log probabilities to the answers, as OpenAI
does. It parses no more of HTTP than it must. Prints its port, and runs until stdin ends.
"""

import argparse
import asyncio
import json
import math
import os
import random
import sys
import threading
import time
import zlib
from pathlib import Path

GRADES = 4
SPREAD = 0.5
"""The standard deviation of a call's seconds, as a share of their mean."""


def token_of(text: str, logprob: float) -> dict[str, object]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def logprobs_of(grade: int) -> dict[str, object]:
    """Five log probabilities a token, with the bytes of each, as OpenAI's answers have them."""
    others = [token_of(f"{other} ", -4.25 - other) for other in range(GRADES)]
    pieces = ('{"', "grade", '":', str(grade), "}")
    tokens = [token_of(piece, -0.03125) for piece in pieces]
    return {"content": [{**token, "top_logprobs": [token, *others]} for token in tokens]}


def body_of(grade: int, *, logprobs: bool = False) -> bytes:
    """The body of an answer that gives a grade, with the fields that OpenAI's answers have."""
    message = {"role": "assistant", "content": f'{{"grade": {grade}}}', "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    choice["logprobs"] = logprobs_of(grade) if logprobs else None
    return json.dumps(
        {
            "id": "chatcmpl-bench",
            "object": "chat.completion",
            "created": 0,
            "model": "bench",
            "choices": [choice],
            "usage": {"prompt_tokens": 600, "completion_tokens": 6, "total_tokens": 606},
        }
    ).encode()


BODY = body_of(2)


def answer_of(body: bytes, status: bytes = b"200 OK") -> bytes:
    head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body


REFUSAL = answer_of(b'{"error": {"message": "Rate limit reached"}}', b"429 Too Many Requests")


class Counts:
    """What came: the calls, which of them were answered before, and how many were under way."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.answered: set[int] = set()
        self.calls = self.refused = self.again = self.under_way = self.most = 0
        self.first_at = self.new_at = self.last_at = 0.0

    def began(self, content: bytes) -> int:
        """Count a call; the hash of its body."""
        self.calls += 1
        self.first_at = self.first_at or time.time()
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        key = hash(content)
        if self.path and key not in self.answered:
            self.new_at = time.time()
        return key

    def ended(self, key: int) -> None:
        """Count an answer that was sent."""
        self.under_way -= 1
        self.last_at = time.time()
        if self.path and key in self.answered:
            self.again += 1
        elif self.path:
            self.answered.add(key)

    async def write(self) -> None:
        """Write the counts now and then."""
        while self.path:
            names = ("calls", "refused", "again", "under_way", "most")
            names += ("first_at", "new_at", "last_at")
            counts = {name: getattr(self, name) for name in names}
            written = self.path.with_name(f"{self.path.name}.part")
            written.write_text(json.dumps({**counts, "answered": len(self.answered)}))
            os.replace(written, self.path)
            await asyncio.sleep(0.5)


class Bucket:
    """So many calls a minute; `takes` says whether one more may be answered now."""

    def __init__(self, rpm: float) -> None:
        self.rate, self.level, self.at = rpm / 60, rpm / 60, time.monotonic()

    def takes(self) -> bool:
        now = time.monotonic()
        self.level = min(self.rate, self.level + (now - self.at) * self.rate)
        self.at = now
        if self.level < 1:
            return False
        self.level -= 1
        return True


class Server:
    """How calls are answered: after which time, how many a minute, and what is counted."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.counts = Counts(given.counts)
        self.bucket = Bucket(given.rpm) if given.rpm else None
        self.rng = random.Random(given.seed)
        self.sigma = math.sqrt(math.log(1 + SPREAD**2))
        self.mu = math.log(given.seconds) - self.sigma**2 / 2 if given.seconds else None
        self.loop = asyncio.get_running_loop()
        bodies = (body_of(grade, logprobs=given.logprobs) for grade in range(GRADES))
        self.answers = [answer_of(body) for body in bodies]

    def answer(self, content: bytes, transport: asyncio.Transport) -> None:
        if self.bucket and not self.bucket.takes():
            self.counts.calls += 1
            self.counts.refused += 1
            transport.write(REFUSAL)
            return
        key = self.counts.began(content)
        grade = zlib.crc32(content) % GRADES
        if self.mu is None:
            self._send(transport, key, grade)
        else:
            seconds = self.rng.lognormvariate(self.mu, self.sigma)
            self.loop.call_later(seconds, self._send, transport, key, grade)

    def _send(self, transport: asyncio.Transport, key: int, grade: int) -> None:
        self.counts.ended(key)
        if not transport.is_closing():
            transport.write(self.answers[grade])


class Connection(asyncio.Protocol):
    """One connection, on which calls come one after the other."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.buffer) < end + 4 + size:
                return
            content = self.buffer[end + 4 : end + 4 + size]
            self.buffer = self.buffer[end + 4 + size :]
            self.server.answer(content, self.transport)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--rpm", type=float, default=0.0)
    parser.add_argument("--counts", type=Path)
    parser.add_argument("--logprobs", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    loop, server = asyncio.get_running_loop(), Server(given)
    opened = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=4096)
    print(opened.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    threading.Thread(
        target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(ended.set)), daemon=True
    ).start()
    writing = loop.create_task(server.counts.write())
    await ended.wait()
    writing.cancel()


if __name__ == "__main__":
    try:
        import uvloop
    except ImportError:
        asyncio.run(main())
    else:
        uvloop.run(main())
