"""A built-in engine over some fields of the documents, as a run of its own name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from labeler.collection.card import update_card_entry
from labeler.collection.corpus import CorpusTexts, distinct_documents
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.provenance import making
from labeler.collection.queries import read_queries
from labeler.collection.search.searched import searched_corpus
from labeler.data import Document, Query, Run
from labeler.errors import BadInput, Misconfigured, Misuse
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.encoding import EncodingPlan
from labeler.runs.retrieve import ENGINES, engines_with, tag_of
from labeler.runs.retrieve_run import SECTION, RetrieveOptions, RetrieveResult, check_run_name
from labeler.text.vectors import DENSE_EXTRA, Encoder
from labeler.trec.write import write_run

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
        return self.engine == "dense" and not self.encoding.options.is_embedded

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
        _write(opened, name, (engine, encoder), run, how)
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


def _write(
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
