"""A rater's page without a server: what a browser would send to it, and what comes back."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.testclient import TestClient

from labeler.annotate.app import PageGuard, RaterPage
from labeler.annotate.session import RatingSession

HOST = "http://127.0.0.1:8765"
TOKEN = "a-token-that-nobody-guesses"


class Page:
    """A page as its own script uses it."""

    def __init__(self, session: RatingSession) -> None:
        self.bugs: list[Exception] = []
        app = RaterPage(session, self.bugs.append).application()
        self.client = TestClient(PageGuard({TOKEN: app}), HOST, raise_server_exceptions=False)
        self.csrf = self.get("api/session")["csrf"]

    def get(self, path: str) -> Any:
        answer = self.client.get(f"/{TOKEN}/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: object, **headers: str) -> Any:
        own = {"X-CSRF": self.csrf, "Origin": HOST, "Sec-Fetch-Site": "same-origin"}
        return self.client.post(f"/{TOKEN}/{path}", json=body, headers={**own, **headers})

    def grade(self, grade: int, **more: object) -> Any:
        """Give the current item a grade; the state after it."""
        item = self.get("api/item")["item"]["id"]
        answer = self.post("api/answer", {"item": item, "grade": grade, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def no_bugs(page: Page) -> Iterator[Page]:
    yield page
    assert page.bugs == []


def ticking() -> Any:
    """A clock that goes on by ten seconds at each look."""
    start, ticks = datetime(2026, 1, 1, tzinfo=UTC), itertools.count()
    return lambda: start + timedelta(seconds=10 * next(ticks))
