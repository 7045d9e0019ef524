"""Policies around a model: limits that learn, budgets that hold, retries that wait."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from every_row import every_row
from made import grade_in, make_collection, pair_calls

from labeler.cli import execute
from labeler.errors import BudgetReached, CallFailed, Retryable, Stopped
from labeler.model import Message, Model, Reply, Request
from labeler.models.cost import Price, Tier, price_of
from labeler.models.policies.call import Stopping, StopSignal, asked_through
from labeler.models.policies.limits import Bucket, Budget, Budgeting, RateLimiter, RateLimits
from labeler.models.policies.retry import Patience, Retrying
from labeler.models.server.answers import read_answer
from labeler.testing import Answer, Call, FakeServer, completion, fake_model
from labeler.trec.files import read_qrels


def request(number: int = 0) -> Request:
    return Request((Message("user", f"number {number}"),), {"max_tokens": 10})


class Storm:
    """A server that takes `rate` calls a second, with a second's worth in stock, else 429."""

    def __init__(self, rate: float, wait: float | None = None, seconds: float = 0.02) -> None:
        self.rate, self.wait, self.seconds = rate, wait, seconds
        self.stock, self.at = rate, time.monotonic()
        self.calls = self.taken = 0

    async def ask(self, _request: Request) -> Reply:
        now = time.monotonic()
        self.stock = min(self.rate, self.stock + (now - self.at) * self.rate)
        self.at = now
        self.calls += 1
        if self.stock < 1:
            await asyncio.sleep(0.002)
            raise Retryable("429", self.wait, busy=True)
        self.stock -= 1
        self.taken += 1
        await asyncio.sleep(self.seconds)
        return Reply("ok")


async def ask_all(model: Model, count: int, at_once: int) -> None:
    places = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with places:
            await model.ask(request(number))

    await asyncio.gather(*(one(number) for number in range(count)))


def weather_a_storm(storm: Storm, count: int) -> float:
    """Ask so many requests in a storm; the seconds that it took."""
    began = time.monotonic()

    async def weather() -> None:
        limiter = RateLimiter(RateLimits(64))
        patience = Patience(tries=50, first=0.2, longest=5)
        await ask_all(
            asked_through([Retrying(patience), limiter], Model("m", storm.ask)), count, 128
        )

    asyncio.run(weather())
    return time.monotonic() - began


def test_in_a_storm_of_429s_few_calls_are_wasted() -> None:
    storm = Storm(400, 1.0)
    weather_a_storm(storm, 2000)
    assert storm.taken == 2000
    assert storm.calls <= 1.1 * 2000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "wait", "count"),
    [(400, 1.0, 2000), (100, None, 1500), (100, 1.0, 1500), (20, None, 400), (20, 1.0, 400)],
)
def test_in_a_storm_of_429s_little_time_is_wasted_on_a_machine_without_other_work(
    rate: int, wait: float | None, count: int
) -> None:
    storm = Storm(rate, wait)
    seconds = weather_a_storm(storm, count)
    assert storm.calls <= 1.1 * count
    assert count / seconds >= 0.9 * rate


def test_a_server_that_keeps_up_is_asked_as_much_at_once_as_is_allowed() -> None:
    async def ask(_request: Request) -> Reply:
        await asyncio.sleep(0.01)
        return Reply("ok")

    limiter = RateLimiter(RateLimits(64))
    asyncio.run(ask_all(asked_through([limiter], Model("m", ask)), 1000, 128))
    assert (limiter.at_once, limiter.why) == (64.0, "as many as are allowed")


def test_a_ceiling_of_requests_a_minute_is_kept() -> None:
    began: list[float] = []

    def answer(_request: Request) -> str:
        began.append(time.monotonic())
        return "ok"

    async def main() -> None:
        await ask_all(
            asked_through([RateLimiter(RateLimits(8, requests=1200))], fake_model(answer)), 40, 16
        )

    asyncio.run(main())
    assert began[-1] - began[0] >= 0.9 * (40 - 20) / 20


