"""Whole runs under faults; and which test holds judging to each of the faults it must survive.

1 kill -9                    test_killed_at_random_moments_it_pays_only_for_what_was_in_flight
2 Ctrl-C once and twice      test_the_first_ctrl_c_keeps_every_reply_that_was_paid_for
                             test_the_second_ctrl_c_stops_now
3 SIGTERM                    test_sigterm_ends_it_like_ctrl_c_with_its_own_code
4 power loss                 test_after_a_power_loss_in_mid_run_the_same_command_goes_on
                             test_after_a_power_loss_every_returned_commit_is_there
                             test_damage_before_the_last_commit_gives_an_earlier_one_or_is_refused
5 disk full                  test_on_a_full_disk_replies_are_saved_elsewhere_and_the_run_ends
6 several processes          test_processes_share_the_work_and_ask_nothing_twice
                             test_the_leases_of_a_killed_process_hold_nobody_up
7 a storm of 429s            test_a_storm_of_429s_costs_few_calls_and_no_pair
                             test_in_a_storm_of_429s_few_calls_are_wasted
8 bursts of 5xx              test_bursts_of_5xx_cost_retries_and_no_pair
9 hang, drip, cut            test_a_call_that_hangs_drips_or_breaks_off_is_made_once_more
                             test_what_may_pass_is_known_as_such_and_does_not_outlive_its_deadline
10 replies mixed up          test_under_concurrency_every_reply_reaches_the_pair_that_asked
11 no name, no connection    test_a_server_that_is_not_there_fails_the_run_not_every_pair
                             test_a_server_that_was_never_there_is_not_waited_for_long
12 wrong type, pages, bombs  test_a_page_in_place_of_the_first_reply_ends_the_run_with_one_line
                             test_a_page_later_on_is_a_call_to_try_again
                             test_an_answer_is_bounded_however_small_it_is_packed
13 401 in the middle         test_a_401_in_the_middle_keeps_what_was_answered
14 the clock jumping         test_clocks_that_jump_lose_nothing_and_ask_nothing_twice
                             test_a_lease_ends_by_the_clock_that_nobody_can_set
15 corpus or prompt edited   test_whatever_an_answer_depends_on_changes_and_is_asked_anew
16 a model renamed           test_a_model_renamed_in_mid_run_is_reported_with_both_names
17 response_format ignored   test_a_server_that_ignores_response_format_is_read_as_strictly
18 a redirect                test_the_key_does_not_follow_a_redirect
19 a proxy variable          test_a_proxy_in_the_environment_does_not_serve_this_machine
                             test_a_proxy_in_the_environment_serves_other_machines
20 many pairs, few files     test_many_open_pairs_need_few_files
"""

import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kept import Kept, either
from made import grade_in, make_collection, pair_calls, pair_of, stored_pairs
from running import environment, finish, judge_words, start

from labeler.collection.layout import Collection
from labeler.testing import Answer, Call, FakeServer, completion
from labeler.testing.fake_server import Fault
from labeler.trec.files import read_qrels

CONCURRENCY = 8


def slowly(call: Call) -> Answer:
    return Answer(completion(grade_in(call)), delay=0.02)


def test_the_table_of_faults_names_tests_that_exist() -> None:
    there = "".join(path.read_text() for path in Path(__file__).parent.parent.rglob("test_*.py"))
    named = re.findall(r"\btest_\w+", __doc__ or "")
    assert len(named) > 25
    assert [name for name in named if f"def {name}(" not in there] == []


def end_of_last_commit(log: bytes) -> int:
    """Where the last whole transaction of a write-ahead log ends, after SQLite's file format
    document, section 4: a frame that ends one holds the size of the database.
    """
    if len(log) < 32:
        return 0
    page, salt = struct.unpack(">I", log[8:12])[0], log[16:24]
    at, end = 32, 0
    while at + 24 + page <= len(log) and log[at + 8 : at + 16] == salt:
        frame, at = log[at : at + 8], at + 24 + page
        end = at if struct.unpack(">II", frame)[1] else end
    return end


