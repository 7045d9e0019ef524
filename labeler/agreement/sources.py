"""Whose labels are compared: read from files, or from a collection with its runs and models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from labeler.agreement.align import AssessorLabels, Labels, PairWeights, check_named_once
from labeler.collection.card import card_section, read_card
from labeler.collection.judged_set import JudgedSet, judged_in
from labeler.collection.layout import Collection, collection_of_qrels, open_collection
from labeler.collection.people import people_path, read_people
from labeler.collection.scale import grade_names
from labeler.collection.stale import stale_in, without
from labeler.collection.user_files import run_paths, runs_by_name
from labeler.collection.whose import drawn_by_chance, made_by, not_of_people, routed_of_file, whose
from labeler.data import Pair, Qrels, Run
from labeler.errors import Misuse
from labeler.evaluation.inputs import FilePath, caveats, is_path, mixed_findings, part_findings
from labeler.exchange.qrels import Meaning, hold_qrels, read_qrels
from labeler.exchange.runs import hold_run
from labeler.files.read import rereadable
from labeler.judging.changes import texts_of_queries
from labeler.messages import Note, count_of
from labeler.trec.files import read_run, read_tag
from labeler.trec.labels import read_labels
from labeler.trec.memory import Source, as_qrels, as_run

JUDGEMENTS = (".jsonl", ".jsonl.gz")


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
    assessors: Sequence[AssessorLabels]
    more_humans: Mapping[str, Qrels] = field(default_factory=dict)
    runs: Mapping[str, Run] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    writer: str = ""
    weights: PairWeights = None
    collection: Collection | None = None
    scale_names: Mapping[int, str] = field(default_factory=dict)
    made_from: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    stale: int = 0


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
    """The sources of a comparison: files, what a program holds, or a collection and names in it.

    Of a collection alone, people's `human` is compared with all sets that models graded.
    What is no file is called `human` and `assessor`; of several, `assessor 1`, `assessor 2`, ...
    `stale` grades, of texts that have changed since, are left out (`drop`) or counted (`keep`).
    """
    notes: list[str] = []
    if is_path(human) and Path(human).is_dir():
        collection = open_collection(Path(human))
        names = _names_in(collection, list(map(str, assessors)))
        paths = {name: collection.judgements(name) for name in names}
        read = {name: judged_in(path, shares=True) for name, path in paths.items() if path.exists()}
        changed = stale_in(map(collection.qrels, read), notes.append, stale, read.values())
        opened = _of_collection(collection, names, [*more_humans], read, notes.append)
    elif not assessors:
        raise Misuse("expected human qrels and at least one other file, or a collection")
    else:
        changed = stale_in(filter(is_path, (human, *assessors)), notes.append, stale)
        opened = _of_sources(human, assessors, more_humans, notes)
    every = [opened.human_name, *(each.name for each in opened.assessors), *opened.more_humans]
    if len(every) > 2:
        check_named_once(every)
    opened = replace(opened, notes=tuple(notes), stale=len(changed))
    if changed and stale == "drop":
        left = [replace(each, labels=without(each.labels, changed)) for each in opened.assessors]
        opened = replace(opened, human=without(opened.human, changed), assessors=left)
    read_runs, tags = runs_of(runs, opened.collection)
    return replace(opened, runs=read_runs, tags=tags)


def _names_in(collection: Collection, names: list[str]) -> list[str]:
    """The names that are compared; without any, people's `human` and all that models graded."""
    every = collection.qrels_names()
    if not names and "human" in every:
        names = ["human", *[name for name in every if whose(collection.qrels(name)) == "model"]]
    if len(names) < 2:
        raise Misuse(
            f"expected two names or more of the qrels in {collection.folder}: "
            f"{', '.join(every) or 'there are none'}"
        )
    return names


def _of_sources(
    human: Source, assessors: Sequence[Source], more_humans: MoreHumans, notes: list[str]
) -> Sources:
    more = more_humans if isinstance(more_humans, Mapping) else {name: name for name in more_humans}
    names = ["assessor"] if len(assessors) == 1 else []
    names = names or [f"assessor {number}" for number in range(1, len(assessors) + 1)]
    return Sources(
        os.fspath(human) if is_path(human) else "human",
        _people(human, notes, "human"),
        tuple(map(assessor_of, assessors, names)),
        {name: _people(qrels, notes, name) for name, qrels in more.items()},
    )


def runs_of(
    runs: RunSources, collection: Collection | None
) -> tuple[dict[str, Run], dict[str, str]]:
    """The runs by name, without any those of the collection; and what files call their systems."""
    if isinstance(runs, Mapping):
        return {name: as_run(run, name=name) for name, run in runs.items()}, {}
    paths = run_paths(map(Path, [runs] if isinstance(runs, str | os.PathLike) else runs))
    if not paths and collection is not None:
        paths = [*collection.run_files().values()]
    pooled = {} if collection is None else made_by(collection, "").tags
    texts = {} if collection is None else texts_of_queries(collection)
    read: dict[str, Run] = {}
    tags = {}
    for name, path in runs_by_name(paths).items():
        with rereadable():
            hold_run(path, Meaning(texts=texts) if texts and path.is_file() else Meaning())
            read[name] = read_run(path)
            tags[name] = f"{read_tag(path)} {pooled.get(name, '')}"
    return read, tags


