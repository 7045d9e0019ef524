"""Kinds of queries, how many of each a collection has, and how they should sound."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from labeler.data import Document
from labeler.errors import Misuse, check_known
from labeler.exchange.queries import read_query_list
from labeler.exchange.ratings import number_of
from labeler.messages import squeezed
from labeler.options import option
from labeler.queries.filter import words

Mix = Mapping[str, float]
"""The share of each kind; shares sum to 1."""


class QueryKind(NamedTuple):
    """How many passages a query of a kind is written about, and how long it may be."""

    passages: int = 1
    max_words: int = 12


KINDS = {
    "keyword": QueryKind(max_words=8),  # two to five words, as most people type
    "question": QueryKind(),  # what, why, which, when, can
    "how-to": QueryKind(),  # a task to do, or trouble to get out of
    "known-item": QueryKind(max_words=8),  # a page that the person knows to exist
    "comparative": QueryKind(passages=2),  # a choice between two things
    "multi-passage": QueryKind(passages=2, max_words=14),  # takes two passages to answer
    "vague": QueryKind(max_words=4),  # one to three words that say too little
}
"""The kinds of queries, by the names of the shipped prompts that write them."""

DEFAULT_MIX: Mix = {"keyword": 0.4, "question": 0.2, "how-to": 0.2, "known-item": 0.1, "vague": 0.1}
"""People type keywords more often than sentences, also where they search documentation.

Of the queries of TREC DL 2023, which are real, 4 % are questions; those that GPT-4 wrote for it all
are. A fifth of questions leaves room for assistants. Kinds of two passages are had by asking for
them.
"""


def parse_mix(text: str) -> Mix:
    """The shares in a text, as `keyword=.3,question=.7`, divided by their sum.

    >>> parse_mix("keyword=3,how-to=1")
    {'keyword': 0.75, 'how-to': 0.25}
    """
    shares = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, share = (piece.strip() for piece in part.partition("="))
        check_known("kind of queries", name, KINDS, "mix")
        number = number_of(share)
        if number is None or not 0 <= number <= 1e6:
            raise Misuse(
                f"expected a share of {name!r} from 0 up, as {name}=.3, found {share!r:.40}",
                parameter="mix",
            )
        shares[name] = number
    total = sum(shares.values())
    if not total:
        raise Misuse("expected shares, as keyword=.5,question=.5", parameter="mix")
    return {name: share / total for name, share in shares.items() if share}


def next_kind(mix: Mix, counts: Mapping[str, int]) -> str:
    """The kind that is furthest behind its share; of equals, the first of the mix.

    >>> next_kind({"a": 0.5, "b": 0.5}, {"a": 1})
    'b'
    """
    total = sum(counts.values()) + 1
    return max(mix, key=lambda kind: round(mix[kind] * total - counts.get(kind, 0), 9))


def turns(mix: Mix) -> Iterator[str]:
    """Kinds without end, of which every beginning has the shares as nearly as can be."""
    given = Counter[str]()
    while True:
        kind = next_kind(mix, given)
        given[kind] += 1
        yield kind


_COMPARES = re.compile(r"(?i)\b(?:vs\.?|versus|differences? between|compared?|better than)\b")
_CHOOSES = re.compile(
    r"(?i)\b(?:vs\.?|versus|or|than|between|differ\w*|compar\w*|instead of|rather|which)\b"
)
_DOES = re.compile(
    r"(?i)^how (?:to|do|does|can|could|should|would)\b|^(?:steps|guide|tutorial)\b"
    r"|\b(?:error|fails?|failed|fix|broken|(?:not|n['’]t|never) (?:work|start|load|connect|open))",
)
_ASKS = re.compile(
    r"(?i)^(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could"
    r"|should|would|will|has|have|may|must)(?:['’]s|['’]re)?\s",
)


def is_question(text: str) -> bool:
    """Whether a query is a question: by its mark, or by its first word, in English."""
    return text.rstrip().endswith(("?", "？", "؟")) or bool(_ASKS.match(text))


def kind_of(text: str) -> str:
    """The kind that a query of somebody's looks like, as far as its words tell.

    >>> [kind_of(text) for text in ("usb hub", "how to pair a mouse", "lcd vs oled", "is it oled")]
    ['keyword', 'how-to', 'comparative', 'question']
    """
    if _COMPARES.search(text):
        return "comparative"
    if _DOES.search(text):
        return "how-to"
    if is_question(text):
        return "question"
    return "keyword"


def not_of_its_kind(text: str, kind: str) -> str:
    """Why a query in English is not of the kind that it was written as; empty where it may be.

    >>> not_of_its_kind("to use a favicon", "question")
    'no question'
    """
    if kind == "question" and not is_question(text):
        return "no question"
    if kind == "comparative" and not _CHOOSES.search(text):
        return "compares nothing"
    return ""


def beside_real(written: Sequence[str], real: Path) -> str:
    """How long written queries and those of a file are, and how many of them are questions."""
    sides = written, [query.text for query in read_query_list(real).values()]
    ours, theirs = (
        f"{median(len(words(text)) for text in texts):g} words in the median, "
        f"{fmean(map(is_question, texts)):.0%} questions"
        for texts in sides
    )
    return f"generated queries: {ours}; real ones: {theirs}"


def mix_of(texts: Sequence[str]) -> Mix:
    """The shares of the kinds that queries of somebody's look like."""
    counts = Counter(kind_of(text) for text in texts if words(text))
    return {kind: count / counts.total() for kind, count in counts.most_common()}


