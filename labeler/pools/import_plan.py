"""`import`: what a file, a folder or an archive holds becomes a collection, or a part of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labeler.collection.card import card_section, making, read_card, update_card
from labeler.collection.layout import AnyCollection, Collection, locked
from labeler.collection.queries import write_queries
from labeler.corpus.ingest import ingest, inputs_from
from labeler.data import Query
from labeler.errors import BadInput, Misuse
from labeler.exchange.bundles import ImportPlan, opened, plan_of
from labeler.exchange.contents import DOCUMENTS, GRADES, QUERIES, RANKINGS
from labeler.exchange.queries import read_query_list
from labeler.files.paths import true_path
from labeler.messages import Note
from labeler.models.session import Control
from labeler.pools.import_qrels import ImportedQrels, import_qrels, read_own_qrels
from labeler.report.result import Result

_SHARD = re.compile(r"-\d+-of-\d+")


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """The name of the qrels, and what their ratings mean; with `force` others' are replaced."""

    name: str = "human"
    grade_map: str = ""
    scale: str = ""
    force: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Imported(Result):
    """The plan, and what became of it: documents and queries that were kept, and the qrels.

    `left` are files of qrels and of rankings that the plan names and that were not taken.
    """

    plan: ImportPlan
    collection: Path
    documents: int
    queries: int
    qrels: ImportedQrels | None
    left: Sequence[str]


def look_at(source: Path | str) -> ImportPlan:
    """What a file, a folder or a ZIP archive holds; nothing is kept, and no model asked.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "q.csv")
    >>> _ = path.write_text("query,docid,rating\\n7,d1,2\\n7,d2,0\\n")
    >>> {each.what: each.count for each in look_at(path).taken}
    {'queries': 1, 'grades': 2}
    """
    with opened(Path(source)) as inside:
        return plan_of(inside).of(Path(source), inside)


def import_plan(
    source: Path | str,
    collection: AnyCollection,
    settings: ImportSettings | None = None,
    control: Control | None = None,
) -> Imported:
    """Make a collection of whatever a source holds, or add to one what it lacks.

    Its documents become the corpus where the collection has none. Its queries become the queries,
    its grades the qrels `name`; rankings are left for `pool` and `evaluate`, which check them.
    """
    how, watch = settings or ImportSettings(), control or Control()
    into = collection if isinstance(collection, Collection) else Collection(Path(collection))
    with opened(Path(source)) as inside:
        plan = plan_of(inside)
        if not plan.taken:
            raise BadInput(next(iter(plan.refused), f"{source}: nothing in it to take"))
        documents = _documents(plan, into, how, watch)
        queries = _queries(plan, into, how, watch.note)
        taken, left = _of_one_split(plan.files(GRADES))
        left += [str(path) for path in plan.files(RANKINGS)]
        qrels = _grades(taken, into, how, watch.note) if taken else None
    if not (documents or queries or qrels):
        raise Misuse(f"{into.folder} has all that {source} holds", parameter="into")
    if documents and inside != Path(source):  # what was unpacked is gone, the archive is not
        inputs = [str(source)]
        here = {"inputs": inputs, "inputs_from_here": inputs_from(into, inputs)}
        with locked(into, watch.note):
            update_card(into, "ingest", {**card_section(read_card(into), "ingest"), **here})
    not_taken = tuple(name.replace(str(inside), str(source)) for name in left)
    shown = plan.of(Path(source), inside)
    return Imported(shown, into.folder, documents, queries, qrels, not_taken)


def _documents(plan: ImportPlan, into: Collection, how: ImportSettings, watch: Control) -> int:
    files = [str(path) for path in plan.files(DOCUMENTS)]
    if not files or (into.corpus.exists() and not how.force) or into.corpus in map(Path, files):
        return 0
    return len(ingest(files, into, force=how.force, control=watch).documents)


def _queries(plan: ImportPlan, into: Collection, how: ImportSettings, note: Note) -> int:
    files = plan.files(QUERIES)
    is_own = any(true_path(path) == true_path(into.queries) for path in files)
    if not files or is_own or (into.queries.exists() and not how.force):
        return 0
    queries: dict[str, Query] = {}
    for path in files:
        for query in read_query_list(path).values():
            if queries.setdefault(query.id, query) != query:
                raise BadInput(f"{path}: the id {query.id!r:.80} stands in an earlier file too")
    with locked(into, note), making(into, [into.queries], force=how.force):
        write_queries(into.queries, queries.values())
    return len(queries)


def _of_one_split(files: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The files of the only split, or of the one called test, and the others."""
    names = {path: _SHARD.sub("", path.name.casefold()).partition(".")[0] for path in files}
    splits = dict.fromkeys(names.values())
    split = next(iter(splits), "") if len(splits) < 2 else "test"
    taken = [path for path in files if names[path] == split]
    return taken, [str(path) for path in files if path not in taken]


def _grades(
    files: Sequence[Path], into: Collection, how: ImportSettings, note: Note
) -> ImportedQrels:
    meaning = {"grade_map": how.grade_map, "scale": how.scale}
    if len(files) == 1:
        return import_qrels(files[0], into, name=how.name, warn=note, force=how.force, **meaning)
    rows = [
        (query, document, grade)
        for path in files
        for query, grades in read_own_qrels(path, note, into, **meaning).items()
        for document, grade in grades.items()
    ]
    return import_qrels(rows, into, name=how.name, warn=note, force=how.force)
