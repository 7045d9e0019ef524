"""What single values of a log mean: names, numbers, actions."""

from __future__ import annotations

import math
import zlib
from typing import Any

from labeler.monitoring.log.options import AGENTS
from labeler.queries.traffic import normalized

SHOWN, CLICKED, SEARCHED, UP, DOWN, BOUGHT, RETURNED = (1 << bit for bit in range(7))
"""What a row says happened; `RETURNED` is a document that a query returned, seen or not."""

_LARGEST = 10**12
_MOST_RANK = 10_000
_TRUE = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0, "": 0.0}
_ACTIONS = {
    SHOWN: ("impression", "shown", "show", "view", "viewed", "display", "displayed", "resultshown"),
    CLICKED: ("click", "clicked", "itemclick", "resultclick", "select", "open", "clickthrough"),
    SEARCHED: ("search", "onsearch", "query", "viewsearchresults", "searched"),
    UP: ("thumbsup", "like", "upvote", "helpful", "thumbup"),
    DOWN: ("thumbsdown", "dislike", "downvote", "nothelpful", "thumbdown"),
    BOUGHT: ("purchase", "addtocart", "conversion", "buy", "order"),
}
_KIND_OF = {name: kind for kind, names in _ACTIONS.items() for name in names}
_UPS, _DOWNS = ("up", "1", "+1", "true", "yes", "good"), ("down", "-1", "0", "false", "no", "bad")
NO_NAMES = ("", "null", "none", "nan", "undefined", "-")


def name_of(value: Any) -> str:
    """A value as a name; empty where it is none."""
    try:
        text = "" if value is None or isinstance(value, bool) else str(value).strip()
    except ValueError:  # a number of too many digits to be written
        return ""
    return "" if text.casefold() in NO_NAMES else text


def identity(value: Any) -> int:
    """The number by which rows name a document, a user or a session; 0 where there is none."""
    name = name_of(value)
    return (hash(name) or 1) if name else 0


def spread(value: Any) -> int:
    """A number that a name has in any run of the program, by which rows are spread over parts."""
    name = name_of(value)
    return zlib.crc32(normalized(name).casefold().encode("utf-8", "replace")) if name else -1


def kind_of_action(value: Any) -> int:
    """What an action means; 0 of none, -1 of one that is not read."""
    name = "".join(filter(str.isalnum, name_of(value).casefold()))
    return _KIND_OF.get(name, -1) if name else 0


def whole_number(value: Any) -> float:
    """A whole number from 0, or nan."""
    if value is None or isinstance(value, bool):
        return float(bool(value))
    if isinstance(value, str) and value.strip().casefold() in _TRUE:
        return _TRUE[value.strip().casefold()]
    number = _finite(value)
    return number if 0 <= number <= _LARGEST and number == int(number) else math.nan


def _finite(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def rank_of(value: Any) -> int:
    """A rank, or -1 where the value is none."""
    number = math.nan if isinstance(value, bool) else _finite(value)
    return int(number) if 0 <= number <= _MOST_RANK and number == int(number) else -1


def dwell_of(value: Any) -> float:
    """Seconds within a day, or nan."""
    number = math.nan if isinstance(value, bool) else _finite(value)
    return number if 0 <= number <= 86400 else math.nan


def thumb_of(value: Any) -> int:
    """`UP`, `DOWN`, or 0 where the value is neither."""
    name = ("1" if value else "0") if isinstance(value, bool) else name_of(value).casefold()
    return UP if name in _UPS else DOWN if name in _DOWNS else 0


def is_program(value: Any) -> bool:
    """Whether a user agent is that of a program."""
    return bool(AGENTS.search(name_of(value)))
