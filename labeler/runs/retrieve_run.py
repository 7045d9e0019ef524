"""`retrieve`: one run of one system, whole and checked, in a collection's `runs/`."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from labeler.collection.card import check_made, making, update_card_entry
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import (
    STEPS,
    AnyCollection,
    Collection,
    locked,
    open_collection,
)
from labeler.collection.queries import query_texts, read_queries
from labeler.collection.search import searched_corpus
from labeler.data import Document, Run
from labeler.entry_points import fill
from labeler.errors import BadInput, Misconfigured, Misuse, ProviderError, check_known
from labeler.exchange.contents import falls
from labeler.files.jsonl import RowValues, plain_id
from labeler.messages import SHOWN, count_of, guess
from labeler.models.encoders import Encoding
from labeler.models.session import Control, run_to_end
from labeler.options import COUNT, check_options, option
from labeler.report.result import Result
from labeler.runs.asking import (
    AnswerJournal,
    AskedQueries,
    AskingLimits,
    SearchEngine,
)
from labeler.runs.engines.answers import ANSWER, TEXT, Hit, text_key
from labeler.runs.engines.in_python import PythonEngine
from labeler.runs.retrieve import (
    ENGINES,
    Engine,
    check_run_name,
    engines_with,
    note_analyzer,
    tag_of,
    texts_to_encode,
)
from labeler.text.bm25 import Bm25Settings
from labeler.text.terms import DENSE_EXTRA
from labeler.trec.write import write_run

SECTION = "retrieve"
OWN_ID = "_id"

_FIRST = 1000
"""So many ids are looked through for one that was meant."""

BY_RANK, THEIRS = "1 / rank", "the system's"
"""Whose a run's scores are."""


@dataclass(frozen=True, slots=True)
class RetrieveOptions:
    """How deep a run goes, whose ids it has, what it is tagged, and how its system is asked.

    `match_id` is the field of documents that holds the system's ids; with `drop_unknown`,
    documents that the corpus lacks are left out instead of being an error.
    """

    depth: int = option(100, "Documents to ask for.", COUNT)
    match_id: str = option(
        OWN_ID, "The field of documents that holds its ids.", metavar="FIELD", panel=ANSWER
    )
    drop_unknown: bool = option(False, "Leave out documents that the corpus lacks.", panel=ANSWER)
    tag: str = option("", "The run's last column.", rare=True)
    asking: AskingLimits = field(default_factory=AskingLimits)
    force: bool = False

    def __post_init__(self) -> None:
        check_options(self)
        if self.tag.split() not in ([], [self.tag]):
            raise Misuse("a tag holds no white space", parameter="tag")


@dataclass(frozen=True, eq=False, repr=False)
class RetrieveResult(Result):
    """What a retrieval gave: the run's file, and how each query fared.

    `failures` say why a query has no answer, and `empty` are those that were answered with no
    document.
    """

    run: Path
    queries: int
    answered: int
    documents: int
    empty: tuple[str, ...]
    failures: dict[str, str]
    unknown: int
    repeated: int
    scores: str


def retrieve_run(
    collection: AnyCollection,
    engine: SearchEngine | Any,
    name: str,
    options: RetrieveOptions | None = None,
    control: Control | None = None,
) -> RetrieveResult:
    """Ask a search system for every query of a collection, and write its run as `runs/NAME.trec`.

    The system may be a function of yours, or a retriever of LangChain, LlamaIndex or Haystack, as
    `PythonEngine` takes it. Queries that failed are counted and named, and the run lacks them; the
    next start asks for these alone, as it does after an interruption.
    Raises `BadInput` where the system returns a document that the corpus lacks, or finds nothing
    for any query.

    >>> from labeler.testing import small_collection
    >>> retrieve_run(small_collection(), lambda query: [("cats", 2.5)], "mine").answered
    2
    """
    opened = open_collection(collection)
    how = options or RetrieveOptions()
    watch = control or Control()
    engine = as_engine(engine)
    check_run_name(name)
    if not how.force:
        check_made(opened, [opened.run(name)])
    answers = opened.run(name).with_name(f".{name}.answers.jsonl")
    ranked, asked = ranked_by(opened, engine, answers, how, watch)
    for line in notes_on(ranked):
        watch.note(line)
    run: Run = {query_id: scores for query_id, scores in ranked.run.items() if scores}
    scores = BY_RANK if ranked.by_rank else THEIRS
    entry = {
        "engine": engine.shown(),
        "tag": how.tag or engine.tag(),
        "depth": how.depth,
        "queries": len(asked.answers),
        "empty": ranked.empty,
        "failed": sorted(asked.failures),
        "unknown": ranked.unknown,
        "scores": scores,
    }
    with locked(opened, watch.note):
        path = keep_run(opened, name, run, entry, force=how.force)
    if not asked.failures:
        asked.journal.forget()
    return RetrieveResult(
        run=path,
        queries=len(asked.journal.texts),
        answered=len(asked.answers),
        documents=sum(map(len, ranked.run.values())),
        empty=tuple(ranked.empty),
        failures=asked.failures,
        unknown=ranked.unknown,
        repeated=ranked.repeated,
        scores=scores,
    )


