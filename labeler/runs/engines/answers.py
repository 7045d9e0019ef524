"""What a search system is asked, and what its answer holds: hits, each with an id and a score."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from labeler.errors import BadInput, CallFailed, Misuse
from labeler.exchange.fields import value_at
from labeler.files.boundary import problem_of
from labeler.messages import squeezed
from labeler.options import option

SYSTEM = "Your search system"
ANSWER = "What it answers"
"""The headings of how a system is asked, and of how its answers are read."""

_path = partial(option, None, metavar="PATH", panel=ANSWER, rare=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class HitOptions:
    """Where answers hold the hits, their ids and their scores, each as a path."""

    hits: str | None = _path("Where the list of hits stands, as hits.hits.")
    hit_id: str | None = _path("Where a hit has its id.")
    hit_score: str | None = _path("Where a hit has its score.")


TEXT = "text"
"""By which a document is found that the system knows by another id, or by none."""

_BEGIN = 60


def text_key(text: str) -> str:
    """What a text is found by, however its white space is: its begin and a hash of it."""
    words = squeezed(text)
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{words[:_BEGIN]} #{digest[:16]}"


LARGEST_OUTPUT = 32 * 1024 * 1024
"""Bytes of one query's answer; a thousand hits with their ids alone take some ten thousand."""

LONGEST_ID = 4096
_MISSING = object()
_SHOWN = 5
_DEEPEST = 4


class Hit(NamedTuple):
    """One document as the system calls it, and its score; None where the system gives none."""

    id: str
    score: float | None


Search = Callable[[str, int], Awaitable[list[Hit]]]
"""A query's text and a depth in, a ranking out, best first: what every system is behind."""


@dataclass(frozen=True, slots=True)
class HitPaths:
    """Where in a JSON answer the hits stand, and in a hit its id and score.

    `a.b.0` is the first item of the list `b` in `a`; an empty text is the value itself. A score
    may be missing, unless `needs_score`.
    """

    hits: str = ""
    id: str = "id"
    score: str = "score"
    needs_score: bool = False

    def hit(self, hit: Any, where: str) -> Hit:
        """A hit of an answer; `BadInput` where it has no id, or a score that is none."""
        if isinstance(hit, str | int) and not isinstance(hit, bool):
            return Hit(self._id(hit, where), None)
        identifier = value_at(hit, self.id, _MISSING) if self.id else hit
        if identifier is _MISSING:
            raise BadInput(
                f"{where}: no id at {self.id!r}; it is {_shown(hit)}", parameter="hit_id"
            )
        return Hit(self._id(identifier, where), self._score(value_at(hit, self.score), where))

    def _id(self, value: Any, where: str) -> str:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]  # Solr's and OpenSearch's stored fields
        if isinstance(value, str) and 0 < len(value) <= LONGEST_ID:
            return value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**30:
            return str(value)
        raise BadInput(
            f"{where}: expected an id at {self.id!r}, found {_shown(value)}", parameter="hit_id"
        )

    def _score(self, value: Any, where: str) -> float | None:
        if value is None and not self.needs_score:
            return None
        with suppress(TypeError, ValueError, OverflowError):
            if not isinstance(value, bool) and math.isfinite(score := float(value)):
                return score
        raise BadInput(
            f"{where}: expected a number at {self.score!r}, found {_shown(value)}",
            parameter="hit_score",
        )


def parsed(body: bytes | str, where: str) -> Any:
    """The JSON value of an answer; `BadInput` says how it begins where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        begin = squeezed(text[:200])[:60]
        raise BadInput(
            f"{where}: not JSON ({problem_of(error)}); it begins {begin!r}"
            if begin
            else f"{where}: an empty answer, where JSON belongs"
        ) from error


def hits_in(answer: Any, paths: HitPaths, where: str) -> list[Hit]:
    """The hits of an answer, in its order; `BadInput` says what the answer has instead."""
    hits = value_at(answer, paths.hits) if paths.hits else answer
    if not isinstance(hits, list):
        lists = ", ".join(name or "the answer itself" for name in _lists(answer))
        hint = f"lists stand at: {lists}" if lists else f"it is {_shown(answer)}"
        problem = f"no list of hits at {paths.hits!r}" if paths.hits else "the answer is no list"
        raise BadInput(f"{where}: {problem}; {hint}", parameter="hits")
    return [paths.hit(hit, f"{where}: hit {n}") for n, hit in enumerate(hits, 1)]


def _lists(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """The paths of lists of objects or texts in a value, the first few of them."""
    if isinstance(value, list):
        yield path
    elif isinstance(value, dict) and depth < _DEEPEST:
        for name, inner in list(value.items())[:50]:
            yield from _lists(inner, f"{path}.{name}".lstrip("."), depth + 1)


def _shown(value: Any) -> str:
    """A value in a few words: the names that an object has, the begin of anything else."""
    if isinstance(value, dict):
        names = list(value)
        more = ", …" if len(names) > _SHOWN else ""
        return f"an object of {', '.join(map(str, names[:_SHOWN]))}{more}"[:200]
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number of too many digits"
    return f"{value!r:.60}"


_PLACE = re.compile(r"\{(query|depth)\}")


Filling = Mapping[str, str | int]
"""What the places of a request are filled with: `query` and `depth`."""


def filled(template: str, filling: Filling, coded: Callable[[str], str] = str) -> str:
    """A text with its places filled in one pass, so that a query's own braces stay as they are."""
    return _PLACE.sub(lambda match: coded(str(filling[match[1]])), template)


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
        return filling["depth"]
    return filled(value, filling)


def filled_url(template: str, filling: Filling) -> str:
    """An address with the query in it, coded so that it can be no other part of the address.

    `CallFailed` of a query of dots where a step of the path stands, which no code keeps as it is.
    """
    url = filled(template, filling, lambda text: quote(text, safe=""))
    steps = zip(*(each.partition("?")[0].split("/") for each in (template, url)), strict=True)
    if any(own != step and step in (".", "..") for own, step in steps):
        raise CallFailed(f"the query {filling['query']!r} would lead to another path of the server")
    return url


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
        raise Misuse(
            f"{shown}: expected an address as http://127.0.0.1:9200/docs/_search?q={{query}}",
            parameter="url_template",
        )
    if "{" in parts.netloc:
        raise Misuse(
            "the query may stand in the path and after the ?, never in the host",
            parameter="url_template",
        )
    if parts.username or parts.password:
        raise Misuse(
            f"{shown}: the address holds a user or a password; give a header from the environment",
            parameter="url_template",
        )


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