def pull_the_plug(collection: Collection, copy: Path, chance: random.Random) -> Collection:
    """A copy of a collection as a power loss at this moment might leave it on the disk."""
    shutil.copytree(collection.folder, copy)
    log = Path(f"{copy}/replies.db-wal")
    written = log.read_bytes()
    end = end_of_last_commit(written)
    beyond = bytearray(written[end:] or chance.randbytes(6000))
    cut = chance.randrange(len(beyond))
    beyond[cut] ^= 0xFF
    log.write_bytes(written[:end] + bytes(beyond if chance.random() < 0.5 else beyond[:cut]))
    Path(f"{copy}/replies.db-shm").unlink(missing_ok=True)
    return Collection(copy)


@pytest.mark.parametrize("losses", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_after_a_power_loss_in_mid_run_the_same_command_goes_on(
    tmp_path: Path, losses: int
) -> None:
    collection, chance = make_collection(tmp_path / "c", queries=3, documents=40), random.Random(5)
    copies = []
    with FakeServer(slowly) as server:
        process = start(collection.folder, server, "--concurrency", str(CONCURRENCY))
        for number in range(losses):
            while len(pair_calls(server)) < 20 + number * 80 // losses:
                assert process.poll() is None, process.communicate()
                time.sleep(0.002)
            process.send_signal(signal.SIGSTOP)
            there = stored_pairs(collection)
            copies.append((there, pull_the_plug(collection, tmp_path / f"copy{number}", chance)))
            process.send_signal(signal.SIGCONT)
        assert finish(process)[0] == 0
        whole = read_qrels(collection.qrels("a"))
        for there, copy in copies:
            kept = stored_pairs(copy)
            assert set(kept) >= set(there)
            before = len(pair_calls(server))
            assert finish(start(copy.folder, server))[0] == 0
            assert len(pair_calls(server)) - before == 120 - len(kept)
            assert read_qrels(copy.qrels("a")) == whole
            assert len(stored_pairs(copy)) == 120


@pytest.mark.slow
def test_a_storm_of_429s_costs_few_calls_and_no_pair(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=5, documents=60)
    allowed = {"stock": 80.0, "at": 0.0}

    def stormy(call: Call) -> Answer | str:
        allowed["stock"] += (call.at - (allowed["at"] or call.at)) * 80
        allowed["stock"], allowed["at"] = min(80.0, allowed["stock"]), call.at
        if allowed["stock"] < 1:
            return Answer({"error": {"message": "slow down"}}, 429, {"retry-after": "1"})
        allowed["stock"] -= 1
        return grade_in(call)

    with FakeServer(stormy) as server:
        code, said = finish(start(tmp_path, server, "--concurrency", "16"))
        assert code == 0, said
        assert len(server.calls) <= 1.1 * 301
        seconds = server.calls[-1].at - server.calls[0].at
        assert 301 / seconds >= 0.9 * 80
    assert len(set(stored_pairs(collection))) == 300


FAULTS: dict[str, Fault] = {"d2": "hang", "d4": "drip", "d6": "cut", "d8": "refuse"}


def test_a_call_that_hangs_drips_or_breaks_off_is_made_once_more(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=2, documents=10)
    faulty: set[object] = set()

    def answer(call: Call) -> Answer | str:
        pair = pair_of(call)
        if pair and pair.doc_id in FAULTS and pair not in faulty:
            faulty.add(pair)
            return Answer(completion(grade_in(call)), fault=FAULTS[pair.doc_id])
        return grade_in(call)

    with FakeServer(answer) as server:
        code, said = finish(start(tmp_path, server, "--set", "model.timeout=1"))
        assert code == 0, said
        assert len(pair_calls(server)) == 28
    assert len(set(stored_pairs(collection))) == 20


JUMPING = (
    "import random, runpy, sys, time; true, chance = time.time, random.Random(3);"
    "time.time = lambda: true() + chance.choice((-1e6, 0, 1e6));"
    "sys.argv = ['labeler', *sys.argv[1:]]; runpy.run_module('labeler', run_name='__main__')"
)


@either()
@pytest.mark.slow
def test_clocks_that_jump_lose_nothing_and_ask_nothing_twice(tmp_path: Path, kept: Kept) -> None:
    collection = make_collection(tmp_path, queries=2, documents=40)
    with FakeServer(slowly) as server:
        options = judge_words(tmp_path, server, "--concurrency", str(CONCURRENCY), *kept.words)
        started = [
            subprocess.Popen(
                [sys.executable, "-c", JUMPING, *options],
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        for process in started:
            code, said = finish(process)
            assert code == 0, said
        assert len(pair_calls(server)) == len(set(pair_calls(server))) == 80
    assert len(set(stored_pairs(collection, kept))) == 80
