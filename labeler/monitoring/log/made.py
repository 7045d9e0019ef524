"""Searches and clicks from arrays, without a file: for simulations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.log.searches import Impressions, LogPart, Searches
from labeler.monitoring.log.values import spread


def part_of_clicks(columns: Mapping[str, Any]) -> LogPart:
    """The searches of rows with a time, a session, a query, a document, a rank and clicks.

    Rows of one time are of one search. A `variant` is a number from 1.

    >>> rows = {"time": [0.0, 0.0], "session": [1, 1], "query": ["lcd", "lcd"]}
    >>> part = part_of_clicks(rows | {"doc_id": ["a", "b"], "rank": [1, 2], "clicked": [0, 1]})
    >>> len(part.searches), part.impressions.clicks.tolist()
    (1, [0.0, 1.0])
    """
    rows = {name: np.asarray(values) for name, values in columns.items()}
    count = len(rows["time"])
    nothing = np.zeros(count, dtype=np.int64)
    times, first, search = np.unique(rows["time"], return_index=True, return_inverse=True)
    texts, text = np.unique(rows["query"].astype(str), return_inverse=True)
    _, client = np.unique(rows["session"], return_inverse=True)
    groups = [spread(str(name)) % GROUPS for name in rows["session"][first].tolist()]
    clicks = rows["clicked"].astype(np.float64)
    clicked = np.bincount(search, weights=clicks) > 0
    variant = rows.get("variant", nothing)[first]
    undone = np.zeros(len(times))
    return LogPart(
        Searches(
            texts.tolist(),
            text[first],
            times.astype(np.float64),
            client[first],
            client[first] + 1,
            np.array(groups, dtype=np.int64),
            np.ones(len(times)),
            clicked,
            np.zeros(len(times), dtype=bool),
            undone,
            undone,
            np.full(len(times), np.nan),
            variant.astype(np.int64),
        ),
        Impressions(
            search,
            np.array([hash(str(name)) or 1 for name in rows["doc_id"].tolist()], dtype=np.int64),
            rows["rank"].astype(np.int64),
            np.ones(count),
            clicks,
            np.full(count, np.nan),
        ),
    )
