"""Waiting for one's turn to write, while another program holds the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from labeler.errors import Locked
from labeler.store.base import Waiting

POLL_SECONDS = 0.1
LAST_SECONDS = 3.0
"""For how long the last try goes on, once the run is told to stop."""

NOTE_AFTER_SECONDS = 2.0
NOTE_SECONDS = 60.0


class Turn:
    """A wait for the moment at which this process may write."""

    def __init__(
        self, path: Path, waiting: Waiting, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._waiting = waiting
        self._clock = clock
        self._began = self._next_note = clock()
        self._next_note += NOTE_AFTER_SECONDS
        self._until = self._began + waiting.seconds

    def wait(self) -> None:
        """Wait a little, before another try; `Locked` where this has gone on for too long."""
        now = self._clock()
        if self._waiting.is_stopped():
            self._until = min(self._until, now + LAST_SECONDS)
        if now >= self._until:
            seconds = round(now - self._began)
            raise Locked(f"{self._path}: locked by another program for {seconds} s")
        if now >= self._next_note:
            self._next_note = now + NOTE_SECONDS
            most = round(self._until - now)
            problem = f"{self._path} is locked by another program"
            self._waiting.note(f"{problem}; waiting for it, {most} s at most")
        time.sleep(POLL_SECONDS)
