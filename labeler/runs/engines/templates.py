"""Requests with places for the query, the depth and the query's vector."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from labeler.errors import Misuse
from labeler.files.boundary import problem_of

PLACES = ("query", "depth", "vector")
_PLACE = re.compile(r"\{(query|depth|vector)\}")
_WHOLE = {f"{{{name}}}": name for name in PLACES}


class Filling(NamedTuple):
    """What the places of a request are filled with."""

    query: str
    depth: int
    vector: Sequence[float] | None = None

    @property
    def vector_text(self) -> str:
        """The vector inside a longer text: a list of numbers, as JSON and pgvector write it."""
        return json.dumps(list(self.vector or ()))


class QueryEncoder(NamedTuple):
    """What makes the vector of a query; `id` names all that the vector depends on but the text.

    `tag` is the encoder's short name.
    """

    id: str
    encode: Callable[[str], Sequence[float]]
    tag: str = ""


def vector_of(query: str, encoder: QueryEncoder | None, *, needed: bool) -> Sequence[float] | None:
    """A query's vector, where a request has a place for it."""
    return encoder.encode(query) if encoder and needed else None


def check_encoder(encoder: QueryEncoder | None, *, needed: bool) -> None:
    """Raise `Misuse` where a request wants a vector, and nothing makes one."""
    if needed and encoder is None:
        problem = "the request wants the query's vector, and there is no encoder; name one"
        raise Misuse(problem, parameter="encoder")


def filled(template: str, filling: Filling, coded: Callable[[str], str] = str) -> str:
    """A text with its places filled in one pass, so that a query's own braces stay as they are."""
    texts = {"query": filling.query, "depth": str(filling.depth), "vector": filling.vector_text}
    return _PLACE.sub(lambda match: coded(texts[match[1]]), template)


def filled_json(value: Any, filling: Filling) -> Any:
    """A JSON value with the places in its texts filled.

    A text that is `{depth}` alone becomes a number, one that is `{vector}` alone a list of numbers.
    """
    if isinstance(value, dict):
        return {name: filled_json(inner, filling) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled_json(inner, filling) for inner in value]
    if not isinstance(value, str):
        return value
    match _WHOLE.get(value):
        case "depth":
            return filling.depth
        case "vector":
            return list(filling.vector or ())
    return filled(value, filling)


def filled_url(template: str, filling: Filling) -> str:
    """An address with the query in it, coded so that it can be no other part of the address."""
    return filled(template, filling, lambda text: quote(text, safe=""))


def check_url(template: str) -> None:
    """`Misuse` of an address that is none, that holds a password, or lets a query name the host."""
    from labeler.wire.addresses import masked

    shown = masked(template)
    try:
        parts = urlsplit(template)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        is_address = False
    if not is_address or not template.isprintable():
        problem = "expected an address as http://127.0.0.1:9200/docs/_search?q={query}"
        raise Misuse(f"{shown}: {problem}", parameter="url_template")
    if "{" in parts.netloc:
        raise Misuse(
            "the query may stand in the path and after the ?, never in the host",
            parameter="url_template",
        )
    if parts.username or parts.password:
        problem = "the address holds a user or a password; give a header from the environment"
        raise Misuse(f"{shown}: {problem}", parameter="url_template")
    if "{vector}" in template:
        raise Misuse("{vector} may stand in a JSON body alone", parameter="url_template")


def read_body(text: str) -> Any:
    """The JSON of a body's template; `Misuse` where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"not JSON ({problem_of(error)}); places stand in texts: " + '{"q": "{query}"}'
        raise Misuse(problem, parameter="body") from error


def has_place(value: Any, name: str) -> bool:
    """Whether a text, or any text in a JSON value, has the place."""
    return f"{{{name}}}" in (value if isinstance(value, str) else json.dumps(value))
