"""What a person sees of judging: reports, status, explain, doctor, store, relabel --reparse."""

import json
import re
import time
from pathlib import Path

import pytest
from made import grade_in, make_collection, pair_calls, pair_of

from labeler.cli import execute
from labeler.cli.reporting import RunProgress, shown
from labeler.collection.card import read_card
from labeler.collection.layout import Collection
from labeler.data import Failure, Judged, Judgement, Pair
from labeler.files.paths import shipped
from labeler.models.cost import Price
from labeler.models.policies.limits import Budget, RateLimiter, RateLimits
from labeler.testing import Answer, Call, FakeServer, completion
from labeler.trec.files import read_qrels


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7d1f0a")
    for name in ("OPENAI_BASE_URL", "LABELER_MODEL"):
        monkeypatch.delenv(name, raising=False)


def answer(call: Call) -> Answer | str:
    """A grade, except for d1 (no grade), d2 (a filter) and d3 (a failed call)."""
    pair = pair_of(call)
    document = pair.doc_id if pair else ""
    if document == "d1":
        return "I would rather not say."
    if document == "d2":
        return Answer(completion("", finish_reason="content_filter"))
    if document == "d3":
        return Answer({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400)
    return grade_in(call)


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Collection, str]:
    """A collection of ten pairs, six of them with no grade, and what `judge` printed."""
    collection = make_collection(tmp_path)
    with FakeServer(answer) as server:
        options = ["--model", "fake", "--base-url", server.base_url, "--as", "a"]
        assert execute(["judge", str(tmp_path), *options]) == 3
    said = capsys.readouterr()
    return collection, said.out + said.err


def test_the_report_adds_up_to_the_pool_and_names_examples(
    judged: tuple[Collection, str],
) -> None:
    _, said = judged
    assert "4 of 10 pairs judged" in said
    counts = [
        int(n)
        for n in re.findall(r"^(\d+) (?:unparsable|filtered|call_failed), for example:", said, re.M)
    ]
    assert counts == [2, 2, 2] or sum(counts) == 6
    assert 'q0 d1: no JSON object with "grade"' in said
    assert "6 of 10 pairs have no grade" in said
    assert "--retry-failed" in said
    assert "cost of this run: unknown" in said


def test_the_card_says_on_what_scale_the_labels_are(
    judged: tuple[Collection, str], capsys: pytest.CaptureFixture[str]
) -> None:
    collection, _ = judged
    entry = read_card(collection)["judge"]["a"]
    assert list(entry["scale"]) == ["0", "1", "2", "3"]
    assert re.fullmatch(r"four-grades@\w{8}", entry["prompt"])
    collection.run("mine").parent.mkdir(exist_ok=True)
    query, document = next(
        (q, d) for q, grades in read_qrels(collection.qrels("a")).items() for d in grades
    )
    collection.run("mine").write_text(f"{query} Q0 {document} 1 1 t\n")
    files = [str(collection.qrels("a")), str(collection.run("mine"))]
    for arguments in ([str(collection.folder), "--qrels", "a"], files):
        assert execute(["evaluate", *arguments, "-m", "ERR"]) == 0
        assert "the scale's top" not in capsys.readouterr().err


def test_status_says_the_same_later(
    judged: tuple[Collection, str], capsys: pytest.CaptureFixture[str]
) -> None:
    collection, _ = judged
    assert execute(["status", str(collection.folder)]) == 0
    said = capsys.readouterr().out
    assert "pool: 10 pairs" in said
    assert re.search(r"^a +four-grades@\w{8} +4 +6 ", said, re.M)
    assert "2 unparsable" in said
    assert 'q0 d1: no JSON object with "grade"' in said
    assert f"to go on: labeler judge {collection.folder} --prompt four-grades --model fake" in said
    assert "--as a --retry-failed" in said


