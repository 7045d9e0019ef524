"""Qdrant's REST API on loopback, as far as it is searched, checked by its makers' client."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from qdrant_client import models

SENT = {("POST", "/points/query"): models.QueryRequest}
"""What the client of Qdrant's makers says that each request holds."""


@dataclass
class PointsInMemory:
    """Points in dicts; without `exact`, every `misses`-th of the nearest is not found."""

    vectors: dict[str, Any] = field(default_factory=dict)
    payloads: dict[str, dict[str, Any]] = field(default_factory=dict)
    misses: int = 0

    def put(self, ids: list[str], vectors: Any, payloads: list[dict[str, Any]]) -> None:
        for point, vector, payload in zip(ids, vectors, payloads, strict=True):
            norm = np.linalg.norm(vector) or 1
            self.vectors[point], self.payloads[point] = np.array(vector) / norm, payload

    def count(self) -> int:
        return len(self.payloads)

    def nearest(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        must = (asked.get("filter") or {}).get("must") or []
        wanted = {rule["key"]: rule["match"]["value"] for rule in must}
        ids = [i for i, p in self.payloads.items() if wanted.items() <= p.items()]
        matrix = np.array([self.vectors[i] for i in ids])
        scores = matrix @ np.array(asked["query"]) if ids else []
        order = sorted(range(len(ids)), key=lambda at: -scores[at])
        if self.misses and not (asked.get("params") or {}).get("exact"):
            order = [at for n, at in enumerate(order, 1) if n % self.misses]
        return [
            {"id": ids[at], "score": float(scores[at]), "payload": self.payloads[ids[at]]}
            for at in order[: asked["limit"]]
        ]


@dataclass
class QdrantServer:
    """A server with one engine for each of its collections; `fails` is called with each request.

    What `fails` gives, unless None, is answered: a status, and a body.
    """

    make: Any = PointsInMemory
    key: str = ""
    engines: dict[str, PointsInMemory] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    fails: Any = lambda _method, _path, _body: None
    port: int = 0

    def address(self, collection: str, more: str = "") -> str:
        return f"qdrant://127.0.0.1:{self.port}/{collection}{more}"

    def sent(self, part: str) -> list[Any]:
        """The bodies of the requests whose method and path are so."""
        return [body for method, path, body in self.asked if f"{method} {path}" == part]

    def answer(self, method: str, path: str, body: Any, key: str) -> tuple[int, Any]:
        match = re.fullmatch(r"/collections/([^/?]+)((?:/[^?]*)?)(?:\?.*)?", path)
        assert match, path
        name, part = match[1], match[2]
        self.asked.append((method, part, body))
        failed = self.fails(method, part, body)
        if failed is not None:
            return failed
        if key != self.key:
            return 401, b"Must provide an API key or an Authorization bearer token"
        if body is not None:
            SENT[method, part].model_validate(body)
        if name not in self.engines:
            return 404, {"status": {"error": f"Not found: Collection `{name}` doesn't exist!"}}
        return 200, {"result": self.result(name, method, part, body), "status": "ok"}

    def result(self, name: str, method: str, part: str, body: Any) -> Any:
        engine, config = self.engines[name], self.configs[name]
        if method == "GET":
            info = {"params": {"vectors": config["vectors"]}}
            counts = {"points_count": engine.count(), "indexed_vectors_count": 0}
            return {"status": "green", **counts, "config": info}
        assert part == "/points/query", part
        return {"points": engine.nearest(body)}


@contextmanager
def qdrant_server(**how: Any) -> Iterator[QdrantServer]:
    """A server, as long as the block runs."""
    made = QdrantServer(**how)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def answered(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            with lock:
                status, content = made.answer(
                    self.command, self.path, body, self.headers.get("api-key") or ""
                )
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = answered  # noqa: N815  the names are the library's

        def log_message(self, *_words: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
