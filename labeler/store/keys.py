"""Under which key a reply is kept: what counts as the same request, and who is asking it now."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from contextlib import suppress
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, NamedTuple

from labeler.model import JsonObject, Message, OncePerPart, Request
from labeler.store.base import Keys, Statements

LIMIT = "max_tokens"
"""The parameter that only says how much of a reply is taken."""

_TAG = "labeler reply 1"
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=dict
)


class Keyed(NamedTuple):
    """Where the reply to a request is kept: under `key`, or where it was cut at the limit on its
    tokens, under `cut`; and the canonical text of the request.

    The key is of all that a whole reply depends on, so that another limit asks for none anew.
    """

    key: bytes
    text: str
    cut: bytes


class Canon:
    """Writes requests as canonical text: all that was asked, tagged, keys sorted.

    Parts that many requests share are written once, as long as it is the very same object. Of a
    server's model, `reads_inputs` is false: it reads the messages alone.
    """

    def __init__(self, model_id: str, *, reads_inputs: bool = True) -> None:
        self._model = _ENCODER.encode(model_id)
        self._reads_inputs = reads_inputs
        self._written = OncePerPart[str](_ENCODER.encode)
        self._first = OncePerPart[str](_quoted)
        self._free = OncePerPart[str](_without_limit)

    def keyed(self, request: Request) -> Keyed:
        """Where the reply to a request is kept."""
        before, after = self._around(request)
        whole = self._written.of(request.parameters)
        whole_reply = f"{before}{self._free.of(request.parameters)}{after}"
        key = hashlib.sha256(whole_reply.encode("utf-8", "surrogatepass")).digest()
        return Keyed(key, f"{before}{whole}{after}", cut_key(key, request.parameters.get(LIMIT)))

    def _around(self, request: Request) -> tuple[str, str]:
        read = request.inputs and self._reads_inputs
        inputs = _ENCODER.encode(request.inputs) if read else "{}"
        first, others = request.messages[:1], request.messages[1:]  # the first is often shared
        turns = [*map(self._first.of, first), *map(_quoted, others)]
        return (
            f'{{"attempt":{request.attempt:d},"inputs":{inputs}'
            f',"messages":[{",".join(turns)}],"model":{self._model},"parameters":',
            f',"repeat":{request.repeat:d},"schema":{self._written.of(request.schema)},"tag":"{_TAG}"}}',
        )


def _quoted(turn: Message) -> str:
    return f"[{encode_basestring(turn.role)},{encode_basestring(turn.content)}]"


def _without_limit(parameters: JsonObject) -> str:
    return _ENCODER.encode({n: value for n, value in parameters.items() if n != LIMIT})


def without_texts(text: str) -> str:
    """What `Canon` wrote of a request, without what was shown to a model."""
    asked = json.loads(text)
    return json.dumps({name: asked[name] for name in ("parameters", "schema")})


def cut_key(key: bytes, limit: object) -> bytes:
    """The key of a reply that was cut at a limit, where `key` is that of a whole one."""
    return hashlib.sha256(key + f"cut at {limit}".encode()).digest()


# Leases on keys: which process is asking what, so that several share the work and none does it
# twice. A lease ends with the reply, with a failure, or with its process, which is told from all
# others of this and of other machines.

LEASE_SECONDS = 60.0
"""How long a lease lasts unrenewed, where its process cannot be looked up."""


class LeaseHolder(NamedTuple):
    """A process: the machine (its boot, its process namespace), its number, when it began."""

    machine: str
    process: int
    started: str


def this_process() -> LeaseHolder:
    """The process that runs this."""
    boot = _read("/proc/sys/kernel/random/boot_id")
    namespace = ""
    with suppress(OSError):
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return LeaseHolder(
        f"{socket.gethostname()} {boot} {namespace}", os.getpid(), started_at(os.getpid())
    )


def started_at(process: int) -> str:
    """When a process began, in the kernel's ticks; empty where that cannot be known."""
    return (_read(f"/proc/{process}/stat").rpartition(")")[2].split() or [""] * 20)[19]


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8").strip()
    return ""


def has_ended(holder: LeaseHolder) -> bool:
    """Whether a process of this machine has ended; false where that cannot be looked up."""
    try:
        os.kill(holder.process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return holder.started != started_at(holder.process)


# The leases of a database; all of it runs inside the caller's transaction.


def holders_of(to: Statements, keys: Keys) -> dict[bytes, int]:
    """Which of these keys are leased, each with the number of the process that holds it."""
    rows: Any = to.run("SELECT key, owner FROM leases WHERE key IN ({keys})", keys)
    return dict(rows)
