"""A sheet that a person graded, taken into a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from labeler.collection.card import read_card
from labeler.collection.layout import Collection, check_name
from labeler.collection.people import (
    Graded,
    SampledPair,
    people_path,
    read_people,
    read_sample,
    sample_path,
    write_people,
)
from labeler.data import Pair
from labeler.errors import BadInput, FileProblem
from labeler.people.sheet import Answer, read_sheet
from labeler.trec.files import write_qrels


@dataclass(frozen=True)
class Imported:
    """What a sheet brought: grades, skipped rows, and the rows that are gone from it."""

    graded: int
    skipped: int
    missing: int


@dataclass(frozen=True)
class Import:
    """Under what name a sheet is taken in, who graded it where it does not say, and when.

    With `replace` a grade of the sheet takes the place of another one that `name` has.
    """

    name: str
    rater: str
    now: str
    replace: bool = False


def import_sheet(collection: Collection, sheet: Path, wanted: Import) -> Imported:
    """Read a graded sheet into `qrels/NAME.qrels` and `people/NAME.jsonl`, beside what is there.

    Every row is checked against the sample that the sheet was drawn as. Sheets of one draw may
    share a name, which then holds the pairs of both; those of two draws may not, for nobody knows
    the chance of a pair to be in either.
    """
    check_name(wanted.name)
    answers = read_sheet(sheet)
    samples = {answer.sample for answer in answers}
    if len(samples) != 1:
        raise BadInput(f"{sheet}: expected the rows of one sample, found {len(samples)}")
    (sample,) = samples
    known = {row.number: row for row in read_sample(sample_path(collection.folder, sample))}
    scale = read_card(collection).get("samples", {}).get(sample, {}).get("scale", {})
    found = {}
    for answer in answers:
        row = _checked(sheet, answer, known, set(map(int, scale)))
        if row.pair in found:
            raise BadInput.at(sheet, answer.line, f"row {answer.number} stands there twice")
        said = (answer.rater or wanted.rater, answer.time or wanted.now, answer.comment)
        found[row.pair] = Graded(row.pair, answer.grade, *said, row.probability, sample)
    _merge(collection, wanted, found, sheet)
    graded = sum(one.grade is not None for one in found.values())
    return Imported(graded, len(found) - graded, len(known) - len(found))


def _checked(
    sheet: Path, answer: Answer, known: Mapping[int, SampledPair], scale: set[int]
) -> SampledPair:
    row = known.get(answer.number)
    if row is None:
        raise BadInput.at(sheet, answer.line, f"the sample has no row {answer.number}")
    for said, true in ((answer.query_id, row.pair.query_id), (answer.doc_id, row.pair.doc_id)):
        if said != true and not _same_number(said, true):
            problem = f"row {answer.number} was {true!r}, and is {said[:40]!r} in the sheet"
            raise BadInput.at(sheet, answer.line, problem)
    if answer.grade is not None and scale and answer.grade not in scale:
        grades = ", ".join(map(str, sorted(scale)))
        raise BadInput.at(sheet, answer.line, f"the grade {answer.grade} is none of {grades}")
    return row


def _same_number(said: str, true: str) -> bool:
    """Whether a spreadsheet took an id for a number: `007` became `7`."""
    try:
        return float(said) == float(true)
    except ValueError:
        return False


def _merge(
    collection: Collection, wanted: Import, found: Mapping[Pair, Graded], sheet: Path
) -> None:
    name, path = wanted.name, people_path(collection.folder, wanted.name)
    if not path.exists() and collection.qrels(name).exists():
        raise FileProblem(f"{collection.qrels(name)}: exists, and not from a sheet; another --as")
    before = {row.pair: row for row in read_people(path)} if path.exists() else {}
    for pair, row in found.items():
        old = before.get(pair)
        differ = old is not None and None not in (old.grade, row.grade) and old.grade != row.grade
        if differ and old is not None and not wanted.replace:
            problem = f"{' '.join(pair)} is {row.grade}, and {old.grade} in {name}"
            ways = "another rater goes under another --as; a new grade of the same: --replace"
            raise BadInput(f"{sheet}: {problem}; {ways}")
    kept = {**before, **{p: r for p, r in found.items() if r.grade is not None or p not in before}}
    samples = {row.sample for row in kept.values()} | {row.sample for row in found.values()}
    if len(samples) > 1:
        kept = _pooled(collection, samples, kept, f"{sheet}: {name}")
    qrels: dict[str, dict[str, int]] = {}
    for pair, row in sorted(kept.items()):
        if row.grade is not None:
            qrels.setdefault(pair.query_id, {})[pair.doc_id] = row.grade
    if not qrels:
        raise BadInput(f"{sheet}: no row has a grade")
    write_people(path, [kept[pair] for pair in sorted(kept)])
    write_qrels(collection.qrels(name), qrels)


def _pooled(
    collection: Collection, samples: set[str], kept: Mapping[Pair, Graded], where: str
) -> dict[Pair, Graded]:
    """The rows with the chance of a pair to be in any of these sheets of one draw.

    A sheet holds a random share of the draw; together they hold the share that their pairs make.
    """
    card = read_card(collection).get("samples", {})
    draws = {card.get(sample, {}).get("draw", sample) for sample in samples}
    if len(draws) > 1:
        named = ", ".join(sorted(samples))
        problem = f"would hold grades of several draws ({named}), whose chances cannot be pooled"
        raise BadInput(f"{where} {problem}; use another --as")
    drawn = int(card[min(samples)]["drawn"])
    chance: dict[Pair, float] = {}
    for sample in sorted(samples):
        rows = read_sample(sample_path(collection.folder, sample))
        chance |= {row.pair: row.probability * drawn / len(rows) for row in rows}
    share = len(chance) / drawn
    return {pair: replace(row, probability=chance[pair] * share) for pair, row in kept.items()}
