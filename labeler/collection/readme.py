"""The README.md of a collection: what is in it, what made it, and how far that is to be trusted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection
from labeler.collection.lock import check_locked
from labeler.collection.queries import read_queries
from labeler.files.atomic import replacing
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.models.embedded import caveat, embedded_name
from labeler.report.neutral import flat, markdown_text

# The datasheet in a collection's README.md: what is in it, how it was chosen, and its limits.
#
# The questions are those of Gebru et al. (2021), Datasheets for Datasets, as far as the files of a
# collection answer them.

Shown = Callable[[object], str]
"""A value of the card as words of Markdown, which are no markup."""

_SHARE = 0.05


def datasheet(card: Mapping[str, Any], origins: Counter[str], shown: Shown) -> Iterator[str]:
    """The lines of the datasheet; none of a collection of which the card tells nothing."""
    parts = {
        "What is in it": _contents(card, shown),
        "How it was chosen": _choice(card, shown),
        "What has changed": _changes(card),
        "Limits": _limits(card, origins),
    }
    listed = {title: list(lines) for title, lines in parts.items()}
    for title, lines in listed.items():
        if lines:
            yield ""
            yield f"{title}:"
            yield ""
            yield from (f"- {line}" for line in lines)


def _contents(card: Mapping[str, Any], shown: Shown) -> Iterator[str]:
    ingested = card_section(card, "ingest")
    words = card_section(ingested, "settings").get("words")
    if isinstance(words, int):
        yield f"passages of about {words:,} words, which are the documents to retrieve"
    duplicates = ingested.get("duplicates")
    if isinstance(duplicates, int) and duplicates:
        yield f"{duplicates:,} passages that stood in several places are kept once"
    inputs = ingested.get("inputs")
    if isinstance(inputs, list) and inputs:
        yield f"read from: {', '.join(map(shown, inputs[:5]))}{' …' if inputs[5:] else ''}"


def _choice(card: Mapping[str, Any], shown: Shown) -> Iterator[str]:
    ingested = card_section(card, "ingest")
    settings = card_section(ingested, "settings")
    for name, what in (("include", "files read alone"), ("exclude", "files left out")):
        patterns = settings.get(name)
        if isinstance(patterns, list) and patterns:
            yield f"{what}: {', '.join(map(shown, patterns))}"
    reasons = {
        shown(reason): count
        for reason, count in card_section(ingested, "left_out").items()
        if isinstance(count, int)
    }
    if reasons:
        counts = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
        yield f"files and folders left out, by reason: {counts}"
    seed = card_section(card, "generate").get("seed")
    if isinstance(seed, int):
        yield f"passages that queries were written for: drawn with the seed {seed}"


def _changes(card: Mapping[str, Any]) -> Iterator[str]:
    carried = card_section(card, "carried")
    judgements = card_section(carried, "judgements")
    for name in sorted(judgements):
        counts = card_section(judgements, name)
        states = [f"{n:,} {state}" for state, n in counts.items() if isinstance(n, int)]
        if states:
            yield f"the documents changed; what became of the graded pairs: {', '.join(states)}"
            break


def _limits(card: Mapping[str, Any], origins: Counter[str]) -> Iterator[str]:
    generated, total = origins["generated"], origins.total()
    if generated and total:
        written = count_of(generated, "query was", "queries were")
        yield f"{written} written by a model for a passage of this corpus: people ask otherwise"
    unread = card_section(card, "ingest").get("unread")
    if isinstance(unread, list) and unread:
        yield f"{count_of(len(unread), 'file', 'files')} could not be read, and are missing"
    if "pool" in card:
        yield "only pooled pairs were judged: a system that finds others is not credited for them"
    for entry in card_section(card, "judge").values():
        failed = entry.get("failed") if isinstance(entry, dict) else None
        pairs = entry.get("pairs") if isinstance(entry, dict) else None
        if isinstance(failed, int) and isinstance(pairs, int) and failed > _SHARE * pairs:
            yield f"{failed:,} of {pairs:,} pairs of a set of judgements have no grade"
    if "judge" in card and "imported" not in card and "fetch" not in card:
        yield "no person has judged a pair: how far the grades agree with people is not known"


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