def test_a_bucket_gives_what_flows_in_and_no_more() -> None:
    bucket = Bucket(rate=10, size=10)
    assert [bucket.take(1, 0.0) for _ in range(10)] == [0.0] * 10
    assert bucket.take(1, 0.0) == pytest.approx(0.1)
    assert bucket.take(1, 0.0) == pytest.approx(0.2)
    assert bucket.take(1, 1.2) == 0.0
    bucket.give_back(100)
    assert bucket.level == 10


def test_never_more_calls_under_way_than_allowed() -> None:
    under_way = most = 0

    async def ask(_request: Request) -> Reply:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return Reply("ok")

    async def main() -> None:
        await ask_all(asked_through([RateLimiter(RateLimits(5))], Model("m", ask)), 100, 50)

    asyncio.run(main())
    assert most == 5


def test_a_cancelled_call_gives_its_place_back() -> None:
    async def main() -> None:
        async def ask(asked: Request) -> Reply:
            await asyncio.sleep(0 if asked == request(1) else 60)
            return Reply("ok")

        limiter = RateLimiter(RateLimits(1))
        model = asked_through([limiter], Model("m", ask))
        first, second = (asyncio.create_task(_ask(model, 0)) for _ in range(2))
        await asyncio.sleep(0.01)
        second.cancel()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        assert (await asyncio.wait_for(model.ask(request(1)), 1)).text == "ok"
        assert limiter.under_way == 0

    asyncio.run(main())


async def _ask(model: Model, number: int) -> Reply:
    return await model.ask(request(number))


def failing(times: int, error: Callable[[], Exception]) -> tuple[Model, list[int]]:
    asked: list[int] = []

    def answer(_request: Request) -> str:
        asked.append(1)
        if len(asked) <= times:
            raise error()
        return "ok"

    return fake_model(answer), asked


def slept(into: list[float]) -> Callable[[float], Awaitable[None]]:
    async def sleep(seconds: float) -> None:
        into.append(seconds)

    return sleep


def test_what_may_pass_is_tried_again_with_growing_waits() -> None:
    model, asked = failing(5, lambda: Retryable("503"))
    waits: list[float] = []
    patience = Patience(tries=8, first=0.5, longest=4)
    reply = asyncio.run(_ask(asked_through([Retrying(patience, slept(waits))], model), 0))
    assert (reply.text, len(asked), len(waits)) == ("ok", 6, 5)
    assert all(0 <= wait <= min(4, 0.5 * 2**i) for i, wait in enumerate(waits))


def test_a_wait_is_never_shorter_than_the_server_asked_for() -> None:
    model, _ = failing(2, lambda: Retryable("429", 7.0))
    waits: list[float] = []
    asyncio.run(_ask(asked_through([Retrying(Patience(), slept(waits))], model), 0))
    assert min(waits) >= 7


def test_tries_are_counted_and_the_last_error_is_what_is_raised() -> None:
    model, asked = failing(99, lambda: Retryable(f"try {len(asked)}"))
    with pytest.raises(Retryable, match="try 3"):
        asyncio.run(_ask(asked_through([Retrying(Patience(tries=3), slept([]))], model), 0))
    assert len(asked) == 3


def test_what_cannot_pass_is_not_tried_again() -> None:
    model, asked = failing(1, lambda: CallFailed("400"))
    with pytest.raises(CallFailed):
        asyncio.run(_ask(asked_through([Retrying()], model), 0))
    assert len(asked) == 1


def test_a_stop_signal_ends_waits_and_begins_nothing() -> None:
    async def main() -> float:
        stop = StopSignal()
        model, asked = failing(99, lambda: Retryable("503", 60.0))
        tried = asked_through([Retrying(Patience(), stop.sleep), Stopping(stop)], model)
        task = asyncio.create_task(_ask(tried, 0))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        stop.set()
        with pytest.raises(Stopped):
            await task
        assert len(asked) == 1
        return time.monotonic() - began

    assert asyncio.run(main()) < 1


