"""The store: what is kept, what is refused, and that a refused file stays as it was."""

import asyncio
import json
import math
import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examples import steadily
from hypothesis import example, given
from hypothesis import strategies as st

from labeler.errors import BadInput, CallFailed, FileProblem, LabelerError, Stopped
from labeler.model import Message, Model, Reply, Request
from labeler.models.policies.call import asked_through
from labeler.models.policies.limits import RateLimiter, RateLimits
from labeler.models.policies.stack import Guard, Remembering, guarded
from labeler.store import Store, Waiting, maintain, open_store
from labeler.store.base import Failed, Granted, KeyedReply, Record, WriteBatch
from labeler.store.keys import Canon
from labeler.store.maintain import FORGOTTEN_AT_ONCE
from labeler.store.replies import Rescue
from labeler.store.sqlite import VERSION, Now, SqliteDatabase, now
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
    {"parameters": {"max_tokens": 64}},
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
    assert Canon("m").keyed(replace(ASKED, **change)).key != Canon("m").keyed(ASKED).key
    assert Canon("m").keyed(ASKED).key == Canon("m").keyed(replace(ASKED)).key
    assert Canon("m2").keyed(ASKED).key != Canon("m").keyed(ASKED).key


def test_the_order_in_which_parameters_are_named_makes_no_other_key() -> None:
    turned = replace(ASKED, parameters={"max_tokens": 64, "temperature": 0.0})
    assert Canon("m").keyed(turned).key == Canon("m").keyed(ASKED).key


def remembered(model: Model, store: Store, **how: Any) -> Model:
    """A model that answers from a store, and keeps what it answers."""
    policy = Remembering(model, store, **how)
    asked = asked_through([policy], model)
    return replace(asked, recall=policy.recall, close=policy.finish)


def file_store(path: Path, clock: Callable[[], Now] = now) -> Store:
    """A store in a file, to be closed by hand."""
    return Store(SqliteDatabase(path, clock=clock))


HUGE = [10**400, -(10**400), 2**63, math.inf, -math.inf, 1e308]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@steadily(60)
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
        store.write(WriteBatch([KeyedReply(b"k" * 32, "m", "asked", reply)]))
    with open_store(path) as store:
        assert store.replies([b"k" * 32]) == {
            b"k" * 32: replace(reply, body=b"", remembered=True),
        }
        assert maintain.verify(store) == (1, ())


@steadily(60)
@given(
    counts=st.tuples(*2 * [st.integers() | st.floats() | st.booleans() | st.sampled_from(HUGE)]),
    cost=st.none() | st.floats() | st.integers() | st.booleans() | st.sampled_from(HUGE),
)
@example(counts=(1.0, True), cost=math.nan)
@example(counts=(0, 0), cost=-0.0)
def test_no_count_and_no_cost_makes_a_kept_reply_look_damaged(
    tmp_path_factory: pytest.TempPathFactory, counts: tuple[Any, Any], cost: Any
) -> None:
    reply = Reply("x", "stop", None, "m-1", *counts, cost=cost)
    path = tmp_path_factory.mktemp("store") / "replies.db"
    with open_store(path) as store:
        store.write(WriteBatch([KeyedReply(b"k" * 32, "m", "asked", reply)]))
        kept = store.replies([b"k" * 32])[b"k" * 32]
        assert maintain.verify(store) == (1, ())
        assert maintain.statistics(store)[0].replies == 1
    numbers = (kept.prompt_tokens, kept.completion_tokens, kept.cost)
    assert json.loads(json.dumps(numbers, allow_nan=False)) == list(numbers)


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


def test_a_failed_call_is_no_reply_and_is_remembered_as_a_failure(tmp_path: Path) -> None:
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
        failure = store.failure(Canon("fake").keyed(ASKED).key)
        assert failure is not None
        assert failure[1:] == ("call_failed", "no such luck")
        assert asyncio.run(once(remembered(fake_model("yes"), store))) == "yes"
        assert store.failure(Canon("fake").keyed(ASKED).key) is None


