"""Any server that speaks OpenAI's embeddings, as a model: texts in, their vectors out.

A request's messages are the texts. A reply's `body` is not the answer as it came, which may be
large, but the vectors that it held, as 32-bit floats one after the other.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeler.errors import CallFailed, NoCompletion
from labeler.model import Bound, Message, Model, Reply, Request, whole
from labeler.models.server.client import Calls, Connected
from labeler.models.server.dialects import wire_format
from labeler.models.server.refusals import SHOWN, hold_of
from labeler.models.server.usage import tokens_used, usage_in
from labeler.models.settings import AssessorSettings
from labeler.wire import addresses
from labeler.wire.gate import Admitted

PATH = "embeddings"
KEY = "LABELER_EMBEDDINGS_KEY"
LARGEST_EMBEDDINGS = 64 * 1024 * 1024
"""Bytes of an answer: 32 vectors of 4,096 numbers take some 3 million as text."""

_BEGIN = 60


def embeddings_request(texts: Sequence[str]) -> Request:
    """The request for the vectors of texts; a server writes nothing, so no tokens are its own."""
    return Request(tuple(Message("input", text) for text in texts), {"max_tokens": 0})


def embeddings_model(name: str, server: Admitted, calls: Calls) -> Model:
    """The encoder `name` of a server."""
    form = wire_format(server.address, AssessorSettings(api="chat"))
    form = replace(form, words={**form.words, "path": PATH})
    connection = Connected(form, server, calls, LARGEST_EMBEDDINGS)

    async def ask(request: Request) -> Reply:
        texts = [content for _, content in request.messages]

        def read(body: bytes, shown: str, headers: Mapping[str, str], bound: Bound) -> Reply:
            return read_embeddings(texts, body, shown, headers, bound)

        return await connection.ask({"model": name, "input": texts}, read)

    identity = f"{addresses.identity(server.address)} {name}"
    return Model(identity, ask, close=connection.close, is_server=True)


def vectors_in(reply: Reply, texts: int) -> NDArray[np.float32]:
    """The vectors of a reply to a request of so many texts, a row each."""
    return np.frombuffer(reply.body, dtype=np.float32).reshape(texts, -1)


def read_embeddings(
    texts: Sequence[str], body: bytes, where: str, headers: Mapping[str, str], bound: Bound = None
) -> Reply:
    """The reply in the body of a 200: a vector of finite numbers for each text, none all zeros.

    What is no answer of this kind is `NoCompletion`; vectors that no cosine can be taken of are a
    call that failed, as asking again gives the same.
    """
    usage = usage_in(body)
    tokens = tokens_used(usage, "")
    try:
        answer = json.loads(body)
        rows = [_vector(row) for row in _in_order(answer["data"])]
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is a fault
            vectors = np.array(rows, dtype=np.float32)
        if vectors.ndim != 2 or not vectors.size:
            raise ValueError("no vectors of one length")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
        shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split()) or "nothing"
        problem = NoCompletion(f"{where}: expected embeddings, found: {shown}")
        problem.tokens = tokens if any(tokens) else None
        raise problem from None
    if fault := _fault(vectors, texts):
        failed = CallFailed(f"{where}: {fault}")
        failed.tokens = tokens if any(tokens) else None
        failed.may_be_billed = True
        raise failed
    served = answer.get("model")
    name = whole(served) if isinstance(served, str) else ""
    hold = hold_of(headers)
    return Reply("", "stop", None, name, *tokens, body=vectors.tobytes(), hold=hold, is_bound=bound)


def _in_order(rows: Any) -> list[Any]:
    """The rows of an answer in the order of the texts, which their numbers say where they count."""
    numbers = [row.get("index") for row in rows]
    is_counted = sorted(n for n in numbers if isinstance(n, int)) == list(range(len(rows)))
    return sorted(rows, key=lambda row: row["index"]) if is_counted else list(rows)


def _vector(row: Any) -> Any:
    """The vector in a row: a list of numbers, or 32-bit floats in base64."""
    vector = row["embedding"]
    if isinstance(vector, str):
        return np.frombuffer(b64decode(vector, validate=True), dtype="<f4")
    if not all(type(number) in (float, int) for number in vector):
        raise TypeError("a vector of something else than numbers")
    return vector


def _fault(vectors: NDArray[np.float32], texts: Sequence[str]) -> str:
    """What is wrong with vectors; empty where nothing is."""
    if len(vectors) != len(texts):
        return f"expected {len(texts):,} vectors, found {len(vectors):,}"
    is_finite = np.isfinite(vectors).all(axis=1)
    is_something = vectors.any(axis=1)
    for name, is_good in (("holds no finite numbers", is_finite), ("is all zeros", is_something)):
        if not is_good.all():
            begin = " ".join(texts[int(np.argmin(is_good))].split())[:_BEGIN]
            return f"the vector of {begin!r} {name}; is this an encoder?"
    return ""
