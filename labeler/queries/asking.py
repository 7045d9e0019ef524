"""What kinds of queries are written, and how they sound."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labeler.options import option
from labeler.queries.kinds import DEFAULT_MIX, KINDS, Mix, mix_of, mix_text, parse_mix

if TYPE_CHECKING:
    from labeler.queries.style import Style

ASKING = "Kinds of queries"
_SHARES = ", ".join(f"{kind}={share:g}" for kind, share in DEFAULT_MIX.items())


@dataclass(frozen=True, slots=True)
class Asking:
    """What kinds of queries are written, and how they sound.

    `mix` is the share of each kind, as `keyword=.5,question=.5`; empty, it is that of the queries
    in the file `like`, else `DEFAULT_MIX`. `language` is the name of one; empty, a query is in its
    passage's. `personas` is a file of people or tasks, one a line. `like` is a file of real
    queries, which stand in the prompts as examples, and whose lengths are asked for. With `topics`
    each query gets a description and a narrative.
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
    personas: Path | None = option(
        None, "People or tasks, one a line, who ask.", metavar="FILE", panel=ASKING, rare=True
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
        """What prompts are told of the person who searches; the files are read."""
        from labeler.queries.style import Style, read_like, read_personas  # --help needs none

        personas = read_personas(self.personas) if self.personas else ()
        return Style(self.language, personas, read_like(self.like) if self.like else ())

    def shares(self, style: Style) -> Mix:
        """The share of each kind."""
        if self.mix:
            return parse_mix(self.mix)
        return mix_of(style.like) if style.like else DEFAULT_MIX