def test_the_first_reply_under_a_key_stays(tmp_path: Path) -> None:
    with open_store(tmp_path / "replies.db") as store:
        first = KeyedReply(b"k" * 32, "m", "", Reply("first"))
        store.write(WriteBatch([first]))
        granted = store.write(WriteBatch([first._replace(reply=Reply("second"))]))
        assert granted.replies[b"k" * 32].text == "first"
        assert store.replies([b"k" * 32])[b"k" * 32].text == "first"


def head(path: Path) -> bytes:
    return path.read_bytes()


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def newer(path: Path) -> None:
    of_version(path, VERSION + 1)


def older(path: Path) -> None:
    of_version(path, 1)


def of_version(path: Path, version: int) -> None:
    made(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def made(path: Path, *, redacted: bool = False) -> None:
    with open_store(path, redacted=redacted) as store:
        rows = [
            KeyedReply(bytes([n]) * 32, "m", "x" * 500, Reply(f"answer {n}", body=b"b" * 900))
            for n in range(64)
        ]
        store.write(WriteBatch(rows))


def versionless(path: Path) -> None:
    of_version(path, 0)


def cut(path: Path) -> None:
    made(path)
    path.write_bytes(path.read_bytes()[:-5000])


def garbled(path: Path) -> None:
    made(path)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def garbled_at_the_head(path: Path) -> None:
    made(path)
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xff" * 3996
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (foreign, "not a store of labeler's"),
        (newer, "newer"),
        (older, "before the first release"),
        (versionless, "version 0"),
        (cut, "cut short"),
        (garbled, "damaged"),
        (garbled_at_the_head, "damaged"),
        (lambda path: path.write_bytes(b"hello, this is a text file\n" * 50), "not a store"),
        (lambda path: path.write_bytes(b"SQLite format 3\0"), "not a store"),
        (lambda path: path.mkdir(), "directory"),
    ],
    ids=[
        "foreign",
        "newer",
        "older",
        "no version",
        "cut",
        "garbled",
        "garbled at the head",
        "text",
        "head only",
        "folder",
    ],
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
    assert str(path) not in open_files()  # though the error, which holds on to all of it, is here


def open_files() -> set[str]:
    """The files that this process has open, as far as the system shows them."""
    folder = "/proc/self/fd"
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return {
        os.readlink(f"{folder}/{name}") for name in names if os.path.lexists(f"{folder}/{name}")
    }


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
            count = maintain.verify(store).replies
        file_store(path)
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
        assert len(maintain.verify(store).problems) == 1
        with pytest.raises(BadInput, match="damaged"):
            store.replies([bytes([7]) * 32])
        assert store.replies([bytes([9]) * 32])[bytes([9]) * 32].text == "answer 9"


class Clock:
    """Both clocks, to be set by hand."""

    def __init__(self) -> None:
        self.monotonic, self.wall = 1000.0, 2_000_000_000.0

    def __call__(self) -> Now:
        return Now(self.monotonic, self.wall)


def test_a_lease_ends_by_the_clock_that_nobody_can_set(tmp_path: Path) -> None:
    """The other process is this one under a number of its own: alive, and holding the lease."""
    clock = Clock()
    one, other = (file_store(tmp_path / "replies.db", clock) for _ in range(2))
    try:
        assert one.write(WriteBatch(claimed=[b"k" * 32])).leases == {b"k" * 32}
        for wall in (clock.wall + 10**6, clock.wall - 10**6):
            clock.wall = wall
            assert other.write(WriteBatch(claimed=[b"k" * 32])).leases == frozenset()
        clock.monotonic += 59
        assert other.write(WriteBatch(claimed=[b"k" * 32])).leases == frozenset()
        one.renew()
        clock.monotonic += 59
        assert other.write(WriteBatch(claimed=[b"k" * 32])).leases == frozenset()
        clock.monotonic += 2
        assert other.write(WriteBatch(claimed=[b"k" * 32])).leases == {b"k" * 32}
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize("machine", ["another machine", ""])
@pytest.mark.parametrize("ahead", [86_400.0, 1e300])
def test_a_lease_that_is_dated_in_the_future_lasts_no_longer_than_any_other(
    tmp_path: Path, machine: str, ahead: float
) -> None:
    clock, key = Clock(), b"k" * 32
    one, other = (file_store(tmp_path / "replies.db", clock) for _ in range(2))
    assert one.write(WriteBatch(claimed=[key])).leases == {key}

    def date(seconds: float) -> None:
        dated = "UPDATE owners SET until = :to, until_wall = :to"
        one.database.transaction(lambda to: to.run(dated, to=seconds))
        if machine:
            moved = "UPDATE owners SET place = :place"
            one.database.transaction(lambda to: to.run(moved, place=machine))

    def is_given() -> bool:
        return key in other.write(WriteBatch(claimed=[key])).leases

    date(clock.wall + ahead)
    assert not is_given()
    clock.monotonic += 59
    assert not is_given()
    date(clock.wall + 2 * ahead)  # its process is alive, and renews it
    assert not is_given()
    clock.monotonic += 59
    assert not is_given()
    clock.monotonic += 2
    assert is_given()
    one.close()
    other.close()


