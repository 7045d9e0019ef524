"""`queries passages`: which passages of a collection are asked about, and why others are not."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Annotated, NamedTuple

from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import AnyCollection, open_collection
from labeler.data import Document, Query
from labeler.errors import check_known
from labeler.exchange.fields import value_at
from labeler.files.jsonl import JsonObject
from labeler.messages import counts_of
from labeler.queries.filter import words
from labeler.queries.set_aside import PassageRules, file_of, set_aside
from labeler.report.result import Result
from labeler.report.table import Column, Table, table_of

# Which passages of a corpus may be asked about at all: all of them, unless they are many.

MOST_CONSIDERED = 100_000
"""Of more passages this many are drawn, each with the same chance; memory holds their texts."""


def considered(
    documents: Iterable[Document], seed: int, most: int = MOST_CONSIDERED
) -> list[Document]:
    """The documents, or of more than `most` so many that the seed decides, in their order.

    >>> documents = [Document(f"d{n}", "A text.") for n in range(1000)]
    >>> [document.id for document in considered(documents, seed=0, most=3)]
    ['d554', 'd779', 'd789']
    """
    numbered = ((number_of(seed, d.id), row, d) for row, d in enumerate(documents))
    drawn = nsmallest(most, numbered, key=itemgetter(0))
    return [document for _, _, document in sorted(drawn, key=itemgetter(1))]


def number_of(*parts: object) -> int:
    """A number that a seed and names decide, of 64 bits."""
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


# Which passages are asked about, and in which order: spread over folders and files.


class PassageChoice(NamedTuple):
    """The passages to ask about, in order, and why the others are set aside, by id."""

    passages: list[Document]
    set_aside: Mapping[str, str]

    @property
    def reasons(self) -> dict[str, int]:
        """How many passages are set aside, by reason, the most frequent first."""
        return dict(Counter(self.set_aside.values()).most_common())


def choose_passages(
    documents: Sequence[Document], seed: int = 0, rules: PassageRules | None = None
) -> PassageChoice:
    """The passages to ask about in an order whose every beginning is spread over the corpus.

    A file of m passages gets its turn in proportion to the square root of m, so that a long file
    does not crowd out the others. The turns of a folder's files are spread evenly. With a key to
    stratify by, its values have equal turns, and that is the order of the passages of each.
    """
    rules = rules or PassageRules()
    if rules.stratify and not any(value_at(d.metadata, rules.stratify) for d in documents):
        keys = dict.fromkeys(key for document in documents for key in document.metadata)
        check_known("value in metadata of", rules.stratify, keys, "stratify")
    why = set_aside(documents, rules)
    usable = [document for document in documents if document.id not in why]
    # more documents leave the order of the others as it is
    in_order = sorted(usable, key=lambda document: number_of(seed, document.id))
    files = defaultdict(list)
    for document in in_order:
        files[file_of(document)].append(document)
    folders: dict[str, dict[str, list[Document]]] = defaultdict(dict)
    for name, passages in files.items():
        folders[str(PurePosixPath(name).parent)][name] = passages
    in_folders, weights = {}, {}
    for folder, inside in folders.items():
        roots = {name: math.sqrt(len(passages)) for name, passages in inside.items()}
        in_folders[folder] = _interleaved(inside, roots, seed)
        weights[folder] = sum(roots.values())
    order = _interleaved(in_folders, weights, seed)
    order = _by_turns(order, rules.stratify, seed) if rules.stratify else order
    return PassageChoice(order, why)


WITHOUT = "(none)"
"""The value of a passage that lacks a key."""


def values_of(document: Document, key: str) -> list[str]:
    """The values of a key of a document's metadata as texts: one, or each of a list.

    >>> values_of(Document("d1", "A text.", "", {"tags": ["api", 3]}), "tags")
    ['api', '3']
    """
    value = value_at(document.metadata, key)
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(str(each) for each in values if each not in (None, ""))) or [WITHOUT]


def _by_turns(order: Sequence[Document], key: str, seed: int) -> list[Document]:
    """Passages in an order in which the values of a key have equal turns, until they run out.

    The first passage of each value comes before any second one; a passage of several values has its
    turn by the rarest of them. Within a turn the seed decides, so that no value always comes with
    the same kind of query.
    """
    counts = Counter[str]()
    turns = {}
    for document in order:
        values = values_of(document, key)
        turns[document.id] = min(counts[value] for value in values)
        counts.update(values)
    return sorted(order, key=lambda each: (turns[each.id], number_of(seed, each.id)))


def _interleaved(
    queues: Mapping[str, Sequence[Document]], weights: Mapping[str, float], seed: int
) -> list[Document]:
    """The documents of queues by time, where a queue has a turn every `1 / weight`.

    Each begins at a time of its own, which the seed decides.
    """
    timed = [
        ((at + number_of(seed, name) / 2**64) / weights[name], name, document)
        for name, queue in queues.items()
        for at, document in enumerate(queue)
    ]
    return [document for _, _, document in sorted(timed, key=lambda row: row[:2])]


def heading_queries(documents: Iterable[Document], count: int, seed: int) -> list[Query]:
    """The last heading of `count` passages as queries, for where no model can write any."""
    queries: dict[str, Query] = {}
    for document in choose_passages(list(documents), seed).passages:
        heading = document.title.split(" > ")[-1].strip()
        if len(queries) < count and words(heading) and heading.casefold() not in queries:
            origin = {"origin": "heading", "source": [{"doc_id": document.id}]}
            queries[heading.casefold()] = Query(f"q{len(queries) + 1}", heading, origin)
    return list(queries.values())


class _Listed(NamedTuple):
    """A passage: when it is asked about, or why it never is."""

    doc_id: Annotated[str, Column("doc_id", align="left")]
    turn: int | None
    reason: Annotated[str | None, Column(align="left", undefined="")]
    file: str
    text: Annotated[str, Column(align="left", widest=60)]


@dataclass(frozen=True, eq=False, repr=False)
class PassageList(Result):
    """The passages of a corpus: when each is asked about, or why it never is."""

    documents: Mapping[str, Document]
    choice: PassageChoice

    @property
    def sentences(self) -> list[str]:
        """How many are asked about, and how many are set aside for which reason."""
        counts = counts_of(self.choice.reasons)
        return [
            f"{len(self.choice.passages):,} passages to ask about; set aside: {counts or 'none'}"
        ]

    def tables(self) -> list[Table]:
        """A row for each passage: those that are set aside first, then the others in order."""
        why = self.choice.set_aside
        aside = ((self.documents[id_], None, reason) for id_, reason in why.items())
        asked = ((document, turn, None) for turn, document in enumerate(self.choice.passages, 1))
        rows = [_Listed(d.id, turn, why, file_of(d), d.text) for d, turn, why in (*aside, *asked)]
        return [table_of("passages", _Listed, rows)]

    def as_json(self) -> JsonObject:
        """The counts, and a row for each passage."""
        return self.picked(
            passages=len(self.choice.passages),
            set_aside=self.choice.reasons,
            list=self.tables()[0],
        )


def list_passages(
    collection: AnyCollection, *, seed: int = 0, rules: PassageRules | None = None
) -> PassageList:
    """Which passages `generate` asks about, in order, and why others are set aside; asks nothing.

    >>> from labeler.testing import small_collection
    >>> list_passages(small_collection()).as_json()["passages"]
    2
    """
    among = considered(distinct_documents(open_collection(collection).corpus), seed)
    documents = {document.id: document for document in among}
    return PassageList(documents, choose_passages(list(documents.values()), seed, rules))
