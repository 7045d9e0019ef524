"""`strict_at_first`: less patience with a server that never answered: its address may be wrong."""

from __future__ import annotations

from dataclasses import replace

from labeler.errors import CallFailed, Misconfigured, NoAnswer, NoCompletion
from labeler.model import Model, Reply, Request
from labeler.models.server.answers import IS_IT_COMPATIBLE


def strict_at_first(model: Model) -> Model:
    """Until the server has answered once: end the run where the answer is no chat completion, and
    mark what stays unanswered as the first, which is not worth many tries.
    """
    has_answered = False

    async def ask(request: Request) -> Reply:
        nonlocal has_answered
        try:
            reply = await model.ask(request)
        except NoAnswer as error:
            error.is_first = not has_answered
            raise
        except NoCompletion as error:
            if has_answered:
                raise
            raise Misconfigured(f"{error}; {IS_IT_COMPATIBLE}") from error
        except CallFailed:
            has_answered = True
            raise
        has_answered = True
        return reply

    return replace(model, ask=ask)
