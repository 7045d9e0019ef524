"""Made controls of a set of judgements, written as `lab control` writes them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from labeler.collection.card import update_card_entry
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.data import Query
from labeler.judging.judge import judge
from labeler.testing import fake_model, small_collection

START = datetime(2026, 6, 1, 6, 0, tzinfo=UTC)
MADE_BY = {"prompt": "four-grades@1", "model": "fake"}


def judged(folder: Path | None = None, queries: int = 30) -> Collection:
    """A collection whose 60 pairs have grades from 0 to 2, in turn."""
    collection = small_collection(folder, [Query(f"q{n}", f"cats {n}") for n in range(queries)])
    grades = iter(range(10**6))
    model = fake_model(lambda _request: f'{{"grade": {next(grades) % 3}}}')
    judge(collection, model=model, name="llm")
    with locked(collection):
        write_queries(collection.queries, [Query(f"q{n}", f"cats {n}") for n in range(queries)])
    return collection


def add_control(
    collection: Collection,
    week: int,
    *,
    lenient: float = 0.0,
    failed: int = 0,
    model: str = "fake",
    made: dict[str, str] | None = None,
) -> None:
    """One more control: a share of the pairs one grade higher, and some without a grade."""
    rng = np.random.default_rng(week)
    rows = list(map(json.loads, collection.judgements("llm").read_text().splitlines()))
    lines = []
    for number, row in enumerate(rows):
        noise = int(rng.choice([-1, 1]) * (rng.random() < 0.1))
        higher = int(number < lenient * len(rows))
        new: int | str = min(max(row["grade"] + higher + noise, 0), 3)
        new = "refused" if number >= len(rows) - failed else new
        pair = {"query_id": row["query_id"], "doc_id": row["doc_id"]}
        lines.append(json.dumps({**pair, "old": row["grade"], "new": new, "model": [model]}))
    collection.controls.mkdir(exist_ok=True)
    (collection.controls / f"llm.{week}.jsonl").write_text("\n".join(lines) + "\n")
    time = (START + timedelta(weeks=week)).isoformat()
    entry = {"verdict": "x", "before": MADE_BY, "now": made or MADE_BY, "time": time}
    with locked(collection):
        update_card_entry(collection, "control", f"llm.{week}", entry)


def weekly(collection: Collection, lenient: Sequence[float]) -> Collection:
    """A control a week, each of its own leniency."""
    for week, share in enumerate(lenient, start=1):
        add_control(collection, week, lenient=share)
    return collection
