"""Raters' windows in a browser: one browser for each module of tests, which skip without any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import chromium

if TYPE_CHECKING:
    from rated_pages import Raters, Windows


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    with chromium() as browser:
        from rated_pages import Windows

        yield Windows(browser)


@pytest.fixture
def raters(windows: Windows, tmp_path: Path) -> Iterator[Raters]:
    from rated_pages import raters_of

    with raters_of(windows, tmp_path) as raters:
        yield raters
