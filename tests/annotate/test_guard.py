"""Whom the page is served to, and that nothing but the page itself can write: each as a fact."""

import asyncio
import json
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from paged import HOST, TOKEN, Page
from starlette.testclient import TestClient

from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.app import HEADERS, LARGEST_BODY, PageGuard, RaterPage
from labeler.annotate.journal import read_journal
from labeler.annotate.session import RatingSession
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.data import Document, Query
from labeler.testing import small_collection


@pytest.fixture(scope="module")
def coll(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection that no test of these writes a grade to."""
    return small_collection(tmp_path_factory.mktemp("guard") / "coll")


@pytest.fixture(scope="module")
def session(coll: Collection) -> RatingSession:
    return rating_sessions(coll, AnnotateOptions(("anna",)))[0]


@pytest.fixture(scope="module")
def page(session: RatingSession) -> Iterator[Page]:
    own = Page(session)
    yield own
    assert own.bugs == []


@pytest.fixture
def own_coll(tmp_path: Path) -> Collection:
    return small_collection(tmp_path / "coll")


@pytest.fixture
def own_page(own_coll: Collection) -> Page:
    return Page(rating_sessions(own_coll, AnnotateOptions(("anna",)))[0])


def is_unwritten(coll: Collection) -> bool:
    return read_journal(coll.annotations / "anna.jsonl") == []


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/api/item", "/static/page.js", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/api/item"),
        *(f"//{TOKEN}/", f"/x/{TOKEN}/", "/%2e%2e/", f"/{TOKEN.upper()}/", "/é/", "/%00/"),
    ],
)
def test_without_the_token_there_is_nothing(page: Page, path: str) -> None:
    answer = page.client.get(path)
    assert answer.status_code == 404
    assert TOKEN not in answer.text


def test_the_address_without_a_slash_leads_to_the_page(page: Page) -> None:
    answer = page.client.get(f"/{TOKEN}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, f"{TOKEN}/")


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example"),
        *("", "127.0.0.1@evil.example", "localhost:8765, evil.example", "0.0.0.0", "192.168.1.4"),
        *("[::1", "localhost:", "localhost:99999999", "127.0.0.1 ", "127.1", "2130706433"),
    ],
)
def test_a_name_that_was_led_here_gets_nothing(page: Page, host: str, coll: Collection) -> None:
    for method in ("GET", "POST"):
        answer = page.client.request(method, f"/{TOKEN}/api/item", headers={"Host": host})
        assert answer.status_code == 421
        assert "query" not in answer.text
    assert is_unwritten(coll)


@pytest.mark.parametrize(
    "host", ["localhost:8765", "127.0.0.1:2", "[::1]:8765", "LOCALHOST", "127.0.0.2"]
)
def test_this_machine_is_served_under_its_names_and_behind_any_port(page: Page, host: str) -> None:
    answer = page.client.get(f"/{TOKEN}/api/item", headers={"Host": host})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [("192.168.1.4:8765", 200), ("grader.local", 421), ("evil.example", 421), ("[fe80::1]", 200)],
)
def test_a_page_that_is_open_to_others_takes_addresses_in_digits_and_no_foreign_name(
    session: RatingSession, host: str, status: int
) -> None:
    guard = PageGuard({TOKEN: RaterPage(session).application()}, "0.0.0.0")
    answer = TestClient(guard, HOST).get(f"/{TOKEN}/api/session", headers={"Host": host})
    assert answer.status_code == status


CROSS_SITE = [
    {"Origin": "https://evil.example"},
    {"Origin": "http://127.0.0.1:9999"},
    {"Origin": "http://localhost:8765"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "none"},
    {"Origin": HOST, "Sec-Fetch-Site": "cross-site"},
    {"Origin": HOST, "Sec-Fetch-Site": "same-site"},
    {"Origin": f"{HOST}.evil.example"},
    {"Origin": HOST.replace("http", "file")},
    {"Origin": "http://["},
    {"X-CSRF": ""},
    {"X-CSRF": "wrong"},
    {"X-CSRF": "é".encode()},
    {"Content-Type": "text/plain"},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Content-Type": "multipart/form-data; boundary=x"},
]


@pytest.mark.parametrize("headers", CROSS_SITE, ids=str)
@pytest.mark.parametrize("path", ["api/answer", "api/undo", "api/goto"])
def test_no_other_site_can_write(
    page: Page, coll: Collection, path: str, headers: dict[str, Any]
) -> None:
    own = {"X-CSRF": page.csrf, "Origin": HOST, "Content-Type": "application/json"}
    body = json.dumps({"item": page.get("api/item")["item"]["id"], "grade": 1})
    sent = {**own, **headers}
    answer = page.client.post(f"/{TOKEN}/{path}", content=body, headers=sent)
    assert answer.status_code in {403, 415}
    assert is_unwritten(coll)


def test_a_request_that_names_no_origin_must_come_from_the_same_by_the_browsers_word(
    own_page: Page, own_coll: Collection
) -> None:
    own = {"X-CSRF": own_page.csrf, "Content-Type": "application/json"}
    body = json.dumps({"item": own_page.get("api/item")["item"]["id"], "grade": 1})
    path = f"/{TOKEN}/api/answer"
    assert own_page.client.post(path, content=body, headers=own).status_code == 403
    assert is_unwritten(own_coll)
    told = {**own, "Sec-Fetch-Site": "same-origin"}
    assert own_page.client.post(path, content=body, headers=told).status_code == 200


def test_a_page_of_another_site_cannot_read(page: Page) -> None:
    headers = {"Origin": "https://evil.example"}
    answer = page.client.get(f"/{TOKEN}/api/item", headers=headers)
    assert answer.status_code == 403
    assert not {name for name in answer.headers if name.startswith("access-control")}


@pytest.mark.parametrize("item", [[], {}, 1, True, "", "nothing", ["1"], {"1": 1}], ids=repr)
def test_what_is_no_item_cannot_be_gone_to(page: Page, item: object) -> None:
    answer = page.post("api/goto", {"item": item})
    assert (answer.status_code, answer.json()) == (400, {"error": "there is no such item"})


@pytest.mark.parametrize("path", ["", "static/page.js", "api/item", "nothing", "static/nothing"])
def test_every_answer_forbids_what_the_page_does_not_need(page: Page, path: str) -> None:
    answer = page.client.get(f"/{TOKEN}/{path}")
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_refusals_have_the_same_headers(page: Page) -> None:
    for path, headers in (("/", {}), (f"/{TOKEN}/", {"Host": "evil.example"})):
        answer = page.client.get(path, headers=headers)
        assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


def test_the_page_holds_no_script_or_style_of_its_own(page: Page) -> None:
    text = page.client.get(f"/{TOKEN}/").text.casefold()
    assert text.count("<script") == text.count('<script type="module" src="static/')
    assert "<style" not in text
    assert re.search(r"<[^>]*\s(style|on\w+|srcdoc)\s*=", text) is None
    assert "javascript:" not in text


@pytest.mark.parametrize(
    "name",
    [
        *("../app.py", "..%2fapp.py", "%2e%2e/app.py", "....//app.py", "/etc/passwd", "..\\app.py"),
        *("page.html/..", "page.js%00.css", "%2e%2e%2f%2e%2e%2f__init__.py", "", ".", "page"),
    ],
)
def test_no_name_leads_out_of_the_pages_own_files(page: Page, name: str) -> None:
    answer = page.client.get(f"/{TOKEN}/static/{name}")
    assert answer.status_code in {404, 405}
    assert "import" not in answer.text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "POST"])
def test_what_is_read_takes_no_other_method(page: Page, method: str) -> None:
    own = {"Origin": HOST}
    answer = page.client.request(method, f"/{TOKEN}/api/item", headers=own)
    assert answer.status_code == 405
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize("path", ["answer", "undo", "goto"])
def test_what_writes_cannot_be_read(page: Page, path: str) -> None:
    assert page.client.get(f"/{TOKEN}/api/{path}").status_code == 405


def test_a_head_of_the_page_has_no_body(page: Page) -> None:
    answer = page.client.head(f"/{TOKEN}/")
    assert (answer.status_code, answer.content) == (200, b"")


BODIES: list[tuple[object, int]] = [
    (b"", 400),
    (b"{", 400),
    (b"\xff", 400),
    (b"[1]", 400),
    (b"[" * 50_000, 400),
    (b'{"item": 1, "grade": 1}', 400),
    (b'{"item": "nothing", "grade": 1}', 409),
    (b'{"item": "ITEM"}', 400),
    (b'{"item": "ITEM", "grade": true}', 400),
    (b'{"item": "ITEM", "grade": 1.0}', 400),
    (b'{"item": "ITEM", "grade": 99}', 400),
    (b'{"item": "ITEM", "grade": -1}', 400),
    (b'{"item": "ITEM", "grade": 1e999}', 400),
    (b'{"item": "ITEM", "grade": ' + b"9" * 5000 + b"}", 400),
    (b'{"item": "ITEM", "answer": "good"}', 400),
    (b'{"item": "ITEM", "answer": []}', 400),
    (b'{"item": "ITEM", "grade": 1, "skip": true}', 400),
    (b'{"item": "ITEM", "grade": 1, "cannot_judge": true}', 400),
    (b'{"item": "ITEM", "grade": 1, "cannot_judge": "no"}', 400),
    (b'{"item": "ITEM", "grade": 1, "note": 7}', 400),
    (b'{"item": "ITEM", "grade": 1, "note": "\\ud800"}', 400),
    (json.dumps({"item": "ITEM", "grade": 1, "note": "x" * 10_001}).encode(), 400),
    (b" " * (LARGEST_BODY + 1), 413),
]


@pytest.mark.parametrize(("body", "status"), BODIES, ids=lambda value: repr(value)[:50])
def test_a_body_that_is_no_answer_is_refused_in_a_sentence_and_nothing_is_written(
    page: Page, coll: Collection, body: bytes, status: int
) -> None:
    item = page.get("api/item")["item"]["id"].encode()
    own = {"X-CSRF": page.csrf, "Origin": HOST, "Content-Type": "application/json"}
    path = f"/{TOKEN}/api/answer"
    answer = page.client.post(path, content=body.replace(b"ITEM", item), headers=own)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert len(answer.json()["error"]) < 200
    assert is_unwritten(coll)


def test_a_time_that_cannot_be_is_none(own_page: Page, own_coll: Collection) -> None:
    own = {"X-CSRF": own_page.csrf, "Origin": HOST, "Content-Type": "application/json"}
    item = own_page.get("api/item")["item"]["id"]
    times = [-1, "x", None, True, 1e300, float("nan"), [], 10**400]
    for seconds in times:
        own_page.post("api/goto", {"item": item})
        body = json.dumps({"item": item, "grade": 1, "seconds": seconds})
        answer = own_page.client.post(f"/{TOKEN}/api/answer", content=body, headers=own)
        assert answer.status_code == 200
    rows = read_journal(own_coll.annotations / "anna.jsonl")
    assert [row.seconds for row in rows] == [None] * len(times)


def test_a_body_that_never_ends_is_left_after_its_first_bytes(session: RatingSession) -> None:
    page = Page(session)
    sent = 0

    async def receive() -> MutableMapping[str, Any]:
        nonlocal sent
        sent += 1 << 14
        return {"type": "http.request", "body": b" " * (1 << 14), "more_body": True}

    status = asyncio.run(_status(page, receive))
    assert status == 413
    assert sent <= LARGEST_BODY + (1 << 15)


async def _status(page: Page, receive: Any) -> int:
    headers = {
        b"host": b"127.0.0.1:8765",
        b"origin": HOST.encode(),
        b"x-csrf": page.csrf.encode(),
        b"content-type": b"application/json",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/{TOKEN}/api/answer",
        "query_string": b"",
        "headers": list(headers.items()),
    }
    messages: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    await page.client.app(scope, receive, send)  # type: ignore[arg-type,misc]
    return int(messages[0]["status"])


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</textarea><iframe srcdoc='<script>1</script>'>",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "javascript:alert(1)",
    "\u202eright to left\u2066",
    "\x00\x1b[2J\x07",
    "a\u0000b",
]


@pytest.mark.parametrize("text", ATTACKS, ids=ascii)
def test_texts_of_documents_are_json_and_nothing_more(tmp_path: Path, text: str) -> None:
    collection = small_collection(tmp_path / "coll")
    with locked(collection):
        metadata = {"source": text, "headings": [text]}
        write_corpus(
            collection.corpus, [Document(d, text, text, metadata) for d in ("cats", "fish")]
        )
        topic = {"description": text, "narrative": text}
        write_queries(collection.queries, [Query(q, text, topic) for q in ("q1", "q2")])
    (own,) = rating_sessions(collection, AnnotateOptions(("anna",)))
    answer = Page(own).client.get(f"/{TOKEN}/api/item")
    assert answer.headers["content-type"] == "application/json"
    item = answer.json()["item"]
    for shown in (item["query"]["text"], item["document"]["title"], item["query"]["narrative"]):
        assert not set("\u202e\u2066\x00\x1b\x07") & set(shown)


def test_a_bug_is_told_to_whoever_started_the_page_and_not_to_the_browser(
    own_page: Page, own_coll: Collection, session: RatingSession
) -> None:
    own_coll.annotations.mkdir(exist_ok=True)
    (own_coll.annotations / "anna.jsonl").write_text('{"task": "nonsense"}\n')
    answer = own_page.client.get(f"/{TOKEN}/api/item")
    assert answer.status_code == 500
    assert "anna.jsonl:1: expected 'task' to be one of grade" in answer.text

    class Broken(RatingSession):
        def state(self) -> dict[str, Any]:
            raise ZeroDivisionError("secret detail")

    broken = Page(Broken("anna", session.task, session._journal))
    answer = broken.client.get(f"/{TOKEN}/api/item")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert [type(bug) for bug in broken.bugs] == [ZeroDivisionError]


def test_what_is_no_http_is_not_answered(page: Page) -> None:
    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    async def never(_message: MutableMapping[str, Any]) -> None:
        raise AssertionError("answered")

    for kind in ("websocket", "lifespan"):
        asyncio.run(page.client.app({"type": kind}, receive, never))  # type: ignore[arg-type]
