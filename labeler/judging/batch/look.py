"""How far batches are, and their end before they are answered."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labeler.collection.batches import (
    COLLECTED,
    PREPARED,
    STORED,
    WRITTEN,
    BatchRecord,
    read_batches,
    remove_batch,
    write_batch,
)
from labeler.collection.layout import Collection, open_collection
from labeler.errors import Locked, Misuse, NotFound
from labeler.judging.batch.alone import alone
from labeler.judging.batch.submit import adopt_unheard
from labeler.models.batch.service import BatchService, BatchState, batch_service
from labeler.models.server.addresses import masked, server_address
from labeler.report.table import Column, Row, Table


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
            counts = (state.completed, state.failed) if state else (None, None)
            rows.append(
                [record.number, record.name, record.requests, record.status, *counts, record.begun]
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
        async with batch_service(address_of(records, base_url)) as service:
            with suppress(Locked), alone(opened):
                await adopt_unheard(opened, service)
            for record in at_service(opened, service):
                states[record.number] = await looked_at(opened, record, service)
    return Batches(tuple(read_batches(opened)), states)


async def acancel(collection: Collection | Path | str, base_url: str | None = None) -> Batches:
    """End the batches that are open; what they have answered can still be collected.

    A batch that its server does not know any more is forgotten.
    """
    opened = open_collection(collection)
    with alone(opened):
        records = read_batches(opened)
        for record in records:
            if record.status == WRITTEN:
                remove_batch(opened, record.number)
            elif record.status == STORED:
                write_batch(opened, replace(record, status=COLLECTED))
        if any(is_at_server(record) for record in records):
            async with batch_service(address_of(records, base_url)) as service:
                await adopt_unheard(opened, service)
                for record in at_service(opened, service):
                    await _cancel(opened, record, service)
    return Batches(tuple(read_batches(opened)))


async def _cancel(collection: Collection, record: BatchRecord, service: BatchService) -> None:
    try:
        state = await looked_at(collection, record, service)
        if not state.has_ended:
            state = await service.cancel(record.batch_id)
            write_batch(collection, replace(record, status=state.status))
    except NotFound:
        if record.server != service.where:
            raise
        remove_batch(collection, record.number)


def is_at_server(record: BatchRecord) -> bool:
    """Whether a server has the batch, and its answers are still to come."""
    return record.is_open and record.status != WRITTEN


def address_of(records: Iterable[BatchRecord], base_url: str | None) -> str:
    """Where the open batches are; `Misuse` where they are at several servers."""
    servers = sorted({record.server for record in records if is_at_server(record)})
    if base_url is None and len(servers) > 1:
        problem = f"batches are open at {' and '.join(servers)}; name one"
        raise Misuse(problem, parameter="base_url")
    return base_url or whole_address(servers[0], None)


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
        raise NotFound(f"{record}: {error}; cancel forgets it", parameter="batch") from None
    if state.status != record.status:
        write_batch(collection, replace(record, status=state.status))
    return state
