"""All that decides which queries come out of a corpus, and the requests that ask for them."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labeler.collection.corpus import corpus_on_demand
from labeler.collection.layout import Collection
from labeler.collection.search import Bm25Index, searched_corpus
from labeler.data import Document, Query
from labeler.errors import CallFailed
from labeler.files.jsonl import JsonObject
from labeler.messages import Progress, no_progress
from labeler.model import NO_COMPLETION, NO_TEXT, Model, Reply, Request, status_of_ending
from labeler.prompt import Prompt
from labeler.queries.filter import (
    MAX_WORDS,
    MIN_LETTERS,
    FilterRules,
    reason_to_reject,
    tidied,
    words,
)
from labeler.queries.kinds import KINDS, Mix, Style, next_kind, not_of_its_kind, turns
from labeler.text.languages import code_of, language_of

# Searching the corpus: which passage is like another.

DEPTH = 100
"""So many documents are looked at for one under another heading."""

_WORDS_OF_A_PASSAGE = 60


@dataclass(frozen=True, slots=True)
class CorpusSearch:
    """BM25 over a corpus; the index of a large one is the one that `pool` keeps."""

    bm25: Bm25Index
    documents: Mapping[str, Document]
    _neighbours: dict[str, Document | None] = field(default_factory=dict)

    @classmethod
    def of(cls, collection: Collection, progress: Progress = no_progress) -> CorpusSearch:
        """BM25 over a collection's corpus, whose texts stay in its file."""
        searched = searched_corpus(collection, progress)
        return cls(Bm25Index.of(searched, progress), corpus_on_demand(collection.corpus))

    def neighbour(self, document: Document) -> Document | None:
        """The most similar passage under another heading, by BM25; None where none is similar."""
        if document.id not in self._neighbours:
            text = " ".join(document.text.split()[:_WORDS_OF_A_PASSAGE])
            run = self.bm25.run([Query("", f"{document.title} {text}")], DEPTH)
            others = (self.documents[doc_id] for doc_id in run[""] if doc_id != document.id)
            similar = next((other for other in others if other.title != document.title), None)
            self._neighbours[document.id] = similar
        return self._neighbours[document.id]


SHOWN_WORDS = 260
"""The words of a passage that the model is shown, counted from its beginning."""

_LONGEST_LIKE = 40

Closeness = Callable[[str, Sequence[str]], Sequence[float]]
"""How close each of some candidates is to a passage; the highest wins."""


@dataclass(frozen=True, slots=True)
class Writer:
    """All that decides which queries come out of a corpus; `already` are the first of them.

    `prompt` writes all queries where no `mix` of kinds is given, else those kinds that have none in
    `prompts`. With `retry_failed`, a remembered reply that is no query is not taken, but asked for
    again. `search` finds second passages. `real` are
    queries of people's, which no generated one repeats. `topic` asks for a query's description.
    `stratify` is the key of a passage's metadata that its query gets, too.
    """

    prompt: Prompt
    model: Model
    closeness: Closeness
    samples: int = 5
    seed: int = 0
    already: Sequence[Query] = ()
    retry_failed: bool = False
    mix: Mix = field(default_factory=dict)
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    style: Style = field(default_factory=Style)
    search: CorpusSearch | None = None
    rules: FilterRules = field(default_factory=FilterRules)
    topic: Prompt | None = None
    real: Sequence[str] = ()
    stratify: str = ""

    @property
    def shares(self) -> Mix:
        """The share of each kind; a prompt alone writes one kind, which is called as it is."""
        return self.mix or {self.prompt.name: 1.0}

    @property
    def origin(self) -> JsonObject:
        """What distinguishes one way of writing queries from another."""
        ids = dict.fromkeys(self.prompt_of(kind).id for kind in sorted(self.shares))
        return {"prompt": ", ".join(ids), "model": self.model.id, "seed": self.seed}

    def origin_of(self, kind: str) -> JsonObject:
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

    def turn(self, document: Document, kind: str) -> PassageTurn:
        """A passage's turn, with a second one where its kind takes two and the corpus has one."""
        takes_two = kind in KINDS and KINDS[kind].passages > 1
        other = self.search.neighbour(document) if takes_two and self.search else None
        return PassageTurn(document, kind, other)

    @property
    def used(self) -> frozenset[str]:
        """The ids of the passages that gave a query already."""
        return frozenset(map(passage_of, self.already))


