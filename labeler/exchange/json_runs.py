"""Runs as BEIR writes them in JSON, `{query: {document: score}}`, one query at a time.

Each query's value is read by Python's JSON parser; what is done by hand is to walk through the
outer object, so that a file needs the memory of its largest query alone.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, TooLarge
from labeler.files.atomic import replacing
from labeler.files.boundary import problem_of
from labeler.files.jsonl import strict_decoder
from labeler.files.read import LONGEST_LINE, byte_chunks, in_megabytes
from labeler.trec.values import ids_of, score_of
from labeler.trec.write import RankedPart

_CHUNK = 1 << 20
_SHAPE = "expected an object of query: {document: score}"
_WHITE = " \t\n\r"
_DECODER = strict_decoder("{key!r} stands there twice in one query")


def read_json_run(path: Path) -> Iterator[tuple[str, str, float]]:
    """The query, document and score of each row, of which one query's are held."""
    queries: set[str] = set()
    text = _Text(path)
    try:
        for query_id, scores in _members(text):
            where = f"{path}:{text.line}: query {query_id!r:.80}"
            if not isinstance(scores, dict):
                raise BadInput(f"{where}: {_SHAPE}")
            if query_id in queries:
                raise BadInput(f"{where} stands there twice")
            queries.add(query_id)
            for doc_id, score in scores.items():
                yield *ids_of(where, query_id, doc_id), score_of(where, score)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else problem_of(error)
        raise BadInput.at(path, text.line, f"{_SHAPE} ({reason})") from error


def write_json_run(path: Path, parts: Iterable[RankedPart], _tag: str) -> int:
    """Write a run as one object; how many documents it has."""
    count = 0
    with replacing(path) as out:
        opening = "{"
        for part in parts:
            count += len(part.query)
            for query_id, scores in part.by_query():
                inner = json.dumps(scores, ensure_ascii=False)
                out.write(f"{opening}{json.dumps(query_id, ensure_ascii=False)}: {inner}")
                opening = ", "
        out.write("}" if opening == ", " else "{}")
    return count


def _members(text: _Text) -> Iterator[tuple[str, Any]]:
    """The members of a file's one JSON object."""
    text.expect("{")
    if text.next() == "}":
        text.expect("}")
    else:
        while True:
            name = text.value()
            if not isinstance(name, str):
                raise ValueError(f"found {name!r:.40} for a name")
            text.expect(":")
            yield name, text.value()
            if text.next() != ",":
                text.expect("}")
                break
            text.expect(",")
    if text.next():
        raise ValueError("more text after the object")


class _Text:
    """A file's text, of which what is still to be read is held."""

    def __init__(self, path: Path) -> None:
        self.chunks = byte_chunks(path, _CHUNK)
        self.decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.path, self.above = path, 1
        self.held, self.position, self.counted = "", 0, 0

    @property
    def line(self) -> int:
        """The number of the line that is read."""
        self.above += self.held.count("\n", self.counted, self.position)
        self.counted = self.position
        return self.above

    def more(self) -> bool:
        """Read on, twice as much each time; whether there was more.

        Raises `TooLarge` where one value has more characters than a line may have bytes.
        """
        line, size = self.line, max(_CHUNK, len(self.held) - self.position)
        if size > LONGEST_LINE:
            problem = f"a query of more than {in_megabytes(LONGEST_LINE)}; is this a run?"
            raise TooLarge.at(self.path, line, problem)
        parts = [self.held[self.position :]]
        got = 0
        for chunk in self.chunks:
            parts.append(self.decode(chunk))
            got += len(chunk)
            if got >= size:
                break
        self.held, self.position, self.counted = "".join(parts), 0, 0
        return got > 0

    def next(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            rest = self.held[self.position : self.position + 1]
            if rest and rest not in _WHITE:
                return rest
            self.position += len(rest)
            if not rest and not self.more():
                return ""

    def expect(self, character: str) -> None:
        """Pass a character; `ValueError` where another stands."""
        following = self.next()
        if following != character:
            raise ValueError(f"expected {character!r}, found {following or 'the end'!r}")
        self.position += 1

    def value(self) -> Any:
        """The next JSON value."""
        self.next()
        while True:
            try:
                value, self.position = _DECODER.raw_decode(self.held, self.position)
            except json.JSONDecodeError:
                if not self.more():
                    raise
            else:
                return value
