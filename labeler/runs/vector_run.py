"""A run from a database of vectors that is there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.queries import read_queries
from labeler.data import Document, Run
from labeler.errors import BadInput, Misconfigured, Misuse, ProviderError
from labeler.messages import count_of
from labeler.models.control import Control, run_to_end
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.encoding import EncodingPlan
from labeler.runs.asking import (
    QUERIES,
    AnswerKeeping,
    AskingLimits,
    IndexRecall,
    RecallSample,
    ask_all,
    journal_path,
    measured_recall,
    opened_journal,
)
from labeler.runs.engines.databases.base import (
    SearchSettings,
    StoredVectors,
    VectorAddress,
    vector_address,
)
from labeler.runs.engines.databases.engine import VectorEngine, opened_vectors, warning_of
from labeler.runs.engines.databases.qdrant import check_qdrant_search
from labeler.runs.engines.templates import QueryEncoder
from labeler.runs.matching import OWN_ID, DocumentIds, id_in, run_of
from labeler.runs.retrieve_run import SECTION, RetrieveOptions, RetrieveResult, retrieve_run
from labeler.store.vectors import Vectors
from labeler.text.terms import text_to_search
from labeler.text.vectors import DENSE_EXTRA, can_encode

# Whether vectors of others are those of an encoder: documents searched for by their own texts.

DOCUMENTS = 5
NEAREST = 10


def note_of_own_texts(
    collection: Collection, engine: VectorEngine, encoding: Encoding, match_id: str, watch: Control
) -> None:
    """Say how many of some documents are among the nearest to the vector of their own text.

    With another encoder of as many dimensions, hardly any is: such a run would be noise.
    """
    with_text = (d for d in distinct_documents(collection.corpus) if d.text.strip())
    documents = [*islice(with_text, DOCUMENTS)]
    texts = [*map(text_to_search, documents)]
    if not texts:
        return
    quiet = replace(watch, note=lambda _line: None)
    encoder = encoding.ready(collection.vectors, EncoderTexts(documents=texts), quiet)
    vectors = encoder.documents(texts)
    near = run_to_end(lambda _stop: _near_itself(engine, documents, vectors, match_id))
    doubt = "" if 2 * near >= len(texts) else "; they may be of another encoder, or of other texts"
    watch.note(f"{near} of {len(texts)} documents are among the {NEAREST} nearest vectors{doubt}")


async def _near_itself(
    engine: VectorEngine, documents: Sequence[Document], vectors: Vectors, match_id: str
) -> int:
    near, settings = 0, replace(engine.settings, filter="")
    async with opened_vectors(engine.address) as database:
        for document, vector in zip(documents, vectors.tolist(), strict=True):
            hits = await database.search(vector, NEAREST, settings) if any(vector) else []
            near += id_in(document, match_id) in {hit.id for hit in hits}
    return near


# The vectors of queries, for search systems that are asked with vectors.


def query_encoder(
    collection: Collection | Path | str, encoding: Encoding, control: Control | None = None
) -> QueryEncoder | None:
    """What gives a query's vector; None where the encoder is the embedded one, and is not there.

    A server is asked for the vectors of all queries of the collection before it is used.
    """
    opened = open_collection(collection)
    encoding.options.check()
    texts: list[str] = []
    if not encoding.options.is_embedded:
        texts = [query.text for query in read_queries(opened.queries).values()]
    elif not can_encode():
        return None
    encoder = encoding.ready(opened.vectors, EncoderTexts(queries=texts), control)

    def encode(text: str) -> Sequence[float]:
        vector: list[float] = encoder.queries([text])[0].tolist()
        return vector

    return QueryEncoder(encoder.query_identity, encode, encoder.id)


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