def test_explain_shows_every_attempt_as_sent_and_as_received(
    judged: tuple[Collection, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(judged[0].folder)
    assert execute(["explain", folder, "q0", "d1"]) == 0
    said = capsys.readouterr().out
    assert said.count("-- attempt") == 3
    assert "what q0?" in said
    assert "I would rather not say." in said
    assert '"object": "chat.completion"' in said
    assert "unparsable" in said
    assert execute(["explain", folder, "q0", "d3"]) == 0
    said = capsys.readouterr().out
    assert "context_length_exceeded" in said
    assert "what q0?" in said
    assert execute(["explain", folder, "q0", "nothing"]) == 2
    corpus = judged[0].corpus
    corpus.write_text(corpus.read_text().replace("d1", "d1 edited").replace('"d1 edited"', '"d1"'))
    assert execute(["explain", folder, "q0", "d1"]) == 0
    said = capsys.readouterr().out
    assert (
        "3 replies made the judgement, 0 of them are found now: the query or the document" in said
    )


def test_reparse_makes_the_same_labels_with_no_call(
    judged: tuple[Collection, str], capsys: pytest.CaptureFixture[str]
) -> None:
    collection, _ = judged
    command = ["relabel", str(collection.folder), "--from", "a", "--reparse"]
    assert execute([*command, "--as", "b"]) == 3
    assert (
        "b gives another grade than a to 0 of the 4 pairs that both graded"
        in capsys.readouterr().out
    )
    assert read_qrels(collection.qrels("b")) == read_qrels(collection.qrels("a"))
    assert execute(command) == 2
    assert execute([*command, "--as", "c", "--model", "x"]) == 2


def test_relabel_ends_with_what_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        where = ["--model", "fake", "--base-url", server.base_url]
        assert execute(["judge", str(tmp_path), *where, "--as", "a"]) == 0
        server.answer = '{"reason": "x", "grade": 0}'
        options = ["--from", "a", "--prompt", "basic", "--as", "b"]
        assert execute(["relabel", str(tmp_path), *where, *options]) == 0
    assert (
        "b gives another grade than a to 7 of the 10 pairs that both graded"
        in capsys.readouterr().out
    )


def test_doctor_says_what_would_be_used_and_whether_it_works(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with FakeServer(grade_in) as server:
        assert execute(["doctor", "--model", "fake", "--base-url", server.base_url]) == 0
        said = capsys.readouterr().out
        assert "OPENAI_API_KEY   set" in said
        assert "works" in said
        assert "json_schema" in said
        assert "unknown" in said
        assert re.search(r"that takes +about \d:\d\d with 16 calls at once", said)
        server.answer = lambda _: Answer({"error": {"message": "no"}}, 401)
        assert execute(["doctor", "--model", "fake", "--base-url", server.base_url]) == 78
    said = capsys.readouterr()
    assert "sk-canary" not in said.out + said.err


def test_the_store_commands_look_after_the_store(
    judged: tuple[Collection, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(judged[0].folder)
    assert execute(["store", "verify", folder]) == 0
    assert execute(["store", "stats", folder]) == 0
    assert "12 replies, all as they were written" in capsys.readouterr().out
    assert execute(["store", "stats", folder, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["replies"], row["model"].split()[-1]) == (12, "fake")
    other = make_collection(tmp_path / "other")
    assert execute(["store", "verify", str(other.folder)]) == 74
    assert execute(["store", "prune", folder]) == 2
    assert execute(["store", "prune", folder, "--before", "2100-01-01"]) == 0
    assert execute(["store", "gc", folder]) == 0
    assert "forgot 12 replies" in capsys.readouterr().out


def test_progress_ends_with_a_line_and_quiet_is_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        command = ["judge", str(tmp_path), "--model", "fake", "--base-url", server.base_url]
        assert execute(command) == 0
        assert "judging: 10/10 pairs" in capsys.readouterr().err
        assert execute([*command, "--quiet", "--as", "b"]) == 0
        assert "judging" not in capsys.readouterr().err
        assert len(pair_calls(server)) == 10


def test_the_board_shows_rate_cost_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    budget = Budget(price=Price(1.0, 1.0))
    progress = RunProgress(100, RateLimiter(RateLimits(8)), budget, clock=lambda: now)
    with shown(progress) as told:
        for number in range(40):
            now += 1.0
            budget.spent.calls, budget.spent.tokens, budget.spent.cost = number + 1, 100, 0.5
            pair = Pair("q", str(number))
            outcome = Failure(pair, "unparsable", "x") if number == 3 else Judgement(pair, 1)
            told(Judged(outcome))
        line = progress.line()
    assert " · 1.0/s · " in line
    assert "cost $0.5000 of about $1.25" in line
    assert "40/100 pairs" in line
    assert "1 unparsable" in line
    assert "1:00 left" in line
    assert "0 of 4 at once (growing" in line
    (last,) = capsys.readouterr().err.splitlines()
    assert "40/100 pairs" in last
    assert "at once" not in last


def test_a_run_in_which_nothing_is_done_still_says_so_again_and_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = RunProgress(100, RateLimiter(RateLimits(8)), Budget())
    with shown(progress, every=0.02):
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 4
    assert all("0/100 pairs" in line for line in lines)


def test_a_judge_behind_no_server_has_no_calls_at_once(tmp_path: Path) -> None:
    progress = RunProgress(
        10, RateLimiter(RateLimits(8)), Budget(price=Price(0.0, 0.0)), asks=False
    )
    progress.budget.spent.calls = 5
    assert "at once" not in progress.line()


def test_a_judge_that_has_nothing_to_do_is_done_at_once(tmp_path: Path) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        command = ["judge", str(tmp_path), "--model", "fake", "--base-url", server.base_url]
        execute(command)
        began = time.process_time()
        assert execute(command) == 0
        assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id": "q0", "doc_id": "nowhere"}', "the document 'nowhere' is not in"),
        ('{"query_id": "elsewhere", "doc_id": "d0"}', "the query 'elsewhere' is not in"),
    ],
)
def test_a_pool_that_names_what_is_not_there_is_refused_before_anything_is_asked(
    tmp_path: Path, line: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path)
    with collection.pool.open("a", encoding="utf-8") as pool:
        pool.write(line + "\n")
    with FakeServer() as server:
        arguments = ["--model", "fake", "--base-url", server.base_url]
        assert execute(["judge", str(tmp_path), *arguments]) == 65
        assert not [call for call in server.calls if call.path.endswith("completions")]
    assert f"pool.jsonl:11: {problem}" in capsys.readouterr().err


def test_relabel_asks_the_model_that_made_the_old_labels_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        address = ["--model", "fake", "--base-url", server.base_url]
        assert execute(["judge", str(tmp_path), *address, "--as", "first"]) == 0
        before = len(server.calls)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        again = ["--from", "first", "--prompt", "basic", "--as", "second"]
        assert execute(["relabel", str(tmp_path), *again]) == 0
        assert len(server.calls) > before
    rows = Collection(tmp_path).judgements("second").read_text().splitlines()
    assert all(json.loads(row)["model"] == json.loads(rows[0])["model"] for row in rows)
    assert json.loads(rows[0])["prompt"].startswith("basic@")


def test_equal_requests_of_a_first_run_are_not_called_answers_from_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, queries=2, documents=4)
    rows = [f'{{"_id": "d{n}", "title": "", "text": "about d{n // 2};"}}\n' for n in range(4)]
    collection.corpus.write_text("".join(rows))
    with FakeServer(grade_in) as server:
        command = ["judge", str(tmp_path), "--model", "fake", "--base-url", server.base_url]
        assert execute([*command, "--as", "a"]) == 0
        said = capsys.readouterr().out
        assert (
            "from the store: 0 (0%); shared with an equal pair or another process: 4; asked now: 4"
            in said
        )
        assert execute([*command, "--as", "a"]) == 0
    assert "from the store: 8 (100%); asked now: 0" in capsys.readouterr().out
    assert execute(["status", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^a +four-grades@\w{8} +8 +0 +4 ", said, re.M), said
    assert "store: 4 replies" in said


def test_a_run_that_is_refused_in_the_middle_says_how_far_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)

    def refused(call: Call) -> Answer | str:
        return Answer(status=401) if pair_of(call) == ("q1", "d1") else grade_in(call)

    with FakeServer(refused) as server:
        command = ["judge", str(tmp_path), "--model", "fake", "--base-url", server.base_url]
        assert execute([*command, "--as", "a", "--concurrency", "1"]) == 78
    assert "judging: 6/10 pairs" in capsys.readouterr().err


def test_status_names_the_file_of_a_prompt_in_the_command_that_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_collection(tmp_path / "coll")
    monkeypatch.chdir(tmp_path)
    basic = shipped("prompts") / "basic.md"
    Path("mine.md").write_text(basic.read_text() + "\nThink.\n")
    with FakeServer(answer) as server:
        options = ["--model", "fake", "--base-url", server.base_url, "--as", "a"]
        assert execute(["judge", "coll", "--prompt", "mine.md", *options]) == 3
        capsys.readouterr()
        assert execute(["status", "coll"]) == 0
        said = capsys.readouterr().out
        command = re.search(r"to go on: labeler (.*)", said)
        assert command
        assert "stands for" not in said
        assert execute([*command[1].split(), "--dry-run"]) == 0
    Path("mine.md").unlink()
    assert execute(["explain", "coll", "q0", "d1"]) == 0
    assert "its replies cannot be looked up: the judgements were made" in capsys.readouterr().err
    assert execute(["status", "coll"]) == 0
    assert "(mine.md stands for the prompt's file as it was: mine@" in capsys.readouterr().out


def test_a_dry_run_counts_the_calls_and_there_are_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        command = ["judge", str(tmp_path), "--model", "fake", "--base-url", server.base_url]
        assert execute([*command, "--dry-run"]) == 0
        said = capsys.readouterr().out
        assert re.search(r"calls +10, ", said)
        assert re.search(r"cost +unknown", said)
        assert re.search(r"time +about 0:0[23], with 16 calls at once", said)
        assert execute([*command, "--dry-run", "--set", "model.rpm=5"]) == 0
        assert re.search(r"time +about 2:01, by the 5 calls a minute", capsys.readouterr().out)
        assert execute(command) == 0
        assert len(server.calls) == 10
        capsys.readouterr()
        assert execute([*command, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"calls +0", said)
    assert "time" not in said.partition("---")[0]


def test_failures_end_with_the_command_that_asks_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(lambda c: "no idea" if pair_of(c) else grade_in(c)) as server:
        url = server.base_url.replace("127.0.0.1", "localhost") + "?token=hunter3"
        asked = ["--model", "fake", "--base-url", url, "--quiet"]
        assert execute(["judge", str(tmp_path), *asked]) == 3
    said = capsys.readouterr().err
    assert f"labeler judge {tmp_path} --model fake --base-url" in said
    assert said.rstrip().endswith("--quiet --retry-failed")
    assert "hunter3" not in said
