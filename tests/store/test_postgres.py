"""A store in PostgreSQL keeps what a store in a file keeps, for several machines at once."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from examples import steadily
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made import make_collection, pair_calls
from postgres_server import PostgresServer, postgres_server
from running import finish, start

from labeler.collection.layout import Collection
from labeler.data import Pair
from labeler.errors import BadInput, FileProblem, Misconfigured
from labeler.judging.judge import judge
from labeler.model import Reply
from labeler.models.session import Control
from labeler.store import Store, StorePlace, Waiting, maintain, open_store
from labeler.store.address import DatabaseAddress
from labeler.store.base import Failed, KeyedReply, WriteBatch
from labeler.store.postgres import PostgresDatabase
from labeler.testing import Answer, Call, FakeServer, completion, fake_model, small_collection
from labeler.trec.files import read_qrels

KEY, OTHER = b"k" * 32, b"o" * 32


@pytest.fixture(scope="module")
def server(postgres: PostgresServer) -> PostgresServer:
    return postgres


@pytest.fixture(params=["file", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorePlace:
    """A new store of either kind."""
    if request.param == "file":
        return tmp_path / "replies.db"
    server: PostgresServer = request.getfixturevalue("server")
    return DatabaseAddress.of(server.database())


def keyed(key: bytes = KEY, text: str = "yes", request: str = "asked") -> KeyedReply:
    return KeyedReply(key, "m", request, Reply(text, "stop", None, "m-1", 3, 4, cost=0.25))


def database_store(address: DatabaseAddress, waiting: Waiting | None = None) -> Store:
    """A store in a database, to be closed by hand."""
    return Store(PostgresDatabase(address, waiting), waiting=waiting)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@settings(steadily(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.binary(min_size=32, max_size=32),
    text=TEXTS,
    refusal=st.none() | TEXTS,
    counts=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
    cost=st.none() | st.floats(0, 1e6),
    tops=st.lists(st.dictionaries(TEXTS, st.floats(-1e3, 0), min_size=1), max_size=3),
    body=st.binary(),
)
def test_a_kept_reply_comes_back_as_it_was(  # noqa: PLR0917 - hypothesis gives the fields
    shared: Store,
    key: bytes,
    text: str,
    refusal: str | None,
    counts: tuple[int, int],
    cost: float | None,
    tops: list[dict[str, float]],
    body: bytes,
) -> None:
    reply = Reply(text, "stop", refusal, "m-1", *counts, top_tokens=tops or (), body=body)
    reply = replace(reply, cost=cost)
    granted = shared.write(WriteBatch([KeyedReply(key, "m", text, reply)]))
    if key not in granted.replies:
        kept = shared.replies([key])[key]
        assert replace(kept, shared=False) == replace(reply, body=b"", remembered=True)
        record = shared.record(key)
        assert record is not None
        assert (record.request, record.body, record.cost) == (text, body, cost)


@pytest.fixture(scope="module")
def shared(server: PostgresServer) -> Iterator[Store]:
    with open_store(DatabaseAddress.of(server.database())) as store:
        yield store


def test_the_first_reply_under_a_key_stays(place: StorePlace) -> None:
    with open_store(place) as store, open_store(place) as other:
        store.write(WriteBatch([keyed(text="first"), keyed(OTHER)]))
        late = other.write(WriteBatch([keyed(text="second")]))
        assert late.replies[KEY].text == "first"
        assert store.replies([KEY])[KEY].text == "first"
        assert len(store) == 2


def test_what_came_while_the_store_was_open_is_shared(place: StorePlace) -> None:
    with open_store(place) as early, open_store(place) as other:
        other.write(WriteBatch([keyed()]))
        assert early.replies([KEY])[KEY].shared
    with open_store(place) as later:
        assert not later.replies([KEY])[KEY].shared


def test_a_key_is_leased_to_one_process_until_it_has_its_reply(place: StorePlace) -> None:
    with open_store(place) as store, open_store(place) as other:
        assert store.write(WriteBatch(claimed=[KEY, OTHER])).leases == {KEY, OTHER}
        assert other.write(WriteBatch(claimed=[KEY])).leases == frozenset()
        store.renew()
        store.write(WriteBatch([keyed()]))
        granted = other.write(WriteBatch(claimed=[KEY, OTHER]))
        assert (granted.replies[KEY].text, granted.leases) == ("yes", frozenset())
    with open_store(place) as later:
        assert later.write(WriteBatch(claimed=[OTHER])).leases == {OTHER}


def test_what_failed_elsewhere_meanwhile_fails_here_and_later_is_asked_again(
    place: StorePlace,
) -> None:
    with open_store(place) as store, open_store(place) as other:
        store.write(WriteBatch(claimed=[KEY]))
        store.write(WriteBatch(failed=[Failed(KEY, "call_failed", "why\0")]))
        granted = other.write(WriteBatch(claimed=[KEY]))
        assert granted.failures[KEY] == Failed(KEY, "call_failed", "why\0")
        failure = other.failure(KEY)
        assert failure is not None
        assert failure[1:] == ("call_failed", "why\0")
    with open_store(place) as later:
        assert later.write(WriteBatch(claimed=[KEY])).leases == {KEY}
        later.write(WriteBatch([keyed()]))
        assert later.failure(KEY) is None


def test_facts_are_kept_and_some_only_once(place: StorePlace) -> None:
    with open_store(place) as store:
        store.learn("a", "1")
        store.learn("a", "2")
        assert (store.fact("a"), store.fact("b")) == ("2", None)
        assert store.learn_once("c", "first") == "first"
        assert store.learn_once("c", "second") == "first"


def test_a_redacted_store_keeps_no_request_text(place: StorePlace) -> None:
    with open_store(place, redacted=True) as store:
        store.write(WriteBatch([keyed()]))
        record = store.record(KEY)
        assert record is not None
        assert record.request is None


def test_a_reply_that_was_changed_is_never_a_reply(server: PostgresServer) -> None:
    address = DatabaseAddress.of(server.database())
    store = database_store(address)
    store.write(WriteBatch([keyed()]))
    store.database.transaction(lambda c: c.run("UPDATE labeler.replies SET prompt_tokens = 4"))
    with pytest.raises(Exception, match="damaged"):
        store.replies([KEY])
    store.close()


def test_the_lease_of_a_machine_that_is_gone_ends_by_the_servers_clock(
    server: PostgresServer,
) -> None:
    address = DatabaseAddress.of(server.database())
    gone, store = database_store(address), database_store(address)
    gone.write(WriteBatch(claimed=[KEY]))
    away = "UPDATE labeler.owners SET place = 'elsewhere'"
    gone.database.transaction(lambda c: c.run(away))
    assert store.write(WriteBatch(claimed=[KEY])).leases == frozenset()
    gone.database.transaction(lambda c: c.run(f"{away}, until = now() - interval '1 second'"))
    assert store.write(WriteBatch(claimed=[KEY])).leases == {KEY}
    gone.close()
    store.close()


def test_a_connection_that_is_cut_is_made_again(server: PostgresServer) -> None:
    address = DatabaseAddress.of(server.database())
    store, other = database_store(address), database_store(address)
    store.write(WriteBatch([keyed()]))
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    other.database.transaction(lambda c: c.run(cut), writing=False)
    store.write(WriteBatch([keyed(OTHER)], claimed=[b"n" * 32]))
    assert len(store) == 2
    store.close()
    other.close()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("postgresql://me:secret@host/db", "PGPASSWORD"),
        ("postgresql://me@host", "no address of a database"),
        ("postgresql://host:x/db", "cannot be read"),
        ("mysql://me@host/db", "no address of a database"),
        ("me:secret@host/db", "no address of a database"),
        ("postgresql://me@host/db:secret@x", "no address of a database"),
        ("postgresql://me@host/db?password=secret", "sslmode and sslrootcert"),
        ("postgresql://me@host/db?sslmode=secret", "is one of disable"),
    ],
)
def test_what_is_no_address_or_holds_a_password_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Misconfigured, match=problem) as refused:
        DatabaseAddress.of(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me@[::1]/db",
        "postgresql://me@[fe80::2]:5433/db",
        "postgresql://me%40firm@host/a%2Fb%20c",
        "postgresql://me@host/db?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    ],
)
def test_an_address_is_shown_so_that_it_can_be_read_again(text: str) -> None:
    address = DatabaseAddress.of(text)
    assert (str(address), DatabaseAddress.of(str(address))) == (text, address)


def test_a_password_is_asked_for_in_words(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.database().replace("labeler@", "anna@")
    server.do("CREATE ROLE anna SUPERUSER LOGIN PASSWORD 'sesame'")
    server.ask_password_of("anna")
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with pytest.raises(Misconfigured, match="PGPASSWORD is not set"):
        database_store(DatabaseAddress.of(url))
    monkeypatch.setenv("PGPASSWORD", "wrong-secret")
    with pytest.raises(Misconfigured, match="password authentication failed") as refused:
        database_store(DatabaseAddress.of(url))
    assert "secret" not in str(refused.value)
    monkeypatch.setenv("PGPASSWORD", "sesame")
    database_store(DatabaseAddress.of(url)).close()


def test_a_role_with_the_rights_of_the_page_works_and_another_is_told(
    server: PostgresServer,
) -> None:
    url = server.database()
    database_store(DatabaseAddress.of(url)).close()
    name = url.rpartition("/")[2]
    server.do("CREATE ROLE ben LOGIN", "CREATE ROLE eve LOGIN")
    server.do(
        "GRANT USAGE ON SCHEMA labeler TO ben",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA labeler TO ben",
        database=name,
    )
    store = database_store(DatabaseAddress.of(url.replace("labeler@", "ben@")))
    store.write(WriteBatch([keyed()], [Failed(OTHER, "call_failed", "why")], [b"n" * 32]))
    assert store.learn_once("a", "b") == "b"
    store.close()
    with pytest.raises(Misconfigured, match="permission denied"):
        database_store(DatabaseAddress.of(url.replace("labeler@", "eve@")))


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_of_another_encoding_keeps_all_texts(
    server: PostgresServer, encoding: str
) -> None:
    how = f"ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    store = database_store(DatabaseAddress.of(server.database(how)))
    store.write(WriteBatch([keyed(text="кот 猫", request="кто")]))
    assert store.replies([KEY])[KEY].text == "кот 猫"
    record = store.record(KEY)
    assert record is not None
    assert record.request == "кто"
    store.learn("é", "ü")
    assert store.fact("é") == "ü"
    store.close()


def test_an_answer_may_take_longer_than_a_connection(server: PostgresServer) -> None:
    store = database_store(DatabaseAddress.of(server.database()))
    limits = store.database.transaction(
        lambda c: [c.connection._usock.gettimeout()],
        writing=False,
    )
    assert limits[0] >= 60
    store.close()


def test_a_store_is_closed_where_its_database_has_gone(server: PostgresServer) -> None:
    store = database_store(DatabaseAddress.of(server.database()), waiting=Waiting(1e6))
    store.write(WriteBatch(claimed=[KEY]))
    server.stop()
    try:
        store.close()
    finally:
        server.start()


@pytest.mark.sweep
def test_tls_is_as_sure_as_the_address_says(tmp_path: Path) -> None:
    with postgres_server() as plain:
        url = plain.database()
        with pytest.raises(Misconfigured, match="refuses SSL"):
            database_store(DatabaseAddress.of(f"{url}?sslmode=require"))
        certificate = plain.encrypt()
        copy = tmp_path / "ca.pem"
        copy.write_bytes(certificate.read_bytes())
        plain.stop()
        plain.start()
        here = url.replace("127.0.0.1", "localhost")
        sure = f"sslmode=verify-full&sslrootcert={copy}"
        for good in (url, f"{url}?sslmode=require", f"{here}?{sure}"):
            assert is_encrypted(good)
        assert not is_encrypted(f"{url}?sslmode=disable")
        for bad in (f"{url}?{sure}", f"{here}?sslmode=verify-full"):
            with pytest.raises(Misconfigured, match="certificate"):
                database_store(DatabaseAddress.of(bad))


def is_encrypted(url: str) -> bool:
    store = database_store(DatabaseAddress.of(url))
    query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    rows = store.database.transaction(lambda c: c.run(query), writing=False)
    store.close()
    return bool(rows[0][0])


def test_a_database_that_is_not_there_is_said_in_one_line(server: PostgresServer) -> None:
    nowhere = f"postgresql://labeler@127.0.0.1:{server.port}/nowhere"
    with pytest.raises(Misconfigured, match='database "nowhere" does not exist'):
        database_store(DatabaseAddress.of(nowhere))
    closed = DatabaseAddress.of("postgresql://labeler@127.0.0.1:1/db")
    with pytest.raises(FileProblem, match=re.escape("127.0.0.1:1/db")):
        database_store(closed, waiting=Waiting(0.0))


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pg8000", None)
    address = DatabaseAddress.of("postgresql://labeler@127.0.0.1:1/db")
    with pytest.raises(Misconfigured, match=re.escape("pip install 'ir-labeler[postgres]'")):
        database_store(address, waiting=Waiting(0.0))


def test_a_store_is_checked_counted_and_shrunk(place: StorePlace) -> None:
    keys = [bytes([n]) * 32 for n in range(64)]
    with open_store(place) as store:
        store.write(WriteBatch([keyed(key, text="x" * 5000) for key in keys]))
        store.write(WriteBatch([keyed(OTHER)._replace(model_id="n")]))
        assert maintain.verify(store) == (65, ())
        counts = maintain.statistics(store)
        assert [count[:5] for count in counts] == [
            ("m", 64, 192, 256, 16.0),
            ("n", 1, 3, 4, 0.25),
        ]
        assert maintain.prune(store, "another", None) == 0
        assert maintain.prune(store, None, "2020-01-31") == 0
        assert maintain.prune(store, "m", None) == 64
        before, after = store.database.collect_garbage()
        assert after < before
        assert (maintain.verify(store), store.database.size()) == ((1, ()), after)
        with pytest.raises(BadInput, match="not a day"):
            maintain.prune(store, None, "yesterday")


def test_what_is_not_as_it_was_written_is_listed(server: PostgresServer) -> None:
    url = server.database()
    keys = [bytes([n]) * 32 for n in range(3)]
    with open_store(DatabaseAddress.of(url)) as store:
        store.write(WriteBatch([keyed(key) for key in keys]))
        server.do(
            "UPDATE labeler.replies SET text = 'no' WHERE id = 1",
            "UPDATE labeler.wires SET body = 'no' WHERE id = 2",
            "DELETE FROM labeler.wires WHERE id = 3",
            database=url.rpartition("/")[2],
        )
        assert maintain.verify(store).problems == (
            f"reply 1 ({'00' * 8}…)",
            "request or body of reply 2",
            "reply 3 has no request and no body",
        )


def test_room_is_given_back_by_the_owner_of_the_tables_alone(server: PostgresServer) -> None:
    url = server.database()
    database_store(DatabaseAddress.of(url)).close()
    server.do(
        "CREATE ROLE mia LOGIN",
        "GRANT USAGE ON SCHEMA labeler TO mia",
        "GRANT SELECT ON ALL TABLES IN SCHEMA labeler TO mia",
        database=url.rpartition("/")[2],
    )
    with open_store(DatabaseAddress.of(url.replace("labeler@", "mia@")), reading=True) as store:
        assert maintain.verify(store) == (0, ())
        with pytest.raises(Misconfigured, match="only labeler, who owns the tables"):
            store.database.collect_garbage()


def failing(server: PostgresServer, url: str, code: str) -> None:
    """Let every reply that is written fail with a code of PostgreSQL's."""
    server.do(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" RAISE EXCEPTION 'no room for it' USING ERRCODE = '{code}'; END $$",
        "CREATE TRIGGER fails BEFORE INSERT ON labeler.replies EXECUTE FUNCTION fail()",
        database=url.rpartition("/")[2],
    )


