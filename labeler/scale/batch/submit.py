"""Hand the requests that nobody has answered to the server's Batch API, or write them to a file."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from labeler.collection.batches import (
    PARTIAL,
    WRITTEN,
    BatchRecord,
    WaitingRequests,
    batches_folder,
    read_batches,
    remove_batch,
    write_batch,
    write_requests,
)
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.user_files import Output
from labeler.errors import BudgetReached, LabelerError, Misuse, Stopped, WaitsInBatch
from labeler.files.atomic import replacing_bytes
from labeler.files.jsonl import read_rows
from labeler.judging.in_flight import PairOptions, proof_in
from labeler.judging.job import pool_of
from labeler.judging.judge import JudgeOptions, Prepared, prepare
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.methods.inquiry import Inquiry, in_chunks
from labeler.judging.pilot import AskedRound, piloted
from labeler.messages import count_of, quiet
from labeler.model import Request
from labeler.models.batch.answers import FileBounds, request_line
from labeler.models.batch.service import BatchService, batch_service
from labeler.models.choose import namer_of
from labeler.models.cost import sizes_of
from labeler.models.policies.call import Deferral, KeyedRequest
from labeler.models.policies.limits import Spending
from labeler.models.session import Control
from labeler.report.result import Result
from labeler.scale.batch.look import adopt_unheard, alone, remove_requests
from labeler.store.base import Granted, WriteBatch
from labeler.store.keys import without_texts
from labeler.wire.addresses import masked, server_address
from labeler.wire.gate import admit

# The requests of a set of judgements that nobody has answered, written to files for a batch.


class RequestRecorder:
    """Writes requests of a session in place of a server, each once, to numbered files.

    Each file is within the bounds of what a service takes; `counts` are the requests in each.
    Beside it stands one of their keys and canonical texts; in a redacted session, of their keys
    alone. A request to which the session gives no lease is asked by another process at this moment:
    it is `left`, and not written.
    """

    def __init__(self, folder: Path, bounds: FileBounds | None, prepared: Prepared) -> None:
        self.left = 0
        self.counts: list[int] = []
        self._model_name = _server_model(prepared)
        self._session = prepared.session
        self._folder = folder
        self._bounds = bounds or FileBounds()
        self._seen: set[bytes] = set()
        self._size = 0

    def write(self, requests: Iterable[KeyedRequest]) -> None:
        """Write those that are not written yet, and that nobody else is asking."""
        new = {each.key: each for each in requests if each.key not in self._seen}
        self._seen.update(new)
        granted = self._session.store.write(WriteBatch(claimed=list(new))) if new else Granted()
        leased = granted.leases
        self.left += len(new.keys() - leased)
        for each in new.values():
            if each.key in leased:
                self._write(each)

    def _write(self, keyed: KeyedRequest) -> None:
        line, bounds = request_line(keyed.key, self._model_name, keyed.request), self._bounds
        text = without_texts(keyed.text) if self._session.selection.options.redacted else keyed.text
        beside = json.dumps({"key": keyed.key.hex(), "request": text}) + "\n"
        is_full = self.counts and self.counts[-1] >= bounds.lines
        if is_full or not self.counts or self._size + len(line) > bounds.size:
            self.counts.append(0)
            self._size = 0
        for what, content in (("requests", line), ("texts", beside.encode())):
            with self.path(len(self.counts) - 1, what).open("ab") as out:
                out.write(content)
        self.counts[-1] += 1
        self._size += len(line)

    def path(self, number: int, what: str = "requests") -> Path:
        """A file, counted from 0, of requests or of their texts."""
        return self._folder / f"{what}.{number + 1}.jsonl"

    def texts(self, number: int) -> Iterator[tuple[bytes, str]]:
        """The keys and the texts of the requests in a file, which count from 0."""
        rows = read_rows(self.path(number, "texts"))
        return ((bytes.fromhex(str(row["key"])), str(row["request"])) for _, row in rows)


async def record_unanswered(
    prepared: Prepared, recorder: RequestRecorder, taken: list[KeyedRequest], *, retry_failed: bool
) -> BudgetReached | None:
    """Write every request that nobody has answered, which the session's model hands to `taken`.

    Where a pair takes several requests one after the other, those of its next round. Returns what
    ended it before all were handed over.
    """
    inquiries = Inquiries(prepared.job.pairs, prepared.job.texts, prepared.assessor)
    try:
        for chunk in in_chunks(inquiries.pairs):
            if prepared.session.guard.stop.is_set():
                raise Stopped("stopped before anything was sent")
            for _, by, is_new in inquiries.recalled(chunk, retry_failed=retry_failed):
                if isinstance(by, Inquiry) and is_new:
                    for task, _ in by.unasked(retry_failed):
                        await _defer(prepared, task.request)
            recorder.write(taken)
            taken.clear()
    except BudgetReached as reached:
        recorder.write(taken)
        return reached
    return None


async def _defer(prepared: Prepared, request: Request) -> None:
    """Hand over one request, at the most that it may cost."""
    budget = prepared.session.guard.budget
    reservation = await budget.reserve(sizes_of(request).at_most)
    try:
        await prepared.session.model.ask(request)
    except WaitsInBatch:
        pass
    finally:
        budget.settle(reservation, reservation)


@dataclass(frozen=True, eq=False, repr=False)
class Submitted(Result):
    """What was handed over, what waits in earlier batches, and what it costs at most."""

    name: str
    batches: Sequence[BatchRecord]
    waiting: int
    spent: Spending
    is_priced: bool
    stopped: BudgetReached | None = None

    @property
    def requests(self) -> int:
        """How many requests were handed over."""
        return sum(batch.requests for batch in self.batches)

    def sentence(self) -> str:
        """What was done."""
        if not self.batches:
            waits = (
                f"; {count_of(self.waiting, 'waits', 'wait')} in a batch" if self.waiting else ""
            )
            return f"nothing to ask: every request is answered or waits{waits}"
        requests = count_of(self.requests, "request", "requests")
        batches = ", ".join(str(batch.number) for batch in self.batches)
        return f"{requests} in batch {batches}"

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return self.picked(
            *("name", "requests", "waiting", "stopped"),
            batches=[{"number": b.number, "requests": b.requests} for b in self.batches],
            cost_at_most=self.spent.cost if self.is_priced else None,
        )


async def asubmit(
    collection: AnyCollection,
    options: JudgeOptions,
    control: Control | None = None,
    bounds: FileBounds | None = None,
) -> Submitted:
    """Hand every request of a pool that nobody has answered to the server's Batch API.

    Where a pair takes several requests, one after the other, that is those of its next round. Files
    are split at the `bounds` of the service.
    """
    opened, control = open_collection(collection), control or Control()
    with alone(opened):
        declared, base_url = options.declared, options.base_url
        named_by = namer_of(declared, base_url)
        server = admit(base_url or declared.server or None, named_by=named_by, key=declared.key)
        async with batch_service(server) as service:
            await adopt_unheard(opened, service)
            await _ask_a_few(opened, options, control)
            return await _submit(opened, options, control, service, bounds)


async def _ask_a_few(collection: Collection, options: JudgeOptions, control: Control) -> None:
    """Have a few pairs of many answered live; `TooManyFailed` where too many come to no grade."""
    unnoted = replace(control, note=quiet)
    async with prepare(collection, pool_of, options, unnoted, options.session) as prepared:
        job, assessor, session = prepared
        asking = PairOptions(
            session.guard.limiter.limits.in_hand,
            options.retry_failed,
            stop=control.stop,
            note=control.note,
            proof=proof_in(session, options.proof, len(job.pairs)),
        )
        asking, _ = await piloted(AskedRound(assessor, job.pairs, job.texts), asking, session.guard)
        if asking.ended:
            raise asking.ended


async def awrite_requests(
    collection: AnyCollection,
    options: JudgeOptions,
    to: Output | Path,
    control: Control | None = None,
) -> Submitted:
    """Write the same requests into a file, as vLLM's batch runner and others take it."""
    opened, control = open_collection(collection), control or Control()
    output = Output.of(to, [opened.folder])
    with alone(opened):
        bounds = FileBounds(lines=10**12, size=10**15)
        return await _submit(opened, options, control, output, bounds)


