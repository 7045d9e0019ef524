"""What the commands that ask a model share: which one, and how it is wrapped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labeler.cli.screen import note, say

if TYPE_CHECKING:
    from labeler.choosing import Choice, Ready, Task
    from labeler.data import Document, Model, Request
    from labeler.store import Store


@contextmanager
def chosen_model(
    task: Task, name: str | None, base_url: str | None, documents: Iterable[Document]
) -> Iterator[tuple[Choice, Ready]]:
    """The model to ask for a task; says which one it is, and why."""
    from labeler.choosing import choose, ready

    choice = asyncio.run(choose(task, name, base_url))
    note(f"model: {choice}")
    with ready(choice, documents) as asked:
        yield choice, asked


def wrapped(model: Model, store: Store, at_once: int) -> Model:
    """The model with all policies around it: retries, a limit, and the memory."""
    from labeler.models.policies import limited, retried
    from labeler.store import remembered

    return remembered(limited(retried(model), at_once), store)


def show_request(request: Request | None) -> None:
    """Print one request as the model would read it."""
    for role, content in request.messages if request else ():
        say(f"\n--- {role}\n{content}")
