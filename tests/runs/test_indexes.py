"""Indexes that are kept beside a corpus: made once, of its very content, and searched in blocks."""

import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.search import (
    BestRows,
    DenseIndex,
    Searched,
    bm25_run,
    dense_run,
    searched_corpus,
)
from labeler.data import Document, Query, Run
from labeler.errors import BadInput
from labeler.messages import no_progress
from labeler.runs.retrieve import ENGINES as ENGINES_BY_NAME
from labeler.text.terms import embedded_encoder
from labeler.trec.files import best

QUERIES = [Query("q1", "cat on a mat"), Query("q2", "moon 3"), Query("q3", "zebra")]


def embedded_run(searched: Searched, queries: list[Query], depth: int) -> Run:
    return dense_run(searched, queries, embedded_encoder(), depth)


ENGINES = pytest.mark.parametrize("search", [bm25_run, embedded_run])
Search = Callable[[Searched, list[Query], int], Run]


def documents(count: int) -> Iterator[Document]:
    for number in range(count):
        text = f"a cat sat on mat {number % 7} with w{number * number % 101} under the moon"
        yield Document(f"d{number}", text, f"Cats {number % 3}")


def made(tmp_path: Path, count: int) -> Collection:
    collection = Collection(tmp_path)
    with locked(collection):
        write_corpus(collection.corpus, documents(count))
    return collection


def indexes(collection: Collection) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in collection.indexes.glob("*")}


@ENGINES
def test_a_kept_index_ranks_as_one_in_the_memory(tmp_path: Path, search: Search) -> None:
    kept = searched_corpus(made(tmp_path, 300), kept_from=0)
    for depth in (1, 10, 1000):
        assert search(kept, QUERIES, depth) == search(
            Searched.of([*documents(300)]), QUERIES, depth
        )


@ENGINES
def test_an_index_is_made_once(tmp_path: Path, search: Search) -> None:
    collection = made(tmp_path, 20)
    first = search(searched_corpus(collection, kept_from=0), QUERIES, 5)
    before = indexes(collection)
    assert len(before) == 1
    assert search(searched_corpus(collection, kept_from=0), QUERIES, 5) == first
    assert indexes(collection) == before


def test_an_index_that_another_stemmer_made_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection = made(tmp_path, 20)
    bm25_run(searched_corpus(collection, kept_from=0), QUERIES, 5)
    before = indexes(collection)
    monkeypatch.setattr("Stemmer.version", lambda: "0.1")
    bm25_run(searched_corpus(collection, kept_from=0), QUERIES, 5)
    assert len(indexes(collection).keys() - before.keys()) == 1


@ENGINES
def test_an_index_of_other_documents_is_replaced(tmp_path: Path, search: Search) -> None:
    collection = made(tmp_path, 20)
    search(searched_corpus(collection, kept_from=0), QUERIES, 5)
    before = indexes(collection)
    made(tmp_path, 21)
    run = search(searched_corpus(collection, kept_from=0), QUERIES, 5)
    assert run == search(Searched.of([*documents(21)]), QUERIES, 5)
    assert len(indexes(collection)) == 1
    assert not before.keys() & indexes(collection).keys()


@ENGINES
def test_an_index_that_is_damaged_is_made_anew(tmp_path: Path, search: Search) -> None:
    collection = made(tmp_path, 20)
    first = search(searched_corpus(collection, kept_from=0), QUERIES, 5)
    (path,) = collection.indexes.iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    assert search(searched_corpus(collection, kept_from=0), QUERIES, 5) == first


