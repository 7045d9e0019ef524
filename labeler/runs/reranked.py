"""A re-ranked run: what it was made of, its file, and its entry in the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import read_card, update_card_entry
from labeler.collection.choose import run_name
from labeler.collection.layout import Collection, safe_name
from labeler.collection.lock import locked
from labeler.collection.made_by import models_behind
from labeler.collection.provenance import making
from labeler.data import Document, Run
from labeler.models.control import Control
from labeler.models.policies.budget import Spending
from labeler.runs.retrieve_run import SECTION
from labeler.trec.order import ranking
from labeler.trec.tags import read_tag
from labeler.trec.write import write_run


@dataclass(frozen=True, slots=True)
class RerankResult:
    """The new run, and how many windows an LLM ordered; `untouched` ones kept their order.

    `spent` is what this took; `is_priced` says whether the price of a call is known.
    """

    run: Path
    queries: int
    documents: int
    windows: int = 0
    untouched: int = 0
    spent: Spending = field(default_factory=Spending)
    is_priced: bool = True

    def as_json(self) -> dict[str, Any]:
        """The counts, the file, and what the calls took."""
        return {
            "run": str(self.run),
            "queries": self.queries,
            "documents": self.documents,
            "windows": self.windows,
            "untouched": self.untouched,
            "calls": self.spent.calls,
            "tokens": self.spent.tokens,
            "cost": self.spent.dollars(is_priced=self.is_priced)[0],
        }


class RerankSource(NamedTuple):
    """A run to re-rank: its file, its rankings, the queries' texts, and the first documents."""

    path: Path
    run: Run
    queries: Mapping[str, str]
    tops: Mapping[str, list[Document]]


class Ordering(NamedTuple):
    """The model that ordered a run, for its tag, and what the card tells of it."""

    model: str
    entry: Mapping[str, Any]


def write_reranked(
    collection: Collection,
    name: str,
    made: tuple[RerankSource, Mapping[str, Sequence[str]], Ordering],
    force: bool,
    control: Control,
) -> RerankResult:
    """Write a run whose first documents have another order; the card says who ordered them."""
    source, ranked, by = made
    run = {
        query_id: _with_rest(ranked[query_id], scores) for query_id, scores in source.run.items()
    }
    tag = f"{read_tag(source.path) or run_name(source.path)}-rerank-{safe_name(by.model)}"
    with locked(collection, control.note):
        with making(collection, [collection.run(name)], force=force):
            write_run(collection.run(name), run, tag)
        models = [*models_behind(read_card(collection), run_name(source.path)), by.model]
        entry = {"engine": "rerank", "of": run_name(source.path), "tag": tag, "models": models}
        update_card_entry(collection, SECTION, name, {**entry, **by.entry})
    counts = (len(run), sum(map(len, run.values())))
    windows = (by.entry.get("windows", 0), by.entry.get("untouched", 0))
    return RerankResult(collection.run(name), *counts, *windows)


def _with_rest(first: Sequence[str], scores: Mapping[str, float]) -> dict[str, float]:
    """All documents of a query: those in their new order, then the others as they were."""
    moved = set(first)
    rest = [doc_id for doc_id in ranking(dict(scores)) if doc_id not in moved]
    return {doc_id: 1 / rank for rank, doc_id in enumerate([*first, *rest], start=1)}