def test_on_a_full_disk_of_the_server_replies_are_saved_and_sent_later(
    server: PostgresServer, tmp_path: Path
) -> None:
    url = server.database()
    address = DatabaseAddress.of(url, unsent=tmp_path / "replies.db")
    with open_store(address) as store:
        failing(server, url, "53100")
        with pytest.raises(FileProblem, match=r"no room for it; replies are saved in"):
            store.write(WriteBatch([keyed()]))
    server.do("DROP FUNCTION fail CASCADE", database=url.rpartition("/")[2])
    with open_store(address) as store:
        assert store.replies([KEY])[KEY].text == "yes"


@pytest.mark.sweep
def test_a_replica_that_only_reads_is_read_and_nobody_is_asked_for_it(
    server: PostgresServer, tmp_path: Path
) -> None:
    url = server.database()
    with open_store(DatabaseAddress.of(url)) as store:
        store.write(WriteBatch([keyed()]))
    name = url.rpartition("/")[2]
    server.do(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    make_collection(tmp_path, queries=1, documents=5)
    with FakeServer(slowly) as model:
        code, said = finish(start(tmp_path, model, "--set", f"store.url={url}"))
        assert (code, "read-only transaction" in said, pair_calls(model)) == (74, True, [])
    with open_store(DatabaseAddress.of(url), reading=True) as store:
        assert store.replies([KEY])[KEY].text == "yes"
        assert maintain.verify(store) == (1, ())


def slowly(call: Call) -> Answer:
    return Answer(completion('{"grade": 2}'), delay=0.02)


def pairs_of(queries: int, documents: int) -> list[Pair]:
    return [Pair(f"q{q}", f"d{d}") for q in range(queries) for d in range(documents)]


def test_collections_of_two_machines_share_the_work_and_ask_nothing_twice(
    server: PostgresServer, tmp_path: Path
) -> None:
    url = server.database()
    folders = [tmp_path / "one", tmp_path / "two"]
    collections = [make_collection(folder, queries=2, documents=50) for folder in folders]
    with FakeServer(slowly) as model:
        started = [start(folder, model, "--set", f"store.url={url}") for folder in folders]
        for process in started:
            code, said = finish(process, 120)
            assert code == 0, said
        assert sorted(pair_calls(model)) == sorted(pairs_of(2, 50))
    first, second = (read_qrels(each.qrels("a")) for each in collections)
    assert first == second
    assert not collections[0].folder.joinpath("replies.db").exists()


def test_replies_that_the_database_cannot_take_in_are_saved_and_sent_later(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, url = small_collection(), server.database()
    monkeypatch.setenv("LABELER_STORE", url)
    place = collection.store
    assert isinstance(place, DatabaseAddress)
    with open_store(place, waiting=Waiting(0.0)) as store:
        server.stop()
        try:
            with pytest.raises(FileProblem, match="replies are saved in"):
                store.write(WriteBatch([keyed()]))
        finally:
            server.start()
    notes: list[str] = []
    with open_store(place, waiting=Waiting(note=notes.append)) as store:
        assert store.replies([KEY])[KEY].text == "yes"
    assert "took in 1 reply" in notes[0]
    assert not list(collection.folder.glob("replies.db*"))


def test_the_replies_of_a_file_go_into_the_database_and_answer_there(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, asked = small_collection(), []

    def counted(request: object) -> str:
        asked.append(request)
        return '{"grade": 2}'

    model = fake_model(counted)
    judge(collection, model=model, name="one")
    file = collection.store
    assert isinstance(file, Path)
    store = database_store(DatabaseAddress.of(server.database()))
    assert (store.take_in_file(file), store.take_in_file(file)) == (4, 0)
    store.close()
    monkeypatch.setenv("LABELER_STORE", str(store.database.address))
    notes: list[str] = []
    control = Control(note=notes.append)
    assert judge(collection, model=model, name="two", control=control).judged == 4
    assert any(note.startswith(f"{file} is not read") for note in notes)
    file.unlink()
    assert judge(Collection(collection.folder), model=model, name="two").judged == 4
    assert len(asked) == 4
