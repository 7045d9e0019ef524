"""Whether the documents are still those that were judged: what changed, and what that touches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from labeler.collection.card import card_section, read_card
from labeler.collection.choose import collection_qrels
from labeler.collection.layout import Collection, open_collection
from labeler.collection.on_demand import corpus_on_demand
from labeler.collection.queries import read_queries
from labeler.collection.search.bm25 import bm25_run
from labeler.collection.search.searched import Searched
from labeler.corpus.documents import read_documents
from labeler.corpus.matching import CARRIED, Match, match_passages
from labeler.corpus.settings import settings_of
from labeler.data import Document, Pair, Qrels, Query
from labeler.models.control import Control
from labeler.monitoring.corpus.result import (
    CorpusDrift,
    CorpusWatch,
    FreshPassages,
    StalePair,
    TouchedQuery,
)
from labeler.trec.qrels import read_qrels


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
