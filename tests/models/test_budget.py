"""Budgets, against a server that bills what it writes: no bound is passed, whatever happens."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from every_row import every_row
from made import grade_in, make_collection, pair_calls, pair_of

from labeler.cli import execute
from labeler.errors import Misuse
from labeler.models.session import SessionOptions
from labeler.models.settings import Limits
from labeler.testing import Answer, Call, FakeServer, completion

PRICED = ["--set", "model.tokens_in=1", "--set", "model.tokens_out=2"]


@dataclass(slots=True)
class Bill:
    """What a server has billed: calls, tokens and dollars, at the prices above."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def add(self, tokens_in: int, tokens_out: int) -> dict[str, int]:
        """Bill a call; the usage that says so."""
        self.calls += 1
        self.tokens += tokens_in + tokens_out
        self.cost += (tokens_in * 1.0 + tokens_out * 2.0) / 1e6
        return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}


Misbehave = Callable[[dict[str, Any], dict[str, int]], Answer]


def _with_message(message: object) -> Misbehave:
    def answer(body: dict[str, Any], usage: dict[str, int]) -> Answer:
        return Answer({**body, "choices": [{"message": message, "finish_reason": "stop"}]})

    return answer


TOOL = {"id": "c", "type": "function", "function": {"name": "grade", "arguments": "{}"}}
BEHAVIORS: dict[str, Misbehave] = {
    "a completion": lambda body, usage: Answer(body),
    "no message": lambda body, usage: Answer({**body, "choices": [{"finish_reason": "stop"}]}),
    "a null message": _with_message(None),
    "parts": _with_message({"content": [{"type": "output", "value": 1}]}),
    "tool calls": _with_message({"content": None, "tool_calls": [TOOL]}),
    "no choices": lambda body, usage: Answer({"usage": usage}),
    "a list of choices that is none": lambda body, usage: Answer({**body, "choices": 3}),
    "usage alone, and half of it": lambda body, usage: Answer({"usage": {"prompt_tokens": 9}}),
    "no usage": lambda body, usage: Answer({**body, "usage": None}),
    "usage of nonsense": lambda body, usage: Answer({**body, "usage": {"prompt_tokens": -5}}),
    "no completion and no usage": lambda body, usage: Answer({"id": "x"}),
    "no answer": lambda body, usage: Answer(fault="hang"),
    "half an answer": lambda body, usage: Answer(body, fault="cut"),
    "a closed connection": lambda body, usage: Answer(fault="refuse"),
    "no JSON": lambda body, usage: Answer(b"<html>bad gateway</html>"),
    "a 408": lambda body, usage: Answer({"error": {"message": "timeout"}}, 408),
    "a 504": lambda body, usage: Answer(b"gateway timeout", 504),
    "a 500 that counts": lambda body, usage: Answer(
        {"error": {"message": "x"}, "usage": usage}, 500
    ),
    "a 400 that counts": lambda body, usage: Answer(
        {"error": {"message": "x"}, "usage": usage}, 400
    ),
    "a content filter": lambda body, usage: Answer(
        {"error": {"message": "no", "code": "content_filter"}}, 400
    ),
}
BUDGETS = {"budget.max_calls": 40, "budget.max_tokens": 30_000, "budget.max_cost": 0.04}


def billing(bill: Bill, misbehave: Misbehave, hidden: int) -> Callable[[Call], Answer]:
    """A server that bills a hidden prompt, a token for four bytes, and replies of full length."""

    def answer(call: Call) -> Answer:
        size = sum(len(turn["content"].encode()) for turn in call.body["messages"])
        limit = call.body.get("max_tokens") or call.body["max_completion_tokens"]
        usage = bill.add(hidden + size // 4, limit)
        body = completion(grade_in(call), usage=usage)
        return misbehave(body, usage) if pair_of(call) else Answer(body)

    return answer


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def judge(folder: Path, server: FakeServer, *more: str) -> int:
    where = ["--model", "fake", "--base-url", server.base_url, *PRICED]
    quick = [
        "--set",
        "model.tries=3",
        "--set",
        "model.patience=1",
        "--set",
        "model.timeout=0.4",
        "--as",
        "a",
    ]
    return execute(["judge", str(folder), *where, *quick, "--concurrency", "256", *more])


ALL = [(option, name, hidden) for option in BUDGETS for name in BEHAVIORS for hidden in (0, 1000)]
QUICK = [("budget.max_tokens", name, 1000) for name in ("no message", "no answer", "a 408")]
QUICK += [("budget.max_cost", name, 0) for name in ("no choices", "half an answer", "no usage")]


def counted_at_most(said: str) -> dict[str, float]:
    """The calls, and the tokens and dollars at most, of the last line of progress."""
    (*_, last) = re.findall("^judging: .*$", said, re.MULTILINE)
    patterns = {"calls": r" (\S+) calls?", "tokens": r"(\S+) tokens(?:, at most (\S+))?"}
    shown = {name: re.findall(pattern, last) for name, pattern in patterns.items()}
    tokens = [each for pair in shown["tokens"] for each in pair if each]
    amounts = {"calls": shown["calls"], "tokens": tokens, "cost": re.findall(r"\$([0-9,.]+)", last)}
    return {name: float(("0", *texts)[-1].replace(",", "")) for name, texts in amounts.items()}


@pytest.mark.parametrize(
    ("option", "name", "hidden"),
    [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in ALL if case not in QUICK)],
)
def test_what_is_billed_stays_within_the_budget_at_256_calls_at_once(
    option: str, name: str, hidden: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, 5, 20)
    bill, earlier = Bill(), Bill()
    with FakeServer(billing(bill, BEHAVIORS[name], hidden)) as server:
        for _ in range(2):  # the second run makes no call to find out what the server accepts
            budget = ["--set", f"{option}={BUDGETS[option]}"]
            assert judge(tmp_path, server, *budget) in {0, 3, 4, 69, 78}
            billed = bill.calls - earlier.calls, bill.tokens - earlier.tokens
            cost = bill.cost - earlier.cost
            counted = counted_at_most(capsys.readouterr().err)
            assert counted["calls"] >= billed[0]
            assert billed[1] <= counted["tokens"]
            assert cost <= counted["cost"] + 0.00005  # as it is shown
            most = {
                "budget.max_calls": billed[0],
                "budget.max_tokens": billed[1],
                "budget.max_cost": cost,
            }
            assert most[option] <= BUDGETS[option]
            earlier = Bill(bill.calls, bill.tokens, bill.cost)


