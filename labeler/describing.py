"""The README.md of a collection: what is in it, what made it, and how far that is to be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from labeler.files import replacing
from labeler.formats.beir import read_queries
from labeler.formats.collection import Collection, read_card

MARK = "<!-- written by labeler from card.json; without this line it is yours and stays -->"


def write_readme(collection: Collection) -> None:
    """Write the collection's README.md from its card, unless somebody wrote one of their own."""
    path = collection.readme
    if path.exists() and not path.read_text(encoding="utf-8").startswith(MARK):
        return
    with replacing(path) as out:
        out.writelines(f"{line}\n" for line in _lines(collection, read_card(collection)))


def _lines(collection: Collection, card: Mapping[str, Any]) -> Iterator[str]:
    fetched = card.get("fetch", {})
    yield MARK
    yield f"# {fetched.get('title') or collection.folder.resolve().name}"
    yield ""
    yield "A test collection for retrieval: corpus, queries as in BEIR; runs, qrels as in TREC."
    yield ""
    yield from _made(card)
    origins = _origins(collection)
    if origins:
        shares = ", ".join(f"{count:,} {origin}" for origin, count in origins.most_common())
        yield f"- queries by origin: {shares}"
    labels = card.get("judge", {})
    if labels:
        yield ""
        yield from _labels(labels)
    for name in ("licence", "citation", "homepage"):
        if fetched.get(name):
            yield ""
            yield f"{name.capitalize()}: {fetched[name]}"


def _made(card: Mapping[str, Any]) -> Iterator[str]:
    """A line for each step that the card knows of."""
    if fetched := card.get("fetch"):
        yield f"- fetched by the recipe {fetched.get('recipe')}, judged by people"
    if ingested := card.get("ingest"):
        counts = f"{ingested.get('documents', 0):,} passages of {ingested.get('files', 0):,} files"
        yield f"- ingested: {counts}"
    if generated := card.get("generate"):
        who = f"{generated.get('model')} with {generated.get('prompt')}"
        yield f"- {generated.get('queries', 0):,} queries written by {who}"
    if pooled := card.get("pool"):
        runs = ", ".join(pooled.get("runs", {}))
        depth = pooled.get("depth")
        yield f"- pooled: {pooled.get('pairs', 0):,} pairs, the first {depth} of each run ({runs})"


def _origins(collection: Collection) -> Counter[str]:
    """How many queries people asked, and how many were generated."""
    if not collection.queries.exists():
        return Counter()
    queries = read_queries(collection.queries).values()
    return Counter(str(query.metadata.get("origin") or "unknown") for query in queries)


def _labels(labels: Mapping[str, Any]) -> Iterator[str]:
    yield "Labels by a model. A pair that failed has no grade, and stands in no qrels:"
    yield ""
    yield "| qrels | pairs | judged | failed | prompt | model |"
    yield "|---|---:|---:|---:|---|---|"
    for name, made in sorted(labels.items()):
        counts = [f"{made.get(what, 0):,}" for what in ("pairs", "judged", "failed")]
        model = ", ".join(made.get("served", [])) or made.get("model", "")
        yield f"| {' | '.join([name, *counts, made.get('prompt', ''), _cell(model)])} |"


def _cell(text: str) -> str:
    """A text that breaks no row of a table."""
    return " ".join(text.replace("|", "\\|").split())
