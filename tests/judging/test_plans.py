"""What a dry run says: a bound that no run exceeds, and an estimate that earlier runs make good."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made import grade_in, make_collection, pair_of

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.testing import Answer, Call, FakeServer, completion

PRICED = ["--set", "model.tokens_in=1", "--set", "model.tokens_out=2"]

Answering = Callable[[Call], Answer]


def server_of(thoughts: int, *, unread: int = 0, cut: bool = False, beyond: int = 0) -> Answering:
    """A server that thinks, of whose replies one in `unread` is prose; a `cut` one never ends.

    It honors limits of tokens, and counts `beyond` more in each request than were sent.
    """
    calls = list[Call]()

    def answer(call: Call) -> Answer:
        calls.append(call)
        sent = sum(len(message["content"]) for message in call.body["messages"]) // 4
        limits = (call.body.get(name) for name in ("max_tokens", "max_completion_tokens"))
        most = next(limit for limit in limits if limit)
        outside = most if cut and pair_of(call) else min(most, thoughts + 12)
        text = "I think so" if unread and len(calls) % unread == 0 else grade_in(call)
        ending = "length" if outside == most else "stop"
        usage: dict[str, Any] = {"prompt_tokens": sent + beyond, "completion_tokens": outside}
        usage["completion_tokens_details"] = {"reasoning_tokens": min(thoughts, outside)}
        return Answer(completion(text, usage=usage, finish_reason=ending))

    return answer


SERVERS: dict[str, Answering] = {
    "plain": server_of(0),
    "half of its replies are prose": server_of(0, unread=2),
    "it never ends": server_of(0, cut=True),
    "thinks a little": server_of(300),
    "thinks a lot": server_of(8000),
    "thinks, and half is prose": server_of(2000, unread=2),
    "thinks, and never ends": server_of(100_000),
    "adds a prompt of its own": server_of(0, beyond=150),
}


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return make_collection(tmp_path / "c", 8, 5)


def judged(
    collection: Collection,
    server: FakeServer,
    capsys: pytest.CaptureFixture[str],
    *more: str,
) -> dict[str, Any]:
    where = [
        "--base-url",
        server.base_url,
        "--model",
        "fake",
        *PRICED,
        "--quiet",
    ]
    given = ["judge", str(collection.folder), "--as", "a", "--format", "json", *where, *more]
    assert execute([*given, "--set", "budget.max_failed=1"]) in (0, 3, 4)
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)
    return figures


WAYS = [([], 30), (["--votes", "3"], 80), (["--prompt", "basic"], 30)]


EACH = [
    pytest.param(answer, *way, id=f"{name} {number}", marks=() if one else pytest.mark.slow)
    for place, (name, answer) in enumerate(SERVERS.items())
    for number, way in enumerate(WAYS)
    for one in [number == place % len(WAYS)]
]
"""Each server in each way; by default each in one, and each way with two servers or more."""


@pytest.mark.sweep
@pytest.mark.parametrize(("answer", "more", "few"), EACH)
def test_no_run_takes_more_than_its_plan_said_at_most(
    answer: Answering,
    more: list[str],
    few: int,
    collection: Collection,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with FakeServer(answer) as server:
        plan = judged(collection, server, capsys, *more, "--dry-run")
        part = judged(
            collection, server, capsys, *more, "--max-calls", str(few), "--concurrency", "2"
        )
        rest = judged(collection, server, capsys, *more, "--dry-run")
        whole = judged(collection, server, capsys, *more)
        assert len(server.calls) == part["calls"] + whole["calls"]
    assert part["cost"] + whole["cost"] <= plan["cost_at_most"]
    assert whole["cost"] <= rest["cost_at_most"]
    assert whole["calls"] <= rest["calls_at_most"] <= plan["calls_at_most"]


@pytest.mark.parametrize(("name", "is_known"), [("plain", True), ("thinks a little", False)])
def test_two_bounds_are_said_until_it_is_known_whether_a_model_thinks(
    name: str, is_known: bool, collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(SERVERS[name]) as server:
        where = ["--base-url", server.base_url, "--model", "fake", *PRICED, "--quiet"]
        assert execute(["judge", str(collection.folder), "--as", "a", *where, "--dry-run"]) == 0
        assert " if it does not think, else $" in capsys.readouterr().out
        plan = judged(collection, server, capsys, "--dry-run")
        low, high = plan["cost_at_most_without_thoughts"], plan["cost_at_most"]
        run = judged(collection, server, capsys, "--max-calls", "12")
        assert 40 * run["cost"] / 12 < (low if is_known else high)
        later = judged(collection, server, capsys, "--dry-run")
    assert low < high / 50
    assert later["cost_at_most_without_thoughts"] is None
    assert later["cost_at_most"] < (low if is_known else high)


@pytest.mark.parametrize("name", ["plain", "thinks a little", "thinks a lot"])
def test_an_estimate_is_what_a_run_costs_once_some_pairs_were_judged(
    name: str, collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(SERVERS[name]) as server:
        judged(collection, server, capsys, "--max-calls", "12")
        plan = judged(collection, server, capsys, "--dry-run")
        run = judged(collection, server, capsys)
    assert run["cost"] == pytest.approx(plan["cost"], rel=0.05)
    assert plan["calls"] == run["calls"]


def test_equal_requests_are_one_call(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.loads(row) for row in collection.corpus.read_text().splitlines()]
    rows[1] |= {name: rows[0][name] for name in ("title", "text")}
    collection.corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with FakeServer(SERVERS["plain"]) as server:
        plan = judged(collection, server, capsys, "--dry-run")
        run = judged(collection, server, capsys)
    assert (plan["pairs"], plan["calls"], run["calls"]) == (40, 32, 32)


def test_a_dry_run_says_in_words_how_many_pairs_it_learned_from(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(SERVERS["plain"]) as server:
        judged(collection, server, capsys, "--max-calls", "12")
        where = ["--base-url", server.base_url, "--model", "fake", "--quiet", "--dry-run"]
        assert execute(["judge", str(collection.folder), "--as", "a", *where]) == 0
    shown = capsys.readouterr().out
    assert "12 pairs took" in shown or "11 pairs took" in shown
    assert "at most" in shown
