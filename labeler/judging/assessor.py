"""Who grades what: a prompt, a model, the texts that fill the prompt, and examples of grades."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as Some
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.data import Document, Outcome, Pair, Qrels, Query
from labeler.errors import BadInput, Misuse
from labeler.judging.reply import parse_grade
from labeler.model import Model, OncePerPart, Reply, Request
from labeler.prompt import Prompt, schema_of
from labeler.prompt.template import GradedExamples
from labeler.text.languages import NAMES
from labeler.text.terms import text_to_search
from labeler.text.visible import bounded, mark_of, visible
from labeler.trec.files import read_qrels

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
    examples: Examples | None = None
    votes: int = 1
    context: int | None = None
    _query_values: OncePerPart[dict[str, str]] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_query_values", OncePerPart(self._values_of))

    @classmethod
    def asked_in(cls, session: Session, prompt: Prompt) -> Assessor:
        """The assessor that a session's model is with a prompt; it sends what is declared."""
        asked, inputs, secret = session.parameters, session.inputs, session.secret
        context = session.selection.options.declared.context
        return cls(prompt, session.model, asked, inputs, secret=secret, context=context)

    @cached_property
    def asked_with(self) -> dict[str, Any]:
        """The prompt's own parameters, then this assessor's over them."""
        return {**self.prompt.front.parameters, **self.parameters}

    @cached_property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema of a reply; None where the reader takes another than this package's object."""
        return schema_of(self.prompt) if self.prompt.is_bound else None

    def request(self, query: Query, document: Document) -> Request:
        """The first request for a pair."""
        return self.asking(self.values(query, document), self.schema)

    def values(self, query: Query, document: Document | None = None) -> dict[str, str]:
        """What the placeholders stand for, with the examples that the query is shown."""
        return {**self._query_values.of(query), **(texts_of(document) if document else {})}

    def _values_of(self, query: Query) -> dict[str, str]:
        values = values_of(query)
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
        return {**values, "mark": self.mark(*map(values.__getitem__, self._marked_names))}

    @cached_property
    def _marked_names(self) -> tuple[str, ...]:
        """The texts of which a mark is, in their order."""
        return tuple(name for name in _FIELDS if name in self.prompt.placeholders)

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
        is_marked, code = self.prompt.is_marked, ""
        seen: Callable[[str], str] = visible if is_marked else str
        texts = self.values(query).items()
        values = {name: seen(text) for name, text in texts if name in self._shown_names}
        passages = (seen(texts_of(document)["passage"]) for document in documents)
        shown = [bounded(passage, self.prompt.max_chars) for passage in passages]
        if is_marked:
            values["mark"] = self.mark(*values.values(), *shown)
            code = f" {values['mark']}"
        numbered = (f"[{number}{code}]\n{text}" for number, text in enumerate(shown, start=1))
        values |= {"passages": "\n\n".join(numbered), "count": str(len(shown))}
        return Request(self.prompt.render(values), self.asked_with, schema, values, self.repeat)

    def outcome_of(self, pair: Pair, reply: Reply) -> Outcome:
        """The grade that a reply gives a pair, or why it gives none."""
        return parse_grade(pair, reply, self.prompt.grades, self.prompt.reader)


TOPIC = ("description", "narrative", "reference", "nuggets", "language")
"""What a query's metadata may say of it, and a template may show."""

_FIELDS = ("query", *TOPIC, "title", "text", "passage")


Lists = Mapping[Pair, tuple[str, ...]]
"""The documents with which each pair's was shown, in their order; it is among them."""


def values_of(query: Query) -> dict[str, str]:
    """What the placeholders of a template stand for that are of a query."""
    values = {"query": query.text}
    for name in TOPIC:
        value = query.metadata.get(name)
        values[name] = "; ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    values["language"] = NAMES.get(values["language"], values["language"])
    return values


def texts_of(document: Document) -> dict[str, str]:
    """The same of a document."""
    return {"title": document.title, "text": document.text, "passage": text_to_search(document)}


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
            raise BadInput(
                f"the pool names the {what} {id_}, which is not in the collection"
            ) from None


# Examples from people's grades of other queries, which a prompt shows before it asks.
#
# A query is never shown a grade of its own, nor of a query of the same words: such an example
# gives way to a reserve. So people's grades of a query say nothing to the assessor when it grades
# that query, and agreement with them is that with grades it was not shown. All other queries see
# the same examples, in the same order, so that their requests begin alike.

RESERVES = 2
"""Examples kept for each that is shown, for queries that must not see it."""


class GradedExample(NamedTuple):
    """A grade of a pair by a person, shown to an assessor."""

    query_id: str
    doc_id: str
    grade: int


