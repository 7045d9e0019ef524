"""A table of cases in one test, which names every row that fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

MOST_SHOWN = 1500
"""Characters of what a row's failure says."""


def every_row(
    names: str | Sequence[str],
    rows: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Iterable[Any] | None = None,
) -> Callable[[Callable[..., None]], Any]:
    """As `pytest.mark.parametrize`, but one test: it goes through all rows and lists what failed.

    Rows that take long to find are given as a function, which is called when the test runs. A row
    is named by its values, unless `ids` has names. Each has a `tmp_path` of its own, and sees of
    `capsys` what it printed alone.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]

    def named() -> list[tuple[str, tuple[Any, ...]]]:
        given = rows() if callable(rows) else rows
        values = [(row,) if len(wanted) == 1 else tuple(row) for row in given]
        called = [str(name) for name in ids] if ids else [_shown(row) for row in values]
        return [*zip(called, values, strict=True)]

    table = None if callable(rows) else named()

    def decorate(function: Callable[..., None]) -> Any:
        signature = inspect.signature(function)

        @wraps(function)
        def test(**fixtures: Any) -> None:
            failures, each = [], named() if table is None else table
            for number, (name, values) in enumerate(each):
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
                pytest.fail(f"{len(failures)} of {len(each)} rows:\n\n{listed}", pytrace=False)

        fixtures = [each for name, each in signature.parameters.items() if name not in wanted]
        test.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return test

    return decorate


def _shown(row: tuple[Any, ...]) -> str:
    return ", ".join(f"{value!r:.80}" for value in row)
