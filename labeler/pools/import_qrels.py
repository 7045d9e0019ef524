"""`import`: people's judgements become qrels of a collection, and their pairs its pool."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler import __version__
from labeler.collection.card import making, update_card_entry
from labeler.collection.dropped import drop_absent
from labeler.collection.layout import AnyCollection, Collection, check_name, locked, open_collection
from labeler.collection.people import OwnQrels, own_qrels, people_path, pool_judged
from labeler.collection.queries import read_queries
from labeler.collection.whose import whose
from labeler.data import Qrels
from labeler.errors import Misuse
from labeler.exchange.qrels import read_qrels
from labeler.files.read import rereadable
from labeler.messages import Note
from labeler.report.result import Result
from labeler.trec.memory import Source, as_qrels
from labeler.trec.write import write_qrels

SECTION = "imported"
MODEL_S = ("model", "both")


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
    opened, check = open_collection(collection), check_name(name)
    _refuse_model_s(source)
    with rereadable():
        qrels = read_own_qrels(source, warn, opened, grade_map, scale)
        own = own_qrels(opened, qrels, shown(source))
        for line in own.warnings(shown(source)):
            warn(line)
        with locked(opened, warn):
            if not _is_kept_there(source, opened.qrels(check)):
                _refuse_others(opened, name)
                with making(opened, [opened.qrels(name)], force=force):
                    write_qrels(opened.qrels(name), own.qrels)
                update_card_entry(opened, SECTION, name, _entry(source, own))
            drop_absent(opened, warn)
            pool, new = pool_judged(opened, {name: own}, warn)
    return ImportedQrels(
        opened.qrels(name),
        own.pairs,
        len(own.qrels),
        pool,
        new,
        own.left_out,
        own.unknown_queries,
        own.unknown_documents,
    )


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
    texts = {id_: query.text for id_, query in read_queries(collection.queries).items()}
    return read_qrels(Path(source), warn, grade_map=grade_map, scale=scale, queries=texts)


def shown(source: Source) -> str:
    """What messages call a source: its path, or `qrels`."""
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "qrels"


def _is_kept_there(source: Source, qrels: Path) -> bool:
    """Whether the source is the very file in which the collection would keep it."""
    if not isinstance(source, str | os.PathLike):
        return False
    return qrels.exists() and Path(source).samefile(qrels)


def _refuse_model_s(source: Source) -> None:
    """`Misuse` where a file holds a model's grades, which would count as people's from then on."""
    if isinstance(source, str | os.PathLike) and (holder := whose(Path(source))) in MODEL_S:
        grades = "a model's grades" if holder == "model" else "grades of people and of a model"
        problem = f"{shown(source)} holds {grades}, and what is imported counts as people's"
        raise Misuse(f"{problem}; relabel and diff compare sets as they are", parameter="source")


def _refuse_others(collection: Collection, name: str) -> None:
    """`Misuse` where the name is that of judgements, or of a sheet's grades."""
    for path in (collection.judgements(name), people_path(collection.folder, name)):
        if path.exists():
            problem = f"{path} holds judgements of that name; give another name"
            raise Misuse(problem, parameter="name")


def _entry(source: Source, own: OwnQrels) -> dict[str, Any]:
    """What the card says of imported qrels."""
    origin = Path(shown(source)).name
    counts = {"pairs": own.pairs, "queries": len(own.qrels), "left_out": own.left_out}
    return {"labeler": __version__, "source": origin, **counts}