@pytest.mark.parametrize("ends", ["a stop signal", "the deadline"])
def test_waits_before_a_call_end_like_those_between_tries(ends: str) -> None:
    async def main() -> float:
        stop = StopSignal()
        budget = Budget(max_seconds=0.1 if ends == "the deadline" else None)
        stop.until = budget.ends
        limiter = RateLimiter(RateLimits(8, requests=1), stop=stop)

        async def answer(_request: Request) -> Reply:
            return Reply("ok")

        model = asked_through([limiter, Budgeting(budget), Stopping(stop)], Model("m", answer))
        await model.ask(request(0))
        began = time.monotonic()
        tasks = [asyncio.create_task(_ask(model, n)) for n in range(1, 20)]
        await asyncio.sleep(0.02)
        if ends == "a stop signal":
            stop.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        wanted = Stopped if ends == "a stop signal" else BudgetReached
        assert [type(one) for one in ended] == [wanted] * 19
        return time.monotonic() - began

    assert asyncio.run(main()) < 1


def test_parallel_calls_stay_within_the_budget_of_calls() -> None:
    calls = 0

    async def ask(_request: Request) -> Reply:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.001)
        return Reply("ok", prompt_tokens=5, completion_tokens=5)

    async def main() -> list[object]:
        model = asked_through([Budgeting(Budget(max_calls=30))], Model("m", ask))
        return await asyncio.gather(*(_ask(model, n) for n in range(100)), return_exceptions=True)

    ended = asyncio.run(main())
    assert calls == 30
    assert sum(isinstance(one, BudgetReached) for one in ended) == 70


def test_parallel_calls_stay_within_the_budget_of_tokens_and_cost() -> None:
    price = Price(1.0, 10.0)

    async def spend(budget: Budget) -> Budget:
        async def ask(_request: Request) -> Reply:
            await asyncio.sleep(0.001)
            return Reply("ok", prompt_tokens=3, completion_tokens=2)

        model = asked_through([Budgeting(budget)], Model("m", ask))
        await asyncio.gather(*(_ask(model, n) for n in range(200)), return_exceptions=True)
        return budget

    tokens = asyncio.run(spend(Budget(max_tokens=200)))
    assert 150 <= tokens.spent.tokens <= 200
    cost = asyncio.run(spend(Budget(max_cost=0.0005, price=price)))
    assert cost.spent.cost <= 0.0005
    assert cost.spent.calls == 16


@pytest.mark.parametrize(
    ("hidden", "tokens_of_a_character", "most"),
    [(0, 1, 10_000), (5_000, 0.25, 12_000), (5_000, 1, 40_000)],
)
def test_no_script_and_no_hidden_prompt_makes_parallel_calls_overshoot_by_more_than_one(
    hidden: int, tokens_of_a_character: float, most: int
) -> None:
    taken: list[int] = []

    async def ask(asked: Request) -> Reply:
        await asyncio.sleep(0.001)
        length = len(asked.messages[0].content)
        reply = Reply("ok", prompt_tokens=hidden + int(length * tokens_of_a_character))
        taken.append(reply.prompt_tokens + 10)
        return replace(reply, completion_tokens=10)

    async def main() -> None:
        model = asked_through([Budgeting(Budget(max_tokens=most))], Model("m", ask))
        await model.ask(request())
        turns = [Message("user", "漢字" * (100 + n % 50)) for n in range(60)]
        asked = [Request((turn,), {"max_tokens": 10}) for turn in turns]
        await asyncio.gather(*map(model.ask, asked), return_exceptions=True)

    asyncio.run(main())
    assert sum(taken) <= most + max(taken)
    assert sum(taken) >= 0.8 * most


