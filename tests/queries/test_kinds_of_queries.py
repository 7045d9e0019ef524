"""Kinds of queries by share, topics, styles: what comes out of them."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import read_queries, write_queries
from labeler.corpus.ingest import ingest
from labeler.data import Document, Query
from labeler.errors import Misuse
from labeler.model import Model, Reply, Request
from labeler.prompt import find_prompt, prompt_files, read_prompt
from labeler.queries.filter import reason_to_reject
from labeler.queries.generate import generate
from labeler.queries.kinds import (
    DEFAULT_MIX,
    KINDS,
    Style,
    beside_real,
    kind_of,
    mix_of,
    not_of_its_kind,
    parse_mix,
    turns,
)
from labeler.queries.write import (
    generate_queries,
)
from labeler.queries.writer import Generated, PassageTurn, Writer, generation_requests
from labeler.testing import fake_model
from labeler.text.languages import code_of, language_of

DOCUMENTS = [
    Document(f"d{n}", " ".join(f"word{n}x{i}" for i in range(40)), f"Guide > Part {n}")
    for n in range(60)
]
TURN = PassageTurn(DOCUMENTS[0], "keyword")
TOPIC = {"description": "They want to know it.", "narrative": "It must say so. Else it is not."}


def asks_topic(request: Request) -> bool:
    return bool(request.schema) and "narrative" in str(request.schema)


def asks_whether(request: Request) -> bool:
    return bool(request.schema) and "yes" in str(request.schema)


def subject(request: Request) -> str:
    return re.findall(r"word\d+x", request.messages[-1].content)[0]


def answer(request: Request) -> str:
    """A query about the passage's first word, its topic, and no to every question about it."""
    if asks_topic(request):
        return json.dumps(TOPIC)
    return '{"yes": false}' if asks_whether(request) else f"about {subject(request)}1 then"


def collection_of(folder: Path, passages: int = 40) -> Collection:
    """A collection of passages in a file each."""
    (folder / "docs").mkdir()
    for n in range(passages):
        text = " ".join(f"word{n}x{i}" for i in range(40))
        (folder / "docs" / f"{n}.txt").write_text(f"{text}\n")
    ingest(folder / "docs", Collection(folder / "c"))
    return Collection(folder / "c")


def kinds_in(path: Path) -> Counter[str]:
    return Counter(str(query.metadata["kind"]) for query in read_queries(path).values())


def test_every_kind_has_a_shipped_prompt_of_its_own_words() -> None:
    for name in KINDS:
        assert find_prompt(name, "generate").turns
    assert sum(DEFAULT_MIX.values()) == pytest.approx(1)
    assert DEFAULT_MIX.keys() <= KINDS.keys()


def test_every_beginning_of_the_turns_has_the_shares() -> None:
    for count in (20, 40, 100):
        counts = Counter(islice(turns(DEFAULT_MIX), count))
        for kind, share in DEFAULT_MIX.items():
            assert abs(counts[kind] - share * count) <= 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("keywords=.5", "no kind of queries 'keywords'; known: keyword, question"),
        ("keyword=lots", "expected a share of 'keyword' from 0 up, as keyword=.3, found 'lots'"),
        ("keyword=-1", "expected a share"),
        ("keyword=nan", "expected a share"),
        ("keyword=0", "expected shares"),
        (",", "expected shares"),
    ],
)
def test_a_mix_that_is_none_is_misuse(text: str, problem: str) -> None:
    with pytest.raises(Misuse, match=problem):
        parse_mix(text)


def test_queries_come_in_the_shares_asked_for_and_more_go_on(tmp_path: Path) -> None:
    collection = collection_of(tmp_path)
    llm = fake_model(answer)
    mix = "keyword=.5,how-to=.25,question=.25"
    generate(collection, queries=8, model=llm, mix=mix)
    assert kinds_in(collection.queries) == {"keyword": 4, "how-to": 2, "question": 2}
    first = list(read_queries(collection.queries).values())
    result = generate(collection, queries=16, model=llm, mix=mix)
    assert result.kinds == {"keyword": 8, "how-to": 4, "question": 4}
    assert list(read_queries(collection.queries).values())[:8] == first
    generate(collection, queries=20, model=llm, mix="vague=1")
    assert kinds_in(collection.queries)["vague"] == 4


