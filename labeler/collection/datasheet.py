"""The datasheet in a collection's README.md: what is in it, how it was chosen, and its limits.

The questions are those of Gebru et al. (2021), Datasheets for Datasets, as far as the files of a
collection answer them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from labeler.collection.card import card_section
from labeler.messages import count_of

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
    bounds = card_section(card, "carried").get("lower_bounds")
    if isinstance(bounds, int) and bounds:
        yield f"{bounds:,} grades are of a part of their passage, and may be too low for the whole"
    if "judge" in card and "imported" not in card and "fetch" not in card:
        yield "no person has judged a pair: how far the grades agree with people is not known"
