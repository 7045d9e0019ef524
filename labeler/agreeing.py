"""Read people's labels and other assessors', compare them, and say what was left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labeler.agreement.align import Other, Rules
from labeler.agreement.compare import Agreement, Options, agree
from labeler.agreement.options import parse_maps, rules_for
from labeler.data import Failure, Pair, Qrels
from labeler.errors import FileProblem, Misuse
from labeler.formats.collection import Collection, open_collection
from labeler.formats.judgements import read_judgements
from labeler.formats.labels import read_labels
from labeler.formats.trec import read_qrels


@dataclass(frozen=True)
class Wanted:
    """What a user asks for: how grades are read, and which statistics are computed how."""

    rules: Rules = field(default_factory=Rules)
    maps: Mapping[str, Mapping[int, int]] = field(default_factory=lambda: parse_maps(()))
    options: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Source:
    """Another assessor: a name, its labels, and the statuses of pairs without one."""

    name: str
    other: Other


@dataclass(frozen=True)
class Sources:
    """Whose labels are compared; `collection` where they came out of one."""

    people_name: str
    people: Qrels
    others: tuple[Source, ...]
    collection: Collection | None = None


def open_sources(arguments: Sequence[str], warn: Callable[[str], None]) -> Sources:
    """Files `HUMAN OTHER...`, or a collection's directory and names in it."""
    first, *rest = arguments
    if Path(first).is_dir():
        if len(rest) < 2:
            raise Misuse(f"expected two names or more after {first}: whose labels against whose?")
        return _of_collection(open_collection(Path(first)), rest, warn)
    if not rest:
        raise Misuse("expected people's labels and at least one other file, or a collection")
    people = read_qrels(Path(first), warn)
    return Sources(first, people, tuple(_of_file(Path(name), warn) for name in rest))


def agree_all(sources: Sources, wanted: Wanted) -> list[Agreement]:
    """How far each of the others agrees with people."""
    return [
        agree(
            sources.people,
            source.other,
            rules_for(sources.people, source.other.labels, wanted.maps, wanted.rules),
            wanted.options,
        )
        for source in sources.others
    ]


def _of_file(path: Path, warn: Callable[[str], None]) -> Source:
    found = read_labels(path)
    if found.repeated:
        warn(f"{path}: {found.repeated} lines say the same of a pair a second time")
    return Source(str(path), Other(found.labels, found.failures))


def _of_collection(
    collection: Collection, names: Sequence[str], warn: Callable[[str], None]
) -> Sources:
    for name in names:
        _must_exist(collection, name)
    people = read_qrels(collection.qrels(names[0]), warn)
    others = [Source(name, _judged(collection, name, warn)) for name in names[1:]]
    return Sources(names[0], people, tuple(others), collection)


def _judged(collection: Collection, name: str, warn: Callable[[str], None]) -> Other:
    path, failures = collection.qrels(name), read_failures(collection.judgements(name))
    if failures and not path.stat().st_size:
        return Other({}, failures)
    found = _of_file(path, warn).other
    return Other(found.labels, {**found.failures, **failures})


def _must_exist(collection: Collection, name: str) -> None:
    if not collection.qrels(name).exists():
        known = ", ".join(collection.qrels_names()) or "none"
        raise FileProblem(f"{collection.qrels(name)}: no such qrels; there are: {known}")


def read_failures(path: Path) -> dict[Pair, str]:
    """The status of every pair that a `judgements/NAME.jsonl` has no grade for."""
    if not path.exists():
        return {}
    outcomes = (row.judged.outcome for row in read_judgements(path))
    return {o.pair: o.status for o in outcomes if isinstance(o, Failure)}
