"""All that decides which queries come out of a corpus, and the requests that ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from labeler.data import Document, Query
from labeler.model import Model, Request
from labeler.prompt import Prompt
from labeler.queries.filter import FilterRules, words
from labeler.queries.kinds import KINDS, Mix
from labeler.queries.style import Style
from labeler.queries.writing.search import CorpusSearch

MAX_WORDS = 10
"""The words that a query of a kind of somebody's own may have."""

SHOWN_WORDS = 260
"""The words of a passage that the model is shown, counted from its beginning."""

_LONGEST_LIKE = 40

Closeness = Callable[[str, Sequence[str]], Sequence[float]]
"""How close each of some candidates is to a passage; the highest wins."""


class FurtherPrompts(NamedTuple):
    """The prompts that are asked with besides; None where nothing of the sort is asked."""

    topic: Prompt | None = None
    answered: Prompt | None = None
    self_contained: Prompt | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """All that decides which queries come out of a corpus; `already` are the first of them.

    `prompt` writes all queries where no `mix` of kinds is given, else those kinds that have none in
    `prompts`. With `retry_failed`, a remembered reply that is no query is not taken, but asked for
    again. `search` finds second passages, and what may answer an unanswerable query. `real` are
    queries of people's, which no generated one repeats.
    """

    prompt: Prompt
    model: Model
    closeness: Closeness
    samples: int = 5
    seed: int = 0
    already: tuple[Query, ...] = ()
    retry_failed: bool = False
    mix: Mix = field(default_factory=dict)
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    style: Style = field(default_factory=Style)
    search: CorpusSearch | None = None
    rules: FilterRules = field(default_factory=FilterRules)
    further: FurtherPrompts = field(default_factory=FurtherPrompts)
    real: tuple[str, ...] = ()

    @property
    def shares(self) -> Mix:
        """The share of each kind; a prompt alone writes one kind, which is called as it is."""
        return self.mix or {self.prompt.name: 1.0}

    @property
    def origin(self) -> dict[str, Any]:
        """What distinguishes one way of writing queries from another."""
        ids = dict.fromkeys(self.prompt_of(kind).id for kind in sorted(self.shares))
        return {"prompt": ", ".join(ids), "model": self.model.id, "seed": self.seed}

    def origin_of(self, kind: str) -> dict[str, Any]:
        """The same of the queries of a kind."""
        return {**self.origin, "prompt": self.prompt_of(kind).id}

    def prompt_of(self, kind: str) -> Prompt:
        """The prompt that writes a kind."""
        return self.prompts.get(kind, self.prompt)

    def max_words(self, kind: str) -> int:
        """How many words a query of a kind may have; as many as real ones, where they are long."""
        usual = KINDS[kind].max_words if kind in KINDS else MAX_WORDS
        longest = max((len(words(text)) for text in self.style.like), default=0)
        return self.rules.max_words or max(usual, min(longest, _LONGEST_LIKE))

    def other(self, document: Document, kind: str) -> Document | None:
        """The second passage of a query, where its kind takes two and the corpus has one."""
        takes_two = kind in KINDS and KINDS[kind].passages > 1
        return self.search.neighbour(document) if takes_two and self.search else None


def generation_requests(document: Document, writer: Writer, kind: str = "") -> list[Request]:
    """The requests for a query of a kind about a passage: the same messages, another seed each."""
    kind = kind or next(iter(writer.shares))
    prompt = writer.prompt_of(kind)
    text = shown(document)
    other = writer.other(document, kind)
    values = {"title": document.title, "text": text, "passage": f"{document.title}\n{text}"}
    values["other"] = shown(other) if other else ""
    values |= writer.style.values(document, kind, writer.seed)
    messages = prompt.render(values)
    shared: dict[str, Any] = {
        "temperature": prompt.front.temperature,
        "max_tokens": _max_tokens(prompt, values["length"], writer.style),
    }
    if prompt.front.stop:
        shared["stop"] = list(prompt.front.stop)
    return [
        Request(messages, {**shared, "seed": writer.seed + repeat}, repeat=repeat)
        for repeat in range(writer.samples)
    ]


def _max_tokens(prompt: Prompt, length: str, style: Style) -> int:
    """Room for a reply: more than the prompt's for long queries, and for other languages' words."""
    most = max(prompt.front.max_tokens, 3 * int(length or 0))
    return most * 2 if style.language else most


def shown(document: Document) -> str:
    """The text of a passage up to the last word that the model is shown, white space kept."""
    pieces = document.text.split(" ")
    return " ".join(pieces[:SHOWN_WORDS]) if len(pieces) > SHOWN_WORDS else document.text
