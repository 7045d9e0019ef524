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
from labeler.store.keys import Canon, key_of_text
from labeler.store.sqlite.leases import LEASE_SECONDS
from labeler.store.sqlite.replies import Batch, Failed, Granted, Kept, Store

GATHER_SECONDS = 0.005
"""How long a batch waits for company after a pause; while one is written, the next gathers."""

POLL_SECONDS = 0.25


def remembered(model: Model, store: Store, *, patient: bool = True) -> Model:
    """Answer from the store what is there; keep every other reply before handing it on.

    What another process is asking at this moment is waited for; where not `patient`,
    `AskedElsewhere` is raised instead, so that the caller can do something else meanwhile.
    """
    clerk, canon = _Clerk(store), Canon(model.id)

    def recall(requests: Sequence[Request]) -> list[Reply | None]:
        keys = [key_of_text(canon.text(request)) for request in requests]
        known = store.replies(keys)
        return [known.get(key) for key in keys]

    async def ask(request: Request) -> Reply:
        text = canon.text(request)
        key = key_of_text(text)
        known = await clerk.claim(key)
        while known is False and patient:
            await asyncio.sleep(POLL_SECONDS)
            known = await clerk.claim(key)
        if isinstance(known, Reply):
            return known
        if isinstance(known, Failed):
            raise CallFailed(known.detail, known.status)
        if not known:
            raise AskedElsewhere("another process is asking this")
        try:
            reply = await model.ask(request)
        except CallFailed as error:
            await clerk.fail(Failed(key, error.status, str(error)))
            raise
        except BaseException:
            clerk.give_back(key)
            raise
        return await clerk.keep(Kept(key, model.id, text, reply))

    async def close() -> None:
        await clerk.finish()
        await model.close()

    return replace(model, ask=ask, recall=recall, close=close)


_Claimed = Reply | Failed | bool
"""A reply that is there, what failed in another process, or whether the lease is given."""


@dataclass(slots=True)
class _Waiting:
    """What the next batch will do, and who waits for it."""

    kept: list[Kept] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    claimed: list[bytes] = field(default_factory=list)
    waiters: list[tuple[asyncio.Future[_Claimed], bytes]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.waiters)


class _Clerk:
    """Writes batches one after the other, in a thread; what arrives meanwhile is the next one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting = _Waiting()
        self._writing: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._held: dict[bytes, asyncio.Event] = {}

    async def claim(self, key: bytes) -> _Claimed:
        """The reply if it is there, or how the call failed in another process, or whether the
        caller may ask: nobody else does, here or elsewhere. Equal requests of this process wait
        for the first.
        """
        while key in self._held:
            await self._held[key].wait()
        self._held[key] = asyncio.Event()
        self._waiting.claimed.append(key)
        try:
            granted = await self._wait(key)
        except BaseException:
            self.give_back(key)
            raise
        if granted is not True:
            self.give_back(key)
        return granted

    async def keep(self, kept: Kept) -> Reply:
        """The reply once it is on the disk, or one that was there before it.

        It is kept even if the caller is cancelled.
        """
        self._waiting.kept.append(kept)
        earlier = await self._wait(kept.key)
        self.give_back(kept.key)
        return earlier if isinstance(earlier, Reply) else kept.reply

    async def fail(self, failed: Failed) -> None:
        """Keep the news of a failed call."""
        self._waiting.failed.append(failed)
        await self._wait(failed.key)
        self.give_back(failed.key)

    def give_back(self, key: bytes) -> None:
        """Let the key be asked again; its lease ends with the process' others."""
        held = self._held.pop(key, None)
        if held:
            held.set()

    async def _wait(self, key: bytes) -> _Claimed:
        done: asyncio.Future[_Claimed] = asyncio.get_running_loop().create_future()
        self._waiting.waiters.append((done, key))
        self._wake()
        return await asyncio.shield(done)

    def _wake(self) -> None:
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._beat())

    async def _write_all(self) -> None:
        await asyncio.sleep(GATHER_SECONDS)
        while self._waiting:
            work, self._waiting = self._waiting, _Waiting()
            batch = Batch(work.kept, work.failed, work.claimed)
            try:
                granted = await asyncio.to_thread(self._store.write, batch)
            except Exception as error:
                _fail(work, error)
            else:
                _settle(work, granted)

    async def _beat(self) -> None:
        while self._held or self._waiting:
            await asyncio.sleep(LEASE_SECONDS / 4)
            if self._held:
                await asyncio.to_thread(self._store.renew)

    async def finish(self) -> None:
        """Write what still waits."""
        while self._writing is not None and not self._writing.done():
            await asyncio.wait([self._writing])
        if self._beating is not None:
            self._beating.cancel()
            with suppress(asyncio.CancelledError):
                await self._beating
        self._writing = self._beating = None


def _settle(work: _Waiting, granted: Granted) -> None:
    for done, key in work.waiters:
        if not done.done():
            there = granted.replies.get(key) or granted.failures.get(key)
            done.set_result(there or key in granted.leases)


def _fail(work: _Waiting, error: Exception) -> None:
    for done, _ in work.waiters:
        if not done.done():
            done.set_exception(error)
