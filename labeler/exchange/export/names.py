"""The names of the formats of exports, for whoever offers a choice of them."""

from __future__ import annotations

from typing import Literal

FormatName = Literal[
    "beir",
    "mteb",
    "trec",
    "ranx",
    "ir_datasets",
    "hf",
    "csv",
    "quepid",
    "opensearch",
    "ragas",
    "deepeval",
    "promptfoo",
]
"""The names of `EXPORTS` in `exchange/export/formats.py`."""
