"""A user's own search system: over HTTP, as its recorded answers have it, and from a command."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.layout import Collection
from labeler.errors import BadInput, LabelerError, Misconfigured, Misuse, ProviderError
from labeler.models.session import Control
from labeler.runs.asking import HOPELESS, AskingLimits
from labeler.runs.engines.http_search import PRESETS, HttpEngine
from labeler.runs.engines.program import ProgramEngine
from labeler.runs.retrieve_run import RetrieveOptions, retrieve_run
from labeler.testing import FakeServer, small_collection
from labeler.testing.fake_server import Answer, Call
from labeler.trec.files import ranking, read_run

ONCE = RetrieveOptions(asking=AskingLimits(concurrency=1, seconds=20, tries=1))
Answering = Callable[[Call], Answer | str]


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return small_collection(tmp_path / "coll")


def address(server: FakeServer, rest: str = "/search?q={query}&size={depth}") -> str:
    return server.base_url.removesuffix("/v1") + rest


def hits(*ids: str) -> Answer:
    return Answer(json.dumps([{"id": i, "score": 9.5 - n} for n, i in enumerate(ids)]).encode())


# Answers of OpenSearch 2, Solr 9, Vespa 8, Qdrant 1, Weaviate 1, Typesense 27 and Azure's API of
# 2024-07-01, as their manuals print them.
RECORDED: dict[str, dict[str, Any]] = {
    "opensearch": {
        "took": 4,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {
            "total": {"value": 2, "relation": "eq"},
            "max_score": 1.5,
            "hits": [
                {"_index": "docs", "_id": "fish", "_score": 1.5},
                {"_index": "docs", "_id": "cats", "_score": 0.25},
            ],
        },
    },
    "solr": {
        "responseHeader": {"status": 0, "QTime": 1, "params": {"q": "x", "rows": "100"}},
        "response": {
            "numFound": 2,
            "start": 0,
            "maxScore": 1.5,
            "numFoundExact": True,
            "docs": [{"id": "fish", "score": 1.5}, {"id": ["cats"], "score": 0.25}],
        },
    },
    "vespa": {
        "root": {
            "id": "toplevel",
            "relevance": 1.0,
            "fields": {"totalCount": 2},
            "coverage": {"coverage": 100, "documents": 2, "full": True, "nodes": 1},
            "children": [
                {"id": "id:docs:passage::fish", "relevance": 1.5, "source": "docs"},
                {"id": "id:docs:passage::cats", "relevance": 0.25, "source": "docs"},
            ],
        }
    },
    "qdrant": {
        "result": {
            "points": [
                {"id": "fish", "version": 0, "score": 1.5, "payload": None, "vector": None},
                {"id": "cats", "version": 0, "score": 0.25, "payload": None, "vector": None},
            ]
        },
        "status": "ok",
        "time": 0.001,
    },
    "weaviate": {
        "data": {
            "Get": {
                "Docs": [
                    {"_additional": {"id": "fish", "score": "1.5"}},
                    {"_additional": {"id": "cats", "score": "0.25"}},
                ]
            }
        }
    },
    "typesense": {
        "facet_counts": [],
        "found": 2,
        "hits": [
            {"document": {"id": "fish"}, "highlights": [], "text_match": 1.5},
            {"document": {"id": "cats"}, "highlights": [], "text_match": 0.25},
        ],
        "out_of": 3,
        "page": 1,
        "request_params": {"collection_name": "docs", "per_page": 100, "q": "x"},
        "search_cutoff": False,
        "search_time_ms": 1,
    },
    "azure": {
        "@odata.context": "https://x.search.windows.net/indexes('docs')/$metadata#docs(*)",
        "value": [
            {"@search.score": 1.5, "id": "fish"},
            {"@search.score": 0.25, "id": "cats"},
        ],
    },
}
RECORDED["elasticsearch"] = RECORDED["opensearch"]

CATS = "where do cats sleep"
SENT: dict[str, Any] = {
    "solr": "/x?defType=edismax&q=where do cats sleep&rows=100&fl=id,score&wt=json",
    "typesense": "/x?query_by=title&q=where do cats sleep&per_page=100&include_fields=id",
    "qdrant": {
        "query": {"text": CATS, "model": "qdrant/bm25"},
        "using": "bm25",
        "limit": 100,
        "with_payload": False,
    },
    "weaviate": {
        "query": "query($text: String!, $depth: Int!) { Get { Docs(bm25: {query: $text}, "
        "limit: $depth) { _additional { id score } } } }",
        "variables": {"text": CATS, "depth": 100},
    },
    "azure": {"search": CATS, "top": 100, "select": "id"},
    "vespa": {
        "yql": "select * from sources * where {grammar:'weakAnd'}userInput(@text)",
        "text": CATS,
        "hits": 100,
    },
    "opensearch": {
        "query": {"multi_match": {"query": CATS, "fields": ["*"], "lenient": True}},
        "size": 100,
        "_source": False,
    },
}
SENT["elasticsearch"] = SENT["opensearch"]
ENDS = {"weaviate": "/x#Docs", "typesense": "/x?query_by=title"}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_server_of_a_known_kind_needs_its_address_alone(
    preset: str, collection: Collection
) -> None:
    with FakeServer(lambda _call: Answer(RECORDED[preset])) as server:
        engine = HttpEngine(address(server, ENDS.get(preset, "/x")), preset)
        result = retrieve_run(collection, engine, "live", ONCE)
        calls = server.calls
    assert read_run(result.run)["q1"] == {"fish": 1.5, "cats": 0.25}
    assert result.scores == "the system's"
    sent = SENT[preset]
    assert (unquote(calls[0].path) if isinstance(sent, str) else calls[0].body) == sent


def test_to_solr_a_query_is_words_and_no_operators(collection: Collection) -> None:
    odd = 'hub: 4K NOT hdmi, tv 55" (2024) -refurbished? a&&b [x TO *]'
    row = {"_id": "q1", "text": odd, "metadata": {}}
    collection.queries.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with FakeServer(lambda _call: Answer(RECORDED["solr"])) as server:
        retrieve_run(collection, HttpEngine(address(server, "/x"), "solr"), "live", ONCE)
        (call,) = server.calls
    sent = unquote(call.path)
    assert "defType=edismax&" in sent
    plain = r"hub\: 4K not hdmi, tv 55\" \(2024\) \-refurbished\? a\&&b \[x TO \*\]"
    assert f"q={plain}&" in sent


def test_to_vespa_a_query_is_words_and_no_operators(collection: Collection) -> None:
    odd = 'usb-c hub: 4K NOT hdmi, tv 55" (2024) -refurbished?'
    row = {"_id": "q1", "text": odd, "metadata": {}}
    collection.queries.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with FakeServer(lambda _call: Answer(RECORDED["vespa"])) as server:
        retrieve_run(collection, HttpEngine(address(server, "/x"), "vespa"), "live", ONCE)
        (call,) = server.calls
    assert call.body["text"] == "usb-c hub 4K NOT hdmi, tv 55 2024 refurbished"
    assert "userInput(@text)" in call.body["yql"]


@pytest.mark.parametrize(
    ("preset", "odd", "plain"),
    [
        (
            "azure",
            'tv 55" (2024) -refurbished a*',
            r"tv 55\" \(2024\) \-refurbished a\*",
        ),
        ("typesense", 'tv 55" -refurbished usb-c', "tv 55 refurbished usb-c"),
        ("weaviate", 'a"}) { x } }', 'a"}) { x } }'),
    ],
)
def test_to_others_a_query_is_words_too(
    preset: str, odd: str, plain: str, collection: Collection
) -> None:
    with_queries(collection, odd)
    with FakeServer(lambda _call: Answer(RECORDED[preset])) as server:
        engine = HttpEngine(address(server, ENDS.get(preset, "/x")), preset)
        retrieve_run(collection, engine, "live", ONCE)
        (call,) = server.calls
    body = call.body or {}
    asked_for = body.get("search") or body.get("variables", {}).get("text")
    assert (asked_for or parse_qs(urlsplit(call.path).query)["q"][0]) == plain


def test_the_address_of_weaviate_names_what_is_searched(collection: Collection) -> None:
    engine = HttpEngine("http://127.0.0.1:8080/v1/graphql", "weaviate")
    with pytest.raises(Misuse, match="ends with the name of what is searched, as http"):
        retrieve_run(collection, engine, "live", ONCE)


BROKEN = {
    "qdrant": {"status": {"error": "Not found: timeout"}, "result": None},
    "weaviate": {"errors": [{"message": "timeout"}], "data": {"Get": {"Docs": None}}},
    "typesense": {"hits": [], "search_cutoff": True},
    "azure": {"value": [], "@search.semanticPartialResponseReason": "partial"},
    "opensearch": {"_shards": {"failed": 1}, "hits": {"hits": []}},
    "elasticsearch": {"timed_out": True, "hits": {"hits": []}},
    "solr": {"responseHeader": {"partialResults": True}, "response": {"docs": []}},
    "vespa": {"root": {"errors": [{"code": 12, "message": "timeout"}]}},
}


@pytest.mark.parametrize("preset", BROKEN)
def test_an_answer_with_hits_missing_is_none_though_its_status_is_200(
    preset: str, collection: Collection
) -> None:
    with FakeServer(lambda _call: Answer(BROKEN[preset])) as server:
        engine = HttpEngine(address(server, ENDS.get(preset, "/x")), preset)
        with pytest.raises(ProviderError, match=r"missing|partial|timeout"):
            retrieve_run(collection, engine, "live", ONCE)
    assert not (collection.folder / "runs" / "live.trec").exists()


def test_a_query_is_coded_so_that_it_is_no_other_part_of_the_address(
    collection: Collection,
) -> None:
    odd = "a&size=9#x{depth}/../ü 100%"
    row = {"_id": "q1", "text": odd, "metadata": {}}
    collection.queries.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with FakeServer(lambda _call: hits("cats")) as server:
        retrieve_run(collection, HttpEngine(address(server)), "live", ONCE)
        (call,) = server.calls
    query = call.path.removeprefix("/search?q=").removesuffix("&size=100")
    assert not set(query) & set("&#/{ ")
    assert unquote(query) == odd


def test_the_order_of_the_system_is_kept_where_its_scores_tie(collection: Collection) -> None:
    body = b'[{"id": "cats", "score": 1}, {"id": "fish", "score": 1}, {"id": "cats"}]'
    with FakeServer(lambda _call: Answer(body)) as server:
        result = retrieve_run(collection, HttpEngine(address(server)), "live", ONCE)
    assert ranking(read_run(result.run)["q1"]) == ["cats", "fish"]
    assert (result.scores, result.repeated) == ("1 / rank", 2)


def test_an_unknown_document_ends_the_work_with_the_first_answer(collection: Collection) -> None:
    with FakeServer(lambda _call: hits("cats", "CATS")) as server:
        engine = HttpEngine(address(server))
        with pytest.raises(BadInput, match="'CATS', which is no _id of the corpus"):
            retrieve_run(collection, engine, "live", ONCE)
        assert len(server.calls) == 1
        options = RetrieveOptions(drop_unknown=True, asking=ONCE.asking)
        result = retrieve_run(collection, engine, "live", options)
        assert (result.unknown, result.documents, len(server.calls)) == (2, 2, 3)


def test_documents_are_found_by_another_field_of_theirs(collection: Collection) -> None:
    rows = [json.loads(line) for line in collection.corpus.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["metadata"]["sku"] = number
    collection.corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeServer(lambda _call: Answer(b"[1, 0]")) as server:
        engine = HttpEngine(address(server))
        options = RetrieveOptions(match_id="metadata.sku", asking=ONCE.asking)
        result = retrieve_run(collection, engine, "live", options)
        with pytest.raises(Misuse, match="no document has the field 'skew'; metadata has sku"):
            retrieve_run(collection, engine, "other", RetrieveOptions(match_id="skew"))
    assert ranking(read_run(result.run)["q1"]) == ["fish", "cats"]


def failing_for(word: str, answer: Answer) -> Answering:
    return lambda call: answer if word in call.path else hits("cats")


def test_a_query_that_fails_is_named_and_in_no_run(collection: Collection) -> None:
    with FakeServer(failing_for("fish", Answer(b"no such syntax", 400))) as server:
        engine = HttpEngine(address(server))
        result = retrieve_run(collection, engine, "live", ONCE)
        assert list(result.failures) == ["q2"]
        assert "HTTP 400: no such syntax" in result.failures["q2"]
        assert set(read_run(result.run)) == {"q1"}
        assert read_card(collection)["retrieve"]["live"]["failed"] == ["q2"]
        server.answer = lambda _call: hits("fish")
        assert retrieve_run(collection, engine, "live", ONCE).failures == {}
    assert set(read_run(result.run)) == {"q1", "q2"}


def test_a_query_without_hits_is_named_and_has_not_failed(collection: Collection) -> None:
    with FakeServer(failing_for("fish", hits())) as server:
        result = retrieve_run(collection, HttpEngine(address(server)), "live", ONCE)
    assert (result.empty, result.failures) == (("q2",), {})


def test_what_may_pass_is_tried_again(collection: Collection) -> None:
    statuses = iter([503, 200, 500, 200])
    with FakeServer(lambda _call: Answer(hits("cats").body, next(statuses))) as server:
        options = RetrieveOptions(asking=AskingLimits(1, 20, tries=3))
        result = retrieve_run(collection, HttpEngine(address(server)), "live", options)
        assert len(server.calls) == 4
    assert result.answered == 2


def test_a_system_that_is_down_is_not_asked_for_every_query(collection: Collection) -> None:
    rows = [{"_id": f"q{n}", "text": f"query {n}", "metadata": {}} for n in range(100)]
    collection.queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeServer(lambda call: Answer(b"", 500) if "1" in call.path[:20] else hits("cats")) as s:
        s.answer = lambda _call: hits("cats") if len(s.calls) <= 5 else Answer(b"", 500)
        with pytest.raises(ProviderError, match="failed in a row; 5 of 100 were answered"):
            retrieve_run(collection, HttpEngine(address(s)), "live", ONCE)
        assert len(s.calls) == 5 + HOPELESS


@pytest.mark.parametrize(
    ("change", "error", "problem"),
    [
        ({"url_template": "ftp://x/{query}"}, Misuse, "expected an address"),
        ({"url_template": "http://{query}.example/"}, Misuse, "never in the host"),
        ({"url_template": "http://me:secret@h/{query}"}, Misuse, "a user or a password"),
        ({"url_template": "http://h/x"}, Misuse, "the query has no place"),
        ({"url_template": "http://h/x", "body": "{"}, Misuse, "not JSON"),
        ({"preset": "nope"}, Misuse, "known: azure, elasticsearch, opensearch, qdrant"),
        ({"headers": ("Authorization: secret",)}, Misuse, "Authorization=VARIABLE"),
        ({"headers": ("Authorization=secret",)}, Misconfigured, "the variable's name"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_and_shows_no_secret(
    change: dict[str, Any], error: type[LabelerError], problem: str, collection: Collection
) -> None:
    settings = {"url_template": "http://127.0.0.1:9/{query}", **change}
    with pytest.raises(error, match=problem) as caught:
        retrieve_run(collection, HttpEngine(**settings), "live", ONCE)
    assert "secret" not in str(caught.value)


ANSWERS: list[tuple[Answer, str]] = [
    (Answer(b"<html>"), "not JSON .* it begins '<html>'"),
    (Answer(b""), "an empty answer"),
    (Answer({"took": 1, "hits": {"hits": []}}), "the answer is no list; lists stand at: hits.hits"),
    (Answer(b'[{"name": 1}]'), "hit 1: no id at 'id'; it is an object of name"),
    (Answer(b'[{"id": null}]'), "expected an id at 'id', found None"),
    (Answer(b'[{"id": "cats", "score": "high"}]'), "expected a number at 'score', found 'high'"),
    (Answer(b'[{"id": "cats", "score": NaN}]'), "expected a number at 'score'"),
    (Answer(b"no", 401), "HTTP 401: no; give its key as a header"),
    (Answer(b"", 302, {"Location": "http://127.0.0.1/"}), "redirects are not followed"),
    (Answer(b"[" * 100_000), "not JSON"),
    (Answer(fault="refuse"), "broke off"),
]


@pytest.mark.parametrize(("answer", "problem"), ANSWERS, ids=[problem for _, problem in ANSWERS])
def test_an_answer_that_is_none_is_one_line_that_says_what_came(
    answer: Answer, problem: str, collection: Collection
) -> None:
    with (
        FakeServer(lambda _call: answer) as server,
        pytest.raises(LabelerError, match=problem) as caught,
    ):
        retrieve_run(collection, HttpEngine(address(server)), "live", ONCE)
    assert caught.value.exit_code in {65, 69, 78}
    assert "\n" not in str(caught.value)


def test_a_header_comes_from_the_environment_and_is_kept_nowhere(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_KEY", "ApiKey abc123")
    with FakeServer(failing_for("fish", Answer(b"", 400))) as server:
        engine = HttpEngine(address(server), headers=("Authorization=SEARCH_KEY",))
        retrieve_run(collection, engine, "live", ONCE)
        assert server.calls[0].headers["authorization"] == "ApiKey abc123"
    files = [path for path in collection.folder.rglob("*") if path.is_file()]
    assert not any(b"abc123" in path.read_bytes() for path in files)


SCRIPT = """
import json, os, sys, time
form = sys.argv[1]
print("loading the index", file=sys.stderr)
rows = []
def say(value):
    print(json.dumps(value), flush=True)
