"""What the documents of today say, for the page: counts over the runs, stale pairs, queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import card_section, read_card
from labeler.collection.corpus import corpus_on_demand
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.collection.search import Searched, bm25_run
from labeler.collection.user_files import collection_qrels
from labeler.corpus.documents import read_documents
from labeler.corpus.ingest import settings_of
from labeler.corpus.matching import CARRIED, STATES, Match, match_passages
from labeler.data import Document, Pair, Qrels, Query
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.report.charts import Axis, Moment, control
from labeler.report.finding import Finding
from labeler.report.page import Chart, Disclosure, PageBlock, Paragraph, TableBlock
from labeler.report.table import Column, Ends, Row, Table
from labeler.trec.qrels import read_qrels

# What the documents of today say of judgements of before: counts, lists and alarms.

NAMED = 3
"""So many ids are named in a sentence; of more their number is said."""


@dataclass(frozen=True)
class CorpusWatch:
    """When changed documents raise an alarm, and which grades count.

    `stale` is the share of judged pairs above which stale judgements are an alarm. `rel` is the
    lowest grade of a relevant document. `depth` is how far down a ranking by BM25 new passages are
    looked for, and `fresh` the share of the places there above which they are an alarm.
    """

    qrels: str | None = None
    stale: float = 0.05
    rel: int = 1
    depth: int = 10
    fresh: float = 0.1


class StalePair(NamedTuple):
    """A judged pair whose grade holds no more, and what became of its passage."""

    pair: Pair
    grade: int
    state: str


class TouchedQuery(NamedTuple):
    """A query that lost relevant passages: they are not what was judged, `lost` of `relevant`."""

    query_id: str
    text: str
    relevant: int
    lost: tuple[str, ...]

    @property
    def has_none_left(self) -> bool:
        """Whether no relevant passage of it is as it was judged."""
        return len(self.lost) == self.relevant


class FreshPassages(NamedTuple):
    """Passages that are new or edited: how many, and where they stand in the rankings.

    `near` counts, for each that is among the first of any query, of how many queries it is;
    `places` are all places that were looked at.
    """

    passages: int = 0
    places: int = 0
    near: tuple[tuple[str, int], ...] = ()

    @property
    def share(self) -> float:
        """The share of the places that new or edited passages have."""
        return sum(count for _, count in self.near) / self.places if self.places else 0.0


@dataclass(frozen=True)
class CorpusDrift:
    """Documents as they are now, held against those that were judged.

    `passages` counts the passages of before by what became of them, `stale` lists the judged pairs
    whose grade holds no more, of `judged` in all, and `touched` the queries that lost relevant
    passages. `inputs` are the documents that were read, for the collection `folder`.
    """

    inputs: tuple[str, ...]
    folder: str
    qrels: str
    passages: Counter[str]
    judged: int
    stale: tuple[StalePair, ...] = ()
    touched: tuple[TouchedQuery, ...] = ()
    fresh: FreshPassages = FreshPassages()  # noqa: RUF009  a tuple, which nobody can change
    watch: CorpusWatch = field(default_factory=CorpusWatch)

    @property
    def share(self) -> float:
        """The share of the judged pairs whose grade holds no more."""
        return len(self.stale) / self.judged if self.judged else 0.0

    @property
    def bereft(self) -> tuple[TouchedQuery, ...]:
        """The queries without a relevant passage that is as it was judged."""
        return tuple(query for query in self.touched if query.has_none_left)

    @property
    def mended_by(self) -> str:
        """The commands that carry grades over and judge what has none."""
        update = f"labeler update {' '.join(self.inputs)} {self.folder}"
        return f"{update}, then labeler judge {self.folder}"

    def alarms(self) -> list[Finding]:
        """What makes yesterday's scores say little of today's documents."""
        return list(self._alarms())

    def _alarms(self) -> Iterator[Finding]:
        if self.share > self.watch.stale:
            pairs = f"{len(self.stale):,} of {self.judged:,} judged pairs ({self.share:.0%})"
            why = f"are stale: their documents were edited or are gone; next: {self.mended_by}"
            yield Finding(f"{self.qrels}: {pairs} {why}", "stale-judgements")
        if self.bereft:
            queries = count_of(len(self.bereft), "query has", "queries have")
            ids = [query.query_id for query in self.bereft]
            text = f"{queries} no relevant document left that is as it was judged: {_some(ids)}"
            yield Finding(f"{self.qrels}: {text}", "lost-queries")
        if self.fresh.share > self.watch.fresh:
            share = f"{self.fresh.share:.0%} of the first {self.watch.depth} documents by BM25"
            text = f"{share} are new or edited, and nobody judged them; next: {self.mended_by}"
            yield Finding(f"{self.qrels}: {text}", "new-documents")

    def findings(self) -> list[Finding]:
        """What did not raise an alarm, and is good to know."""
        return list(self._findings())

    def _findings(self) -> Iterator[Finding]:
        held = self.judged - len(self.stale)
        grades = f"{held:,} of {self.judged:,} grades of {self.qrels} hold"
        yield Finding(f"{grades} for the documents as they are now", level="note")
        if self.fresh.passages:
            near = len(self.fresh.near)
            passages = count_of(self.fresh.passages, "passage is", "passages are")
            where = f"the first {self.watch.depth} documents of any query, by BM25"
            text = f"{passages} new or edited; {self.fresh.passages - near:,} are not among {where}"
            yield Finding(text, level="note")

    def table(self) -> Table:
        """What became of the passages, of the judged pairs and of the queries."""
        columns = [Column("of", align="left"), *(Column(state, format=",") for state in STATES)]
        pairs = Counter(each.state for each in self.stale)
        held = self.judged - len(self.stale)
        rows: list[Row] = [
            ["passages", *(self.passages[state] for state in STATES)],
            ["stale pairs", *(pairs[state] for state in STATES)],
        ]
        return Table(f"passages, and {held:,} pairs that hold", columns, rows)

    def stale_table(self, most: int | None = None) -> Table:
        """The stale pairs, relevant ones first."""
        columns = [Column(name, align="left") for name in ("query_id", "doc_id")]
        columns += [Column("grade", format=""), Column("passage", align="left")]
        ordered = sorted(self.stale, key=lambda each: (-each.grade, each.pair))[:most]
        rows: list[Row] = [[*each.pair, each.grade, each.state] for each in ordered]
        return Table("stale judgements", columns, rows)

    def touched_table(self, most: int | None = None) -> Table:
        """The queries that lost relevant passages, those that lost all first."""
        columns = [Column(name, align="left") for name in ("query_id", "query")]
        columns += [Column("relevant", format=","), Column("not as judged", format=",")]
        ordered = sorted(self.touched, key=lambda q: (len(q.lost) < q.relevant, -len(q.lost)))
        rows: list[Row] = [[q.query_id, q.text, q.relevant, len(q.lost)] for q in ordered[:most]]
        return Table("queries that lost relevant documents", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The counts, the alarms, and the pairs and queries by their ids."""
        return {
            "qrels": self.qrels,
            "alarms": [str(alarm) for alarm in self.alarms()],
            "findings": [str(finding) for finding in self.findings()],
            "passages": {state: self.passages[state] for state in STATES},
            "judged": self.judged,
            "stale": len(self.stale),
            "stale_share": self.share,
            "lost_queries": [query.query_id for query in self.bereft],
            "touched_queries": len(self.touched),
            "new_passages": self.fresh.passages,
            "new_near_the_top": self.fresh.share,
            "stale_pairs": [
                {**each.pair._asdict(), "grade": each.grade, "state": each.state}
                for each in self.stale
            ],
        }


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
    return ", ".join(ids[:NAMED]) + more


