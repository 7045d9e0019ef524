"""Pages to grade on, served as a rater gets them, with items that a test makes, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize, expect

from labeler.annotate.journal import RatingJournal, read_journal
from labeler.annotate.passages import marked_line, shown, shown_line
from labeler.annotate.serve import ServeOptions, served
from labeler.annotate.session import RatingItem, RatingSession, RatingTask
from labeler.report.result import as_plain

SCALE = {0: "irrelevant", 1: "related", 2: "highly relevant", 3: "perfectly relevant"}
MEANINGS = "The document holds an answer, but an unclear one, or one hidden among other matter."
WIDE: ViewportSize = {"width": 1280, "height": 800}
PATIENCE = 30_000
"""Milliseconds for which a condition is waited for, as a machine may have much else to do."""
expect.set_options(timeout=PATIENCE)
SOONEST = 250
"""The milliseconds for which a pair that has just appeared takes no answer, as page.js says."""
Shown = dict[str, Any]


def document(text: str, query: str, title: str = "", path: str = "", name: str = "d") -> Shown:
    paragraphs = as_plain(shown(text, query))
    return {
        "id": name,
        "title": shown_line(title),
        "title_runs": marked_line(title, query),
        "path": shown_line(path),
        "paragraphs": paragraphs,
        "language": None,
    }


def pair(
    text: str = "Cats sleep anywhere.", query: str = "where do cats sleep", **more: str
) -> Shown:
    return {"query": {"text": shown_line(query)}, "document": document(text, query, **more)}


def pairs(count: int) -> list[Shown]:
    return [
        pair(f"Cat {n} sleeps on a sofa.", f"where does cat {n} sleep", title=f"Cat {n}")
        for n in range(count)
    ]


def grading_of(items: Sequence[Shown], **more: Any) -> RatingTask:
    """A task of the items; its `scale` may be another."""
    scale: Mapping[int, str] = more.pop("scale", SCALE)
    rows = [RatingItem(str(n), f"q{n}", f"d{n}", 1.0) for n in range(len(items))]
    shown_scale = [{"grade": g, "name": n, "description": MEANINGS} for g, n in scale.items()]
    session = {
        "scale": shown_scale,
        "instructions": "Read it all.\n\nIn doubt take the lower.",
    }
    show: Callable[[RatingItem], Shown] = lambda item: items[int(item.id)]  # noqa: E731
    return RatingTask("audit", "s", rows, show, scale, session=session, **more)


@dataclass
class Rater:
    """A rater's browser window at their page, and what it was seen to do."""

    page: Page
    address: str = ""
    journal: Path = Path()
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def ready(self) -> Rater:
        """Wait until the pair takes an answer, which a pair that has just appeared does not."""
        self.page.wait_for_selector("body[data-state=new], body[data-state=ready]")
        self.page.clock.fast_forward(SOONEST)
        return self.at("ready")

    def at(self, state: str) -> Rater:
        self.page.wait_for_selector(f"body[data-state={state}]")
        return self

    def press(self, *keys: str) -> Rater:
        """Press keys, each once its pair takes an answer."""
        for key in keys:
            self.ready().page.keyboard.press(key)
        return self

    def says(self, sentence: str) -> Rater:
        expect(self.page.locator("#status")).to_contain_text(sentence)
        return self

    def warns(self, sentence: str) -> Rater:
        expect(self.page.get_by_role("alert")).to_contain_text(sentence)
        return self

    def asks(self, query: str) -> Rater:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(query)
        return self

    @property
    def answers(self) -> list[Any]:
        rows = read_journal(self.journal) if self.journal.exists() else []
        return [row for row in rows if not row.undo]


VIOLATIONS = """
document.addEventListener("securitypolicyviolation",
  (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


class Windows:
    """The windows of a module: most tests use one after the other, as each costs a second."""

    def __init__(self, browser: Browser) -> None:
        self._browser, self._idle = browser, list[Rater]()

    @contextmanager
    def one(self, address: str, journal: Path, **context: Any) -> Iterator[Rater]:
        """A window of its own browser profile; one with a `context` of Playwright's is new."""
        rater = self._idle.pop() if self._idle and not context else self._new(**context)
        rater.address, rater.journal = address, journal
        try:
            yield rater
        finally:
            if context:
                rater.page.context.close()
            else:
                self._clean(rater)

    def _new(self, **context: Any) -> Rater:
        page = self._browser.new_context(**context).new_page()
        page.set_default_timeout(PATIENCE)
        rater = Rater(page)
        page.clock.install()  # which tests turn on rather than wait
        page.add_init_script(VIOLATIONS)
        page.on("request", lambda request: rater.requests.append(request.url))
        page.on("console", lambda message: rater.problems.append(message.text))
        page.on("pageerror", lambda error: rater.problems.append(str(error)))
        page.on("dialog", lambda dialog: rater.problems.append(f"dialog {dialog.message}"))
        return rater

    def _clean(self, rater: Rater) -> None:
        """Forget what a test did; the next address has another port, and so no storage yet."""
        rater.page.unroute_all()
        rater.page.context.set_offline(False)
        rater.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        rater.page.goto("about:blank")
        rater.requests.clear()
        rater.problems.clear()
        self._idle.append(rater)


class Raters:
    """Servers and windows of one test."""

    def __init__(self, windows: Windows, folder: Path, stack: ExitStack) -> None:
        self._windows, self._folder, self._stack = windows, folder, stack

    def serve(self, task: RatingTask, *names: str) -> list[str]:
        """The addresses of raters of a task."""
        sessions = [RatingSession(name, task, RatingJournal(self._journal(name))) for name in names]
        return list(self._stack.enter_context(served(sessions, ServeOptions(port=0))).addresses)

    def _journal(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def window(
        self, address: str, name: str = "anna", size: ViewportSize = WIDE, **context: Any
    ) -> Rater:
        """A window of a rater, of a size, at their first pair."""
        window = self._windows.one(address, self._journal(name), **context)
        rater = self._stack.enter_context(window)
        rater.page.set_viewport_size(size)
        rater.page.goto(address)
        return rater.ready()

    def rater(self, task: RatingTask, size: ViewportSize = WIDE, **context: Any) -> Rater:
        """The one rater of a task, at its first pair."""
        (address,) = self.serve(task, "anna")
        return self.window(address, size=size, **context)


@contextmanager
def raters_of(windows: Windows, folder: Path) -> Iterator[Raters]:
    with ExitStack() as stack:
        yield Raters(windows, folder, stack)


def own_requests(rater: Rater) -> list[str]:
    """The requests below the rater's own address, less that address; the others as they are."""
    return [re.sub(f"^{re.escape(rater.address)}", "", url) for url in rater.requests]
