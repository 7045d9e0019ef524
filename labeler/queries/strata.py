"""Which passages are asked about, and in which order: spread over files, subjects and lengths."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.data import Document, Query
from labeler.messages import count_of
from labeler.queries.considered import number_of
from labeler.queries.fields import FieldCoverage, by_value, check_field, value_of
from labeler.queries.filter import words
from labeler.queries.set_aside import PassageRules, file_of, set_aside

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from labeler.text.vectors import Encode

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
