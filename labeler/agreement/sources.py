"""Whose labels are compared: read from files, or from a collection with its runs and models."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeGuard

from labeler.agreement.align import AssessorLabels
from labeler.agreement.calibration import Distributions
from labeler.agreement.tally import Labels
from labeler.agreement.tally_files import tally_files, tell_what_is_held
from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.collection.people import people_path, read_people
from labeler.collection.queries import read_queries
from labeler.collection.scale import grade_names
from labeler.collection.stale import stale_in, without
from labeler.collection.user_files import run_paths, runs_by_name
from labeler.collection.whose import (
    collection_of_qrels,
    drawn_by_chance,
    made_by,
    not_of_people,
    routed_of_file,
    routed_pairs,
)
from labeler.data import Failure, Pair, Qrels, Run
from labeler.errors import Misuse
from labeler.evaluation.inputs import caveats, mixed_findings, part_findings
from labeler.exchange.qrels import hold_labels, read_qrels
from labeler.exchange.runs import hold_run
from labeler.files.read import rereadable
from labeler.messages import Advance, Progress, no_progress
from labeler.trec.labels import read_labels
from labeler.trec.memory import Source, as_qrels, as_run
from labeler.trec.runs import read_run, read_tag

Warn = Callable[[str], None]
JUDGEMENTS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class AssessorSource:
    """An assessor: a name, its labels, its model, how sure it was, what its grades mean.

    `notes` say what its files held beside labels, as lines that stand there twice.
    """

    name: str
    judged: AssessorLabels
    model: str = ""
    distributions: Distributions = field(default_factory=dict)
    scale_names: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sources:
    """The human grades, the assessors compared with them, and the runs that both are used on.

    `more_humans` are the grades of more people, by name; `writer` is the model that wrote the
    queries, empty where none did;
    `weights` are one over the probabilities with which the human pairs were drawn, if they were;
    `tags` are what runs and the collection's card call their systems; `scale_names` what the human
    grades mean; `made_from` names, as the card does, from whose grades a consensus was made;
    `notes` are of the human files; `stale` counts the pairs whose texts have changed since.
    """

    human_name: str
    human: Qrels
    assessors: tuple[AssessorSource, ...]
    more_humans: Mapping[str, Qrels] = field(default_factory=dict)
    runs: Mapping[str, Run] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    writer: str = ""
    weights: Mapping[Pair, float] | None = None
    collection: Collection | None = None
    scale_names: Mapping[int, str] = field(default_factory=dict)
    made_from: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stale: int = 0

    def query_texts(self) -> dict[str, str]:
        """What the queries say, where a collection tells."""
        if self.collection is None or not self.collection.queries.exists():
            return {}
        return {q.id: q.text for q in read_queries(self.collection.queries).values()}


def open_sources(
    arguments: Sequence[str],
    more_humans: Sequence[str] = (),
    runs: Sequence[Path] = (),
    *,
    tallied: Progress | None = None,
    stale: str = "drop",
) -> Sources:
    """Files `HUMAN OTHER...`, or a collection's directory and names in it.

    With `tallied`, two files of labels without runs are counted, whatever their size, and their
    pairs are not held; it is told how many queries are. `stale` grades, of texts that have changed
    since, are left out (`drop`) or counted (`keep`).
    """
    first, *rest = arguments
    notes: list[str] = []
    files = map(Collection(Path(first)).qrels, rest) if Path(first).is_dir() else arguments
    changed = set[Pair]().union(*(stale_in(file, notes.append, stale) for file in files))
    if Path(first).is_dir():
        if len(rest) < 2:
            raise Misuse(f"expected two names or more after {first}: whose labels against whose?")
        opened = _of_collection(open_collection(Path(first)), rest, more_humans, notes.append)
    elif not rest:
        raise Misuse("expected human qrels and at least one other file, or a collection")
    elif tallied is not None and len(rest) == 1 and not (more_humans or runs or changed):
        with rereadable(), tallied("queries counted") as advance:
            opened = _of_two_files((first, rest[0]), notes.append, advance)
    else:
        assessors = tuple(source_of_file(Path(name), name) for name in rest)
        more = {name: people_of_file(Path(name), notes.append) for name in more_humans}
        opened = Sources(first, people_of_file(Path(first), notes.append), assessors, more)
    refuse_same_names(opened)
    if changed:
        opened = replace(_without_stale(opened, changed, stale), stale=len(changed))
    return _with_runs(replace(opened, notes=tuple(notes)), runs)


def _without_stale(opened: Sources, changed: set[Pair], stale: str) -> Sources:
    """Sources without the pairs of which the texts have changed since any of them graded them."""
    if stale == "keep":
        return opened
    assessors = (
        replace(each, judged=replace(each.judged, labels=without(each.judged.labels, changed)))
        for each in opened.assessors
    )
    return replace(opened, human=without(opened.human, changed), assessors=tuple(assessors))


def _of_two_files(names: tuple[str, str], warn: Warn, advance: Advance) -> Sources:
    """Two files, counted where they are plain labels, else read whole."""
    human, other = names
    paths = Path(human), Path(other)
    is_plain = not other.endswith(JUDGEMENTS) and not routed_of_file(paths[0])
    both = tally_files(*paths, advance, warn) if is_plain else None
    if both is None:
        for path in paths:
            tell_what_is_held(path)
        people = people_of_file(paths[0], warn)
        return Sources(human, people, (source_of_file(paths[1], other),))
    for finding in mixed_findings(paths[0]):
        warn(str(finding))
    labels = _of_labels(paths[1], other, both.judged, both.repeated)
    return Sources(human, both.human, (labels,))


def refuse_same_names(sources: Sources) -> None:
    """`Misuse` where two of several assessors have one name."""
    assessors = [source.name for source in sources.assessors]
    names = [sources.human_name, *assessors, *sources.more_humans]
    if len(names) > 2 and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Misuse(f"{twice} is named twice; each assessor once, please")


def _with_runs(opened: Sources, run_sources: Sequence[Path]) -> Sources:
    paths = run_paths(run_sources)
    if not run_sources and opened.collection is not None:
        paths = [*opened.collection.run_files().values()]
    pooled = {} if opened.collection is None else made_by(opened.collection, "").tags
    runs: dict[str, Run] = {}
    tags: dict[str, str] = {}
    for name, path in runs_by_name(paths).items():
        with rereadable():
            hold_run(path)
            runs[name] = read_run(path)
            tags[name] = f"{read_tag(path)} {pooled.get(name, '')}"
    return replace(opened, runs=runs, tags=tags)


def source_of_file(path: Path, name: str) -> AssessorSource:
    """An assessor's file of judgements or of labels, under a name."""
    if path.name.endswith(JUDGEMENTS):
        rows = _read_judged(path)
        judged = AssessorLabels(rows.grades, rows.failures)
        notes = tuple(map(str, caveats(sorted(rows.models))))
        return AssessorSource(name, judged, rows.model(path.stem), rows.distributions, notes=notes)
    with rereadable():
        hold_labels(path)
        read = read_labels(path)
    judged = AssessorLabels(read.labels, read.failures)
    return _of_labels(path, name, judged, read.repeated)


