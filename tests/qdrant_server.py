"""Qdrant's REST API on loopback, over its own engine or one in this file, checked by its client."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

import numpy as np
from qdrant_client import models

SENT = {
    ("PUT", ""): models.CreateCollection,
    ("PATCH", ""): models.UpdateCollection,
    ("PUT", "/points"): models.PointsBatch,
    ("POST", "/points"): models.PointRequest,
    ("POST", "/points/count"): models.CountRequest,
    ("POST", "/points/scroll"): models.ScrollRequest,
    ("POST", "/points/delete"): models.PointIdsList,
    ("POST", "/points/query"): models.QueryRequest,
}
"""What the client of Qdrant's makers says that each request holds."""


class PointEngine(Protocol):
    """What keeps the points of a collection."""

    def put(self, ids: list[str], vectors: Any, payloads: list[dict[str, Any]]) -> None: ...
    def remove(self, ids: list[str]) -> None: ...
    def some(self, ids: list[str]) -> list[dict[str, Any]]: ...
    def page(self, offset: str | None, limit: int) -> tuple[list[dict[str, Any]], str | None]: ...
    def count(self) -> int: ...
    def indexed(self) -> int: ...
    def nearest(self, asked: dict[str, Any]) -> list[dict[str, Any]]: ...


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

    def remove(self, ids: list[str]) -> None:
        for point in ids:
            self.vectors.pop(point, None)
            self.payloads.pop(point, None)

    def some(self, ids: list[str]) -> list[dict[str, Any]]:
        return [{"id": i, "payload": self.payloads[i]} for i in ids if i in self.payloads]

    def page(self, offset: str | None, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        ids = [i for i in sorted(self.payloads) if offset is None or i >= offset]
        return self.some(ids[:limit]), ids[limit] if len(ids) > limit else None

    def count(self) -> int:
        return len(self.payloads)

    def indexed(self) -> int:
        return 0

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


class PointsOnDisk:
    """Points in the engine of Qdrant's own, without its server."""

    def __init__(self, folder: str, size: int, **hnsw: int) -> None:
        import qdrant_edge as edge

        self._edge = edge
        vectors = edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine)
        config = edge.EdgeConfig(vectors=vectors, hnsw_config=edge.HnswIndexConfig(**hnsw))
        self.shard = edge.EdgeShard.create(folder, config)

    def put(self, ids: list[str], vectors: Any, payloads: list[dict[str, Any]]) -> None:
        rows = zip(ids, vectors, payloads, strict=True)
        points = [self._edge.Point(*row) for row in rows]
        self.shard.update(self._edge.UpdateOperation.upsert_points(points))

    def remove(self, ids: list[str]) -> None:
        self.shard.update(self._edge.UpdateOperation.delete_points(ids))

    def some(self, ids: list[str]) -> list[dict[str, Any]]:
        return [_record(r) for r in self.shard.retrieve(ids, with_payload=True, with_vector=False)]

    def page(self, offset: str | None, limit: int) -> tuple[list[dict[str, Any]], str | None]:
        asked = self._edge.ScrollRequest(offset=offset, limit=limit, with_payload=True)
        records, after = self.shard.scroll(asked)
        return [_record(r) for r in records], None if after is None else str(after)

    def count(self) -> int:
        return self.shard.count(self._edge.CountRequest(exact=True))

    def indexed(self) -> int:
        return self.shard.info().indexed_vectors_count

    def nearest(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        given = asked.get("params") or {}
        params = self._edge.SearchParams(
            hnsw_ef=given.get("hnsw_ef"), exact=given.get("exact") or False
        )
        query = self._edge.Query.Nearest(asked["query"])
        request = self._edge.QueryRequest(
            limit=asked["limit"], query=query, with_payload=True, params=params
        )
        return [{**_record(p), "score": p.score} for p in self.shard.query(request)]


def _record(record: Any) -> dict[str, Any]:
    return {"id": str(record.id), "payload": record.payload or {}}


@dataclass
class QdrantServer:
    """A server with one engine for each of its collections; `fails` is called with each request.

    What `fails` gives, unless None, is answered: a status, and a body.
    """

    make: Any = PointsInMemory
    key: str = ""
    keeps_metadata: bool = True
    engines: dict[str, PointEngine] = field(default_factory=dict)
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
        if (method, part) == ("PUT", ""):
            self.configs[name] = body
            self.engines[name] = self.make()
            return 200, {"result": True}
        if name not in self.engines:
            return 404, {"status": {"error": f"Not found: Collection `{name}` doesn't exist!"}}
        return 200, {"result": self.result(name, method, part, body), "status": "ok"}

    def result(self, name: str, method: str, part: str, body: Any) -> Any:
        engine, config = self.engines[name], self.configs[name]
        if method == "PATCH":
            if self.keeps_metadata:
                config["metadata"] = {**(config.get("metadata") or {}), **body["metadata"]}
            return True
        if method == "GET":
            info = {"params": {"vectors": config["vectors"]}, "metadata": config.get("metadata")}
            if not self.keeps_metadata:
                del info["metadata"]
            counts = {"points_count": engine.count(), "indexed_vectors_count": engine.indexed()}
            return {"status": "green", **counts, "config": info}
        if (method, part) == ("PUT", "/points"):
            batch = body["batch"]
            vectors = batch["vectors"]
            if isinstance(vectors, dict):
                ((vector_name, vectors),) = vectors.items()
                assert vector_name in config["vectors"]
            engine.put(batch["ids"], vectors, batch["payloads"])
            return {"operation_id": 1, "status": "completed"}
        return self.looked_up(engine, part, body)

    def looked_up(self, engine: PointEngine, part: str, body: Any) -> Any:
        match part:
            case "/points":
                return engine.some(body["ids"])
            case "/points/count":
                return {"count": engine.count()}
            case "/points/scroll":
                points, after = engine.page(body.get("offset"), body["limit"])
                return {"points": points, "next_page_offset": after}
            case "/points/delete":
                engine.remove(body["points"])
                return {"operation_id": 1, "status": "completed"}
            case "/points/query":
                return {"points": engine.nearest(body)}
        raise AssertionError(part)


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

        do_GET = do_PUT = do_POST = do_PATCH = answered  # noqa: N815  the names are the library's

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