KILLED = """
import os, signal, sys
from pathlib import Path
from labeler.collection import corpus
from labeler.collection.layout import Collection
from labeler.data import Query
from labeler.messages import no_progress
from labeler.runs.retrieve import ENGINES
from labeler.collection.search import searched_corpus

folder, name, at = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

document_in = corpus.document_in

def until(*line):
    document = document_in(*line)
    if document.id == at:
        os.kill(os.getpid(), signal.SIGKILL)
    return document

corpus.document_in = until
searched = searched_corpus(Collection(folder), kept_from=0, lines_of_a_part=1000)
ENGINES[name].search(searched, [Query("q", "cat")], 5, no_progress)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal")
@pytest.mark.parametrize("name", ["bm25", "dense"])
def test_what_was_killed_while_it_indexed_indexes_anew(tmp_path: Path, name: str) -> None:
    collection = made(tmp_path, 2100)
    command = [sys.executable, "-c", KILLED, str(tmp_path), name, "d2050"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    before = indexes(collection)
    assert [name.endswith(".index") for name in before].count(True) == 2
    (partial,) = collection.indexes.glob(".*.part")
    os.utime(partial, (0, 0))
    search = ENGINES_BY_NAME[name].search
    searched = searched_corpus(collection, kept_from=0, lines_of_a_part=1000)
    run = search(searched, QUERIES, 5, no_progress)
    assert run == search(Searched.of([*documents(2100)]), QUERIES, 5, no_progress)
    after = indexes(collection)
    assert {Path(name).suffix for name in after} == {".index"}
    assert all(after[name] == before[name] for name in before if name.endswith(".index"))


@ENGINES
@pytest.mark.parametrize("size", [1, 7, 10, 20, 21])
def test_an_index_in_parts_ranks_as_one(tmp_path: Path, size: int, search: Search) -> None:
    collection = made(tmp_path, 20)
    whole = collection.corpus.read_text()
    collection.corpus.write_text("\n" + whole.rstrip("\n"))  # a blank line, and no last line end
    searched = searched_corpus(collection, kept_from=0, lines_of_a_part=size)
    assert searched.count == 21
    for depth in (1, 5, 30):
        expected = search(Searched.of([*documents(20)]), QUERIES, depth)
        assert search(searched, QUERIES, depth) == expected
        assert [*map(list, expected.values())] == [
            *map(list, search(searched, QUERIES, depth).values())
        ]


@ENGINES
def test_a_part_that_is_missing_is_indexed_alone(tmp_path: Path, search: Search) -> None:
    searched = searched_corpus(made(tmp_path, 20), kept_from=0, lines_of_a_part=6)
    first = search(searched, QUERIES, 5)
    before = sorted(indexes(Collection(tmp_path)).items(), key=lambda item: item[1])
    assert len(before) == 4
    (tmp_path / "indexes" / before[1][0]).unlink()
    assert search(searched, QUERIES, 5) == first
    after = indexes(Collection(tmp_path))
    assert [name for name, changed in before if after[name] != changed] == [before[1][0]]


@ENGINES
def test_documents_that_are_added_leave_earlier_parts_as_they_are(
    tmp_path: Path, search: Search
) -> None:
    search(searched_corpus(made(tmp_path, 20), kept_from=0, lines_of_a_part=6), QUERIES, 5)
    before = indexes(Collection(tmp_path))
    searched = searched_corpus(made(tmp_path, 31), kept_from=0, lines_of_a_part=6)
    assert search(searched, QUERIES, 9) == search(Searched.of([*documents(31)]), QUERIES, 9)
    after = indexes(Collection(tmp_path))
    same = [name for name in before if after.get(name) == before[name]]
    assert (len(same), len(after)) == (3, 6)


@ENGINES
@pytest.mark.parametrize("size", [3, 100])
def test_an_id_that_comes_again_in_another_part_is_refused(
    tmp_path: Path, search: Search, size: int
) -> None:
    collection = made(tmp_path, 9)
    first = collection.corpus.read_text().splitlines(keepends=True)[0]
    with collection.corpus.open("a") as out:
        out.write(first)
    for _ in range(2):
        searched = searched_corpus(collection, kept_from=0, lines_of_a_part=size)
        with pytest.raises(BadInput, match=r"corpus.jsonl:10: the id 'd0' stands in an earlier"):
            search(searched, QUERIES, 5)


def test_the_indexes_of_a_small_corpus_are_not_kept(tmp_path: Path) -> None:
    collection = made(tmp_path, 20)
    bm25_run(searched_corpus(collection), QUERIES, 5)
    assert not collection.indexes.exists()


@pytest.mark.parametrize("rows", [1, 3, 64, 1000])
def test_the_nearest_are_the_same_however_vectors_come(rows: int) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(200, 16)).astype(np.float32)
    vectors[100:150] = vectors[50:100]  # equal ones, which tie
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids, queries = [f"d{n}" for n in range(200)], vectors[[0, 60, 199]]
    exact = (vectors.astype(np.float64) @ queries.astype(np.float64).T).astype(np.float32)
    encoder = embedded_encoder()._replace(queries=lambda _texts: queries)
    blocks = [vectors[first : first + rows] for first in range(0, 200, rows)]
    index = DenseIndex(encoder, lambda _progress: iter(blocks), ids)
    for depth in (1, 7, 500):
        run = index.run(QUERIES, depth)
        for found, scores in zip(run.values(), exact.T, strict=True):
            assert list(found.items()) == list(best(scores, ids, depth).items())


@pytest.mark.parametrize("rows", [1, 3, 64, 1000])
def test_the_best_rows_are_the_same_however_they_come(rows: int) -> None:
    rng = np.random.default_rng(5)
    scores = rng.integers(1, 5, size=200).astype(np.float32)  # most of them tie
    ids = [f"d{n}" for n in rng.permutation(200)]
    for depth in (1, 7, 30, 500):
        several = BestRows(depth, ids)
        for first in range(0, 200, rows):
            some = scores[first : first + rows]
            several.add(np.arange(first, first + len(some)), some)
            assert len(several) <= 2 * depth
        assert list(several.ranked().items()) == list(best(scores, ids, depth).items())


def peak(work: Callable[[], object]) -> int:
    work()  # what is loaded once is not counted
    tracemalloc.start()
    work()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def test_searching_holds_no_texts(tmp_path: Path) -> None:
    padding = "x" * 2000

    def searched(count: int) -> Searched:
        long = (Document(d.id, f"{d.text} {padding}", d.title) for d in documents(count))
        collection = Collection(tmp_path / str(count))
        with locked(collection):
            write_corpus(collection.corpus, long)
        return searched_corpus(collection, kept_from=0)

    small, large = searched(500), searched(1000)
    more = peak(lambda: bm25_run(large, QUERIES, 5)) - peak(lambda: bm25_run(small, QUERIES, 5))
    assert more < 500 * 1000
