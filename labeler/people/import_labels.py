"""A sheet that a person graded, taken into a collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection, check_name, locked
from labeler.collection.people import (
    HumanAnswer,
    people_path,
    read_people,
    read_sample,
    sample_path,
    write_people,
)
from labeler.collection.scale import sample_scale
from labeler.collection.whose import OF_MODELS, whose
from labeler.data import Pair
from labeler.errors import BadInput, FileProblem
from labeler.files.atomic import may_be_replaced
from labeler.messages import Note
from labeler.people.sheet import id_in, read_sheet
from labeler.report.result import Result
from labeler.trec.files import read_qrels
from labeler.trec.write import write_qrels


@dataclass(frozen=True)
class ImportCounts(Result):
    """How many rows of a sheet had a grade, were skipped, and are missing from it."""

    graded: int
    skipped: int
    missing: int


@dataclass(frozen=True)
class ImportOptions:
    """The name of the qrels to write; who graded, and when, where the sheet does not say.

    With `replace` a grade of the sheet takes the place of another one that `name` has; None is for
    grades of which that is not to be proposed.
    """

    name: str
    assessor: str
    now: str
    replace: bool | None = False


def import_sheet(
    collection: Collection,
    sheet: Path,
    options: ImportOptions,
    warn: Note = lambda _message: None,
) -> ImportCounts:
    """Read a graded sheet into `qrels/NAME.qrels` and `people/NAME.jsonl`, beside what is there.

    Every row is checked against the sample that the sheet was drawn as. Sheets of one draw may
    share a name, which then holds the pairs of both; those of two draws may not, for nobody knows
    the chance of a pair to be in either. Pairs that were routed to people have no such chance:
    their sheets share a name with each other, and with grades that people brought along, and with
    no drawn one. The next sheet may take the
    place of this one, of which all is kept. `warn` is given a line that says which process is
    waited for.
    """
    check_name(options.name)
    answers = read_sheet(sheet)
    samples = {answer.sample for answer in answers}
    if len(samples) != 1:
        raise BadInput(f"{sheet}: expected the rows of one sample, found {len(samples)}")
    [sample], answered = samples, dict[Pair, HumanAnswer]()
    with locked(collection, warn):
        sampled = {row.number: row for row in read_sample(sample_path(collection.folder, sample))}
        scale = sample_scale(collection, sample)
        for answer in answers:
            row = sampled.get(answer.number)
            if row is None:
                raise BadInput.at(sheet, answer.line, f"the sample has no row {answer.number}")
            for cell, own in zip((answer.query_id, answer.doc_id), row.pair, strict=True):
                if not id_in(cell, own):
                    raise BadInput.at(
                        sheet,
                        answer.line,
                        f"row {answer.number} was {own!r}, and is {cell[:40]!r} in the sheet",
                    )
            if answer.grade is not None and answer.grade not in scale:
                raise BadInput.at(
                    sheet,
                    answer.line,
                    f"the grade {answer.grade} is none of {', '.join(map(str, sorted(scale)))}",
                )
            if row.pair in answered:
                raise BadInput.at(sheet, answer.line, f"row {answer.number} stands there twice")
            answered[row.pair] = HumanAnswer(
                row.pair,
                answer.grade,
                answer.assessor or options.assessor,
                answer.time or options.now,
                answer.comment,
                row.probability,
                sample,
            )
        merge_answers(collection, options, answered, str(sheet))
    may_be_replaced(sheet)
    graded = sum(answer.grade is not None for answer in answered.values())
    return ImportCounts(graded, len(answered) - graded, len(sampled) - len(answered))


def merge_answers(
    collection: Collection,
    options: ImportOptions,
    answered: Mapping[Pair, HumanAnswer],
    where: str,
    own: Callable[[HumanAnswer], bool] = lambda _answer: False,
) -> None:
    """Write the answers beside those that the name has already, and all of them as qrels.

    The collection is locked; `where` names the source of the answers. `own` tells which that the
    name has already came from that source: they are replaced, so that one that was taken back is
    gone.
    """
    name, path = options.name, people_path(collection.folder, options.name)
    earlier = read_people(path) if path.exists() else []
    before = {row.pair: row for row in earlier if not own(row)}
    brought = _brought(collection, name, earlier, answered)
    if not options.replace:
        held = {pair: row.grade for pair, row in before.items() if row.grade is not None}
        _refuse_changed_grades(answered, brought | held, where, options)
    new = {p: row for p, row in answered.items() if row.grade is not None or p not in before}
    merged = {**before, **new}
    rows = [*merged.values(), *answered.values()]
    if len({row.probability is None for row in rows}) > 1:
        raise BadInput(
            f"{where}: {name} would hold pairs drawn by chance and pairs routed to people; use "
            "another name",
            parameter="name",
        )
    samples = {row.sample for row in rows if row.probability is not None}
    if len(samples) > 1:
        merged = _pooled(collection, samples, merged, f"{where}: {name}")
    given = {pair: row.grade for pair, row in merged.items() if row.grade is not None}
    qrels: dict[str, dict[str, int]] = {}
    for pair, grade in sorted((brought | given).items()):
        qrels.setdefault(pair.query_id, {})[pair.doc_id] = grade
    if not qrels and not (earlier and options.replace is None):  # a journal's may all be outdated
        raise BadInput(f"{where}: no row has a grade")
    write_people(path, [merged[pair] for pair in sorted(merged)])
    write_qrels(collection.qrels(name), qrels)


def _brought(
    collection: Collection,
    name: str,
    earlier: Sequence[HumanAnswer],
    answered: Mapping[Pair, HumanAnswer],
) -> dict[Pair, int]:
    """The grades of no sheet that qrels of people came with, to stand beside those of sheets.

    `FileProblem` where others' grades have the name, or where the sheets are a sample.
    """
    qrels, has_journal = collection.qrels(name), people_path(collection.folder, name).exists()
    if not qrels.exists():
        return {}
    is_drawn = any(row.probability is not None for row in (*earlier, *answered.values()))
    if not has_journal and (is_drawn or whose(qrels) in OF_MODELS):
        problem = f"{qrels}: exists, and is not from a sheet; use another name"
        raise FileProblem(problem, parameter="name")
    if is_drawn or not qrels.stat().st_size:
        return {}
    of_sheets = {row.pair for row in earlier if row.grade is not None}
    grades = {Pair(q, doc): g for q, row in read_qrels(qrels).items() for doc, g in row.items()}
    return {p: g for p, g in grades.items() if p not in of_sheets}


def _refuse_changed_grades(
    answered: Mapping[Pair, HumanAnswer],
    before: Mapping[Pair, int],
    where: str,
    options: ImportOptions,
) -> None:
    """`BadInput` names a pair that has another grade under the name already."""
    for pair, row in answered.items():
        old = before.get(pair, -1)
        if old >= 0 and row.grade is not None and old != row.grade:
            problem = f"{' '.join(pair)} is {row.grade}, and {old} in {options.name}"
            problem = f"{where}: {problem}; another assessor's grades go under another name"
            if options.replace is None:
                raise BadInput(problem)
            raise BadInput(f"{problem}; replace=True takes these", parameter="replace")


def _pooled(
    collection: Collection, samples: set[str], rows: Mapping[Pair, HumanAnswer], where: str
) -> dict[Pair, HumanAnswer]:
    """The rows with the chance of a pair to be in any of these sheets of one draw.

    A sheet holds a random share of the draw; together they hold the share that their pairs make.
    """
    entries = card_section(read_card(collection), "samples")
    if len({str(card_section(entries, sample).get("draw", sample)) for sample in samples}) > 1:
        raise BadInput(
            f"{where} would hold grades of several draws ({', '.join(sorted(samples))}), whose "
            "chances cannot be pooled; use another name",
            parameter="name",
        )
    sample = min(samples)
    drawn = card_section(entries, sample).get("drawn")
    if type(drawn) is not int or drawn < 1:
        raise BadInput(
            f"{collection.card}: expected 'drawn' of the sample {sample!r} to be a count, found "
            f"{drawn!r:.40}"
        )
    chance: dict[Pair, float] = {}
    for sample in sorted(samples):
        drawn_here = read_sample(sample_path(collection.folder, sample))
        share_here = drawn / len(drawn_here)
        chance |= {row.pair: (row.probability or 0) * share_here for row in drawn_here}
    if stray := next((pair for pair in rows if pair not in chance), None):
        raise BadInput(f"{where} holds {' '.join(stray)}, which is in none of its samples")
    share = len(chance) / drawn
    return {pair: replace(row, probability=chance[pair] * share) for pair, row in rows.items()}
