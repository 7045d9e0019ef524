"""Draw pairs for people to grade, and write the sheets that they grade in."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.collection.annotations import texts_identity
from labeler.collection.card import update_card_entry
from labeler.collection.corpus import corpus_on_demand
from labeler.collection.judgements import judged_lines
from labeler.collection.layout import Collection, locked
from labeler.collection.people import SampledPair, people_path, sample_path, write_sample
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries
from labeler.collection.scale import grade_names
from labeler.collection.user_files import Output
from labeler.data import Pair
from labeler.errors import BadInput, Misuse, about
from labeler.files.paths import true_path
from labeler.messages import Note, count_of
from labeler.options import COUNT, SEED, SHARE, option
from labeler.people.sheet import (
    JUDGING_PROMPT,
    SheetRow,
    instructions,
    write_instructions,
    write_sheet,
)
from labeler.prompt import find_prompt
from labeler.stats.estimates import inclusions, systematic
from labeler.trec.files import read_qrels

# Draw pairs for people, so that every pair's chance of being drawn is known.


Strata = Mapping[Pair, int | None]
"""Each pair of a pool with the assessor's grade, None where it has none."""

Chances = dict[Pair, float]
"""Pairs that were drawn, each with the probability with which a draw like this holds it."""


def draw(strata: Strata, pairs: int | None, queries: int | None, seed: int) -> Chances:
    """Draw `pairs` pairs of `strata`.

    `None` of `pairs` draws all pairs of the drawn queries, `None` of `queries` is every query.

    With `queries`, that many are drawn first, each as likely as any. Then every query gets the
    same share of pairs, and within it a grade of `n` pairs one in proportion to the square root of
    `n`, so that rare grades are seen; no pair's chance is 0. Systematic sampling with unequal
    probabilities (Madow 1949, Annals of Mathematical Statistics 20(3)) keeps all these shares.
    """
    rng = np.random.default_rng(seed)
    pooled = sorted({pair.query_id for pair in strata})
    if not pooled:
        raise Misuse("no pair to draw from", parameter="strata")
    if queries is not None and not 0 < queries <= len(pooled):
        raise Misuse(
            f"cannot draw {queries:,} of {count_of(len(pooled), 'query', 'queries')}",
            parameter="queries",
        )
    sampled = pooled if queries is None else sorted(rng.choice(pooled, queries, replace=False))
    first = len(sampled) / len(pooled)
    inside = set(map(str, sampled))
    ordered = sorted(pair for pair in strata if pair.query_id in inside)
    pool = [ordered[index] for index in rng.permutation(len(ordered))]
    # the pairs of a query by their grades, those without one last
    pool.sort(key=lambda pair: (pair.query_id, strata[pair] is None, strata[pair] or 0))
    if pairs is None:
        return dict.fromkeys(pool, first)
    if not 0 < pairs <= len(pool):
        these = "this query has" if len(sampled) == 1 else f"these {len(sampled):,} queries have"
        raise Misuse(
            f"cannot draw {count_of(pairs, 'pair')}; {these} {len(pool):,}",
            parameter="pairs",
        )
    probability = inclusions(_shares(pool, strata), pairs)
    indices = systematic(probability, float(rng.random()))
    return {pool[index]: float(first * probability[index]) for index in indices}


def _shares(pool: Sequence[Pair], strata: Strata) -> Floats:
    """Each pair's share: the same for every query, by the square root within."""
    sizes = Counter((pair.query_id, strata[pair]) for pair in pool)
    whole: Counter[str] = Counter()
    for (query_id, _), size in sizes.items():
        whole[query_id] += np.sqrt(size)
    return np.array(
        [1 / np.sqrt(sizes[pair.query_id, strata[pair]]) / whole[pair.query_id] for pair in pool]
    )


def share_out(drawn: Chances, assessors: int, overlap: float, seed: int) -> list[Chances]:
    """Deal the pairs to assessors: a random `overlap` of them to all, the rest evenly to one each.

    Each probability is that of the pair being drawn and dealt to this assessor.
    """
    order = np.random.default_rng(seed).permutation(len(drawn))
    shared, pairs = round(overlap * len(drawn)), list(drawn)
    dealt = []
    for number in range(assessors):
        mine = sorted([*order[:shared], *order[shared + number :: assessors]])
        share = len(mine) / len(drawn)
        dealt.append({pairs[i]: drawn[pairs[i]] * share for i in mine})
    return dealt


