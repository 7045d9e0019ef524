"""`remembered`: the policy that answers from the store, and keeps replies before handing them on.

Everything that happens in a moment is written in one transaction: replies that arrived, calls that
failed, and the leases on what is about to be asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from labeler.errors import AskedElsewhere, CallFailed
from labeler.model import Model, Reply, Request
from labeler.store.base import LEASE_SECONDS, Failed, Granted, KeyedReply, Store, WriteBatch
from labeler.store.keys import Canon, key_of_text

GATHER_SECONDS = 0.005
"""How long a batch waits for more work after a pause; while one is written, the next is filled."""

POLL_SECONDS = 0.25


def remembered(model: Model, store: Store, *, patient: bool = True) -> Model:
    """Answer from the store where it can; keep every other reply before handing it on.

    What another process is asking at this moment is waited for; where not `patient`,
    `AskedElsewhere` is raised instead, so that the caller can do something else meanwhile.
    """
    writer, canon = _BatchWriter(store), Canon(model.id)

    def recall(requests: Sequence[Request]) -> list[Reply | None]:
        keys = [key_of_text(canon.text(request)) for request in requests]
        replies = store.replies(keys)
        return [replies.get(key) for key in keys]

    async def ask(request: Request) -> Reply:
        text = canon.text(request)
        key = key_of_text(text)
        claimed = await writer.claim(key)
        while claimed is False and patient:
            await asyncio.sleep(POLL_SECONDS)
            claimed = await writer.claim(key)
        if isinstance(claimed, Reply):
            return claimed
        if isinstance(claimed, Failed):
            raise CallFailed(claimed.detail, claimed.status)
        if not claimed:
            raise AskedElsewhere("another process is asking this")
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
