"""Requests that are not asked live: they wait in a batch, or go into one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from labeler.errors import CallFailed, WaitsInBatch
from labeler.model import Request
from labeler.models.policies.call import ModelCall, Policy, Waiting
from labeler.store import Store
from labeler.store.keys import Canon

Fitted = Callable[[Request], Awaitable[Request]]

NOT_ASKED = "not asked yet"


class KeyedRequest(NamedTuple):
    """A request as a server would get it, its canonical text, and the key of its reply."""

    key: bytes
    text: str
    request: Request


@dataclass(frozen=True, slots=True)
class Deferral:
    """Which requests are not asked live.

    `waiting` says of the keys of requests in which batch they wait, at any moment. Where `is_live`,
    all others are asked; else they are handed to `take`, and without one they stay unasked. With
    `assumes_abilities` no server is asked what it accepts: the requests go into a file. What is
    asked `later` is asked live then, and so costs no less.
    """

    waiting: Mapping[bytes, str] = field(default_factory=dict)
    is_live: bool = True
    take: Callable[[KeyedRequest], None] | None = None
    assumes_abilities: bool = False
    later: bool = False

    @property
    def is_for_batch(self) -> bool:
        """Whether calls cost what they do in a batch."""
        return not self.is_live and not self.later


class Deferring(Policy):
    """Lets calls pass that are not deferred; of the rest it raises `WaitsInBatch`.

    Where nothing is asked live, a call that failed for good in a batch fails as it did there.
    `fitted` makes of a request what the server takes.
    """

    def __init__(self, canon: Canon, store: Store, deferral: Deferral, fitted: Fitted) -> None:
        self._canon = canon
        self._store = store
        self._deferral = deferral
        self._fitted = fitted

    def admit(self, call: ModelCall) -> Waiting:
        """Let a call pass that is asked live; its waiting is looked at once it has a lease."""
        return None if self._deferral.is_live else self._defer(call)

    async def _defer(self, call: ModelCall) -> None:
        key, text, _ = self._canon.keyed(call.asked)
        if batch := self._deferral.waiting.get(key):
            raise WaitsInBatch(f"waits in {batch}")
        fitted = await self._fitted(call.asked)
        if self._deferral.take:
            self._deferral.take(KeyedRequest(key, text, fitted))
            raise WaitsInBatch("goes into a batch")
        if failure := self._store.failure(key):
            _, status, detail = failure
            raise CallFailed(detail, status)
        raise WaitsInBatch(NOT_ASKED)
