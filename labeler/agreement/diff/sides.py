"""The two sets of grades that a diff compares: of a collection, files, or what a program holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from labeler.agreement.align import AssessorLabels
from labeler.agreement.sources import JUDGEMENTS, assessor_of, weights_of_people
from labeler.collection.card import QUERIES, SAMPLE, Parent, parent_of
from labeler.collection.judged_set import JudgedSet, judged_in, read_set
from labeler.collection.layout import Collection, collection_of_qrels, open_collection
from labeler.collection.scale import grade_names
from labeler.collection.stale import stale_in
from labeler.collection.whose import routed_pairs
from labeler.data import Pair, State, judged
from labeler.errors import Misuse
from labeler.files.paths import true_path
from labeler.judging.changes import sets_alike, texts_of_queries
from labeler.messages import count_of
from labeler.trec.labels import whole
from labeler.trec.memory import Source
from labeler.trec.pairs import PairColumns

Parents = tuple[Parent | None, Parent | None]


class Sides(NamedTuple):
    """Both sets, with their names, the sources that they were read from, and their parents.

    Where one judges a part of its parent alone, the other has no further pairs here. `weights` are
    one over the chances with which people's pairs were drawn, if the pairs are theirs. `scales` are
    the grades that either's prompt allows, empty where that is not known. `stale` counts the pairs
    whose texts have changed since either set was judged, as the `notes` say.
    """

    names: tuple[str, str]
    before: JudgedSet
    after: JudgedSet
    sources: tuple[Any, Any]
    collection: Collection | None = None
    queries: Mapping[str, str] = {}
    parents: Parents = (None, None)
    weights: Mapping[Pair, float] | None = None
    scales: tuple[Sequence[int], Sequence[int]] = ((), ())
    stale: int = 0
    notes: Sequence[str] = ()

    @property
    def parts(self) -> list[tuple[str, JudgedSet, Parent]]:
        """The sets that judge a part of their parent, with their names."""
        each = zip(self.names, (self.before, self.after), self.parents, strict=True)
        return [(name, side, parent) for name, side, parent in each if parent and parent.is_part]

    @property
    def picking(self) -> set[str]:
        """The sets by whose grades the pairs were picked that are compared."""
        return {name for _, _, parent in self.parts for name in parent.picking}

    @property
    def thins_rankings(self) -> bool:
        """Whether a ranking's pairs were left out of a query, so that its score means nothing."""
        return self.weights is not None or any(part.kind != QUERIES for _, _, part in self.parts)

    @property
    def unfinished(self) -> list[str]:
        """A line for each set that has not all the pairs that it was to judge."""
        return [
            f"{name}: {parent.pairs - len(side):,} of the {parent.pairs:,} pairs "
            f"{parent.which()} were not asked about yet: the others are no sample"
            for name, side, parent in self.parts
            if len(side) < parent.pairs
        ]

    @property
    def of_scales(self) -> str:
        """That the two grade on different scales, so that their numbers do not mean the same."""
        before, after = self.scales
        if not before or not after or before == after:
            return ""
        first, second = (f"{scale[0]} to {scale[-1]}" for scale in self.scales)
        return (
            f" Their scales differ, so that up and down mean little: {self.names[0]} grades from "
            f"{first}, {self.names[1]} from {second}."
        )

    @property
    def of_part(self) -> str:
        """Which part of which pairs was compared, and whether its shares hold for all of them."""
        if not self.parts:
            return ""
        _, _, parent = self.parts[-1]
        hold = "the shares are of these alone"
        if all(part.kind == SAMPLE for _, _, part in self.parts) and not self.unfinished:
            hold = "the shares hold for all of these"
        return (
            f" Judged were {parent.pairs:,} of the {count_of(parent.of_pairs, 'pair')} "
            f"of {parent.name}, {parent.which()}: {hold}."
        )


def sides_of(sources: Sequence[Source | Collection], stale: str = "drop") -> Sides:
    """A collection and the names of two of its sets, or two sets from anywhere."""
    first, notes = sources[0] if sources else None, list[str]()
    is_named = isinstance(first, str | os.PathLike) and (len(sources) == 3 or Path(first).is_dir())
    is_collection = isinstance(first, Collection) or is_named
    sides, sets = (_of_collection if is_collection else _of_two)(sources)
    files = map(sides.collection.qrels, sides.names) if sides.collection else sides.sources
    changed = stale_in(files, notes.append, stale, sets)
    left_out = changed if stale == "drop" else set[Pair]()
    before, after = sides.before.without(left_out), sides.after.without(left_out)
    return sides._replace(before=before, after=after, stale=len(changed), notes=tuple(notes))


