"""Queries for a corpus that is too large for the memory: passages drawn, texts read when asked."""

import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from labeler.collection.corpus import corpus_on_demand, distinct_documents, write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.search import Bm25Index, searched_corpus
from labeler.data import Document
from labeler.messages import no_progress
from labeler.queries.passages import considered
from labeler.queries.writer import CorpusSearch


def document(number: int) -> Document:
    words = " ".join(f"w{number * (n + 3) % 97}" for n in range(30))
    return Document(f"d{number}", f"a cat sat on mat {number % 7} {words}", f"Cats {number % 5}")


DOCUMENTS = [document(number) for number in range(150)]


def made(folder: Path) -> Collection:
    collection = Collection(folder)
    with locked(collection):
        write_corpus(collection.corpus, DOCUMENTS)
    return collection


def test_all_of_a_few_passages_are_considered_in_their_order() -> None:
    assert considered(DOCUMENTS, seed=1) == DOCUMENTS
    assert considered(DOCUMENTS, 1, most=150) == DOCUMENTS


def test_of_many_passages_every_one_has_the_same_chance() -> None:
    drawn = Counter(d.id for seed in range(60) for d in considered(DOCUMENTS, seed, most=50))
    assert drawn.total() == 60 * 50
    assert len(drawn) == len(DOCUMENTS)
    assert max(drawn.values()) < 40
    assert considered(DOCUMENTS, 1, most=50) != considered(DOCUMENTS, 2, most=50)


def test_what_is_drawn_stays_in_the_order_of_the_corpus_and_of_the_seed() -> None:
    drawn = considered(DOCUMENTS, 4, most=40)
    assert drawn == [each for each in DOCUMENTS if each in drawn]
    assert sorted(d.id for d in considered(reversed(DOCUMENTS), 4, 40)) == sorted(
        d.id for d in drawn
    )
    assert {d.id for d in considered(DOCUMENTS, 4, most=20)} < {d.id for d in drawn}


@pytest.mark.parametrize("lines", [7, 1000])
def test_kept_indexes_find_neighbors_as_those_in_the_memory(tmp_path: Path, lines: int) -> None:
    collection = made(tmp_path)
    searched = searched_corpus(collection, kept_from=0, lines_of_a_part=lines)
    small = CorpusSearch.of(collection)
    index = Bm25Index.of(searched, no_progress)
    large = CorpusSearch(index, corpus_on_demand(collection.corpus))
    for each in DOCUMENTS[:5]:
        neighbour = large.neighbour(each)
        assert neighbour == small.neighbour(each)
        assert neighbour is None or neighbour.title != each.title


def test_drawing_holds_the_texts_of_what_is_drawn(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        collection = Collection(tmp_path / str(count))
        with locked(collection):
            write_corpus(
                collection.corpus, (Document(f"d{n}", f"{n} {'x' * 2000}") for n in range(count))
            )
        tracemalloc.start()
        considered(distinct_documents(collection.corpus), 0, most=100)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(200)
    assert peak(1600) - peak(400) < 1200 * 200
