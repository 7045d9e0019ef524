"""Which documents of a corpus a database of vectors lacks, or has in another state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import NamedTuple

from labeler.collection.search.searched import Searched
from labeler.data import Document
from labeler.runs.engines.databases.address import VectorAddress
from labeler.runs.engines.databases.base import Entry, VectorDatabase
from labeler.runs.engines.databases.opening import opened_vectors
from labeler.store.vectors import key_of_text
from labeler.text.terms import text_to_search

DOCUMENTS_OF_A_PART = 2048


class ToSend(NamedTuple):
    """Documents of a part that have to be sent, and how many of them are there in another state."""

    entries: list[Entry]
    texts: list[str]
    changed: int


async def documents_to_send(
    database: VectorDatabase, part: Sequence[Document], prefix: str, *, is_new: bool
) -> ToSend:
    """The documents of a part that the database lacks, or has in another state."""
    hashes = {} if is_new else await database.hashes([document.id for document in part])
    entries, texts = [], []
    for document in part:
        text = text_to_search(document)
        text_hash = key_of_text(prefix + text)
        if hashes.get(document.id) != text_hash:
            entries.append(Entry(document.id, text_hash))
            texts.append(text)
    return ToSend(entries, texts, sum(entry.id in hashes for entry in entries))


@dataclass(frozen=True, slots=True)
class Unsent:
    """The texts of the documents whose vectors are not there, gone through as often as needed."""

    corpus: Searched
    is_unsent: bytearray

    def __iter__(self) -> Iterator[str]:
        return map(text_to_search, compress(self.corpus.again(), self.is_unsent))


async def unsent_documents(corpus: Searched, address: VectorAddress, prefix: str) -> bytearray:
    """For each document of a corpus, whether its vector is not at an address."""
    async with opened_vectors(address) as database:
        is_new, flags = await database.contents() is None, bytearray()
        for part in parts_of(corpus.again(), DOCUMENTS_OF_A_PART):
            to_send = await documents_to_send(database, part, prefix, is_new=is_new)
            ids = {entry.id for entry in to_send.entries}
            flags += bytes(document.id in ids for document in part)
        return flags


def parts_of(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """The documents, so many at a time."""
    rest = iter(documents)
    while part := list(islice(rest, size)):
        yield part
