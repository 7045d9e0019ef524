"""The vectors of a corpus on their way into a database."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.layout import Collection
from labeler.collection.lock import locked
from labeler.collection.search.searched import Searched
from labeler.errors import BadInput, Misuse, Stopped
from labeler.messages import cost_of, count_of
from labeler.models.control import Control
from labeler.models.encoders import Encoding
from labeler.models.encoding_parts import EncoderInParts
from labeler.models.policies.budget import Spending
from labeler.models.policies.stop import StopSignal
from labeler.runs.engines.databases.address import VectorAddress
from labeler.runs.engines.databases.base import (
    StoredVectors,
    VectorDatabase,
    VectorSettings,
    digest_of,
)
from labeler.runs.engines.databases.opening import opened_vectors, warning_of
from labeler.runs.engines.databases.pgvector import Pgvector
from labeler.runs.unsent import DOCUMENTS_OF_A_PART, ToSend, documents_to_send, parts_of
from labeler.store.vectors import Vectors

SECTION = "index"
REMOVED_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Whether PostgreSQL builds an HNSW index in the end, and how many documents go at once.

    With `take_over`, vectors that were put there from another collection are brought to this one's
    state; without, they are refused.
    """

    hnsw: bool = False
    take_over: bool = False
    documents_of_a_part: int = DOCUMENTS_OF_A_PART


@dataclass(slots=True)
class IndexResult:
    """How many documents have a vector there now, and what was done for it.

    `new` and `changed` documents were sent, `removed` ones are gone from the corpus, `same` ones
    were there already.
    """

    address: str
    encoder: str = ""
    dimensions: int = 0
    new: int = 0
    changed: int = 0
    same: int = 0
    removed: int = 0
    index: str = ""

    @property
    def documents(self) -> int:
        """How many documents of the corpus have a vector there."""
        return self.new + self.changed + self.same

    def as_json(self) -> dict[str, Any]:
        """The counts, the address, the encoder and the state of the database's own index."""
        return {
            "address": self.address,
            "encoder": self.encoder,
            "dimensions": self.dimensions,
            "documents": self.documents,
            "new": self.new,
            "changed": self.changed,
            "same": self.same,
            "removed": self.removed,
            "index": self.index,
        }


