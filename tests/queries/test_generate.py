import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import read_queries, write_queries
from labeler.corpus.ingest import ingest
from labeler.data import Document, Query
from labeler.errors import CallFailed, Misuse, ProviderError
from labeler.model import Model, Reply, Request
from labeler.prompt import find_prompt
from labeler.queries.generate import generated_before, keep_generated
from labeler.queries.passages import choose_passages, heading_queries
from labeler.queries.write import generate_queries
from labeler.queries.writer import Generated, Writer
from labeler.testing import Answer, FakeServer, completion

DOCUMENTS = [
    Document(f"d{n}", " ".join(f"word{n}x{i}" for i in range(40)), f"Guide > Part {n}")
    for n in range(12)
]


def by_length(_passage: str, candidates: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in candidates]


def writer(ask: object = None, samples: int = 3, seed: int = 0) -> Writer:
    async def echo(request: Request) -> Reply:
        word = request.messages[-1].content.split()[1]
        return Reply(f"what is {word} {'really ' * request.repeat}about")

    model = Model("fake", ask or echo)  # type: ignore[arg-type]  # tests hand in plain functions
    return Writer(find_prompt("question", "generate"), model, by_length, samples, seed)


def generate(w: Writer, wanted: int = 4, concurrency: int = 1) -> Generated:
    return asyncio.run(generate_queries(DOCUMENTS, w, wanted, concurrency))


def test_the_closest_of_several_candidates_is_kept_and_the_others_are_listed() -> None:
    result = generate(writer(), wanted=2)
    assert [query.text.count("really") for query in result.queries] == [2, 2]
    assert [rejected.reason for rejected in result.rejected] == ["another was closer"] * 4


@pytest.mark.parametrize("concurrency", [2, 5, 50])
def test_concurrency_does_not_change_what_comes_out(concurrency: int) -> None:
    assert generate(writer(), 5, concurrency) == generate(writer(), 5, 1)


def test_more_queries_begin_with_the_same_queries() -> None:
    few, many = generate(writer(), 3).queries, generate(writer(), 7).queries
    assert many[:3] == few


def test_another_seed_asks_about_other_passages() -> None:
    order = [d.id for d in choose_passages(DOCUMENTS, 0).passages]
    assert order != [d.id for d in choose_passages(DOCUMENTS, 1).passages]
    shorter = [d.id for d in choose_passages(DOCUMENTS[:-1], 0).passages]
    assert [i for i in order if i in shorter] == shorter


def test_a_query_says_where_it_comes_from() -> None:
    query = generate(writer(), 1).queries[0]
    assert query.metadata["origin"] == "generated"
    assert query.metadata["source"][0]["doc_id"] == DOCUMENTS[0].id
    assert query.metadata["prompt"].startswith("question@")


def test_a_failed_call_is_a_rejection_with_its_reason_not_a_query() -> None:
    async def sometimes(request: Request) -> Reply:
        if request.repeat:
            raise CallFailed("gone")
        return Reply("what is that about")

    result = generate(writer(sometimes), 1)
    assert [r.reason for r in result.rejected] == ["call_failed: gone"] * 2
    assert len(result.queries) == 1


def test_when_every_call_fails_the_provider_is_named_at_once() -> None:
    async def never(_request: Request) -> Reply:
        raise CallFailed("connection refused")

    with pytest.raises(ProviderError, match="every one of 3 calls failed: connection refused"):
        generate(writer(never))


def test_no_query_is_asked_twice() -> None:
    async def same(_request: Request) -> Reply:
        return Reply("always the same")

    result = generate(writer(same, samples=1))
    assert [q.text for q in result.queries] == ["always the same"]
    assert {r.reason for r in result.rejected} == {"like another query: always the same"}


def test_a_reply_cut_at_the_token_limit_is_no_query() -> None:
    async def cut(_request: Request) -> Reply:
        return Reply("how do I revive the", finish_reason="length")

    assert not generate(writer(cut)).queries


def test_texts_are_data_even_when_they_look_like_templates() -> None:
    text = "{title} $passage {{ x }} " * 10
    seen: list[str] = []

    async def look(request: Request) -> Reply:
        seen.append(request.messages[-1].content)
        return Reply("what is that about")

    asyncio.run(generate_queries([Document("d", text, "T")], writer(look, 1), 1))
    assert text.strip() in seen[0]