def model_of(reply: Callable[[Request], str]) -> Model:
    async def ask(request: Request) -> Reply:
        return Reply(reply(request))

    return Model("fake", ask)


def writer_of(mix: str, reply: Callable[[Request], str] = answer) -> Writer:
    shares = parse_mix(mix)
    prompts = {kind: find_prompt(kind, "generate") for kind in shares}
    prompt = next(iter(prompts.values()))
    longest = lambda _passage, texts: [float(len(text)) for text in texts]  # noqa: E731  one line
    return Writer(prompt, model_of(reply), longest, 1, mix=shares, prompts=prompts)


def written(writer: Writer, total: int, concurrency: int = 1) -> Generated:
    return asyncio.run(generate_queries(DOCUMENTS, writer, total, concurrency))


def often_in_vain(request: Request) -> str:
    number = int(subject(request)[4:-1])
    return "x" if number % 3 == 0 else f"query about {subject(request)}1"


@pytest.mark.parametrize("concurrency", [2, 5, 50])
def test_failures_and_calls_at_once_change_nothing_of_what_the_kinds_are_about(
    concurrency: int,
) -> None:
    writer = writer_of("keyword=.5,question=.3,how-to=.2", often_in_vain)
    assert written(writer, 20, concurrency) == written(writer, 20)
    few, many = written(writer, 7).queries, written(writer, 20).queries
    assert many[:7] == few
    assert Counter(q.metadata["kind"] for q in many) == {"keyword": 10, "question": 6, "how-to": 4}


def test_a_kind_that_passage_after_passage_gives_none_of_is_given_up_and_said() -> None:
    def no_comparison(request: Request) -> str:
        return "x" if "choose between" in request.messages[0].content else answer(request)

    result = written(writer_of("keyword=.5,comparative=.5", no_comparison), 20)
    assert len(result.queries) == 20
    assert result.given_up == {"comparative": 0}
    assert sum(rejected.kind == "comparative" for rejected in result.rejected) == 10


def test_a_query_of_two_passages_has_two_sources(tmp_path: Path) -> None:
    collection = collection_of(tmp_path)
    for n in range(40):
        text = f"shared words about storage and speed number {n} "
        (tmp_path / "docs" / f"{n}.txt").write_text(text + " ".join(f"w{n}x{i}" for i in range(40)))
    ingest(tmp_path / "docs", collection)
    seen: list[str] = []

    def look(request: Request) -> str:
        seen.append(request.messages[-1].content)
        return f"compare speed and storage {len(seen)}"

    generate(collection, queries=2, model=fake_model(look), mix="comparative=1", topics=False)
    for query in read_queries(collection.queries).values():
        first, second = (source["doc_id"] for source in query.metadata["source"])
        assert first != second
    assert "Second passage: shared words" in seen[0]


def test_a_topic_is_written_with_each_query_and_a_judging_prompt_uses_it(tmp_path: Path) -> None:
    collection = collection_of(tmp_path)
    assert generate(collection, queries=3, model=fake_model(answer)).without_topic == 0
    query = next(iter(read_queries(collection.queries).values()))
    assert {name: query.metadata[name] for name in TOPIC} == TOPIC
    prompt = find_prompt("by-topic")
    values = {"query": "q", "passage": "p", **TOPIC}
    assert "What counts as relevant: It must say so." in prompt.render(values)[-1].content
    plain = prompt.render({"query": "q", "passage": "p"})[-1].content
    assert "What counts" not in plain
    assert "What the person wants" not in plain


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no JSON",
        '{"description": "Only this one."}',
        '{"description": 1, "narrative": 2}',
        "[]",
    ],
)
def test_a_query_without_a_topic_that_would_do_stands_alone_and_is_counted(
    reply: str, tmp_path: Path
) -> None:
    collection = collection_of(tmp_path)
    llm = fake_model(lambda request: reply if asks_topic(request) else answer(request))
    result = generate(collection, queries=3, model=llm)
    assert (result.total, result.without_topic) == (3, 3)
    assert "narrative" not in next(iter(read_queries(collection.queries).values())).metadata


