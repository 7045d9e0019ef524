#!/usr/bin/env python3
"""Measure labeler's BM25 beside bm25s and tantivy: CPU time, memory and disk, over made corpora.

    .venv/test/bin/python scripts/bench_scale.py DOCUMENTS --passages 20000 50000 [-o .benchmarks/]
        [--queries 1000] [--peers PYTHON] [--encode]

DOCUMENTS are blown up to corpora of these sizes. Each tool indexes one to disk in a process of its
own, and in another one opens the index and finds the first 1,000 documents for each query. Every
tool has one thread, stems English and keeps stop words. PYTHON is an interpreter that has bm25s,
PyStemmer and tantivy; a peer that it lacks is left out. With --encode, the embedded encoder's
vectors are indexed and searched, too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import Spent, parser, spent

DEPTH = 1000
COMPARED = 10
MEMORY_OF_TANTIVY = 128 << 20

Found = dict[str, list[str]]
Stage = Callable[[Path], Found]


def texts_of(folder: Path) -> Iterator[tuple[str, str]]:
    """The ids and texts of a corpus."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            yield row["_id"], f"{row['title']}\n{row['text']}"


def queries_of(folder: Path) -> list[str]:
    """The queries of a corpus."""
    return (folder / "queries.txt").read_text(encoding="utf-8").splitlines()


def labeler_run(folder: Path, name: str, asked: list[str]) -> Found:
    """The first documents of a built-in engine."""
    from labeler.collection.layout import Collection
    from labeler.collection.search import searched_corpus
    from labeler.data import Query
    from labeler.runs.retrieve import ENGINES

    queries = [Query(text, text) for text in asked]
    searched = searched_corpus(Collection(folder), kept_from=0)
    run = ENGINES[name].search(searched, queries, DEPTH, no_progress())
    return {query: list(scores) for query, scores in run.items()}


def no_progress() -> Callable[..., object]:
    """Progress that nobody is shown."""
    from labeler.messages import no_progress as silent

    return silent


def bm25s_index(folder: Path) -> Found:
    """Index by bm25s."""
    import bm25s
    import Stemmer

    ids, texts = zip(*texts_of(folder), strict=True)
    stemmer = Stemmer.Stemmer("english")
    tokens = bm25s.tokenize(list(texts), stopwords=None, stemmer=stemmer, show_progress=False)
    index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    index.index(tokens, show_progress=False)
    index.save(str(folder / "bm25s"))
    (folder / "bm25s" / "ids.json").write_text(json.dumps(ids))
    return {}


def bm25s_search(folder: Path) -> Found:
    """Search by bm25s, its index memory-mapped."""
    import bm25s
    import Stemmer

    index = bm25s.BM25.load(str(folder / "bm25s"), mmap=True)
    ids, asked = json.loads((folder / "bm25s" / "ids.json").read_text()), queries_of(folder)
    stemmer = Stemmer.Stemmer("english")
    tokens = bm25s.tokenize(
        asked, stopwords=None, stemmer=stemmer, show_progress=False, return_ids=False
    )
    rows, _ = index.retrieve(tokens, k=DEPTH, show_progress=False)
    return {q: [ids[row] for row in found] for q, found in zip(asked, rows.tolist(), strict=True)}


