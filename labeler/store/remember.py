"""The writer of a store, which puts all that came in while it wrote into one transaction.

These are the replies that arrived, the calls that failed, and the leases on what is about to be
asked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import NamedTuple

from labeler.errors import AskedElsewhere, LabelerError, Stopped
from labeler.messages import Clock
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


class _Waiter(NamedTuple):
    """Who waits for what a batch brings under a key, or under that of a reply that was cut."""

    done: asyncio.Future[Claimed]
    key: bytes
    cut: bytes


class BatchWriter:
    """Writes batches one after the other, in a thread; what arrives meanwhile is the next one.

    `may_wait` says whether any request waited in a server's batch when leases were given last: it
    is looked at once a write, which costs less than once a request. `waiting` ends the wait for
    what another process is asking, and is told of a long one.
    """

    def __init__(self, store: Store, waiting: Waiting, clock: Clock) -> None:
        self.may_wait = True
        self._store = store
        self._waiting = waiting
        self._clock = clock
        self._next, self._waiters = WriteBatch(), list[_Waiter]()
        self._writing: asyncio.Future[Granted] | None = None
        self._timer: asyncio.Handle | None = None
        self._is_due = False
        self._renewing: asyncio.Task[None] | None = None
        self._in_progress: dict[bytes, Sequence[asyncio.Future[None]]] = {}
        self._next_note = -math.inf

    async def claim(self, keyed: Keyed, *, patient: bool) -> Reply | Failed | None:
        """The stored reply, or how the call failed in another process; None where the caller may
        ask: nobody else does, here or elsewhere. Equal requests of this process wait for the first.

        What another process is asking is waited for. Raises `AskedElsewhere` where this is not
        `patient`, `Stopped` where the run is told to stop meanwhile.
        """
        key, began = keyed.key, self._clock()
        while True:
            while key in self._in_progress:
                turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._in_progress[key] = (*self._in_progress[key], turn)
                await turn
            self._in_progress[key] = ()
            self._next.claimed.append(key)
            self._next.sought.append(keyed.cut)
            try:
                claimed = await self._written(key, keyed.cut)
            except BaseException:
                self.release(key)
                raise
            if claimed is not True:
                self.release(key)
            if claimed is not False:
                return None if claimed is True else claimed
            self._note_long_wait(began)
            if not patient:
                raise AskedElsewhere("another process is asking this")
            if self._waiting.is_stopped():
                raise Stopped("stopped; another process is asking this")
            await asyncio.sleep(POLL_SECONDS)

    def _note_long_wait(self, began: float) -> None:
        """Say what is waited for, where that has gone on for long; at most once a minute."""
        now = self._clock()
        if now - began >= NOTE_AFTER_SECONDS and now >= self._next_note:
            self._next_note = now + NOTE_SECONDS
            self._waiting.note("waiting for another process, which asks the same")

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
        self._waiters.append(_Waiter(done, key, cut))
        self._plan()
        return done

    def _plan(self) -> None:
        """Write soon: once most of the calls wait for that, or a moment later."""
        loop = asyncio.get_running_loop()
        if self._renewing is None or self._renewing.done():
            self._renewing = loop.create_task(self._renew_leases())
        if self._writing is not None or self._is_due:
            return
        if len(self._waiters) >= MOST_CALLS * len(self._in_progress):
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
        (batch, waiters), self._next, self._waiters = (self._next, self._waiters), WriteBatch(), []
        self._writing = asyncio.get_running_loop().run_in_executor(None, self._store.write, batch)
        self._writing.add_done_callback(lambda writing: self._end(batch, waiters, writing))

    def _end(
        self, batch: WriteBatch, waiters: list[_Waiter], writing: asyncio.Future[Granted]
    ) -> None:
        """Tell everybody who waits for a batch what came of their key."""
        self._writing = None
        if batch.claimed:
            self.may_wait = True
            with suppress(LabelerError):  # what cannot be read is said where a key is looked up
                self.may_wait = bool(self._waiting.batches)
        error = asyncio.CancelledError() if writing.cancelled() else writing.exception()
        for done, key, cut in waiters:
            if done.done():
                continue
            if error is not None:
                done.set_exception(error)
                continue
            granted = writing.result()
            result = granted.replies.get(key) or granted.replies.get(cut)
            done.set_result(result or granted.failures.get(key) or key in granted.leases)
        if self._waiters:
            self._plan()

    async def _renew_leases(self) -> None:
        while self._in_progress or self._waiters:
            await asyncio.sleep(LEASE_SECONDS / 4)
            if self._in_progress:
                with suppress(LabelerError):  # locked, so nobody takes one; or what writes will say
                    await asyncio.to_thread(self._store.renew)

    async def finish(self) -> None:
        """Write what still waits."""
        while self._waiters or self._writing is not None:
            if self._writing is None:
                self._write()
            if self._writing is not None:
                await asyncio.wait([self._writing])
        if self._renewing is not None:
            self._renewing.cancel()
            with suppress(asyncio.CancelledError):
                await self._renewing
        self._renewing = None
