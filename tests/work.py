"""How much work a function does, in lines of Python and in bytes, for tests of what bounds it."""

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

MEGABYTE = 1 << 20


def steps(function: Callable[[], object]) -> int:
    """How many lines of Python a call runs, each turn of a loop counted."""
    count = 0

    def line(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    earlier = sys.gettrace()
    sys.settrace(line)
    try:
        function()
    finally:
        sys.settrace(earlier)
    return count


def peak(function: Callable[[], object]) -> int:
    """How many bytes a call holds at most, beside what was held before."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
