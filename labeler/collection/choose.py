"""Which files an evaluation reads, and what its runs are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labeler.collection.layout import next_step, open_collection
from labeler.errors import Misuse

RUN_SUFFIXES = (".gz", ".trec", ".run", ".txt")


def collection_runs(folder: Path) -> list[Path]:
    """The runs of a collection, the files in its `runs/`."""
    runs = [*open_collection(folder).run_files().values()]
    if not runs:
        raise Misuse(
            f"{folder}/runs holds no run (*.trec, *.run, *.txt, also .gz); "
            f"make some: labeler pool {folder}"
        )
    return runs


def collection_qrels(folder: Path, name: str | None) -> Path:
    """`qrels/NAME.qrels` of a collection: by default `human`, else the only one there is."""
    collection = open_collection(folder)
    names = collection.qrels_names()
    if name is None and len(names) > 1 and "human" not in names:
        problem = f"{folder} has several qrels; choose one: {', '.join(names)}"
        raise Misuse(problem, parameter="qrels")
    if name is None and not names:
        raise Misuse(f"{folder} has no qrels yet; next: {next_step(folder)}")
    return collection.existing_qrels(name or ("human" if "human" in names else names[0]))


def run_name(path: Path) -> str:
    """A run's file name less `.trec`, `.run`, `.txt` and `.gz`."""
    name = path.name
    while name.casefold().endswith(RUN_SUFFIXES):
        name = name[: name.rindex(".")]
    return name or path.name


def runs_by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """Run names to files; two of one name are `Misuse`."""
    paths_by_run: dict[str, Path] = {}
    for path in paths:
        name = run_name(path)
        if name in paths_by_run:
            raise Misuse(f"{paths_by_run[name]} and {path} are both the run {name!r}; rename one")
        paths_by_run[name] = path
    return paths_by_run