def keep_run(collection: Collection, name: str, run: Run, entry: RowValues, *, force: bool) -> Path:
    """Write a run, and what made it into the card, as `entry` says; the collection is locked."""
    path = collection.run(name)
    with making(collection, [path], force=force):
        write_run(path, run, str(entry["tag"]))
    update_card_entry(collection, SECTION, name, entry)
    return path


def as_engine(engine: SearchEngine | Any) -> SearchEngine:
    """A search system as it is asked; a function or a retriever of Python as one."""
    return engine if isinstance(engine, SearchEngine) else PythonEngine(retriever=engine)


def ranked_by(
    collection: Collection,
    engine: SearchEngine,
    answers: Path,
    options: RetrieveOptions,
    control: Control,
) -> tuple[Ranked, AskedQueries]:
    """A system's answers to every query of a collection as a run, of which no file is written.

    A file keeps the `answers` of a start that is interrupted.
    """
    if isinstance(engine, PythonEngine) and engine.id_from == TEXT:
        options = replace(options, match_id=TEXT)
    engine.check()
    texts = query_texts(collection.queries)
    if not texts:
        step = STEPS["queries.jsonl"].format(collection.folder)
        raise BadInput(f"{collection.queries}: no queries; next: {step}")
    matched = partial(
        run_of,
        corpus=collection.corpus,
        match_id=options.match_id,
        drop_unknown=options.drop_unknown,
    )
    journal = AnswerJournal(answers, repr((engine, options.depth)), texts)
    if options.force:
        journal.forget()
    asked = AskedQueries(journal, options.asking, options.depth, matched, journal.earlier())
    if earlier := len(asked.answers):
        count = count_of(earlier, "query was", "queries were")
        control.note(f"{count} answered before, and not asked again; force asks anew")
    try:
        if earlier < len(texts):
            with control.progress("retrieving") as asked.advance:
                run_to_end(lambda _stop: asked.ask(engine))
        ranked = matched({each: asked.answers[each] for each in texts if each in asked.answers})
        if not asked.answers:
            query_id, problem = next(iter(asked.failures.items()))
            raise ProviderError(f"no query has an answer; {query_id}: {problem}")
        if not any(ranked.run.values()):
            failed = f", and {len(asked.failures):,} failed" if asked.failures else ""
            raise BadInput(
                f"{engine.shown()}: {len(asked.answers):,} queries found no document of the "
                f"corpus{failed}"
            )
    except BadInput:  # whoever mends the system wants it to be asked anew
        journal.forget()
        raise
    return ranked, asked


