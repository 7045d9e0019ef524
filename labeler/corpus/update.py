"""`update`: read edited documents into a collection whose pairs are judged, and keep the grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter, eq
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.collection.card import card_section, making, note_changed, read_card, update_card
from labeler.collection.corpus import corpus_on_demand, write_corpus
from labeler.collection.history import keep_state
from labeler.collection.judgements import grades_of, read_judgements
from labeler.collection.layout import (
    AnyCollection,
    Collection,
    MadeFile,
    claimed,
    locked,
    open_collection,
)
from labeler.collection.people import people_path, read_people, read_sample, write_people
from labeler.collection.people import write_sample as write_sampled
from labeler.collection.pool import Pool, PoolSource, standing_pool, united, united_pool, write_pool
from labeler.collection.queries import read_queries, write_queries
from labeler.collection.readme import write_readme
from labeler.collection.stale import shown_by, shown_in
from labeler.corpus.documents import Ingested, Reading, read_documents
from labeler.corpus.ingest import card_of, refuse_to_write_into, settings_of
from labeler.corpus.matching import CARRIED, GONE, MERGED, STATES, UNCHANGED, Match, match_passages
from labeler.data import Documents, Judgement, Pair, Pooled, Qrels, Query
from labeler.errors import BadInput
from labeler.files.jsonl import JsonObject, read_rows, write_rows
from labeler.files.paths import Paths, names_of
from labeler.models.session import Control
from labeler.report.result import Hidden, Merged, Result
from labeler.report.table import Column, Table, shown
from labeler.trec.files import read_qrels
from labeler.trec.pairs import PairColumns
from labeler.trec.write import write_qrels, write_sorted_qrels

# What became of a collection's passages and judgements, as counts and as a table.

Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Carryover(Result):
    """What became of a collection's passages and judgements, counted by state.

    `passages` counts the old passages, `judgements` the graded pairs of each set of judgements and
    qrels. `unjudged` counts the pairs of the new pool that no set of judgements has a grade of,
    `stale` the grades of passages that are shown otherwise now, as under another title, which are
    asked for again.
    """

    passages: Counts
    judgements: Mapping[str, Counts]
    pool: int = 0
    unjudged: int = 0
    stale: int = 0

    def table(self) -> Table:
        """The five counts of the passages, and of the grades of each set."""
        counted = {"passages": self.passages, **self.judgements}
        rows: list[list[str | int]] = [[name, *counts.values()] for name, counts in counted.items()]
        return Table("carried", [Column("of", align="left"), *map(Column, STATES)], rows)


def _counted(states: Iterable[str]) -> Counts:
    """How often each state is among these."""
    counts = Counter(states)
    return {state: counts[state] for state in STATES}


# Carry a collection's queries, pool, judgements and qrels over to another cut of its documents.


class _Carried(NamedTuple):
    """A graded pair in its new place: the pair whose grade it has, and the documents behind it."""

    old: Pair
    state: str
    sources: Sequence[str]
    grade: int


@dataclass(eq=False)
class Carrying:
    """The new state of what names documents, from what became of each of them.

    Judgements hold where `documents`, the new ones, are shown as the old ones were; where `merges`,
    also those of passages that lie in larger ones.
    """

    old: Collection
    matches: Mapping[str, Match]
    documents: Documents = field(default_factory=dict)
    merges: bool = False

    def match(self, old_id: str) -> Match:
        """What became of an old passage; of one that the old corpus does not have, too."""
        return self.matches.get(old_id, Match(GONE))

    def new_id(self, old_id: str) -> str | None:
        """The passage for which the grades of an old one hold; `None` where there is none."""
        match = self.match(old_id)
        return match.new_ids[0] if match.state in CARRIED else None

    def pool(self, path: Path) -> Pool:
        """The pairs of a pool's file: those carried over, and the parts of what was split."""
        entries = (
            self._pooled(entry, new_id)
            for entry in standing_pool(path)
            for new_id in self.match(entry.pair.doc_id).new_ids
        )
        return united_pool(entries, _united)

    def _pooled(self, entry: Pooled, new_id: str) -> Pooled:
        """An entry of a new passage, led to by whatever holds the text of its seeds now.

        No passage leads to itself: a seed may be merged with what it led to.
        """
        parts = dict.fromkeys(part for seed in entry.seeds for part in self.match(seed).new_ids)
        seeds = tuple(part for part in parts if part != new_id)
        pair = Pair(entry.pair.query_id, new_id)
        return Pooled(pair, entry.runs, entry.best_rank, seeds, entry.round)

    @cached_property
    def stale(self) -> dict[str, set[Pair]]:
        """By set of judgements, the pairs that the new corpus shows otherwise than were judged."""
        return {
            name: {
                pair
                for pair, shown in shown_in(self.old.judgements(name))
                if self._shown_now(pair, shown) != shown
                if not (self.merges and self.match(pair.doc_id).state == MERGED)
            }
            for name in self.old.judgement_names()
        }

    def _shown_now(self, pair: Pair, shown: str) -> str:
        """What a row keeps of what is shown, of a pair in the new corpus."""
        new_id = self.new_id(pair.doc_id)
        query = self._queries.get(pair.query_id)
        return shown_by(shown, query, self.documents[new_id]) if new_id and query else shown

    @cached_property
    def _queries(self) -> Mapping[str, Query]:
        return read_queries(self.old.queries) if self.old.queries.exists() else {}

    def graded(
        self, grades: Iterable[tuple[Pair, int]], stale: Container[Pair] = ()
    ) -> dict[Pair, _Carried]:
        """The pairs with grades that hold in the new corpus; of several in one, the highest.

        A passage that holds a part of one that was judged and is split is judged anew.
        """
        carried: dict[Pair, _Carried] = {}
        divided: set[Pair] = set()
        for old, grade in grades:
            match = self.match(old.doc_id)
            places = [Pair(old.query_id, new_id) for new_id in match.new_ids]
            if old in stale:
                continue
            if match.state not in CARRIED:
                divided.update(places)
                continue
            best = _Carried(old, match.state, (old.doc_id,), grade)
            if earlier := carried.get(places[0]):
                sources = (*earlier.sources, old.doc_id)
                best = max(earlier, best, key=attrgetter("grade"))._replace(sources=sources)
            carried[places[0]] = best
        return {pair: entry for pair, entry in carried.items() if pair not in divided}

    def judgement_rows(self, path: Path) -> Iterator[JsonObject]:
        """The rows of a set of judgements whose grades hold, with where each came from."""
        grades = ((Pair(query, document), grade) for query, document, grade in grades_of(path))
        carried = self.graded(grades, self.stale[path.stem])
        shown = dict(shown_in(path))
        new_pairs = {each.old: (pair, each) for pair, each in carried.items()}
        for (_, row), read in zip(read_rows(path), read_judgements(path), strict=True):
            outcome = read.judged.outcome
            if isinstance(outcome, Judgement) and outcome.pair in new_pairs:
                pair, each = new_pairs[outcome.pair]
                is_same = each.state == UNCHANGED and each.sources == (pair.doc_id,)
                origin = {"state": each.state, "from": list(each.sources)}
                more: JsonObject = {} if is_same else {"carried": origin}
                if outcome.pair in shown:
                    more["shown"] = self._shown_now(outcome.pair, shown[outcome.pair])
                yield {**row, "doc_id": pair.doc_id, **more}

    def qrels(self, path: Path) -> Qrels:
        """The grades of a file of qrels that hold."""
        carried = self.graded(read_qrels(path).by_pair())
        return PairColumns.of_pairs({pair: each.grade for pair, each in carried.items()}, np.int64)

    def queries(self, path: Path) -> list[Query]:
        """The queries of a file; the passages that they were written for have their new names."""
        return [self._moved(query) for query in read_queries(path).values()]

    def _moved(self, query: Query) -> Query:
        """A query whose `source`, the passages that it was written for, has their names of now."""
        passages = query.metadata.get("source")
        if not isinstance(passages, list):
            return query
        moved = [self._source(each) if isinstance(each, dict) else each for each in passages]
        return Query(query.id, query.text, {**query.metadata, "source": moved})

    def _source(self, source: JsonObject) -> JsonObject:
        match = self.matches.get(str(source.get("doc_id")))
        if match is None or match.new_ids == (source["doc_id"],):
            return source
        if not match.new_ids:
            return {**source, "state": match.state}
        return {**source, "doc_id": match.new_ids[0], "state": match.state}

    def outcome(self) -> Carryover:
        """The counts of what became of passages and judgements; nothing is written."""
        by_set = {}
        judged = set[Pair]()
        for name in self.old.qrels_names():
            qrels = read_qrels(self.old.qrels(name))
            by_set[name] = _counted(self.match(pair.doc_id).state for pair in qrels.pairs())
            judged |= self.graded(qrels.by_pair(), self.stale.get(name, ())).keys()
        pool = self.pool(self.old.pool)
        unjudged = sum(pair not in judged for pair in pool.pairs)
        states = _counted(match.state for match in self.matches.values())
        return Carryover(states, by_set, len(pool), unjudged, sum(map(len, self.stale.values())))


