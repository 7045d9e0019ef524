"""Chromium without a window, for tests of pages; they skip, with the reason, where it is not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")


@cache
def executable() -> str | None:
    """The program, by `LABELER_CHROMIUM` or as Debian, Ubuntu and Google name it."""
    return os.environ.get("LABELER_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for the tests of a module; each of them makes contexts of its own in it.

    Playwright drives it with an event loop in this thread: no other loop runs in it meanwhile.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if executable() is None:
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        # Chromium's sandbox needs rights that root and containers do not have; pages are our own.
        # To imitate a graphics card takes a tenth of all work.
        how = ["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer"]
        browser = playwright.chromium.launch(executable_path=executable(), args=how)
        try:
            yield browser
        finally:
            browser.close()