def test_a_budget_stops_with_4_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    make_collection(tmp_path, queries=2, documents=20)
    with FakeServer(grade_in) as server:
        options = ["--model", "fake", "--base-url", server.base_url, "--as", "a"]
        command = ["judge", str(tmp_path), *options]
        assert execute([*command, "--max-calls", "15"]) == 4
        assert len(server.calls) == 15
        said = capsys.readouterr()
        assert "--max-calls: stopped at 15 calls" in said.err
        assert f"to go on: labeler judge {tmp_path} --model fake" in said.err
        assert "15 of 40 pairs judged" in said.out
        assert "25 not asked yet" in said.out
        assert sum(map(len, read_qrels(tmp_path / "qrels" / "a.qrels").values())) == 15
        assert execute([*command, "--max-calls", "100"]) == 0
        assert len(pair_calls(server)) == 40
        assert execute([*command, "--max-calls", "0"]) == 0
        assert execute([*command, "--max-cost", "1"]) == 78
    assert "unknown" in capsys.readouterr().err


def test_a_dry_run_says_no_less_than_what_a_text_of_any_script_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    collection = make_collection(tmp_path, queries=1, documents=5)
    rows = collection.corpus.read_text().replace("about", "漢字" * 500 + " about")
    collection.corpus.write_text(rows)
    priced = ["--set", "model.tokens_in=4", "--set", "model.tokens_out=10"]

    def answer(call: Call) -> Answer:
        length = sum(len(turn["content"]) for turn in call.body["messages"])
        usage = {"prompt_tokens": length, "completion_tokens": call.body["max_tokens"]}
        return Answer(completion(grade_in(call), usage=usage))

    with FakeServer(answer) as server:
        where = ["--model", "fake", "--base-url", server.base_url, *priced]
        command = ["judge", str(tmp_path), *where, "--as", "a"]
        assert execute([*command, "--max-calls", "1"]) == 4  # which tells that it does not think
        capsys.readouterr()
        assert execute([*command, "--dry-run"]) == 0
        (most,) = re.findall(r"at most \$([\d.]+),", capsys.readouterr().out)
        assert execute(command) == 0
        (cost,) = re.findall(r"cost of this run: \$([\d.]+)", capsys.readouterr().out)
    assert float(most) / 8 < float(cost) <= float(most)


def test_no_call_outlasts_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    make_collection(tmp_path, queries=1, documents=12)
    with FakeServer(grade_in) as server:
        server.answer = lambda c: Answer(fault="hang") if len(server.calls) > 5 else grade_in(c)
        options = ["--model", "fake", "--base-url", server.base_url, "--as", "a", "--quiet"]
        command = ["judge", str(tmp_path), *options]
        began = time.monotonic()
        assert execute([*command, "--set", "budget.deadline=1.5"]) == 4
        assert time.monotonic() - began < 4
        said = capsys.readouterr()
        assert "--set budget.deadline: stopped at 1.5 seconds" in said.err
        assert "to go on: labeler judge" in said.err
        assert "5 of 12 pairs judged" in said.out
        server.answer = grade_in
        assert execute([*command, "--set", "budget.deadline=60"]) == 0


def test_at_the_budget_what_is_known_is_handed_back_wherever_it_stands_in_the_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    collection = make_collection(tmp_path, queries=1, documents=30)
    pool = collection.pool.read_text().splitlines(keepends=True)
    with FakeServer(grade_in) as server:
        options = ["--model", "fake", "--base-url", server.base_url, "--as", "a", "--quiet"]
        command = ["judge", str(tmp_path), *options]
        collection.pool.write_text("".join(pool[20:]))
        assert execute(command) == 0
        collection.pool.write_text("".join(pool))
        assert execute([*command, "--max-calls", "5"]) == 4
        judged = read_qrels(collection.qrels("a"))["q0"]
        assert len(judged) == 15
        assert {f"d{n}" for n in range(20, 30)} < set(judged)
        assert execute([*command, "--max-calls", "0"]) == 4
        assert len(read_qrels(collection.qrels("a"))["q0"]) == 15
        assert execute([*command, "--set", "budget.deadline=0"]) == 4
        assert execute(command) == 0
        assert len(pair_calls(server)) == 30


