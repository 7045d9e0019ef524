"""Which files an evaluation reads, and what its runs are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labeler.errors import Misuse
from labeler.formats.collection import Collection, next_step, open_collection, read_card

RUN_SUFFIXES = (".gz", ".trec", ".run", ".txt")


def collection_runs(folder: Path) -> list[Path]:
    """The runs of a collection, `runs/*.trec[.gz]`."""
    collection = open_collection(folder)
    runs = [collection.run(name) for name in collection.run_names()]
    if not runs:
        raise Misuse(
            f"{folder}/runs holds no run (*.trec, *.trec.gz); make some: labeler pool {folder}"
        )
    return runs


def collection_qrels(folder: Path, name: str | None) -> Path:
    """`qrels/NAME.qrels` of a collection: by default `human`, else the only one there is."""
    collection = open_collection(folder)
    names = collection.qrels_names()
    if name is None and len(names) > 1 and "human" not in names:
        raise Misuse(f"{folder} has several qrels; choose with --qrels: {', '.join(names)}")
    if name is None and not names:
        raise Misuse(f"{folder} has no qrels yet; next: {next_step(folder)}")
    return collection.existing_qrels(name or ("human" if "human" in names else names[0]))


def run_name(path: Path) -> str:
    """A run's file name less `.trec`, `.run`, `.txt` and `.gz`."""
    name = path.name
    while name.endswith(RUN_SUFFIXES):
        name = name[: name.rindex(".")]
    return name or path.name


def named_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Run names to files; two of one name are `Misuse`."""
    named: dict[str, Path] = {}
    for path in paths:
        name = run_name(path)
        if name in named:
            raise Misuse(f"{named[name]} and {path} are both the run {name!r}; rename one")
        named[name] = path
    return named


def card_top_grade(folder: Path, name: str | None = None) -> int | None:
    """The scale's top grade, where the collection's card says what its grades may be.

    The scale is that on which the qrels `name` were judged, else upstream's, else that of the
    sheets which people filled in, else the widest of what was judged.
    """
    card = read_card(Collection(folder))
    judged = _grades_by_name(card, "judge")
    scales = (
        judged.get(name or "", []),
        [int(grade) for grade in card.get("fetch", {}).get("grades", {}).values()],
        [grade for scale in _grades_by_name(card, "samples").values() for grade in scale],
        [grade for scale in judged.values() for grade in scale],
    )
    return max(next(filter(None, scales), []), default=None)


def _grades_by_name(card: Mapping[str, Any], section: str) -> dict[str, list[int]]:
    """The grades of the scale that each entry of a section names."""
    entries = card.get(section, {})
    return {
        name: [int(grade) for grade in entry.get("scale", {})] for name, entry in entries.items()
    }


def top_grade_of(qrels: Path) -> int | None:
    """The top grade of qrels that stand where a collection keeps them, as its card says."""
    if qrels.parent.name != "qrels":
        return None
    return card_top_grade(
        qrels.parent.parent, qrels.name.removesuffix(".gz").removesuffix(".qrels")
    )