async def _submit(
    collection: Collection,
    options: JudgeOptions,
    control: Control,
    where: BatchService | Output,
    bounds: FileBounds | None,
) -> Submitted:
    with TemporaryDirectory(dir=batches_folder(collection), prefix=PARTIAL) as folder:
        taken, is_file = list[KeyedRequest](), isinstance(where, Output)
        deferral = Deferral(is_live=False, take=taken.append, assumes_abilities=is_file)
        options = replace(options, deferral=deferral)
        async with prepare(collection, pool_of, options, control, options.session) as prepared:
            recorder = RequestRecorder(Path(folder), bounds, prepared)
            stopped = await record_unanswered(
                prepared, recorder, taken, retry_failed=options.retry_failed
            )
            records = _write_records(collection, _record(prepared, options), recorder, where)
        if recorder.left:
            left = count_of(recorder.left, "request is", "requests are")
            control.note(f"{left} asked by another process at this moment, and left to it")
        batches = []
        for number, record in enumerate(records):
            sent = record
            if isinstance(where, BatchService):
                sent = await _send(collection, records[number:], recorder.path(number), where)
            batches.append(sent)
            control.note(f"batch {sent.number}: {count_of(sent.requests, 'request', 'requests')}")
    session = prepared.session
    return Submitted(
        prepared.job.name,
        tuple(batches),
        len(WaitingRequests(collection)) - sum(recorder.counts),
        session.guard.budget.spent,
        session.selection.price is not None,
        stopped,
    )


