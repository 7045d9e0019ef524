#!/usr/bin/env python3
"""Measure what takes pairs through pool, judge, relabel, diff and evaluate: CPU and peak memory.

    .venv/test/bin/python scripts/bench_pairs.py [-o .benchmarks/] [--pairs 100000 1000000]
        [--stages pool diff panel evaluate]

A collection has 1,000 pairs a query and ten a document. Each command is a process of its own.
Judgements are written as `labeler judge` writes them; where `judge` or `relabel` is measured,
replies to all pairs lie in the store before, and nothing is asked.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from answered import NOBODY, answer_pairs
from harness import parser, spent

from labeler.collection.layout import Collection
from labeler.collection.stale import hash_of
from labeler.data import Pair
from labeler.judging.job import texts_of

DEPTH = 1000
OF_A_DOCUMENT = 10
WORDS = "words of a passage that is not long"
SETS = {"a": "four-grades@11111111", "b": "four-grades@22222222", "c": "basic@33333333"}
SHOWN = "query passage:50000"
LABELER = [sys.executable, "-m", "labeler"]
JUDGE = ["--model", "bench", "--base-url", NOBODY, "--as", "j", "--quiet"]
STAGES = {
    "pool": ["pool", "{}", "--run", "{}/own", "--only", "--depth", str(DEPTH)],
    "judge": ["judge", "{}", *JUDGE],
    "relabel": ["relabel", "{}", "--from", "j", "--reparse", "--as", "k"],
    "diff": ["diff", "{}", "a", "b"],
    "diff again": ["diff", "{}", "a", "b"],
    "panel": ["lab", "panel", "{}", "a", "b", "c", "--as", "p"],
    "evaluate": ["evaluate", "{}", "--qrels", "a"],
}
"""Each stage's command; `{}` is the collection."""


def documents_of(pairs: int, query: int) -> np.ndarray:
    """The documents of a query's pairs, by rank."""
    count = max(DEPTH, pairs // OF_A_DOCUMENT)
    return (query * 7919 + np.arange(DEPTH) * (count // DEPTH)) % count


def ids_of(pairs: int) -> Iterator[tuple[str, str, int]]:
    """Each pair, and its rank."""
    for query in range(pairs // DEPTH):
        for rank, document in enumerate(documents_of(pairs, query).tolist(), 1):
            yield f"q{query}", f"d{document}", rank


def make(folder: Path, pairs: int) -> None:
    """Queries, a corpus and two runs of one's own, whose pool all pairs are."""
    (folder / "own").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as out:
        for number in range(max(DEPTH, pairs // OF_A_DOCUMENT)):
            row = {"_id": f"d{number}", "title": "", "text": f"{number} {WORDS}"}
            out.write(f"{json.dumps(row)}\n")
    with (folder / "queries.jsonl").open("w") as out:
        for number in range(pairs // DEPTH):
            out.write(f"{json.dumps({'_id': f'q{number}', 'text': f'query {number}'})}\n")
    for name in ("one", "two"):
        with (folder / "own" / f"{name}.trec").open("w") as out:
            for query, document, rank in ids_of(pairs):
                at = rank if name == "one" else DEPTH + 1 - rank
                out.write(f"{query} Q0 {document} {at} {DEPTH - at} {name}\n")


def write_sets(folder: Path, pairs: int) -> None:
    """Three sets of judgements of all pairs, whose grades are alike in part."""
    for number, (name, prompt) in enumerate(SETS.items()):
        judgements, qrels = folder / "judgements" / f"{name}.jsonl", folder / "qrels"
        judgements.parent.mkdir(exist_ok=True)
        qrels.mkdir(exist_ok=True)
        with judgements.open("w") as out, (qrels / f"{name}.qrels").open("w") as lines:
            for query, document, rank in ids_of(pairs):
                grade = rank % 4 if (rank + number * rank // 7) % 3 else number
                out.write(judgement(query, document, grade, prompt))
                lines.write(f"{query} 0 {document} {grade}\n")


def judgement(query: str, document: str, grade: int, prompt: str) -> str:
    """A line of a file of judgements, as `labeler judge` writes it."""
    of_query, of_document = hash_of(f"query {query[1:]}"), document_hash(document)
    return (
        f'{{"query_id": "{query}", "doc_id": "{document}", "grade": {grade}, "status": "judged", '
        f'"reason": null, "attempts": 1, "prompt_tokens": {500 + grade}, "completion_tokens": 6, '
        f'"cost": null, "model": "bench", "shown": "{SHOWN} {of_query} {of_document}", '
        f'"prompt": "{prompt}", "asked": "{NOBODY} bench", "parameters": {{"temperature": 0.0}}}}\n'
    )


@cache
def document_hash(document: str) -> str:
    """The hash of a document's text."""
    return hash_of(f"{document[1:]} {WORDS}")


def measure(folder: Path, pairs: int, stages: list[str]) -> None:
    """Print a line for each stage."""
    if not folder.exists():
        make(folder, pairs)
    if {"diff", "panel", "evaluate"} & {*stages} and not (folder / "judgements/c.jsonl").exists():
        write_sets(folder, pairs)
    for stage in stages:
        if stage == "judge" and not (folder / "replies.db").exists():
            every = (Pair(query, document) for query, document, _ in ids_of(pairs))
            answer_pairs(folder, texts_of(Collection(folder)), every)
        if stage == "diff":
            shutil.rmtree(folder / "indexes", ignore_errors=True)
        command = [*LABELER, *(part.format(folder) for part in STAGES[stage])]
        took = spent(command, OPENAI_API_KEY="k", OPENBLAS_NUM_THREADS="1")
        per = (took.megabytes - 60) * 1e6 / pairs
        print(f"{pairs:12,} {stage:10}{took.cpu:8.1f}{took.megabytes:9.0f}{per:8.0f}", flush=True)


def main() -> None:
    """Read the options, and measure."""
    options = parser(__doc__, pairs=[100_000, 1_000_000], stages=[*STAGES])
    options.add_argument("-o", "--output", type=Path, default=Path(".benchmarks"))
    asked = options.parse_args()
    print(f"{'pairs':>12} {'stage':10}{'CPU s':>8}{'peak MB':>9}{'B/pair':>8}")
    for pairs in asked.pairs:
        measure(asked.output / f"pairs-{pairs}", pairs, asked.stages)


if __name__ == "__main__":
    sys.exit(main())
