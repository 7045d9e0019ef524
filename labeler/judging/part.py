"""Which pairs of a set are judged anew: all of them, a sample, disagreements, failures, queries."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.collection.card import DISAGREEMENTS, FAILURES, QUERIES, SAMPLE, Parent
from labeler.collection.judged_set import JudgedSet, read_set
from labeler.collection.layout import Collection, check_name
from labeler.collection.pool import Pairs, Which
from labeler.collection.queries import parse_ids
from labeler.errors import BadInput, Misuse, about
from labeler.files.boundary import count
from labeler.judging.assessor import Texts
from labeler.judging.changes import human_beside
from labeler.messages import Note, count_of
from labeler.options import SEED, option
from labeler.trec.rows import LARGEST_GRADE

FORMS = "disagreements, disagreements:SET,…, failures, sample:N, queries:FILE"


@dataclass(frozen=True, slots=True)
class PartOfSet:
    """Which of a set's pairs to judge; all of them where `only` is empty.

    `disagreements` are the pairs of the set of which it and people have grades that differ;
    `disagreements:A,B` those of which the set and A and B have two grades or more, not all the
    same. `failures` are the pairs without a grade. `sample:N` draws N pairs, each as likely as any;
    the same `seed` draws the same, and a larger N more beside them. `queries:FILE` takes the pairs
    of the queries whose ids a file or a list with commas names.
    """

    only: str = option(
        "",
        "Of them alone disagreements (with people), disagreements:SET,..., failures, "
        "sample:500 or queries:FILE.",
        metavar="PART",
    )
    seed: int = option(0, "Decides which pairs a sample draws.", SEED)

    def __post_init__(self) -> None:
        takes_more = {DISAGREEMENTS: (True, True), FAILURES: (True, False)}
        takes_more |= {SAMPLE: (False, True), QUERIES: (False, True)}
        alone, with_more = takes_more.get(self.kind, (not self.only, False))
        if not (with_more if self.argument else alone and ":" not in self.only):
            raise Misuse(f"cannot read {self.only!r:.80}; expected {FORMS}", parameter="only")
        if self.kind == SAMPLE and not count(self.argument):
            problem = f"expected a number of pairs, found {self.argument!r:.40}"
            raise Misuse(f"{problem}; sample:500 draws 500", parameter="only")

    @property
    def kind(self) -> str:
        """What stands before the colon."""
        return self.only.partition(":")[0]

    @property
    def argument(self) -> str:
        """What stands after the colon."""
        return self.only.partition(":")[2]


class DerivedPairs(NamedTuple):
    """The pairs to judge, and the set that they are of."""

    pairs: Pairs
    parent: Parent


def derived_pairs(
    collection: Collection, source: str, part: PartOfSet, texts: Texts, warn: Note
) -> DerivedPairs:
    """The pairs of a set of judgements, or of qrels as people's, that a part of it has.

    Of qrels, pairs whose query or document the collection has not are left out, and `warn` is told.
    """
    judged = _judgeable(collection, source, texts, warn)
    beside = _sets_beside(collection, source, part)
    every = Pairs.in_columns(judged.states)
    pairs = every.keep(_places(collection, judged, every, part, beside))
    if not pairs:
        raise Misuse(f"no pair of {source} is among them: {part.only}", parameter="only")
    whole = Parent(source)
    if not part.only:
        return DerivedPairs(pairs, whole)
    seed = part.seed if part.kind == SAMPLE else None
    return DerivedPairs(pairs, Parent(source, part.only, len(pairs), len(every), seed, beside))


def _judgeable(collection: Collection, source: str, texts: Texts, warn: Note) -> JudgedSet:
    """What the set says of each pair that can be judged."""
    with about("source", "name"):
        name = check_name(source)
        if not collection.judgements(name).exists() and not collection.qrels(name).exists():
            collection.existing_judgements(name)
    judged = read_set(collection, name)
    # a negative grade of qrels says that nobody judged the pair
    asked = judged.restricted(~judged.is_graded | (judged.grade >= 0))
    is_present = Pairs.in_columns(asked.states).among(texts.queries, texts.documents)
    if not is_present.any():
        problem = "no pair of which the collection has both the query and the document"
        raise BadInput(f"{name}: {problem}", parameter="source")
    if missing := int((~is_present).sum()):
        pairs = count_of(missing, "pair is", "pairs are")
        warn(f"{name}: {pairs} left out: the collection has no such query or document")
    return asked.restricted(is_present)


def _sets_beside(collection: Collection, source: str, part: PartOfSet) -> tuple[str, ...]:
    """The sets whose grades are compared with the source's, by default people's."""
    if part.kind != DISAGREEMENTS:
        return ()
    names = tuple(dict.fromkeys(filter(None, map(str.strip, part.argument.split(",")))))
    if part.argument and (not names or source in names):
        raise Misuse(f"expected the names of other sets than {source}", parameter="only")
    with about("only", "name"):
        for name in names:
            if not collection.judgements(check_name(name)).exists():
                collection.existing_qrels(name)
    if names:
        return names
    human = human_beside(collection, source)
    if human is None:
        problem = f"{collection.folder} has no human qrels beside {source}"
        raise Misuse(f"{problem}; name the sets: disagreements:A,B", parameter="only")
    return (human,)


def _places(
    collection: Collection,
    judged: JudgedSet,
    pairs: Pairs,
    part: PartOfSet,
    beside: tuple[str, ...],
) -> Which:
    """Which pairs of a set its part has, in their order."""
    if part.kind == SAMPLE:
        return _drawn(pairs, count(part.argument) or 0, part.seed)
    if part.kind == FAILURES:
        return ~judged.is_graded
    if part.kind == DISAGREEMENTS:
        return _differ(judged, (read_set(collection, name) for name in beside))
    if part.kind == QUERIES:
        return _of_queries(pairs, part.argument)
    return slice(None)


def _drawn(pairs: Pairs, size: int, seed: int) -> Integers:
    """The places of `size` pairs at random; a larger draw by the same seed holds a smaller one."""
    shuffled = array("q", pairs.order().tobytes())
    Random(seed).shuffle(shuffled)
    return np.sort(np.array(shuffled[:size], dtype=np.int64))


def _differ(judged: JudgedSet, others: Iterable[JudgedSet]) -> Flags:
    """Of which pairs the sets that have a grade do not all have the same; a failure is none."""
    low = np.where(judged.is_graded, judged.grade, LARGEST_GRADE)
    high = np.where(judged.is_graded, judged.grade, -1)
    for other in others:
        grade = judged.states.beside(other.grades, -1)
        low = np.where(grade >= 0, np.minimum(low, grade), low)
        high = np.maximum(high, grade)
    return low < high


def _of_queries(pairs: Pairs, named: str) -> Flags:
    origins = parse_ids(named, "only") or {}
    present = {pairs.queries[number] for number in np.unique(pairs.query).tolist()}
    for query_id, origin in origins.items():
        if query_id not in present:
            where = f"{origin}: " if origin else ""
            problem = f"{where}no pair is of the query {query_id!r:.80}"
            problem += "" if origin else ", and no file is called so"
            raise BadInput(problem, parameter="" if origin else "only")
    return np.array([id_ in origins for id_ in pairs.queries], dtype=np.bool_)[pairs.query]
