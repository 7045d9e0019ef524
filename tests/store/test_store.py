"""The store: what is kept, what is refused, and that a refused file stays as it was."""

import asyncio
import json
import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeler.errors import BadInput, CallFailed, FileProblem, LabelerError
from labeler.files.jsonl import read_rows
from labeler.model import Message, Model, Reply, Request
from labeler.store import Store, key_of, open_store, remembered
from labeler.store.keys import canonical, checksum, key_of_text
from labeler.store.sqlite import exported
from labeler.store.sqlite import maintain as upkeep
from labeler.store.sqlite.leases import Now
from labeler.store.sqlite.open import network_file_system
from labeler.store.sqlite.replies import Batch, Failed, Kept
from labeler.store.sqlite.schema import APPLICATION_ID, VERSION
from labeler.testing import fake_model

ASKED = Request(
    messages=(Message("system", "s"), Message("user", "u")),
    parameters={"temperature": 0.0, "max_tokens": 64},
    schema={"type": "object"},
    inputs={"query": "q"},
)
CHANGES: list[dict[str, Any]] = [
    {"messages": (Message("system", "s"), Message("user", "u2"))},
    {"messages": (Message("user", "s"), Message("user", "u"))},
    {"messages": (Message("system", "su"), Message("user", ""))},
    {"messages": (Message("system", "s"),)},
    {"parameters": {"temperature": 0.5, "max_tokens": 64}},
    {"parameters": {"temperature": 0.0, "max_tokens": 65}},
    {"parameters": {"temperature": 0.0}},
    {"parameters": {"temperature": 0.0, "max_tokens": 64, "seed": 1}},
    {"schema": None},
    {"schema": {"type": "object", "a": 1}},
    {"inputs": {"query": "q2"}},
    {"inputs": {}},
    {"repeat": 1},
    {"attempt": 1},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_key_covers_everything_that_an_answer_depends_on(change: dict[str, Any]) -> None:
    assert key_of("m", replace(ASKED, **change)) != key_of("m", ASKED)
    assert key_of("m", ASKED) == key_of("m", replace(ASKED))
    assert key_of("m2", ASKED) != key_of("m", ASKED)


def test_the_order_in_which_parameters_are_named_makes_no_other_key() -> None:
    turned = replace(ASKED, parameters={"max_tokens": 64, "temperature": 0.0})
    assert key_of("m", turned) == key_of("m", ASKED)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    text=TEXTS,
    refusal=st.none() | TEXTS,
    counts=st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
    cost=st.none() | st.floats(0, 1e6),
    tops=st.lists(st.dictionaries(TEXTS, st.floats(-1e3, 0), min_size=1), max_size=3),
    body=st.binary(),
)
def test_a_kept_reply_comes_back_as_it_was(  # noqa: PLR0917 - hypothesis gives the fields of a reply
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    refusal: str | None,
    counts: tuple[int, int],
    cost: float | None,
    tops: list[dict[str, float]],
    body: bytes,
) -> None:
    reply = Reply(
        text, "stop", refusal, "m-1", *counts, top_tokens=tops or (), body=body, cost=cost
    )
    path = tmp_path_factory.mktemp("store") / "replies.db"
    with open_store(path) as store:
        store.write(Batch([Kept(b"k" * 32, "m", "asked", reply)]))
    with open_store(path) as store:
        assert store.replies([b"k" * 32]) == {
            b"k" * 32: replace(reply, body=b"", remembered=True),
        }
        assert upkeep.verify(store) == (1, ())


def test_what_is_asked_once_is_asked_once(tmp_path: Path) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return f"answer {len(asked)}"

    async def twice(store: Store) -> list[str]:
        model = remembered(fake_model(answer), store)
        both = await asyncio.gather(model.ask(ASKED), model.ask(ASKED))
        await model.close()
        return [reply.text for reply in both]

    with open_store(tmp_path / "replies.db") as store:
        assert asyncio.run(twice(store)) == ["answer 1", "answer 1"]
        assert asyncio.run(twice(store)) == ["answer 1", "answer 1"]
        recalled = remembered(fake_model(answer), store).recall([ASKED, replace(ASKED, repeat=1)])
    assert [reply and reply.text for reply in recalled] == ["answer 1", None]
    assert len(asked) == 1


