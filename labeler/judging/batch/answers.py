"""The answers of one batch: brought from its server, and taken into the store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from labeler.collection.batches import (
    PARTIAL,
    STORED,
    BatchRecord,
    batches_folder,
    reading_texts,
    remove_texts,
    write_batch,
)
from labeler.collection.layout import Collection
from labeler.errors import NotFound, ProviderError
from labeler.files.read import numbered_bytes
from labeler.models.batch.answers import BatchRequests, Collected, store_answers
from labeler.models.batch.service import MOST_ANSWERED, BatchService, BatchState
from labeler.models.choose import Choice
from labeler.models.limits import Limits
from labeler.models.policies.stack import known_abilities
from labeler.models.prices import batch_price
from labeler.store import open_store

LARGEST = 4 * 1024 * 1024
"""Bytes of an answer to one request, as in a live call."""

DOWNLOADS = 3
"""How often a file of answers is brought that holds less than its server counts."""


class ShortAnswers(ProviderError):
    """A file of answers holds less than its server counts, each time that it was brought."""


async def downloaded(
    collection: Collection,
    record: BatchRecord,
    state: BatchState,
    service: BatchService,
    limits: Limits,
) -> Collected:
    """What the files of a batch that has ended hold, taken into the store.

    Raises `ShortAnswers` where requests have no answer that the server counts as answered: it was
    paid for. What did come is in the store. What failed was not paid for, and is asked again.
    """
    taken, brought = Collected(), 0
    for _ in range(DOWNLOADS):
        taken = await _brought(collection, record, state.answers, service, limits)
        brought = len(taken.keys)
        if brought >= min(state.completed, record.requests):
            with suppress(NotFound):
                taken.add(await _brought(collection, record, state.errors, service, limits))
            return taken
    counts = f"counts {state.completed:,} answers, and its file holds {brought:,} of them"
    ways = "collect again later; forget gives up the rest, and submit pays for it again"
    raise ShortAnswers(f"{record}: {service.where} {counts}; {ways}", parameter="batch")


async def _brought(
    collection: Collection,
    record: BatchRecord,
    file_id: str,
    service: BatchService,
    limits: Limits,
) -> Collected:
    """What one file holds, taken into the store; nothing where there is no file."""
    if not file_id:
        return Collected()
    with TemporaryDirectory(dir=batches_folder(collection), prefix=PARTIAL) as folder:
        path = Path(folder) / "answers.jsonl"
        try:
            await service.download(file_id, path, min(MOST_ANSWERED, record.requests * LARGEST))
        except NotFound as error:
            gone = "its file of answers is not there any more; forget gives it up"
            raise NotFound(f"{record}: {error}; {gone}", parameter="batch") from None
        return stored(collection, record, path, limits, service.key)


def stored(
    collection: Collection, record: BatchRecord, path: Path, limits: Limits, key: str = ""
) -> Collected:
    """What a file of answers to a batch's requests holds, taken into the store.

    Where the server repeats the `key` that was sent, it is masked.
    """
    price = Choice(record.model, "", record.server, record.declared).price(limits.prices)
    price = batch_price(price, record.server) if price else None
    with reading_texts(collection, record.number) as texts:
        asked = BatchRequests(record.model_id, record.server, texts, price, key)
        with open_store(collection.store, redacted=record.redact) as store:
            asked = replace(asked, abilities=known_abilities(record.model_id, store))
            return store_answers(lambda: (line for _, line in numbered_bytes(path)), asked, store)


def close(collection: Collection, record: BatchRecord) -> BatchRecord:
    """Note that a batch's answers are in the store."""
    closed = replace(record, status=STORED)
    write_batch(collection, closed)
    remove_texts(collection, record.number)
    return closed