DRAW = "Which pairs"

PAIRS = 200
"""So many pairs are drawn where nobody says how many."""


@dataclass(frozen=True)
class DrawOptions:
    """Which pairs people grade: so many, drawn at random.

    They are balanced over the grades of `source`. Of several raters each grades `overlap` of them,
    and a part of the others.
    """

    pairs: int | None = option(
        None, "Draw so many at random (default: 200, or all there are).", COUNT, panel=DRAW
    )
    source: str | None = option(
        None, "Balance a draw over the grades of these qrels.", flags="--from", panel=DRAW
    )
    overlap: float = option(
        0.2,
        "Of a draw for several raters, the share that all of them grade.",
        SHARE,
        panel=DRAW,
        metavar="SHARE",
    )
    seed: int = option(0, "Decides which pairs are drawn.", SEED, panel=DRAW)


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


class SampleSize(NamedTuple):
    """How many pairs there are, of how many queries."""

    pairs: int
    queries: int

    @classmethod
    def of(cls, pairs: Mapping[Pair, float | None]) -> SampleSize:
        """That of some pairs."""
        return cls(len(pairs), len({pair.query_id for pair in pairs}))


class SheetSample(NamedTuple):
    """The id of the sample on a sheet, and of how many pairs and queries it is.

    `drawn` is the size of all sheets of the same draw together.
    """

    id: str
    pairs: int
    queries: int
    drawn: SampleSize


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
    is_shared = all(chance == chances[0] for chance in chances)
    samples = []
    all_rows = _sheet_rows(collection, chances, sheet.seed)
    with locked(collection, note):
        for rater, rows, chance in zip(raters, all_rows, chances, strict=True):
            own = sheet if is_shared else sheet._replace(made={**sheet.made, "rater": rater})
            samples.append(_keep_sample(collection, rows, chance, own))
    return samples


def _dealt(
    collection: Collection, source: str | None, design: SampleDesign, raters: int
) -> tuple[list[Chances], _Sheet]:
    """The pairs of each rater with their chances, and what their sheets have in common."""
    source = _only_qrels(collection) if source is None else source
    strata, names, prompt = _strata(collection, source)
    if not strata:
        raise BadInput(f"{collection.folder}: {source or 'the pool'} holds no pair to draw from")
    drawn = draw(strata, design.pairs, design.queries, design.seed)
    if design.pairs is None and design.up_to is not None and len(drawn) > design.up_to:
        drawn = draw(strata, design.up_to, design.queries, design.seed)
    scale = design.scale or names
    made = {"source": source, "seed": design.seed, "draw": _sample_id(drawn), "drawn": len(drawn)}
    page = instructions(scale, prompt)
    sheet = _Sheet(made, scale, page, design.seed, SampleSize.of(drawn))
    return share_out(drawn, raters, design.overlap, design.seed), sheet


def route_sheet(
    collection: Collection,
    pairs: Sequence[Pair],
    output: Output | Path,
    made: Mapping[str, Any],
    note: Note = lambda _line: None,
) -> SheetSample:
    """Write a sheet of pairs that were chosen, not drawn: none has a chance of being in it.

    `made` says in the card how they were chosen; its `source` are the qrels whose scale people use.
    """
    sheet = Output.of(output, [collection.folder])
    sheet.check()
    scale, prompt = sheet_scale(collection, made["source"])
    settings = _Sheet({**made, "routed": True}, scale, instructions(scale, prompt))
    [sample] = _write_sheets(collection, [dict.fromkeys(pairs)], [sheet], settings, note)
    return sample


def sheet_scale(collection: Collection, source: str | None) -> tuple[Mapping[int, str], str]:
    """The grades with their names on a sheet about some qrels, and the prompt that words them."""
    _, scale, prompt = _strata(collection, source)
    return scale, prompt


class _Sheet(NamedTuple):
    """What the card says of a sheet's sample, the grades, the page for raters, and a seed."""

    made: Mapping[str, object]
    scale: Mapping[int, str]
    page: str
    seed: int = 0
    drawn: SampleSize | None = None


