"""`confirmed`: a reply counts once it is certain that it answers its request, and no other."""

from __future__ import annotations

from dataclasses import replace

from labeler.errors import NoAnswer
from labeler.model import Model, Reply, Request
from labeler.models.server.client import STRAY


def confirmed(model: Model) -> Model:
    """Wait, outside the limit on calls under way, until a reply is bound to its request."""

    async def ask(request: Request) -> Reply:
        reply = await model.ask(request)
        if reply.is_bound is not None and not await reply.is_bound:
            raise NoAnswer(STRAY)
        return reply

    return replace(model, ask=ask)
