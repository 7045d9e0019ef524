"""Search systems as they are: Qdrant's own engine in this process, PostgreSQL as its own server."""

import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labeler.cli import execute
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.data import Document, Query
from labeler.errors import Misuse
from labeler.models.encoders import Encoding
from labeler.models.settings import EncoderOptions
from labeler.runs.engines.http_search import HttpEngine
from labeler.runs.engines.program import ProgramEngine
from labeler.runs.engines.templates import QueryEncoder
from labeler.runs.retrieve import retrieve
from labeler.runs.retrieve_run import RetrieveOptions, query_encoder, retrieve_run
from labeler.testing import Answer, Call, FakeServer, small_collection
from labeler.text.terms import text_to_search
from labeler.text.vectors import embedded_encoder, encode
from labeler.trec.runs import ranking, read_run

MORE = {
    "dogs": "A dog barks at strangers, and sleeps on the mat before the door.",
    "sea": "The sea is deep and cold; whales and fish live in it.",
    "tea": "Tea is made with water that has just boiled.",
}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    made = small_collection(tmp_path / "coll")
    with made.corpus.open("a", encoding="utf-8") as out:
        for doc_id, text in MORE.items():
            out.write(json.dumps({"_id": doc_id, "title": "", "text": text}) + "\n")
    return made


def queries_of(collection: Collection) -> dict[str, Query]:
    return read_queries(collection.queries)


