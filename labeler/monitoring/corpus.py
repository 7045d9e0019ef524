"""Whether the documents are still those that were judged: what changed, and what that touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from labeler.collection.corpus import corpus_on_demand
from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.queries import read_queries
from labeler.collection.user_files import collection_qrels
from labeler.corpus.documents import read_documents
from labeler.corpus.ingest import settings_of
from labeler.corpus.matching import CARRIED, STATES, match_passages
from labeler.files.paths import Paths, names_of
from labeler.messages import count_of
from labeler.models.session import Control
from labeler.options import SHARE, TOP_GRADE, option
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Table, table_of
from labeler.trec.files import read_qrels

NAMED = 3
"""So many ids are named in a sentence; of more their number is said."""

ALARMS = "Alarms"


@dataclass(frozen=True)
class CorpusWatch:
    """When changed documents raise an alarm, and which grades count.

    `stale` is the share of judged pairs above which stale judgements are an alarm. `rel` is the
    lowest grade of a relevant document.
    """

    qrels: str | None = option(None, "Qrels that documents are held against.", metavar="NAME")
    stale: float = option(
        0.05,
        "The share of judged pairs that may be stale.",
        SHARE,
        metavar="SHARE",
        panel=ALARMS,
        rare=True,
    )
    rel: int = option(
        1, "The lowest grade that counts as relevant.", TOP_GRADE, panel=ALARMS, rare=True
    )


class StalePair(NamedTuple):
    """A judged pair whose grade holds no more, and what became of its passage."""

    query_id: Annotated[str, Column("query_id", align="left")]
    doc_id: Annotated[str, Column("doc_id", align="left")]
    grade: int
    state: Annotated[str, Column("passage", align="left")]


class TouchedQuery(NamedTuple):
    """A query with `lost` of its `relevant` passages not as they were judged."""

    query_id: Annotated[str, Column("query_id", align="left")]
    text: Annotated[str, Column("query", align="left")]
    relevant: int
    lost: Annotated[int, Column("not as judged")]


@dataclass(frozen=True, eq=False, repr=False)
class CorpusDrift(Result):
    """Documents as they are now, held against those that were judged.

    `passages` counts the passages of before by what became of them, `stale` lists the judged pairs
    whose grade holds no more, of `judged` in all, and `touched` the queries that lost relevant
    passages. `new_passages` are new or edited. `mended_by` are the commands that carry grades over
    and judge what has none.
    """

    qrels: str
    passages: Counter[str]
    judged: int
    stale: Sequence[StalePair]
    touched: Sequence[TouchedQuery]
    new_passages: int
    watch: CorpusWatch
    mended_by: str

    @property
    def share(self) -> float:
        """The share of the judged pairs whose grade holds no more."""
        return len(self.stale) / self.judged if self.judged else 0.0

    @property
    def lost_queries(self) -> list[str]:
        """The queries without a relevant passage that is as it was judged."""
        return [query.query_id for query in self.touched if query.lost == query.relevant]

    @property
    def alarms(self) -> list[Finding]:
        """What makes yesterday's scores say little of today's documents."""
        return [Finding(f"{self.qrels}: {text}", about) for text, about in self._alarms()]

    def _alarms(self) -> Iterator[tuple[str, str]]:
        if self.share > self.watch.stale:
            pairs = f"{len(self.stale):,} of {self.judged:,} judged pairs ({self.share:.0%})"
            why = "are stale: their documents were edited or are gone"
            yield f"{pairs} {why}; next: {self.mended_by}", "stale-judgements"
        if self.lost_queries:
            queries = count_of(len(self.lost_queries), "query has", "queries have")
            more = len(self.lost_queries) - NAMED
            ids = ", ".join(self.lost_queries[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
            text = f"{queries} no relevant document left that is as it was judged: {ids}"
            yield text, "lost-queries"

    def _findings(self) -> Iterator[Finding]:
        """What did not raise an alarm, and is good to know."""
        grades = f"{self.judged - len(self.stale):,} of {self.judged:,} grades of {self.qrels}"
        yield Finding(f"{grades} hold for the documents as they are now", level="note")
        if self.new_passages:
            passages = count_of(self.new_passages, "passage is", "passages are")
            yield Finding(f"{passages} new or edited", level="note")

    def tables(self) -> list[Table]:
        """What became of the passages, the stale pairs, and the queries that lost relevant ones.

        Relevant pairs stand first, and queries that lost all.
        """
        held = self.judged - len(self.stale)
        states = Counter(each.state for each in self.stale)
        counts = {"passages": self.passages, "stale pairs": states}
        stale = sorted(self.stale, key=lambda each: (-each.grade, each.query_id, each.doc_id))
        touched = sorted(self.touched, key=lambda q: (q.lost < q.relevant, -q.lost))
        return [
            Table(
                f"passages, and {held:,} pairs that hold",
                [Column("of", align="left"), *map(Column, STATES)],
                [[name, *(count[state] for state in STATES)] for name, count in counts.items()],
            ),
            table_of("stale judgements", StalePair, stale),
            table_of("queries that lost relevant documents", TouchedQuery, touched),
        ]

    def as_json(self) -> dict[str, Any]:
        """The counts, the alarms, and the pairs and queries by their ids."""
        return self.picked(
            *("qrels", "alarms", "judged", "lost_queries", "new_passages"),
            findings=self.findings,
            passages={state: self.passages[state] for state in STATES},
            stale=len(self.stale),
            stale_share=self.share,
            touched_queries=len(self.touched),
            stale_pairs=self.stale,
        )


def corpus_drift(
    documents: Paths,
    collection: AnyCollection,
    options: CorpusWatch | None = None,
    control: Control | None = None,
) -> CorpusDrift:
    """Hold the documents as they are now against those that were judged; writes nothing.

    They are read as the collection's own were, and matched as `update` matches them.

    >>> from pathlib import Path
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
    >>> [alarm.about for alarm in corpus_drift(page, made).alarms]
    ['stale-judgements', 'lost-queries']
    >>> folder.cleanup()
    """
    options, control = options or CorpusWatch(), control or Control()
    names, opened = names_of(documents), open_collection(collection)
    how = settings_of(opened)
    with control.progress("files") as advance:
        ingested = read_documents(names, (opened.folder,), advance, how)
    old, new = corpus_on_demand(opened.corpus), ingested.documents
    with control.progress("passages compared") as advance:
        matches = match_passages(old, new, advance)
    path = collection_qrels(opened.folder, options.qrels)
    qrels, queries = read_qrels(path), read_queries(opened.queries)
    states = {doc_id: match.state for doc_id, match in matches.items()}
    held = {doc_id for doc_id, state in states.items() if state in CARRIED}
    stale = (
        StalePair(query_id, doc_id, grade, states.get(doc_id, "gone"))
        for query_id, grades in qrels.items()
        for doc_id, grade in grades.items()
        if grade >= 0 and doc_id not in held
    )
    touched = []
    for query_id, grades in qrels.items():
        relevant = [doc_id for doc_id, grade in grades.items() if grade >= options.rel]
        lost = sum(doc_id not in held for doc_id in relevant)
        if lost and query_id in queries:
            touched.append(TouchedQuery(query_id, queries[query_id].text, len(relevant), lost))
    return CorpusDrift(
        path.stem,
        Counter(states.values()),
        sum(grade >= 0 for grades in qrels.values() for grade in grades.values()),
        tuple(stale),
        tuple(touched),
        len(set(new) - {each for match in matches.values() for each in match.new_ids}),
        options,
        f"labeler corpus update {' '.join(names)} {opened.folder}, then labeler judge "
        f"{opened.folder}",
    )
