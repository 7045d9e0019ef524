"""A table of cases in one test, which names every row that fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

MOST_SHOWN = 1500
"""Characters of what a row's failure says."""


def every_row(names: str, rows: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """As `pytest.mark.parametrize`, but one test: it goes through all rows and lists what failed.

    Rows that are `pytest.param(…, id=…)` are named by their id, others by their values. Each has
    a `tmp_path` of its own, and sees of `capsys` what it printed alone.
    """
    wanted = [name.strip() for name in names.split(",")]
    table = [_named(row, len(wanted)) for row in rows]

    def decorate(function: Callable[..., None]) -> Any:
        signature = inspect.signature(function)

        @wraps(function)
        def test(**fixtures: Any) -> None:
            failures = []
            for number, (name, values) in enumerate(table):
                own = {**fixtures, **dict(zip(wanted, values, strict=True))}
                if isinstance(fixtures.get("tmp_path"), Path):
                    own["tmp_path"] = fixtures["tmp_path"] / str(number)
                    own["tmp_path"].mkdir()
                if "capsys" in fixtures:
                    fixtures["capsys"].readouterr()
                try:
                    function(**own)
                except (Exception, pytest.fail.Exception) as failure:
                    failures.append(f"{name}: {type(failure).__name__}: {failure}"[:MOST_SHOWN])
            if failures:
                listed = "\n\n".join(failures)
                pytest.fail(f"{len(failures)} of {len(table)} rows:\n\n{listed}", pytrace=False)

        fixtures = [each for name, each in signature.parameters.items() if name not in wanted]
        test.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return test

    return decorate


def _named(row: Any, width: int) -> tuple[str, tuple[Any, ...]]:
    """A row's name and its values."""
    if hasattr(row, "values") and hasattr(row, "marks"):
        return row.id or repr(row.values), tuple(row.values)
    values = (row,) if width == 1 else tuple(row)
    return ", ".join(f"{value!r:.80}" for value in values), values
