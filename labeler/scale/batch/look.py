"""How far batches are, and their end before they are answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from labeler.collection.batches import (
    COLLECTED,
    PARTIAL,
    PREPARED,
    STORED,
    WRITTEN,
    BatchRecord,
    batches_folder,
    read_batches,
    read_requests,
    remove_batch,
    remove_texts,
    sweep,
    write_batch,
)
from labeler.collection.layout import AnyCollection, Collection, locked_if_free, open_collection
from labeler.errors import LabelerError, Locked, Misuse, NotFound, ProviderError
from labeler.files.read import numbered_bytes
from labeler.messages import Note
from labeler.models.batch.answers import BatchRequests, Collected, store_answers
from labeler.models.batch.service import MOST_ANSWERED, BatchService, BatchState, batch_service
from labeler.models.choose import Choice
from labeler.models.cost import batch_price
from labeler.models.policies.learn import Abilities
from labeler.models.policies.stack import known_abilities
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Row, Table, shown
from labeler.store import open_store
from labeler.wire.addresses import masked, server_address
from labeler.wire.gate import Admitted, admit

# The answers of one batch: brought from its server, and taken into the store.

LARGEST = 4 * 1024 * 1024
"""Bytes of an answer to one request, as in a live call."""

DOWNLOADS = 3
"""How often a file of answers is brought that holds less than its server counts."""


class ShortAnswers(ProviderError):
    """A file of answers holds less than its server counts, each time that it was brought."""


async def downloaded(
    collection: Collection, record: BatchRecord, state: BatchState, service: BatchService
) -> Collected:
    """What the files of a batch that has ended hold, taken into the store.

    Raises `ShortAnswers` where requests have no answer that the server counts as answered: it was
    paid for. What did come is in the store. What failed was not paid for, and is asked again.
    """
    taken, brought = Collected(), 0
    for _ in range(DOWNLOADS):
        taken = await _brought(collection, record, state.answers, service)
        brought = len(taken.keys)
        if brought >= min(state.completed, record.requests):
            with suppress(NotFound):
                taken.add(await _brought(collection, record, state.errors, service))
            return taken
    raise ShortAnswers(
        f"{record}: {service.where} counts {state.completed:,} answers, and its file holds "
        f"{brought:,} of them; collect again later; cancel gives up the rest, and submit pays "
        "for it again",
        parameter="batch",
    )


async def _brought(
    collection: Collection, record: BatchRecord, file_id: str, service: BatchService
) -> Collected:
    """What one file holds, taken into the store; nothing where there is no file."""
    if not file_id:
        return Collected()
    with TemporaryDirectory(dir=batches_folder(collection), prefix=PARTIAL) as folder:
        path = Path(folder) / "answers.jsonl"
        try:
            await service.download(file_id, path, min(MOST_ANSWERED, record.requests * LARGEST))
        except NotFound as error:
            raise NotFound(
                f"{record}: {error}; its file of answers is not there any more; cancel gives it up",
                parameter="batch",
            ) from None
        return stored(collection, record, path, service.server.key)


def stored(collection: Collection, record: BatchRecord, path: Path, key: str) -> Collected:
    """What a file of answers to a batch's requests holds, taken into the store.

    Where the server repeats the `key` that was sent, it is masked.
    """
    price = Choice(record.model, "", record.server, record.declared).price
    price = batch_price(price, record.server) if price else None
    texts = read_requests(collection, record.number)
    with open_store(collection.store, redacted=record.redact) as store:
        abilities = known_abilities(record.model_id, store) or Abilities()
        asked = BatchRequests(record.model_id, record.server, texts, price, key, abilities)
        return store_answers(lambda: (line for _, line in numbered_bytes(path)), asked, store)


def close(collection: Collection, record: BatchRecord) -> BatchRecord:
    """Note that a batch's answers are in the store."""
    closed = replace(record, status=STORED)
    write_batch(collection, closed)
    remove_texts(collection, record.number)
    return closed