def test_a_failed_call_is_no_reply_and_is_remembered_as_news_only(tmp_path: Path) -> None:
    def fail(_request: Request) -> str:
        raise CallFailed("no such luck")

    async def once(model: Model) -> str:
        try:
            return (await model.ask(ASKED)).text
        finally:
            await model.close()

    with open_store(tmp_path / "replies.db") as store:
        with pytest.raises(CallFailed):
            asyncio.run(once(remembered(fake_model(fail), store)))
        failure = upkeep.failure_of(store, key_of("fake", ASKED))
        assert failure is not None
        assert failure[1:] == ("call_failed", "no such luck")
        assert asyncio.run(once(remembered(fake_model("yes"), store))) == "yes"
        assert upkeep.failure_of(store, key_of("fake", ASKED)) is None


def test_the_first_reply_under_a_key_stays(tmp_path: Path) -> None:
    with open_store(tmp_path / "replies.db") as store:
        first = Kept(b"k" * 32, "m", "", Reply("first"))
        store.write(Batch([first]))
        granted = store.write(Batch([first._replace(reply=Reply("second"))]))
        assert granted.replies[b"k" * 32].text == "first"
        assert store.replies([b"k" * 32])[b"k" * 32].text == "first"


def head(path: Path) -> bytes:
    return path.read_bytes()


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def newer(path: Path) -> None:
    made(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")


def made(path: Path, *, redacted: bool = False) -> None:
    with open_store(path, redacted=redacted) as store:
        rows = [
            Kept(bytes([n]) * 32, "m", "x" * 500, Reply(f"answer {n}", body=b"b" * 900))
            for n in range(64)
        ]
        store.write(Batch(rows))


def versionless(path: Path) -> None:
    made(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def cut(path: Path) -> None:
    made(path)
    path.write_bytes(path.read_bytes()[:-5000])


def garbled(path: Path) -> None:
    made(path)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (foreign, "not a store of labeler's"),
        (newer, "newer"),
        (versionless, "no version"),
        (cut, "cut short"),
        (garbled, "damaged"),
        (lambda path: path.write_bytes(b"hello, this is a text file\n" * 50), "not a store"),
        (lambda path: path.write_bytes(b"SQLite format 3\0"), "not a store"),
        (lambda path: path.mkdir(), "directory"),
    ],
    ids=["foreign", "newer", "versionless", "cut", "garbled", "text", "head only", "folder"],
)
def test_what_is_no_whole_store_is_refused_and_left_as_it_was(
    tmp_path: Path, spoil: Callable[[Path], object], says: str
) -> None:
    path = tmp_path / "replies.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(LabelerError, match=says) as caught, open_store(path) as store:
        store.replies([bytes([n]) * 32 for n in range(64)])
    assert caught.value.exit_code in {65, 74}
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_an_old_store_that_cannot_be_brought_up_to_date_leaves_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (a)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    for _ in range(2):
        with pytest.raises(LabelerError):
            Store(path)
    assert [found.name for found in tmp_path.iterdir()] == ["replies.db"]


