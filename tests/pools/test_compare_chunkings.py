"""Lengths of passages are compared by whether retrieval finds the sources of queries."""

from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.corpus.ingest import ingest
from labeler.data import Query
from labeler.errors import BadInput, Misuse
from labeler.pools.chunk import Span, _covered, _is_right, compare_chunkings

ANIMALS = ("cat", "dog", "cow", "hen", "fox", "owl", "bee", "ant")


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    docs = tmp_path / "docs"
    docs.mkdir()
    for animal in ANIMALS:
        text = " ".join(f"The {animal} has habit {n} near {animal} place {n}." for n in range(60))
        (docs / f"{animal}.md").write_text(f"# Of the {animal}\n\n{text}\n")
    made = Collection(tmp_path / "coll")
    ingest(docs, made)
    documents = list(read_corpus(made.corpus).values())
    queries = [
        Query(f"q{n}", " ".join(d.text.split()[:6]), {"source": [{"doc_id": d.id}]})
        for n, d in enumerate(documents)
    ]
    with locked(made):
        write_queries(made.queries, queries)
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_each_length_is_scored_for_each_retriever_and_nothing_is_written(
    collection: Collection,
) -> None:
    before = files(collection.folder.parent)
    result = compare_chunkings(collection, [50, 150])
    assert files(collection.folder.parent) == before
    assert [c.words for c in result.chunkings if c.run == "bm25"] == [50, 150]
    small, large = (c for c in result.chunkings if c.run == "bm25")
    assert small.passages > large.passages
    for chunking in result.chunkings:
        for value, low, high in (chunking.right, chunking.covered):
            assert value is not None
            assert low is not None
            assert high is not None
            assert 0 <= low <= value <= high <= 1
    assert large.right.value == 1


def test_a_source_is_covered_by_what_passages_share_with_it_and_once() -> None:
    source = Span("a", 100, 200)
    assert _covered(source, [Span("a", 0, 150), Span("a", 140, 160), Span("b", 0, 999)]) == 0.6
    assert _covered(source, []) == 0
    assert _covered(source, [Span("a", 0, 999)] * 2) == 1


def test_a_passage_is_right_that_shares_half_of_the_shorter() -> None:
    source = Span("a", 100, 200)
    assert _is_right(Span("a", 110, 120), source)
    assert _is_right(Span("a", 0, 150), source)
    assert not _is_right(Span("a", 0, 149), source)
    assert not _is_right(Span("b", 100, 200), source)


def test_headings_stand_in_where_there_are_only_documents(collection: Collection) -> None:
    result = compare_chunkings(collection.folder.parent / "docs", [100])
    assert result.of_headings
    assert result.queries == len(ANIMALS)


def test_a_collection_whose_queries_name_no_passage_says_so(collection: Collection) -> None:
    with locked(collection):
        write_queries(collection.queries, [Query("q1", "cats")])
    with pytest.raises(BadInput, match="no query names the passage"):
        compare_chunkings(collection)


@pytest.mark.parametrize("lengths", [[], [3], [10**6]])
def test_lengths_that_nobody_could_want_are_refused(
    lengths: list[int], collection: Collection
) -> None:
    with pytest.raises(Misuse):
        compare_chunkings(collection, lengths)


def test_the_command_names_its_option(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["corpus", "chunk", str(collection.folder), "--compare", "100;200"]) == 2
    assert "--compare: expected lengths as 100,200,400" in capsys.readouterr().err
    assert execute(["corpus", "chunk", str(collection.folder), "--compare", "60"]) == 0
    assert "covered in 1,000 words" in capsys.readouterr().out
