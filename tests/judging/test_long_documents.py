"""Documents longer than a server's context: judged by passages, and never in part unsaid."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from every_row import every_row
from examples import tiers
from made import make_collection, pair_of

from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.data import Document, Failure, Judgement, Pair
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, judge
from labeler.judging.methods.inquiry import ReadAtMost, cut_of, is_too_long
from labeler.judging.validate import validate
from labeler.lab.control import drift
from labeler.lab.probe import ProbeOptions, probe
from labeler.model import Message, Reply, Request
from labeler.models.settings import AssessorSettings
from labeler.scale.partitions.work import Share, judge_partitions
from labeler.scale.partitions.write import write_partitions
from labeler.testing import Answer, Call, FakeServer, completion

CONTEXT = 1500
LONG = "filler words that go on " * 900
NEEDLE = "filler words that go on " * 800 + "needle " + "filler words that go on " * 100


def tokens_of(call: Call) -> int:
    return int(sum(len(message["content"].split()) for message in call.body["messages"]) * 1.3)


def answered(call: Call, **changes: Any) -> Answer:
    """Grade 3 for a passage with the needle in it, else 1; as many tokens as it has, or fit."""
    grade = 3 if "needle" in call.body["messages"][-1]["content"] else 1
    usage = {"prompt_tokens": min(tokens_of(call), CONTEXT), "completion_tokens": 5}
    return Answer(completion(changes.get("text", f'{{"grade": {grade}}}'), usage=usage))


def refusing(call: Call) -> Answer:
    if tokens_of(call) <= CONTEXT:
        return answered(call)
    message = f"This model's maximum context length is {CONTEXT} tokens, and you sent more."
    return Answer({"error": {"message": message, "code": "context_length_exceeded"}}, 400)


def failing_without(word: str, *, at_all: bool) -> Callable[[Call], Answer]:
    """A server that gives no grade to passages of a long document without a word."""

    def answer(call: Call) -> Answer:
        said = call.body["messages"][-1]["content"]
        fails = "filler" in said and (at_all or word not in said)
        return (
            answered(call, text="no idea")
            if fails and tokens_of(call) <= CONTEXT
            else (refusing(call))
        )

    return answer


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """Five documents, of which d1 and d2 are too long; the end of d2 has the needle."""
    made = make_collection(tmp_path / "c", 2, 5)
    rows = [json.loads(row) for row in made.corpus.read_text().splitlines()]
    rows[1]["text"] += f" {LONG}"
    rows[2]["text"] += f" {NEEDLE}"
    made.corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return made


def judged(collection: Collection, server: FakeServer, context: int | None = None) -> JudgeResult:
    declared = AssessorSettings(model="fake", server=server.base_url, context=context)
    return judge(collection, model=declared, name="a")


@pytest.mark.parametrize("answer", [answered, refusing], ids=["cuts silently", "refuses"])
def test_a_long_document_has_the_grade_of_its_best_passage_and_keeps_all(
    answer: Callable[[Call], Answer], collection: Collection
) -> None:
    with FakeServer(answer) as server:
        result = judged(collection, server)
        calls, written = len(server.calls), collection.judgements("a").read_bytes()
        judged(collection, server)
        assert (len(server.calls), collection.judgements("a").read_bytes()) == (calls, written)
    assert (result.judged, result.tally.by_passages) == (10, 4)
    assert not validate(collection).problems
    rows = {row.judged.outcome.pair: row.judged for row in read_judgements(result.judgements)}
    for query in ("q0", "q1"):
        plain, needle = (rows[Pair(query, doc)].outcome for doc in ("d1", "d2"))
        assert isinstance(plain, Judgement)
        assert isinstance(needle, Judgement)
        assert (plain.grade, needle.grade) == (1, 3)
        assert set(plain.passages) == {1}
        assert set(needle.passages) == {1, 3}
        assert rows[Pair(query, "d2")].prompt_tokens > len(NEEDLE.split())


@pytest.mark.parametrize("answer", tiers([answered, refusing], refusing))
def test_so_has_one_that_is_graded_by_criteria(
    answer: Callable[[Call], Answer], collection: Collection
) -> None:
    with FakeServer(answer) as server:
        declared = AssessorSettings(model="fake", server=server.base_url, prompt="criteria")
        result = judge(collection, model=declared, name="a")
        calls = len(server.calls)
        judge(collection, model=declared, name="a")
        assert len(server.calls) == calls
    assert (result.judged, result.tally.by_passages) == (10, 4)
    assert validate(collection).checked["grades with their replies"] == 10


def test_a_list_that_is_too_long_is_asked_about_one_by_one(collection: Collection) -> None:
    rows = [json.loads(row) for row in collection.corpus.read_text().splitlines()]
    for row in rows:
        row["text"] = row["text"][:40] + " filler words" * 200
    collection.corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def lists(call: Call) -> Answer:
        if tokens_of(call) > CONTEXT:
            return refusing(call)
        return answered(call, text='{"grades": [{"number": 1, "grade": 2}]}')

    with FakeServer(lists) as server:
        declared = AssessorSettings(model="fake", server=server.base_url, prompt="list")
        assert judge(collection, model=declared, name="a").judged == 10


def test_no_request_longer_than_a_declared_context_is_sent(collection: Collection) -> None:
    with FakeServer(refusing) as server:
        result = judged(collection, server, context=CONTEXT)
        assert result.judged == 10
        calls = [call for call in server.calls if pair_of(call) or "filler" in str(call.body)]
        assert max(map(tokens_of, calls)) <= CONTEXT
        before = len(server.calls)
        assert judged(collection, server, context=CONTEXT).judged == 10
        assert len(server.calls) == before
    assert card_section(read_card(collection), "judge", "a")["context"] == CONTEXT


def test_a_declared_context_holds_wherever_the_assessor_is_asked(
    collection: Collection, tmp_path: Path
) -> None:
    with FakeServer(refusing) as server:
        assert judged(collection, server, context=CONTEXT).judged == 10
        before = len(server.calls)
        declared = AssessorSettings(model="fake", server=server.base_url, context=CONTEXT)
        assert drift(collection, "a", model=declared, pairs=10).run.pairs
        probe(collection, model=declared, options=ProbeOptions(pairs=2, qrels="a"))
        options = JudgeOptions(model=declared, name="b")
        write_partitions(collection, tmp_path / "parts", options)
        share = Share(named=(server.base_url,))
        assert [each.judged for each in judge_partitions(tmp_path / "parts", share)] == [10]
        calls = [call for call in server.calls[before:] if "filler" in str(call.body)]
        assert len(calls) > 20
        assert max(map(tokens_of, calls)) <= CONTEXT


def test_a_failed_passage_leaves_no_grade_unless_another_has_the_best(
    collection: Collection,
) -> None:
    with FakeServer(failing_without("needle", at_all=False)) as server:
        result = judged(collection, server)
    rows = {row.judged.outcome.pair: row.judged for row in read_judgements(result.judgements)}
    assert isinstance(rows[Pair("q0", "d1")].outcome, Failure)
    best = rows[Pair("q0", "d2")].outcome
    assert isinstance(best, Judgement)
    assert best.grade == 3
    assert None in best.passages


def test_passages_without_any_grade_make_none(collection: Collection) -> None:
    with FakeServer(failing_without("needle", at_all=True)) as server:
        result = judged(collection, server)
    assert (result.judged, result.failures) == (6, {"unparsable": 4})


def test_a_short_document_that_a_server_cuts_has_no_grade(tmp_path: Path) -> None:
    collection = make_collection(tmp_path / "c", 1, 2)
    queries = collection.queries.read_text().replace(
        "what q0?", "what q0? " + "so many words " * 999
    )
    collection.queries.write_text(queries)
    with FakeServer(answered) as server:
        result = judged(collection, server)
    assert (result.judged, result.failures) == (0, {"truncated": 2})
    [(_, detail), _] = result.tally.examples["truncated"]
    assert detail.startswith("the server cuts the prompt: it read 1,500 tokens of 3,")


WORDS = "the quick brown fox jumps over the lazy dog and so on "
TEXTS = {
    # text, tokens that a real tokenizer might count, whether that tells of a cut
    "all of it": (WORDS * 500, 6_000, False),
    "a token a word": (WORDS * 500, 6_010, False),
    "cut at 4,096": (WORDS * 500, 4_096, True),
    "Chinese, two characters a token": ("这是一个关于猫的句子。" * 900, 4_950, False),
    "Chinese, with long tokens": ("这是一个关于猫的句子。" * 900, 2_000, False),
    "Thai": ("แมวนอนหลับอยู่บนเตียง" * 900, 2_500, False),
    "German": ("Donaudampfschifffahrtsgesellschaftskapitän fährt los " * 900, 7_200, False),
    "spaces": (" " * 100_000 + "one", 1_300, False),
    "a rule of dashes": (("-" * 80 + "\n") * 900, 1_900, False),
    "code": ("    if x:\n        return None\n" * 900, 6_300, False),
    "what the server had ready is not counted": (WORDS * 500, 40, False),
    "a usual context": ("considerable " * 900, 2_048, True),
    "a usual context less the reply": ("considerable " * 900, 2_048 - 64, True),
    "nearly a usual context": ("considerable " * 900, 2_047, False),
    "a usual context of short words": (WORDS * 170, 2_048, False),
    "no count": (WORDS * 500, 0, False),
}


@every_row(("text", "tokens", "is_cut"), TEXTS.values(), ids=list(TEXTS))
def test_a_count_of_fewer_tokens_than_words_tells_of_a_cut_prompt(
    text: str, tokens: int, is_cut: bool
) -> None:
    request = Request((Message("user", text),), {"max_tokens": 64})
    assert bool(cut_of(request, Reply('{"grade": 1}', prompt_tokens=tokens))) == is_cut
    cached = Reply('{"grade": 1}', prompt_tokens=tokens, cached_tokens=100_000)
    assert not cut_of(request, cached)


REFUSALS = {
    "This model's maximum context length is 8192 tokens. However, you requested 9000": True,
    "prompt is too long: 210000 tokens > 200000 maximum": True,
    "the request exceeds the available context size, try increasing it": True,
    "input length and `max_tokens` exceed context limit": True,
    "The input token count (1200000) exceeds the maximum number of tokens allowed": True,
    "rate limit exceeded: too many tokens per minute": False,
    "'max_tokens' is not supported with this model": False,
    "invalid api token": False,
}


@pytest.mark.parametrize(("message", "is_of_length"), REFUSALS.items())
def test_a_refusal_for_length_is_told_from_others(message: str, is_of_length: bool) -> None:
    failure = Failure(Pair("q", "d"), "call_failed", f"POST /v1: 400: {message}")
    assert is_too_long(failure) == is_of_length


def test_a_grade_in_a_document_with_that_name_is_no_context_error() -> None:
    failure = Failure(Pair("q", Document("d", "").id), "unparsable", "context length exceeded")
    assert not is_too_long(failure)


def test_one_count_of_prompts_of_many_lengths_tells_where_a_server_cuts(tmp_path: Path) -> None:
    """It counts four letters a token, so that no count is less than the words that were sent."""
    made = make_collection(tmp_path / "c", 3, 10)
    rows = [json.loads(row) for row in made.corpus.read_text().splitlines()]
    for number, row in enumerate(rows[:7]):
        row["text"] += " considerable" * (400 + 110 * number)
    made.corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def counting(call: Call) -> Answer:
        letters = sum(len(message["content"]) for message in call.body["messages"])
        usage = {"prompt_tokens": min(letters // 4, CONTEXT), "completion_tokens": 5}
        return Answer(completion('{"grade": 1}', usage=usage))

    with FakeServer(counting) as server:
        result = judged(made, server)
        sizes = [len(call.body["messages"][-1]["content"]) for call in server.calls]
    rows_written = {r.judged.outcome.pair: r for r in read_judgements(made.judgements("a"))}
    cut = [pair for pair in rows_written if int(pair.doc_id[1:]) < 7]
    assert len(cut) == 21
    assert max(sizes) > 4 * CONTEXT
    for pair in cut:
        outcome = rows_written[pair].judged.outcome
        assert isinstance(outcome, Judgement)
        assert len(outcome.passages) >= 2, pair
    assert result.tally.judged == 30


@pytest.mark.parametrize(
    ("counts", "is_cut"),
    [
        ([(4096, 20_000), (4096, 20_500)] * 3, True),
        ([(4000, 20_000), (4000, 41_000)] * 3, True),
        ([(4000, 20_000), (4000, 30_000)] * 3, False),  # as passages of one length in tokens are
        ([(4096, 20_000), (4096, 30_000)] * 2, False),
        ([(4096, 20_000), (4096, 20_100)] * 9, False),
        ([(4096, 20_000), (4096, 30_000)] * 3 + [(4097, 20_100)], False),
        ([(128, 600), (128, 1900)] * 9, False),
    ],
)
def test_few_counts_that_are_equal_by_chance_are_no_limit(
    counts: list[tuple[int, int]], is_cut: bool
) -> None:
    seen = ReadAtMost()
    for tokens, characters in counts:
        seen.note(tokens, characters)
    assert seen.is_cut is is_cut
