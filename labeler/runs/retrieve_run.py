"""`retrieve`: one run of one system, whole and checked, in a collection's `runs/`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from labeler.collection.card import check_made, making, update_card_entry
from labeler.collection.corpus import CorpusTexts, distinct_documents
from labeler.collection.layout import STEPS, Collection, check_name, open_collection
from labeler.collection.lock import locked
from labeler.collection.queries import read_queries
from labeler.collection.search import searched_corpus
from labeler.data import Document, Query, Run
from labeler.entry_points import fill
from labeler.errors import BadInput, LabelerError, Misconfigured, Misuse, ProviderError
from labeler.messages import count_of
from labeler.models.control import Control, run_to_end
from labeler.models.encoders import EncoderTexts, Encoding, EncodingPlan
from labeler.options import COUNT, check_options, option
from labeler.runs.asking import (
    AnswerKeeping,
    Asked,
    AskingLimits,
    SearchEngine,
    ask_all,
    journal_path,
    opened_journal,
)
from labeler.runs.engines.answers import ANSWER, Hit
from labeler.runs.engines.templates import QueryEncoder
from labeler.runs.matching import OWN_ID, DocumentIds, Ranked, notes_on, run_of
from labeler.runs.retrieve import BUILT_IN, ENGINES, Engine, engines_with, tag_of
from labeler.text.vectors import DENSE_EXTRA, Encoder, can_encode
from labeler.trec.write import write_run

SECTION = "retrieve"


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


@dataclass(frozen=True, slots=True)
class RetrieveResult:
    """What a retrieval gave: the run's file, and how each query fared.

    `remembered` answers were kept from a run of the command that did not end; `failures` say why a
    query has no answer, and `empty` are those that were answered with no document.
    """

    run: Path
    queries: int
    answered: int
    remembered: int
    documents: int
    empty: tuple[str, ...]
    failures: dict[str, str]
    unknown: int
    repeated: int
    scores: str

    def as_json(self) -> dict[str, Any]:
        """The counts, the run's file, the queries without documents and those that failed."""
        return {
            "run": str(self.run),
            "queries": self.queries,
            "answered": self.answered,
            "remembered": self.remembered,
            "documents": self.documents,
            "empty": list(self.empty),
            "failures": self.failures,
            "unknown": self.unknown,
            "repeated": self.repeated,
            "scores": self.scores,
        }


def retrieve_run(
    collection: Collection | Path | str,
    engine: SearchEngine,
    name: str,
    options: RetrieveOptions | None = None,
    control: Control | None = None,
) -> RetrieveResult:
    """Ask a search system for every query of a collection, and write its run as `runs/NAME.trec`.

    What was answered is kept at once: the same call goes on after a kill, and asks again for
    queries that failed. Those are counted and named, and the run lacks them. Raises `BadInput`
    where the system returns a document that the corpus lacks, or finds nothing for any query.

    >>> import json, shlex, sys
    >>> from labeler.runs.engines.program import ProgramEngine
    >>> from labeler.testing import small_collection
    >>> hits = json.dumps([{"id": "cats", "score": 2.5}])
    >>> words = [sys.executable, "-c", f"print({hits!r})", "{query}"]
    >>> engine = ProgramEngine(shlex.join(words))
    >>> retrieve_run(small_collection(), engine, "mine").answered
    2
    """
    opened, how, watch = open_collection(collection), options or RetrieveOptions(), control
    watch = watch or Control()
    check_run_name(name)
    engine.check()
    queries = read_queries(opened.queries)
    if not queries:
        step = STEPS["queries.jsonl"].format(opened.folder)
        raise BadInput(f"{opened.queries}: no queries; next: {step}")
    ids = DocumentIds.of(distinct_documents(opened.corpus), how.match_id)
    if not how.force:
        check_made(opened, [opened.run(name)])
    asked = _asked(opened, engine, queries, name, (how, watch, ids))
    ranked = run_of(asked.answers, ids, drop_unknown=how.drop_unknown)
    if not any(ranked.run.values()):
        raise _nothing(engine, asked)
    for line in notes_on(ranked):
        watch.note(line)
    _write(opened, name, engine, (ranked, asked, how), watch.note)
    if not asked.failures:
        journal_path(opened, name).unlink(missing_ok=True)
    return RetrieveResult(
        run=opened.run(name),
        queries=len(queries),
        answered=len(asked.answers),
        remembered=asked.remembered,
        documents=sum(map(len, ranked.run.values())),
        empty=tuple(ranked.empty),
        failures=asked.failures,
        unknown=ranked.unknown,
        repeated=ranked.repeated,
        scores="1 / rank" if ranked.by_rank else "the system's",
    )