def tantivy_schema() -> object:
    """A text that is indexed, and an id that is kept."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
    return builder.build()


def tantivy_index(folder: Path) -> Found:
    """Index by tantivy, with one thread."""
    import tantivy

    (folder / "tantivy").mkdir()
    index = tantivy.Index(tantivy_schema(), path=str(folder / "tantivy"))
    writer = index.writer(heap_size=MEMORY_OF_TANTIVY, num_threads=1)
    for doc_id, text in texts_of(folder):
        writer.add_document(tantivy.Document(id=doc_id, text=text))
    writer.commit()
    writer.wait_merging_threads()
    return {}


def tantivy_search(folder: Path) -> Found:
    """Search by tantivy."""
    import tantivy

    index = tantivy.Index.open(str(folder / "tantivy"))
    searcher, found = index.searcher(), Found()
    for text in queries_of(folder):
        query, _ = index.parse_query_lenient(text, ["text"])
        hits = searcher.search(query, DEPTH).hits
        found[text] = [searcher.doc(address)["id"][0] for _, address in hits]
    return found


STAGES: dict[str, dict[str, Stage]] = {
    "labeler, BM25": {
        "index": lambda folder: labeler_run(folder, "bm25", []),
        "search": lambda folder: labeler_run(folder, "bm25", queries_of(folder)),
    },
    "bm25s": {"index": bm25s_index, "search": bm25s_search},
    "tantivy": {"index": tantivy_index, "search": tantivy_search},
    "labeler, dense": {
        "index": lambda folder: labeler_run(folder, "dense", []),
        "search": lambda folder: labeler_run(folder, "dense", queries_of(folder)),
    },
}


def run_stage(tool: str, stage: str, folder: Path) -> None:
    """Run one stage in this process, and print what it found."""
    found = STAGES[tool][stage](folder)
    print(json.dumps({query: documents[:COMPARED] for query, documents in found.items()}))


def measured(python: str, tool: str, stage: str, folder: Path) -> Spent | None:
    """A stage in a process of its own with one thread; None where the tool is not there."""
    command = [python, __file__, str(folder), "--tool", tool, "--stage", stage]
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "RAYON")}
    try:
        return spent(command, **one, TOKENIZERS_PARALLELISM="false")
    except SystemExit as failed:
        print(f"{tool}, {stage}: {str(failed).splitlines()[-1]}", file=sys.stderr)
        return None


def size_on_disk(folder: Path, tool: str) -> float:
    """Megabytes of a tool's index."""
    part = {"labeler, BM25": "indexes/bm25-*", "labeler, dense": "indexes/vectors-*"}
    paths = folder.glob(part.get(tool, f"{tool}/*"))
    return sum(path.stat().st_size for path in paths) / 1e6


def overlap(ours: Found, theirs: Found) -> float:
    """The mean share of the first ten documents that two tools have in common."""
    shares = [len({*ours[q]} & {*theirs[q]}) / COMPARED for q in ours]
    return sum(shares) / len(shares)


def compare(folder: Path, passages: int, asked: argparse.Namespace) -> None:
    """Index and search one corpus with every tool, and print a line for each."""
    from made_corpus import make

    make(asked.documents, folder, passages, asked.queries, rows=True)
    (folder / "docs.jsonl").replace(folder / "corpus.jsonl")
    first: dict[str, Spent] = {}
    for tool in STAGES:
        if tool == "labeler, dense" and not asked.encode:
            continue
        python = sys.executable if tool.startswith("labeler") else asked.peers
        taken = {stage: measured(python, tool, stage, folder) for stage in ("index", "search")}
        index, search = taken["index"], taken["search"]
        if index is None or search is None:
            continue
        first = first or {"index": index, "search": search}
        show(passages, tool, {"index": index, "search": search}, first, size_on_disk(folder, tool))


def show(
    passages: int, tool: str, taken: dict[str, Spent], first: dict[str, Spent], megabytes: float
) -> None:
    """Print a row of the table: CPU, memory and ratios to the first tool."""
    cells = [f"{passages:,}", tool]
    for stage, values in taken.items():
        ours = first[stage]
        cells += [f"{values.cpu:.1f}", f"{values.cpu / ours.cpu:.2f}"]
        cells += [f"{values.megabytes:.0f}", f"{values.megabytes / ours.megabytes:.2f}"]
    ours, theirs = (json.loads(each["search"].output.splitlines()[-1]) for each in (first, taken))
    cells += [f"{megabytes:.0f}", f"{overlap(ours, theirs):.2f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


HEAD = (
    *("passages", "tool", "index, CPU s", "ratio", "MB", "ratio"),
    *("search, CPU s", "ratio", "MB", "ratio", "on disk, MB", "first 10 in common"),
)


def main() -> None:
    """Read the options, and measure."""
    options = parser(
        __doc__,
        documents=Path,
        passages=[20_000, 50_000],
        queries=1000,
        peers=sys.executable,
        encode=False,
    )
    options.add_argument("-o", "--output", type=Path, default=Path(".benchmarks"))
    options.add_argument("--tool", help=argparse.SUPPRESS)
    options.add_argument("--stage", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.tool:
        run_stage(asked.tool, asked.stage, asked.documents)
        return
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for passages in asked.passages:
        folder = asked.output / f"scale-{passages}-{os.getpid()}"
        compare(folder, passages, asked)


if __name__ == "__main__":
    main()
