"""How far batches are, and their end before they are answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labeler.collection.batches import (
    COLLECTED,
    PREPARED,
    STORED,
    WRITTEN,
    BatchRecord,
    batches_folder,
    read_batches,
    remove_batch,
    write_batch,
)
from labeler.collection.layout import Collection, open_collection
from labeler.errors import LabelerError, Locked, Misuse, NotFound, ProviderError
from labeler.judging.batch.alone import alone
from labeler.judging.batch.answers import ShortAnswers, close, downloaded
from labeler.judging.batch.leftovers import adopt_unheard, clear_collected, remove_requests
from labeler.models.batch.service import BatchService, BatchState, batch_service
from labeler.models.limits import Limits
from labeler.report.table import Column, Row, Table
from labeler.wire.addresses import masked, server_address
from labeler.wire.gate import Admitted, admit

UNKNOWN = "not known there"
"""The status of a batch that its server does not know."""


@dataclass(frozen=True, slots=True)
class Batches:
    """How far the batches of a collection are, as the server says, or as a file says."""

    records: tuple[BatchRecord, ...]
    states: dict[int, BatchState] = field(default_factory=dict)

    @property
    def open(self) -> int:
        """How many are not collected."""
        return sum(record.is_open for record in self.records)

    def table(self) -> Table:
        """A row a batch."""
        columns = [
            Column("batch", format="d"),
            Column("set", align="left"),
            Column("requests", format=",d"),
            Column("status", align="left"),
            Column("completed", format=",d"),
            Column("failed", format=",d"),
            Column("begun", align="left"),
        ]
        rows: list[Row] = []
        for record in self.records:
            state = self.states.get(record.number)
            is_known = state is not None and state.status != UNKNOWN
            counts = (state.completed, state.failed) if state and is_known else (None, None)
            status = state.status if state else record.status
            rows.append(
                [record.number, record.name, record.requests, status, *counts, record.begun]
            )
        return Table("batches", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The rows of the table by name."""
        return {"open": self.open, "batches": self.table().records()}


async def abatches(collection: Collection | Path | str, base_url: str | None = None) -> Batches:
    """How far the batches of a collection are."""
    opened = open_collection(collection)
    records, states = read_batches(opened), dict[int, BatchState]()
    if any(is_at_server(record) for record in records):
        async with batch_service(server_of_batches(opened, records, base_url)) as service:
            with suppress(Locked), alone(opened):
                await adopt_unheard(opened, service)
            for record in at_service(opened, service):
                try:
                    states[record.number] = await looked_at(opened, record, service)
                except NotFound:
                    states[record.number] = BatchState(record.batch_id, UNKNOWN)
    return Batches(tuple(read_batches(opened)), states)


async def acancel(collection: Collection | Path | str, base_url: str | None = None) -> Batches:
    """End the batches that are open; what they have answered can still be collected.

    A batch that its server does not know any more is forgotten.
    """
    opened = open_collection(collection)
    with alone(opened):
        for record in read_batches(opened):
            if record.status == WRITTEN:
                remove_batch(opened, record.number)
            elif record.status == STORED:
                write_batch(opened, replace(record, status=COLLECTED))
        return await _with_each(opened, base_url, _cancel)


async def aforget(collection: Collection | Path | str, base_url: str | None = None) -> Batches:
    """Give up what cannot be collected, and end no other batch.

    A batch that its server does not know is forgotten; of one whose answers are not there, or not
    all of them, what is not in the store is free to be asked, and paid for, again.
    """
    opened = open_collection(collection)
    with alone(opened):
        return await _with_each(opened, base_url, _forget)


async def aclear(collection: Collection | Path | str, base_url: str | None = None) -> Batches:
    """Remove the files of collected batches from their server: requests, answers and errors.

    Only what is in the store is removed; the requests alone are removed by collecting already.
    """
    opened = open_collection(collection)
    with alone(opened):
        records = read_batches(opened)
        servers = {record.server for record in records if record.file_id or record.batch_id}
        if servers:
            async with batch_service(server_among(opened, servers, base_url)) as service:
                await clear_collected(opened, service)
    return Batches(tuple(read_batches(opened)))


async def _with_each(
    collection: Collection,
    base_url: str | None,
    act: Callable[[Collection, BatchRecord, BatchService], Awaitable[None]],
) -> Batches:
    """How far the batches are once that was done to each open one of a server.

    What goes wrong with one stops no other, and is raised in the end.
    """
    problems, records = list[LabelerError](), read_batches(collection)
    if any(is_at_server(record) for record in records):
        async with batch_service(server_of_batches(collection, records, base_url)) as service:
            with _way_out(collection):
                await adopt_unheard(collection, service)
            for record in at_service(collection, service):
                try:
                    with _way_out(collection):
                        await act(collection, record, service)
                except LabelerError as error:
                    problems.append(error)
    if problems:
        raise problems[0]
    return Batches(tuple(read_batches(collection)))


@contextmanager
def _way_out(collection: Collection) -> Iterator[None]:
    """Say what gives up a batch of a server that is gone for good, which nobody can know here."""
    try:
        yield
    except ProviderError as error:
        files = f"{batches_folder(collection)}/N.json of each batch N of it"
        free = "and its requests are free to be asked, and paid for, again"
        way = f"where that server is gone for good, remove {files}, {free}"
        raise type(error)(f"{error}; {way}") from None


async def _cancel(collection: Collection, record: BatchRecord, service: BatchService) -> None:
    try:
        state = await looked_at(collection, record, service)
        if not state.has_ended:
            state = await service.cancel(record.batch_id)
            write_batch(collection, replace(record, status=state.status))
    except NotFound:
        await _forget_unknown(collection, record, service)


async def _forget(collection: Collection, record: BatchRecord, service: BatchService) -> None:
    try:
        state = await looked_at(collection, record, service)
    except NotFound:
        await _forget_unknown(collection, record, service)
        return
    if state.has_ended:
        try:
            await downloaded(collection, record, state, service, Limits())
        except (NotFound, ShortAnswers):
            close(collection, record)


async def _forget_unknown(
    collection: Collection, record: BatchRecord, service: BatchService
) -> None:
    if record.server != service.where:
        raise NotFound(f"{record} is of {record.server}", parameter="base_url")
    await remove_requests(record, service)
    remove_batch(collection, record.number)


def is_at_server(record: BatchRecord) -> bool:
    """Whether a server has the batch, and its answers are still to come."""
    return record.is_open and record.status != WRITTEN


def server_of_batches(
    collection: Collection, records: Iterable[BatchRecord], base_url: str | None
) -> Admitted:
    """Where the open batches are; `Misuse` where they are at several servers.

    Where none is open, that is where the last one was whose requests are still there.
    """
    servers = {record.server for record in records if is_at_server(record)}
    left = [record.server for record in records if record.file_id]
    return server_among(collection, servers or set(left[-1:]), base_url)


def server_among(collection: Collection, shown: Set[str], base_url: str | None) -> Admitted:
    """Which of several servers, as their addresses are shown, is meant, and may be asked."""
    if base_url is not None:
        return admit(base_url)
    servers = sorted(shown)
    if len(servers) > 1:
        problem = f"batches are at {' and '.join(servers)}; name one"
        raise Misuse(problem, parameter="base_url")
    return admit(whole_address(servers[0], None), named_by=batches_folder(collection))


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
        ways = "where no other key has it, cancel forgets it; so does forget, and ends no other"
        raise NotFound(f"{record}: {error}; {ways}", parameter="batch") from None
    if state.status != record.status:
        write_batch(collection, replace(record, status=state.status))
    return state
