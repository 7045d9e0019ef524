"""A whole JSON file as one value, read strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labeler.errors import BadInput
from labeler.files.boundary import problem_of
from labeler.files.encoding import decoded
from labeler.files.jsonl import strict_decoder
from labeler.files.read import read_bytes

LARGEST = 1 << 29
"""The most bytes of a file of one JSON value: 512 MB, of which Python makes some gigabytes."""

_DECODER = strict_decoder("the key {key!r} stands there twice in one object")


def json_value(path: Path) -> Any:
    """The value of a file; `BadInput` where it is none, or names a key twice."""
    text = decoded(path, read_bytes(path, LARGEST))
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise BadInput.at(path, error.lineno, f"not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON: {problem_of(error)}") from error


def described(value: Any) -> str:
    """What a JSON value is, for a message: `an object with the keys 'a', 'b'`."""
    if isinstance(value, dict):
        keys = ", ".join(f"{key!r:.40}" for key in list(value)[:6])
        return f"an object with the keys {keys}{', …' if len(value) > 6 else ''}"
    if isinstance(value, list):
        return f"an array of {described(value[0])}" if value else "an empty array"
    return f"{value!r:.40}"
