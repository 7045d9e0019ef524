"""How queries should sound: the language, and queries of the user's own as models."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from labeler.data import Document
from labeler.exchange.queries import read_query_list
from labeler.options import option
from labeler.queries.filter import words
from labeler.queries.kinds import DEFAULT_MIX, KINDS, Mix, kind_of, mix_of, mix_text, parse_mix

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
        by_kind: dict[str, list[str]] = {}
        for text in self.like:
            by_kind.setdefault(kind_of(text), []).append(text)
        return by_kind

    def length(self, document: Document, kind: str, seed: int) -> int | None:
        """How many words a query about a passage should have: as many as a real one of its kind."""
        if not self.like:
            return None
        models = self._like_by_kind.get(kind) or self.like
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


def read_like(path: Path | str) -> Sequence[str]:
    """The texts of the queries of a file of any usual form, each once, in order."""
    texts = (" ".join(query.text.split()) for query in read_query_list(path).values())
    return tuple(dict.fromkeys(text for text in texts if words(text)))


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "mix", mix_text(self.mix))  # which may be a dict

    def style(self) -> Style:
        """What prompts are told of the person who searches; the file is read."""
        return Style(self.language, read_like(self.like) if self.like else ())

    def shares(self, style: Style) -> Mix:
        """The share of each kind."""
        if self.mix:
            return parse_mix(self.mix)
        return mix_of(style.like) if style.like else DEFAULT_MIX