@dataclass(frozen=True)
class Examples:
    """The examples of a set of judgements, in their order, and how many of them are shown.

    Those after the first `count` stand in for what a query must not see.
    """

    pairs: tuple[GradedExample, ...]
    count: int
    texts: Texts
    prompt: Prompt
    longest: int

    def shown(self, query: Query, mark: Callable[..., str] | None = None) -> str:
        """The examples as a query is shown them, between marks that `mark` makes of their texts.

        So a document that is shown as an example can end itself as little as the one to grade.
        """
        texts = list(map(self._texts_of, self._for_query(query)))
        code = mark(*chain.from_iterable(texts)) if mark else ""
        before, after = "Passage:", ""
        if code:
            before, after = f"--- passage {code} ---", f"\n--- end of passage {code} ---"
        return "\n\n".join(
            f"Example {number}\nQuery: {asked}\n{before}\n{passage}{after}\nAnswer: {answer}"
            for number, (asked, passage, answer) in enumerate(texts, start=1)
        )

    def _for_query(self, query: Query) -> Iterator[GradedExample]:
        """The examples that a query is shown: none of its own, nor of one of the same words."""
        own = _words(query.text)

        def is_own(example: GradedExample) -> bool:
            text = self.texts.queries[example.query_id].text
            return example.query_id == query.id or _words(text) == own

        reserves = [example for example in self.pairs[self.count :] if not is_own(example)]
        for example in self.pairs[: self.count]:
            if not is_own(example):
                yield example
            elif reserves:  # the next of its grade stands in for it, or of any
                same = (at for at, each in enumerate(reserves) if each.grade == example.grade)
                yield reserves.pop(next(same, 0))

    def _texts_of(self, example: GradedExample) -> tuple[str, str, str]:
        """What is shown of an example: the query, the document, and the answer that it had."""
        query, document = self.texts.queries[example.query_id], self.texts.documents[example.doc_id]
        passage = bounded(texts_of(document)["passage"], self.longest)
        is_several = self.prompt.front.has_parts or self.prompt.front.batch > 1
        answer = str(example.grade) if is_several else self.prompt.reader.example(example.grade)
        return query.text, passage, answer


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def examples_for(
    collection: Collection,
    name: str,
    prompt: Prompt,
    texts: Texts,
    held_out: Some[str] = frozenset(),
) -> Examples | None:
    """The examples of a set: those that it was begun with, else drawn; None where none are shown.

    No example is of a `held_out` query. `Misuse` where the set was begun with such a one.
    """
    front = prompt.front.examples
    if front is None:
        return None
    entry = card_section(read_card(collection), "judge", name)
    rows = entry.get("examples") if entry.get("prompt") == prompt.id else None
    noted = rows if isinstance(rows, list) else []
    pairs = [GradedExample(*row) for row in noted if isinstance(row, list) and len(row) == 3]
    if not all(texts.has(Pair(*pair[:2])) for pair in pairs):
        pairs = []  # as one of their texts is gone
    if pairs and (own := {pair.query_id for pair in pairs}.intersection(held_out)):
        problem = f"{name} was begun with examples of {', '.join(sorted(own)[:3])}, held out now"
        raise Misuse(f"{problem}; give another name", parameter="name")
    if not pairs:
        path = collection.qrels(front.of)
        if not path.exists():
            problem = (
                f"{prompt.name} shows grades of {front.of!r} as examples, and {path} is not there"
            )
            raise Misuse(
                f"{problem}; import people's grades, or take another prompt", parameter="prompt"
            )
        pairs = drawn_examples(read_qrels(path), texts, prompt, held_out)
        if not pairs:
            raise BadInput(f"{path}: no grade of {prompt.name}'s scale whose texts are there")
    return Examples(tuple(pairs), front.count, texts, prompt, front.max_chars)


def drawn_examples(
    qrels: Qrels, texts: Texts, prompt: Prompt, held_out: Some[str]
) -> list[GradedExample]:
    """Examples in turn from each grade, by chance, of different queries where possible."""
    front = prompt.front.examples or GradedExamples()
    by_grade: dict[int, list[GradedExample]] = {grade: [] for grade in prompt.grades}
    for query_id in sorted(set(qrels).difference(held_out)):
        for doc_id, grade in sorted(qrels[query_id].items()):
            if grade in by_grade and texts.has(Pair(query_id, doc_id)):
                by_grade[grade].append(GradedExample(query_id, doc_id, grade))
    random = Random(f"examples\0{front.seed}")
    for candidates in by_grade.values():
        random.shuffle(candidates)
    queues = {grade: deque(examples) for grade, examples in by_grade.items() if examples}
    drawn, used = list[GradedExample](), set[str]()
    while queues and len(drawn) < (1 + RESERVES) * front.count:
        grade = next(iter(queues))
        queue = queues.pop(grade)
        fresh = next((example for example in queue if example.query_id not in used), queue[0])
        queue.remove(fresh)
        used.add(fresh.query_id)
        drawn.append(fresh)
        if queue:
            queues[grade] = queue
    return drawn


# What a set of judgements showed beside its documents: lists, as its rows say, and examples.


def as_shown(
    assessor: Assessor,
    collection: Collection,
    name: str,
    texts: Texts,
    held_out: Some[str] = frozenset(),
) -> Assessor:
    """The assessor with the lists and the examples of a set of judgements, or with new ones.

    No list is one of whose documents some are gone, no example of a `held_out` query. The same
    lists make the same requests, so that their replies stand when further documents are pooled, and
    a control repeats what was asked.
    """
    path, lists = collection.judgements(name), dict[Pair, tuple[str, ...]]()
    is_listed = assessor.prompt.front.batch > 1 and path.exists()
    for row in read_judgements(path) if is_listed else ():
        listed = row.judged.listed
        if listed and all(doc_id in texts.documents for doc_id in listed.documents):
            lists[row.judged.outcome.pair] = listed.documents
    examples = examples_for(collection, name, assessor.prompt, texts, held_out)
    return replace(assessor, lists=lists, examples=examples)