def test_people_s_queries_stay_and_ids_do_not_collide(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    own = [Query("q1", "mine", {"origin": "real"}), Query("007", "bond")]
    with locked(collection):
        write_queries(collection.queries, own)
    assert keep(collection, generate(writer(), 2), writer()) == 2
    assert list(read_queries(collection.queries)) == ["q1", "007", "q2", "q3"]
    assert go_on(collection, 4) == 4
    assert list(read_queries(collection.queries)) == ["q1", "007", "q2", "q3", "q4", "q5"]
    assert read_card(collection)["generate"]["queries"] == 4


def keep(collection: Collection, generated: Generated, writer: Writer) -> int:
    with locked(collection):
        return len(keep_generated(collection, generated, writer))


def go_on(collection: Collection, wanted: int) -> int:
    more = replace(writer(), already=tuple(generated_before(collection, writer())))
    return keep(collection, generate(more, wanted), more)


def test_going_on_asks_about_no_passage_twice_and_drops_nothing(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    keep(collection, generate(writer(), 3), writer())
    first = list(read_queries(collection.queries).values())
    assert go_on(collection, 2) == 3
    assert go_on(collection, 6) == 6
    queries = list(read_queries(collection.queries).values())
    assert queries[:3] == first
    assert len({query.metadata["source"][0]["doc_id"] for query in queries}) == 6
    assert [q.text for q in queries] == [q.text for q in generate(writer(), 6).queries]


def test_queries_of_another_prompt_are_not_replaced_under_the_same_ids(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    keep(collection, generate(writer(seed=1), 3), writer(seed=1))
    before = collection.queries.read_bytes()
    with pytest.raises(Misuse, match="generated with another seed"):
        keep(collection, generate(writer(), 3), writer())
    assert collection.queries.read_bytes() == before


def test_headings_stand_in_where_nothing_can_write() -> None:
    queries = heading_queries(DOCUMENTS, 3, seed=0)
    assert len({q.text for q in queries}) == 3
    assert all(q.text.startswith("Part ") and q.metadata["origin"] == "heading" for q in queries)


TOOL_CALLS = {"content": None, "tool_calls": [{"id": "c", "type": "function"}]}
NO_QUERIES = {
    "refused": completion("", refusal="I cannot help with that"),
    "a refusal": completion("I'm sorry, but I can't help with that."),
    "filtered": completion("", finish_reason="content_filter"),
    "cut at the token limit": completion("what is the", finish_reason="max_tokens"),
    "no text": {**completion(""), "choices": [{"message": TOOL_CALLS, "finish_reason": "stop"}]},
    "no completion": {**completion(""), "choices": []},
    "broken off": completion("what is", finish_reason="error"),
}


def corpus_of(folder: Path, passages: int) -> Collection:
    """A collection of passages that are long enough to ask about."""
    texts = [" ".join(f"word{n}x{i}" for i in range(60)) for n in range(passages)]
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    ingest(folder, Collection(folder.parent / "c"))
    return Collection(folder.parent / "c")


@pytest.mark.parametrize("reason", NO_QUERIES)
@pytest.mark.parametrize("command", ["generate", "build"])
def test_where_no_query_came_it_is_3_with_the_reasons_counted(
    command: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = corpus_of(tmp_path / "docs", 6)
    names = [str(tmp_path / "docs"), "-o", str(collection.folder)]
    paths = names if command == "build" else names[-1:]
    with FakeServer(lambda _call: Answer(NO_QUERIES[reason])) as server:
        where = ["--model", "fake", "--base-url", server.base_url, "--queries", "4"]
        assert execute([command, *paths, *where]) == 3
        assert len(server.calls) == 6
        shown = capsys.readouterr().err
        assert f"0 of 4 queries were written (6 {reason}); rejected.jsonl lists them" in shown
        assert execute([command, *paths, *where]) == 3
        assert len(server.calls) == 6
    assert len(collection.rejected.read_text().splitlines()) == 6


def test_where_the_provider_failed_it_is_69_and_of_too_few_passages_nobody_is_to_blame(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = corpus_of(tmp_path / "docs", 3)
    with FakeServer() as server:
        server.answer = lambda _call: Answer({}, 500)
        where = ["--model", "fake", "--base-url", server.base_url, "--set", "model.tries=2"]
        generate_four = ["generate", str(collection.folder), *where, "--queries", "4"]
        assert execute(generate_four) == 69
        number = iter(range(9))
        server.answer = lambda _call: f"what is word{next(number)}x1"
        assert execute(generate_four) == 0
    assert "no more passages to ask about" in capsys.readouterr().err


def test_a_model_that_writes_no_query_is_not_asked_about_a_whole_corpus() -> None:
    documents = [replace(DOCUMENTS[0], id=f"d{n}") for n in range(500)]
    for concurrency in (1, 7, 16):
        asked = 0

        async def refuse(_request: Request) -> Reply:
            nonlocal asked
            asked += 1
            return Reply("", refusal="no")

        work = generate_queries(documents, writer(refuse, 1), 4, concurrency)
        result = asyncio.run(work)
        assert len(result.rejected) == 20
        assert asked < 20 + 16
        assert result.stopped == "of the last 20 passages none gave a query"


def test_few_queries_of_many_passages_are_an_end_too_and_a_poor_writer_has_its_bound() -> None:
    documents = [replace(DOCUMENTS[0], id=f"d{n}") for n in range(900)]
    for good_one_in, total, asked_about, stopped in (
        (20, 9, 20, "of the last 20 passages 1 gave a query"),
        (6, 20, 80, "80 passages are the most that are asked about"),
        (2, 20, 40, ""),
    ):
        asked = 0

        async def write(_request: Request, good_one_in: int = good_one_in) -> Reply:
            nonlocal asked
            asked += 1
            return Reply(f"what is {asked}", "" if asked % good_one_in == 1 else "length")

        result = asyncio.run(generate_queries(documents, writer(write, 1), total))
        assert (result.stopped, asked <= asked_about) == (stopped, True)
        assert asked >= asked_about - 1


def test_the_dry_run_says_how_many_calls_there_are_at_most_and_there_are_no_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = corpus_of(tmp_path / "docs", 90)
    texts = cycle(f"what is it {n}" for n in range(4))
    with FakeServer() as server:
        server.answer = lambda call: (
            '{"grade": 1}' if "response_format" in call.body else next(texts)
        )
        to = ["--model", "fake", "--base-url", server.base_url, "--no-topics"]
        where = [*to, "--queries", "8"]
        assert execute(["generate", str(collection.folder), *where, "--dry-run"]) == 0
        shown = capsys.readouterr().out
        assert "passages    8, at most 44 where candidates are no good" in shown
        assert "calls       8, at most 44\n" in shown
        assert not server.calls
        assert execute(["generate", str(collection.folder), *where]) == 3
        assert len(server.calls) <= 44
    shown = capsys.readouterr().err
    assert (
        "4 of 8 queries were written (19 like another query); rejected.jsonl lists them; " in shown
    )
    assert "stopped, since of the last 20 passages 1 gave a query" in shown


def test_a_dry_run_counts_what_is_left_to_ask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = corpus_of(tmp_path / "docs", 9)
    number = iter(range(99))
    with FakeServer(lambda _call: f"what is word{next(number)}x1") as server:
        where = ["--model", "fake", "--base-url", server.base_url, "--no-topics"]
        asked = ["generate", str(collection.folder), *where, "--queries"]
        assert execute([*asked, "3"]) == 0
        calls = len(server.calls)
        capsys.readouterr()
        assert execute([*asked, "3", "--dry-run"]) == 0
        assert "calls       0\n" in capsys.readouterr().out
        assert execute([*asked, "5", "--dry-run"]) == 0
        assert "calls       2, at most 6\n" in capsys.readouterr().out
        assert len(server.calls) == calls


def test_the_calls_of_a_build_are_no_more_than_its_dry_run_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus_of(tmp_path / "docs", 30)
    with FakeServer() as server:
        numbers = iter(range(999))
        server.answer = lambda call: (
            "no grade" if "response_format" in call.body else f"what is word{next(numbers)}x1"
        )
        where = ["--model", "fake", "--base-url", server.base_url, "--queries", "3", "--depth", "4"]
        building = ["build", str(tmp_path / "docs"), "-o", str(tmp_path / "new"), *where]
        assert execute([*building, "--dry-run"]) == 0
        calls = re.findall(r"calls .*at most ([\d,]+)", capsys.readouterr().out)
        assert list(map(int, calls)) == [29 + 3, 3 * 3 * 4 * 3]
        assert execute(building) == 3
        assert len(server.calls) <= sum(map(int, calls)) + 5
        generated = json.loads((tmp_path / "new" / "card.json").read_text())["generate"]
        assert generated["queries"] == 3


def test_generating_takes_the_options_of_judging(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = corpus_of(tmp_path / "docs", 12)
    number = iter(range(99))
    with FakeServer() as server:
        server.answer = lambda _call: Answer(NO_QUERIES["refused"])
        where = ["--model", "fake", "--base-url", server.base_url, "--queries", "4"]
        asked = ["generate", str(collection.folder), *where, "--no-topics"]
        assert execute([*asked, "--quiet", "--set", "store.redact=true", "--concurrency", "2"]) == 3
        assert server.most_under_way <= 2
        assert "writing queries" not in capsys.readouterr().err
        assert b"word1x59" not in collection.store.read_bytes()
        calls = len(server.calls)
        server.answer = lambda _call: f"what is word{next(number)}x1"
        assert execute(asked) == 3
        assert len(server.calls) == calls
        capsys.readouterr()
        assert execute([*asked, "--retry-failed", "--dry-run"]) == 0
        assert "calls       4, at most 12\n" in capsys.readouterr().out
        assert execute([*asked, "--retry-failed"]) == 0
        assert len(server.calls) == calls + 4
    assert "wrote 4 queries" in capsys.readouterr().err


def test_a_build_shows_the_calls_of_judging_apart_from_those_of_writing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = corpus_of(tmp_path / "docs", 4)
    number = iter(range(99))
    with FakeServer(lambda _call: f"what is word{next(number)}x1") as server:
        where = ["--model", "fake", "--base-url", server.base_url, "--queries", "2"]
        paths = [str(tmp_path / "docs"), "-o", str(collection.folder)]
        server.answer = lambda call: (
            '{"grade": 1}' if "response_format" in call.body else f"what is word{next(number)}x1"
        )
        assert execute(["build", *paths, *where]) == 0
        pairs = len(server.calls) - 4
    shown = capsys.readouterr()
    assert re.search(
        rf"judging: {pairs}/{pairs} pairs .* {pairs} calls · {110 * pairs:,} tokens", shown.err
    )
    assert "cost of writing: unknown; calls: 4" in shown.err
    assert f"cost of this run: unknown; calls: {pairs}" in shown.out
