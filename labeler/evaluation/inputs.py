"""Qrels and runs as they are given: files, a collection, dicts, DataFrames or rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from labeler.collection.layout import Collection
from labeler.collection.user_files import (
    collection_qrels,
    collection_runs,
    run_name,
    run_paths,
    runs_in,
)
from labeler.data import Pair, Qrels, Run
from labeler.errors import Misuse
from labeler.exchange.qrels import judged_in, read_qrels
from labeler.exchange.runs import hold_run
from labeler.files.paths import check_existing, true_path
from labeler.files.read import rereadable
from labeler.metrics import Rankings
from labeler.trec.rankings import Facts, Pool, pool_of, rankings_of, read_pool, read_rankings

if TYPE_CHECKING:
    from labeler.trec.memory import Source

AnyQrels: TypeAlias = "Source | Collection"
"""A file, a collection (its human qrels, or the only ones), a dict, a DataFrame or rows."""

AnyRuns: TypeAlias = "Source | Collection | Mapping[str, Source] | Iterable[Source]"
"""One run, several, a dict of names to runs, or a collection (all of its runs)."""

RunsByName = dict[str, Path | Run]


def qrels_path(qrels: AnyQrels) -> Path | None:
    """The file that holds the qrels, `None` where a program holds them."""
    folder = folder_of(qrels)
    if folder is not None:
        return collection_qrels(folder, None)
    return Path(qrels) if isinstance(qrels, str | os.PathLike) else None


def folder_of(source: object) -> Path | None:
    """The folder of a collection, `None` where the source is no collection."""
    if isinstance(source, Collection):
        return source.folder
    if isinstance(source, str | os.PathLike) and Path(source).is_dir():
        return Path(source)
    return None


def pool_from(
    qrels: AnyQrels, warn: Callable[[str], None], name: str = "the qrels", stale: str = "drop"
) -> Pool:
    """The pool of any qrels; messages call those without a file `name`."""
    path = qrels_path(qrels)
    if path is None:
        return pool_of(qrels_from(qrels, warn, name), name)
    changed = _changed_since(path, warn, stale)
    with rereadable():
        is_trec = judged_in(path) is None
    if is_trec and (stale == "keep" or not changed):
        return replace(read_pool(path, warn), stale=len(changed))
    grades = read_qrels(path, warn)
    grades = grades if stale == "keep" else _without(grades, changed)
    return replace(pool_of(grades, str(path)), stale=len(changed))


def _changed_since(path: Path, warn: Callable[[str], None], stale: str = "drop") -> set[Pair]:
    """The pairs of a collection's qrels whose texts have changed since they were judged."""
    if true_path(path).parent.name not in ("qrels", "judgements"):
        return set()
    from labeler.collection.stale import stale_in  # takes long to load

    return stale_in(path, warn, stale)


def _without(grades: Qrels, pairs: set[Pair]) -> Qrels:
    if not pairs:
        return grades
    from labeler.collection.stale import without  # takes long to load

    return without(grades, pairs)


def qrels_from(qrels: AnyQrels, warn: Callable[[str], None], name: str = "the qrels") -> Qrels:
    """The grades of any qrels as a dict, without those of texts that have changed since."""
    from labeler.trec.memory import as_qrels  # files are scored without it

    path = qrels_path(qrels)
    if path is None:
        return as_qrels(_held(qrels), warn, name=name)
    return _without(read_qrels(path, warn), _changed_since(path, warn))


def _held(qrels: AnyQrels) -> Source:
    """Qrels that are no collection, as `qrels_path` has tested."""
    return cast("Source", qrels)


def collection_around(qrels: AnyQrels) -> Collection | None:
    """The collection in whose `qrels/` the file stands."""
    path = qrels_path(qrels)
    return Collection(path.parent.parent) if path and path.parent.name == "qrels" else None


def top_grade_beside(qrels: AnyQrels) -> int | None:
    """The top grade of the qrels' scale, as the card of their collection says."""
    path = qrels_path(qrels)
    if path is None or path.parent.name != "qrels":
        return None
    from labeler.collection.scale import top_grade_of  # takes long to load

    return top_grade_of(path)