def test_a_long_wait_for_another_process_says_which_and_ends_when_told_to(tmp_path: Path) -> None:
    time_now, lines = [0.0], list[str]()
    key = Canon("fake").keyed(ASKED).key

    def clock() -> float:
        time_now[0] += 40
        return time_now[0]

    async def ask(store: Store) -> None:
        waiting = Waiting(is_stopped=lambda: len(lines) == 2, note=lines.append)
        model = remembered(fake_model("never asked"), store, waiting=waiting, clock=clock)
        try:
            await model.ask(ASKED)
        finally:
            await model.close()

    one = file_store(tmp_path / "replies.db")
    assert one.write(WriteBatch(claimed=[key])).leases == {key}
    with open_store(tmp_path / "replies.db") as store, pytest.raises(Stopped):
        asyncio.run(ask(store))
    one.close()
    assert lines == ["waiting for another process, which asks the same"] * 2


def test_what_failed_for_another_process_fails_here_and_is_asked_by_a_later_one(
    tmp_path: Path,
) -> None:
    key, failed = b"k" * 32, Failed(b"k" * 32, "call_failed", "x")
    one, beside = (file_store(tmp_path / "replies.db") for _ in range(2))
    one.write(WriteBatch(claimed=[key]))
    assert beside.write(WriteBatch(claimed=[key])).leases == frozenset()
    one.write(WriteBatch(failed=[failed]))
    late = file_store(tmp_path / "replies.db")
    for other in (beside, late):
        granted = other.write(WriteBatch(claimed=[key]))
        assert (granted.failures, granted.leases) == ({key: failed}, frozenset())
    assert one.write(WriteBatch(claimed=[key])).leases == {key}
    assert late.write(WriteBatch(claimed=[key])).failures == {}
    one.write(WriteBatch(failed=[failed]))
    one.close()
    assert beside.write(WriteBatch(claimed=[key])).failures == {key: failed}
    beside.close()
    late.close()
    with open_store(tmp_path / "replies.db") as later:
        assert later.write(WriteBatch(claimed=[key])).leases == {key}


@pytest.mark.parametrize("how", ["kept", "closed"])
def test_a_lease_ends_with_its_call(tmp_path: Path, how: str) -> None:
    one, other = (file_store(tmp_path / "replies.db") for _ in range(2))
    key = b"k" * 32
    one.write(WriteBatch(claimed=[key]))
    if how == "kept":
        one.write(WriteBatch([KeyedReply(key, "m", "", Reply("there"))]))
    else:
        one.close()
    granted = other.write(WriteBatch(claimed=[key]))
    if how == "kept":
        assert granted.replies[key].text == "there"
        one.close()
    else:
        assert granted.leases == {key}
    other.close()


def test_a_link_that_leads_nowhere_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "replies.db").symlink_to(tmp_path / "gone.db")
    with pytest.raises(FileProblem, match="which is not there"):
        file_store(tmp_path / "replies.db")


def test_a_locked_store_is_74_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    made(path)
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
        open_store(path, waiting=Waiting(0.1)) as store,
    ):
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(FileProblem, match="locked"):
            store.write(WriteBatch([KeyedReply(b"z" * 32, "m", "", Reply("late"))]))
        holder.execute("ROLLBACK")
        store.write(WriteBatch([KeyedReply(b"z" * 32, "m", "", Reply("late"))]))


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