SHOWN = 5
"""So many real queries stand in a prompt as examples."""


@dataclass(frozen=True)
class Style:
    """What a prompt is told of the person who searches.

    `language` is the name of one, as `German`; `like` are real queries, of which each passage gets
    some as examples, and the length of one. Empty, each says nothing.
    """

    language: str = ""
    like: Sequence[str] = ()

    @cached_property
    def _like_by_kind(self) -> Mapping[str, list[str]]:
        by_kind = defaultdict(list)
        for text in self.like:
            by_kind[kind_of(text)].append(text)
        return by_kind

    def length(self, document: Document, kind: str, seed: int) -> int | None:
        """How many words a query about a passage should have: as many as a real one of its kind."""
        models = self._like_by_kind.get(kind) or self.like
        if not models:
            return None
        return max(1, len(words(_chance(seed, document, "length").choice(models))))

    def values(self, document: Document, kind: str, seed: int) -> dict[str, str]:
        """What stands in a prompt about a passage."""
        length = self.length(document, kind, seed)
        models = self._like_by_kind.get(kind) or self.like
        chance = _chance(seed, document, "examples")
        return {
            "language": self.language,
            "examples": " | ".join(chance.sample(models, min(SHOWN, len(models)))),
            "length": str(length or ""),
        }


def _chance(seed: int, document: Document, what: str) -> random.Random:
    return random.Random(f"{seed}\0{document.id}\0{what}")


ASKING = "Kinds of queries"
_SHARES = ", ".join(f"{kind}={share:g}" for kind, share in DEFAULT_MIX.items())


@dataclass(frozen=True, slots=True)
class Asking:
    """What kinds of queries are written, and how they sound.

    `mix` is the share of each kind, as `keyword=.5,question=.5`; empty, it is that of the queries
    in the file `like`, else `DEFAULT_MIX`. `language` is the name of one; empty, a query is in its
    passage's. `like` is a file of real queries, which stand in the prompts as examples, and whose
    lengths are asked for. With `topics` each query gets a description and a narrative.
    """

    mix: str = option(
        "",
        f"The share of each kind of {', '.join(KINDS)}. Default: {_SHARES}, or of your own.",
        metavar="KIND=SHARE,...",
        panel=ASKING,
    )
    language: str = option(
        "",
        "Write in this language, as German. Default: the passage's.",
        metavar="NAME",
        panel=ASKING,
        rare=True,
    )
    like: Path | None = option(
        None,
        "Your own real queries: their mix of kinds, lengths and style are matched.",
        metavar="FILE",
        panel=ASKING,
    )
    topics: bool = option(
        True,
        "Write a description and a narrative with each query, a call each.",
        panel=ASKING,
        rare=True,
    )

    def style(self) -> Style:
        """What prompts are told of the person who searches; the file is read."""
        queries = read_query_list(self.like).values() if self.like else ()
        texts = (squeezed(query.text) for query in queries)
        return Style(self.language, tuple(dict.fromkeys(text for text in texts if words(text))))

    def shares(self, style: Style) -> Mix:
        """The share of each kind."""
        if self.mix:
            return parse_mix(self.mix)
        return mix_of(style.like) if style.like else DEFAULT_MIX