def _united(first: PoolSource, second: PoolSource) -> PoolSource:
    """What is known of two pairs that are of one passage now; the round is the earlier of theirs.

    There is none where one of them was in the pool before it was expanded.
    """
    rounds = [each.round for each in (first, second) if each.round is not None]
    return united(first, second)._replace(round=min(rounds) if len(rounds) == 2 else None)


def write_carried(collection: Collection, carrying: Carrying) -> None:
    """Write what names documents into a collection, from the state that it is carried over from.

    The collection must be locked, and its new corpus be there. A set of which no grade holds any
    more is in the state before alone.
    """
    old = carrying.old
    for before, path in ((old.pool, collection.pool), (old.dropped, collection.dropped)):
        if before.exists():
            write_pool(path, carrying.pool(before))
    if old.queries.exists():
        write_queries(collection.queries, carrying.queries(old.queries))
    absent = standing_pool(collection.dropped).pairs
    for name in old.judgement_names():
        rows = list(carrying.judgement_rows(old.judgements(name)))
        path = collection.judgements(name)
        if not rows:
            path.unlink(missing_ok=True)
            collection.qrels(name).unlink(missing_ok=True)
            continue
        write_rows(path, rows, check=lambda written: list(read_judgements(written)))
        rows_with_grades = (row for row in grades_of(path) if Pair(*row[:2]) not in absent)
        write_sorted_qrels(collection.qrels(name), rows_with_grades)
    for name in set(old.qrels_names()) - set(old.judgement_names()):
        qrels = carrying.qrels(old.qrels(name))
        if qrels:
            write_qrels(collection.qrels(name), qrels)
        else:  # what holds no grade is no file of qrels
            collection.qrels(name).unlink(missing_ok=True)
    _write_people(collection, carrying)
    # what was asked about documents that are others now
    for path in (*collection.repeats.glob("*.jsonl"), *collection.run_files().values()):
        path.unlink()


