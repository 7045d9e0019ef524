"""How generated queries differ from real ones, in figures that hold and in words."""

import json
from pathlib import Path

import pytest

from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.data import Document, Query
from labeler.errors import BadInput
from labeler.queries.realism import Realism, realism
from labeler.report.neutral import json_text

LONG = [f"how does one configure the thing number {n} in a large system" for n in range(30)]
REAL = [f"{brand} {thing}" for brand in ("acme", "foo", "bar") for thing in ("tv", "hub", "pc")]


def collection_of(folder: Path, texts: list[str]) -> Collection:
    folder.mkdir()
    collection = Collection(folder)
    documents = [
        Document(f"d{n}", f"{text} and other words that stand there too")
        for n, text in enumerate(texts)
    ]
    generated = [
        Query(f"q{n}", text, {"origin": "generated", "source": [{"doc_id": f"d{n}"}]})
        for n, text in enumerate(texts)
    ]
    with locked(collection):
        write_corpus(collection.corpus, documents)
        write_queries(collection.queries, generated)
    return collection


def compared(folder: Path, texts: list[str], real: list[str]) -> Realism:
    (folder / "real.txt").write_text("".join(f"{text}\n" for text in real))
    return realism(collection_of(folder / "c", texts), folder / "real.txt")


def test_what_differs_from_real_queries_is_said_in_words(tmp_path: Path) -> None:
    found = compared(tmp_path, LONG, REAL)
    generated, real = found.generated, found.real
    assert (generated.median_words.value, real.median_words.value) == (12, 2)
    assert generated.questions.value == 1
    assert real.questions.value == 0
    said = " ".join(found.sentences)
    assert "Generated queries are longer: 12 [12, 12] to 2 [2, 2] words." in said
    assert "They are questions more often: 100% [89%, 100%] to 0% [0%, 30%]." in said
    assert "like the real ones of the kind keyword" in said


def test_what_is_alike_is_said_to_be_so(tmp_path: Path) -> None:
    same = compared(tmp_path, REAL, REAL).sentences
    assert same[0].startswith("Generated queries are about as long: 2")
    assert same[1].startswith("They are questions about as often: 0%")


def test_a_collection_without_generated_queries_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no generated query in it"):
        compared(tmp_path, [], REAL)


def test_programs_get_the_figures_and_the_words(tmp_path: Path) -> None:
    shown = json.loads(json_text(compared(tmp_path, LONG, REAL).as_json()))
    assert shown["sets"][0]["median words"] == 12
    assert shown["kinds"]["real"] == {"keyword": 1}
    assert len(shown["findings"]) == 3