@every_row(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 10}, (100, 10)),
        ({"prompt_tokens": 100.0, "completion_tokens": "10"}, (100, 10)),
        ({"input_tokens": 100, "output_tokens": 10}, (100, 10)),
        ({"prompt_tokens": 100, "total_tokens": 110}, (100, 10)),
        ({"completion_tokens": 10, "total_tokens": 110}, (100, 10)),
        ({"total_tokens": 110}, (98, 12)),
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 250}, (100, 150)),
        ({"prompt_tokens": 100}, (0, 0)),
        ({"prompt_tokens": True, "completion_tokens": 10}, (0, 0)),
        ({"prompt_tokens": -1, "completion_tokens": 10}, (0, 0)),
        ({"prompt_tokens": "many", "completion_tokens": 1e400}, (0, 0)),
        ({"prompt_tokens": 200, "total_tokens": 110}, (0, 0)),
        ([100, 10], (0, 0)),
        (None, (0, 0)),
    ],
)
def test_what_a_server_says_of_tokens_is_read_or_unknown(
    usage: object, tokens: tuple[int, int]
) -> None:
    body = json.dumps(completion('{"grade": 1}', usage=usage)).encode()
    reply = read_answer(body, "here", {})
    assert (reply.prompt_tokens, reply.completion_tokens) == tokens


def test_a_server_that_counts_no_tokens_is_paid_within_the_budget_at_an_unknown_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    collection = make_collection(tmp_path, queries=2, documents=20)
    priced = ["--set", "model.tokens_in=1", "--set", "model.tokens_out=2"]
    with FakeServer(lambda c: Answer(completion(grade_in(c), usage=None))) as server:
        where = ["--model", "fake", "--base-url", server.base_url, *priced]
        command = ["judge", str(tmp_path), *where, "--as", "a", "--quiet"]
        assert execute([*command, "--max-cost", "0.02"]) == 4
        assert 3 < len(server.calls) < 20
        said = capsys.readouterr()
        assert "cost of this run: at most $0.01" in said.out
        assert f"for {len(server.calls)} calls the server did not say" in said.err
        assert execute([*command, "--set", "budget.max_tokens=10000"]) == 4
    assert '"cost": null' in collection.judgements("a").read_text()
    assert '"cost": 0' not in collection.judgements("a").read_text()


def test_a_build_keeps_to_one_budget_for_writing_and_judging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    texts = [" ".join(f"word{n}x{i}" for i in range(60)) for n in range(6)]
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    number = iter(range(1000))
    with FakeServer(lambda c: f"what is word{next(number)}x1") as server:
        where = ["--model", "fake", "--base-url", server.base_url, "--quiet"]
        build = ["build", str(tmp_path), "-o", str(tmp_path / "c"), "--queries", "3", *where]
        assert execute([*build, "--dry-run"]) == 0
        assert server.calls == []
        said = capsys.readouterr()
        assert said.out.count("and 1 before them") == 0
        assert "pooled" not in said.err
        assert said.out.count("cost        unknown") == 2
        assert execute([*build, "--max-calls", "2"]) == 4
        assert len(server.calls) == 2
        assert "to go on: labeler build" in capsys.readouterr().err
        assert execute([*build, "--max-calls", "8"]) == 4
        assert len(server.calls) == 10
        assert execute([*build, "--max-cost", "1"]) == 78


