"""A store that is locked, removed or cut short in mid-run: what was paid is kept, and said."""

import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from kept import Kept, either
from made import grade_in, make_collection, pair_calls, stored_pairs, wait_for_calls
from running import finish, start

from labeler.collection.layout import Collection
from labeler.store import maintain, open_store
from labeler.testing import Answer, Call, FakeServer, completion
from labeler.trec.files import read_qrels

PAIRS = 60
AT_ONCE = ("--concurrency", "8")
SLOW = pytest.mark.slow


def slowly(call: Call) -> Answer:
    return Answer(completion(grade_in(call)), delay=0.05)


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return make_collection(tmp_path / "c", queries=2, documents=PAIRS // 2)


def all_is_judged(collection: Collection, kept: Kept | None = None) -> None:
    assert sum(map(len, read_qrels(collection.qrels("a")).values())) == PAIRS
    with open_store((kept or Kept()).place(collection), reading=True) as store:
        assert maintain.verify(store) == (PAIRS, ())
    assert not list(collection.folder.glob("*rescued*"))


def nothing_was_asked_twice(server: FakeServer) -> None:
    assert Counter(pair_calls(server)).most_common(1)[0][1] == 1


@either(file_is_slow=True)
def test_a_store_that_is_locked_for_a_while_is_waited_for(
    collection: Collection, kept: Kept
) -> None:
    with FakeServer(slowly) as server:
        process = start(collection.folder, server, *AT_ONCE, *kept.words)
        wait_for_calls(server, 15, process)
        with kept.out_of_reach(collection):
            assert process.stderr
            line = next(line for line in process.stderr if "waiting for" in line)
        code, said = finish(process)
        assert (code, "Traceback" in said) == (0, False)
        file = f"{collection.file_of_replies} is locked by another program; waiting for it"
        assert line.startswith(f"waiting for {kept.url}: " if kept.url else file)
        nothing_was_asked_twice(server)
    all_is_judged(collection, kept)


@either()
def test_replies_that_a_locked_store_cannot_take_in_are_saved_beside_it(
    collection: Collection, kept: Kept
) -> None:
    with FakeServer(slowly) as server:
        process = start(
            collection.folder, server, *AT_ONCE, "--set", "model.patience=1", *kept.words
        )
        wait_for_calls(server, 15, process)
        with kept.out_of_reach(collection):
            code, said = finish(process)
        assert (code, "Traceback" in said) == (74, False)
        assert "saved in" in said
        assert len(stored_pairs(collection, kept)) < len(pair_calls(server))
        code, said = finish(start(collection.folder, server, *AT_ONCE, *kept.words))
        assert (code, "took in" in said) == (0, True)
        nothing_was_asked_twice(server)
    all_is_judged(collection, kept)


@either()
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "expected"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=SLOW)]
)
def test_a_signal_while_the_store_is_locked_loses_no_reply(
    collection: Collection, kept: Kept, number: int, expected: int
) -> None:
    with FakeServer(slowly) as server:
        process = start(collection.folder, server, *AT_ONCE, *kept.words)
        wait_for_calls(server, 15, process)
        with kept.out_of_reach(collection):
            assert process.stderr
            assert any("waiting for" in line for line in process.stderr)
            process.send_signal(number)
            code, said = finish(process)
        assert (code, "Traceback" in said) == (expected, False)
        assert "saved in" in said
        assert finish(start(collection.folder, server, *AT_ONCE, *kept.words))[0] == 0
        nothing_was_asked_twice(server)
    all_is_judged(collection, kept)


