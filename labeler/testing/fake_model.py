"""A model that is a function."""

from __future__ import annotations

from collections.abc import Callable

from labeler.model import Model, Reply, Request


def fake_model(answer: Callable[[Request], str | Reply] | str, identity: str = "fake") -> Model:
    """A model that answers with a text, or with what a function of the request gives.

    The function may raise `CallFailed` or any other error of `labeler.errors`.
    """

    async def ask(request: Request) -> Reply:
        said = answer if isinstance(answer, str) else answer(request)
        return said if isinstance(said, Reply) else Reply(said, model=identity)

    return Model(identity, ask)