class MemoryStore:
    """A store in memory, with all that the rest of the package needs of one."""

    def __init__(self) -> None:
        self.kept: dict[bytes, Reply] = {}
        self.failures: dict[bytes, tuple[float, str, str]] = {}
        self.facts: dict[str, str] = {}

    def replies(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        return {key: replace(self.kept[key], remembered=True) for key in keys if key in self.kept}

    def write(self, batch: WriteBatch) -> Granted:
        for kept in batch.replies:
            self.kept.setdefault(kept.key, kept.reply)
        for failed in batch.failed:
            self.failures[failed.key] = (time.time(), failed.status, failed.detail)
        replies = self.replies(batch.claimed)
        return Granted(replies, leases=frozenset(batch.claimed) - replies.keys())

    def asker(self, key: bytes) -> str:
        return "nobody"

    def renew(self) -> None:
        return None

    def fact(self, name: str) -> str | None:
        return self.facts.get(name)

    def learn(self, name: str, value: str) -> None:
        self.facts[name] = value

    def learn_once(self, name: str, value: str) -> str:
        return self.facts.setdefault(name, value)

    def record(self, key: bytes) -> Record | None:
        return None

    def failure(self, key: bytes) -> tuple[float, str, str] | None:
        return self.failures.get(key)

    def __len__(self) -> int:
        return len(self.kept)

    def close(self) -> None:
        return None


def test_another_store_may_stand_behind_a_guarded_model() -> None:
    calls: list[Request] = []

    async def ask(request: Request) -> Reply:
        calls.append(request)
        if len(calls) == 1:
            raise CallFailed("no such luck")
        return Reply("yes")

    async def main(store: Store) -> list[str]:
        model = guarded(Model("fake", ask), store, Guard(RateLimiter(RateLimits())))
        with pytest.raises(CallFailed):
            await model.ask(ASKED)
        assert store.failure(Canon("fake").keyed(ASKED).key) is not None
        texts = [(await model.ask(ASKED)).text for _ in range(2)]
        await model.close()
        return texts

    assert asyncio.run(main(MemoryStore())) == ["yes", "yes"]
    assert len(calls) == 2


def test_pruned_replies_are_gone_and_their_room_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    made(path)
    with open_store(path) as store:
        assert maintain.prune(store, "another", None) == 0
        assert maintain.prune(store, None, time.strftime("%Y-%m-%d")) == 0
        assert maintain.prune(store, "m", None) == 64
        before, after = store.database.collect_garbage()
        assert after < before / 2
        assert maintain.verify(store) == (0, ())
        with pytest.raises(BadInput, match="not a day"):
            maintain.prune(store, None, "yesterday")


@pytest.mark.sweep
def test_many_replies_are_forgotten_in_several_transactions(tmp_path: Path) -> None:
    path, count = tmp_path / "replies.db", 2 * FORGOTTEN_AT_ONCE + 1
    rows = [KeyedReply(n.to_bytes(32, "big"), "ab"[n % 2], "", Reply("x")) for n in range(count)]
    with open_store(path) as store:
        store.write(WriteBatch(rows))
        began: list[str] = []
        connection = store.database.transaction(lambda to: to.connection, writing=False)
        connection.set_trace_callback(began.append)
        assert maintain.prune(store, "a", None) == FORGOTTEN_AT_ONCE + 1
        assert sum(statement.startswith("BEGIN") for statement in began) == 3
        connection.set_trace_callback(None)
        assert (len(store), maintain.verify(store).problems) == (count // 2, ())


def test_replies_of_a_lost_store_that_no_folder_can_hold_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    rescue = Rescue(tmp_path / "gone" / "replies.db", {})
    with open_store(tmp_path / "replies.db") as store:
        store.write(WriteBatch([KeyedReply(b"k" * 32, "m", "{}", Reply("one"))]))
        rescue.copy(store.database.rows_left())
    assert "could not be saved elsewhere" in str(rescue)
    assert rescue.summary()[0].startswith("1 reply is lost, for which there was no room")
