"""Folders and archives as BEIR, the Hugging Face Hub, MTEB and `datasets` lay them out."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

DOCS = [{"_id": f"d{n}", "title": f"Shoe {n}", "text": f"A shoe of kind {n}."} for n in range(1, 5)]
QUERIES = [{"_id": "q1", "text": "red shoes"}, {"_id": "q2", "text": "blue hat"}]
GRADES = [
    {"query-id": "q1", "corpus-id": "d1", "score": 2},
    {"query-id": "q1", "corpus-id": "d2", "score": 0},
    {"query-id": "q2", "corpus-id": "d3", "score": 1},
]
COUNTS = {"documents": 4, "queries": 2, "grades": 3}

Rows = list[dict[str, Any]]


def json_lines(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def parquet(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def arrow(path: Path, rows: Rows) -> None:
    """A data set as `save_to_disk` writes it: a stream of Arrow, and two files of JSON."""
    path.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(str(path / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    features = {name: {"dtype": "string", "_type": "Value"} for name in table.column_names}
    (path / "dataset_info.json").write_text(json.dumps({"features": features, "citation": ""}))
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "a"}
    (path / "state.json").write_text(json.dumps(state))


def tsv(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def beir(folder: Path) -> None:
    json_lines(folder / "corpus.jsonl", DOCS)
    json_lines(folder / "queries.jsonl", QUERIES)
    tsv(folder / "qrels" / "test.tsv", GRADES)


def beir_of_three_splits(folder: Path) -> None:
    beir(folder)
    tsv(folder / "qrels" / "train.tsv", GRADES[:1])
    tsv(folder / "qrels" / "dev.tsv", GRADES[:1])


def hub(folder: Path) -> None:
    parquet(folder / "corpus" / "corpus-00000-of-00001.parquet", DOCS)
    parquet(folder / "queries" / "queries-00000-of-00001.parquet", QUERIES)
    parquet(folder / "qrels" / "test-00000-of-00001.parquet", GRADES)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# A data set\n\nIt is of shoes.\n")


def hub_in_shards(folder: Path) -> None:
    parquet(folder / "corpus" / "corpus-00000-of-00002.parquet", DOCS[:2])
    parquet(folder / "corpus" / "corpus-00001-of-00002.parquet", DOCS[2:])
    parquet(folder / "queries" / "queries-00000-of-00002.parquet", QUERIES[:1])
    parquet(folder / "queries" / "queries-00001-of-00002.parquet", QUERIES[1:])
    parquet(folder / "data" / "test-00000-of-00002.parquet", GRADES[:1])
    parquet(folder / "data" / "test-00001-of-00002.parquet", GRADES[1:])


def mteb(folder: Path) -> None:
    json_lines(folder / "corpus.jsonl", DOCS)
    json_lines(folder / "queries.jsonl", QUERIES)
    json_lines(folder / "qrels" / "test.jsonl", GRADES)


def mteb_in_configs(folder: Path) -> None:
    parquet(folder / "en-corpus" / "test-00000-of-00001.parquet", DOCS)
    parquet(folder / "en-queries" / "test-00000-of-00001.parquet", QUERIES)
    parquet(folder / "en-qrels" / "test-00000-of-00001.parquet", GRADES)


def saved(folder: Path) -> None:
    arrow(folder / "corpus", DOCS)
    arrow(folder / "queries", QUERIES)
    arrow(folder / "qrels", GRADES)


def saved_in_splits(folder: Path) -> None:
    arrow(folder / "corpus", DOCS)
    arrow(folder / "queries", QUERIES)
    arrow(folder / "qrels" / "train", [{"query-id": "q1", "corpus-id": "d4", "score": 1}])
    arrow(folder / "qrels" / "test", GRADES)


def with_notes(folder: Path) -> None:
    beir(folder)
    (folder / "qrels" / "README.txt").write_text("Who judged, and when.\n")
    (folder / "results.txt").write_text("no run, but words about one\n")


def topics_in_xml(folder: Path) -> None:
    beir(folder)
    (folder / "queries.jsonl").unlink()
    topics = (f'<topic number="{q["_id"]}"><query>{q["text"]}</query></topic>' for q in QUERIES)
    (folder / "topics.xml").write_text(f"<topics>{''.join(topics)}</topics>\n")


def zipped(folder: Path) -> None:
    beir(folder / "shoes")
    shutil.make_archive(str(folder / "shoes"), "zip", folder, "shoes")
    shutil.rmtree(folder / "shoes")


def tables(folder: Path) -> None:
    tsv(folder / "collection_corpus.tsv", [{"id": d["_id"], "text": d["text"]} for d in DOCS])
    tsv(folder / "queries.test.tsv", [{"id": q["_id"], "text": q["text"]} for q in QUERIES])
    lines = "".join(f"{g['query-id']} 0 {g['corpus-id']} {g['score']}\n" for g in GRADES)
    (folder / "qrels.test.txt").write_text(lines)


BUNDLES: dict[str, Callable[[Path], None]] = {
    "BEIR": beir,
    "BEIR of three splits": beir_of_three_splits,
    "BEIR as a ZIP": zipped,
    "the Hub": hub,
    "the Hub in shards": hub_in_shards,
    "MTEB": mteb,
    "MTEB in configurations": mteb_in_configs,
    "save_to_disk": saved,
    "save_to_disk in splits": saved_in_splits,
    "notes beside": with_notes,
    "topics in XML": topics_in_xml,
    "tables": tables,
}
