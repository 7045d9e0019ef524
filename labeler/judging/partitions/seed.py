"""Replies that a collection has already, brought along into the partitions that would ask them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler.data import Pair
from labeler.judging.attempts import in_chunks
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.partitions.folder import PartitionedJob, PartitionFolder
from labeler.judging.session import Prepared
from labeler.model import Reply
from labeler.models.policies.stack import only_remembered
from labeler.store import Store, open_store
from labeler.store.sqlite.copying import copy_keys

Seed = Callable[[int, Sequence[Pair]], None]
"""Brings along, for a partition, the replies to the requests about its pairs."""


@dataclass(slots=True)
class _NotedHits:
    """A store that notes under which keys it had replies."""

    store: Store
    keys: list[bytes] = field(default_factory=list)

    def replies(self, keys: Sequence[bytes]) -> Mapping[bytes, Reply]:
        """The replies that are stored under these keys."""
        replies = self.store.replies(keys)
        self.keys += replies
        return replies

    def fact(self, name: str) -> str | None:
        """The fact that is stored under a name."""
        return self.store.fact(name)


@contextmanager
def seeded(folder: PartitionFolder, job: PartitionedJob, prepared: Prepared) -> Iterator[Seed]:
    """What brings replies along; nothing where there are none, or all share one database."""
    set_of_pairs, assessor, _ = prepared
    file = set_of_pairs.collection.store
    if not isinstance(file, Path):
        yield lambda _number, _pairs: None
        return
    with open_store(file, reading=True) as store:
        if not len(store):
            yield lambda _number, _pairs: None
            return
        hits = _NotedHits(store)
        recalling = replace(assessor, model=only_remembered(job.model_id, hits))  # type: ignore[arg-type]  # all that it calls is there

        def seed(number: int, pairs: Sequence[Pair]) -> None:
            hits.keys.clear()
            inquiries = Inquiries(pairs, set_of_pairs.texts, recalling)
            for chunk in in_chunks(inquiries.pairs):
                inquiries.recalled(chunk)
            if hits.keys:
                copy_keys(file, folder.replies(number), hits.keys)

        yield seed
