"""A reply counts once it is certain that it answers its request, and no other."""

from __future__ import annotations

from labeler.errors import NoAnswer
from labeler.model import Reply
from labeler.models.policies.call import ModelCall, Policy, Waiting
from labeler.models.server.client import STRAY


class Confirming(Policy):
    """Waits, outside the limit on calls under way, until a reply is bound to its request."""

    def result(self, call: ModelCall, reply: Reply) -> Waiting:
        """Wait, where it is not certain yet; `NoAnswer` where it turns out to be another's."""
        return None if reply.is_bound is None else self._confirm(reply)

    async def _confirm(self, reply: Reply) -> None:
        if reply.is_bound is not None and not await reply.is_bound:
            raise NoAnswer(STRAY)