for line in sys.stdin:
    row = json.loads(line)
    with open("asked.jsonl", "a") as out:
        out.write(json.dumps({**row, "process": os.getpid()}) + "\\n")
    if form == "json":
        say({"found": [{"doc": {"n": "fish"}, "s": len(row["query"])}]})
    elif form == "ids":
        say(["fish", "cats"])
    elif form == "turns":
        rows.append(row)
        if len(rows) > 1 or row["id"] == 1:
            for each in reversed(rows):
                say({"id": each["id"], "hits": ["fish" if "fish" in each["query"] else "cats"]})
            rows = []
    elif form == "environment":
        say([name for name in ("OPENAI_API_KEY", "MY_KEY") if name in os.environ])
    elif form == "error":
        say({"error": "no such field"})
    elif form == "fail":
        print("no index here", file=sys.stderr); sys.exit(3)
    elif form == "dies":
        if len(open("asked.jsonl").readlines()) == 2:
            sys.exit("killed")
        say(["cats"])
    elif form == "much":
        while True: print("x" * 100000, end="")
    elif form == "words":
        print("ready", flush=True)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """A command line of a script that answers in the form that it is given."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "search.py").write_text(SCRIPT)
    return lambda form: f"'{sys.executable}' search.py {form}"


def asked(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]


def with_queries(collection: Collection, *texts: str) -> None:
    rows = (json.dumps({"_id": f"q{n}", "text": text}) for n, text in enumerate(texts, start=1))
    collection.queries.write_text("".join(f"{row}\n" for row in rows))


def test_a_program_answers_one_query_after_another(
    collection: Collection, script: Callable[[str], str], tmp_path: Path
) -> None:
    engine = ProgramEngine(script("json"), hits="found", hit_id="doc.n", hit_score="s")
    result = retrieve_run(collection, engine, "mine", ONCE)
    assert read_run(result.run)["q1"] == {"fish": float(len("where do cats sleep"))}
    lines = asked(tmp_path)
    assert lines[0] | {"process": 0} == {
        "id": 1, "query": "where do cats sleep", "depth": 100, "process": 0,
    }  # fmt: skip
    assert len(lines) == 2
    assert len({line["process"] for line in lines}) == 1


def test_a_query_is_no_option_of_a_command(
    collection: Collection, script: Callable[[str], str], tmp_path: Path
) -> None:
    texts = ["--form=fail", "-rf .", "$(touch made); touch made", "two\nlines"]
    with_queries(collection, *texts)
    retrieve_run(
        collection,
        ProgramEngine(script("json"), hits="found", hit_id="doc.n", hit_score="s"),
        "mine",
        ONCE,
    )
    assert sorted(line["query"] for line in asked(tmp_path)) == sorted(texts)
    assert not (tmp_path / "made").exists()


def test_a_program_that_returns_ids_ranks_them(
    collection: Collection, script: Callable[[str], str]
) -> None:
    result = retrieve_run(collection, ProgramEngine(script("ids")), "mine", ONCE)
    assert ranking(read_run(result.run)["q1"]) == ["fish", "cats"]
    assert result.scores == "1 / rank"


def test_answers_may_come_out_of_turn_where_they_repeat_the_id(
    collection: Collection, script: Callable[[str], str]
) -> None:
    with_queries(collection, "cats", "fish 2", "cats 3", "fish 4", "cats 5")
    two = RetrieveOptions(asking=AskingLimits(2, 20, tries=1))
    result = retrieve_run(collection, ProgramEngine(script("turns")), "mine", two)
    run = read_run(result.run).as_dict()
    assert {query: next(iter(scores)) for query, scores in run.items()} == {
        "q1": "cats", "q2": "fish", "q3": "cats", "q4": "fish", "q5": "cats",
    }  # fmt: skip


def test_what_was_answered_before_an_interruption_is_not_asked_again(
    collection: Collection,
) -> None:
    with_queries(collection, "one", "two", "three", "four")
    calls: list[str] = []

    def interrupted(query: str) -> list[str]:
        calls.append(query)
        if query == "three" and calls.count("three") == 1:
            raise KeyboardInterrupt
        if query == "two" and calls.count("two") == 1:
            raise ValueError("no index")
        return ["cats"]

    with pytest.raises(KeyboardInterrupt):
        retrieve_run(collection, interrupted, "mine", ONCE)
    notes: list[str] = []
    control = Control(note=notes.append)
    result = retrieve_run(collection, interrupted, "mine", ONCE, control)
    assert calls == ["one", "two", "three", "two", "three", "four"]
    assert (result.answered, result.failures) == (4, {})
    assert notes[0].startswith("1 query was answered before, and not asked again")
    assert [path.name for path in collection.run("mine").parent.iterdir()] == ["mine.trec"]
    retrieve_run(collection, interrupted, "mine", ONCE)
    assert len(calls) == 10


def test_queries_that_failed_are_asked_again_alone(collection: Collection) -> None:
    with_queries(collection, "one", "two", "three")
    calls: list[str] = []

    def search(query: str) -> list[str]:
        calls.append(query)
        if query == "two" and calls.count("two") == 1:
            raise ValueError("no index")
        return ["cats"]

    assert list(retrieve_run(collection, search, "mine", ONCE).failures) == ["q2"]
    assert retrieve_run(collection, search, "mine", ONCE).answered == 3
    assert calls == ["one", "two", "three", "two"]
    assert list(read_run(collection.run("mine")).as_dict()) == ["q1", "q2", "q3"]


@pytest.mark.parametrize(
    "text", ["a'; touch owned; $(touch owned)", "--pre=sh", "a\nb\0c", "é\u2028x"]
)
def test_a_query_is_data_and_nothing_else(
    text: str, collection: Collection, script: Callable[[str], str], tmp_path: Path
) -> None:
    with_queries(collection, text)
    retrieve_run(collection, ProgramEngine(script("ids")), "mine", ONCE)
    assert [row["query"] for row in asked(tmp_path)] == [text]
    assert not (tmp_path / "owned").exists()


def test_a_program_that_ends_is_started_anew_and_asked_again(
    collection: Collection, script: Callable[[str], str], tmp_path: Path
) -> None:
    with_queries(collection, "one", "two", "three")
    again = RetrieveOptions(asking=AskingLimits(1, 20, tries=2))
    result = retrieve_run(collection, ProgramEngine(script("dies")), "mine", again)
    assert result.answered == 3
    assert [row["query"] for row in asked(tmp_path)] == ["one", "two", "two", "three"]


@pytest.mark.parametrize(
    ("template", "query", "is_sent"),
    [
        ("/idx/{query}/_search", "..", False),
        ("/idx/{query}", ".", False),
        ("/idx/{query}/_search", "...", True),
        ("/idx/{query}/_search", "../x", True),
        ("/idx/_search?q={query}", "..", True),
        ("/idx/q{query}/_search", "..", True),
    ],
)
def test_a_query_leads_to_no_other_path(
    template: str, query: str, is_sent: bool, collection: Collection
) -> None:
    collection.queries.write_text(json.dumps({"_id": "q1", "text": query}) + "\n")
    with FakeServer(lambda _call: hits("cats")) as server:
        engine = HttpEngine(address(server, template))
        if is_sent:
            retrieve_run(collection, engine, "mine", ONCE)
        else:
            with pytest.raises(LabelerError, match="would lead to another path of the server"):
                retrieve_run(collection, engine, "mine", ONCE)
        assert len(server.calls) == is_sent


def test_a_command_is_given_no_key_but_what_is_passed(
    collection: Collection, script: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("MY_KEY", "mine")
    engine = ProgramEngine(script("environment"), pass_env=("MY_KEY",))
    with pytest.raises(BadInput, match="returned 'MY_KEY', which is no _id"):
        retrieve_run(collection, engine, "mine", ONCE)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("", "expected a program"),
        ("x 'y", "No closing quotation"),
        ("nosuchprogram", "no program 'nosuchprogram' in the folders of PATH"),
        ("./search.py", "no program that can be run"),
        ("search.py", "to run the one in this folder: ./search.py"),
        ("cat {query}", "a query is no argument; the program reads a line a query"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(
    command: str, problem: str, collection: Collection, script: Callable[[str], str]
) -> None:
    assert script("json")
    with pytest.raises(LabelerError, match=problem):
        retrieve_run(collection, ProgramEngine(command), "mine", ONCE)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("fail", "exit code 3: no index here"),
        ("error", "'no such field'"),
        ("words", "not JSON .* begins 'ready'"),
        ("much", "more than 33,554,432 bytes in a line"),
    ],
)
def test_a_program_that_fails_says_why_and_is_no_empty_ranking(
    form: str, problem: str, collection: Collection, script: Callable[[str], str]
) -> None:
    with pytest.raises(LabelerError, match=problem):
        retrieve_run(collection, ProgramEngine(script(form)), "mine", ONCE)
    assert not collection.run("mine").exists()


def test_a_program_that_never_answers_is_ended(collection: Collection) -> None:
    quick = RetrieveOptions(asking=AskingLimits(1, 0.3, tries=1))
    with pytest.raises(ProviderError, match=r"no answer in 0\.3 seconds"):
        retrieve_run(collection, ProgramEngine("sh -c 'sleep 1000; echo x'"), "mine", quick)


def test_the_command_names_failures_and_ends_with_3(
    collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(failing_for("fish", Answer(b"", 400))) as server:
        words = ["retrieve", str(collection.folder), "--as", "live", "--json"]
        assert execute([*words, "--url-template", address(server)]) == 3
    output = capsys.readouterr()
    shown = json.loads(output.out)
    assert (shown["answered"], list(shown["failures"])) == (1, ["q2"])
    assert "labeler: no answer to 1 of 2 queries: q2; run it again to ask for all" in output.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "name one system"),
        (["--url-template", "http://h/{query}", "--command", "x"], "name one system"),
        (["--url-template", "http://h/"], "--url-template: the query has no place"),
        (["--command", "nosuch"], "no program 'nosuch'"),
        (["--command", "cat {query}"], "--command: a query is no argument"),
        (["--as", "bm25", "--command", "cat"], "--as: the name 'bm25' is a built-in run's"),
        (["--as", "a/b", "--command", "cat"], "--as: the name 'a/b' may hold only"),
        (["--command", "cat", "--tag", "a b"], "--tag: a tag holds no white space"),
    ],
)
def test_what_is_wrong_with_a_system_stands_behind_its_option(
    words: list[str], problem: str, collection: Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["retrieve", str(collection.folder), "--as", "x", *words]) in {2, 78}
    assert f"labeler: {problem}" in capsys.readouterr().err
