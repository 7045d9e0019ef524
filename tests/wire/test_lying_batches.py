"""A server of batches that lies harms nobody: no redirect, flood or nonsense gets through."""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from every_row import every_row
from stranger import Stranger

from labeler.cli import execute
from labeler.collection.batches import BatchRecord, write_batch
from labeler.errors import Misconfigured, ProviderError
from labeler.models.batch.service import batch_service
from labeler.testing import small_collection
from labeler.wire.gate import Admitted, named
from labeler.wire.http import CHUNK, LARGEST_ANSWER

KEY = "sk-canary-7d1f0a"
BATCH = {"id": "batch-1", "status": "completed", "output_file_id": "file-2", "metadata": {}}
MILLION = b"\0" * 1_000_000


@contextmanager
def lying(
    status: int, body: bytes, headers: Mapping[str, str] = {}, seen: list[Any] | None = None
) -> Iterator[Admitted]:
    """A server that answers everything so; `seen` takes the headers of what it is sent."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def _answer(self) -> None:
            self.rfile.read(int(self.headers["content-length"] or 0))
            if seen is not None:
                seen.append({n.lower(): value for n, value in self.headers.items()})
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # who asked has heard enough

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield named(f"http://127.0.0.1:{server.server_port}/v1", KEY)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(server: Admitted, verb: str, *arguments: Any) -> Any:
    async def ask() -> Any:
        async with batch_service(server, tries=0) as service:
            return await getattr(service, verb)(*arguments)

    return asyncio.run(ask())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_file_of_requests_follows_a_redirect(tmp_path: Path, status: int) -> None:
    requests = tmp_path / "requests.jsonl"
    requests.write_text('{"body": "the texts of a pair"}\n')
    with Stranger() as stranger:
        to = {"location": f"{stranger.address}/files"}
        with (
            lying(status, b"", to) as server,
            pytest.raises(Misconfigured, match="redirects are not followed"),
        ):
            asked(server, "upload", requests, "token")
        assert stranger.connections() == 0


def test_no_download_of_answers_follows_a_redirect_with_the_key(tmp_path: Path) -> None:
    with Stranger() as stranger:
        to = {"location": f"{stranger.address}/files/f/content"}
        with lying(307, b"", to) as server, pytest.raises(Misconfigured, match="not followed"):
            asked(server, "download", "file-2", tmp_path / "answers")
        assert stranger.connections() == 0


def test_a_state_has_a_largest_size() -> None:
    flood = b" " * (LARGEST_ANSWER + 1)
    with lying(200, flood) as server, pytest.raises(ProviderError, match=r"more than 4,194,304"):
        asked(server, "state", "batch-1")


def test_a_file_of_answers_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    bomb = gzip.compress(MILLION * 20)
    path = tmp_path / "answers"
    with (
        lying(200, bomb, {"content-encoding": "gzip"}) as server,
        pytest.raises(ProviderError, match="holds more than 300,000 bytes"),
    ):
        asked(server, "download", "file-2", path, 300_000)
    assert path.stat().st_size <= 300_000 + CHUNK


@every_row(
    "body",
    [
        b"",
        b"no JSON",
        b"[]",
        b"{}",
        b"null",
        b'"a text"',
        b"7",
        b'{"id": 7, "status": "completed"}',
        b'{"id": "b", "status": ["completed"]}',
        b'{"id": "b", "status": "completed", "output_file_id": {"a": 1}}',
        b'{"id": "b", "status": "completed", "request_counts": {"total": "many"}}',
        b'{"id": "b", "status": "completed", "request_counts": {"total": -1}}',
        b'{"id": "b", "status": "failed", "errors": {"data": [1, 2]}}',
        b'{"id": "b", "status": "failed", "errors": {"data": "abc"}}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe\x00",
    ],
)
@every_row("kind", ["application/json", "text/html"])
def test_what_says_nothing_of_a_batch_is_one_line(body: bytes, kind: str) -> None:
    with lying(200, body, {"content-type": kind}) as server:
        with pytest.raises(ProviderError) as problem:
            asked(server, "state", "batch-1")
        assert "\n" not in str(problem.value)
        for verb in ("with_token", "uploaded"):  # of which there may be none
            with suppress(ProviderError):
                assert not asked(server, verb, "t")


def test_a_command_that_meets_nonsense_shows_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    collection = small_collection(tmp_path)
    with lying(200, b"no JSON") as server:
        asked_for = ("t", "one", "four-grades", "fake", f"{server.address} fake", server.address)
        ids = {"status": "in_progress", "file_id": "file-1", "batch_id": "batch-1"}
        write_batch(collection, BatchRecord(1, *asked_for, 1, "2026-01-01T00:00:00+00:00", **ids))
        where = ["--base-url", server.address]
        assert execute(["batch", "status", str(tmp_path), *where]) == 69
    (line,) = capsys.readouterr().err.splitlines()
    assert "expected what a server says of its batches" in line


def test_only_the_named_key_goes_to_a_server_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY", "OPENAI_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "an-account")
    seen: list[dict[str, str]] = []
    with lying(200, json.dumps(BATCH).encode(), seen=seen) as server:
        assert asked(server, "state", "batch-1").id == "batch-1"
    assert [headers["authorization"] for headers in seen] == [f"Bearer {KEY}"]
    assert "an-account" not in str(seen)