@either(database_is_slow=True)
def test_the_first_ctrl_c_ends_a_wait_for_another_machine_s_lease(
    collection: Collection, kept: Kept
) -> None:
    with FakeServer(slowly) as server:
        process = start(collection.folder, server, *AT_ONCE, *kept.words)
        wait_for_calls(server, 15, process)
        process.kill()
        process.communicate()
        held = kept.disown(collection)
        assert held > 0
        asked = len(pair_calls(server))
        process = start(collection.folder, server, *AT_ONCE, *kept.words)
        wait_for_calls(server, asked + PAIRS - len(stored_pairs(collection, kept)) - held, process)
        process.send_signal(signal.SIGINT)
        code, said = finish(process)
    assert (code, "Traceback" in said) == (130, False)


def removed(collection: Collection) -> None:
    collection.store.unlink()


def removed_with_its_log(collection: Collection) -> None:
    for path in collection.folder.glob("replies.db*"):
        path.unlink()


def renamed(collection: Collection) -> None:
    collection.store.rename(collection.folder / "backup.db")


def replaced(collection: Collection) -> None:
    other = collection.folder.parent / "other.db"
    with open_store(other):
        pass
    other.replace(collection.store)


def emptied(collection: Collection) -> None:
    with collection.store.open("r+b") as file:
        file.truncate(0)


def cut_short(collection: Collection) -> None:
    with collection.store.open("r+b") as file:
        file.truncate(4096)


HARMS = [
    (removed, "removed"),
    (removed_with_its_log, "removed"),
    (renamed, "removed"),
    (replaced, "replaced"),
    (emptied, "cut short"),
    (cut_short, "cut short"),
]


@pytest.mark.parametrize(
    ("harm", "word", "calls"),
    [
        (removed, "removed", PAIRS // 4),
        (emptied, "cut short", PAIRS // 4),
        *(
            pytest.param(*harm, calls, marks=SLOW)
            for harm in HARMS
            for calls in (1, PAIRS // 2, PAIRS - 5)
        ),
    ],
)
def test_a_store_that_is_harmed_in_mid_run_is_noticed_and_its_replies_are_saved(
    collection: Collection, harm: Callable[[Collection], None], word: str, calls: int
) -> None:
    with FakeServer(slowly) as server:
        process = start(collection.folder, server, *AT_ONCE)
        wait_for_calls(server, calls, process)
        harm(collection)
        code, said = finish(process)
        assert (code, "Traceback" in said) == (74, False), said
        last = said.strip().splitlines()[-1]
        assert last.startswith(f"labeler: {collection.store}: {word} while it was in use; ")
        assert "taken in by the next run" in last
        asked = len(pair_calls(server))
        if word == "cut short":  # its own pages are gone; what is still in the log is saved
            collection.store.unlink()
            for rest in collection.folder.glob("replies.db-*"):
                rest.unlink()
        assert finish(start(collection.folder, server, *AT_ONCE))[0] == 0
        if word == "cut short":
            assert len(pair_calls(server)) <= asked + PAIRS
        else:
            nothing_was_asked_twice(server)
    all_is_judged(collection)


def test_a_whole_collection_that_is_removed_leaves_its_replies_in_the_temporary_folder(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    with FakeServer(slowly) as server:
        process = start(collection.folder, server, *AT_ONCE)
        wait_for_calls(server, 15, process)
        shutil.rmtree(collection.folder)
        code, said = finish(process)
        assert (code, "Traceback" in said) == (74, False)
        (saved,) = (tmp_path / "t").glob("replies.db.rescued-*")
        assert str(saved) in said
        with open_store(saved, reading=True) as store:
            assert len(store) == len(pair_calls(server))


@pytest.mark.slow
def test_room_that_another_process_gives_back_harms_no_run(collection: Collection) -> None:
    with FakeServer(slowly) as server:
        assert finish(start(collection.folder, server, *AT_ONCE))[0] == 0
        process = start(collection.folder, server, *AT_ONCE, "--as", "b", "--prompt", "basic")
        wait_for_calls(server, PAIRS + 15, process)
        with open_store(collection.store) as store:
            assert maintain.prune(store, None, "2999-01-01") >= PAIRS
            before, after = store.database.collect_garbage()
        assert after < before
        assert finish(process)[0] == 0