def _of_two(sources: Sequence[Any]) -> tuple[Sides, tuple[JudgedSet, JudgedSet]]:
    """Two sources that are no collection, and what was read of each."""
    if len(sources) != 2:
        raise Misuse("expected two qrels, or a collection and the names of two sets in it")
    before, first = _named(sources[0], "before")
    after, second = _named(sources[1], "after")
    if before == after:
        before, after = f"{before} (1)", f"{after} (2)"
    parents = _parent_of_file(sources[0]), _parent_of_file(sources[1])
    alike = sets_alike(parents, (first, second))
    return Sides((before, after), *alike, tuple(sources), parents=parents), (first, second)


def _of_collection(sources: Sequence[Any]) -> tuple[Sides, tuple[JudgedSet, JudgedSet]]:
    """Two sets of a collection, and what was read of each."""
    if len(sources) != 3:
        raise Misuse(f"expected two names after {sources[0]}: from which judgements to which?")
    if all(not isinstance(source, Collection) and Path(source).is_file() for source in sources):
        raise Misuse(f"{sources[0]} is a file: expected two qrels, and people's named as such")
    opened = open_collection(sources[0])
    before, after = map(str, sources[1:])
    sets = read_set(opened, before, shares=True), read_set(opened, after, shares=True)
    return sides_of_sets(opened, (before, after), sets), sets


def sides_of_sets(
    collection: Collection, names: tuple[str, str], sets: tuple[JudgedSet, JudgedSet]
) -> Sides:
    """Two sets of a collection that were read already."""
    parents = parent_of(collection, names[0]), parent_of(collection, names[1])
    sources = (*names, *(parent.name for parent in parents if parent))
    routed = frozenset().union(*(routed_pairs(collection, name) for name in sources))
    first, second = (side.without(routed) for side in sets_alike(parents, sets))
    texts = texts_of_queries(collection)
    # where the pairs are those that people drew and judged
    weights = next(filter(None, (weights_of_people(collection, each) for each in sources)), None)
    scales = _scale(collection, names[0]), _scale(collection, names[1])
    return Sides(names, first, second, names, collection, texts, parents, weights, scales)


def _scale(collection: Collection, name: str) -> Sequence[int]:
    """The grades that a set's prompt allows, as the card says; empty of what is no model's."""
    if not collection.judgements(name).exists():
        return ()
    return tuple(sorted(grade_names(collection, name)))


def _parent_of_file(source: Any) -> Parent | None:
    """The parent of a set of a collection whose file somebody named."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = Path(source)
    true = true_path(path)
    if true.parent.name == "judgements":
        return parent_of(Collection(true.parent.parent), true.name.removesuffix(".jsonl"))
    where = collection_of_qrels(path)
    return parent_of(*where) if where else None


def _named(source: Any, name: str) -> tuple[str, JudgedSet]:
    """A set that is no collection's, under its file's name."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.name.endswith(JUDGEMENTS):
            return path.name.partition(".jsonl")[0], judged_in(path, shares=True)
        short = path.name.removesuffix(".gz")
        return short.rpartition(".")[0] or short, _judged_set(assessor_of(source, str(path)))
    return name, _judged_set(assessor_of(source, name))


def _judged_set(source: AssessorLabels) -> JudgedSet:
    """The states of a source's labels: those that are no whole number are outside the scale."""
    given = PairColumns.of(source.labels)
    labels, code = given.coded
    states: PairColumns[State] = given.holding(code, tuple(map(_state, labels)))
    failures = source.failures
    if not failures:
        return JudgedSet(states)
    by_pair = {pair: State(None, status) for pair, status in failures.items()}
    return JudgedSet(PairColumns.of_pairs(by_pair | dict(states.by_pair())))


def _state(label: int | str) -> State:
    grade = whole(label)
    return State(None, "out_of_scale") if grade is None else judged(grade)
