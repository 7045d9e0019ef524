"""A judged collection of a few queries, with runs, people's grades, and texts that attack."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from labeler.collection.card import update_card
from labeler.collection.corpus import write_corpus
from labeler.collection.judgements import JudgementLines, Origin
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.data import Document, Failure, Judged, Judgement, Pair, Pooled, Query
from labeler.trec.write import write_qrels, write_run

MODEL = "http://me:hunter2@models.example/v1?api_key=abcdef gpt-x"
ATTACK = "</td></tr><script>alert(1)</script><img src=//evil.example onerror=x>"
RUNS = ("bm25", "dense", "hybrid")


def documents(count: int) -> list[Document]:
    texts = [f"Text {number} of a page. {ATTACK}" for number in range(count)]
    return [Document(f"d{n}", text, f"Title {n} {ATTACK}") for n, text in enumerate(texts)]


def queries(count: int) -> list[Query]:
    return [
        Query(
            f"q{n}",
            f"query {n} {ATTACK}",
            {
                "origin": "real" if n % 2 else "generated",
                "kind": ("keyword", "question")[n % 3 == 0],
                "description": f"what {n} is about {ATTACK}",
            },
        )
        for n in range(count)
    ]


def true_grade(query: int, doc: int) -> int:
    return (3 * query + 2 * doc + query * doc) % 4


def make(
    folder: Path,
    *,
    size: tuple[int, int] = (8, 12),
    runs: Sequence[str] = RUNS,
    judged: Sequence[str] = ("first",),
    people: Sequence[str] = ("human",),
    failing: bool = False,
) -> Collection:
    """Queries and documents; runs that rank by shifted numbers; grades with reasons."""
    collection = Collection(folder)
    of_queries, of_documents = size
    with locked(collection):
        write_corpus(collection.corpus, documents(of_documents))
        write_queries(collection.queries, queries(of_queries))
        pairs = [Pair(f"q{q}", f"d{d}") for q, d in product(range(of_queries), range(of_documents))]
        write_pool(collection.pool, [Pooled(pair) for pair in pairs])
        for place in ("runs", "qrels", "judgements"):
            (folder / place).mkdir(exist_ok=True)
        for shift, name in enumerate(runs):
            write_run(collection.run(name), _run(shift, of_queries, of_documents), name)
        for shift, name in enumerate(judged):
            _judge(collection, name, shift, size, failing=failing)
        for name in people:
            graded = product(range(of_queries), range(of_documents - 4))
            grades: dict[str, dict[str, int]] = {}
            for q, d in graded:
                grades.setdefault(f"q{q}", {})[f"d{d}"] = true_grade(q, d)
            write_qrels(collection.qrels(name), grades)
        update_card(collection, "imported", {name: {} for name in people})
        sets = {
            name: {
                "labeler": "0.1.0",
                "prompt": "four-grades@00000000",
                "model": MODEL,
                "served": ["gpt-x-2026-01-01"],
                "parameters": {"temperature": 0.0},
                "scale": {"0": "irrelevant", "3": "perfect"},
            }
            for name in judged
        }
        update_card(collection, "judge", sets)
        update_card(collection, "ingest", {"inputs": [str(folder / "pages")]})
    return collection


def _run(shift: int, of_queries: int, of_documents: int) -> dict[str, dict[str, float]]:
    return {
        f"q{q}": {
            f"d{d}": float(true_grade(q, d) * (2 - shift) + (d * (shift + 2) + q) % 7)
            for d in range(of_documents)
            if (d + shift) % 5
        }
        for q in range(of_queries)
    }


def _judge(
    collection: Collection, name: str, shift: int, size: tuple[int, int], *, failing: bool
) -> None:
    lines, grades = JudgementLines(Origin("four-grades@00000000", MODEL, {"temperature": 0.0})), {}
    rows = []
    for q, d in product(range(size[0]), range(size[1] - 1)):  # nobody judges the last document
        pair = Pair(f"q{q}", f"d{d}")
        if failing or (q, d) == (0, 0):
            rows.append(
                lines.line(Judged(Failure(pair, "refused", "no"), 1, 100, 0, 0.001, "gpt-x"))
            )
            continue
        grade = true_grade(q, d) if (q + d + shift) % 3 else (true_grade(q, d) + 1 + shift) % 4
        outcome = Judgement(pair, grade, f"reason of {pair.query_id} {pair.doc_id} {ATTACK}")
        rows.append(lines.line(Judged(outcome, 1, 100, 10, 0.001, "gpt-x-2026-01-01")))
        grades.setdefault(pair.query_id, {})[pair.doc_id] = grade
    collection.judgements(name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    if grades:
        write_qrels(collection.qrels(name), grades)
