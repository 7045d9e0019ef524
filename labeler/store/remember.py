"""What is kept of calls, and who asks them: all that happens in a moment is written at once.

One transaction holds the replies that arrived, the calls that failed, and the leases on what is
about to be asked.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType

from labeler.errors import AskedElsewhere, LabelerError, Stopped
from labeler.messages import count_of
from labeler.model import Reply
from labeler.store.base import Failed, Granted, KeyedReply, Waiting, WriteBatch
from labeler.store.keys import LEASE_SECONDS, Keyed
from labeler.store.replies import Store

GATHER_SECONDS = 0.1
"""How long a batch waits for more work, while most calls are elsewhere and may bring some."""

MOST_CALLS = 0.75
"""The share of the calls that waits for a batch before it is written: fewer batches cost less."""

POLL_SECONDS = 0.25
NOTE_AFTER_SECONDS = 15.0
NOTE_SECONDS = 60.0

Claimed = Reply | Failed | bool
"""A reply that is kept, what failed in another process, or whether the lease is given."""


@dataclass(slots=True)
class _NextBatch:
    """What the next batch will do, and who waits for which keys of it."""

    replies: list[KeyedReply] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    claimed: list[bytes] = field(default_factory=list)
    sought: list[bytes] = field(default_factory=list)
    waiters: list[tuple[asyncio.Future[Claimed], bytes, bytes]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.waiters)


class BatchWriter:
    """Writes batches one after the other, in a thread; what arrives meanwhile is the next one.

    `may_wait` says whether any request waited in a server's batch when leases were given last, as
    `in_batches` told: it is looked at once a write, which costs less than once a request.
    """

    def __init__(
        self, store: Store, in_batches: Mapping[bytes, str] = MappingProxyType({})
    ) -> None:
        self.may_wait = True
        self._store = store
        self._in_batches = in_batches
        self._next = _NextBatch()
        self._writing: asyncio.Future[Granted] | None = None
        self._timer: asyncio.Handle | None = None
        self._is_due = False
        self._renewing: asyncio.Task[None] | None = None
        self._in_progress: dict[bytes, Sequence[asyncio.Future[None]]] = {}

    async def claim(self, keyed: Keyed) -> Claimed:
        """The stored reply, or how the call failed in another process, or whether the
        caller may ask: nobody else does, here or elsewhere. Equal requests of this process wait
        for the first.
        """
        key = keyed.key
        while key in self._in_progress:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._in_progress[key] = (*self._in_progress[key], turn)
            await turn
        self._in_progress[key] = ()
        self._next.claimed.append(key)
        self._next.sought.append(keyed.cut)
        try:
            granted = await self._written(key, keyed.cut)
        except BaseException:
            self.release(key)
            raise
        if granted is not True:
            self.release(key)
        return granted

    def keep(self, keyed_reply: KeyedReply) -> Awaitable[Claimed]:
        """Keep a reply, even if the caller is cancelled; what was there before it, if anything."""
        self._next.replies.append(keyed_reply)
        return self._written(keyed_reply.key, keyed_reply.key)

    async def fail(self, failed: Failed) -> None:
        """Keep how a call failed."""
        self._next.failed.append(failed)
        await self._written(failed.key, failed.key)
        self.release(failed.key)

    def release(self, key: bytes) -> None:
        """Let the key be asked again; its lease ends with the process' others."""
        for turn in self._in_progress.pop(key, ()):
            if not turn.done():
                turn.set_result(None)

    def _written(self, key: bytes, cut: bytes) -> asyncio.Future[Claimed]:
        done: asyncio.Future[Claimed] = asyncio.get_running_loop().create_future()
        self._next.waiters.append((done, key, cut))
        self._plan()
        return done

    def _plan(self) -> None:
        """Write soon: once most of the calls wait for that, or a moment later."""
        loop = asyncio.get_running_loop()
        if self._renewing is None or self._renewing.done():
            self._renewing = loop.create_task(self._renew_leases())
        if self._writing is not None or self._is_due:
            return
        if len(self._next) >= MOST_CALLS * len(self._in_progress):
            self._set_timer(loop.call_soon(self._write))
            self._is_due = True
        elif self._timer is None:
            self._set_timer(loop.call_later(GATHER_SECONDS, self._write))

    def _set_timer(self, timer: asyncio.Handle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _write(self) -> None:
        self._set_timer(None)
        self._is_due = False
        batch, self._next = self._next, _NextBatch()
        work = WriteBatch(batch.replies, batch.failed, batch.claimed, batch.sought)
        self._writing = asyncio.get_running_loop().run_in_executor(None, self._store.write, work)
        self._writing.add_done_callback(lambda writing: self._end(batch, writing))

    def _end(self, batch: _NextBatch, writing: asyncio.Future[Granted]) -> None:
        """Tell everybody who waits for a batch what came of their key."""
        self._writing = None
        if batch.claimed:
            self.may_wait = True
            with suppress(LabelerError):  # what cannot be read is said where a key is looked up
                self.may_wait = bool(self._in_batches)
        error = asyncio.CancelledError() if writing.cancelled() else writing.exception()
        for done, key, cut in batch.waiters:
            if done.done():
                continue
            if error is not None:
                done.set_exception(error)
                continue
            granted = writing.result()
            result = granted.replies.get(key) or granted.replies.get(cut)
            done.set_result(result or granted.failures.get(key) or key in granted.leases)
        if self._next:
            self._plan()

    async def _renew_leases(self) -> None:
        while self._in_progress or self._next:
            await asyncio.sleep(LEASE_SECONDS / 4)
            if self._in_progress:
                with suppress(LabelerError):  # locked, so nobody takes one; or what writes will say
                    await asyncio.to_thread(self._store.renew)

    async def finish(self) -> None:
        """Write what still waits."""
        while self._next or self._writing is not None:
            if self._writing is None:
                self._write()
            if self._writing is not None:
                await asyncio.wait([self._writing])
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing
        self._renewing = None


class Claims:
    """Claims of requests that other processes may be asking, and since when they are waited for."""

    def __init__(
        self,
        writer: BatchWriter,
        store: Store,
        waiting: Waiting,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._store = store
        self._waiting = waiting
        self._clock = clock
        self._since: dict[bytes, float] = {}
        self._next_note = -math.inf

    async def take(self, keyed: Keyed, *, patient: bool) -> Claimed:
        """What comes of another claim of a request that another process was found to be asking.

        Raises `AskedElsewhere` where this is not `patient`, `Stopped` where the run is told to
        stop meanwhile.
        """
        claimed: Claimed = False
        while claimed is False:
            self._note_long_wait(keyed.key)
            if not patient:
                raise AskedElsewhere("another process is asking this")
            if self._waiting.is_stopped():
                raise Stopped("stopped; another process is asking this")
            await asyncio.sleep(POLL_SECONDS)
            claimed = await self._writer.claim(keyed)
        return claimed

    def end(self, key: bytes) -> None:
        """Wait for a request no longer."""
        self._since.pop(key, None)

    def _note_long_wait(self, key: bytes) -> None:
        """Say who is waited for, where that has gone on for long; at most once a minute."""
        now = self._clock()
        if now - self._since.setdefault(key, now) >= NOTE_AFTER_SECONDS and now >= self._next_note:
            self._next_note = now + NOTE_SECONDS
            requests = count_of(len(self._since), "request", "requests")
            self._waiting.note(f"waiting for {self._store.asker(key)}, which asks {requests}")
