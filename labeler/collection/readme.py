"""The README.md of a collection: what is in it, what made it, and how far that is to be trusted.

The questions are those of Gebru et al. (2021), Datasheets for Datasets, as far as the files of a
collection answer them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection, check_locked
from labeler.collection.queries import read_queries
from labeler.data import Query
from labeler.files.atomic import replacing
from labeler.files.paths import true_path
from labeler.messages import count_of, counts_of
from labeler.models.embedded import caveat, embedded_name
from labeler.report.neutral import flat, markdown_text
from labeler.report.render import markdown_table
from labeler.report.table import Cell, Column, Table

MARK = "<!-- written by labeler from card.json; without this line it is yours and stays -->"

_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~%/#?=&+-]*)?")
_SHARE = 0.05
Card = Mapping[str, Any]


def write_readme(collection: Collection) -> None:
    """Write the collection's README.md from its card, unless somebody wrote one of their own."""
    check_locked(collection.folder)
    path = collection.readme
    if path.exists() and not path.read_bytes().startswith(MARK.encode()):
        return
    with replacing(path) as out:
        out.writelines(f"{line}\n" for line in _lines(collection, read_card(collection)))


def _lines(collection: Collection, card: Card) -> Iterator[str]:
    fetched = card_section(card, "fetch")
    yield MARK
    yield f"# {_inline(fetched.get('title') or true_path(collection.folder).name)}"
    yield ""
    yield "A test collection for retrieval: the corpus and the queries are in BEIR's format,"
    yield "the runs and the qrels in TREC's."
    queries = read_queries(collection.queries) if collection.queries.exists() else {}
    for title, lines in datasheet(card, queries).items():
        yield f"\n{title}:\n"
        yield from (f"- {_inline(line)}" for line in lines)
    sets = assessors_table(card)
    if sets.rows:
        yield "\nJudgements by a model. A pair that failed has no grade, and stands in no qrels:\n"
        yield markdown_table(sets).rstrip("\n")
    for name in ("licence", "citation", "homepage"):
        if value := fetched.get(name):
            is_address = _ADDRESS.fullmatch(str(value))
            yield f"\n{name.capitalize()}: {value if is_address else _inline(value)}"


def _inline(value: object) -> str:
    """A text on one line, which is no markup: anybody may have named what is in it."""
    return markdown_text(flat(str(value)))


def datasheet(card: Card, queries: Mapping[str, Query]) -> dict[str, list[str]]:
    """What a card tells, and the queries: sentences by their title, titles without any left out.

    The names in them are as they stand in the card, which anybody may have written.
    """
    origins = Counter(str(query.metadata.get("origin") or "unknown") for query in queries.values())
    parts = {"What made it": [*_made(card, origins)], "Limits": [*_limits(card, origins)]}
    return {title: lines for title, lines in parts.items() if lines}


def _made(card: Card, origins: Counter[str]) -> Iterator[str]:
    """A sentence for each step that the card knows of."""
    if fetched := card_section(card, "fetch"):
        yield f"fetched by the recipe {fetched.get('recipe')}, judged by people"
    if ingested := card_section(card, "ingest"):
        counts = f"{_count(ingested, 'documents')} passages of {_count(ingested, 'files')} files"
        inputs = _listed(ingested, "inputs")
        listed = f", read from {', '.join(inputs[:5])}{' …' if inputs[5:] else ''}"
        yield f"ingested: {counts}{listed if inputs else ''}"
    if generated := card_section(card, "generate"):
        writer = f"{generated.get('model')} with {generated.get('prompt')}"
        drawn = f", for passages drawn with the seed {generated.get('seed')}"
        drawn = drawn if "seed" in generated else ""
        yield f"{_count(generated, 'queries')} queries written by {writer}{drawn}"
    if pooled := card_section(card, "pool"):
        runs, qrels = (", ".join(card_section(pooled, name)) for name in ("runs", "qrels"))
        of_runs = [f"the first {pooled.get('depth')} of each run ({runs})"] if runs else []
        of_qrels = [f"those that people judged ({qrels})"] if qrels else []
        yield f"pooled: {_count(pooled, 'pairs')} pairs, {' and '.join(of_runs + of_qrels)}"
    imported = card_section(card, "imported")
    for name, entry in ((name, card_section(imported, name)) for name in sorted(imported)):
        counts = f"{_count(entry, 'pairs')} pairs of {_count(entry, 'queries')} queries"
        yield f"qrels {name}: {counts}, judged by people ({entry.get('source', 'unknown')})"
    if origins:
        yield f"queries by origin: {counts_of(dict(origins.most_common()))}"
    if versions := sorted(set(_versions(card))):
        yield f"made with labeler {', '.join(versions)}"


def _versions(value: object) -> Iterator[str]:
    """Every version of this program that a card names."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        if name == "labeler" and isinstance(inner, str):
            yield inner
        else:
            yield from _versions(inner)


def _limits(card: Card, origins: Counter[str]) -> Iterator[str]:
    if generated := origins["generated"]:
        written = count_of(generated, "query was", "queries were")
        yield f"{written} written by a model for a passage of this corpus: people ask otherwise"
    if unread := _listed(card_section(card, "ingest"), "unread"):
        yield f"{count_of(len(unread), 'file')} could not be read, and are missing"
    if "pool" in card:
        yield "only pooled pairs were judged: a system that finds others is not credited for them"
    judged = card_section(card, "judge")
    for entry in (card_section(judged, name) for name in judged):
        failed, pairs = entry.get("failed"), entry.get("pairs")
        if isinstance(failed, int) and isinstance(pairs, int) and failed > _SHARE * pairs:
            yield f"{failed:,} of {pairs:,} pairs of a set of judgements have no grade"
        if embedded := embedded_name(str(entry.get("model", ""))):
            yield f"not to be trusted far: {caveat(embedded)}"
    if "judge" in card and "imported" not in card and "fetch" not in card:
        yield NOBODY


NOBODY = "no person has judged a pair: how far the grades agree with people is not known"
"""What a datasheet says where the card knows of no person; grades may stand beside it."""


def assessors_table(card: Card) -> Table:
    """A row for each set of judgements by a model: its counts, and what judged it."""
    judged = card_section(card, "judge")
    rows: list[list[Cell]] = []
    for name in sorted(judged):
        entry = card_section(judged, name)
        counts = [_count(entry, what) for what in ("pairs", "judged", "failed")]
        settings = (f"{key} {value}" for key, value in card_section(entry, "parameters").items())
        asked = [flat(str(entry.get(key, ""))) for key in ("prompt", "model")]
        rows.append(
            [name, *counts, *asked, ", ".join(_listed(entry, "served")), ", ".join(settings)]
        )
    words = ("prompt", "model as asked", "model as served", "parameters")
    columns = [
        Column("set", align="left"),
        *map(Column, ("pairs", "judged", "failed")),
        *(Column(title, align="left") for title in words),
    ]
    return Table("assessors", columns, rows)


def _listed(section: Card, name: str) -> list[str]:
    """The texts of a list of the card; none where somebody put something else there."""
    listed = section.get(name)
    return [*map(str, listed)] if isinstance(listed, list) else []


def _count(section: Card, name: str) -> str:
    value = section.get(name)
    return f"{value:,}" if isinstance(value, int) else "?"
