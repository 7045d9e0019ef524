"""A reply as a row of an exported file: written with its checksums, and checked against them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from labeler.store.keys import checksum, key_of_text
from labeler.store.sqlite.schema import REPLY

COLUMNS = REPLY.split(", ")
KEY_BYTES = 32
_LARGEST = 2**63


class Row(NamedTuple):
    """A reply's columns and its wire's, each with the checksum under which it was kept."""

    reply: Sequence[Any]
    reply_sum: bytes
    wire: tuple[str | None, bytes]
    wire_sum: bytes


def written(row: Row) -> dict[str, Any]:
    """The row as JSON holds it."""
    key, *values = row.reply
    request, body = row.wire
    return {
        "key": key.hex(),
        **dict(zip(COLUMNS[1:], values, strict=True)),
        "request": request,
        "body": base64.b64encode(body).decode("ascii"),
        "checksum": row.reply_sum.hex(),
        "wire_checksum": row.wire_sum.hex(),
    }


def read(row: Mapping[str, Any]) -> Row:
    """The row that `written` made; `ValueError` where it is not that, or no longer."""
    if absent := [name for name in (*COLUMNS, *_WIRE) if name not in row]:
        raise ValueError(f"no {absent[0]!r}")
    for name, is_right in _KINDS.items():
        if not is_right(row[name]):
            raise ValueError(f"{name}: {json.dumps(row[name])[:40]}")
    reply = (bytes.fromhex(row["key"]), *(row[name] for name in COLUMNS[1:]))
    wire = (row["request"], base64.b64decode(row["body"], validate=True))
    found = Row(reply, bytes.fromhex(row["checksum"]), wire, bytes.fromhex(row["wire_checksum"]))
    if found.reply_sum != checksum(*reply) or found.wire_sum != checksum(*wire):
        raise ValueError("it does not match its checksum; was it edited?")
    if wire[0] is not None and key_of_text(wire[0]) != reply[0]:
        raise ValueError("its key is not that of its request")
    return found


_WIRE = ("request", "body", "checksum", "wire_checksum")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_nothing(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_key(value: object) -> bool:
    return isinstance(value, str) and len(value) == 2 * KEY_BYTES


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _is_number(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


def _is_cost(value: object) -> bool:
    return value is None or _is_number(value)


def _are_top_tokens(value: object) -> bool:
    """Whether it is what a store keeps of log probabilities: a list of objects, as text."""
    if not isinstance(value, str):
        return value is None
    try:
        tops = json.loads(value)
    except (ValueError, RecursionError):
        return False
    return isinstance(tops, list) and all(
        isinstance(top, dict) and all(type(share) in (int, float) for share in top.values())
        for top in tops
    )


_KINDS: dict[str, Callable[[object], bool]] = {
    "key": _is_key,
    **dict.fromkeys(("model", "served", "text", "finish_reason", "body"), _is_text),
    **dict.fromkeys(("refusal", "request"), _is_text_or_nothing),
    **dict.fromkeys(("prompt_tokens", "completion_tokens"), _is_count),
    "at": _is_number,
    "cost": _is_cost,
    "top_tokens": _are_top_tokens,
    **dict.fromkeys(("checksum", "wire_checksum"), _is_text),
}
