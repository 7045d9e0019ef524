"""How many examples a property is tried on: a quarter of them by default, all in the second tier.

`EXAMPLES=all scripts/test -m hypothesis` draws as many as each property names; `.ci/run` does so.
"""

import os

from hypothesis import settings

ALL = os.environ.get("EXAMPLES") == "all"
FEWEST = 15


def steadily(most: int = 100) -> settings:
    """The same examples in every run, `most` of them where all are asked for."""
    drawn = most if ALL else max(most // 4, min(most, FEWEST))
    return settings(derandomize=True, deadline=None, max_examples=drawn)