def _nothing(engine: SearchEngine, asked: Asked) -> LabelerError:
    """The error of a system that gave no document for any query."""
    if not asked.answers:
        query_id, problem = next(iter(asked.failures.items()))
        return ProviderError(f"no query has an answer; {query_id}: {problem}")
    failed = f", and {len(asked.failures):,} failed" if asked.failures else ""
    without_documents = f"{len(asked.answers):,} queries found no document of the corpus{failed}"
    return BadInput(f"{engine.shown()}: {without_documents}")


def check_run_name(name: str) -> None:
    """Raise `Misuse` where a run of a user's own may not be called so."""
    if name in BUILT_IN:
        raise Misuse(f"the name {name!r} is a built-in run's; take another", parameter="name")
    check_name(name)


def _asked(
    collection: Collection,
    engine: SearchEngine,
    queries: dict[str, Query],
    name: str,
    how: tuple[RetrieveOptions, Control, DocumentIds],
) -> Asked:
    """The answers, the first one's ids looked up as soon as it has come."""
    options, control, ids = how
    texts = {query.id: query.text for query in queries.values()}

    def check(query_id: str, hits: Sequence[Hit]) -> None:
        run_of({query_id: hits}, ids, drop_unknown=options.drop_unknown)

    with opened_journal(collection, name) as journal, control.progress("retrieving") as advance:
        keeping = AnswerKeeping(journal, advance, check)
        asking = options.asking
        return run_to_end(lambda _stop: ask_all(engine, texts, options.depth, asking, keeping))


def _write(
    collection: Collection,
    name: str,
    engine: SearchEngine,
    made: tuple[Ranked, Asked, RetrieveOptions],
    note: Callable[[str], None],
) -> None:
    ranked, asked, options = made
    run: Run = {query_id: scores for query_id, scores in ranked.run.items() if scores}
    tag = options.tag or engine.tag()
    with locked(collection, note):
        with making(collection, [collection.run(name)], force=options.force):
            write_run(collection.run(name), run, tag)
        entry = {
            "engine": engine.shown(),
            "tag": tag,
            "depth": options.depth,
            "queries": len(asked.answers),
            "empty": ranked.empty,
            "failed": sorted(asked.failures),
            "unknown": ranked.unknown,
            "scores": "1 / rank" if ranked.by_rank else "the system's",
        }
        update_card_entry(collection, SECTION, name, entry)


# A built-in engine over some fields of the documents, as a run of its own name.

FIELDS = ("title", "text")


@dataclass(frozen=True, slots=True)
class FieldEngine:
    """One of the built-in engines, and the fields of documents that it indexes, in order.

    A field is `title`, `text` or one of the metadata, as `metadata.author`. `encoding` says which
    encoder `dense` has.
    """

    engine: str = "bm25"
    fields: tuple[str, ...] = FIELDS
    encoding: Encoding = field(default_factory=Encoding)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            fill(ENGINES, "retrievers", Engine)
        if self.engine not in ENGINES:
            names = ", ".join(ENGINES)
            raise Misuse(f"no engine {self.engine!r}; there are: {names}", parameter="engine")
        for name in self.fields:
            if name not in FIELDS and not name.startswith("metadata."):
                problem = f"no field {name!r}; there are: title, text, metadata.NAME"
                raise Misuse(problem, parameter="fields")
        if not self.fields:
            raise Misuse("expected fields, as title,text", parameter="fields")
        self.encoding.options.check()
        if self.encoding.options.encoder and self.engine != "dense":
            raise Misuse(f"the engine {self.engine!r} has no encoder", parameter="encoder")

    @property
    def has_own_encoder(self) -> bool:
        """Whether documents are encoded by another encoder than the embedded one."""
        return self.engine == "dense" and self.encoding.options.is_served

    def tag(self, encoder: Encoder | None = None) -> str:
        """The engine with its version or its encoder, and the fields."""
        return f"{tag_of(self.engine, encoder)}-{'+'.join(self.fields)}"


