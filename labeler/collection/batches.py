"""`batches/`: requests that were handed to a server to be answered later, and how far they are.

`N.json` says what batch N is of, `N.keys` holds the 32-byte keys of its requests, one after the
other, and `N.requests.jsonl` their texts, until its answers are in the store.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from labeler.collection.layout import Collection
from labeler.collection.rows import Row, read_record, records
from labeler.files.atomic import replacing, replacing_bytes
from labeler.files.read import file_problems
from labeler.models.settings import AssessorSettings
from labeler.options import STRICT

if TYPE_CHECKING:
    from labeler.models.session import SessionOptions

KEY_BYTES = 32
PARTIAL = ".partial-"
_OF_REQUESTS = re.compile(r"([0-9]+)\.(?:keys|requests\.jsonl)")
RECORD, TEXTS, KEYS = ".json", ".requests.jsonl", ".keys"
STORED = "stored"
"""The status of a batch whose answers are in the store, while its set is not judged by them yet."""

COLLECTED = "collected"
"""The status of a batch whose answers are in the store, and whose set was judged by them."""

PREPARED = "prepared"
"""The status of a batch of which nobody knows whether its server has it."""

WRITTEN = "written"
"""The status of a batch that is a file, which somebody else has answered."""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What is known of a batch: whose requests, where, and how far it is.

    `token` finds it again at the server where the process ended before it heard of `batch_id`.
    `status` is the server's word; or `prepared`, before it has the batch, `written` of a file that
    nobody was handed, `stored` and `collected` once its answers are here. `declared` is what else
    is sent with each request.
    """

    __pydantic_config__ = STRICT

    number: int
    token: str
    name: str
    prompt: str
    model: str
    model_id: str
    server: str
    requests: int
    begun: str
    redact: bool = False
    retry_failed: bool = False
    status: str = PREPARED
    file_id: str = ""
    batch_id: str = ""
    declared: AssessorSettings = field(default_factory=AssessorSettings)

    @property
    def is_open(self) -> bool:
        """Whether its answers are still to come."""
        return self.status not in {STORED, COLLECTED}

    def __str__(self) -> str:
        return f"batch {self.number}"


_RECORD = TypeAdapter(BatchRecord)


def batches_folder(collection: Collection) -> Path:
    """The folder of a collection's batches."""
    return collection.folder / "batches"


def _file(collection: Collection, number: int, ending: str) -> Path:
    """A file of a batch: what it is of, or its requests' keys or texts."""
    return batches_folder(collection) / f"{number}{ending}"


def read_batches(collection: Collection) -> list[BatchRecord]:
    """The batches of a collection, in the order in which they were begun."""
    paths = [p for p in batches_folder(collection).glob("*.json") if p.stem.isdecimal()]
    paths = sorted(paths, key=lambda path: int(path.stem))
    return [read_record(path, _RECORD, "no record of a batch") for path in paths]


def write_batch(collection: Collection, record: BatchRecord) -> None:
    """Write what is known of a batch."""
    with replacing(_file(collection, record.number, RECORD)) as out:
        out.write(json.dumps(asdict(record), indent=2) + "\n")


def write_requests(
    collection: Collection, number: int, requests: Iterable[tuple[bytes, str]]
) -> None:
    """Write the keys and the texts of a batch's requests."""
    keys = bytearray()
    with replacing(_file(collection, number, TEXTS)) as out:
        for key, text in requests:
            keys += key
            out.write(json.dumps({"key": key.hex(), "request": text}) + "\n")
    with replacing_bytes(_file(collection, number, KEYS)) as raw:
        raw.write(bytes(keys))


def read_requests(collection: Collection, number: int) -> dict[bytes, str]:
    """The texts of a batch's requests by their keys."""
    return dict(records(_file(collection, number, TEXTS), _request))


def _request(row: Row) -> tuple[bytes, str]:
    """The key and the text of a request."""
    try:
        return bytes.fromhex(row.text("key", None)), row.text("request", None)
    except ValueError:
        raise row.wrong("key", "be hexadecimal digits") from None


def remove_texts(collection: Collection, number: int) -> None:
    """Remove the requests of a batch, which the store holds now, or which nobody was asked."""
    for ending in (TEXTS, KEYS):
        _file(collection, number, ending).unlink(missing_ok=True)


def remove_batch(collection: Collection, number: int) -> None:
    """Remove a batch that no server ever had."""
    _file(collection, number, RECORD).unlink(missing_ok=True)
    remove_texts(collection, number)


def sweep(collection: Collection) -> None:
    """Remove what processes that were killed have left: parts of files, and requests of no batch.

    To be called by who holds the lock of the batches.
    """
    numbers = {str(record.number) for record in read_batches(collection) if record.is_open}
    folder = batches_folder(collection)
    with file_problems(folder):
        for path in list(folder.iterdir()):
            of_batch = _OF_REQUESTS.fullmatch(path.name)
            if path.name.startswith(PARTIAL):
                shutil.rmtree(path, ignore_errors=True)
            elif of_batch and of_batch[1] not in numbers:
                path.unlink(missing_ok=True)


CLOCK_TICK_NS = 50_000_000
"""Within which two changes of a folder may bear the same time."""


class WaitingRequests(Mapping[bytes, str]):
    """The keys of the requests that wait in a batch, each with the batch's name.

    They are read anew once the folder of batches has changed, so that a run knows what another
    process hands over meanwhile.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._folder = str(batches_folder(collection))
        self._changed = -1
        self._waiting: dict[bytes, str] = {}

    def _now(self) -> dict[bytes, str]:
        try:
            changed = os.stat(self._folder).st_mtime_ns
        except OSError:
            changed = 0
        if changed != self._changed:
            records = [each for each in read_batches(self._collection) if each.is_open]
            keys = ((each, _keys(self._collection, each.number)) for each in records)
            self._waiting = {key: str(each) for each, own in keys for key in own}
            is_settled = time.time_ns() - changed > CLOCK_TICK_NS
            self._changed = changed if is_settled else -1
        return self._waiting

    def __getitem__(self, key: bytes) -> str:
        return self._now()[key]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


def held_back(collection: Collection, options: SessionOptions) -> SessionOptions:
    """A session's options that leave to a batch what waits in one, and ask only the rest live."""
    waiting = WaitingRequests(collection)
    return replace(options, deferral=replace(options.deferral, waiting=waiting))


def _keys(collection: Collection, number: int) -> Iterator[bytes]:
    path = _file(collection, number, KEYS)
    with file_problems(path):
        content = path.read_bytes() if path.exists() else b""
    return (content[at : at + KEY_BYTES] for at in range(0, len(content), KEY_BYTES))
