"""What a server takes is learned from every answer, and nothing that was paid is paid again."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labeler.errors import CallFailed, Misconfigured
from labeler.model import Message, Model, Reply, Request
from labeler.models.cost import Price
from labeler.models.policies.call import asked_through
from labeler.models.policies.learn import THINKING_TOKENS
from labeler.models.policies.limits import Budget, Budgeting, RateLimiter, RateLimits
from labeler.models.policies.stack import Guard, guarded
from labeler.models.settings import AssessorSettings
from labeler.store import open_store

GRADE = Reply('{"grade": 1}', prompt_tokens=100, completion_tokens=10)
ASKED = {"temperature": 0.0, "max_tokens": 64, "stop": ["\n\n"]}
SCHEMA = {"type": "object"}


def pair(number: int, **parameters: Any) -> Request:
    turns = (Message("system", "you grade"), Message("user", f"pair {number}"))
    return Request(turns, {**ASKED, **parameters}, SCHEMA, {"query": "q"})


class Server:
    """A model of a server that answers by a function, and notes what it is asked."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer, self.asked, self.most, self.under_way = answer, list[Request](), 0, 0

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0.001)
        self.under_way -= 1
        return replace(self.answer(request))


def ask_all(
    server: Server, path: Path, requests: list[Request], declared: AssessorSettings | None = None
) -> list[Any]:
    """Ask about all at once, and what came of each."""

    async def main() -> list[Any]:
        with open_store(path / "replies.db") as store:
            guard = Guard(RateLimiter(RateLimits(16)))
            model = Model("server", server.ask, is_server=True)
            model = guarded(model, store, guard, declared=declared)
            known = model.recall(requests)
            left = [r for r, reply in zip(requests, known, strict=True) if reply is None]
            asked = await asyncio.gather(*map(model.ask, left), return_exceptions=True)
            await model.close()
            return [*filter(None, known), *asked]

    return asyncio.run(main())


def refusing(words: str, refuses: Callable[[Request], object]) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        if refuses(request):
            raise CallFailed(f"http://127.0.0.1:1/v1: 400: {words}", refused=True)
        return GRADE

    return answer


def sends(name: str) -> Callable[[Request], object]:
    return lambda request: name in request.parameters


REFUSALS: list[tuple[str, Callable[[Request], object], int]] = [
    ("You are not allowed to request logprobs from this model", sends("logprobs"), 1),
    ("Unsupported value: 'temperature' does not support 0", sends("temperature"), 1),
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        sends("max_tokens"),
        1,
    ),
    ("'stop' is not supported with this model", sends("stop"), 1),
    ("This response_format type is unavailable now", lambda r: r.schema is not None, 1),
    (
        "response_format is not supported",
        lambda r: r.schema is not None or "response_format" in r.parameters,
        2,
    ),
    ("System role not supported", lambda r: r.messages[0].role == "system", 1),
    (
        "Conversation roles must alternate user/assistant/user/assistant/...",
        lambda r: r.messages[0].role == "system",
        1,
    ),
    ("Developer instruction is not enabled for this model", lambda r: len(r.messages) > 1, 1),
]


@pytest.mark.parametrize(
    ("words", "refuses", "refused"), REFUSALS, ids=lambda v: v[:30] if isinstance(v, str) else ""
)
def test_what_a_refusal_names_is_left_out_for_the_run_and_the_next(
    words: str, refuses: Callable[[Request], object], refused: int, tmp_path: Path
) -> None:
    server, pairs = Server(refusing(words, refuses)), [pair(n) for n in range(40)]
    assert {reply.text for reply in ask_all(server, tmp_path, pairs)} == {GRADE.text}
    assert len(server.asked) == 40 + refused  # the first was alone until it was answered
    assert server.most > 4
    assert "pair 0" in server.asked[-40 - 1].messages[-1].content
    more = [pair(n) for n in range(50)]
    assert {reply.text for reply in ask_all(server, tmp_path, more)} == {GRADE.text}
    assert len(server.asked) == 50 + refused


