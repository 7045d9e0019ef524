"""`retrieve`: one run of one system, whole and checked, in a collection's `runs/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labeler.collection.card import update_card_entry
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import STEPS, Collection, check_name, open_collection
from labeler.collection.lock import locked
from labeler.collection.provenance import check_made, making
from labeler.collection.queries import read_queries
from labeler.data import Query, Run
from labeler.errors import BadInput, LabelerError, Misuse, ProviderError
from labeler.models.control import Control
from labeler.models.loop import run_to_end
from labeler.runs.asking import AnswerKeeping, Asked, AskingLimits, SearchEngine, ask_all
from labeler.runs.engines.answers import Hit
from labeler.runs.journal import journal_path, opened_journal
from labeler.runs.matching import OWN_ID, DocumentIds, Ranked, notes_on, run_of
from labeler.runs.recall import IndexRecall
from labeler.runs.retrieve import BUILT_IN
from labeler.trec.write import write_run

SECTION = "retrieve"


@dataclass(frozen=True, slots=True)
class RetrieveOptions:
    """How deep a run goes, whose ids it has, what it is tagged, and how its system is asked.

    `match_id` is the field of documents that holds the system's ids; with `drop_unknown`,
    documents that the corpus lacks are left out instead of being an error.
    """

    depth: int = 100
    match_id: str = OWN_ID
    drop_unknown: bool = False
    tag: str = ""
    asking: AskingLimits = field(default_factory=AskingLimits)
    force: bool = False

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise Misuse("depth counts from 1", parameter="depth")
        if self.tag.split() not in ([], [self.tag]):
            raise Misuse("a tag holds no white space", parameter="tag")


@dataclass(frozen=True, slots=True)
class RetrieveResult:
    """What a retrieval gave: the run's file, and how each query fared.

    `remembered` answers were kept from a run of the command that did not end; `failures` say why a
    query has no answer, and `empty` are those that were answered with no document. `recall` says
    what an approximate index missed; None where that was not looked at.
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
    recall: IndexRecall | None = None

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
            "recall": None if self.recall is None else self.recall.as_json(),
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
