"""The types of the arrays in which all figures are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Vectors = NDArray[np.float32]
Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]
Places = NDArray[np.signedinteger[Any]]
"""Places in something else, as integers of any width."""