def _of_labels(path: Path, name: str, judged: AssessorLabels, repeated: int) -> AssessorSource:
    """The labels of a file with what its collection's card says of them, and repeated lines."""
    where = collection_of_qrels(path)
    models = made_by(*where).models if where else ()
    parts = map(str, part_findings(*where)) if where else ()
    parts = (*parts, *map(str, mixed_findings(path)))
    again = f"{path}: {repeated} {_lines(repeated)} of a pair a second time"
    notes = (*([again] if repeated else []), *map(str, caveats(models)), *parts)
    return AssessorSource(name, judged, ", ".join(models) or path.stem, notes=notes)


def _lines(count: int) -> str:
    return "line says the same" if count == 1 else "lines say the same"


def _of_collection(
    collection: Collection, names: Sequence[str], more_humans: Sequence[str], warn: Warn
) -> Sources:
    for name in (*names, *more_humans):
        collection.existing_qrels(name)
    return Sources(
        names[0],
        people_of_collection(collection, names[0], warn),
        tuple(source_of_collection(collection, name) for name in names[1:]),
        {name: people_of_collection(collection, name, warn) for name in more_humans},
        writer=made_by(collection, names[0]).writer,
        weights=weights_of_people(collection, names[0]),
        collection=collection,
        scale_names=grade_names(collection, names[0]),
        made_from=made_from(collection),
    )


