"""A real HTTP server on loopback with files and batches, as OpenAI's Batch API has them."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from labeler.testing.fake_server import completion
from labeler.wire.gate import trust

Line = dict[str, Any]


def answered(request: Line) -> Line:
    """A line that answers a request with grade 2."""
    return with_status(request, 200, completion('{"grade": 2}'))


def with_status(request: Line, status: int, body: Any) -> Line:
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": request["custom_id"], "response": response, "error": None}


def with_error(request: Line, code: str, message: str = "why") -> Line:
    error = {"code": code, "message": message}
    return {"id": "x", "custom_id": request["custom_id"], "response": None, "error": error}


Answering = Callable[[list[Line]], tuple[list[Line], list[Line]]]
"""What makes the lines of the two files, answers and errors, of a batch's requests."""


@dataclass
class BatchServer:
    """`answering` makes the lines; batches end when `ends` says so, in its `status`.

    The last answer is left out of so many downloads as `hide_answers` says. `on_call` is told of
    each call twice: `before` the server does anything, and `after` that, before it answers. Where
    it is `trusted`, a person has named its address once before.
    """

    answering: Answering = lambda requests: ([answered(request) for request in requests], [])
    ends: bool = True
    status: str = "completed"
    files: dict[str, bytes] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: dict[str, bytes] = field(default_factory=dict)
    live_calls: int = 0
    live_reply: str = '{"grade": 1}'
    refuse_batches: int = 0
    forget_answer_to_begin: bool = False
    break_downloads: int = 0
    hide_answers: int = 0
    refuse_removal: bool = False
    on_upload: Callable[[bytes], None] = lambda _content: None
    on_call: Callable[[str], None] = lambda _when: None
    trusted: bool = True

    def __enter__(self) -> Self:
        state = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                kind = self.headers["content-type"] or ""
                self.send(lambda: state.post(self.path, body, kind))

            def do_GET(self) -> None:
                self.send(lambda: state.get(self.path.partition("?")[0]))

            def do_DELETE(self) -> None:
                self.send(lambda: state.remove(self.path.split("/")[-1]))

            def send(self, work: Callable[[], tuple[int, object]]) -> None:
                state.on_call("before")
                status, answer = work()
                state.on_call("after")
                raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                if state.break_downloads and isinstance(answer, bytes):
                    state.break_downloads -= 1
                    raw, self.close_connection = raw[: len(raw) // 2], True
                self.wfile.write(raw)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=lambda: self._http.serve_forever(0.01), daemon=True)
        self._thread.start()
        if self.trusted:
            trust(self.base_url, "OPENAI_API_KEY")
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def requests(self) -> list[Line]:
        """Every request of every batch, in the order in which they came."""
        return [line for batch in self.batches.values() for line in self.lines(batch)]

    def lines(self, batch: dict[str, Any]) -> list[Line]:
        return [json.loads(line) for line in self.asked[batch["id"]].splitlines()]

    def post(self, path: str, body: bytes, kind: str) -> tuple[int, object]:
        if path.endswith("/chat/completions"):
            self.live_calls += 1
            return 200, completion(self.live_reply)
        if path.endswith("/files"):
            return self._upload(body, kind)
        if path.endswith("/cancel"):
            batch = self.batches[path.split("/")[-2]]
            batch["status"], self.status, self.ends = "cancelling", "cancelled", True
            return 200, batch
        if self.refuse_batches:
            self.refuse_batches -= 1
            return 400, {"error": {"message": "batch limit of the organization reached"}}
        return self._begin(json.loads(body))

    def _upload(self, body: bytes, kind: str) -> tuple[int, object]:
        message = BytesParser(policy=HTTP).parsebytes(
            b"content-type: " + kind.encode() + b"\n\n" + body
        )
        parts = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in message.iter_parts()
        }
        name = f"file-{len(self.names)}"
        content = parts["file"]
        assert isinstance(content, bytes)
        assert parts["purpose"] == b"batch"
        self.on_upload(content)
        self.files[name] = content
        (sent,) = (part.get_filename() for part in message.iter_parts() if part.get_filename())
        self.names[name] = sent
        return 200, {
            "id": name,
            "object": "file",
            "bytes": len(content),
            "created_at": 0,
            "filename": sent,
            "purpose": "batch",
            "status": "processed",
        }

    def _begin(self, asked: dict[str, Any]) -> tuple[int, object]:
        name = f"batch-{len(self.asked)}"
        if asked["input_file_id"] not in self.files:
            return 400, {"error": {"message": f"no file {asked['input_file_id']}"}}
        self.asked[name] = self.files[asked["input_file_id"]]
        batch = {
            "id": name,
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": "24h",
            "status": "in_progress",
            "created_at": 0,
            "metadata": asked["metadata"],
            "output_file_id": None,
            "error_file_id": None,
        }
        self.batches[name] = batch
        total = len(self.lines(batch))
        batch["request_counts"] = {"total": total, "completed": 0, "failed": 0}
        return (0, b"") if self.forget_answer_to_begin else (200, batch)

    def get(self, path: str) -> tuple[int, object]:
        name = path.rstrip("/").split("/")[-1]
        if name == "content":
            return self._content(path.split("/")[-2])
        if name == "files":
            files = [{"id": file, "filename": self.names[file]} for file in self.files]
            return 200, {"object": "list", "data": files, "has_more": False}
        if name == "batches":
            return 200, {"object": "list", "data": list(self.batches.values()), "has_more": False}
        if name == "models":
            return 200, {"object": "list", "data": [{"id": "fake", "object": "model"}]}
        if name not in self.batches:
            return 404, {"error": {"message": f"no batch {name}"}}
        batch = self.batches[name]
        if self.ends and batch["status"] in {"in_progress", "cancelling"}:
            self._end(batch)
        return 200, batch

    def _content(self, name: str) -> tuple[int, object]:
        if name not in self.files:
            return 404, {"error": {"message": f"no file {name}"}}
        content = self.files[name]
        if self.hide_answers and name.endswith("output_file_id"):
            self.hide_answers -= 1
            content = b"".join(content.splitlines(keepends=True)[:-1])
        return 200, content

    def remove(self, name: str) -> tuple[int, object]:
        if self.refuse_removal:
            return 400, {"error": {"message": "not now"}}
        if self.files.pop(name, None) is None:
            return 404, {"error": {"message": f"no file {name}"}}
        return 200, {"id": name, "object": "file", "deleted": True}

    def _end(self, batch: dict[str, Any]) -> None:
        answers, errors = self.answering(self.lines(batch))
        for field_name, lines in (("output_file_id", answers), ("error_file_id", errors)):
            if lines:
                batch[field_name] = f"{batch['id']}-{field_name}"
                raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
                self.files[batch[field_name]] = raw
        batch["status"] = self.status
        asked = {line["custom_id"] for line in self.lines(batch)}
        completed = len(asked & {line["custom_id"] for line in answers})
        batch["request_counts"] |= {"completed": completed, "failed": len(errors)}