def test_a_folded_system_turn_stands_before_what_the_user_says(tmp_path: Path) -> None:
    server = Server(refusing("System role not supported", lambda r: len(r.messages) > 1))
    ask_all(server, tmp_path, [pair(7)])
    assert server.asked[-1].messages == (Message("user", "you grade\n\npair 7"),)


def test_calls_under_way_when_something_is_learned_ask_again_by_themselves(tmp_path: Path) -> None:
    seen = list[Request]()

    def answer(request: Request) -> Reply:
        seen.append(request)
        if len(seen) > 20 and "temperature" in request.parameters:
            raise CallFailed("temperature is not supported any more", refused=True)
        return GRADE

    server, pairs = Server(answer), [pair(n) for n in range(60)]
    assert {reply.text for reply in ask_all(server, tmp_path, pairs)} == {GRADE.text}
    assert 60 < len(server.asked) <= 60 + 16
    before = len(server.asked)
    assert len(ask_all(server, tmp_path, pairs)) == 60
    assert len(server.asked) == before  # what was got before it was learned is not paid again


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (AssessorSettings(top_p=0.9), "Unsupported parameter: 'top_p'"),
        (AssessorSettings(seed=3), "seed is not supported"),
        (AssessorSettings(temperature=0.0), "Unsupported value: 'temperature'"),
        (
            AssessorSettings(reasoning_effort="low"),
            "Unrecognized request argument: reasoning_effort",
        ),
        (AssessorSettings(thinking=True), 'Unknown name "thinking"'),
        (AssessorSettings(body={"top_k": 3}), "Unrecognized request argument supplied: top_k"),
    ],
    ids=lambda v: v[:30] if isinstance(v, str) else "",
)
def test_what_somebody_declared_is_never_left_out_without_a_word(
    declared: AssessorSettings, words: str, tmp_path: Path
) -> None:
    server = Server(refusing(words, lambda _: True))
    requests = [pair(n, **declared.parameters) for n in range(5)]
    ended = ask_all(server, tmp_path, requests, declared)
    assert {type(one) for one in ended} == {Misconfigured}
    assert "declared" in str(ended[0])


def thinking(tokens: int, *, says: bool) -> Callable[[Request], Reply]:
    """A model that thinks in so many tokens before ten of its answer."""

    def answer(request: Request) -> Reply:
        most = request.parameters["max_tokens"]
        if tokens + 10 > most:
            used = {"prompt_tokens": 100, "completion_tokens": most}
            return Reply("", "length", thought=says, **used)
        return replace(GRADE, thought=says, completion_tokens=tokens + 10)

    return answer


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize(("tokens", "lost"), [(400, 1), (9_000, 2), (20_000, 3)])
def test_a_reply_that_was_cut_while_the_model_thought_is_asked_again_with_room_for_it(
    tokens: int, lost: int, says: bool, tmp_path: Path
) -> None:
    server, pairs = Server(thinking(tokens, says=says)), [pair(n) for n in range(30)]
    replies = ask_all(server, tmp_path, pairs)
    assert {reply.text for reply in replies} == {GRADE.text}
    assert len(server.asked) <= 30 + 16 * lost
    assert server.asked[-1].parameters["max_tokens"] == 64 + THINKING_TOKENS * 2 ** (lost - 1)
    assert replies[-1].sent == server.asked[-1].parameters
    before = len(server.asked)
    again = ask_all(server, tmp_path, pairs)
    assert {reply.sent["max_tokens"] for reply in again} == {replies[-1].sent["max_tokens"]}
    ask_all(server, tmp_path, [pair(99)])
    assert len(server.asked) == before + 1


