"""Who grades what: a prompt, a model, and the texts that fill the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from labeler.data import Document, Outcome, Pair, Query
from labeler.errors import BadInput
from labeler.judging.reply import parse_grade
from labeler.model import Model, Reply, Request
from labeler.prompt import Prompt, schema_of
from labeler.text.languages import NAMES
from labeler.text.visible import bounded, mark_of, visible

if TYPE_CHECKING:
    from labeler.models.session import Session


@dataclass(frozen=True)
class Assessor:
    """Who grades: a prompt and a model, and the parameters that the model is asked with.

    `inputs` joins what each request's `inputs` hold; `repeat` numbers the times that a pair is
    asked about, from 0. `secret` is what the marks round documents are made with. `lists` are those
    in which documents were shown before,
    `examples` the grades of other queries that the prompt shows. Each pair is asked about for so
    many `votes`. A document too long for the `context`, which is counted in tokens, is judged by
    its passages.
    """

    prompt: Prompt
    model: Model
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    repeat: int = 0
    secret: bytes = field(default=b"", repr=False)
    lists: Lists = field(default_factory=dict)
    examples: ShownExamples | None = None
    votes: int = 1
    context: int | None = None

    @classmethod
    def asked_in(cls, session: Session, prompt: Prompt) -> Assessor:
        """The assessor that a session's model is with a prompt; it sends what is declared."""
        asked, inputs, secret = session.parameters, session.inputs, session.secret
        return cls(prompt, session.model, asked, inputs, secret=secret)

    @cached_property
    def asked_with(self) -> dict[str, Any]:
        """The prompt's own parameters, then this assessor's over them."""
        front = self.prompt.front
        own: dict[str, Any] = {"temperature": front.temperature, "max_tokens": front.max_tokens}
        if front.stop:
            own["stop"] = list(front.stop)
        return {**own, **self.parameters}

    @cached_property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema of a reply; None where the reader takes another than this package's object."""
        return schema_of(self.prompt) if self.prompt.is_bound else None

    def request(self, query: Query, document: Document) -> Request:
        """The first request for a pair."""
        return self.asking(self.values(query, document), self.schema)

    def values(self, query: Query, document: Document | None = None) -> dict[str, str]:
        """What the placeholders stand for, with the examples that the query is shown."""
        values = values_of(query, document)
        if self.examples is not None:
            marked = self.mark if self.prompt.is_marked else None
            values["examples"] = self.examples.shown(query, marked)
        return values

    def asking(self, values: Mapping[str, str], schema: Mapping[str, Any] | None) -> Request:
        """The first request in which the prompt shows these texts."""
        texts = {name: text for name, text in values.items() if name in self._shown_names}
        messages = self.prompt.render(self.shown(values))
        return Request(messages, self.asked_with, schema, {**texts, **self.inputs}, self.repeat)

    @cached_property
    def _shown_names(self) -> frozenset[str]:
        """The placeholders of the template; a title and a text stand in a passage, too."""
        names = self.prompt.placeholders
        return names | {"title", "text"} if "passage" in names else names

    def shown(self, values: Mapping[str, str]) -> Mapping[str, str]:
        """The texts as the prompt shows them: where it has marks, with all that is hidden in them.

        The mark is of the texts that are shown, so that equal texts make equal requests.
        """
        if self.prompt.is_marked:
            seen = {text: visible(text) for text in {*values.values()}}
            values = {name: seen[text] for name, text in values.items()}
        most = self.prompt.max_chars
        cut = {name: bounded(values[name], most) for name in ("title", "text", "passage")}
        values = {**values, **cut}
        if not self.prompt.is_marked:
            return values
        names = (name for name in _FIELDS if name in self.prompt.placeholders)
        return {**values, "mark": self.mark(*map(values.__getitem__, names))}

    def mark(self, *texts: str) -> str:
        """The mark of what is shown between marks."""
        return mark_of(self.secret, *texts)

    def list_request(
        self, query: Query, documents: Sequence[Document], schema: Mapping[str, Any] | None
    ) -> Request:
        """The first request for several documents of a query, numbered in their order.

        Where the prompt has marks, one stands beside each number, so that no document can pretend
        that another one begins in it.
        """
        values, shown = self._of_several(query, documents)
        code = f" {values['mark']}" if self.prompt.is_marked else ""
        numbered = (f"[{number}{code}]\n{text}" for number, text in enumerate(shown, start=1))
        values |= {"passages": "\n\n".join(numbered), "count": str(len(shown))}
        return Request(self.prompt.render(values), self.asked_with, schema, values, self.repeat)

    def _of_several(
        self, query: Query, documents: Sequence[Document]
    ) -> tuple[dict[str, str], list[str]]:
        """The texts of a query that the template shows, with their mark, and the documents' own."""
        texts = self.values(query).items()
        values = {name: text for name, text in texts if name in self._shown_names}
        shown = [self._passage(values_of(query, document)["passage"]) for document in documents]
        if not self.prompt.is_marked:
            return values, shown
        values = {name: visible(text) for name, text in values.items()}
        return {**values, "mark": self.mark(*values.values(), *shown)}, shown

    def _passage(self, text: str) -> str:
        return bounded(visible(text) if self.prompt.is_marked else text, self.prompt.max_chars)

    def outcome_of(self, pair: Pair, reply: Reply) -> Outcome:
        """The grade that a reply gives a pair, or why it gives none."""
        return parse_grade(pair, reply, self.prompt.grades, self.prompt.reader)


TOPIC = ("description", "narrative", "reference", "nuggets", "language")
"""What a query's metadata may say of it, and a template may show."""

_FIELDS = ("query", *TOPIC, "title", "text", "passage")


class ShownExamples(Protocol):
    """Grades of other queries, as they are shown to each query."""

    def shown(self, query: Query, mark: Callable[..., str] | None = None) -> str:
        """The examples as a query is shown them, between marks that `mark` makes of their texts."""

    def noted(self) -> list[list[str | int]]:
        """The query, document and grade of each, as the card keeps them."""


Lists = Mapping[Pair, tuple[str, ...]]
"""The documents with which each pair's was shown, in their order; it is among them."""


def values_of(query: Query, document: Document | None = None) -> dict[str, str]:
    """What the placeholders of a template stand for, of a query and a document."""
    values = {
        "query": query.text,
        **{name: _metadata_text(query.metadata.get(name)) for name in TOPIC},
    }
    values["language"] = NAMES.get(values["language"], values["language"])
    if document is None:
        return values
    passage = f"{document.title}\n{document.text}" if document.title else document.text
    return {**values, "title": document.title, "text": document.text, "passage": passage}


def _metadata_text(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value or "")


class Texts(NamedTuple):
    """The queries and documents that pairs name."""

    queries: Mapping[str, Query]
    documents: Mapping[str, Document]

    def has(self, pair: Pair) -> bool:
        """Whether both sides of a pair are there."""
        return pair.query_id in self.queries and pair.doc_id in self.documents

    def of(self, pair: Pair) -> tuple[Query, Document]:
        """The query and the document of a pair; `BadInput` where one is missing."""
        try:
            return self.queries[pair.query_id], self.documents[pair.doc_id]
        except KeyError as id_:
            what = "document" if pair.query_id in self.queries else "query"
            problem = f"the pool names the {what} {id_}, which is not in the collection"
            raise BadInput(problem) from None
