"""Which pairs of a set are judged anew: all of them, a sample, disagreements, failures, queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from labeler.collection.card import DISAGREEMENTS, FAILURES, QUERIES, SAMPLE, Parent
from labeler.collection.layout import Collection, check_name
from labeler.collection.pool import Pairs
from labeler.collection.queries import files_of_ids, parse_ids
from labeler.data import Pair
from labeler.errors import BadInput, Misuse, about
from labeler.files.boundary import count
from labeler.judging.assessor import Texts
from labeler.judging.changes import State, human_beside, read_set
from labeler.messages import count_of
from labeler.options import SEED, option

FORMS = "disagreements, disagreements:SET,…, failures, sample:N, queries:FILE"
Warn = Callable[[str], None]


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

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The file of queries' ids, where one is named."""
        return files_of_ids(self.argument) if self.kind == QUERIES else ()


class DerivedPairs(NamedTuple):
    """The pairs to judge, and the set that they are of."""

    pairs: Pairs
    parent: Parent


def derived_pairs(
    collection: Collection, source: str, part: PartOfSet, texts: Texts, warn: Warn
) -> DerivedPairs:
    """The pairs of a set of judgements, or of qrels as people's, that a part of it has.

    Of qrels, pairs whose query or document the collection has not are left out, and `warn` is told.
    """
    states = _states(collection, source, texts, warn)
    beside = _sets_beside(collection, source, part)
    pairs = Pairs.of(_pairs_of_part(collection, states, part, beside))
    if not pairs:
        raise Misuse(f"no pair of {source} is among them: {part.only}", parameter="only")
    whole = Parent(source)
    if not part.only:
        return DerivedPairs(pairs, whole)
    seed = part.seed if part.kind == SAMPLE else None
    return DerivedPairs(pairs, Parent(source, part.only, len(pairs), len(states), seed, beside))


def _states(collection: Collection, source: str, texts: Texts, warn: Warn) -> dict[Pair, State]:
    """What the set says of each pair that can be judged, in its order."""
    with about("source", "name"):
        name = check_name(source)
        if not collection.judgements(name).exists() and not collection.qrels(name).exists():
            collection.existing_judgements(name)
    states = dict(read_set(collection, name).states.by_pair())
    # a negative grade of qrels says that nobody judged the pair
    asked = {p: s for p, s in states.items() if s.grade is None or s.grade >= 0}
    present = {pair: state for pair, state in asked.items() if texts.has(pair)}
    if not present:
        problem = "no pair of which the collection has both the query and the document"
        raise BadInput(f"{name}: {problem}", parameter="source")
    if missing := len(asked) - len(present):
        pairs = count_of(missing, "pair is", "pairs are")
        warn(f"{name}: {pairs} left out: the collection has no such query or document")
    return present


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


def _pairs_of_part(
    collection: Collection, states: Mapping[Pair, State], part: PartOfSet, beside: tuple[str, ...]
) -> list[Pair]:
    if part.kind == SAMPLE:
        return _drawn(list(states), count(part.argument) or 0, part.seed)
    if part.kind == FAILURES:
        return [pair for pair, state in states.items() if state.grade is None]
    if part.kind == DISAGREEMENTS:
        others = (read_set(collection, name).states for name in beside)
        sets = [states, *(dict(other.by_pair()) for other in others)]
        return [pair for pair in states if _differ(pair, sets)]
    if part.kind == QUERIES:
        return _of_queries(states, part.argument)
    return list(states)


def _drawn(pairs: list[Pair], size: int, seed: int) -> list[Pair]:
    """So many pairs at random, in the order of `pairs`; more by one seed hold fewer."""
    shuffled = sorted(pairs)
    Random(seed).shuffle(shuffled)
    drawn = set(shuffled[:size])
    return [pair for pair in pairs if pair in drawn]


def _differ(pair: Pair, sets: list[Mapping[Pair, State]]) -> bool:
    """Whether the sets that have a grade of a pair do not all have the same; a failure is none."""
    states = (states.get(pair) for states in sets)
    grades = {s.grade for s in states if s is not None and s.grade is not None and s.grade >= 0}
    return len(grades) > 1


def _of_queries(states: Mapping[Pair, State], named: str) -> list[Pair]:
    origins = parse_ids(named, "only") or {}
    present = {pair.query_id for pair in states}
    for query_id, origin in origins.items():
        if query_id not in present:
            where = f"{origin}: " if origin else ""
            problem = f"{where}no pair is of the query {query_id!r:.80}"
            problem += "" if origin else ", and no file is called so"
            raise BadInput(problem, parameter="" if origin else "only")
    return [pair for pair in states if pair.query_id in origins]
