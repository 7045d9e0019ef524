"""The sources of a comparison, from whatever a program holds: paths, dicts, DataFrames, rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from labeler.agreement.align import AssessorLabels
from labeler.agreement.sources import (
    AssessorSource,
    Sources,
    open_sources,
    people_of_file,
    refuse_same_names,
    source_of_file,
)
from labeler.agreement.tally import Labels
from labeler.collection.choose import run_paths, runs_by_name
from labeler.data import Qrels
from labeler.errors import Misuse
from labeler.messages import no_progress
from labeler.trec.memory import Source, as_qrels, as_run

FilePath = str | os.PathLike[str]
RunSources = Mapping[str, Source] | FilePath | Sequence[FilePath]
"""Runs by name; or files, or folders of files, that name them."""
MoreHumans = Mapping[str, Source] | Sequence[str]
"""The grades of more people by name; or files, or names in the collection."""


def sources_of(
    human: Source,
    assessors: Sequence[Source],
    runs: RunSources = (),
    more_humans: MoreHumans = (),
    stale: str = "drop",
) -> Sources:
    """The sources of a comparison; files and names in a collection are opened as a command does.

    What is no file is called `human` and `assessor`; of several, `assessor 1`, `assessor 2`, ...
    """
    everybody = [human, *assessors, *([] if isinstance(more_humans, Mapping) else more_humans)]
    files = [] if isinstance(runs, Mapping) else paths_of(runs)
    if _all_paths(everybody) and not isinstance(more_humans, Mapping):
        names = [os.fspath(path) for path in everybody[: 1 + len(assessors)]]
        counted = None if runs else no_progress
        sources = open_sources(names, more_humans, files, tallied=counted, stale=stale)
    else:
        sources = _of_memory(human, assessors, more_humans)
        runs_of_files = {
            name: as_run(path) for name, path in runs_by_name(run_paths(files)).items()
        }
        sources = replace(sources, runs=runs_of_files)
    if isinstance(runs, Mapping):
        sources = replace(
            sources, runs={name: as_run(run, name=name) for name, run in runs.items()}
        )
    return sources


def _of_memory(human: Source, assessors: Sequence[Source], more_humans: MoreHumans) -> Sources:
    if not assessors:
        raise Misuse("expected human grades and at least one assessor's")
    notes: list[str] = []
    more = more_humans if isinstance(more_humans, Mapping) else {name: name for name in more_humans}
    numbered = len(assessors) > 1
    sources = Sources(
        os.fspath(human) if _is_path(human) else "human",
        _people(human, notes, "human"),
        tuple(
            assessor_of(source, f"assessor {number}" if numbered else "assessor")
            for number, source in enumerate(assessors, start=1)
        ),
        {name: _people(qrels, notes, name) for name, qrels in more.items()},
    )
    refuse_same_names(sources)
    return replace(sources, notes=tuple(notes))


def assessor_of(source: Source, name: str) -> AssessorSource:
    """The labels of any source; what is no file is called `name`."""
    if _is_path(source):
        return source_of_file(Path(source), os.fspath(source))
    if isinstance(source, Mapping):
        return AssessorSource(name, AssessorLabels(_labels(source, name)))
    notes: list[str] = []
    judged = AssessorLabels(as_qrels(source, notes.append, name=name))
    return AssessorSource(name, judged, notes=tuple(notes))


def _labels(source: Mapping[Any, Any], name: str) -> Labels:
    """A dict's labels as they stand: what is no grade is left out later, and counted."""
    for query_id, row in source.items():
        if not isinstance(row, Mapping):
            where = f"{name}, query {query_id!r:.40}"
            raise Misuse(f"{where}: expected {{document: grade}}, found {row!r:.40}")
    return {
        str(query_id): {
            str(doc_id): label if isinstance(label, int) else str(label)
            for doc_id, label in row.items()
        }
        for query_id, row in source.items()
    }


def _people(source: Source, notes: list[str], name: str) -> Qrels:
    """People's grades; of a collection's file without those of pairs that were routed to them."""
    if _is_path(source):
        return people_of_file(Path(source), notes.append)
    return as_qrels(source, notes.append, name=name)


def paths_of(runs: FilePath | Sequence[FilePath]) -> list[Path]:
    """One path, or several, as paths."""
    if isinstance(runs, str | os.PathLike):
        return [Path(runs)]
    return [Path(path) for path in runs]


def _is_path(source: Any) -> TypeGuard[FilePath]:
    return isinstance(source, str | os.PathLike)


def _all_paths(sources: Sequence[Any]) -> TypeGuard[Sequence[FilePath]]:
    return all(map(_is_path, sources))
