"""`import`: what a file or a folder holds becomes a collection, or qrels and pairs of one."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labeler import __version__
from labeler.collection.card import card_section, making, read_card, update_card, update_card_entry
from labeler.collection.dropped import drop_absent
from labeler.collection.layout import AnyCollection, Collection, check_name, locked, open_collection
from labeler.collection.people import own_qrels, people_path, pool_judged
from labeler.collection.queries import query_texts, write_queries
from labeler.collection.whose import OF_MODELS, whose
from labeler.corpus.ingest import ingest, inputs_from
from labeler.data import Qrels, Query
from labeler.errors import BadInput, Misuse
from labeler.exchange.bundles import ImportPlan, opened, plan_of
from labeler.exchange.contents import DOCUMENTS, GRADES, QUERIES, RANKINGS
from labeler.exchange.qrels import read_qrels
from labeler.exchange.queries import read_query_list
from labeler.files.paths import true_path
from labeler.files.read import rereadable
from labeler.messages import Note
from labeler.models.session import Control
from labeler.report.result import Result
from labeler.trec.memory import Source, as_qrels
from labeler.trec.write import write_qrels

SECTION = "imported"


@dataclass(frozen=True, eq=False, repr=False)
class ImportedQrels(Result):
    """How many pairs and queries were kept as qrels, and how the pool grew.

    `left_out` counts the pairs that name a query or a document which the collection has not.
    """

    qrels: Path
    pairs: int
    queries: int
    pool: int
    new: int
    left_out: int
    unknown_queries: Sequence[str]
    unknown_documents: Sequence[str]


def import_qrels(  # noqa: PLR0913  the keywords of a public function are its settings
    source: Source,
    collection: AnyCollection,
    *,
    name: str = "human",
    warn: Note = lambda _message: None,
    force: bool = False,
    grade_map: str = "",
    scale: str = "",
) -> ImportedQrels:
    """Keep people's judgements as the qrels `name` of a collection, and pool their pairs.

    `source` is a file, `{query: {document: grade}}`, a DataFrame or rows. Pairs that name a query
    or a document which the collection has not are left out, counted and listed. What stands under
    the name already is replaced where this wrote it, or with `force`. Ratings that are no grades
    become some by `grade_map` or `scale`, as `read_qrels` takes them.

    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> import_qrels({"q1": {"cats": 2, "fish": 0}}, collection).pairs
    2
    >>> collection.qrels_names()
    ('human',)
    """
    opened = open_collection(collection)
    path_of_qrels = opened.qrels(check_name(name))
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    shown = str(path or "qrels")
    if path and (holder := whose(path)) in OF_MODELS:  # which would count as people's from then on
        grades = "a model's grades" if holder == "model" else "grades of people and of a model"
        raise Misuse(
            f"{shown} holds {grades}, and what is imported counts as people's; relabel and diff "
            "compare sets as they are",
            parameter="source",
        )
    with rereadable():
        own = own_qrels(opened, read_own_qrels(source, warn, opened, grade_map, scale), shown)
        for line in own.warnings(shown):
            warn(line)
        with locked(opened, warn):
            if not (path and path_of_qrels.exists() and path.samefile(path_of_qrels)):
                for other in (opened.judgements(name), people_path(opened.folder, name)):
                    if other.exists():
                        raise Misuse(
                            f"{other} holds judgements of that name; give another name",
                            parameter="name",
                        )
                with making(opened, [path_of_qrels], force=force):
                    write_qrels(path_of_qrels, own.qrels)
                counts = {"pairs": own.pairs, "queries": len(own.qrels), "left_out": own.left_out}
                entry = {"labeler": __version__, "source": Path(shown).name, **counts}
                update_card_entry(opened, SECTION, name, entry)
            drop_absent(opened, warn)
            pool, new = pool_judged(opened, {name: own}, warn)
    unknown = own.left_out, own.unknown_queries, own.unknown_documents
    return ImportedQrels(path_of_qrels, own.pairs, len(own.qrels), pool, new, *unknown)


def read_own_qrels(
    source: Source,
    warn: Note,
    collection: Collection,
    grade_map: str = "",
    scale: str = "",
) -> Qrels:
    """The grades of a file of any kind, or of what a program holds.

    Where a file names queries by their text, they are the collection's.
    """
    if not isinstance(source, str | os.PathLike):
        return as_qrels(source, warn)
    texts = query_texts(collection.queries)
    return read_qrels(Path(source), warn, grade_map=grade_map, scale=scale, queries=texts)


_SHARD = re.compile(r"-\d+-of-\d+")


class ImportSettings(NamedTuple):
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
    how = settings or ImportSettings()
    watch = control or Control()
    into = collection if isinstance(collection, Collection) else Collection(Path(collection))
    with opened(Path(source)) as inside:
        plan = plan_of(inside)
        shown = plan.of(Path(source), inside)
        if plan.refused or not plan.taken:
            raise BadInput(next(iter(shown.refused), f"{source}: nothing in it to take"))
        texts = [str(path) for path in plan.files(DOCUMENTS)]
        documents = 0
        is_free = how.force or not into.corpus.exists()
        if texts and is_free and into.corpus not in map(Path, texts):
            documents = len(ingest(texts, into, force=how.force, control=watch).documents)
        queries = _queries(plan, into, how, watch.note)
        files = plan.files(GRADES)
        shards = [path.parent if path.name.startswith("data-") else path for path in files]
        names = [_SHARD.sub("", path.name.casefold()).partition(".")[0] for path in shards]
        split = "test" if len({*names}) > 1 else next(iter(names), "")  # where there are several
        taken = [path for path, name in zip(files, names, strict=True) if name == split]
        left = [str(path) for path in (*files, *plan.files(RANKINGS)) if path not in taken]
        qrels = _grades(taken, into, how, watch.note) if taken else None
    if not (documents or queries or qrels):
        held = {each.what: each for each in plan.taken if each.what != RANKINGS}
        problem = f"{into.folder} has {' and '.join(held)} of its own, which stay as they are"
        if files and not taken:
            problem = f"{source} has several qrels, none of them called test; import one of them"
        elif not held:
            problem = f"{source} has rankings alone; labeler pool and evaluate take them"
        raise Misuse(problem, parameter="into")
    if documents and inside != Path(source):  # what was unpacked is gone, the archive is not
        inputs = [str(source)]
        here = {"inputs": inputs, "inputs_from_here": inputs_from(into, inputs)}
        with locked(into, watch.note):
            update_card(into, "ingest", {**card_section(read_card(into), "ingest"), **here})
    not_taken = tuple(name.replace(str(inside), str(source)) for name in left)
    return Imported(shown, into.folder, documents, queries, qrels, not_taken)


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


def _grades(
    files: Sequence[Path], into: Collection, how: ImportSettings, note: Note
) -> ImportedQrels:
    if len(files) == 1:
        return import_qrels(files[0], into, warn=note, **how._asdict())
    rows = [
        (query, document, grade)
        for path in files
        for query, grades in read_own_qrels(path, note, into, how.grade_map, how.scale).items()
        for document, grade in grades.items()
    ]
    return import_qrels(rows, into, name=how.name, warn=note, force=how.force)