# One process at a time works on the batches of a collection.


@contextmanager
def alone(collection: Collection) -> Iterator[None]:
    """Work on the batches while no other process does; `Locked` where one does.

    So no request is handed over twice, and no batch that is just begun is taken for one of which
    nobody heard. What killed processes have left is removed.
    """
    folder = batches_folder(collection)
    with locked_if_free(folder / ".lock") as is_free:
        if not is_free:
            raise Locked(f"{folder}: another process is at work on the batches of this collection")
        sweep(collection)
        yield


# What is left at a server: batches of which nobody heard, and files that nobody needs any more.


async def adopt_unheard(collection: Collection, service: BatchService) -> None:
    """Find the batches that were begun by a process that ended before it heard of them.

    To be called by who holds the lock of the batches: else such a process may run still.
    """
    for record in read_batches(collection):
        if record.status != PREPARED or record.server != service.where:
            continue
        state = await _unheard(record, service)
        if state is None:
            remove_batch(collection, record.number)
        else:
            write_batch(collection, replace(record, batch_id=state.id, status=state.status))


async def _unheard(record: BatchRecord, service: BatchService) -> BatchState | None:
    """The batch that the server has all the same.

    Where it has none, the file of requests is removed before a second look: so none can begin
    afterwards, as where the call to begin it is still under way.
    """
    state = await service.with_token(record.token)
    if state is None:
        await remove_requests(record, service)
        state = await service.with_token(record.token)
    return state


async def remove_requests(record: BatchRecord, service: BatchService) -> LabelerError | None:
    """Remove a batch's file of requests from its server; why that failed, if it did."""
    try:
        if file_id := record.file_id or await service.uploaded(record.token):
            await service.remove_file(file_id)
    except LabelerError as error:
        return error
    return None


async def remove_collected_requests(
    collection: Collection, service: BatchService, note: Note
) -> None:
    """Remove the files of requests whose answers are in the store, which the server needs not.

    Where that fails, it is tried again the next time.
    """
    for record in read_batches(collection):
        if record.is_open or not record.file_id or record.server != service.where:
            continue
        if error := await remove_requests(record, service):
            note(f"{record}: its requests are still at the server ({error})")
        else:
            write_batch(collection, replace(record, file_id=""))


UNKNOWN = "not known there"
"""The status of a batch that its server does not know."""


@dataclass(frozen=True, slots=True)
class Batches(Result):
    """How far the batches of a collection are, as the server says, or as a file says."""

    records: Hidden[Sequence[BatchRecord]]
    states: Hidden[dict[int, BatchState]] = field(default_factory=dict)

    @shown
    def open(self) -> int:
        """How many are not collected."""
        return sum(record.is_open for record in self.records)

    @shown
    def batches(self) -> Table:
        """A row a batch."""
        columns = [
            Column("batch"),
            Column("set", align="left"),
            Column("requests"),
            Column("status", align="left"),
            Column("completed"),
            Column("failed"),
            Column("begun", align="left"),
        ]
        rows: list[Row] = []
        for each in self.records:
            state = self.states.get(each.number)
            is_known = state is not None and state.status != UNKNOWN
            counts = (state.completed, state.failed) if state and is_known else (None, None)
            status = state.status if state else each.status
            rows.append([each.number, each.name, each.requests, status, *counts, each.begun])
        return Table("batches", columns, rows)


async def abatches(collection: AnyCollection, base_url: str | None = None) -> Batches:
    """How far the batches of a collection are."""
    opened = open_collection(collection)
    states = dict[int, BatchState]()
    if any(map(is_at_server, read_batches(opened))):
        async with batch_service(server_of_batches(opened, base_url)) as service:
            with suppress(Locked), alone(opened):
                await adopt_unheard(opened, service)
            for record in at_service(opened, service):
                try:
                    states[record.number] = await looked_at(opened, record, service)
                except NotFound:
                    states[record.number] = BatchState(record.batch_id, UNKNOWN)
    return Batches(tuple(read_batches(opened)), states)


