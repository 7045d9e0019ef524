"""Draw pairs for people to grade, and write the sheets that they grade in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from labeler.collection.annotations import texts_identity
from labeler.collection.card import update_card_entry
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.collection.lock import Note, locked
from labeler.collection.on_demand import corpus_on_demand
from labeler.collection.outputs import Output
from labeler.collection.people import (
    SampledPair,
    people_path,
    sample_path,
    write_sample,
)
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries
from labeler.collection.scale import grade_names
from labeler.data import Document, Failure, Pair, Query
from labeler.errors import BadInput, Misuse, about
from labeler.files.paths import true_path
from labeler.people.draw import DrawnPair, draw, share_out
from labeler.people.instructions import JUDGING_PROMPT, instructions, write_instructions
from labeler.people.sheet import SheetRow, write_sheet
from labeler.prompt import find_prompt
from labeler.trec.qrels import read_qrels

Strata = dict[Pair, int | None]


@dataclass(frozen=True)
class SampleDesign:
    """How many pairs to draw (`None` is all, or `up_to` so many) of how many queries (`None`: all).

    With several sheets, every assessor grades `overlap` of the pairs. `scale` holds the grades with
    their names; where it is `None`, those of the qrels that are sampled from.
    """

    pairs: int | None
    queries: int | None = None
    overlap: float = 0.0
    seed: int = 0
    scale: Mapping[int, str] | None = None
    up_to: int | None = None


class SheetSample(NamedTuple):
    """The id of the sample on a sheet, and of how many pairs and queries it is."""

    id: str
    pairs: int
    queries: int


def draw_sheets(
    collection: Collection,
    source: str | None,
    design: SampleDesign,
    sheets: Sequence[Output | Path],
    note: Note = lambda _line: None,
) -> list[SheetSample]:
    """Write a sheet for each assessor with a page of instructions beside it.

    The chance of each pair to be drawn is kept in the collection.

    `source` names the qrels whose grades are the strata. Nothing is written unless every sheet can
    be: one in which somebody has written is not replaced, unless that is forced. `note` is given
    lines that say which process is waited for, and which other page of instructions stays.
    """
    outputs = [Output.of(sheet, [collection.folder]) for sheet in sheets]
    if len({true_path(output.path) for output in outputs}) < len(outputs):
        raise Misuse("two sheets have the same path")
    for output in outputs:
        output.check()
    chances, sheet = _dealt(collection, source, design, len(outputs))
    return _write_sheets(collection, chances, outputs, sheet, note)


def draw_for_raters(
    collection: Collection,
    source: str | None,
    design: SampleDesign,
    raters: Sequence[str],
    note: Note = lambda _line: None,
) -> list[SheetSample]:
    """Draw pairs as `draw_sheets` does, for people who grade on a page; one sample for each rater.

    The card says whose each is. Where all raters grade all pairs, it is one sample of them all.
    """
    chances, sheet = _dealt(collection, source, design, len(raters))
    corpus, queries = corpus_on_demand(collection.corpus), read_queries(collection.queries)
    is_shared = all(chance == chances[0] for chance in chances)
    samples = []
    with locked(collection, note):
        for rater, chance in zip(raters, chances, strict=True):
            rows = _sheet_rows(chance, corpus, queries, sheet.seed)
            own = sheet if is_shared else sheet._replace(made={**sheet.made, "rater": rater})
            sample = _keep(collection, rows, chance, own)
            samples.append(SheetSample(sample, len(rows), len({row.query_id for row in rows})))
    return samples


def _dealt(
    collection: Collection, source: str | None, design: SampleDesign, raters: int
) -> tuple[list[Mapping[Pair, float | None]], _Sheet]:
    """The pairs of each rater with their chances, and what their sheets have in common."""
    source = _only(collection) if source is None else source
    strata, names, prompt = _strata(collection, source)
    if not strata:
        raise BadInput(f"{collection.folder}: {source or 'the pool'} holds no pair to draw from")
    drawn = draw(strata, design.pairs, design.queries, design.seed)
    if design.pairs is None and design.up_to is not None and len(drawn) > design.up_to:
        drawn = draw(strata, design.up_to, design.queries, design.seed)
    scale = design.scale or names
    made = {"source": source, "seed": design.seed, "draw": _id(drawn), "drawn": len(drawn)}
    sheet = _Sheet(made, scale, instructions(scale, prompt), design.seed)
    shares = share_out(drawn, raters, design.overlap, design.seed)
    return [{row.pair: row.probability for row in mine} for mine in shares], sheet


def route_sheet(
    collection: Collection,
    pairs: Sequence[Pair],
    output: Output | Path,
    made: Mapping[str, object],
    note: Note = lambda _line: None,
) -> SheetSample:
    """Write a sheet of pairs that were chosen, not drawn: none has a chance of being in it.

    `made` says in the card how they were chosen; its `source` are the qrels whose grades are in
    doubt, and whose scale people use.
    """
    sheet = Output.of(output, [collection.folder])
    sheet.check()
    source = str(made["source"])
    _, scale, prompt = _strata(collection, source)
    settings = _Sheet({**made, "routed": True}, scale, instructions(scale, prompt), 0)
    (sample,) = _write_sheets(collection, [dict.fromkeys(pairs)], [sheet], settings, note)
    return sample


class _Sheet(NamedTuple):
    """What the card says of a sheet's sample, the grades, the page for raters, and a seed."""

    made: Mapping[str, object]
    scale: Mapping[int, str]
    page: str
    seed: int