def _write_records(
    collection: Collection,
    record: BatchRecord,
    recorder: RequestRecorder,
    where: BatchService | Output,
) -> list[BatchRecord]:
    """Note of each file of requests what it is of, while its requests are leased.

    So another process that asks live finds each one leased, or waiting in a batch.
    """
    records = []
    for number, requests in enumerate(recorder.counts):
        last = max((earlier.number for earlier in read_batches(collection)), default=0)
        each = replace(record, number=last + 1, requests=requests)
        write_requests(collection, each.number, recorder.texts(number))
        if isinstance(where, Output):
            source = recorder.path(number).open("rb")
            with source, where.writing(), replacing_bytes(where.path) as out:
                copyfileobj(source, out)
            each = replace(each, status=WRITTEN)
        else:
            each = replace(each, token=secrets.token_hex(16))
        write_batch(collection, each)
        records.append(each)
    return records


async def _send(
    collection: Collection, records: Sequence[BatchRecord], path: Path, service: BatchService
) -> BatchRecord:
    """Upload the file of the first batch and have it answered.

    A batch that the server never had is forgotten; where one cannot begin, so are all after it.
    """
    try:
        return await _begin(collection, records[0], path, service)
    except BaseException:
        for later in records[1:]:
            remove_batch(collection, later.number)
        raise


async def _begin(
    collection: Collection, record: BatchRecord, path: Path, service: BatchService
) -> BatchRecord:
    try:
        record = replace(record, file_id=await service.upload(path, record.token))
    except BaseException as error:
        if isinstance(error, LabelerError):  # what was not heard of may be there all the same
            await remove_requests(record, service)
        remove_batch(collection, record.number)
        raise
    write_batch(collection, record)
    state = await service.begin(record.file_id, record.token)
    if isinstance(state, LabelerError):
        await remove_requests(record, service)
        remove_batch(collection, record.number)
        raise state
    record = replace(record, batch_id=state.id, status=state.status)
    write_batch(collection, record)
    return record


def _record(prepared: Prepared, options: JudgeOptions) -> BatchRecord:
    choice = prepared.session.selection.choice
    prompt = options.grading_prompt
    is_file = Path(prompt).is_file()  # which is to be found from any folder
    return BatchRecord(
        number=0,
        token="",
        name=prepared.job.name,
        prompt=os.path.abspath(prompt) if is_file else prompt,
        model=choice.name,
        model_id=prepared.session.model.id,
        server=masked(server_address(choice.base_url)),
        requests=0,
        begun=datetime.now(UTC).isoformat(timespec="seconds"),
        redact=options.redact,
        retry_failed=options.retry_failed,
        declared=choice.declared.to_share(),
    )


def _server_model(prepared: Prepared) -> str:
    """The model's name as its server knows it; `Misuse` where no server stands behind it."""
    selection = prepared.session.selection
    if selection.choice.is_embedded or not isinstance(selection.options.model, str | None):
        raise Misuse(
            f"a batch needs a server's model, and {selection.choice.name!r} has no server",
            parameter="model",
        )
    return selection.choice.name