@pytest.mark.parametrize("mix", ["", "keyword=.8,comparative=.2"])
def test_there_are_no_more_calls_than_the_dry_run_says(
    mix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from labeler.testing import FakeServer

    collection = collection_of(tmp_path, 30)
    with FakeServer() as server:
        numbers = iter(range(9999))

        def reply(call: object) -> str:
            body = getattr(call, "body")  # noqa: B009  its type is the server's
            if "response_format" in body:
                is_topic = "narrative" in str(body["response_format"])
                return json.dumps(TOPIC) if is_topic else '{"yes": false}'
            number = next(numbers)
            return f"what is the thing{number} for" if number % 2 else "x"

        server.answer = reply  # type: ignore[assignment]  # it takes calls
        where = ["--model", "fake", "--base-url", server.base_url, "--queries", "6"]
        more = ["--mix", mix] if mix else []
        assert execute(["generate", str(collection.folder), *where, *more, "--dry-run"]) == 0
        shown = capsys.readouterr().out
        assert not server.calls
        most = int(re.findall(r"calls .*at most (\d+)", shown)[0])
        assert execute(["generate", str(collection.folder), *where, *more]) in (0, 3)
        assert 6 < len(server.calls) <= most + 1


REAL = ["usb c hub", "how do i pair a mouse", "oled vs lcd", "hdmi cable 2m", "cheap laptop"]


def test_the_mix_and_the_lengths_are_those_of_real_queries() -> None:
    assert mix_of(REAL) == {"keyword": 0.6, "how-to": 0.2, "comparative": 0.2}
    style = Style(like=tuple(REAL))
    lengths = {style.length(document, "keyword", 0) for document in DOCUMENTS}
    assert lengths == {2, 3}
    request = generation_requests(TURN, replace(writer_of("keyword=1"), style=style))[0]
    assert "Real people typed, for example: " in request.messages[0].content
    assert " | " in request.messages[0].content


def test_of_several_candidates_the_one_as_long_as_a_real_query_is_kept(tmp_path: Path) -> None:
    like = tmp_path / "real.txt"
    like.write_text("usb hub\nhdmi cable\ncheap laptop\n")

    def longer(request: Request) -> str:
        words = [f"{subject(request)}{n}{request.repeat}" for n in range(2 + request.repeat * 2)]
        return " ".join(words)

    collection = collection_of(tmp_path)
    llm = fake_model(longer)
    generate(collection, queries=4, model=llm, samples=3, like=like, topics=False)
    texts = [query.text for query in read_queries(collection.queries).values()]
    assert [len(text.split()) for text in texts] == [2, 2, 2, 2]


def test_one_word_is_a_query_where_real_ones_are_one_word(tmp_path: Path) -> None:
    like = tmp_path / "real.txt"
    like.write_text("xbox\ngarmin\n")
    llm = fake_model(lambda request: f"w{subject(request)[4:]}")
    (tmp_path / "a").mkdir()
    alike = generate(collection_of(tmp_path / "a"), queries=3, model=llm, like=like, topics=False)
    assert alike.total == 3
    plain = generate(collection_of(tmp_path), queries=3, model=llm, topics=False)
    assert set(plain.reasons) == {"too short"}


def test_a_line_about_no_language_is_not_shown_and_one_about_some_is() -> None:
    plain = generation_requests(TURN, writer_of("keyword=1"))[0]
    assert "Write in" not in plain.messages[0].content
    assert "{" not in plain.messages[0].content
    writer = replace(writer_of("keyword=1"), style=Style("German"))
    asked = generation_requests(TURN, writer)[0]
    assert "Write in German." in asked.messages[0].content


def test_generated_queries_repeat_no_real_one(tmp_path: Path) -> None:
    collection = collection_of(tmp_path)
    with locked(collection):
        write_queries(collection.queries, [Query("r1", "about word1x1 then", {"origin": "real"})])
    result = generate(collection, queries=39, model=fake_model(answer), topics=False)
    texts = [query.text for query in read_queries(collection.queries).values()]
    assert texts.count("about word1x1 then") == 1
    assert result.reasons["like a real query"] == 1


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("how does the session support this", "points at something unseen"),
        ("what does this example print", "speaks of the passage"),
        ("what is shown in the above listing", "speaks of the passage"),
        ("is the fee 40.50 euros", "holds its answer"),
        ("what is the fee? it is forty euros", "holds its answer"),
        ("what is the fee for joining late", None),
    ],
)
def test_queries_that_point_at_their_source_or_hold_their_answer_are_dropped(
    query: str, reason: str | None
) -> None:
    passage = "A student may join later only with consent of the lecturer and pays 40.50 euros."
    assert reason_to_reject(query, passage, []) == reason


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("wie kann ich das Passwort ändern", "de"),
        ("how do I change the password", "en"),
        ("comment est-ce que je change le mot de passe", "fr"),
        ("как изменить пароль", "ru"),
        ("パスワードを変更する方法", "ja"),
        ("如何在请求结束后运行函数", "zh"),
        ("flask blueprint", ""),
        ("create a session to flash a message", "en"),
        ("a file of a", "en"),
        ("a a a", ""),
        ("", ""),
    ],
)
def test_a_language_is_told_where_its_words_tell_it(text: str, code: str) -> None:
    assert language_of(text) == code