def test_hybrid_thinkers_are_found_out_in_mid_run(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        number = int(request.messages[-1].content.split()[1])
        return thinking(500 if number > 5 else 0, says=number > 5)(request)

    server, pairs = Server(answer), [pair(n) for n in range(60)]
    assert {reply.text for reply in ask_all(server, tmp_path, pairs)} == {GRADE.text}
    assert len(server.asked) <= 60 + 16
    assert len(ask_all(server, tmp_path, pairs)) == 60
    assert len(server.asked) <= 60 + 16


def test_thoughts_are_allowed_as_far_as_they_fit_beside_a_request(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        most = request.parameters["max_tokens"]
        words = f"This model's maximum context length is 4096 tokens; max_tokens is {most}"
        if most + 300 > 4096:
            raise CallFailed(words, refused=True)
        return thinking(900, says=True)(request)

    server, pairs = Server(answer), [pair(n) for n in range(30)]
    assert {reply.text for reply in ask_all(server, tmp_path, pairs)} == {GRADE.text}
    assert server.asked[-1].parameters["max_tokens"] == 64 + 2048
    assert len(server.asked) <= 30 + 16 * 3
    declared = AssessorSettings(context=4096)
    server = Server(answer)
    (tmp_path / "declared").mkdir()
    assert len(ask_all(server, tmp_path / "declared", pairs, declared)) == 30
    assert max(request.parameters["max_tokens"] for request in server.asked) == 64 + 2048


def test_a_request_that_is_too_long_by_itself_takes_no_room_from_the_others(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if request.messages[-1].content == "pair 20":
            raise CallFailed("the request exceeds the context size", refused=True)
        return thinking(900, says=True)(request)

    server, pairs = Server(answer), [pair(n) for n in range(30)]
    ended = ask_all(server, tmp_path, pairs)
    assert sum(isinstance(one, CallFailed) for one in ended) == 1
    others = [request for request in server.asked if request.messages[-1].content == "pair 29"]
    assert others[-1].parameters["max_tokens"] == 64 + THINKING_TOKENS


def test_an_endless_thinker_is_paid_a_bounded_number_of_times(tmp_path: Path) -> None:
    server = Server(thinking(10**9, says=True))
    replies = ask_all(server, tmp_path, [pair(0)])
    assert replies[0].finish_reason == "length"
    assert len(server.asked) == 4
    assert ask_all(server, tmp_path, [pair(0)])[0].remembered
    assert len(server.asked) == 4


def test_another_limit_asks_for_none_anew_but_those_that_were_cut(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        number, most = (
            int(request.messages[-1].content.split()[1]),
            request.parameters["max_tokens"],
        )
        if number % 10 == 0 and most < 200:
            used = {"prompt_tokens": 100, "completion_tokens": most}
            return Reply('{"gra', "length", **used)
        return GRADE

    server = Server(answer)
    for most, new in ((64, 40), (64, 0), (65, 4), (65, 0), (300, 4), (64, 0), (12, 0), (300, 0)):
        before = len(server.asked)
        ask_all(server, tmp_path, [pair(n, max_tokens=most) for n in range(40)])
        assert len(server.asked) - before == new, most


def test_text_that_an_assessor_is_not_shown_is_no_part_of_what_a_server_is_asked(
    tmp_path: Path,
) -> None:
    server = Server(lambda _: GRADE)
    ask_all(server, tmp_path, [pair(1)])
    ask_all(server, tmp_path, [replace(pair(1), inputs={"query": "q", "description": "new"})])
    assert len(server.asked) == 1


@pytest.mark.parametrize("usual", [0, 8])
def test_a_server_that_ignores_the_limit_takes_no_more_than_four_calls_beyond_the_budget(
    usual: int,
) -> None:
    """At $1 for a token out, and $300 for all; each call takes more than the one before."""
    paid = list[int]()

    async def ask(request: Request) -> Reply:
        await asyncio.sleep(0.001 * (1 + len(paid) % 3))
        paid.append(4 if len(paid) < usual else 60 + len(paid))
        return Reply("x", prompt_tokens=1, completion_tokens=paid[-1])

    async def main() -> None:
        budget = Budget(max_cost=300.0, price=Price(0.0, 1e6))
        limiter = RateLimiter(RateLimits(256))
        model = asked_through([limiter, Budgeting(budget, is_server=True)], Model("m", ask))
        requests = [Request((Message("user", str(n)),), {"max_tokens": 5}) for n in range(400)]
        await asyncio.gather(*map(model.ask, requests), return_exceptions=True)

    asyncio.run(main())
    assert sum(paid) <= 300 + (4 + usual) * max(paid)
    assert usual or sum(paid) <= 300 + 4 * max(paid)
