"""Requests with places for the query and the depth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from labeler.errors import Misuse
from labeler.files.boundary import problem_of

_PLACE = re.compile(r"\{(query|depth)\}")


class Filling(NamedTuple):
    """What the places of a request are filled with."""

    query: str
    depth: int


def filled(template: str, filling: Filling, coded: Callable[[str], str] = str) -> str:
    """A text with its places filled in one pass, so that a query's own braces stay as they are."""
    texts = {"query": filling.query, "depth": str(filling.depth)}
    return _PLACE.sub(lambda match: coded(texts[match[1]]), template)


def filled_json(value: Any, filling: Filling) -> Any:
    """A JSON value with the places in its texts filled.

    A text that is `{depth}` alone becomes a number.
    """
    if isinstance(value, dict):
        return {name: filled_json(inner, filling) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled_json(inner, filling) for inner in value]
    if not isinstance(value, str):
        return value
    if value == "{depth}":
        return filling.depth
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


def read_body(text: str) -> Any:
    """The JSON of a body's template; `Misuse` where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"not JSON ({problem_of(error)}); places stand in texts: " + '{"q": "{query}"}'
        raise Misuse(problem, parameter="body") from error


def has_query(value: Any) -> bool:
    """Whether a text, or any text in a JSON value, has a place for the query."""
    return "{query}" in (value if isinstance(value, str) else json.dumps(value))