def test_a_price_is_known_for_its_host_alone(tmp_path: Path) -> None:
    known = price_of("https://api.openai.com/v1", "gpt-4.1-mini")
    assert known is not None
    assert known.of(1_000_000, 1_000_000) == pytest.approx(2.0)
    assert known.basis == f"at prices of genai-prices {version('genai-prices')}"
    for host in (
        "127.0.0.1:1",
        "[::1]:1",
        "vllm",
        "vllm.example.com",
        "api.openai.com.example.com",
    ):
        assert price_of(f"http://{host}/v1", "gpt-4.1-mini") is None
        assert price_of(f"https://{host}/v1", "gpt-4.1-mini") is None
    assert price_of("https://me.openai.azure.com/openai/v1", "gpt-4.1-mini") is None
    assert price_of(None, "local") == Price(0.0, 0.0)


@pytest.mark.parametrize(
    ("address", "model"),
    [
        ("https://api.openai.com/v1", "gpt-99"),
        ("https://api.openai.com/v1", "ft:gpt-4.1-mini:acme"),
        ("https://api.openai.com/v1", "text-embedding-3-small"),  # which has no price of replies
        ("https://api.perplexity.ai", "sonar"),  # which charges for requests, too
    ],
)
def test_what_is_not_listed_as_a_price_of_tokens_is_unknown(address: str, model: str) -> None:
    assert price_of(address, model) is None


def test_a_longer_call_has_the_price_of_its_length() -> None:
    price = Price(1.0, 2.0, "today", (Tier(200_000, 3.0, 4.0), Tier(100_000, 2.0, 3.0)))
    assert price.of(100_000, 0) == pytest.approx(0.1)
    assert price.of(150_000, 0) == pytest.approx(0.3)
    assert price.of(300_000, 100_000) == pytest.approx(0.9 + 0.4)
    assert price.of(300_000, 0, calls=3) == pytest.approx(0.3)
    assert price_of("https://api.openai.com/v1", "gpt-4o") == Price(
        2.5, 10.0, f"genai-prices {version('genai-prices')}", cached=0.5
    )
    tiered = price_of("https://api.openai.com/v1", "gpt-5.5")
    assert tiered is not None
    assert tiered.of(300_000, 0) > 300 * tiered.of(1000, 0)


def test_cached_tokens_cost_their_share() -> None:
    price = price_of("https://api.openai.com/v1", "gpt-4o")
    assert price is not None
    assert price.of(1_000_000, 0, cached=400_000) == pytest.approx(0.6 * 2.5 + 0.4 * 1.25)
    assert Price(1.0, 2.0).of(1000, 0, cached=400) == Price(1.0, 2.0).of(1000, 0)


def test_of_prices_that_change_in_a_day_the_highest_counts() -> None:
    from genai_prices.data import providers
    from genai_prices.types import TimeOfDateConstraint

    (deepseek,) = [provider for provider in providers if provider.id == "deepseek"]
    changing = [
        (model.id, part.prices)
        for model in deepseek.models
        if isinstance(model.prices, list)
        for part in model.prices
        if isinstance(part.constraint, TimeOfDateConstraint)
    ]
    assert changing
    for name, prices in changing:
        price = price_of("https://api.deepseek.com/v1", name)
        assert price is not None
        assert price.tokens_in >= float(str(prices.input_mtok))
        assert price.tokens_out >= float(str(prices.output_mtok))


def test_with_a_price_the_cost_is_shown_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    collection = make_collection(tmp_path / "c")
    with FakeServer(grade_in) as server:
        priced = ["--set", "model.tokens_in=1", "--set", "model.tokens_out=2"]
        options = ["--model", "fake", "--base-url", server.base_url, *priced]
        command = ["judge", str(tmp_path / "c"), *options, "--as", "a"]
        assert execute([*command, "--dry-run"]) == 0
        told = capsys.readouterr().out
        bounds = r"at most \$\d\.\d+ if it does not think, else \$\d\.\d+"
        assert re.search(rf"about \$0\.00\d+ .*, {bounds}", told)
        assert execute([*command, "--max-cost", "1"]) == 0
    assert "cost of this run: $0.0012" in capsys.readouterr().out
    assert '"cost": 0.00012' in collection.judgements("a").read_text()
