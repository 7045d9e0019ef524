"""Which files become documents, and how long their passages are, as a person says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labeler.corpus.blocks import USUAL


@dataclass(frozen=True, slots=True)
class FileRules:
    """Which files are read, and how they are cut; the defaults are those of `ingest`.

    `include` and `exclude` are patterns as git has them in its `.gitignore`, which holds for what
    is below a folder unless `gitignore` is false. Source code is read with `code`. A passage has
    about `words` words.
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    gitignore: bool = True
    code: bool = False
    words: int = USUAL
