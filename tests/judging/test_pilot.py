"""A run proves itself on a few pairs before the others are paid for, and goes on proving itself."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from examples import tiers
from made import grade_in, make_collection, pair_calls, pair_of

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.errors import Misuse, TooManyFailed
from labeler.judging.job import job_of, pool_of, texts_of
from labeler.judging.judge import JudgeOptions, judge, judge_set
from labeler.judging.pilot import PAIRS, Pilot, pilot_pairs
from labeler.models.session import Control, run_to_end
from labeler.models.settings import Proof
from labeler.testing import Answer, Call, FakeServer, completion, fake_model
from tests.batch_server import BatchServer

PROSE = "The passage is related, I should think."
IN_ALL = 12 * 10
PRICED = ["--set", "model.tokens_in=1", "--set", "model.tokens_out=2"]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return make_collection(tmp_path / "c", 12, 10)


def judged(collection: Collection, server: FakeServer, *more: str) -> int:
    where = ["--model", "fake", "--base-url", server.base_url, "--as", "a", "--quiet"]
    return execute(["judge", str(collection.folder), *where, *more])


def after(good: int) -> Callable[[Call], str]:
    """A server that forgets how to answer after so many pairs."""
    asked = []

    def answer(call: Call) -> str:
        asked.append(pair_of(call))
        return grade_in(call) if len(asked) <= good else PROSE

    return answer


def unread(share: int) -> Callable[[Call], str]:
    """A server whose replies about one document in so many cannot be read."""

    def answer(call: Call) -> str:
        pair = pair_of(call)
        return PROSE if pair and int(pair.doc_id[1:]) % share == 0 else grade_in(call)

    return answer


def test_a_model_whose_replies_cannot_be_read_is_paid_for_30_pairs_and_not_for_all(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(PROSE) as server:
        assert judged(collection, server) == TooManyFailed.exit_code == 69
        err = capsys.readouterr().err
        assert len(set(pair_calls(server))) == PAIRS
        assert PROSE in err
        assert "another reader" in err
        assert err.rstrip().endswith("--set budget.no_pilot=true")
        calls = len(server.calls)
        assert judged(collection, server) == 69  # what the pilot was answered is kept
        assert len(server.calls) == calls


def test_a_pilot_that_stands_is_asked_once_and_counted_as_asked_now(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(grade_in) as server:
        assert judged(collection, server) == 0
        shown = capsys.readouterr()
        assert len(pair_calls(server)) == len(set(pair_calls(server))) == IN_ALL
        assert f"from the store: 0 (0%); asked now: {IN_ALL}" in shown.out
        assert "pilot of 30 pairs: 0% [0%, 11%] without a grade" in shown.err
        assert judged(collection, server) == 0
        assert "pilot of" not in capsys.readouterr().err
        assert len(pair_calls(server)) == IN_ALL


def test_a_run_that_stopped_goes_on_without_a_pilot_or_where_more_may_fail(
    collection: Collection,
) -> None:
    with FakeServer(unread(5)) as server:
        assert judged(collection, server) == 69
        assert judged(collection, server, "--set", "budget.max_failed=0.6") == 3
        assert len(set(pair_calls(server))) == IN_ALL
        assert judged(collection, server) == 3  # nothing is left to be paid for


def test_without_a_pilot_all_pairs_are_asked_about(collection: Collection) -> None:
    with FakeServer(unread(5)) as server:
        assert judged(collection, server, "--set", "budget.no_pilot=true") == 3
        assert len(set(pair_calls(server))) == IN_ALL


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ([], 130),
        pytest.param(["--set", "budget.no_pilot=true"], 200, marks=pytest.mark.sweep),
    ],
)
def test_a_model_that_fails_later_is_stopped_and_what_it_graded_is_written(
    more: list[str], most: int, tmp_path: Path
) -> None:
    collection = make_collection(tmp_path / "c", 20, 10)
    with FakeServer(after(60)) as server:
        assert judged(collection, server, "--concurrency", "8", *more) == 69
        assert len(set(pair_calls(server))) <= most
    rows = [json.loads(row) for row in collection.judgements("a").read_text().splitlines()]
    assert sum(row["status"] == "judged" for row in rows) >= 59
    assert collection.qrels("a").exists()


def test_a_share_of_one_stops_nothing(collection: Collection) -> None:
    with FakeServer(PROSE) as server:
        assert (
            judged(
                collection, server, "--set", "budget.max_failed=1", "--set", "budget.no_pilot=true"
            )
            == 3
        )
        assert len(set(pair_calls(server))) == IN_ALL


def test_a_small_run_has_no_pilot(tmp_path: Path) -> None:
    small = make_collection(tmp_path / "c", 9, 11)
    result = judge(small, model=fake_model(PROSE), name="a")
    assert (result.failed, result.stopped, result.tally.pilot) == (99, None, None)


def test_a_pilot_has_short_and_long_documents_of_many_queries(collection: Collection) -> None:
    rows = [json.loads(row) for row in collection.corpus.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["text"] += " word" * 10 * number
    collection.corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    texts = texts_of(collection)
    job = job_of(collection, "a", pool_of(collection, texts), texts)
    pairs = pilot_pairs(job.pairs, job.texts)
    assert len(set(pairs)) == PAIRS
    assert pairs == pilot_pairs(job.pairs, job.texts)
    assert len({pair.query_id for pair in pairs}) >= 10
    lengths = [len(texts.documents[pair.doc_id].text) for pair in pairs]
    assert min(lengths) < 150
    assert max(lengths) > 400


def test_a_pilot_says_what_all_pairs_take(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(call: Call) -> Answer:
        tokens = sum(len(message["content"]) for message in call.body["messages"]) // 4
        pair = pair_of(call)
        thoughts = 400 + 200 * (int(pair.doc_id[1:]) % 2 if pair else 0)
        usage = {"prompt_tokens": tokens, "completion_tokens": 10 + thoughts}
        details = {"completion_tokens_details": {"reasoning_tokens": thoughts}}
        return Answer(completion(grade_in(call), usage=usage | details))

    with FakeServer(answer) as server:
        judged(collection, server, *PRICED, "--format", "json")
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    pilot = told["pilot"]
    about, low, high = pilot["dollars"]
    assert low <= told["cost"] <= high
    assert low < about < high
    assert pilot["thoughts"] == 1
    assert pilot["hours"][1] < pilot["hours"][0] < pilot["hours"][2]
    assert re.search(rf"all {IN_ALL} pairs: about \$0\.\d+ \[.*\], .* seconds", shown.err)


def test_a_judged_part_has_its_pilot(collection: Collection) -> None:
    with FakeServer(PROSE) as server:
        where = ["--model", "fake", "--base-url", server.base_url, "--quiet"]
        good = fake_model('{"grade": 1}')
        assert judge(collection, model=good, name="all").judged == IN_ALL
        calls = len(server.calls)
        again = ["relabel", str(collection.folder), "--from", "all", "--as", "b"]
        assert execute([*again, "--prompt", "terse", *where]) == 69
        assert len(set(pair_calls(server)[calls:])) <= PAIRS


def test_the_library_returns_what_stopped_a_run(collection: Collection) -> None:
    result = judge(collection, model=fake_model(PROSE), name="a")
    assert isinstance(result.stopped, TooManyFailed)
    assert result.tally.pilot is not None
    assert result.tally.pilot.failed == result.failed == PAIRS
    options = JudgeOptions(model=fake_model(PROSE), name="a", proof=Proof(no_pilot=True))
    going_on = run_to_end(lambda stop: judge_set(collection, pool_of, options, Control(stop=stop)))
    assert going_on.failed > PAIRS


EVERY_LAB = {
    "probe": (["lab", "probe", "--model", "fake", "--pairs", "60", "--qrels", "all"], 30),
    "control": (
        [
            "lab",
            "control",
            "--model",
            "fake",
            "--pairs",
            "120",
            "--as",
            "all",
            "--prompt",
            "four-grades",
        ],
        30,
    ),
    "tune": (
        ["lab", "tune", "--models", "fake", "--prompts", "four-grades,terse", "--people", "all"],
        30,
    ),
    "repeat": (["lab", "repeat", "--model", "fake", "--times", "2", "--as", "b"], 30),
}


@pytest.mark.parametrize("lab", tiers(EVERY_LAB, "repeat"))
def test_whatever_asks_100_questions_or_more_asks_30_of_them_first(
    lab: str, collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    command, pairs = EVERY_LAB[lab]
    by_number = fake_model(lambda r: f'{{"grade": {len(r.inputs["query"]) % 2}}}')
    assert judge(collection, model=by_number, name="all").judged == IN_ALL
    with FakeServer(PROSE) as server:
        where = [str(collection.folder), "--base-url", server.base_url]
        group, verb, *options = command
        asked = [group, verb, *where, *options, "--quiet"]
        assert execute(asked) == TooManyFailed.exit_code, capsys.readouterr().err
        assert len(server.calls) <= 3 * pairs + 3
        err = capsys.readouterr().err
        assert PROSE in err
        assert err.rstrip().endswith("--set budget.no_pilot=true")
        calls = len(server.calls)
        without = ["--set", "budget.no_pilot=true", "--set", "budget.max_failed=1"]
        execute([*asked, *without, "--max-calls", "9"])
        assert len(server.calls) > calls


def test_pairs_that_wait_in_a_batch_are_no_calls_and_are_collected_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = str(make_collection(tmp_path / "c", 2, 3).folder)
    with BatchServer(ends=False) as server:
        where = [small, "--model", "fake", "--base-url", server.base_url, "--as", "a", "--quiet"]
        assert execute(["batch", "submit", *where]) == 0
        capsys.readouterr()
        assert execute(["judge", *where]) == 3
    shown = capsys.readouterr()
    assert "in a batch: 6; asked now: 0" in shown.out
    assert shown.err.rstrip().endswith("they wait in a batch; next: labeler batch collect")


def test_further_times_that_are_asked_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = str(make_collection(tmp_path / "c", 2, 3).folder)
    with FakeServer(grade_in) as server:
        where = [small, "--model", "fake", "--base-url", server.base_url, "--as", "a", "--quiet"]
        assert execute(["judge", *where]) == 0
        assert execute(["lab", "repeat", *where, "--times", "3"]) == 0
    assert "from the store: 6 (100%); asked now: 0; asked once more: 12" in capsys.readouterr().out


def test_pairs_are_handed_over_in_a_batch_once_a_few_were_answered_live(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with BatchServer(live_reply=PROSE) as server:
        where = ["--model", "fake", "--base-url", server.base_url, "--as", "a", "--quiet"]
        submit = ["batch", "submit", str(collection.folder), *where]
        assert execute(submit) == TooManyFailed.exit_code
        assert execute(["batch", "wait", *submit[2:]]) == TooManyFailed.exit_code
        assert (server.live_calls, len(server.requests)) == (3 * PAIRS, 0)
        assert "stopped after a pilot" in capsys.readouterr().err
        assert execute([*submit, "--set", "budget.no_pilot=true"]) == 0
        assert len(server.requests) == IN_ALL - PAIRS


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_may_fail_is_a_share(share: float) -> None:
    with pytest.raises(Misuse, match="expected 0 to 1"):
        Proof(share)


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ((1.9, 1.2, 20.0), "110 [72, 1,200] minutes"),
        ((47.0, 40.0, 120.0), "47 [40, 120] hours"),
        ((4800.0, 2400.0, 9600.0), "200 [100, 400] days"),
        ((0.0002, 0.0001, 0.0004), "0.72 [0.36, 1.4] seconds"),
    ],
)
def test_a_time_is_said_in_plain_numbers(hours: tuple[float, float, float], said: str) -> None:
    pilot = Pilot(30, 0, 100, (0.0, 0.0, 0.1), 0.0, 1.0, 1.0, (), hours)
    assert pilot.sentences()[1] == f"all 100 pairs: about {said}"
