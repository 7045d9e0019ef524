"""Re-ranking by an LLM that is shown several passages at once: a window slides from the last to the
first of a ranking, so that what is good climbs. After Sun et al. (EMNLP 2023), RankGPT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from labeler.data import Document
from labeler.errors import CallFailed, Misuse, Retryable
from labeler.files.numbers import count
from labeler.model import Model, Request
from labeler.models.ending import status_of_ending
from labeler.models.reply_object import parsed
from labeler.prompt import Prompt
from labeler.text.sentences import first_words

TRIES = 2
"""Calls for a window: a reply that is no order of its passages is asked for once more."""

_SCHEMA = {
    "type": "object",
    "properties": {"order": {"type": "array", "items": {"type": "integer"}}},
    "required": ["order"],
    "additionalProperties": False,
}


class _Order(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    order: list[int]


@dataclass(frozen=True, slots=True)
class Windows:
    """How much of a ranking a model orders: `depth` documents, `size` at once, moved by `step`.

    Of each document it is shown the first `words`.
    """

    depth: int = 50
    size: int = 20
    step: int = 10
    words: int = 150

    def __post_init__(self) -> None:
        for name, least in (("depth", 2), ("size", 2), ("step", 1), ("words", 1)):
            if (count(getattr(self, name)) or 0) < least:
                parameter = "window" if name == "size" else name
                raise Misuse(f"expected {least} or more", parameter=parameter)
        if self.step > self.size:
            problem = f"a window of {self.size} that moves by {self.step} leaves documents out"
            raise Misuse(problem, parameter="step")

    def starts(self, documents: int) -> list[int]:
        """Where the windows over so many documents begin, the last of the ranking first."""
        if documents < 2:
            return []
        starts = [max(0, documents - self.size)]
        while starts[-1]:
            starts.append(max(0, starts[-1] - self.step))
        return starts


def window_request(
    prompt: Prompt, query: str, documents: Sequence[Document], words: int
) -> Request:
    """The request for the order of some documents."""
    passages = "\n\n".join(
        f"[{number}] {_shown(document, words)}" for number, document in enumerate(documents, 1)
    )
    values = {"query": query, "passages": passages, "count": str(len(documents))}
    front = prompt.front
    parameters: dict[str, Any] = {"temperature": front.temperature, "max_tokens": front.max_tokens}
    if front.stop:
        parameters["stop"] = list(front.stop)
    return Request(prompt.render(values), parameters, _SCHEMA)


def window_requests(
    prompt: Prompt, query: str, documents: Sequence[Document], windows: Windows
) -> Iterator[Request]:
    """The requests for a ranking, if no reply changed its order."""
    for start in windows.starts(len(documents)):
        window = documents[start : start + windows.size]
        yield window_request(prompt, query, window, windows.words)


def _shown(document: Document, words: int) -> str:
    text = f"{document.title}: {document.text}" if document.title else document.text
    return first_words(text, words)


@dataclass(slots=True)
class ListwiseRanker:
    """Orders documents by what a model says; counts its windows and those it left as they were.

    `example` is the last reply that was no order; `advance` is called after each window. With
    `retry_failed`, replies of earlier runs that were none do not count, and more are asked for.
    """

    prompt: Prompt
    model: Model
    windows: Windows
    retry_failed: bool = False
    asked: int = 0
    untouched: int = 0
    example: str = ""
    advance: Callable[[], None] = lambda: None

    async def ranked(self, query: str, documents: Sequence[Document]) -> list[Document]:
        """The documents in the model's order; a window without a usable reply keeps its own."""
        ranking = list(documents)
        for start in self.windows.starts(len(ranking)):
            window = ranking[start : start + self.windows.size]
            order = await self._order(query, window)
            self.asked += 1
            self.untouched += order is None
            self.advance()
            if order is not None:
                ranking[start : start + len(window)] = [window[number - 1] for number in order]
        return ranking

    async def _order(self, query: str, window: Sequence[Document]) -> list[int] | None:
        """The numbers of a window's documents in the model's order; None where it gives none."""
        request = window_request(self.prompt, query, window, self.windows.words)
        left = TRIES
        while left > 0:
            try:
                reply = await self.model.ask(request)
            except Retryable:  # the server is gone: nothing is known of the window
                raise
            except CallFailed as error:
                self.example = str(error)
                return None
            answer = parsed(reply, _Order)
            if answer and sorted(answer.order) == list(range(1, len(window) + 1)):
                return answer.order
            self.example = reply.refusal or reply.text
            left -= not (self.retry_failed and reply.remembered)
            request = _again(request, reply.finish_reason)
        return None


def _again(request: Request, ending: str) -> Request:
    """The same asked once more, with twice the tokens where the reply was cut short."""
    parameters = dict(request.parameters)
    if status_of_ending(ending) == "truncated":
        parameters["max_tokens"] *= 2
    return replace(request, parameters=parameters, attempt=request.attempt + 1)
