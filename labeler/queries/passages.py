"""`queries passages`: which passages of a collection are asked about, and why others are not."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heapreplace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection, open_collection
from labeler.data import Document, Query
from labeler.errors import Misuse
from labeler.messages import SHOWN, count_of
from labeler.queries.filter import words
from labeler.queries.set_aside import PassageRules, file_of, set_aside
from labeler.report.table import Column, Table
from labeler.text.terms import can_encode, encode

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from labeler.text.terms import Encode

# A field of the documents' metadata whose values share out the passages to ask about.

WITHOUT = "(no value)"
"""What stands for the value of a document that has none."""

_LISTED = 8


def check_field(documents: Sequence[Document], name: str) -> None:
    """Raise `Misuse` where no document has a field of this name; it lists those that there are."""
    if not name or not documents or any(_has(document, name) for document in documents):
        return
    fields = Counter(key for document in documents for key in document.metadata)
    names = ", ".join(key for key, _ in fields.most_common(_LISTED)) or "none"
    problem = f"no document has a value of {name!r} in its metadata; fields there: {names}"
    raise Misuse(problem, parameter="stratify")


def _has(document: Document, name: str) -> bool:
    return value_of(document, name) != WITHOUT


def value_of(document: Document, name: str) -> str:
    """The value of a field as text; several values of a list are one, sorted."""
    value: Any = document.metadata.get(name)
    if isinstance(value, list):
        value = ", ".join(sorted(map(_text, value)))
    text = _text(value)
    return text if text.strip() else WITHOUT


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class FieldCoverage(NamedTuple):
    """Of how many values of a field there are queries, of all that passages to ask about have.

    `most` of the passages with a query have one value; `uncovered` are the values without any, the
    most frequent first.
    """

    field: str
    values: int
    all_values: int
    most: int
    uncovered: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, name: str, passages: Iterable[Document], sources: Iterable[Document]
    ) -> FieldCoverage:
        """Of the passages that may be asked about, and of those that gave a query."""
        every = Counter(value_of(document, name) for document in passages)
        covered = Counter(value_of(document, name) for document in sources)
        uncovered = tuple(value for value, _ in every.most_common() if value not in covered)
        return cls(name, len(covered), len(every), max(covered.values(), default=0), uncovered)

    def __str__(self) -> str:
        values = f"{self.values:,} of {count_of(self.all_values, 'value', 'values')}"
        more = f", … and {len(self.uncovered) - SHOWN:,} more"
        names = ", ".join(self.uncovered[:SHOWN])
        listed = names + (more if len(self.uncovered) > SHOWN else "")
        without = f"; none of {listed}" if self.uncovered else ""
        return f"{self.field}: queries of {values}, at most {self.most:,} of one{without}"


def by_value(documents: Iterable[Document], name: str) -> Mapping[str, list[Document]]:
    """The documents of each value of a field, in their order."""
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(value_of(document, name), []).append(document)
    return groups


# Which passages of a corpus may be asked about at all: all of them, unless they are many.

MOST_CONSIDERED = 100_000
"""Of more passages, so many are drawn, each with the same chance. Their texts are in the memory."""


def considered(
    documents: Iterable[Document], seed: int, most: int = MOST_CONSIDERED
) -> list[Document]:
    """The documents, or of more than `most` so many that the seed decides, in their order.

    >>> documents = [Document(f"d{n}", "A text.") for n in range(1000)]
    >>> [document.id for document in considered(documents, seed=0, most=3)]
    ['d554', 'd779', 'd789']
    """
    heap: list[tuple[int, int, Document]] = []
    for row, document in enumerate(documents):
        entry = -number_of(seed, document.id), row, document
        if len(heap) < most:
            heappush(heap, entry)
        elif entry > heap[0]:
            heapreplace(heap, entry)
    return [document for _, _, document in sorted(heap, key=lambda entry: entry[1])]


def number_of(*parts: object) -> int:
    """A number that a seed and names decide, of 64 bits."""
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8])


# Which passages are asked about, and in which order: spread over files, subjects and lengths.

MOST_ENCODED = 20_000
"""Of more passages, so many, spread over the files, are put into clusters; the rest come after."""

MOST_CLUSTERS, PASSAGES_OF_A_CLUSTER, ROUNDS = 48, 12, 12
LENGTHS = (60, 140)
"""Words at which a passage counts as middling, and as long."""


@dataclass(frozen=True, slots=True)
class PassageChoice:
    """The passages to ask about, in order, and why the others are set aside, by id."""

    passages: list[Document]
    set_aside: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    folders: int = 0
    field_name: str = ""

    @property
    def reasons(self) -> dict[str, int]:
        """How many passages are set aside, by reason, the most frequent first."""
        return dict(Counter(self.set_aside.values()).most_common())

    def as_json(self) -> dict[str, Any]:
        """The counts by name."""
        return {"passages": len(self.passages), "set_aside": self.reasons}

    def coverage(self, queries: Iterable[Query]) -> Coverage:
        """How much of the corpus gave a query."""
        ids = {s["doc_id"] for query in queries for s in query.metadata.get("source", ())}
        sources = [document for document in self.passages if document.id in ids]
        return Coverage(
            len({*map(file_of, sources)}),
            len({*map(file_of, self.passages)}),
            self.files,
            len({*map(folder_of, sources)}),
            self.folders,
            max(Counter(map(file_of, sources)).values(), default=0),
            len(sources),
            FieldCoverage.of(self.field_name, self.passages, sources) if self.field_name else None,
        )


class Coverage(NamedTuple):
    """How much of a corpus gave queries.

    `files` gave one, of `usable_files` with a passage that may be asked about, of `all_files`.
    `most_of_a_file` of the `passages` with a query stand in one file. `by_field` says the same of a
    field of the metadata, where passages are spread over its values.
    """

    files: int
    usable_files: int
    all_files: int
    folders: int
    all_folders: int
    most_of_a_file: int
    passages: int
    by_field: FieldCoverage | None = None

    def as_json(self) -> dict[str, Any]:
        """The counts by name."""
        return {**self._asdict(), "by_field": self.by_field and self.by_field._asdict()}

    def __str__(self) -> str:
        unusable = self.all_files - self.usable_files
        beside = f" ({unusable:,} more have no passage to ask about)" if unusable else ""
        files = f"{self.files:,} of {count_of(self.usable_files, 'file', 'files')}{beside}"
        folders = f"{self.folders:,} of {count_of(self.all_folders, 'folder', 'folders')}"
        by_field = f"; {self.by_field}" if self.by_field else ""
        most = f"at most {self.most_of_a_file:,} of a file"
        return f"queries come from {files} in {folders}; {most}{by_field}"


def choose_passages(
    documents: Sequence[Document],
    seed: int = 0,
    rules: PassageRules | None = None,
    encode: Encode | None = None,
    shown: Callable[[Document], str] = lambda document: document.text,
) -> PassageChoice:
    """The passages to ask about in an order whose every beginning is spread over the corpus.

    A file of m passages gets its turn in proportion to the square root of m, so that a long file
    does not crowd out the others. The turns of a folder's files are spread evenly. Within a file,
    the passage comes first whose subject (a cluster of the encoder's vectors, where there is one)
    and length have come up least. Where `rules` name a field of the metadata, its values have their
    turns as files do, and files within them. `shown` is the text of a document that is encoded.
    """
    field_name = (rules or PassageRules()).stratify
    check_field(documents, field_name)
    why = set_aside(documents, rules)
    usable = [document for document in documents if document.id not in why]
    ordered = _spread(_hashed(usable, seed), seed, field_name)
    if encode is not None and usable:
        first, rest = ordered[:MOST_ENCODED], ordered[MOST_ENCODED:]
        clusters = _clusters([shown(document) for document in first], encode, seed)
        of = {document.id: cluster for document, cluster in zip(first, clusters, strict=True)}
        ordered = [*_balanced(first, lambda d: (of[d.id], _length(d)), field_name), *rest]
    else:
        ordered = _balanced(ordered, _length, field_name)
    every_file = {file_of(document) for document in documents}
    folders = {folder_of(document) for document in documents}
    return PassageChoice(ordered, why, len(every_file), len(folders), field_name)


def folder_of(document: Document) -> str:
    """The folder of the file that a passage was cut from."""
    return str(PurePosixPath(file_of(document)).parent)


def _hashed(documents: Iterable[Document], seed: int) -> list[Document]:
    """Documents in the seed's order; more documents leave the order of the others as it is."""
    return sorted(documents, key=lambda d: number_of(seed, d.id))


def _spread(documents: Sequence[Document], seed: int, field_name: str) -> list[Document]:
    """Documents in the order of the turns of a field's values, and of files within each value."""
    if not field_name:
        return _by_turns(documents, seed)
    groups = by_value(documents, field_name)
    queues = {value: _by_turns(group, seed) for value, group in groups.items()}
    return _interleaved(queues, seed, _root_of_length)


def _by_turns(documents: Sequence[Document], seed: int) -> list[Document]:
    """Documents in the order of their files' turns, the files of each folder spread evenly."""
    files: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        files[file_of(document)].append(document)
    folders: dict[str, dict[str, list[Document]]] = defaultdict(dict)
    for name, passages in files.items():
        folders[folder_of(passages[0])][name] = passages
    in_folders = {
        folder: _interleaved(inside, seed, _root_of_length) for folder, inside in folders.items()
    }
    weights = {
        folder: sum(map(_root_of_length, inside.values())) for folder, inside in folders.items()
    }
    turns = _turns(in_folders, weights, seed)
    return [document for _, document in turns]


def _root_of_length(passages: Sequence[Document]) -> float:
    return math.sqrt(len(passages))


def _interleaved(
    queues: Mapping[str, Sequence[Document]],
    seed: int,
    weight: Callable[[Sequence[Document]], float],
) -> list[Document]:
    weights = {name: weight(queue) for name, queue in queues.items()}
    return [document for _, document in _turns(queues, weights, seed)]


def _turns(
    queues: Mapping[str, Sequence[Document]], weights: Mapping[str, float], seed: int
) -> list[tuple[float, Document]]:
    """The documents of queues by time, where a queue has a turn every `1 / weight`.

    Each begins at a time of its own, which the seed decides.
    """
    timed = [
        ((at + number_of(seed, name) / 2**64) / weights[name], name, document)
        for name, queue in queues.items()
        for at, document in enumerate(queue)
    ]
    return [(time, document) for time, _, document in sorted(timed, key=lambda row: row[:2])]


def _length(document: Document) -> int:
    """0 for a short passage, 1 for a middling one, 2 for a long one."""
    count = len(words(document.text))
    return sum(count >= bound for bound in LENGTHS)


def _balanced(
    documents: Sequence[Document], cell: Callable[[Document], Hashable], field_name: str
) -> list[Document]:
    """The files' turns as they are, but in each the passage whose cell has come up least.

    "Least" is in proportion to the square root of the cell's passages, as with files. With a field,
    a file has the turns of each of its values apart.
    """

    def queue_of(document: Document) -> tuple[str, str]:
        return file_of(document), value_of(document, field_name) if field_name else ""

    cell_of = {document.id: cell(document) for document in documents}
    sizes = Counter(cell_of.values())
    waiting: dict[Hashable, dict[Hashable, list[Document]]]
    waiting = defaultdict(lambda: defaultdict(list))
    for document in reversed(documents):
        waiting[queue_of(document)][cell_of[document.id]].append(document)
    used: Counter[Hashable] = Counter()
    ordered = []
    for document in documents:
        cells = waiting[queue_of(document)]
        best = min(cells, key=lambda c: used[c] / math.sqrt(sizes[c]))
        ordered.append(cells[best].pop())
        used[best] += 1
        if not cells[best]:
            del cells[best]
    return ordered


def _clusters(texts: Sequence[str], encode: Encode, seed: int) -> list[int]:
    """The cluster of each text: k-means of unit vectors by cosine, from seeded first centers."""
    import numpy as np

    vectors = np.concatenate([encode(texts[at : at + 512]) for at in range(0, len(texts), 512)])
    count = min(MOST_CLUSTERS, max(1, len(texts) // PASSAGES_OF_A_CLUSTER))
    generator = np.random.default_rng(seed)
    centers = vectors[generator.choice(len(texts), count, replace=False)]
    for _ in range(ROUNDS):
        nearest = np.argmax(vectors @ centers.T, axis=1)
        centers = _means(vectors, nearest, centers)
    return [int(cluster) for cluster in np.argmax(vectors @ centers.T, axis=1)]


def _means(
    vectors: npt.NDArray[np.float32],
    nearest: npt.NDArray[np.intp],
    centers: npt.NDArray[np.float32],
) -> npt.NDArray[np.float32]:
    """The unit means of the vectors of each cluster; one without any stays where it is."""
    import numpy as np

    sums = np.zeros_like(centers)
    np.add.at(sums, nearest, vectors)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    means: npt.NDArray[np.float32] = np.where(norms > 0, sums / np.maximum(norms, 1e-9), centers)
    return means


def heading_queries(documents: Iterable[Document], count: int, seed: int) -> list[Query]:
    """The last heading of `count` passages as queries, for where no model can write any."""
    queries: dict[str, Query] = {}
    for document in choose_passages(list(documents), seed).passages:
        heading = document.title.split(" > ")[-1].strip()
        if len(queries) < count and words(heading) and heading.casefold() not in queries:
            origin = {"origin": "heading", "source": [{"doc_id": document.id}]}
            queries[heading.casefold()] = Query(f"q{len(queries) + 1}", heading, origin)
    return list(queries.values())


_COLUMNS = (
    Column("doc_id", align="left"),
    Column("turn", format="d"),
    Column("reason", align="left", undefined=""),
    Column("file", align="left"),
    Column("text", align="left", widest=60),
)


@dataclass(frozen=True, slots=True)
class PassageList:
    """The passages of a corpus: when each is asked about, or why it never is."""

    documents: dict[str, Document]
    choice: PassageChoice

    def as_json(self) -> dict[str, Any]:
        """The counts, and a row for each passage."""
        return {**self.choice.as_json(), "list": self.table().records()}

    def table(self) -> Table:
        """A row for each passage: those that are set aside first, then the others in order."""
        aside = [
            (id_, None, reason, file_of(self.documents[id_]), self.documents[id_].text)
            for id_, reason in self.choice.set_aside.items()
        ]
        asked = [
            (document.id, turn, None, file_of(document), document.text)
            for turn, document in enumerate(self.choice.passages, start=1)
        ]
        return Table("passages", _COLUMNS, [*aside, *asked])

    def tables(self) -> list[Table | str]:
        """The table, and its counts as a sentence."""
        counts = ", ".join(f"{count:,} {reason}" for reason, count in self.choice.reasons.items())
        asked = f"{len(self.choice.passages):,} passages to ask about"
        return [self.table(), f"{asked}; set aside: {counts or 'none'}"]


def list_passages(
    collection: Collection | Path | str, *, seed: int = 0, rules: PassageRules | None = None
) -> PassageList:
    """Which passages `generate` asks about, in order, and why others are set aside; asks nothing.

    >>> from labeler.testing import small_collection
    >>> list_passages(small_collection()).as_json()["passages"]
    2
    """
    among = considered(distinct_documents(open_collection(collection).corpus), seed)
    documents = {document.id: document for document in among}
    encoder = encode if can_encode() else None
    return PassageList(documents, choose_passages([*documents.values()], seed, rules, encoder))