async def acancel(collection: AnyCollection, base_url: str | None = None) -> Batches:
    """End the batches that are open; what they have answered can still be collected.

    A batch that its server does not know any more is forgotten. If a batch ended without all its
    answers, the requests that are not in the store may be asked, and paid for, again. What goes
    wrong with one batch stops no other, and is raised in the end.
    """
    opened, problems = open_collection(collection), list[LabelerError]()
    with alone(opened):
        for record in read_batches(opened):
            if record.status == WRITTEN:
                remove_batch(opened, record.number)
            elif record.status == STORED:
                write_batch(opened, replace(record, status=COLLECTED))
        if any(map(is_at_server, read_batches(opened))):
            async with batch_service(server_of_batches(opened, base_url)) as service:
                with _way_out(opened):
                    await adopt_unheard(opened, service)
                for record in at_service(opened, service):
                    try:
                        with _way_out(opened):
                            await _cancel(opened, record, service)
                    except LabelerError as error:
                        problems.append(error)
    if problems:
        raise problems[0]
    return Batches(tuple(read_batches(opened)))


@contextmanager
def _way_out(collection: Collection) -> Iterator[None]:
    """Say what gives up a batch of a server that is gone for good, which nobody can know here."""
    try:
        yield
    except ProviderError as error:
        raise type(error)(
            f"{error}; where that server is gone for good, remove "
            f"{batches_folder(collection)}/N.json of each batch N of it, and its requests are "
            "free to be asked, and paid for, again"
        ) from None


async def _cancel(collection: Collection, record: BatchRecord, service: BatchService) -> None:
    try:
        state = await looked_at(collection, record, service)
    except NotFound:
        if record.server != service.where:
            raise NotFound(f"{record} is of {record.server}", parameter="base_url") from None
        await remove_requests(record, service)
        remove_batch(collection, record.number)
        return
    if not state.has_ended:
        state = await service.cancel(record.batch_id)
        write_batch(collection, replace(record, status=state.status))
        return
    try:
        await downloaded(collection, record, state, service)
    except (NotFound, ShortAnswers):
        close(collection, record)


def is_at_server(record: BatchRecord) -> bool:
    """Whether a server has the batch, and its answers are still to come."""
    return record.is_open and record.status != WRITTEN


def server_of_batches(collection: Collection, base_url: str | None) -> Admitted:
    """Where the open batches are; `Misuse` where they are at several servers.

    Where none is open, that is where the last one was whose requests are still there.
    """
    records = read_batches(collection)
    left = [record.server for record in records if record.file_id]
    servers = {record.server for record in records if is_at_server(record)} or {*left[-1:]}
    if base_url is not None:
        return admit(base_url)
    if len(servers) > 1:
        raise Misuse(
            f"batches are at {' and '.join(sorted(servers))}; name one", parameter="base_url"
        )
    return admit(whole_address(next(iter(servers)), None), named_by=batches_folder(collection))


def whole_address(server: str, base_url: str | None) -> str:
    """The address of a server of which a record holds what may be shown."""
    address = server_address(base_url)
    return address if masked(address) == server else server


def at_service(collection: Collection, service: BatchService) -> list[BatchRecord]:
    """The batches that a server is known to have; of an unknown address, all that any has."""
    records = [
        record
        for record in read_batches(collection)
        if is_at_server(record) and record.status != PREPARED
    ]
    return [record for record in records if record.server == service.where] or records


async def looked_at(
    collection: Collection, record: BatchRecord, service: BatchService
) -> BatchState:
    """How far a batch is, which its record says from now on."""
    try:
        state = await service.state(record.batch_id)
    except NotFound as error:
        raise NotFound(
            f"{record}: {error}; where no other key has it, cancel forgets it", parameter="batch"
        ) from None
    if state.status != record.status:
        write_batch(collection, replace(record, status=state.status))
    return state