def field_run(
    collection: Collection | Path | str,
    engine: FieldEngine,
    name: str,
    options: RetrieveOptions | None = None,
    control: Control | None = None,
) -> RetrieveResult:
    """Rank a collection's documents by some of their fields, and write `runs/NAME.trec`.

    Two runs of one engine over other fields, judged together, say what a field brings; two dense
    runs, each with another encoder, say what an encoder does. Raises `Misuse`
    where no document has any of the fields.
    """
    opened, how, watch = open_collection(collection), options or RetrieveOptions(), control
    watch = watch or Control()
    check_run_name(name)
    if not (engine.has_own_encoder or ENGINES[engine.engine].is_available()):
        raise Misconfigured(DENSE_EXTRA)
    queries = list(read_queries(opened.queries).values())
    without = _count_without(opened, engine.fields)
    if without:
        watch.note(f"{count_of(without, 'document has', 'documents have')} nothing in these fields")
    encoder = None
    if engine.has_own_encoder:  # before the lock is taken: a server is asked
        encoder = engine.encoding.ready(opened.vectors, _texts(opened, engine, queries), watch)
    with locked(opened, watch.note):
        run = _ranked(opened, (engine, encoder), queries, (how, watch))
        _write_fields(opened, name, (engine, encoder), run, how)
    empty = tuple(query.id for query in queries if query.id not in run)
    counts = (len(queries), len(queries), 0, sum(map(len, run.values())))
    return RetrieveResult(opened.run(name), *counts, empty, {}, 0, 0, "the system's")


def plan_field_run(collection: Collection | Path | str, engine: FieldEngine) -> EncodingPlan | None:
    """What a server would be asked for the run; None where none is."""
    opened = open_collection(collection)
    queries = list(read_queries(opened.queries).values())
    return engine.encoding.plan(opened.vectors, _texts(opened, engine, queries))


def _texts(collection: Collection, engine: FieldEngine, queries: Sequence[Query]) -> EncoderTexts:
    """What is searched, and what for."""
    texts = CorpusTexts(collection.corpus, lambda d: reduced(d, engine.fields).text)
    return EncoderTexts(texts, [query.text for query in queries])


def _ranked(
    collection: Collection,
    made_by: tuple[FieldEngine, Encoder | None],
    queries: Sequence[Query],
    how: tuple[RetrieveOptions, Control],
) -> Run:
    """The run, without the queries that find nothing."""
    (engine, encoder), (options, watch) = made_by, how
    with watch.progress("reading the corpus") as advance:
        shaped = partial(reduced, fields=engine.fields)
        searched = searched_corpus(collection, advance, shaped, shape_of(engine.fields))
    search = engines_with(encoder)[engine.engine].search
    ranked = search(searched, queries, options.depth, watch.progress)
    run = {query_id: scores for query_id, scores in ranked.items() if scores}
    if not run:
        raise BadInput(f"{engine.engine} finds no document for any of {len(queries):,} queries")
    return run


def shape_of(fields: Sequence[str]) -> str:
    """A name for these fields of documents, under which an index of them is kept."""
    return json.dumps(list(fields))


def _count_without(collection: Collection, fields: Sequence[str]) -> int:
    """How many documents have nothing in these fields; `Misuse` where all of them do."""
    count = without = 0
    for document in distinct_documents(collection.corpus):
        count += 1
        without += not any(_values(document, fields))
    if without == count:
        raise Misuse(f"no document has anything in {', '.join(fields)}", parameter="fields")
    return without


def reduced(document: Document, fields: Sequence[str]) -> Document:
    """A document with the values of some fields for its text, a line each, and no title."""
    return replace(document, title="", text="\n".join(filter(None, _values(document, fields))))


def _values(document: Document, fields: Sequence[str]) -> list[str]:
    values = {"title": document.title, "text": document.text}
    return [
        values[name]
        if name in values
        else str(document.metadata.get(name.removeprefix("metadata.")) or "")
        for name in fields
    ]


def _write_fields(
    collection: Collection,
    name: str,
    made_by: tuple[FieldEngine, Encoder | None],
    run: Run,
    options: RetrieveOptions,
) -> None:
    engine, encoder = made_by
    tag = options.tag or engine.tag(encoder)
    with making(collection, [collection.run(name)], force=options.force):
        write_run(collection.run(name), run, tag)
    entry: dict[str, Any] = {"engine": engine.engine, "fields": [*engine.fields], "tag": tag}
    if encoder:
        entry["encoder"] = encoder.id
    update_card_entry(collection, SECTION, name, {**entry, "depth": options.depth})


def query_encoder(
    collection: Collection | Path | str, encoding: Encoding, control: Control | None = None
) -> QueryEncoder | None:
    """What gives a query's vector; None where the encoder is the embedded one, and is not there.

    A server is asked for the vectors of all queries of the collection before it is used.
    """
    opened = open_collection(collection)
    encoding.options.check()
    texts: list[str] = []
    if encoding.options.is_served:
        texts = [query.text for query in read_queries(opened.queries).values()]
    elif not can_encode():
        return None
    encoder = encoding.ready(opened.vectors, EncoderTexts(queries=texts), control)

    def encode(text: str) -> Sequence[float]:
        vector: list[float] = encoder.queries([text])[0].tolist()
        return vector

    return QueryEncoder(encoder.query_identity, encode, encoder.id)
