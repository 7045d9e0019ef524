"""`remembered`: the policy that answers from the store, and keeps replies before handing them on.

Everything that happens in a moment is written in one transaction: replies that arrived, calls that
failed, and the leases on what is about to be asked.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from labeler.errors import AskedElsewhere, CallFailed, LabelerError, Stopped, WaitsInBatch
from labeler.messages import count_of
from labeler.model import Model, Reply, Request
from labeler.store.base import (
    LEASE_SECONDS,
    Failed,
    Granted,
    KeyedReply,
    Store,
    Waiting,
    WriteBatch,
)
from labeler.store.keys import Canon, key_of_text

GATHER_SECONDS = 0.005
"""How long a batch waits for more work after a pause; while one is written, the next is filled."""

POLL_SECONDS = 0.25
NOTE_AFTER_SECONDS = 15.0
NOTE_SECONDS = 60.0


def remembered(
    model: Model,
    store: Store,
    *,
    patient: bool = True,
    waiting: Waiting | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Model:
    """Answer from the store where it can; keep every other reply before handing it on.

    What another process is asking at this moment is waited for, until `waiting` says to stop; where
    not `patient`, `AskedElsewhere` is raised instead, so that the caller can do something else
    meanwhile. A long wait is noted. Whether a request waits in a batch is looked at once a lease is
    given: who hands it over holds one until the batch is written down.
    """
    writer, canon, waiting = _BatchWriter(store), Canon(model.id), waiting or Waiting()
    claims = _Claims(writer, store, waiting, clock)

    def recall(requests: Sequence[Request]) -> list[Reply | None]:
        keys = [key_of_text(canon.text(request)) for request in requests]
        replies = store.replies(keys)
        return [replies.get(key) for key in keys]

    async def ask(request: Request) -> Reply:
        text = canon.text(request)
        key = key_of_text(text)
        claimed = await claims.take(key, patient=patient)
        if isinstance(claimed, Reply):
            return claimed
        if isinstance(claimed, Failed):
            raise CallFailed(claimed.detail, claimed.status)
        if batch := waiting.batches.get(key):
            writer.release(key)
            raise WaitsInBatch(f"waits in {batch}")
        try:
            reply = await model.ask(request)
        except CallFailed as error:
            await writer.fail(Failed(key, error.status, str(error)))
            raise
        except BaseException:
            writer.release(key)
            raise
        return await writer.keep(KeyedReply(key, model.id, text, reply))

    async def close() -> None:
        await writer.finish()
        await model.close()

    return replace(model, ask=ask, recall=recall, close=close)


_Claimed = Reply | Failed | bool
"""A reply that is kept, what failed in another process, or whether the lease is given."""


@dataclass(slots=True)
class _NextBatch:
    """What the next batch will do, and who waits for it."""

    replies: list[KeyedReply] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    claimed: list[bytes] = field(default_factory=list)
    waiters: list[tuple[asyncio.Future[_Claimed], bytes]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.waiters)


class _BatchWriter:
    """Writes batches one after the other, in a thread; what arrives meanwhile is the next one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = _NextBatch()
        self._writing: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._in_progress: dict[bytes, asyncio.Event] = {}

    async def claim(self, key: bytes) -> _Claimed:
        """The stored reply, or how the call failed in another process, or whether the
        caller may ask: nobody else does, here or elsewhere. Equal requests of this process wait
        for the first.
        """
        while key in self._in_progress:
            await self._in_progress[key].wait()
        self._in_progress[key] = asyncio.Event()
        self._next.claimed.append(key)
        try:
            granted = await self._wait(key)
        except BaseException:
            self.release(key)
            raise
        if granted is not True:
            self.release(key)
        return granted

    async def keep(self, keyed_reply: KeyedReply) -> Reply:
        """The reply once it is on the disk, or one that was there before it.

        It is kept even if the caller is cancelled.
        """
        self._next.replies.append(keyed_reply)
        earlier = await self._wait(keyed_reply.key)
        self.release(keyed_reply.key)
        return earlier if isinstance(earlier, Reply) else keyed_reply.reply

    async def fail(self, failed: Failed) -> None:
        """Keep how a call failed."""
        self._next.failed.append(failed)
        await self._wait(failed.key)
        self.release(failed.key)

    def release(self, key: bytes) -> None:
        """Let the key be asked again; its lease ends with the process' others."""
        event = self._in_progress.pop(key, None)
        if event:
            event.set()

    async def _wait(self, key: bytes) -> _Claimed:
        done: asyncio.Future[_Claimed] = asyncio.get_running_loop().create_future()
        self._next.waiters.append((done, key))
        self._start()
        return await asyncio.shield(done)

    def _start(self) -> None:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew_leases())

    async def _write_all(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        while self._next:
            batch, self._next = self._next, _NextBatch()
            work = WriteBatch(batch.replies, batch.failed, batch.claimed)
            try:
                granted = await asyncio.to_thread(self._store.write, work)
            except Exception as error:
                _fail(batch, error)
            else:
                _settle(batch, granted)

    async def _renew_leases(self) -> None:
        while self._in_progress or self._next:
            await asyncio.sleep(LEASE_SECONDS / 4)
            if self._in_progress:
                with suppress(LabelerError):  # locked, so nobody takes one; or what writes will say
                    await asyncio.to_thread(self._store.renew)

    async def finish(self) -> None:
        """Write what still waits."""
        while self._writing is not None and not self._writing.done():
            await asyncio.wait([self._writing])
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing
        self._writing = self._renewing = None


class _Claims:
    """Claims of requests that other processes may be asking, and since when they are waited for."""

    def __init__(
        self, writer: _BatchWriter, store: Store, waiting: Waiting, clock: Callable[[], float]
    ) -> None:
        self._writer = writer
        self._store = store
        self._waiting = waiting
        self._clock = clock
        self._since: dict[bytes, float] = {}
        self._next_note = -math.inf

    async def take(self, key: bytes, *, patient: bool) -> _Claimed:
        """What came of claiming a request, once no other process is asking it.

        Raises `AskedElsewhere` where one is and this is not `patient`, `Stopped` where the run is
        told to stop meanwhile.
        """
        while (claimed := await self._writer.claim(key)) is False:
            self._note_long_wait(key)
            if not patient:
                raise AskedElsewhere("another process is asking this")
            if self._waiting.is_stopped():
                raise Stopped("stopped; another process is asking this")
            await asyncio.sleep(POLL_SECONDS)
        self._since.pop(key, None)
        return claimed

    def _note_long_wait(self, key: bytes) -> None:
        """Say who is waited for, where that has gone on for long; at most once a minute."""
        now = self._clock()
        since = self._since.setdefault(key, now)
        if now - since >= NOTE_AFTER_SECONDS and now >= self._next_note:
            self._next_note = now + NOTE_SECONDS
            requests = count_of(len(self._since), "request", "requests")
            self._waiting.note(f"waiting for {self._store.asker(key)}, which asks {requests}")


def _settle(batch: _NextBatch, granted: Granted) -> None:
    """Tell everybody who waits for a batch what came of their key."""
    for done, key in batch.waiters:
        if not done.done():
            result = granted.replies.get(key) or granted.failures.get(key)
            done.set_result(result or key in granted.leases)


def _fail(batch: _NextBatch, error: Exception) -> None:
    """Hand an error to everybody who waits for a batch."""
    for done, _ in batch.waiters:
        if not done.done():
            done.set_exception(error)
