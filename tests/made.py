"""A small collection made by hand, for tests of what works on one."""

import json
from pathlib import Path

from labeler.formats.collection import Collection

WORDS = ("anchor", "basil", "copper", "dune", "ember", "fjord", "grove", "harbor", "iris", "jade")


def make_collection(folder: Path, queries: int = 2, documents: int = 5) -> Collection:
    """Queries q0, q1 … and documents d0, d1 …, each pair in the pool; each text names its id."""
    folder.mkdir(parents=True, exist_ok=True)
    _rows(
        folder / "corpus.jsonl",
        [
            {"_id": f"d{i}", "title": WORDS[i % 10], "text": f"about d{i}."}
            for i in range(documents)
        ],
    )
    _rows(
        folder / "queries.jsonl", [{"_id": f"q{i}", "text": f"what q{i}?"} for i in range(queries)]
    )
    _rows(
        folder / "pool.jsonl",
        [
            {"query_id": f"q{q}", "doc_id": f"d{d}"}
            for q in range(queries)
            for d in range(documents)
        ],
    )
    return Collection(folder)


def _rows(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
