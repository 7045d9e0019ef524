"""The types of the arrays in which all figures are computed, and their values one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Places = NDArray[np.signedinteger[Any]]
"""Places in something else, as integers of any width."""

_BLOCK = 1 << 16


def plain_values(column: NDArray[Any]) -> Iterator[Any]:
    """The values of an array as Python's own, of which few are there at a time."""
    for start in range(0, len(column), _BLOCK):
        yield from column[start : start + _BLOCK].tolist()