def generation_requests(turn: PassageTurn, writer: Writer) -> list[Request]:
    """The requests of a turn: the same messages, another seed each."""
    document = turn.document
    prompt = writer.prompt_of(turn.kind)
    text = shown(document)
    values = {"title": document.title, "text": text, "passage": f"{document.title}\n{text}"}
    values["other"] = shown(turn.other) if turn.other else ""
    values |= writer.style.values(document, turn.kind, writer.seed)
    messages = prompt.render(values)
    # more for long queries, and for other languages' words
    most = max(prompt.front.max_tokens, 3 * int(values["length"] or 0))
    most *= 2 if writer.style.language else 1
    shared = {**prompt.front.parameters, "max_tokens": most}
    return [
        Request(messages, {**shared, "seed": writer.seed + repeat}, repeat=repeat)
        for repeat in range(writer.samples)
    ]


def shown(document: Document) -> str:
    """The text of a passage up to the last word that the model is shown, white space kept."""
    pieces = document.text.split(" ")
    return " ".join(pieces[:SHOWN_WORDS]) if len(pieces) > SHOWN_WORDS else document.text


# Candidates for queries: what replies say, what is wrong with them, and which is the best.

BEATEN = "another was closer"
IN_A_ROW, FEWEST = 20, 2
"""So many passages in a row that give fewer queries than this are the last to be paid for."""

_NOTHING = {NO_COMPLETION: "no completion", NO_TEXT: "no text"}
"""Endings of replies that hold nothing, in words."""


class Rejected(NamedTuple):
    """A candidate that was dropped, and why; `kind` is that of the query it was to be."""

    doc_id: str
    text: str
    reason: str
    kind: str = ""


class PassageTurn(NamedTuple):
    """A passage whose turn it is to be asked about, the kind of query, and a second passage."""

    document: Document
    kind: str
    other: Document | None = None

    @property
    def documents(self) -> Sequence[Document]:
        """The passages that the query is about."""
        return (self.document, self.other) if self.other else (self.document,)

    @property
    def text(self) -> str:
        """Their texts."""
        return "\n".join(document.text for document in self.documents)


@dataclass(slots=True)
class Candidates:
    """What replies about a passage gave: texts that may be queries, the best first, and others."""

    turn: PassageTurn
    fit: list[str] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    failed: int = 0
    replies: Sequence[Reply | CallFailed] = ()

    def reject(self, text: str, reason: str) -> None:
        """Drop a text."""
        self.rejected.append(Rejected(self.turn.document.id, text, reason, self.turn.kind))


@dataclass(slots=True)
class Generated:
    """The queries that were kept, in order, and the candidates that were not.

    `has_failed` is true where every reply about a passage failed. `latest` says of each of the last
    passages whether it gave a query. `stopped` says why no more passages were asked about, though
    the corpus has some; it is empty where that was no reason to end.
    `without_topic` counts the new queries for which the model wrote none, `given_up` the kinds of
    which passage after passage gave none, with how many there are.
    """

    queries: list[Query] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    has_failed: bool = False
    latest: deque[bool] = field(default_factory=lambda: deque(maxlen=IN_A_ROW))
    stopped: str = ""
    without_topic: int = 0
    given_up: dict[str, int] = field(default_factory=dict)

    @property
    def is_fruitless(self) -> bool:
        """Whether the last passages gave next to nothing."""
        return len(self.latest) == IN_A_ROW and sum(self.latest) < FEWEST

    @property
    def reasons(self) -> Counter[str]:
        """How many candidates were dropped, by the reason; those that another beat are none."""
        named = (rejected.reason.partition(":")[0] for rejected in self.rejected)
        return Counter(reason for reason in named if reason != BEATEN)


def candidates_of(
    turn: PassageTurn, replies: Sequence[Reply | CallFailed], writer: Writer
) -> Candidates:
    """The texts of replies that may be queries, the best first, and why the others may not."""
    result = Candidates(turn, replies=replies)
    fit: dict[str, None] = {}
    for reply in replies:
        text, failure = candidate_of(reply)
        reason = failure or _reason_to_reject(text, turn, writer)
        if reason:
            result.reject(text, reason)
            result.failed += bool(failure)
        else:
            fit[text] = None
    result.fit = _ranked(list(fit), turn, writer)
    return result


def candidate_of(reply: Reply | CallFailed) -> tuple[str, str]:
    """What a reply says in a query's place, and why it says none, empty where it may be one."""
    if isinstance(reply, CallFailed):
        return "", f"call_failed: {reply}"
    status = status_of_ending(reply.finish_reason)
    if reply.refusal or status == "refused":
        return reply.refusal or "", "refused"
    if status == "filtered":
        return "", "filtered"
    if reply.finish_reason in _NOTHING:
        return "", _NOTHING[reply.finish_reason]
    text = tidied(reply.text)
    if status:
        return text, "cut at the token limit" if status == "truncated" else "broken off"
    return text, "" if text else "no text"