def _write_sheets(
    collection: Collection,
    chances: Sequence[Mapping[Pair, float | None]],
    outputs: Sequence[Output],
    sheet: _Sheet,
    note: Note,
) -> list[SheetSample]:
    """Write a sheet of each mapping of pairs to their chance of being drawn, and keep these."""
    corpus, queries = corpus_on_demand(collection.corpus), read_queries(collection.queries)
    samples = []
    for output, chance in zip(outputs, chances, strict=True):
        rows = _sheet_rows(chance, corpus, queries, sheet.seed)
        with locked(collection, note):
            sample = _keep(collection, rows, chance, sheet)
        with output.writing():
            write_sheet(output.path, sample, rows, sheet.scale)
        path, is_ours = write_instructions(output, sheet.page)
        if not is_ours:
            note(f"{path} is there already, and stays")
        samples.append(SheetSample(sample, len(rows), len({row.query_id for row in rows})))
    return samples


def free_names(collection: Collection, count: int) -> list[str]:
    """Names for people's qrels that the collection does not use yet."""
    taken, names = set(collection.qrels_names()), ["human", *(f"human{i}" for i in range(2, 1000))]
    return [name for name in names if name not in taken][:count]


def _strata(collection: Collection, source: str | None) -> tuple[Strata, Mapping[int, str], str]:
    """Every pair of the pool with its grade, `None` where it has none; the grades' names and their
    prompt, which words them.
    """
    if source is None:
        pool: Strata = {pooled.pair: None for pooled in read_pool(collection.pool)}
        names = grade_names(collection, "")
        return (pool, names, "") if names else (pool, *_of_default_prompt())
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
        named = grade_names(collection, source, prompts)
        return (
            (grades, named, min(prompts, default="")) if named else (grades, *_of_default_prompt())
        )
    with about("source"):
        path = collection.existing_qrels(source)
    qrels = read_qrels(path)
    graded: Strata = {Pair(q, d): g for q, row in qrels.items() for d, g in row.items()}
    if collection.pool.exists():
        graded = {p.pair: graded.get(p.pair) for p in read_pool(collection.pool)} | graded
    named = grade_names(collection, source)
    return (graded, named, "") if named else (graded, *_of_default_prompt())


def _of_default_prompt() -> tuple[Mapping[int, str], str]:
    """The scale of the default judging prompt, and that prompt's id."""
    prompt = find_prompt(JUDGING_PROMPT)
    return {int(grade): name for grade, name in prompt.front.scale.items()}, prompt.id


def _only(collection: Collection) -> str | None:
    """The only qrels of an assessor; `None` where there are none yet, but a pool."""
    names = [
        name
        for name in collection.qrels_names()
        if name != "human" and not people_path(collection.folder, name).exists()
    ]
    if not names and collection.pool.exists():
        return None
    if len(names) != 1:
        listed = ", ".join(names) or "none"
        problem = f"over whose grades should the sample be balanced? there are: {listed}"
        raise Misuse(problem, parameter="source")
    return names[0]


def _sheet_rows(
    pairs: Iterable[Pair],
    corpus: Mapping[str, Document],
    queries: Mapping[str, Query],
    seed: int,
) -> list[SheetRow]:
    """The rows of a sheet by query, with the documents of each query in random order."""
    ordered = sorted(pairs, key=lambda pair: (pair.query_id, _shuffled(pair, seed)))
    rows = []
    for number, pair in enumerate(ordered, start=1):
        query, document = queries.get(pair.query_id), corpus.get(pair.doc_id)
        if query is None or document is None:
            what = "query" if query is None else "document"
            raise BadInput(f"the pair {' '.join(pair)} has no {what} in the collection")
        read = query.id, query.text, document.id, document.title, document.text
        rows.append(SheetRow(number, *read, texts_identity(query, document)))
    return rows


def _shuffled(pair: Pair, seed: int) -> str:
    return hashlib.sha256(f"{seed}\0{pair.query_id}\0{pair.doc_id}".encode()).hexdigest()


def _keep(
    collection: Collection,
    rows: Sequence[SheetRow],
    chance: Mapping[Pair, float | None],
    sheet: _Sheet,
) -> str:
    """Write the sample's file and its entry in the card; returns its id."""
    sampled = [
        SampledPair(row.number, pair, chance[pair], row.texts)
        for row in rows
        for pair in [Pair(row.query_id, row.doc_id)]
    ]
    sample = "s" + _id(sampled)
    write_sample(sample_path(collection.folder, sample), sampled)
    scale = {str(grade): name for grade, name in sheet.scale.items()}
    entry = {**sheet.made, "pairs": len(sampled), "scale": scale}
    update_card_entry(collection, "samples", sample, entry)
    return sample


def _id(rows: Iterable[DrawnPair | SampledPair]) -> str:
    """Eight hex digits of the pairs and their probabilities, in their order."""
    lines = ("\0".join([*row.pair, repr(row.probability)]) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