def human_grades(
    collection: Collection, name: str, warn: Warn
) -> tuple[Qrels, dict[Pair, float] | None]:
    """People's grades of a collection, and the weights of a sample's pairs; None of another set.

    Pairs that were routed to people are left out, as of every statistic.
    """
    if line := not_of_people(collection.existing_qrels(name)):
        warn(line)
    return people_of_collection(collection, name, warn), weights_of_people(collection, name)


def people_of_collection(collection: Collection, name: str, warn: Warn) -> Qrels:
    """People's grades of a collection, without those of pairs that were routed to them."""
    path = collection.qrels(name)
    for finding in mixed_findings(path):
        warn(str(finding))
    return drawn_by_chance(read_qrels(path, warn), routed_pairs(collection, name), path, warn)


def people_of_file(path: Path, warn: Warn) -> Qrels:
    """People's grades in a file, without routed pairs where the file is a collection's."""
    grades = drawn_by_chance(read_qrels(path, warn), routed_of_file(path), path, warn)
    for finding in mixed_findings(path):
        warn(str(finding))
    return grades


def made_from(collection: Collection) -> dict[str, tuple[str, ...]]:
    """From whose grades each consensus was made, as the card of a fetched collection says."""
    card = card_section(card_section(read_card(collection), "fetch"), "consensus")
    return {
        name: tuple(map(str, raters)) for name, raters in card.items() if isinstance(raters, list)
    }


def weights_of_people(collection: Collection, name: str) -> dict[Pair, float] | None:
    """One over the chance of each pair that was drawn; `None` of qrels from no sheet."""
    path = people_path(collection.folder, name)
    if not path.exists():
        return None
    rows = read_people(path)
    return {row.pair: 1 / row.probability for row in rows if row.probability is not None}


def source_of_collection(collection: Collection, name: str) -> AssessorSource:
    """The grades of the qrels; of the judgements, where they are there, all else; or of the card.

    Judgements name the models that answered; the card also knows them where no judgements are.
    """
    path, judgements = collection.qrels(name), collection.judgements(name)
    model = ", ".join(made_by(collection, name).models) or name
    if not judgements.exists():
        scale_names = grade_names(collection, name)
        return replace(source_of_file(path, name), model=model, scale_names=scale_names)
    rows = _read_judged(judgements)
    source = AssessorSource(name, AssessorLabels({}))
    if path.stat().st_size:
        source = source_of_file(path, name)
    judged = AssessorLabels(source.judged.labels, {**source.judged.failures, **rows.failures})
    scale_names = grade_names(collection, name, rows.prompts)
    return AssessorSource(
        name, judged, rows.model(model), rows.distributions, scale_names, source.notes
    )


@dataclass
class _Judged:
    """What a file of judgements holds: grades, failures, distributions, models and prompts."""

    grades: Qrels = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)
    distributions: dict[Pair, Mapping[int, float]] = field(default_factory=dict)
    models: set[str] = field(default_factory=set)
    prompts: set[str] = field(default_factory=set)

    def model(self, otherwise: str) -> str:
        """The models that judged, `otherwise` where none is named."""
        return ", ".join(sorted(self.models - {""})) or otherwise


def _read_judged(path: Path) -> _Judged:
    judged = _Judged()
    for row in read_judgements(path):
        outcome = row.judged.outcome
        judged.models |= {row.origin.model, row.judged.model}
        judged.prompts.add(row.origin.prompt)
        if isinstance(outcome, Failure):
            judged.failures[outcome.pair] = outcome.status
            continue
        judged.grades.setdefault(outcome.pair.query_id, {})[outcome.pair.doc_id] = outcome.grade
        if outcome.distribution:
            judged.distributions[outcome.pair] = outcome.distribution
    return judged


# The sources of a comparison, from whatever a program holds: paths, dicts, DataFrames, rows.

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