def source_of_file(path: Path, name: str) -> AssessorLabels:
    """An assessor's file of judgements or of labels, under a name."""
    if path.name.endswith(JUDGEMENTS):
        rows = judged_in(path, shares=True)
        answered = sorted(rows.asked | rows.served)
        notes = tuple(map(str, caveats(answered)))
        model = ", ".join(answered) or path.stem
        return AssessorLabels(
            *(rows.grades, rows.failures, name),
            model=model,
            distributions=rows.distributions,
            notes=notes,
        )
    with rereadable():
        hold_qrels(path, labels=True)
        read = read_labels(path)
    where = collection_of_qrels(path)
    models = made_by(*where).models if where else ()
    findings = [*caveats(models), *(part_findings(*where) if where else ()), *mixed_findings(path)]
    again = count_of(read.repeated, "line says the same", "lines say the same")
    repeated = [f"{path}: {again} of a pair a second time"] if read.repeated else []
    model, notes = ", ".join(models) or path.stem, (*repeated, *map(str, findings))
    return AssessorLabels(read.labels, read.failures, name, model=model, notes=notes)


def _of_collection(
    collection: Collection,
    names: Sequence[str],
    more_humans: Sequence[str],
    read: Mapping[str, JudgedSet],
    warn: Note,
) -> Sources:
    return Sources(
        names[0],
        people_of_file(collection.existing_qrels(names[0]), warn),
        tuple(source_of_collection(collection, name, read.get(name)) for name in names[1:]),
        {name: people_of_file(collection.existing_qrels(name), warn) for name in more_humans},
        writer=made_by(collection, names[0]).writer,
        weights=weights_of_people(collection, names[0]),
        collection=collection,
        scale_names=grade_names(collection, names[0]),
        made_from=made_from(collection),
    )


def human_grades(collection: Collection, name: str, warn: Note) -> tuple[Qrels, PairWeights]:
    """People's grades of a collection, and the weights of a sample's pairs; None of another set.

    Pairs that were routed to people are left out, as of every statistic.
    """
    path = collection.existing_qrels(name)
    if line := not_of_people(path):
        warn(line)
    return people_of_file(path, warn), weights_of_people(collection, name)


def people_of_file(path: Path, warn: Note) -> Qrels:
    """People's grades in a file, without routed pairs where the file is a collection's."""
    grades = drawn_by_chance(read_qrels(path, warn), routed_of_file(path), path, warn)
    for finding in mixed_findings(path):
        warn(str(finding))
    return grades


def made_from(collection: Collection) -> dict[str, Sequence[str]]:
    """From whose grades each consensus was made, as the card of a fetched collection says."""
    card = card_section(read_card(collection), "fetch", "consensus")
    return {
        name: tuple(map(str, raters)) for name, raters in card.items() if isinstance(raters, list)
    }


def weights_of_people(collection: Collection, name: str) -> dict[Pair, float] | None:
    """One over the chance of each pair that was drawn; `None` of qrels from no sample."""
    path = people_path(collection.folder, name)
    rows = read_people(path) if path.exists() else []
    return {row.pair: 1 / row.probability for row in rows if row.probability is not None} or None


def source_of_collection(
    collection: Collection, name: str, rows: JudgedSet | None = None
) -> AssessorLabels:
    """The grades of the qrels; of the judgements, where they are there, all else; or of the card.

    `rows` are the judgements, where they were read already.

    Judgements name the models that answered; the card also knows them where no judgements are.
    """
    path, judgements = collection.existing_qrels(name), collection.judgements(name)
    model = ", ".join(made_by(collection, name).models) or name
    if not judgements.exists():
        scale_names = grade_names(collection, name)
        return replace(source_of_file(path, name), model=model, scale_names=scale_names)
    rows = judged_in(judgements, shares=True) if rows is None else rows
    source = AssessorLabels({}, name=name)
    if path.stat().st_size:
        source = source_of_file(path, name)
    return replace(
        source,
        failures={**source.failures, **rows.failures},
        model=", ".join(sorted(rows.asked | rows.served)) or model,
        distributions=rows.distributions,
        scale_names=grade_names(collection, name, rows.prompts),
    )


def assessor_of(source: Source, name: str) -> AssessorLabels:
    """The labels of any source; what is no file is called `name`."""
    if is_path(source):
        return source_of_file(Path(source), os.fspath(source))
    if isinstance(source, Mapping):
        return AssessorLabels(_labels(source, name), name=name)
    notes: list[str] = []
    return AssessorLabels(as_qrels(source, notes.append, name=name), name=name, notes=tuple(notes))


def _labels(source: Mapping[Any, Any], name: str) -> Labels:
    """A dict's labels as they stand: what is no grade is left out later, and counted."""
    labels: dict[str, dict[str, int | str]] = {}
    for query_id, row in source.items():
        if not isinstance(row, Mapping):
            raise Misuse(
                f"{name}, query {query_id!r:.40}: expected {{document: grade}}, found {row!r:.40}"
            )
        labels[str(query_id)] = {
            str(doc_id): label if isinstance(label, int) else str(label)
            for doc_id, label in row.items()
        }
    return labels


def _people(source: Source, notes: list[str], name: str) -> Qrels:
    """People's grades; of a collection's file without those of pairs that were routed to them."""
    if is_path(source):
        return people_of_file(Path(source), notes.append)
    return as_qrels(source, notes.append, name=name)
