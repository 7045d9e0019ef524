"""The requests of a set of judgements that nobody has answered, written to files for a batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from typing import IO

from labeler.errors import BudgetReached, Stopped, WaitsInBatch
from labeler.files.jsonl import read_rows
from labeler.judging.attempts import in_chunks
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.methods.inquiry import Inquiry
from labeler.judging.session import Prepared
from labeler.model import Request
from labeler.models.batch.lines import FileBounds, RequestFiles, request_line
from labeler.models.policies.defer import KeyedRequest
from labeler.models.tokens import at_most
from labeler.store.keys import without_texts

LEASED_AT_ONCE = 1000


class RequestRecorder:
    """Takes requests in place of a server, each once, and writes them to files.

    Beside each file of requests stands one of their keys and canonical texts; with `redacted`, of
    their keys alone. A request to which `lease` gives no lease is asked by another process at this
    moment: it is `left`, and not written.
    """

    def __init__(self, folder: Path, bounds: FileBounds | None, *, redacted: bool = False) -> None:
        self.model_name = ""
        self.lease: Callable[[Sequence[bytes]], Set[bytes]] = frozenset
        self.left = 0
        self._folder = folder
        self._files = RequestFiles(folder, bounds)
        self._redacted = redacted
        self._taken: set[bytes] = set()
        self._pending: list[KeyedRequest] = []
        self._texts: IO[str] | None = None
        self._number = -1

    def __len__(self) -> int:
        return len(self._taken) - self.left

    def take(self, keyed: KeyedRequest) -> None:
        """Write a request, if it is not written yet, and nobody else is asking it."""
        if keyed.key in self._taken:
            return
        self._taken.add(keyed.key)
        self._pending.append(keyed)
        if len(self._pending) >= LEASED_AT_ONCE:
            self._write_pending()

    def _write_pending(self) -> None:
        pending, self._pending = self._pending, []
        leased = self.lease([keyed.key for keyed in pending]) if pending else frozenset()
        for keyed in pending:
            if keyed.key in leased:
                self._write(keyed)
            else:
                self.left += 1

    def _write(self, keyed: KeyedRequest) -> None:
        number = self._files.add(request_line(keyed.key, self.model_name, keyed.request))
        if self._texts is None or number != self._number:
            self.close_texts()
            self._number = number
            self._texts = self._path(number).open("w", encoding="utf-8", errors="replace")
        text = without_texts(keyed.text) if self._redacted else keyed.text
        self._texts.write(json.dumps({"key": keyed.key.hex(), "request": text}) + "\n")

    def _path(self, number: int) -> Path:
        return self._folder / f"texts.{number + 1}.jsonl"

    def close_texts(self) -> None:
        """Close the file of texts that is being written."""
        if self._texts is not None:
            self._texts.close()
            self._texts = None

    def finish(self) -> None:
        """Write what was taken last, as long as leases are given."""
        self._write_pending()

    def close(self) -> None:
        """Close all files."""
        self.close_texts()
        self._files.close()

    def files(self) -> list[tuple[Path, int]]:
        """The files of requests, each with how many there are in it."""
        return list(zip(self._files.paths(), self._files.counts, strict=True))

    def texts(self, number: int) -> Iterator[tuple[bytes, str]]:
        """The keys and the texts of the requests in a file, which count from 0."""
        rows = read_rows(self._path(number))
        return ((bytes.fromhex(str(row["key"])), str(row["request"])) for _, row in rows)


async def record_unanswered(prepared: Prepared, *, retry_failed: bool) -> BudgetReached | None:
    """Hand every request that nobody has answered to the session's model, which defers it.

    Where a pair takes several requests one after the other, those of its next round. Returns what
    ended it before all were handed over.
    """
    inquiries = Inquiries(prepared.job.pairs, prepared.job.texts, prepared.assessor)
    begun: set[int] = set()
    lists: list[Inquiry] = []  # what is begun stays, so that no other gets its number
    try:
        for chunk in in_chunks(inquiries.pairs):
            if prepared.session.guard.stop.is_set():
                raise Stopped("stopped before anything was sent")
            for _, item in inquiries.recalled(chunk, retry_failed=retry_failed):
                if not isinstance(item, Inquiry) or id(item) in begun:
                    continue
                if not inquiries.is_single:
                    begun.add(id(item))
                    lists.append(item)
                for task, _ in item.unasked(retry_failed):
                    await _defer(prepared, task.request)
    except BudgetReached as reached:
        return reached
    return None


async def _defer(prepared: Prepared, request: Request) -> None:
    """Hand over one request, at the most that it may cost."""
    budget = prepared.session.guard.budget
    reservation = await budget.reserve(at_most(request))
    try:
        await prepared.session.model.ask(request)
    except WaitsInBatch:
        pass
    finally:
        budget.settle(reservation, reservation)
