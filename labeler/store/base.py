"""What the rest of the package needs of a store, whatever keeps it: a file, or a database's server.

A store remembers replies, not grades. It also keeps how calls failed, what was found out about a
server (facts), and leases: which process is asking what, so that several share the work. All that
happens at one moment is one `WriteBatch`, which a store writes in one transaction.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from labeler.files.boundary import amount, count
from labeler.messages import Note, quiet
from labeler.model import JsonObject, Reply


@dataclass(frozen=True, slots=True)
class Waiting:
    """For how long to wait for what another process holds, what ends that early, and who is told.

    Once `is_stopped` says so, one last try is made. `note` is called with a line for a person.
    `batches` says of the keys of requests in which batch they wait.
    """

    seconds: float = 30.0
    is_stopped: Callable[[], bool] = lambda: False
    note: Note = quiet
    batches: Mapping[bytes, str] = field(default_factory=dict)


Keys = Sequence[bytes]
"""The keys of some requests."""


class KeyedReply(NamedTuple):
    """A reply to keep: under which key, who was asked what (as `Canon` writes it), the reply.

    `lease` is the key whose lease ends with it, where that is another one.
    """

    key: bytes
    model_id: str
    request: str
    reply: Reply
    lease: bytes | None = None


class Failed(NamedTuple):
    """A call that failed for good, so that there is no reply to keep."""

    key: bytes
    status: str
    detail: str


@dataclass(slots=True)
class WriteBatch:
    """What goes into one transaction: replies, failed calls, and keys to take leases on.

    The replies under keys that are `sought` are given, too.
    """

    replies: list[KeyedReply] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    claimed: list[bytes] = field(default_factory=list)
    sought: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Granted:
    """What came of a batch: replies that were kept before it, calls that failed in another process
    meanwhile, and the leases that were given.

    A claimed key in none of them is leased by another process.
    """

    replies: Mapping[bytes, Reply] = field(default_factory=dict)
    failures: Mapping[bytes, Failed] = field(default_factory=dict)
    leases: frozenset[bytes] = frozenset()


class Record(NamedTuple):
    """One reply as it is kept: when, from whom, what was asked and what came over the wire."""

    at: float
    served: str
    text: str
    finish_reason: str
    refusal: str | None
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    request: str | None
    body: bytes


# A reply as columns, the same in every store, so that its checksum is the same in all of them.

REPLY = (
    "key, model, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, at, cost,"
    " sent, top_tokens"
)
"""The columns of a reply that its checksum covers, in the order in which it does."""

SELECT_WHOLE = (
    f"SELECT replies.checksum, {REPLY}, wires.checksum, request, body"
    " FROM replies JOIN wires USING (id)"
)
"""Begins a query for rows as `StoredRow.of` takes them."""


def _spelled(field: object) -> str:
    return "None" if field is None else field.hex() if type(field) is bytes else str(field)


def checksum(*fields: object) -> bytes:
    """16 bytes over values in their order; the lengths keep one from running into the next."""
    texts = [field if type(field) is str else _spelled(field) for field in fields]
    texts.append(",".join(map(str, map(len, texts))))
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=16).digest()


class StoredRow(NamedTuple):
    """A reply as it is written: its checksum, its columns, and its request and body with theirs."""

    checksum: bytes
    values: Sequence[Any]
    wire_sum: bytes
    request: str | None
    body: bytes

    @classmethod
    def of(cls, row: Sequence[Any]) -> StoredRow:
        """The row that a database has given, its columns one after the other."""
        reply_sum, *values, wire_sum, request, body = row
        return cls(reply_sum, values, wire_sum, request, body)

    @property
    def is_whole(self) -> bool:
        """Whether all is as it was written."""
        sums = checksum(*self.values), checksum(self.request, self.body)
        return sums == (self.checksum, self.wire_sum)


def rows_of(replies: Sequence[KeyedReply], *, redacted: bool) -> list[StoredRow]:
    """Replies as rows, without the texts of their requests where those are `redacted`.

    The columns are as SQLite gives them back, as checksums are of what is read: it would read NaN
    as NULL, -0.0 as 0.0 and true as 1.
    """
    rows = []
    for key, model_id, request, reply, _ in replies:
        values = (
            key,
            model_id,
            reply.model,
            reply.text,
            reply.finish_reason,
            reply.refusal,
            count(reply.prompt_tokens) or 0,
            count(reply.completion_tokens) or 0,
            time.time(),
            amount(reply.cost),
            _SENT.encode(reply.sent) if reply.sent else None,
            json.dumps(reply.top_tokens, default=dict) if reply.top_tokens else None,
        )
        wire = (None if redacted else request, reply.body)
        rows.append(StoredRow(checksum(*values), values, checksum(*wire), *wire))
    return rows


def reply_of(row: Sequence[Any], *, shared: bool) -> Reply:
    """The reply in a row of `REPLY`."""
    _, _, served, text, ending, refusal, tokens_in, tokens_out, _, cost, sent, tops = row
    return Reply(
        text,
        ending,
        refusal,
        served,
        tokens_in,
        tokens_out,
        top_tokens=json.loads(tops) if tops else (),
        cost=amount(cost),
        remembered=True,
        shared=shared,
        sent=_sent_in(sent) if sent else {},
    )


_SENT = json.JSONEncoder(sort_keys=True, default=dict)


@lru_cache(maxsize=64)
def _sent_in(text: str) -> JsonObject:
    """What was sent, which is the same in nearly all replies of a run."""
    return MappingProxyType(json.loads(text))


class Statements(Protocol):
    """What runs SQL inside of a transaction, on a connection of the database's own kind."""

    connection: Any

    def run(self, query: str, keys: Keys | None = None, **values: Any) -> Sequence[Sequence[Any]]:
        """The rows of a statement; `:name` stands for a value, and `{keys}` for a table of keys."""
