"""The tokens of Markdown, those of its blocks apart from those of the words in one of them.

A token takes some 500 bytes and may stand for a single character. So the words of one block alone
are held as tokens, and there are bounds to how many tokens there are.
"""

from __future__ import annotations

from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from labeler.errors import TooLarge
from labeler.files.jsonl import JsonObject

MOST_TOKENS = 1_000_000
"""The most tokens of a document's blocks: an item of a list has five, a cell has one.

So many take 0.6 GB.
"""

MOST_IN_BLOCK = 100_000
"""The most tokens of the words in one block; what follows them is kept as it is written."""

_CELLS = ("td_open", "td_close", "th_open", "th_close")


class _Blocks(StateBlock):
    """The state of the parser of blocks, in which a table's cells are their words alone."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        """Add a token, if the document may have more."""
        token = super().push(ttype, tag, nesting)
        if ttype in _CELLS:
            self.tokens.pop()
        elif len(self.tokens) > MOST_TOKENS:
            raise TooLarge(f"more than {MOST_TOKENS:,} marks of blocks in it; divide the file")
        return token


def block_tokens(parser: MarkdownIt, text: str, env: JsonObject) -> list[Token]:
    """The tokens of a text's blocks; the words in them are not read yet."""
    state = _Blocks(text, parser, env, [])
    parser.block.tokenize(state, state.line, state.lineMax)
    return state.tokens


def rest_as_it_is(state: StateInline, _silent: bool) -> bool:
    """Once there are as many tokens as a block may have, let the rest of it be one text."""
    if len(state.tokens) < MOST_IN_BLOCK:
        return False
    state.pending += state.src[state.pos : state.posMax]
    state.pos = state.posMax
    return True