@dataclass(slots=True)
class Upload:
    """One upload: of which corpus, to where, by which encoder."""

    collection: Collection
    address: VectorAddress
    encoding: Encoding
    options: IndexOptions
    control: Control
    corpus: Searched
    source: str = ""
    settings: VectorSettings | None = None
    sending: asyncio.Task[None] | None = None

    async def run(self, stop: StopSignal) -> IndexResult:
        """Send what is not there, remove what is gone, and say in the end that all is there."""
        watch = self.control.with_stop(stop)
        if warning := warning_of(self.address):
            watch.note(warning)
        async with opened_vectors(self.address) as database:
            contents = await database.contents()
            encoder, before = await self._encoder(watch), replace(watch.spent)
            self._check(contents, encoder)
            result = IndexResult(str(self.address), encoder.encoder.id)
            try:
                await self._send_all(database, encoder, result, stop)
            finally:
                self._note_spent(encoder, before)
            await self._remove_absent(database, result)
            if self.settings is not None:
                result.dimensions = self.settings.dimensions
                await self._check_is_whole(database, result)
                if self.settings.corpus != self.corpus.sha256:
                    await database.describe(replace(self.settings, corpus=self.corpus.sha256))
            if self.options.hnsw and isinstance(database, Pgvector):
                with self.control.progress("building the HNSW index"):
                    await database.build_index()
            after = await database.contents()
            result.index = after.how_searched if after else ""
            return result

    async def _encoder(self, watch: Control) -> EncoderInParts:
        return await self.encoding.in_parts(self.collection.vectors, watch)

    def _check(self, contents: StoredVectors | None, encoder: EncoderInParts) -> None:
        """Refuse a place whose vectors are of others, of another encoder or another collection."""
        where, made_by = str(self.address), encoder.encoder
        own = card_section(card_section(read_card(self.collection), SECTION), where).get("source")
        self.source = own if isinstance(own, str) else uuid.uuid4().hex
        settings = contents.settings if contents else None
        if contents and contents.rows and settings is None:
            problem = f"{count_of(contents.rows, 'vector', 'vectors')} of others are there"
            raise Misuse(f"{where}: {problem}; name another place", parameter="vectors")
        if settings is not None:
            if settings.encoder != made_by.document_identity:
                problem = f"its vectors are of the encoder {settings.encoder}"
                how = f"not of {made_by.document_identity}; name that one, or another place"
                raise Misuse(f"{where}: {problem}, {how}", parameter="encoder")
            is_other = settings.source != own and settings.corpus != self.corpus.sha256
            if is_other and not self.options.take_over:
                problem = "its vectors are of another collection, or of another state of a copy"
                how = "to take them over removes those of documents that this one lacks"
                raise Misuse(f"{where}: {problem}; {how}", parameter="take_over")
            self.source, self.settings = settings.source, settings
        if self.source != own:  # before anything is sent: a kill may come at any time
            with locked(self.collection, self.control.note):
                update_card_entry(self.collection, SECTION, where, {"source": self.source})

    async def _send_all(
        self,
        database: VectorDatabase,
        encoder: EncoderInParts,
        result: IndexResult,
        stop: StopSignal,
    ) -> None:
        """Send the documents part by part; while one is on its way, the next is encoded."""
        is_new, prefix = self.settings is None, self.encoding.options.document_prefix
        with self.control.progress("indexing") as advance:
            try:
                for part in parts_of(self.corpus.again(), self.options.documents_of_a_part):
                    if stop.is_set():
                        raise Stopped("stopped before all documents were there")
                    unsent = await documents_to_send(database, part, prefix, is_new=is_new)
                    if unsent.entries:
                        await self._send(database, encoder, unsent)
                    result.changed += unsent.changed
                    result.new += len(unsent.entries) - unsent.changed
                    result.same += len(part) - len(unsent.entries)
                    advance(min(result.documents, self.corpus.count), self.corpus.count)
            finally:
                await self._sent()
        encoder.forget()

    async def _send(
        self, database: VectorDatabase, encoder: EncoderInParts, unsent: ToSend
    ) -> None:
        vectors = self._checked(await encoder.vectors(unsent.texts), unsent)
        await self._sent()
        await self._describe(database, encoder, vectors.shape[1])
        self.sending = asyncio.create_task(database.put(unsent.entries, vectors))
        if encoder.is_full:
            await self._sent()
            encoder.forget()

    def _checked(self, vectors: Vectors, unsent: ToSend) -> Vectors:
        """The vectors, if they can be compared with those that are there."""
        if not np.isfinite(vectors).all():
            begin = unsent.entries[0].id
            raise BadInput(f"from document {begin!r:.80} on, a vector holds no finite numbers")
        has_text = any(text.strip() for text in unsent.texts)
        if self.settings is not None and not has_text:
            return np.zeros((len(vectors), self.settings.dimensions), dtype=np.float32)
        if self.settings is not None and vectors.shape[1] != self.settings.dimensions:
            sizes = f"{self.settings.dimensions:,} numbers, new ones {vectors.shape[1]:,}"
            problem = f"its vectors have {sizes}; name another place"
            raise Misuse(f"{self.address}: {problem}", parameter="vectors")
        if not has_text:
            raise BadInput(f"the first {len(vectors):,} documents of the corpus have no text")
        return vectors

    async def _describe(
        self, database: VectorDatabase, encoder: EncoderInParts, dimensions: int
    ) -> None:
        """Say before a vector is sent how all are made, and that not all are there."""
        made_by = encoder.encoder
        if self.settings is None:
            names = (made_by.document_identity, made_by.id)
            self.settings = VectorSettings(*names, dimensions, self.source)
            await database.make(self.settings)
        else:
            await self._describe_as_partial(database, self.settings)

    async def _describe_as_partial(
        self, database: VectorDatabase, settings: VectorSettings
    ) -> None:
        """Say before anything changes that what is there is of no state of a corpus."""
        if settings.corpus:
            self.settings = replace(settings, corpus="")
            await database.describe(self.settings)

    async def _sent(self) -> None:
        """Wait for what is on its way."""
        sending, self.sending = self.sending, None
        if sending is not None:
            await sending

    async def _remove_absent(self, database: VectorDatabase, result: IndexResult) -> None:
        """Remove what is there of documents that the corpus lacks, if there is any."""
        if self.settings is None or await database.count() <= result.documents:
            return
        await self._describe_as_partial(database, self.settings)
        digests = (digest_of(document.id) for document in self.corpus.again())
        present = np.sort(np.fromiter(digests, dtype="S16"))
        with self.control.progress("removing"):
            async for ids in database.ids():
                points = np.array([digest_of(doc_id) for doc_id in ids], dtype="S16")
                absent = [*compress(ids, ~_are_in(points, present))]
                for start in range(0, len(absent), REMOVED_AT_ONCE):
                    await database.remove(absent[start : start + REMOVED_AT_ONCE])
                result.removed += len(absent)

    async def _check_is_whole(self, database: VectorDatabase, result: IndexResult) -> None:
        """`BadInput` where another upload to the same place has come between."""
        contents = await database.contents()
        is_other = not contents or not contents.settings or contents.settings.source != self.source
        if is_other or await database.count() < result.documents:
            problem = "another process has changed what is there meanwhile"
            how = "run the command again once it has ended"
            raise BadInput(f"{self.address}: {problem}; {how}", parameter="vectors")

    def _note_spent(self, encoder: EncoderInParts, before: Spending) -> None:
        spent = self.control.spent.since(before)
        if spent.calls:
            self.control.note(
                f"{encoder.encoder.id} encoded {count_of(encoder.encoded, 'text', 'texts')}: "
                f"{count_of(spent.calls, 'call', 'calls')}, {spent.tokens:,} tokens, "
                f"cost {cost_of(spent.cost, spent.cost_at_most)}"
            )


def _are_in(points: Any, present: Any) -> Any:
    """Which of some points are among those that are sorted."""
    if not len(present):
        return np.zeros(len(points), dtype=bool)
    at = np.minimum(np.searchsorted(present, points), len(present) - 1)
    return present[at] == points