def _write_sheets(
    collection: Collection,
    chances: Sequence[Mapping[Pair, float | None]],
    outputs: Sequence[Output],
    sheet: _Sheet,
    note: Note,
) -> list[SheetSample]:
    """Write a sheet of each mapping of pairs to their chance of being drawn, and keep these."""
    samples = []
    all_rows = _sheet_rows(collection, chances, sheet.seed)
    for output, rows, chance in zip(outputs, all_rows, chances, strict=True):
        with locked(collection, note):
            sample = _keep_sample(collection, rows, chance, sheet)
        with output.writing():
            write_sheet(output.path, sample.id, rows, sheet.scale)
        write_instructions(output, sheet.page, note)
        samples.append(sample)
    return samples


def free_names(collection: Collection, count: int) -> list[str]:
    """Names for people's qrels that the collection does not use yet."""
    taken, names = set(collection.qrels_names()), ["human", *(f"human{i}" for i in range(2, 1000))]
    return [name for name in names if name not in taken][:count]


def _strata(collection: Collection, source: str | None) -> tuple[Strata, Mapping[int, str], str]:
    """Every pair of the pool with its grade; the grades' names, and the prompt that words them."""
    strata = dict[Pair, int | None]()
    prompts = set[str]()
    if source is not None and collection.judgements(source).exists():
        for _, pair, state, rest in judged_lines(collection.judgements(source)):
            strata[pair] = state.grade
            prompts.add(rest.origin.prompt)
    else:
        if collection.pool.exists():
            strata = dict.fromkeys(read_pool(collection.pool).pairs)
        if source is not None:
            with about("source"):
                path = collection.existing_qrels(source)
            qrels = read_qrels(path)
            strata |= {Pair(q, d): grade for q, row in qrels.items() for d, grade in row.items()}
    names = grade_names(collection, source or "", prompts)
    if names:
        return strata, names, min(prompts, default="")
    prompt = find_prompt(JUDGING_PROMPT)
    return strata, {int(grade): name for grade, name in prompt.front.scale.items()}, prompt.id


def _only_qrels(collection: Collection) -> str | None:
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
        raise Misuse(
            f"over whose grades should the sample be balanced? there are: {listed}",
            parameter="source",
        )
    return names[0]


def _sheet_rows(
    collection: Collection, sheets: Iterable[Iterable[Pair]], seed: int
) -> Iterator[list[SheetRow]]:
    """The rows of each sheet by query, with the documents of each query in random order."""

    def by_chance(pair: Pair) -> tuple[str, str]:
        text = f"{seed}\0{pair.query_id}\0{pair.doc_id}"
        return pair.query_id, hashlib.sha256(text.encode()).hexdigest()

    corpus, queries = corpus_on_demand(collection.corpus), read_queries(collection.queries)
    for pairs in sheets:
        rows = []
        for number, pair in enumerate(sorted(pairs, key=by_chance), start=1):
            query, document = queries.get(pair.query_id), corpus.get(pair.doc_id)
            if query is None or document is None:
                what = "query" if query is None else "document"
                raise BadInput(f"the pair {' '.join(pair)} has no {what} in the collection")
            rows.append(SheetRow(number, query, document))
        yield rows


def _keep_sample(
    collection: Collection,
    rows: Sequence[SheetRow],
    chance: Mapping[Pair, float | None],
    sheet: _Sheet,
) -> SheetSample:
    """Write the sample's file and its entry in the card."""
    sampled = [
        SampledPair(r.number, r.pair, chance[r.pair], texts_identity(r.query, r.document))
        for r in rows
    ]
    sample = "s" + _sample_id({row.pair: row.probability for row in sampled})
    write_sample(sample_path(collection.folder, sample), sampled)
    scale = {str(grade): name for grade, name in sheet.scale.items()}
    entry = {**sheet.made, "pairs": len(sampled), "scale": scale}
    update_card_entry(collection, "samples", sample, entry)
    size = SampleSize.of(chance)
    return SheetSample(sample, *size, sheet.drawn or size)


def _sample_id(chances: Mapping[Pair, float | None]) -> str:
    """Eight hex digits of the pairs and their probabilities, in their order."""
    lines = ("\0".join([*pair, repr(probability)]) for pair, probability in chances.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
