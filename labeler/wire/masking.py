"""The key is kept out of what a server's words become: replies, errors and files.

A server, or a gateway before it, may echo what it was sent, and write it in ways of its own: in
other letter case, backwards, in hex, percent-encoded, in base64 at any offset, escaped for JSON any
number of times. What is encrypted, hashed or split up is not found.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

MASK = "[key]"

SHORTEST_KEY = 8
"""Characters; what is shorter may be a name of JSON's own, and is masked in errors alone."""


def without_key(body: bytes, key: str) -> bytes:
    """A body with `[key]` wherever a server echoes the key, in any of its spellings.

    Log probabilities are left out then, as their tokens may spell the key.
    """
    body = in_utf8(body)
    masked = _masked(body, key) if len(key) >= SHORTEST_KEY else body
    if masked == body:
        return body
    try:
        answer = json.loads(masked)
        for choice in answer["choices"]:
            choice["logprobs"] = None
    except (ValueError, KeyError, TypeError, RecursionError):
        return masked
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")


def hidden(text: str, key: str) -> str:
    """A text with `[key]` in place of the key; a short key only where it stands alone."""
    if len(key) >= SHORTEST_KEY:
        return _masked(text.encode("utf-8", "surrogatepass"), key).decode("utf-8", "surrogatepass")
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", MASK, text) if key else text


def in_utf8(body: bytes) -> bytes:
    """A body as UTF-8, so that a key in it is found: JSON may be in UTF-16 or UTF-32, too."""
    encoding = json.detect_encoding(body)
    if encoding.startswith("utf-8"):
        return body
    return body.decode(encoding, "replace").encode("utf-8", "replace")


def _masked(body: bytes, key: str) -> bytes:
    """The body with `[key]` in place of the key; work grows with the body's length, no faster."""
    folded, spellings = _folded(body), _spellings(key)
    spans = sorted({*spellings.spans(folded.text)})
    parts, end = [], 0
    for first, last in spans:
        start = folded.begin(first)
        if start >= end:  # what two spellings share is masked once
            parts += [body[end:start], MASK.encode()]
            end = folded.begin(last)
    return b"".join([*parts, body[end:]])


class _Folded(NamedTuple):
    """A body whose escapes are undone, and where in the body each of its stretches begins.

    `at` are the stretches' begins in `text`, `origins` the same in the body. A stretch that is an
    escape is one byte of `text`.
    """

    text: bytes
    at: list[int]
    origins: list[int]

    def begin(self, position: int) -> int:
        """Where in the body the byte at `position` of `text` begins."""
        stretch = bisect_right(self.at, position) - 1
        return self.origins[stretch] + position - self.at[stretch]


_ESCAPE = re.compile(rb"(?is)\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|(.))?|%(?:25)*([0-9a-f]{2})")
"""A run of backslashes with what it escapes, or a byte of an address: however often escaped."""


_MATTERS = re.compile(rb"(?i)\\(?:u00[2-7]|x[2-7]|[^\\\"nrtbfux])|%(?:25)*[2-7]")
"""What may be an escape of a key's character; most bodies have none but `\\n` and `\\"`."""


def _folded(body: bytes) -> _Folded:
    """Undo the escapes of JSON, of other languages and of addresses."""
    if not _MATTERS.search(body):
        return _Folded(body, [0], [0])
    parts: list[bytes] = []
    at, origins, size, end = [0], [0], 0, 0
    for escape in _ESCAPE.finditer(body):
        in_json, in_hex, itself, in_address = escape.groups()
        code = int(in_json or in_hex or in_address or b"5c", 16)
        character = itself or bytes((code if code < 128 else 255,))
        parts += [body[end : escape.start()], character]
        at.append(size + escape.start() - end)
        origins.append(escape.start())
        size, end = at[-1] + 1, escape.end()
        at.append(size)
        origins.append(end)
    return _Folded(b"".join([*parts, body[end:]]), at, origins)


class _Spellings(NamedTuple):
    """The spellings of a key: in any letter case, and in base64, which has but one."""

    any_case: Sequence[bytes]
    in_base64: Sequence[bytes]
    base64_pattern: re.Pattern[bytes]

    def spans(self, text: bytes) -> set[tuple[int, int]]:
        """Where in a text without escapes the key stands, as begins and ends."""
        spans, lower = set(), text.lower()
        for spelling in self.any_case:
            position = lower.find(spelling)
            while position >= 0:
                spans.add((position, position + len(spelling)))
                position = lower.find(spelling, position + len(spelling))
        if any(core in text for core in self.in_base64):
            spans |= {match.span() for match in self.base64_pattern.finditer(text)}
        return spans


@lru_cache(maxsize=8)
def _spellings(key: str) -> _Spellings:
    """All ways to write the key, but for escapes."""
    plain = key.encode("utf-8", "surrogatepass")
    texts = (plain, plain[::-1], plain.hex().encode())
    cores = {core for offset in range(3) for core in _base64_cores(plain, offset)}
    begin, end = (
        rb"(?:(?<!\\)(?<!\\u...)[\w+/-])?",
        rb"[\w+/-]?",
    )  # which hold some of the key's bits
    pattern = rb"%s(?:%s)%s=*" % (begin, b"|".join(map(re.escape, sorted(cores))), end)
    any_case = tuple(_folded(text).text.lower() for text in texts)
    return _Spellings(any_case, tuple(cores), re.compile(pattern))


def _base64_cores(plain: bytes, offset: int) -> set[bytes]:
    """The characters that the key alone decides, `offset` bytes after a group's begin.

    In the standard alphabet and in that of addresses.
    """
    before, after = (0, 2, 3)[offset], (0, 1, 1)[(offset + len(plain)) % 3]
    text = b64encode(bytes(offset) + plain).rstrip(b"=")
    core = text[before : len(text) - after]
    return {core, core.translate(bytes.maketrans(b"+/", b"-_"))}
