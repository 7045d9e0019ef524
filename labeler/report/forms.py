"""The names of the forms of tables, for whoever offers a choice of them."""

from __future__ import annotations

from typing import Literal

FormName = Literal["table", "csv", "json", "jsonl", "latex", "markdown"]
"""The names of `FORMS` in `report/render.py`."""