def qdrant(documents: dict[str, Document]) -> Any:
    """What answers as Qdrant's server does: its engine, and its own models of what is sent."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    vectors = models.VectorParams(size=256, distance=models.Distance.COSINE)
    client.create_collection("docs", vectors_config=vectors)
    encoded = encode([text_to_search(document) for document in documents.values()])
    rows = zip(documents, encoded.tolist(), strict=True)
    points = [
        models.PointStruct(id=n, vector=vector, payload={"id": doc_id})
        for n, (doc_id, vector) in enumerate(rows)
    ]
    client.upsert("docs", points)

    def answer(call: Call) -> Answer:
        assert call.path == "/collections/docs/points/query"
        asked = models.QueryRequest.model_validate(call.body)
        given = {"limit": asked.limit, "with_payload": asked.with_payload}
        found = client.query_points("docs", query=asked.query, **given)
        body = {"result": found.model_dump(mode="json"), "status": "ok", "time": 0.001}
        return Answer(body)

    return answer


def test_qdrant_ranks_the_vectors_that_it_is_sent_as_we_rank_them(collection: Collection) -> None:
    documents, queries = read_corpus(collection.corpus), queries_of(collection)
    with FakeServer(qdrant(documents)) as server:
        url = server.base_url.removesuffix("/v1") + "/collections/docs/points/query"
        engine = HttpEngine(url, "qdrant", encoder=query_encoder(collection, Encoding()))
        retrieve_run(collection, engine, "qdrant", RetrieveOptions(depth=4))
    run = read_run(collection.run("qdrant"))
    dense = retrieve(documents, queries)["dense"]
    assert {q: ranking(row) for q, row in run.items()} == {
        q: ranking(row)[:4] for q, row in dense.items()
    }
    for query_id, row in run.items():
        for doc_id, score in row.items():
            assert score == pytest.approx(dense[query_id][doc_id], abs=1e-5)


PROGRAMS = Path("/usr/lib/postgresql")

BY_TEXT = """
select coalesce(json_agg(hit order by hit.score desc), '[]') from (
  select id, ts_rank(words, wanted) as score
  from docs, cast(replace(plainto_tsquery('english', :'q')::text, '&', '|') as tsquery) as wanted
  where words @@ wanted order by score desc limit :n
) as hit
"""

BY_VECTOR = """
select coalesce(json_agg(hit order by hit.score desc), '[]') from (
  select id, (select sum(a * b) from unnest(vector, wanted) as pair(a, b)) as score
  from docs, (select translate(:'v', '[]', '{}')::float8[] as wanted) as query
  order by score desc limit :n
) as hit
"""


class Database:
    """A PostgreSQL server of a test's own, which listens on a socket in a folder alone."""

    def __init__(self, folder: Path, programs: Path, user: str | None) -> None:
        self._folder, self._programs, self._user = folder, programs, user

    def call(self, program: str, *words: str, **more: Any) -> str:
        done = subprocess.run(
            [str(self._programs / program), *words],
            check=True,
            capture_output=True,
            text=True,
            user=self._user,
            cwd=self._folder,
            **more,
        )
        return done.stdout

    @property
    def words(self) -> list[str]:
        """How psql reaches it."""
        return ["-h", str(self._folder), "-U", "tester", "-d", "postgres", "-XAt"]

    def run(self, sql: str) -> str:
        return self.call("psql", *self.words, "-v", "ON_ERROR_STOP=1", input=sql)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = sorted(PROGRAMS.glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL's server is not installed on this machine")
    user = None
    if os.geteuid() == 0:  # which the server refuses
        user = "postgres"
        try:
            pwd.getpwnam(user)
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    folder = Path(os.path.realpath("/tmp")) / f"pg-{os.getpid()}"
    folder.mkdir(mode=0o700)
    try:
        if user:
            shutil.chown(folder, user)
        made = Database(folder, found[-1].parent, user)
        made.call("initdb", "-D", f"{folder}/data", "-U", "tester", "-A", "trust", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        data = ["-D", f"{folder}/data"]
        made.call("pg_ctl", *data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield made
        finally:
            made.call("pg_ctl", *data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def fill(database: Database, documents: dict[str, Document]) -> None:
    database.run("create table docs (id text primary key, words tsvector, vector float8[])")
    for document in documents.values():
        text = text_to_search(document).replace("'", "''")
        vector = str(encode([text_to_search(document)])[0].tolist()).strip("[]")
        database.run(
            f"insert into docs values ('{document.id}', to_tsvector('english', '{text}'),"
            f" '{{{vector}}}')"
        )


def psql(database: Database, sql: str, tmp_path: Path, places: str) -> str:
    """The command line that asks it; psql itself quotes what stands in its variables."""
    (tmp_path / "search.sql").write_text(sql)
    program = shutil.which("psql") or str(database._programs / "psql")
    words = [program, *database.words, "-v", "ON_ERROR_STOP=1", places]
    return f"{' '.join(words)} -f {tmp_path / 'search.sql'}"


@pytest.mark.slow  # a server is made, and started
def test_postgresql_is_asked_through_psql(
    collection: Collection, database: Database, tmp_path: Path
) -> None:
    documents = read_corpus(collection.corpus)
    fill(database, documents)
    line = psql(database, BY_TEXT, tmp_path, "-v q={query} -v n={depth}")
    os.chmod(database._folder, 0o755)
    assert execute(["retrieve", str(collection.folder), "--as", "words", "--command", line]) == 0
    run = read_run(collection.run("words"))
    assert ranking(run["q1"])[0] == "cats"
    assert ranking(run["q2"])[0] == "fish"
    with collection.queries.open("a") as out:
        out.write(json.dumps({"_id": "q3", "text": "fish'; drop table docs; --"}) + "\n")
    assert execute(["retrieve", str(collection.folder), "--as", "again", "--command", line]) == 0
    assert database.run("select count(*) from docs").strip() == str(len(documents))


@pytest.mark.slow  # a server is made, and started
def test_postgresql_ranks_the_vectors_that_it_is_sent_as_we_rank_them(
    collection: Collection, database: Database, tmp_path: Path
) -> None:
    documents = read_corpus(collection.corpus)
    fill(database, documents)
    line = psql(database, BY_VECTOR, tmp_path, "-v v={vector} -v n={depth}")
    os.chmod(database._folder, 0o755)
    assert execute(["retrieve", str(collection.folder), "--as", "near", "--command", line]) == 0
    dense = retrieve(documents, queries_of(collection))["dense"]
    run = read_run(collection.run("near"))
    assert {q: ranking(row) for q, row in run.items()} == {q: ranking(r) for q, r in dense.items()}


def test_a_command_may_be_given_the_vector_of_the_query(collection: Collection) -> None:
    code = (
        "import json, sys; numbers = json.loads(sys.argv[1]);"
        "print(json.dumps(['cats'][: len(numbers) // 256]))"
    )
    engine = ProgramEngine(f'{sys.executable} -c "{code}" {{vector}}')
    with pytest.raises(Misuse, match="wants the query's vector, and there is no encoder"):
        engine.check()
    encoder = embedded_encoder()
    vectors = QueryEncoder(encoder.id, lambda text: encoder.queries([text])[0].tolist())
    engine = ProgramEngine(engine.command, encoder=vectors)
    assert retrieve_run(collection, engine, "mine").documents == 2


def test_a_run_that_goes_on_with_another_query_prefix_takes_no_answer_of_before(
    collection: Collection, tmp_path: Path
) -> None:
    answers = tmp_path / "search.py"
    answers.write_text(
        "import json, os, sys\n"
        "first, is_up = json.loads(sys.argv[2])[0], sys.argv[0] + '.up'\n"
        "if 'fish' in sys.argv[1] and not os.path.exists(is_up): sys.exit(1)\n"
        "print(json.dumps([{'id': 'cats', 'score': first + 10}]))\n"
    )
    command = shlex.join([sys.executable, str(answers), "{query}", "{vector}"])
    with FakeServer() as server:
        engines = [
            ProgramEngine(
                command,
                encoder=query_encoder(
                    collection, Encoding(EncoderOptions("fake", server.base_url, prefix))
                ),
            )
            for prefix in ("", "query: ")
        ]
        again = RetrieveOptions(force=True)
        assert retrieve_run(collection, engines[0], "mine", again).failures
        answers.with_name("search.py.up").touch()
        assert retrieve_run(collection, engines[1], "mine", again).remembered == 0


def test_another_encoder_meets_no_answer_of_the_one_before() -> None:
    one, two = (QueryEncoder(name, lambda _text: [1.0]) for name in ("one", "two"))
    url = "http://127.0.0.1:6333/collections/docs/points/query"
    assert HttpEngine(url, "qdrant", encoder=one).identity() != (
        HttpEngine(url, "qdrant", encoder=two).identity()
    )
    programs = [ProgramEngine("search {vector}", encoder=encoder) for encoder in (one, two)]
    assert programs[0].identity() != programs[1].identity()
    assert HttpEngine("http://h/?q={query}", encoder=one).identity() == (
        HttpEngine("http://h/?q={query}").identity()
    )
