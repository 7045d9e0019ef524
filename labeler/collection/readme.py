"""The README.md of a collection: what is in it, what made it, and how far that is to be trusted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from labeler.collection.card import card_section, read_card
from labeler.collection.datasheet import datasheet
from labeler.collection.layout import Collection
from labeler.collection.lock import check_locked
from labeler.collection.queries import read_queries
from labeler.files.atomic import replacing
from labeler.files.paths import true_path
from labeler.models.local.caveats import caveat, embedded_name
from labeler.report.neutral import markdown_text
from labeler.report.printable import flat

MARK = "<!-- written by labeler from card.json; without this line it is yours and stays -->"

_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~%/#?=&+-]*)?")


def write_readme(collection: Collection) -> None:
    """Write the collection's README.md from its card, unless somebody wrote one of their own."""
    check_locked(collection.folder)
    path = collection.readme
    if path.exists() and not path.read_bytes().startswith(MARK.encode()):
        return
    with replacing(path) as out:
        out.writelines(f"{line}\n" for line in _lines(collection, read_card(collection)))


def _lines(collection: Collection, card: Mapping[str, Any]) -> Iterator[str]:
    fetched = card_section(card, "fetch")
    yield MARK
    yield f"# {_inline(fetched.get('title') or true_path(collection.folder).name)}"
    yield ""
    yield "A test collection for retrieval: the corpus and the queries are in BEIR's format,"
    yield "the runs and the qrels in TREC's."
    yield ""
    yield from _made(card)
    origins = _origins(collection)
    if origins:
        shares = ", ".join(f"{n:,} {_inline(origin)}" for origin, n in origins.most_common())
        yield f"- queries by origin: {shares}"
    judged_sets = card_section(card, "judge")
    if judged_sets:
        yield ""
        yield from _judgements(judged_sets)
    yield from datasheet(card, origins, _inline)
    for name in ("licence", "citation", "homepage"):
        if fetched.get(name):
            yield ""
            yield f"{name.capitalize()}: {_linked(fetched[name])}"


def _made(card: Mapping[str, Any]) -> Iterator[str]:
    """A line for each step that the card knows of."""
    if fetched := card_section(card, "fetch"):
        yield f"- fetched by the recipe {_inline(fetched.get('recipe'))}, judged by people"
    if ingested := card_section(card, "ingest"):
        counts = f"{_count(ingested, 'documents')} passages of {_count(ingested, 'files')} files"
        yield f"- ingested: {counts}"
    if generated := card_section(card, "generate"):
        writer = f"{_inline(generated.get('model'))} with {_inline(generated.get('prompt'))}"
        yield f"- {_count(generated, 'queries')} queries written by {writer}"
    if pooled := card_section(card, "pool"):
        yield f"- pooled: {_count(pooled, 'pairs')} pairs, {_origins_of_pool(pooled)}"
    for name, entry in sorted(card_section(card, "imported").items()):
        if isinstance(entry, dict):
            counts = f"{_count(entry, 'pairs')} pairs of {_count(entry, 'queries')} queries"
            source = _inline(entry.get("source"))
            yield f"- qrels {_inline(name)}: {counts}, judged by people ({source})"


def _origins_of_pool(pooled: Mapping[str, Any]) -> str:
    """What the pairs of a pool came from: runs, and people's judgements."""
    runs = ", ".join(map(_inline, card_section(pooled, "runs")))
    qrels = ", ".join(map(_inline, card_section(pooled, "qrels")))
    of_runs = f"the first {_inline(pooled.get('depth'))} of each run ({runs})"
    of_qrels = f"those that people judged ({qrels})"
    return " and ".join([of_runs] * bool(runs) + [of_qrels] * bool(qrels))


def _origins(collection: Collection) -> Counter[str]:
    """How many queries people asked, and how many were generated."""
    if not collection.queries.exists():
        return Counter()
    queries = read_queries(collection.queries).values()
    return Counter(str(query.metadata.get("origin") or "unknown") for query in queries)


def _judgements(judged_sets: Mapping[str, Any]) -> Iterator[str]:
    yield "Judgements by a model. A pair that failed has no grade, and stands in no qrels:"
    yield ""
    yield "| qrels | pairs | judged | failed | prompt | model |"
    yield "|---|---:|---:|---:|---|---|"
    caveats: dict[str, None] = {}
    for name in sorted(judged_sets):
        entry = card_section(judged_sets, name)
        counts = [_count(entry, what) for what in ("pairs", "judged", "failed")]
        model = str(entry.get("model", ""))
        served = ", ".join(map(str, entry.get("served") or [])) or model
        cells = [name, *counts, entry.get("prompt", ""), served]
        yield f"| {' | '.join(map(_inline, cells))} |"
        if embedded := embedded_name(model):
            caveats[caveat(embedded)] = None
    for line in caveats:
        yield ""
        yield f"Not to be trusted far: {line}."


def _count(section: Mapping[str, Any], name: str) -> str:
    value = section.get(name)
    return f"{value:,}" if isinstance(value, int) else "?"


def _inline(value: object) -> str:
    """A value of the card on one line, which is no markup: anybody may have named it."""
    return markdown_text(flat(str(value)))


def _linked(value: object) -> str:
    """The same; a plain address stays a link."""
    return str(value) if _ADDRESS.fullmatch(str(value)) else _inline(value)
