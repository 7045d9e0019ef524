"""The key is kept out of what a server's words become: replies, errors and files.

A server, or a gateway before it, may echo what it was sent, and write it in ways of its own: in
other letter case, backwards, in hex, percent-encoded, in base64 at any offset, escaped for JSON any
number of times. What is encrypted, hashed or split up is not found.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
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
    encoding = json.detect_encoding(body)
    if not encoding.startswith("utf-8"):  # JSON may be in UTF-16 or UTF-32, too
        body = body.decode(encoding, "replace").encode("utf-8", "replace")
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


def _masked(body: bytes, key: str) -> bytes:
    """The body with `[key]` in place of the key; work grows with the body's length, no faster."""
    return _pattern(key).sub(MASK.encode(), body) if _spellings(key).may_be_in(body) else body


_MATTERS = re.compile(rb"(?i)\\(?:u00[2-7]|x[2-7]|[^\\\"nrtbfux])|%(?:25)*[2-7]")
"""What may be an escape of a key's character; most bodies have none but `\\n` and `\\"`."""


class _Spellings(NamedTuple):
    """The spellings of a key: in any letter case, and in base64, which has but one."""

    any_case: Sequence[bytes]
    in_base64: Sequence[bytes]

    def may_be_in(self, body: bytes) -> bool:
        """Whether a spelling stands in a body, or escapes that may hide one: a quick look."""
        lower = body.replace(b"\\", b"").lower()
        is_plain = any(each.replace(b"\\", b"") in lower for each in self.any_case)
        return is_plain or any(c in body for c in self.in_base64) or bool(_MATTERS.search(body))


@lru_cache(maxsize=8)
def _spellings(key: str) -> _Spellings:
    """All ways to write the key, but for escapes."""
    plain = key.encode("utf-8", "surrogatepass")
    texts = [text.lower() for text in (plain, plain[::-1], plain.hex().encode())]
    cores = sorted({core for offset in range(3) for core in _base64_cores(plain, offset)})
    return _Spellings(texts, cores)


@lru_cache(maxsize=8)
def _pattern(key: str) -> re.Pattern[bytes]:
    """What matches all spellings, however escaped; 1 s to compile for a key of 1,000 characters."""
    texts, cores = _spellings(key)
    in_any_case = _any_of(texts, [text.upper() for text in texts])
    # a match begins with all backslashes of its first escape; the characters of base64 round the
    # key's own, which may be escaped too, hold some of its bits
    code = rb"(?:\\+(?i:u00|x)|%(?:25)*)(?i:2[bdf]|3\d|[4-7][\da-f])"
    begin = rb"(?:%s|\\+/|(?<!\\u...)(?<!%%.)[\w+/-])?" % code
    end = rb"(?:%s|\\*/|[\w+-])?" % code
    forms = (in_any_case, begin, _any_of(cores, cores), end)
    return re.compile(rb"(?<!\\)(?:(?i:%s)|%s%s%s=*)" % forms)


def _any_of(texts: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """The pattern of texts, however escaped; most places are passed over by the first character.

    `others` are the same texts in the other letter case, where that is as good.
    """
    firsts = b"".join(re.escape(text[:1]) for text in texts)
    return rb"(?=[\\%%%s])(?:%s)" % (firsts, b"|".join(map(_escaped, texts, others)))


def _escaped(text: bytes, other: bytes) -> bytes:
    """The pattern of a text, each character of it as it is, or escaped any number of times.

    That is by backslashes, as in JSON and in other languages, or as in addresses. A backslash of
    the text itself is passed over with those that escape.
    """
    form = rb"(?:\\*+(?:(?i:(?:u00|x)%(codes)s)|%(plain)s)|%%(?:25)*(?i:%(codes)s))"
    return b"".join(
        form
        % {
            b"codes": b"[%x%x]%x" % (code >> 4, other_code >> 4, code & 15),  # both cases end alike
            b"plain": re.escape(bytes((code,)).strip(b"\\")),
        }
        for code, other_code in zip(text, other, strict=True)
    )


def _base64_cores(plain: bytes, offset: int) -> set[bytes]:
    """The characters that the key alone decides, `offset` bytes after a group's begin.

    In the standard alphabet and in that of addresses.
    """
    before, after = (0, 2, 3)[offset], (0, 1, 1)[(offset + len(plain)) % 3]
    text = b64encode(bytes(offset) + plain).rstrip(b"=")
    core = text[before : len(text) - after]
    return {core, core.translate(bytes.maketrans(b"+/", b"-_"))}
