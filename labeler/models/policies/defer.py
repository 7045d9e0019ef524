"""`deferred`: requests that are not asked live: they wait in a batch, or go into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from labeler.errors import CallFailed, WaitsInBatch
from labeler.model import Model, Reply, Request
from labeler.store import Store
from labeler.store.keys import Canon, key_of_text

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


def deferred(model: Model, store: Store, deferral: Deferral) -> Model:
    """A model that asks what is not deferred; of the rest it raises `WaitsInBatch`.

    Where nothing is asked live, a call that failed for good in a batch fails as it did there.
    """
    canon = Canon(model.id)

    async def ask(request: Request) -> Reply:
        if deferral.is_live and not deferral.waiting:
            return await model.ask(request)
        text = canon.text(request)
        key = key_of_text(text)
        if batch := deferral.waiting.get(key):
            raise WaitsInBatch(f"waits in {batch}")
        if deferral.is_live:
            return await model.ask(request)
        if deferral.take:
            deferral.take(KeyedRequest(key, text, request))
            raise WaitsInBatch("goes into a batch")
        if failure := store.failure(key):
            _, status, detail = failure
            raise CallFailed(detail, status)
        raise WaitsInBatch(NOT_ASKED)

    return replace(model, ask=ask)