# Whether the documents are still those that were judged: what changed, and what that touches.


def corpus_drift(
    documents: str | Path | Iterable[str | Path],
    collection: Collection | Path | str,
    options: CorpusWatch | None = None,
    control: Control | None = None,
) -> CorpusDrift:
    """Hold the documents as they are now against those that were judged; writes nothing.

    They are read as the collection's own were, and matched as `update` matches them.

    >>> from tempfile import TemporaryDirectory
    >>> import labeler
    >>> from labeler.testing import fake_model
    >>> folder = TemporaryDirectory()
    >>> page, made = Path(folder.name, "cats.md"), Path(folder.name, "collection")
    >>> _ = page.write_text("# Cats\\n\\nA cat sleeps anywhere.\\n")
    >>> _ = Path(folder.name, "asked.txt").write_text("where do cats sleep\\n")
    >>> _ = labeler.ingest(page, made, Path(folder.name, "asked.txt"))
    >>> _ = labeler.pool(made)
    >>> _ = labeler.judge(made, model=fake_model('{"grade": 2}'), name="llm")
    >>> _ = page.write_text("# Dogs\\n\\nA dog sleeps on a mat.\\n")
    >>> [alarm.about for alarm in corpus_drift(page, made).alarms()]
    ['stale-judgements', 'lost-queries', 'new-documents']
    >>> folder.cleanup()
    """
    options, control = options or CorpusWatch(), control or Control()
    several = [documents] if isinstance(documents, str | Path) else documents
    names, opened = [str(path) for path in several], open_collection(collection)
    how = settings_of(card_section(read_card(opened), "ingest"))
    with control.progress("files") as advance:
        ingested = read_documents(names, (opened.folder,), advance, how)
    old, new = corpus_on_demand(opened.corpus), ingested.documents
    with control.progress("passages compared") as advance:
        matches = match_passages(old, new, advance)
    path = collection_qrels(opened.folder, options.qrels)
    qrels, queries = read_qrels(path), read_queries(opened.queries)
    fresh = set(new) - {each for match in matches.values() for each in match.new_ids}
    return CorpusDrift(
        tuple(names),
        str(opened.folder),
        path.stem,
        Counter(match.state for match in matches.values()),
        sum(grade >= 0 for grades in qrels.values() for grade in grades.values()),
        tuple(_stale(qrels, matches)),
        tuple(_touched(qrels, matches, queries, options.rel)),
        _fresh(new, fresh, queries, options.depth, control),
        options,
    )


