"""A run from a database of vectors that is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.queries import read_queries
from labeler.data import Run
from labeler.errors import BadInput, Misconfigured, Misuse, ProviderError
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.encoding import EncodingPlan
from labeler.models.loop import run_to_end
from labeler.runs.asking import AnswerKeeping, AskingLimits, ask_all
from labeler.runs.engines.databases.address import VectorAddress, vector_address
from labeler.runs.engines.databases.base import SearchSettings, StoredVectors
from labeler.runs.engines.databases.engine import VectorEngine
from labeler.runs.engines.databases.opening import opened_vectors, warning_of
from labeler.runs.engines.databases.qdrant import check_qdrant_search
from labeler.runs.journal import journal_path, opened_journal
from labeler.runs.matching import OWN_ID, DocumentIds, run_of
from labeler.runs.query_vectors import query_encoder
from labeler.runs.recall import QUERIES, IndexRecall, RecallSample, measured_recall
from labeler.runs.retrieve_run import SECTION, RetrieveOptions, RetrieveResult, retrieve_run
from labeler.runs.self_search import note_of_own_texts
from labeler.text.vectors import DENSE_EXTRA

DENSE = "dense"


@dataclass(frozen=True, slots=True)
class VectorSearch:
    """Where vectors are, and how they are searched.

    `recall_queries` queries are searched for exactly, too, to say what the index misses.
    """

    vectors: str
    settings: SearchSettings = field(default_factory=SearchSettings)
    encoding: Encoding = field(default_factory=Encoding)
    recall_queries: int = QUERIES

    @property
    def address(self) -> VectorAddress:
        """The address, read."""
        return vector_address(self.vectors)


def vector_run(
    collection: Collection | Path | str,
    search: VectorSearch,
    name: str,
    options: RetrieveOptions | None = None,
    control: Control | None = None,
) -> RetrieveResult:
    """Search a database of vectors for every query of a collection, and write `runs/NAME.trec`.

    The number of dimensions is checked, and whether some documents are near to their own texts is
    told. An approximate index is compared to an exact search for some queries, and the share of
    what it gave is in the result.

    >>> from labeler.testing import small_collection
    >>> vector_run(small_collection(), VectorSearch("docs"), "near")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    labeler.errors.Misuse: no address of vectors; expected qdrant://127.0.0.1:6333/COLLECTION or ...
    """
    opened, how, watch = open_collection(collection), options or RetrieveOptions(), control
    watch = watch or Control()
    engine = checked_engine(opened, search, watch)
    note_of_own_texts(opened, engine, search.encoding, how.match_id, watch)
    result = retrieve_run(opened, engine, name, how, watch)
    if search.settings.exact or not search.recall_queries:
        return result
    texts = {query.id: query.text for query in read_queries(opened.queries).values()}
    sample = RecallSample(search.recall_queries, asking=how.asking)
    recall = measured_recall(engine, texts, how.depth, sample, watch.progress)
    if recall is None:
        watch.note("what the index misses is not known: no exact search came to its end in time")
        return result
    with locked(opened, watch.note):
        entry = card_section(card_section(read_card(opened), SECTION), name)
        update_card_entry(opened, SECTION, name, {**entry, "recall": recall.as_json()})
    return replace(result, recall=recall)


def dense_run_there(
    collection: Collection, search: VectorSearch, depth: int, control: Control
) -> tuple[Run, IndexRecall | None]:
    """The run `dense` of a pool, from a database, and what its index misses.

    Answers are kept until the run is whole. Raises `ProviderError` where a query has none.
    """
    engine = checked_engine(collection, search, control)
    note_of_own_texts(collection, engine, search.encoding, OWN_ID, control)
    texts = {query.id: query.text for query in read_queries(collection.queries).values()}
    asking = AskingLimits()
    with opened_journal(collection, DENSE) as journal, control.progress("searching") as advance:
        keeping = AnswerKeeping(journal, advance)
        asked = run_to_end(lambda _stop: ask_all(engine, texts, depth, asking, keeping))
    if asked.failures:
        query_id, problem = next(iter(asked.failures.items()))
        failed = count_of(len(asked.failures), "query has", "queries have")
        raise ProviderError(f"{failed} no answer; run it again; {query_id}: {problem}")
    ids = DocumentIds.of(distinct_documents(collection.corpus))
    run = run_of(asked.answers, ids).run
    recall = None
    if search.recall_queries and not search.settings.exact:
        sample = RecallSample(search.recall_queries, asking=asking)
        recall = measured_recall(engine, texts, depth, sample, control.progress)
    journal_path(collection, DENSE).unlink(missing_ok=True)
    return run, recall


def plan_queries(collection: Collection | Path | str, encoding: Encoding) -> EncodingPlan | None:
    """What a server would be asked for the vectors of the queries; None where none is."""
    opened = open_collection(collection)
    texts = [query.text for query in read_queries(opened.queries).values()]
    return encoding.plan(opened.vectors, EncoderTexts(queries=texts))


def checked_engine(collection: Collection, search: VectorSearch, control: Control) -> VectorEngine:
    """The search system, once the database holds what it should."""
    address = search.address
    engine = VectorEngine(address, search.settings)
    if engine.kind == "qdrant":
        check_qdrant_search(search.settings)
    if warning := warning_of(address):
        control.note(warning)
    contents = run_to_end(lambda _stop: contents_of(address))
    if contents is None or not contents.rows:
        problem = "no vectors there; name the place that holds those of the documents"
        raise BadInput(f"{address}: {problem}", parameter="vectors")
    encoder = query_encoder(collection, search.encoding, control)
    if encoder is None:
        raise Misconfigured(DENSE_EXTRA)
    size = _size(encoder.encode)
    if contents.dimensions and size and size != contents.dimensions:
        problem = f"its vectors have {contents.dimensions:,} numbers, those of {encoder.tag}"
        raise Misuse(f"{address}: {problem} {size:,}; name its encoder", parameter="encoder")
    rows = count_of(contents.rows, "vector", "vectors")
    index = f"; {contents.how_searched}" if contents.how_searched else ""
    control.note(f"{address}: {rows}{index}")
    return replace(engine, encoder=encoder)


async def contents_of(address: VectorAddress) -> StoredVectors | None:
    """What there is at an address."""
    async with opened_vectors(address) as database:
        return await database.contents()


def _size(encode: Callable[[str], Sequence[float]]) -> int:
    """The dimensions of an encoder's vectors; 0 where it does not say without being asked."""
    length = len(encode(" "))
    return length if length > 1 else 0
