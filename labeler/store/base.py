"""What the rest of the package needs of a store, whatever keeps it: a file, or a database's server.

A store remembers replies, not grades. It also keeps how calls failed, what was found out about a
server (facts), and leases: which process is asking what, so that several share the work. All that
happens at one moment is one `WriteBatch`, which a store writes in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from labeler.model import Reply

LEASE_SECONDS = 60.0
"""How long a lease lasts unrenewed, where its process cannot be looked up."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """For how long to wait for what another process holds, what ends that early, and who is told.

    Once `is_stopped` says so, one last try is made. `note` is called with a line for a person.
    `batches` says of the keys of requests in which batch they wait.
    """

    seconds: float = 30.0
    is_stopped: Callable[[], bool] = lambda: False
    note: Callable[[str], None] = lambda _line: None
    batches: Mapping[bytes, str] = field(default_factory=dict)


class KeyedReply(NamedTuple):
    """A reply to keep: under which key, who was asked what (as `canonical` has it), the reply.

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


@dataclass(frozen=True, slots=True)
class WriteBatch:
    """What goes into one transaction: replies, failed calls, and keys to take leases on.

    The replies under keys that are `sought` are given, too.
    """

    replies: Sequence[KeyedReply] = ()
    failed: Sequence[Failed] = ()
    claimed: Sequence[bytes] = ()
    sought: Sequence[bytes] = ()


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


class Store(Protocol):
    """An open store; `open_store` gives one. Every method may be called from any thread."""

    def replies(self, keys: Sequence[bytes]) -> Mapping[bytes, Reply]:
        """The replies that are stored under these keys."""

    def write(self, batch: WriteBatch) -> Granted:
        """Do all of a batch in one transaction, which is durable when this returns.

        A key that has a reply keeps that one. A key whose call failed stays leased, so that no
        other process that runs now asks for it again.
        """

    def asker(self, key: bytes) -> str:
        """Which other process asks for a key, in words."""

    def renew(self) -> None:
        """Renew the leases of this process, so that they do not expire."""

    def fact(self, name: str) -> str | None:
        """The fact that is stored under a name."""

    def learn(self, name: str, value: str) -> None:
        """Store a fact."""

    def learn_once(self, name: str, value: str) -> str:
        """Store a fact where there is none of its name; the fact that is stored then."""

    def record(self, key: bytes) -> Record | None:
        """All that is kept of the reply under a key."""

    def records_with(self, model_id: str, parts: tuple[str, str]) -> list[Record]:
        """The records of a model's replies to requests whose canonical text holds both parts."""

    def failure(self, key: bytes) -> tuple[float, str, str] | None:
        """When and how the last call under a key failed for good: time, status, detail."""

    def __len__(self) -> int:
        """How many replies are kept."""

    def close(self) -> None:
        """Release the leases and close the store."""
