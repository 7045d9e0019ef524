"""A real HTTP server of files on loopback that resumes, and misbehaves when told to."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Files:
    """What the server holds and how it behaves; `ranges` records the `Range` header of each call.

    `cut_after` are numbers of bytes after which one answer each breaks off; `status` is answered
    instead of a file; `resumes` False ignores ranges, `lies` answers another range than asked for.
    """

    content: dict[str, bytes]
    cut_after: list[int] = field(default_factory=list)
    status: int = 200
    resumes: bool = True
    lies: bool = False
    redirect: dict[str, str] = field(default_factory=dict)
    ranges: list[str | None] = field(default_factory=list)
    address: str = ""


def _answer(files: Files, handler: BaseHTTPRequestHandler) -> None:
    wanted = handler.headers.get("Range")
    files.ranges.append(wanted)
    if handler.path in files.redirect:
        handler.send_response(302)
        handler.send_header("Location", files.redirect[handler.path])
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    body = files.content.get(handler.path)
    if files.status != 200 or body is None:
        handler.send_error(files.status if files.status != 200 else 404)
        return
    found = re.match(r"bytes=(\d+)-", wanted or "") if files.resumes else None
    start = int(found[1]) if found else 0
    if found and start >= len(body):
        handler.send_error(416)
        return
    shown = start + 1 if files.lies and found else start
    handler.send_response(206 if found else 200)
    if found:
        handler.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
    handler.send_header("Content-Length", str(len(body) - shown))
    handler.end_headers()
    limit = files.cut_after.pop(0) if files.cut_after else len(body)
    handler.wfile.write(body[shown : shown + limit])
    handler.close_connection = True


@contextmanager
def serving(files: Files) -> Iterator[str]:
    """Serve `files` until the block ends; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(files, self)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        files.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield files.address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