def test_a_query_in_another_language_than_the_one_asked_for_is_dropped(tmp_path: Path) -> None:
    assert (code_of("German"), code_of("de"), code_of("Klingon")) == ("de", "de", "")
    collection = collection_of(tmp_path)
    llm = fake_model(lambda request: f"how do I use the {subject(request)}1")
    result = generate(collection, queries=2, model=llm, language="German", topics=False)
    assert result.total == 0
    assert set(result.reasons) == {"wrong language"}


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("to use a favicon", "question", "no question"),
        ("where do I add a favicon", "question", ""),
        ("favicon kaputt?", "question", ""),
        ("blueprints, authentication and posts", "comparative", "compares nothing"),
        ("gas or electric oven for bread", "comparative", ""),
        ("difference between a list and a tuple", "comparative", ""),
        ("to use a favicon", "keyword", ""),
    ],
)
def test_a_query_in_english_is_of_the_kind_that_it_was_written_as(
    text: str, kind: str, problem: str
) -> None:
    assert not_of_its_kind(text, kind) == problem


def test_fragments_are_dropped_where_an_english_passage_was_to_give_questions(
    tmp_path: Path,
) -> None:
    (tmp_path / "docs").mkdir()
    for n in range(6):
        words = " ".join(f"word{n}x{i}" for i in range(30))
        (tmp_path / "docs" / f"{n}.txt").write_text(f"This is what the part does: {words}\n")
    ingest(tmp_path / "docs", Collection(tmp_path / "c"))
    texts = {0: "to use {}1", 1: "what is {}1 for"}
    llm = fake_model(lambda r: texts[r.parameters["seed"] % 2].format(subject(r)))
    result = generate(
        tmp_path / "c", queries=3, model=llm, mix="question=1", topics=False, samples=2
    )
    assert (result.total, result.reasons) == (3, {"no question": 3})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("notebook 15 zoll", "keyword"),
        ("usb-c vs thunderbolt", "comparative"),
        ("printer not working", "how-to"),
        ("wifi fails after update", "how-to"),
        ("which ssd is faster", "question"),
        ("ist das kompatibel?", "question"),
    ],
)
def test_a_real_query_is_of_the_kind_that_it_looks_like(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_a_shipped_prompt_of_each_purpose_reads_and_says_what_it_is_for(tmp_path: Path) -> None:
    purposes = Counter(read_prompt(path).front.kind for path in prompt_files().values())
    assert purposes["topic"] == 1
    with pytest.raises(Misuse, match="'topic' is one to write topics with, not to write queries"):
        generate(collection_of(tmp_path, 3), prompt="topic", model=fake_model("x"))


def test_written_queries_are_set_beside_real_ones(tmp_path: Path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("usb hub\nwhat is a hub\nhdmi cable\nlaptop\n")
    assert beside_real(["how do I pair a mouse", "which hub works with a tv"], real) == (
        "generated queries: 6 words in the median, 100% questions; "
        "real ones: 2 words in the median, 25% questions"
    )
