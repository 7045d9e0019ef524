"""The policy that answers from the store, and keeps replies before it hands them on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from labeler.errors import CallFailed, WaitsInBatch
from labeler.model import Model, Reply, Request
from labeler.models.ending import is_cut
from labeler.models.policies.call import ModelCall, Policy
from labeler.models.policies.call import Waiting as StillToDo
from labeler.store.base import Failed, KeyedReply, Store, Waiting
from labeler.store.keys import Canon, Keyed
from labeler.store.remember import BatchWriter, Claims


class Remembering(Policy):
    """Answers from the store where it can; keeps every other reply before handing it on.

    What another process is asking at this moment is waited for, until `waiting` says to stop; where
    not `patient`, `AskedElsewhere` is raised instead, so that the caller can do something else
    meanwhile. A long wait is noted. Whether a request waits in a batch is looked at once a lease is
    given: who hands it over holds one until the batch is written down.
    """

    def __init__(
        self,
        model: Model,
        store: Store,
        *,
        patient: bool = True,
        waiting: Waiting | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.canon = Canon(model.id, reads_inputs=not model.is_server)
        self._model_id = model.id
        self._store = store
        self._patient = patient
        self._waiting = waiting or Waiting()
        self._writer = BatchWriter(store)
        self._claims = Claims(self._writer, store, self._waiting, clock)
        self._looked_up: dict[int, tuple[Request, Keyed]] = {}

    def recall(self, requests: Sequence[Request]) -> list[Reply | None]:
        """The stored replies to requests."""
        keyed = list(map(self.canon.keyed, requests))
        self._looked_up = {id(r): (r, key) for r, key in zip(requests, keyed, strict=True)}
        return stored_replies(self._store, keyed)

    def admit(self, call: ModelCall) -> StillToDo:
        """Answer a call from the store, or let it pass once it has a lease."""
        request, keyed = self._looked_up.pop(id(call.asked), (None, None))
        if keyed is None or request is not call.asked:
            keyed = self.canon.keyed(call.asked)
        call.keyed = keyed
        return self._claim(call, keyed)

    async def _claim(self, call: ModelCall, keyed: Keyed) -> None:
        claimed = await self._writer.claim(keyed)
        if claimed is False:
            claimed = await self._claims.take(keyed, patient=self._patient)
        self._claims.end(keyed.key)
        if isinstance(claimed, Reply):
            call.reply = claimed
        elif isinstance(claimed, Failed):
            raise CallFailed(claimed.detail, claimed.status)
        elif batch := self._waiting.batches.get(keyed.key):
            self._writer.release(keyed.key)
            raise WaitsInBatch(f"waits in {batch}")

    def result(self, call: ModelCall, reply: Reply) -> StillToDo:
        """Keep a reply."""
        return self._keep(call, reply, call.keyed) if call.keyed else None

    async def _keep(self, call: ModelCall, reply: Reply, keyed: Keyed) -> None:
        key = keyed.cut if is_cut(reply.finish_reason) else keyed.key
        row = KeyedReply(key, self._model_id, keyed.text, reply, keyed.key)
        earlier = await self._writer.keep(row)
        self._writer.release(keyed.key)
        if isinstance(earlier, Reply):
            call.reply = earlier

    def error(self, call: ModelCall, error: Exception) -> StillToDo:
        """Keep how a call failed for good."""
        if call.keyed is None:
            return None
        if isinstance(error, CallFailed):
            return self._writer.fail(Failed(call.keyed.key, error.status, str(error)))
        self._writer.release(call.keyed.key)
        return None

    def lost(self, call: ModelCall) -> None:
        """Let the request be asked again."""
        if call.keyed is not None:
            self._writer.release(call.keyed.key)

    async def finish(self) -> None:
        """Write what still waits."""
        await self._writer.finish()


def stored_replies(store: Store, keyed: Iterable[Keyed]) -> list[Reply | None]:
    """The stored replies to requests: whole ones, else those cut at the very limit."""
    places = [(each.key, each.cut) for each in keyed]
    replies = dict(store.replies([key for key, _ in places]))
    if cut := [cut for key, cut in places if key not in replies]:
        replies |= store.replies(cut)
    return [replies.get(key) or replies.get(cut) for key, cut in places]