def note_in_card(collection: Collection) -> None:
    """Let the card count the pool and the judgements as they are now; the collection is locked."""
    card = read_card(collection)
    if collection.pool.exists():
        pool = {**card_section(card, "pool"), "pairs": len(standing_pool(collection.pool))}
        update_card(collection, "pool", pool)
    names = collection.judgement_names()
    absent = standing_pool(collection.dropped).pairs
    entries = {n: e for n, e in card_section(card, "judge").items() if n in names}
    for name, entry in entries.items():
        rows = grades_of(collection.judgements(name))
        count = sum(Pair(query, document) not in absent for query, document, _ in rows)
        counts = {"pairs": count, "judged": count, "failed": 0, "failures": {}}
        entries[name] = {**entry, **counts} if isinstance(entry, dict) else counts
    if "judge" in card:
        update_card(collection, "judge", entries)
    note_changed(collection)


def _write_people(collection: Collection, carrying: Carrying) -> None:
    """Write people's answers and the samples that they were drawn as, with the new ids."""
    folder = carrying.old.folder
    for path in sorted((folder / "people").glob("*.jsonl")):
        moved = {row.pair: row for row in _moved(read_people(path), carrying)}
        write_people(people_path(collection.folder, path.stem), moved.values())
    for path in sorted((folder / "samples").glob("*.jsonl")):
        rows = _moved(read_sample(path), carrying)
        write_sampled(collection.folder / "samples" / path.name, list(rows))


def _moved(rows: Iterable[Any], carrying: Carrying) -> Iterator[Any]:
    """The rows whose grades hold, with the new documents."""
    for row in rows:
        if new_id := carrying.new_id(row.pair.doc_id):
            yield replace(row, pair=Pair(row.pair.query_id, new_id))


def keep_before(collection: Collection) -> Path:
    """Keep the state before a change; `Misuse` where a process is judging the collection now."""
    with ExitStack() as stack:
        for name in collection.judgement_names():
            path = collection.judgements(name)
            stack.enter_context(
                claimed(MadeFile(collection, path, {"change": "corpus"}, "wait until it has ended"))
            )
        return keep_state(collection)


