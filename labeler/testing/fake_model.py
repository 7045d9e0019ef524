"""A model for tests, which answers by a function."""

from __future__ import annotations

from collections.abc import Callable

from labeler.model import Model, Reply, Request


def fake_model(answer: Callable[[Request], str | Reply] | str, identity: str = "fake") -> Model:
    """A model that answers with a text, or with what a function of the request gives.

    The function may raise `CallFailed` or any other error of `labeler.errors`.
    """

    async def ask(request: Request) -> Reply:
        reply = answer if isinstance(answer, str) else answer(request)
        return reply if isinstance(reply, Reply) else Reply(reply, model=identity)

    return Model(identity, ask)
