"""Runs re-ranked by a model that reads: windows, replies that are no order, and limits."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.layout import Collection
from labeler.collection.whose import made_by
from labeler.errors import BadInput, BudgetReached, CallFailed, Misuse, NoAnswer, ProviderError
from labeler.evaluation.inputs import kin_of
from labeler.model import Reply, Request
from labeler.models.session import Control
from labeler.models.settings import Limits
from labeler.runs.rerank import TRIES, RerankOptions, Windows, rerank
from labeler.testing import FakeServer, fake_model
from labeler.trec.files import ranking, read_run
from tests.made import make_collection

DOCUMENTS = 12


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """Twelve documents and two queries, and a run that ranks them by their numbers."""
    made = make_collection(tmp_path / "coll", 2, DOCUMENTS)
    made.run("first").parent.mkdir()
    lines = (f"q{q} Q0 d{d} {d + 1} {99 - d} bm25\n" for q in range(2) for d in range(DOCUMENTS))
    made.run("first").write_text("".join(lines))
    return made


def shown(request: Request) -> list[str]:
    """The documents of a window, in the order in which the model sees them."""
    return re.findall(r"about (d\d+);", request.messages[-1].content)


def best_last(request: Request) -> str:
    """The order in which documents of higher numbers come first."""
    numbers = [int(name[1:]) for name in shown(request)]
    order = sorted(range(len(numbers)), key=lambda at: -numbers[at])
    return json.dumps({"order": [at + 1 for at in order]})


def options(answer: Callable[[Request], str | Reply] | str, **changes: object) -> RerankOptions:
    windows = Windows(depth=10, size=4, step=2)
    settings = {"model": fake_model(answer, "qwen-large"), "windows": windows, **changes}
    return RerankOptions(**settings)  # type: ignore[arg-type]  # settings of several types


def order_in(collection: Collection, name: str, query: str = "q0") -> list[str]:
    return [f"d{doc_id[1:]}" for doc_id in ranking(read_run(collection.run(name))[query])]


@pytest.mark.parametrize(
    ("documents", "size", "step", "starts"),
    [
        (0, 4, 2, []),
        (1, 4, 2, []),
        (2, 4, 2, [0]),
        (4, 4, 2, [0]),
        (5, 4, 2, [1, 0]),
        (10, 4, 2, [6, 4, 2, 0]),
        (10, 4, 4, [6, 2, 0]),
        (50, 20, 10, [30, 20, 10, 0]),
    ],
)
def test_windows_go_from_the_last_to_the_first_and_leave_none_out(
    documents: int, size: int, step: int, starts: list[int]
) -> None:
    assert Windows(50, size, step).starts(documents) == starts


def test_what_the_model_prefers_climbs_and_the_rest_keeps_its_order(collection: Collection) -> None:
    result = rerank(collection, "first", "new", options(best_last))
    assert (result.queries, result.windows, result.untouched) == (2, 8, 0)
    climbed = order_in(collection, "new")
    assert climbed[:2] == ["d9", "d8"]
    assert sorted(climbed[:10]) == sorted(f"d{n}" for n in range(10))
    assert climbed[10:] == ["d10", "d11"]
    scores = list(read_run(collection.run("new"))["q0"].values())
    assert scores == [1 / rank for rank in range(1, DOCUMENTS + 1)]


def test_the_same_again_asks_nothing(collection: Collection) -> None:
    asked: list[Request] = []

    def counted(request: Request) -> str:
        asked.append(request)
        return best_last(request)

    rerank(collection, "first", "new", options(counted))
    before, calls = collection.run("new").read_bytes(), len(asked)
    rerank(collection, "first", "new", options(counted))
    assert (len(asked), collection.run("new").read_bytes()) == (calls, before)


NO_ORDERS = [
    "I cannot",
    "{}",
    '{"order": [1, 2, 3]}',
    '{"order": [1, 2, 3, 3]}',
    '{"order": [0, 1, 2, 3]}',
    '{"order": [1, 2, 3, 5]}',
    '{"order": ["1", "2", "3", "4"]}',
    '{"order": [1.0, 2, 3, 4]}',
    '{"order": [true, 2, 3, 4]}',
    '{"order": "1 2 3 4"}',
    '{"order": [2, 1, 3, 4], "order": [1, 2, 3, 4]}',
]


@pytest.mark.parametrize("text", NO_ORDERS)
def test_a_reply_that_is_no_order_is_asked_again_once_then_leaves_the_window(
    collection: Collection, text: str
) -> None:
    asked: list[str] = []

    def stubborn(request: Request) -> str:
        if "d9" not in shown(request):
            return best_last(request)
        asked.append(f"{request.messages[-1].content}")
        return text

    result = rerank(collection, "first", "new", options(stubborn))
    assert (result.windows, result.untouched) == (8, 2)
    assert len(asked) == 2 * TRIES
    assert order_in(collection, "new")[8:] == ["d8", "d9", "d10", "d11"]
    assert set(order_in(collection, "new")) == {f"d{n}" for n in range(DOCUMENTS)}


def test_a_second_reply_that_is_an_order_counts(collection: Collection) -> None:
    def late(request: Request) -> str:
        return best_last(request) if request.attempt else "let me think"

    assert rerank(collection, "first", "new", options(late)).untouched == 0


def test_failed_windows_are_asked_again_where_that_is_wanted(collection: Collection) -> None:
    def half(request: Request) -> str:
        return "no" if "d9" in shown(request) else best_last(request)

    assert rerank(collection, "first", "new", options(half)).untouched == 2
    assert rerank(collection, "first", "new", options(best_last)).untouched == 2
    again = options(best_last, retry_failed=True)
    assert rerank(collection, "first", "new", again).untouched == 0


def test_a_refused_window_keeps_its_order_and_a_lost_server_ends_the_work(
    collection: Collection,
) -> None:
    def refuses(request: Request) -> str:
        if "d9" in shown(request):
            raise CallFailed("too long", refused=True)
        return best_last(request)

    def is_gone(request: Request) -> str:
        raise NoAnswer("no connection")

    assert rerank(collection, "first", "new", options(refuses)).untouched == 2
    lost = options(is_gone, model=fake_model(is_gone, "other"), limits=Limits(tries=1))
    with pytest.raises(NoAnswer):
        rerank(collection, "first", "lost", lost)
    assert not collection.run("lost").exists()


def test_where_no_reply_is_an_order_there_is_no_run(collection: Collection) -> None:
    with pytest.raises(ProviderError, match=r"no reply is an order .* as 'I am a teapot'"):
        rerank(collection, "first", "new", options("I am a teapot"))
    assert not collection.run("new").exists()


def test_a_budget_ends_the_work_and_the_next_run_goes_on(collection: Collection) -> None:
    asked: list[Request] = []

    def counted(request: Request) -> str:
        asked.append(request)
        return best_last(request)

    with pytest.raises(BudgetReached):
        rerank(collection, "first", "new", options(counted, limits=Limits(max_calls=3)))
    assert not collection.run("new").exists()
    rerank(collection, "first", "new", options(counted))
    assert len(asked) == 8


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"depth": 1}, "depth"),
        ({"size": 1}, "size"),
        ({"step": 0}, "step"),
        ({"size": 4, "step": 5}, "step"),
        ({"words": 0}, "words"),
    ],
)
def test_windows_that_cannot_be_meant_are_refused(settings: dict[str, int], parameter: str) -> None:
    with pytest.raises(Misuse) as caught:
        Windows(**settings)
    assert caught.value.parameter == parameter


def test_runs_that_are_not_there_or_not_of_the_corpus_are_refused(
    collection: Collection, tmp_path: Path
) -> None:
    with pytest.raises(Misuse, match="no run 'fist'; the collection has: first"):
        rerank(collection, "fist", "new", options(best_last))
    other = tmp_path / "other.trec"
    other.write_text("q0 Q0 elsewhere 1 1 x\n")
    with pytest.raises(BadInput, match=r"1 document is not in .*: elsewhere"):
        rerank(collection, other, "new", options(best_last))
    other.write_text("x Q0 d1 1 1 x\n")
    with pytest.raises(BadInput, match="share no query"):
        rerank(collection, other, "new", options(best_last))
    for name in ("dense", "../x"):
        with pytest.raises(Misuse):
            rerank(collection, "first", name, options(best_last))


def test_a_re_ranker_of_the_judges_family_is_kin_to_it(collection: Collection) -> None:
    rerank(collection, "first", "new", options(best_last))
    rerank(collection, "new", "twice", options(best_last, model=fake_model(best_last, "zeta-1")))
    assert read_card(collection)["retrieve"]["twice"]["models"] == ["qwen-large", "zeta-1"]
    tags = made_by(collection, "llm").tags
    kin = kin_of(["first", "new", "twice"], tags, {"assessor": "qwen-small"})
    assert [system.run for system in kin] == ["new", "twice"]


def test_the_command_plans_re_ranks_and_says_what_it_did(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer('{"order": [2, 1]}') as server:
        words = [
            "runs",
            "rerank",
            str(collection.folder),
            "first",
            "--as",
            "new",
            "--model",
            "fake",
        ]
        words += ["--base-url", server.base_url, "--depth", "3", "--window", "2", "--step", "1"]
        assert execute([*words, "--dry-run"]) == 0
        assert server.calls == []
        assert "calls       4, at most 8" in capsys.readouterr().out
        assert execute(words) == 0
        assert "windows ordered: 4 of 4" in capsys.readouterr().out
        assert order_in(collection, "new")[:4] == ["d2", "d0", "d1", "d3"]
        schema = server.calls[-1].body["response_format"]["json_schema"]["schema"]
        assert schema["required"] == ["order"]
        assert execute([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["windows"] == 4


def test_the_similarity_rule_cannot_rank(collection: Collection) -> None:
    words = [
        "runs",
        "rerank",
        str(collection.folder),
        "first",
        "--as",
        "new",
        "--model",
        "similarity",
    ]
    assert execute(words) == 2


def test_progress_counts_windows(collection: Collection) -> None:
    counts: list[tuple[int, int]] = []

    @contextmanager
    def progress(_step: str) -> Iterator[Callable[[int, int], None]]:
        yield lambda done, total: counts.append((done, total))

    rerank(collection, "first", "new", options(best_last), control=Control(progress=progress))
    assert counts == [(done, 8) for done in range(1, 9)]