SECTION = "carried"
_RUNNING = "being written"


@dataclass(frozen=True, eq=False, repr=False)
class UpdateResult(Result):
    """What became of passages and judgements; `history` holds the state before, if one was kept.

    `runs` are those that rank the old passages, and lie in `history` alone.
    """

    ingested: Hidden[Ingested]
    carryover: Merged[Carryover]
    history: Path | None = None
    runs: Sequence[str] = ()

    @shown
    def documents(self) -> int:
        """How many passages the corpus has now."""
        return len(self.ingested.documents)


def update(
    inputs: Paths,
    collection: AnyCollection,
    *,
    words: int | None = None,
    dry_run: bool = False,
    control: Control | None = None,
) -> UpdateResult:
    """Read documents anew, as the collection's own were read, and carry its judgements over.

    A model's grade holds where it would be shown what it was shown; a person's where a passage is
    unchanged, moved, or lies whole in a larger one. Of others the next `judge` asks again. With
    `dry_run` nothing is written. The state before is kept below `history`. `words` changes about
    how many words a passage has.

    >>> from tempfile import TemporaryDirectory
    >>> from labeler.corpus.ingest import ingest
    >>> folder = TemporaryDirectory()
    >>> page, made = Path(folder.name, "cats.md"), Path(folder.name, "collection")
    >>> _ = page.write_text("# Cats\\n\\nA cat sleeps anywhere.\\n")
    >>> _ = ingest(page, made)
    >>> _ = page.write_text("# The cat\\n\\nA cat sleeps anywhere.\\n")
    >>> update(page, made).carryover.passages["moved"]
    1
    >>> folder.cleanup()
    """
    names = names_of(inputs)
    opened = open_collection(collection)
    control = control or Control()
    refuse_to_write_into(names, opened)
    how = settings_of(opened)
    if words is not None:
        how = how.of_length(words)
    with control.progress("files") as advance:
        ingested = read_documents(names, (opened.folder,), advance, how)
    with locked(opened, control.note):
        return change_corpus(opened, names, ingested, how, dry_run=dry_run, control=control)


def change_corpus(  # noqa: PLR0913  what is read, and how
    collection: Collection,
    names: Sequence[str],
    ingested: Ingested,
    how: Reading,
    *,
    dry_run: bool,
    control: Control,
    merges: bool = False,
) -> UpdateResult:
    """Put other passages in place of a collection's, which must be locked; or only count.

    With `merges` a model's grades hold for larger passages, too.
    """
    old = _state_before(collection)
    old_documents = corpus_on_demand(old.corpus)
    with control.progress("passages compared") as advance:
        matches = match_passages(old_documents, ingested.documents, advance)
    carrying = partial(Carrying, matches=matches, documents=ingested.documents, merges=merges)
    outcome = carrying(old).outcome()
    is_same = len(old_documents) == len(ingested.documents) and all(
        map(eq, old_documents.values(), ingested.documents.values())  # in metadata, too
    )
    if dry_run or (is_same and old is collection):
        return UpdateResult(ingested, outcome)
    del old_documents  # their file is replaced, which Windows forbids while it is open
    history = keep_before(collection) if old is collection else old.folder
    runs = tuple(Collection(history).run_files())
    before = Collection(history)
    note = {"from": history.relative_to(collection.folder).as_posix(), **outcome.as_json()}
    update_card(collection, SECTION, {**note, "state": _RUNNING})
    with making(collection, [collection.corpus, collection.queries], force=True):
        write_corpus(collection.corpus, ingested.documents.values())
        write_carried(collection, carrying(before))
    update_card(collection, "ingest", card_of(collection, names, ingested, how))
    note_in_card(collection)
    update_card(collection, SECTION, {**note, "state": "done"})
    write_readme(collection)
    return UpdateResult(ingested, outcome, history, runs)


def _state_before(collection: Collection) -> Collection:
    """The state to carry over from: of a change that was cut short, the one that it began with."""
    section = card_section(read_card(collection), SECTION)
    if section.get("state") != _RUNNING:
        return collection
    folder = collection.folder / str(section.get("from"))
    if not (folder / "corpus.jsonl").is_file():
        raise BadInput(f"{collection.card}: a change was cut short, and {folder} is not there")
    return Collection(folder)