def _holds(match: Match | None) -> bool:
    return match is not None and match.state in CARRIED


def _stale(qrels: Qrels, matches: Mapping[str, Match]) -> Iterator[StalePair]:
    """The judged pairs whose grade holds no more."""
    for query_id, grades in qrels.items():
        for doc_id, grade in grades.items():
            match = matches.get(doc_id)
            if grade >= 0 and not _holds(match):
                state = match.state if match else "gone"
                yield StalePair(Pair(query_id, doc_id), grade, state)


def _touched(
    qrels: Qrels, matches: Mapping[str, Match], queries: Mapping[str, Query], rel: int
) -> Iterator[TouchedQuery]:
    """The queries some of whose relevant documents are not what was judged any more."""
    for query_id, grades in qrels.items():
        relevant = [doc_id for doc_id, grade in grades.items() if grade >= rel]
        lost = [doc_id for doc_id in relevant if not _holds(matches.get(doc_id))]
        if lost and query_id in queries:
            yield TouchedQuery(query_id, queries[query_id].text, len(relevant), tuple(lost))


def _fresh(
    documents: Mapping[str, Document],
    fresh: set[str],
    queries: Mapping[str, Query],
    depth: int,
    control: Control,
) -> FreshPassages:
    """Where new passages stand in the rankings by BM25 of the documents as they are now."""
    if not fresh or not queries:
        return FreshPassages(len(fresh))
    searched = Searched.within(documents)
    run = bm25_run(searched, list(queries.values()), depth, control.progress)
    places = [doc_id for scores in run.values() for doc_id in scores]
    near = Counter(doc_id for doc_id in places if doc_id in fresh)
    return FreshPassages(len(fresh), len(places), tuple(near.most_common()))


MOST_ROWS = 200
"""Pairs or queries that the page lists; the figures for programs hold all of them."""


def corpus_blocks(drift: CorpusDrift, earlier: Sequence[tuple[datetime, float]]) -> list[PageBlock]:
    """The share of stale judgements at each run, what became of passages, and lists that open."""
    moments = [
        Moment(time.strftime("%Y-%m-%d"), share, limits=Ends(None, drift.watch.stale), at=time)
        for time, share in earlier
    ]
    axis = Axis("stale share of judged pairs", format=".1%", least=0.0)
    over_time = control(f"Stale judgements of {drift.qrels}", moments, axis)
    blocks: list[PageBlock] = [Chart(over_time), TableBlock(drift.table())]
    if drift.stale:
        pairs = count_of(len(drift.stale), "stale judgement", "stale judgements")
        shown = drift.stale_table(MOST_ROWS)
        blocks.append(Disclosure(pairs, [*_left(len(drift.stale)), TableBlock(shown)]))
        blocks.append(Paragraph(f"What mends them: {drift.mended_by}."))
    if drift.touched:
        queries = count_of(len(drift.touched), "query", "queries")
        shown = drift.touched_table(MOST_ROWS)
        title = f"{queries} with relevant documents that are not as they were judged"
        blocks.append(Disclosure(title, [*_left(len(drift.touched)), TableBlock(shown)]))
    return blocks


def _left(count: int) -> list[PageBlock]:
    if count <= MOST_ROWS:
        return []
    return [Paragraph(f"The first {MOST_ROWS} of {count:,}.")]
