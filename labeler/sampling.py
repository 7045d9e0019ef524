"""Draw pairs for people to grade, and take their grades in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from labeler.agreement.drawing import Drawn, draw, share_out
from labeler.collection.card import read_card, update_card
from labeler.collection.corpus import read_corpus
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, check_name
from labeler.collection.people import (
    Graded,
    SampledPair,
    people_path,
    read_people,
    read_sample,
    sample_path,
    write_people,
    write_sample,
)
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries
from labeler.collection.scale import names_of_labels
from labeler.data import Document, Failure, Pair, Query
from labeler.errors import BadInput, FileProblem, Misuse
from labeler.formats.sheet import Answer, SheetRow, read_sheet, write_sheet
from labeler.trec.files import read_qrels, write_qrels

Strata = dict[Pair, int | None]
DEFAULT_SCALE = {0: "", 1: "", 2: "", 3: ""}


@dataclass(frozen=True)
class Wish:
    """What to draw: how many pairs (`None` for all) of how many queries, what raters share."""

    pairs: int | None
    queries: int | None = None
    overlap: float = 0.0
    seed: int = 0
    scale: Mapping[int, str] | None = None


class Drew(NamedTuple):
    """A sheet's sample: its id, and how much is on it."""

    id: str
    pairs: int
    queries: int


def draw_sheets(
    collection: Collection, source: str | None, wish: Wish, sheets: Sequence[Path]
) -> list[Drew]:
    """Write one sheet a rater, and keep each one's probabilities in the collection.

    `source` names the labels whose grades are the strata.
    """
    if len({sheet.resolve() for sheet in sheets}) < len(sheets):
        raise Misuse("two sheets have the same path")
    strata, names = _strata(collection, source)
    drawn = draw(strata, wish.pairs, wish.queries, wish.seed)
    corpus, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    scale = wish.scale or names or DEFAULT_SCALE
    ids = []
    for sheet, mine in zip(
        sheets, share_out(drawn, len(sheets), wish.overlap, wish.seed), strict=True
    ):
        rows = _sheet_rows(mine, corpus, queries, wish.seed)
        made = {"source": source, "seed": wish.seed, "draw": _id(drawn), "drawn": len(drawn)}
        sample = _keep(collection, rows, mine, made, scale)
        write_sheet(sheet, sample, rows, scale)
        ids.append(Drew(sample, len(rows), len({row.query_id for row in rows})))
    return ids


def free_names(collection: Collection, count: int) -> list[str]:
    """Names for people's labels that the collection does not use yet."""
    taken, names = set(collection.qrels_names()), ["human", *(f"human{i}" for i in range(2, 1000))]
    return [name for name in names if name not in taken][:count]


def _strata(collection: Collection, source: str | None) -> tuple[Strata, Mapping[int, str]]:
    """Every pair of the pool with its grade, `None` where it has none; and the grades' names."""
    source = _only(collection) if source is None else source
    if source is None:
        pool: Strata = {pooled.pair: None for pooled in read_pool(collection.pool)}
        return pool, names_of_labels(collection, "")
    judgements = collection.judgements(source)
    if judgements.exists():
        rows = list(read_judgements(judgements))
        grades: Strata = {
            row.judged.outcome.pair: None
            if isinstance(row.judged.outcome, Failure)
            else row.judged.outcome.grade
            for row in rows
        }
        prompts = {row.origin.prompt for row in rows}
        return grades, names_of_labels(collection, source, prompts)
    qrels = read_qrels(collection.existing_qrels(source))
    graded: Strata = {Pair(q, d): g for q, row in qrels.items() for d, g in row.items()}
    if collection.pool.exists():
        graded = {p.pair: graded.get(p.pair) for p in read_pool(collection.pool)} | graded
    return graded, names_of_labels(collection, source)


def _only(collection: Collection) -> str | None:
    """The one set of labels; `None` where there is none yet, but a pool."""
    names = [
        name
        for name in collection.qrels_names()
        if name != "human" and not people_path(collection.folder, name).exists()
    ]
    if not names and collection.pool.exists():
        return None
    if len(names) != 1:
        known = ", ".join(names) or "none"
        raise Misuse(f"whose grades are the strata? choose with --from; there are: {known}")
    return names[0]


def _sheet_rows(
    drawn: Sequence[Drawn],
    corpus: Mapping[str, Document],
    queries: Mapping[str, Query],
    seed: int,
) -> list[SheetRow]:
    """By query, in an order of documents that tells nothing."""
    ordered = sorted(drawn, key=lambda one: (one.pair.query_id, _scattered(one.pair, seed)))
    rows = []
    for number, one in enumerate(ordered, start=1):
        query, document = queries.get(one.pair.query_id), corpus.get(one.pair.doc_id)
        if query is None or document is None:
            what = "query" if query is None else "document"
            raise BadInput(f"the pair {' '.join(one.pair)} has no {what} in the collection")
        rows.append(
            SheetRow(number, query.id, query.text, document.id, document.title, document.text)
        )
    return rows


def _scattered(pair: Pair, seed: int) -> str:
    return hashlib.sha256(f"{seed}\0{pair.query_id}\0{pair.doc_id}".encode()).hexdigest()


def _keep(
    collection: Collection,
    rows: Sequence[SheetRow],
    drawn: Sequence[Drawn],
    made: Mapping[str, object],
    scale: Mapping[int, str],
) -> str:
    """Write the sample's file and its entry in the card; returns its id."""
    chance = {one.pair: one.probability for one in drawn}
    kept = [
        SampledPair(row.number, pair, chance[pair])
        for row in rows
        for pair in [Pair(row.query_id, row.doc_id)]
    ]
    sample = "s" + _id(kept)
    write_sample(sample_path(collection.folder, sample), kept)
    entry = {**made, "pairs": len(kept), "scale": {str(g): name for g, name in scale.items()}}
    update_card(collection, "samples", {**read_card(collection).get("samples", {}), sample: entry})
    return sample


def _id(rows: Sequence[object]) -> str:
    """Eight hex digits of what the rows hold."""
    return hashlib.sha256("\n".join(map(repr, rows)).encode()).hexdigest()[:8]


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