def test_an_empty_file_counts_as_new(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    path.touch()
    made(path)
    with open_store(path) as store:
        assert len(store) == 64
    assert [p.name for p in tmp_path.iterdir()] == ["replies.db"]


def _try_to_open(path: Path, said: "multiprocessing.Queue[str]") -> None:
    if os.getuid() == 0:
        os.setuid(65534)  # root may write anything
    try:
        with open_store(path, reading=True) as store:
            count = upkeep.verify(store).replies
        Store(path)
    except LabelerError as error:
        said.put(f"{count} {error.exit_code} {error}")
    else:
        said.put("opened")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such rights on Windows")
def test_a_read_only_store_is_read_and_nothing_else() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "replies.db"
        made(path)
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        before = path.read_bytes()
        context = multiprocessing.get_context("fork")
        said: multiprocessing.Queue[str] = context.Queue()
        child = context.Process(target=_try_to_open, args=(path, said))
        child.start()
        found = said.get(timeout=20)
        child.join()
        assert found.startswith("64 74 ")
        assert "read-only" in found
        assert path.read_bytes() == before


def test_a_flipped_bit_in_a_reply_is_never_a_reply(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    made(path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"answer 7", b"answer 8", 1))
    with open_store(path) as store:
        assert len(upkeep.verify(store).problems) == 1
        with pytest.raises(BadInput, match="damaged"):
            store.replies([bytes([7]) * 32])
        assert store.replies([bytes([9]) * 32])[bytes([9]) * 32].text == "answer 9"


VERSION_1 = """
CREATE TABLE replies (
    key BLOB PRIMARY KEY, model TEXT NOT NULL, served TEXT NOT NULL, text TEXT NOT NULL,
    finish_reason TEXT NOT NULL, refusal TEXT, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, at REAL NOT NULL, top_tokens TEXT, request TEXT,
    body BLOB NOT NULL
) STRICT
"""
"""The tables of a store as version 1 made them."""


def test_a_store_of_version_1_is_brought_up_to_date_with_a_copy_kept(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(VERSION_1)
        tops = json.dumps([{"2": -0.1}])
        row = (b"k" * 32, "m", "m-1", "hello", "stop", None, 3, 4, 5.5, tops, "asked", b"body")
        connection.execute(f"INSERT INTO replies VALUES ({','.join('?' * 12)})", row)
        connection.commit()
        connection.execute("PRAGMA application_id = 1818321516")
        connection.execute("PRAGMA user_version = 1")
    before = path.read_bytes()
    with open_store(path) as store:
        reply = store.replies([b"k" * 32])[b"k" * 32]
        assert (reply.text, reply.model, reply.prompt_tokens) == ("hello", "m-1", 3)
        assert reply.top_tokens == [{"2": -0.1}]
        record = upkeep.record_of(store, b"k" * 32)
        assert record is not None
        assert (record.request, record.body, record.at) == ("asked", b"body", 5.5)
        assert upkeep.verify(store) == (1, ())
    copies = [p for p in tmp_path.iterdir() if ".v1-" in p.name]
    assert [copy.read_bytes() for copy in copies] == [before]
    with open_store(path) as store:
        assert len(store) == 1
    assert len([p for p in tmp_path.iterdir() if ".v1-" in p.name]) == 1


class Clock:
    """Both clocks, to be set by hand."""

    def __init__(self) -> None:
        self.monotonic, self.wall = 1000.0, 2_000_000_000.0

    def __call__(self) -> Now:
        return Now(self.monotonic, self.wall)


def test_a_lease_ends_by_the_clock_that_nobody_can_set(tmp_path: Path) -> None:
    """The other process is this one under a number of its own: alive, and holding the lease."""
    clock = Clock()
    one, other = (Store(tmp_path / "replies.db", clock=clock) for _ in range(2))
    try:
        assert one.write(Batch(claimed=[b"k" * 32])).leases == {b"k" * 32}
        for wall in (clock.wall + 10**6, clock.wall - 10**6):
            clock.wall = wall
            assert other.write(Batch(claimed=[b"k" * 32])).leases == frozenset()
        clock.monotonic += 59
        assert other.write(Batch(claimed=[b"k" * 32])).leases == frozenset()
        one.renew()
        clock.monotonic += 59
        assert other.write(Batch(claimed=[b"k" * 32])).leases == frozenset()
        clock.monotonic += 2
        assert other.write(Batch(claimed=[b"k" * 32])).leases == {b"k" * 32}
    finally:
        one.close()
        other.close()


def test_what_failed_for_another_process_fails_here_and_is_asked_by_a_later_one(
    tmp_path: Path,
) -> None:
    key, news = b"k" * 32, Failed(b"k" * 32, "call_failed", "x")
    one, beside = (Store(tmp_path / "replies.db") for _ in range(2))
    one.write(Batch(claimed=[key]))
    assert beside.write(Batch(claimed=[key])).leases == frozenset()
    one.write(Batch(failed=[news]))
    late = Store(tmp_path / "replies.db")
    for other in (beside, late):
        granted = other.write(Batch(claimed=[key]))
        assert (granted.failures, granted.leases) == ({key: news}, frozenset())
    assert one.write(Batch(claimed=[key])).leases == {key}
    assert late.write(Batch(claimed=[key])).failures == {}
    one.write(Batch(failed=[news]))
    one.close()
    assert beside.write(Batch(claimed=[key])).failures == {key: news}
    beside.close()
    late.close()
    with open_store(tmp_path / "replies.db") as later:
        assert later.write(Batch(claimed=[key])).leases == {key}


@pytest.mark.parametrize("how", ["kept", "closed"])
def test_a_lease_ends_with_its_call(tmp_path: Path, how: str) -> None:
    one, other = (Store(tmp_path / "replies.db") for _ in range(2))
    key = b"k" * 32
    one.write(Batch(claimed=[key]))
    if how == "kept":
        one.write(Batch([Kept(key, "m", "", Reply("there"))]))
    else:
        one.close()
    granted = other.write(Batch(claimed=[key]))
    if how == "kept":
        assert granted.replies[key].text == "there"
    else:
        assert granted.leases == {key}
    other.close()


def test_a_link_that_leads_nowhere_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "replies.db").symlink_to(tmp_path / "gone.db")
    with pytest.raises(FileProblem, match="which is not there"):
        Store(tmp_path / "replies.db")


def test_a_locked_store_is_74_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    made(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder, open_store(path) as store:
        store._connection.execute("PRAGMA busy_timeout = 100")
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(FileProblem, match="locked"):
            store.write(Batch([Kept(b"z" * 32, "m", "", Reply("late"))]))
        holder.execute("ROLLBACK")
        store.write(Batch([Kept(b"z" * 32, "m", "", Reply("late"))]))


def test_a_redacted_store_keeps_no_request_text(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"

    async def once(store: Store) -> None:
        model = remembered(fake_model("fine"), store)
        secret = replace(ASKED, messages=(Message("user", "SECRET PASSAGE"),))
        await model.ask(secret)
        assert model.recall([secret])[0] is not None
        await model.close()

    with open_store(path, redacted=True) as store:
        asyncio.run(once(store))
    assert all(b"SECRET" not in p.read_bytes() for p in tmp_path.iterdir())


def test_what_is_exported_can_be_imported(tmp_path: Path) -> None:
    made(tmp_path / "a" / "replies.db", redacted=True)
    file = tmp_path / "out.jsonl.gz"
    with open_store(tmp_path / "a" / "replies.db") as store:
        assert upkeep.export(store, file) == 64
        before = upkeep.statistics(store)
    with open_store(tmp_path / "b" / "replies.db") as store:
        assert upkeep.import_rows(store, read_rows(file), file) == 64
        assert upkeep.import_rows(store, read_rows(file), file) == 0
        assert upkeep.verify(store) == (64, ())
        assert upkeep.statistics(store) == before
        record = upkeep.record_of(store, bytes([3]) * 32)
        assert record is not None
        assert record.body == b"b" * 900
        file.write_bytes(b'{"key": "00"}\n')
        with pytest.raises(BadInput, match="not a row"):
            upkeep.import_rows(store, read_rows(file), file)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"text": "another"}, "was it edited"),
        ({"body": "AAAA"}, "was it edited"),
        ({"text": None}, "text: null"),
        ({"top_tokens": "nojson"}, "top_tokens"),
        ({"top_tokens": "5"}, "top_tokens"),
        ({"top_tokens": "[5]"}, "top_tokens"),
        ({"key": "00"}, "key"),
        ({"prompt_tokens": True}, "prompt_tokens"),
        ({"at": float("nan")}, "at"),
        ({"checksum": "zz"}, "non-hexadecimal"),
    ],
    ids=str,
)
def test_a_changed_row_is_never_imported(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    file, row = exported_row(tmp_path)
    with open_store(tmp_path / "b.db") as store:
        file.write_text("\n" + json.dumps(row | change))
        with pytest.raises(BadInput, match=rf"out\.jsonl:2: .*{says}"):
            upkeep.import_rows(store, read_rows(file), file)
        assert len(store) == 0
        file.write_text(json.dumps(row))
        assert upkeep.import_rows(store, read_rows(file), file) == 1


def test_a_row_under_the_key_of_another_request_is_never_imported(tmp_path: Path) -> None:
    file, row = exported_row(tmp_path)
    swapped = checksum(bytes(32), *[row[name] for name in exported.COLUMNS[1:]]).hex()
    file.write_text(json.dumps(row | {"key": bytes(32).hex(), "checksum": swapped}))
    with open_store(tmp_path / "b.db") as store, pytest.raises(BadInput, match="its request"):
        upkeep.import_rows(store, read_rows(file), file)


def exported_row(folder: Path) -> tuple[Path, dict[str, Any]]:
    """A file of one exported row, and that row."""
    request, file = canonical("m", ASKED), folder / "out.jsonl"
    reply = Reply("one", top_tokens=({"2": -0.5},), body=b"b")
    with open_store(folder / "a.db") as store:
        store.write(Batch([Kept(key_of_text(request), "m", request, reply)]))
        upkeep.export(store, file)
    return file, json.loads(file.read_text())


def test_pruned_replies_are_gone_and_their_room_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    made(path)
    with open_store(path) as store:
        assert upkeep.prune(store, "another", None) == 0
        assert upkeep.prune(store, None, time.strftime("%Y-%m-%d")) == 0
        assert upkeep.prune(store, "m", None) == 64
        before, after = upkeep.collect_garbage(store)
        assert after < before / 2
        assert upkeep.verify(store) == (0, ())
        with pytest.raises(BadInput, match="not a day"):
            upkeep.prune(store, None, "yesterday")


def test_a_network_file_system_is_known_by_its_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n", encoding="utf-8"
    )
    assert network_file_system(tmp_path / "coll" / "replies.db", mounts) == "nfs4"
    assert network_file_system(Path("/etc/hosts"), mounts) is None
    assert network_file_system(tmp_path, tmp_path / "no such file") is None
