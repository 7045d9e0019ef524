"""What is left at a server: batches of which nobody heard, and files that nobody needs any more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from labeler.collection.batches import (
    COLLECTED,
    PREPARED,
    STORED,
    BatchRecord,
    read_batches,
    remove_batch,
    write_batch,
)
from labeler.collection.layout import Collection
from labeler.errors import LabelerError, NotFound
from labeler.models.batch.service import BatchService, BatchState


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
    collection: Collection, service: BatchService, note: Callable[[str], None]
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


async def clear_collected(collection: Collection, service: BatchService) -> list[BatchRecord]:
    """Remove all files of the batches whose answers are in the store; those of which some were.

    Those of another server stay.
    """
    cleared = []
    for record in read_batches(collection):
        if record.status not in {STORED, COLLECTED} or record.server != service.where:
            continue
        if record.file_id:
            await service.remove_file(record.file_id)
        if record.batch_id:
            with suppress(NotFound):
                for file_id in (await service.state(record.batch_id)).files:
                    await service.remove_file(file_id)
        if record.file_id or record.batch_id:
            write_batch(collection, replace(record, file_id="", batch_id=""))
            cleared.append(record)
    return cleared
