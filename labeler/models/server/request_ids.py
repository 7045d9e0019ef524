"""What an answer itself says about which request it belongs to: ids, where servers give them.

Each call carries an id of ours as `X-Request-Id`; vLLM and others give it back, in a header or as
the completion's id. And most servers give each completion an id of its own, so that one that came
before is another request's answer. Some give all the same, or draw from a few: an id that comes
again on a connection on which nothing else was asked shows that, and ids then say nothing.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from itertools import count

from labeler.errors import NoAnswer

REMEMBERED = 10_000
"""Completions whose ids are remembered; a stray answer comes soon after the right one."""


class RequestIds:
    """The ids of requests to one server, and of the completions that came back."""

    def __init__(self) -> None:
        self._mark = f"labeler-{secrets.token_hex(6)}-"
        self._numbers = count()
        self._completions: OrderedDict[str, None] = OrderedDict()
        self._tell_apart = True

    def next(self) -> str:
        """The id of a further request."""
        return f"{self._mark}{next(self._numbers)}"

    def check_echo(self, sent: str, headers: Mapping[str, str], completion: str) -> None:
        """Raise `NoAnswer` where the answer names another request of ours."""
        for named in (headers.get("x-request-id", ""), completion):
            before, _, number = named.partition(self._mark)
            if number and not f"{before}{self._mark}{number}".endswith(sent):
                raise NoAnswer("the server sent the answer to another request")

    def check_repeated(self, completion: str, *, is_bound: bool) -> None:
        """Raise `NoAnswer` where a completion came before, as far as ids tell completions apart.

        `is_bound` is true where nothing else was ever asked on the connection.
        """
        if not self._tell_apart:
            return
        is_new = bool(completion) and completion not in self._completions
        if not is_new and is_bound:
            self._tell_apart = False
            self._completions.clear()
        elif not is_new and self._completions:
            raise NoAnswer("the server sent a completion again, or one without an id")
        elif is_new:
            self._completions[completion] = None
            if len(self._completions) > REMEMBERED:
                self._completions.popitem(last=False)