def _reason_to_reject(text: str, turn: PassageTurn, writer: Writer) -> str | None:
    """Why a text is no query of a kind about some passages."""
    examples = [m.content for m in writer.prompt_of(turn.kind).turns if m.role == "assistant"]
    has_one_word = writer.style.length(turn.document, turn.kind, writer.seed) == 1
    reason = reason_to_reject(
        text,
        turn.text,
        examples,
        max_words=writer.max_words(turn.kind),
        min_letters=1 if has_one_word else MIN_LETTERS,
    )
    expected = expected_language(turn.document, writer)
    language = language_of(text)
    if not reason and expected and language and language != expected:
        reason = f"wrong language: {language}, not {expected}"
    if not reason and writer.mix and expected == "en":  # only in English the words tell the kind
        reason = not_of_its_kind(text, turn.kind)
    return reason


def expected_language(document: Document, writer: Writer) -> str:
    """The code of the language that a query about a passage should have; empty if not known."""
    return code_of(writer.style.language) if writer.style.language else language_of(document.text)


def _ranked(texts: list[str], turn: PassageTurn, writer: Writer) -> list[str]:
    """The closest text first; among real queries' likenesses, first one of the length asked for."""
    if len(texts) < 2:
        return texts
    scores = dict(zip(texts, writer.closeness(turn.text, texts), strict=True))
    length = writer.style.length(turn.document, turn.kind, writer.seed)

    def order(text: str) -> tuple[int, float]:
        return abs(len(words(text)) - length) if length else 0, -scores[text]

    return sorted(texts, key=order)


# Whose turn it is: which kind of query is next, and which passage it is about.

GIVE_UP = 10
"""So many passages in a row that give no query of a kind are the last that are asked for one."""


@dataclass(slots=True)
class Turns:
    """Passages dealt to kinds in order, so that each passage has one kind, whatever came before it.

    The next query is of the kind that is furthest behind its share, about the first passage left of
    those that were dealt to it. So neither failures nor the number of calls at once change what
    the others are about.
    """

    writer: Writer
    counts: Counter[str]
    waiting: dict[str, deque[Document]] = field(default_factory=lambda: defaultdict(deque))
    _in_vain: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, documents: Sequence[Document], writer: Writer) -> Turns:
        """The turns of passages in their order, less those that gave the writer a query already."""
        counts = Counter(str(query.metadata.get("kind", "")) for query in writer.already)
        result = cls(writer, counts)
        used = writer.used
        for document, kind in zip(documents, turns(writer.shares), strict=False):
            if document.id not in used:
                result.waiting[kind].append(document)
        return result

    def next(self, count: int = 1) -> list[PassageTurn]:
        """The next turns, if each gives a query; fewer where the passages run out."""
        counts = Counter(self.counts)
        places = Counter[str]()
        kinds = self._kinds()
        result: list[PassageTurn] = []
        while kinds and len(result) < count:
            kind = next_kind({k: self.writer.shares[k] for k in kinds}, counts)
            if places[kind] == len(self.waiting[kind]):
                kinds.remove(kind)
                continue
            result.append(self.writer.turn(self.waiting[kind][places[kind]], kind))
            counts[kind] += 1
            places[kind] += 1
        return result

    def take(self, turn: PassageTurn, *, is_fruitful: bool) -> None:
        """End a turn, which gave a query or none."""
        self.waiting[turn.kind].popleft()
        self.counts[turn.kind] += is_fruitful
        self._in_vain[turn.kind] = 0 if is_fruitful else self._in_vain[turn.kind] + 1

    @property
    def given_up(self) -> dict[str, int]:
        """The kinds of which passage after passage gave none, with how many there are."""
        kinds = self._kinds()
        return {kind: self.counts[kind] for kind in self.writer.shares if kind not in kinds}

    def _kinds(self) -> list[str]:
        """The kinds that are asked for; all where every one was in vain."""
        kinds = [kind for kind in self.writer.shares if self._in_vain[kind] < GIVE_UP]
        return kinds or list(self.writer.shares)


def passage_of(query: Query) -> str:
    """The id of the passage that a query was first written about."""
    return str((query.metadata.get("source") or [{"doc_id": ""}])[0]["doc_id"])