def short_name(qrels: str) -> str:
    """What a table calls qrels: the name of their file without its ending."""
    return Path(qrels).name.removesuffix(".gz").removesuffix(".qrels")


def runs_from(runs: AnyRuns | None, qrels: AnyQrels) -> RunsByName:
    """Runs by name; without any, those of the collection that `qrels` is.

    Files give their own names. Of runs without one, a single one is `run`, and several are `run1`,
    `run2` and so on.
    """
    folder = folder_of(qrels if runs is None else runs)
    if folder is not None:
        return _by_name(runs_in(folder))
    if runs is None:
        against = f" against {qrels}" if isinstance(qrels, str | os.PathLike) else ""
        raise Misuse(f"no run to score{against}", parameter="runs")
    if isinstance(runs, Mapping) and not _is_run(runs):
        return {name: _run(run, name) for name, run in runs.items()}
    return _by_name([*_with_those_of_folders(_listed(runs))])


def _with_those_of_folders(runs: Iterable[Any]) -> Iterator[Any]:
    """Runs, and in place of each folder the runs in it."""
    for run in runs:
        yield from run_paths([Path(run)]) if folder_of(run) else [run]


def _is_run(runs: Mapping[Any, Any]) -> bool:
    """Whether a dict is a run, `{query: {document: score}}`, and not one of names to runs."""
    return all(
        isinstance(scores, Mapping)
        and not any(isinstance(score, Mapping) for score in islice(scores.values(), 1))
        for scores in runs.values()
    )


def _listed(runs: Any) -> list[Any]:
    """Several runs as a list; one run as a list of it."""
    if isinstance(runs, str | os.PathLike | Mapping) or hasattr(runs, "columns"):
        return [runs]
    items = list(runs)
    return [items] if items and _is_row(items[0]) else items


def _is_row(item: Any) -> bool:
    """Whether this is a row of a run: a query, a document and a score, or an object with them."""
    if hasattr(item, "columns"):  # a DataFrame has its columns as attributes, too
        return False
    is_triple = isinstance(item, tuple | list) and len(item) == 3 and isinstance(item[2], Real)
    return is_triple or hasattr(item, "score")


def _by_name(runs: Sequence[Any]) -> RunsByName:
    if not runs:
        raise Misuse("no run to score", parameter="runs")
    runs_by_name: RunsByName = {}
    for number, run in enumerate(runs, start=1):
        name = "run" if len(runs) == 1 else f"run{number}"
        if isinstance(run, str | os.PathLike):
            name = run_name(Path(run))
        if name in runs_by_name:
            first, second = runs_by_name[name], run
            raise Misuse(f"{first} and {second} are both the run {name!r}; rename one")
        runs_by_name[name] = _run(run, name)
    return runs_by_name


def _run(run: Source, name: str) -> Path | Run:
    """A run's file, or its scores where a program holds them."""
    if isinstance(run, str | os.PathLike):
        return Path(run)
    from labeler.trec.memory import as_run  # files are scored without it

    return as_run(run, name=f"the run {name}")


def rank(run: Path | Run, pool: Pool, *, outside: bool = False) -> tuple[Rankings, Facts]:
    """A run's rankings of the queries of the qrels, and facts to warn of.

    With `outside` the facts have the documents outside the qrels.
    """
    if isinstance(run, Path):
        with rereadable():
            hold_run(run)
            return read_rankings(run, pool, outside=outside)
    return rankings_of(run, pool, outside=outside)


def qrels_and_runs(words: Sequence[str], qrels: int) -> tuple[list[Path], list[Path]]:
    """So many qrels and then runs, from the words of a command.

    They are files in this order; or a collection's folder and names of its qrels, of which none is
    needed where one set of qrels is asked for and the collection has one set, or people's.
    """
    folder, names = Path(words[0]), list(words[1:])
    if not folder.is_dir():
        paths = [Path(word) for word in words]
        check_existing(paths)
        return paths[:qrels], run_paths(paths[qrels:])
    if len(names) > qrels or (qrels > 1 and len(names) < qrels):
        raise Misuse(f"after the collection {folder} come the names of {qrels} of its qrels")
    asked: list[str | None] = [*names] or [None]
    return [collection_qrels(folder, name) for name in asked], collection_runs(folder)
