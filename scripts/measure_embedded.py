"""Measure the embedded assessors against people; prints the README's table.

    python scripts/measure_embedded.py CHORUS/ MEDQUAD/ [--pairs 300]

The directories are what `labeler fetch chorus` and `labeler fetch medquad` make. `similarity`
judges every pair that people judged; the embedded LLM, with the `four-grades` prompt, a sample of
so many pairs from each: whole queries would be too few, so at most six pairs of one
query, drawn with a fixed seed. Intervals are over queries.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from harness import parser

from labeler.agreement.compare import StatisticOptions, compare_labels
from labeler.cli import execute
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import write_pool
from labeler.data import Pair, Pooled, Qrels
from labeler.trec.files import read_qrels

A_QUERY = 6
STATISTICS = ["kappa", "kappa-quadratic"]


def sampled(people: Qrels, pairs: int, seed: int = 0) -> list[Pair]:
    """About `pairs` pairs, at most `A_QUERY` of a query."""
    draw = random.Random(seed)
    queries = draw.sample(sorted(people), len(people))
    found: list[Pair] = []
    for query_id in queries:
        documents = sorted(people[query_id])
        found += [Pair(query_id, d) for d in draw.sample(documents, min(A_QUERY, len(documents)))]
        if len(found) >= pairs:
            break
    return found


def judged(source: Collection, pairs: list[Pair], model: str, folder: Path) -> Qrels:
    """The grades of a model for these pairs, judged in a copy of the collection."""
    folder.mkdir()
    copy = Collection(folder)
    for file in ("corpus", "queries"):
        shutil.copy(getattr(source, file), getattr(copy, file))
    with locked(copy):
        write_pool(copy.pool, (Pooled(pair) for pair in pairs))
    code = execute(["judge", str(folder), "--model", model, "--as", "judge"])
    if code not in {0, 3}:
        sys.exit(code)
    return read_qrels(copy.qrels("judge"))


def row(collection: str, model: str, people: Qrels, labels: Qrels) -> str:
    found = compare_labels(people, labels, options=StatisticOptions(STATISTICS))
    cells = [f"{e.value:.2f} [{e.low:.2f}, {e.high:.2f}]" for e in found.statistics.values()]
    size = f"{found.pairs:,} pairs of {len(found.queries)} queries"
    return f"| {collection} | `{model}` | {size} | {' | '.join(cells)} |"


def main(folders: list[str], pairs: int) -> None:
    rows = [
        "| people's labels | judge | judged | kappa | quadratic kappa |",
        "|---|---|---|---|---|",
    ]
    with TemporaryDirectory() as scratch:
        for name in folders:
            source = Collection(Path(name))
            people = read_qrels(source.qrels("human"))
            everything = [Pair(q, d) for q, grades in people.items() for d in grades]
            for model, wanted in (("similarity", everything), ("local", sampled(people, pairs))):
                folder = Path(scratch) / f"{source.folder.name}-{model}"
                labels = judged(source, wanted, model, folder)
                rows.append(row(source.folder.name, model, people, labels))
    print("\n".join(rows))


if __name__ == "__main__":
    options = parser(__doc__, pairs=300)
    options.add_argument("folders", nargs="+")
    given = options.parse_args()
    main(given.folders, given.pairs)