@pytest.mark.parametrize("name", ["no message", "a null message", "no choices", "tool calls"])
def test_an_answer_without_a_completion_that_was_billed_is_not_paid_again(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, 1, 4)
    bill = Bill()
    times = 1 if name == "tool calls" else 3  # in place of a text, the next would be no other
    with FakeServer(billing(bill, BEHAVIORS[name], 0)) as server:
        assert judge(tmp_path, server) == 3
        assert len(pair_calls(server)) == 4 * times
        known = re.findall(r"cost of this run: \$([0-9.]+); calls: (\d+)", capsys.readouterr().out)
        assert known == [(f"{bill.cost:.4f}", str(bill.calls))]
        assert judge(tmp_path, server) == 3
        assert len(pair_calls(server)) == 4 * times
        assert judge(tmp_path, server, "--retry-failed") == 3
        assert len(pair_calls(server)) == 4 * 2 * times
        server.answer = grade_in
        assert judge(tmp_path, server, "--retry-failed") == 0
        assert execute(["explain", str(tmp_path), "q0", "d1"]) == 0
    assert "as received: {" in capsys.readouterr().out
    assert '"status": "judged"' in collection.judgements("a").read_text()


def test_amounts_that_are_known_are_shown_apart_from_those_that_are_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, 1, 12)
    bill = Bill()
    usual, silent = (billing(bill, BEHAVIORS[name], 0) for name in ("a completion", "no usage"))
    with FakeServer() as server:
        server.answer = lambda call: usual(call) if len(server.calls) < 8 else silent(call)
        assert judge(tmp_path, server) == 0
    shown = capsys.readouterr()
    known, most = re.findall(r"\$([0-9.]+), at most \$([0-9.]+)", shown.out)[0]
    assert float(known) < bill.cost < float(most)
    assert "for 5 calls the server did not say how many tokens they took: at most" in shown.err
    assert re.search(r"[0-9,]+ tokens, at most [0-9,]+ · cost \$[0-9.]+, at most", shown.err)


@pytest.mark.slow
def test_a_refusal_takes_nothing_of_a_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, 1, 3)
    refusals = {400: "bad", 422: "bad", 429: "busy", 500: "oops", 503: "busy"}
    for code, message in refusals.items():
        answer = Answer({"error": {"message": message}}, code)
        with FakeServer(lambda call, a=answer: a if pair_of(call) else grade_in(call)) as server:
            bounds = ["--as", f"a{code}", "--set", "budget.max_tokens=5000"]
            assert judge(tmp_path, server, *bounds) in {3, 69}
        tokens = counted_at_most(capsys.readouterr().err)["tokens"]
        assert tokens <= 110  # of a small question of our own


@every_row("value", [math.nan, math.inf, -math.inf, -1, 10**400, True, "5", [1]])
@every_row("name", [limit.name for limit in fields(Limits)])
def test_a_limit_that_would_never_be_reached_is_refused(name: str, value: Any) -> None:
    with pytest.raises(Misuse, match="expected ") as caught:
        Limits(**{name: value})
    assert caught.value.parameter == name


@pytest.mark.parametrize("value", [0, -1, math.nan, 1.5])
def test_calls_at_once_count_from_1(value: Any) -> None:
    with pytest.raises(Misuse, match="calls at once count from 1"):
        SessionOptions(concurrency=value)