# A built-in engine, as a run of its own name.


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One of the built-in engines; `encoding` says which encoder `dense` has."""

    engine: str = "bm25"
    encoding: Encoding = field(default_factory=Encoding)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            fill(ENGINES, "retrievers", Engine)
        check_known("engine", self.engine, ENGINES, "engine")
        self.encoding.options.check()
        if self.encoding.options.encoder and self.engine != "dense":
            raise Misuse(f"the engine {self.engine!r} has no encoder", parameter="encoder")


def built_in_run(
    collection: AnyCollection,
    built_in: BuiltIn,
    name: str,
    options: RetrieveOptions | None = None,
    control: Control | None = None,
) -> RetrieveResult:
    """Rank a collection's documents by a built-in engine, and write `runs/NAME.trec`.

    Two dense runs, each with another encoder, judged together, say what an encoder does.
    """
    opened = open_collection(collection)
    how = options or RetrieveOptions()
    watch = control or Control()
    check_run_name(name)
    queries = list(read_queries(opened.queries).values())
    encoder = None
    if built_in.engine == "dense":  # before the lock is taken: a server is asked
        if not built_in.encoding.is_possible:
            raise Misconfigured(DENSE_EXTRA)
        encoder = built_in.encoding.ready(opened.vectors, texts_to_encode(opened), control=watch)
    with locked(opened, watch.note):
        searched = searched_corpus(opened, watch.progress, bm25=built_in.bm25)
        note_analyzer(searched.bm25, built_in.bm25, watch.note)
        tag = how.tag or tag_of(built_in.engine, encoder, searched.bm25)
        search = engines_with(encoder)[built_in.engine].search
        ranked = search(searched, queries, how.depth, watch.progress)
        run = {query_id: scores for query_id, scores in ranked.items() if scores}
        if not run:
            raise BadInput(
                f"{built_in.engine} finds no document for any of {len(queries):,} queries"
            )
        entry = {"engine": built_in.engine, "tag": tag, "depth": how.depth}
        with_encoder = {"encoder": encoder.id} if encoder else {}
        path = keep_run(opened, name, run, entry | with_encoder, force=how.force)
    empty = tuple(query.id for query in queries if query.id not in run)
    return RetrieveResult(
        path, len(queries), len(queries), sum(map(len, run.values())), empty, {}, 0, 0, THEIRS
    )


# A search system's ids as those of the corpus, and its answers as a run.


@dataclass(frozen=True, slots=True)
class DocumentIds:
    """Which document of a corpus is meant by each id that a system returned.

    `ambiguous` are ids that several documents have; `name` is the field that holds them. `first`
    are examples.
    """

    name: str
    by_id: Mapping[str, str]
    ambiguous: frozenset[str]
    first: tuple[str, ...]

    @classmethod
    def of(
        cls, documents: Iterable[Document], asked: Container[str], name: str = OWN_ID
    ) -> DocumentIds:
        """The documents with the ids asked for in a field: `_id`, `title`, or one of `metadata`.

        `Misuse` where no document has the field.
        """
        by_id: dict[str, str] = {}
        ambiguous = set()
        fields = set[str]()
        first = list[str]()
        for document in documents:
            fields.update(document.metadata)
            value = _field(document, name)
            if value is None:
                continue
            if len(first) < _FIRST:
                first.append(value)
            if value in asked and by_id.setdefault(value, document.id) != document.id:
                ambiguous.add(value)
        if not first:
            listed = ", ".join(sorted(fields)[:8])
            hint = f"metadata has {listed}" if fields else "documents have no metadata"
            raise Misuse(f"no document has the field {name!r}; {hint}", parameter="match_id")
        return cls(name, by_id, frozenset(ambiguous), tuple(first))

    def unknown(self, query_id: str, doc_id: str) -> BadInput:
        """The error of an id that no document has."""
        some = ", ".join(self.first[:SHOWN])
        why = guess([doc_id], list(self.first))
        hint = f" ({why})" if why else ""
        return BadInput(
            f"query {query_id}: the system returned {doc_id!r:.80}, which is no {self.name} of "
            f"the corpus, as {some}{hint}; name the field of documents that holds its ids, or "
            "leave out unknown documents",
            parameter="match_id",
        )


def _field(document: Document, name: str) -> str | None:
    if name == OWN_ID:
        return plain_id(document.id)
    if name == TEXT:
        return text_key(document.text)
    bare = name.removeprefix("metadata.")
    value: Any = document.title if name == "title" else document.metadata.get(bare)
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


@dataclass(slots=True)
class Ranked:
    """A run made of answers, and what was done to them on the way.

    `unknown` documents were left out, and `repeated` ones counted once; `empty` queries were
    answered with no document; `by_rank` says that the system's scores did not give its order.
    """

    run: dict[str, dict[str, float]] = field(default_factory=dict)
    unknown: int = 0
    repeated: int = 0
    empty: list[str] = field(default_factory=list)
    by_rank: bool = False


def run_of(
    answers: Mapping[str, Sequence[Hit]],
    corpus: Path,
    match_id: str = OWN_ID,
    *,
    drop_unknown: bool = False,
) -> Ranked:
    """The answers as a run in which every document ranks as the system ranked it.

    TREC's tools rank by score, and documents with equal scores by id. So where any query's scores
    are missing, tie or rise, all scores of the run are 1 over the rank.
    """
    asked = {hit.id for hits in answers.values() for hit in hits}
    ids = DocumentIds.of(distinct_documents(corpus), asked, match_id)
    ranked = Ranked()
    scores = dict[str, dict[str, float | None]]()
    for query_id, hits in answers.items():
        own = scores[query_id] = {}
        for hit in hits:
            doc_id = ids.by_id.get(hit.id)
            if hit.id in ids.ambiguous:
                problem = f"several documents have the {ids.name} {hit.id!r:.80}"
                problem += "; its hits must be of the corpus' own documents"
                raise BadInput(f"query {query_id}: {problem}", parameter="match_id")
            if doc_id is None and not drop_unknown:
                raise ids.unknown(query_id, hit.id)
            if doc_id is None:
                ranked.unknown += 1
            elif doc_id in own:
                ranked.repeated += 1
            else:
                own[doc_id] = hit.score
    ranked.empty = [query_id for query_id, own in scores.items() if not own]
    ranked.by_rank = not all(falls(list(own.values())) for own in scores.values())
    for query_id, own in scores.items():
        ranked.run[query_id] = {
            doc_id: 1 / rank if ranked.by_rank else float(score or 0)
            for rank, (doc_id, score) in enumerate(own.items(), 1)
        }
    return ranked


def notes_on(ranked: Ranked) -> Iterator[str]:
    """What a person should know of how the answers became a run."""
    if ranked.empty:
        count = count_of(len(ranked.empty), "query", "queries")
        more = ", …" if len(ranked.empty) > SHOWN else ""
        yield f"{count} found no document of the corpus: {', '.join(ranked.empty[:SHOWN])}{more}"
    if ranked.unknown:
        count = count_of(ranked.unknown, "hit was", "hits were")
        yield f"{count} left out, being of documents that the corpus lacks"
    if ranked.repeated:
        yield f"{count_of(ranked.repeated, 'hit')} repeated a document, counted once"
    if ranked.by_rank and any(ranked.run.values()):
        yield "scores are 1 over the rank: the system's own are missing, tie or do not fall"
