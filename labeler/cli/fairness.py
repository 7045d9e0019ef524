"""What a pool leaves open, as `labeler evaluate` says it of a collection where it is asked to."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.output import show_result, warn
from labeler.collection.layout import open_collection
from labeler.collection.user_files import collection_qrels
from labeler.errors import Misuse, about
from labeler.options import TOP_GRADE, option
from labeler.pools.missed import Missed, missed
from labeler.pools.reuse import Reusability, reuse

PANEL = "What the pool leaves open"


@dataclass(frozen=True, slots=True)
class FairnessFlags:
    """Whether it is said what a collection's pool leaves open, in place of scores."""

    missed: bool = option(
        False, "How many relevant documents the pool missed, by its random sample.", panel=PANEL
    )
    reuse: bool = option(
        False, "Leave each run out of the pool in turn: how would its score change?", panel=PANEL
    )
    rel: int = option(
        1, "The lowest grade that counts as relevant.", TOP_GRADE, panel=PANEL, rare=True
    )
    family: tuple[str, ...] = option(
        (), "Of --reuse: runs to leave out together; repeatable.", metavar="RUN,RUN", rare=True
    )

    @property
    def is_asked(self) -> bool:
        """Whether it is to be said; `Misuse` of both at once, or of families of nothing."""
        if self.missed and self.reuse:
            raise Misuse("one at a time", parameter="missed")
        if self.family and not self.reuse:
            raise Misuse("it goes with --reuse", parameter="family")
        return self.missed or self.reuse

    def show(
        self,
        context: typer.Context,
        folder: Path,
        qrels: str | None,
        measure: str,
        output: OutputFlags,
    ) -> None:
        """Write what the pool of a collection leaves open."""
        with about("qrels"):
            name = collection_qrels(folder, qrels).stem
        to = output.made_from(open_collection(folder).folder)
        if self.missed:
            result: Missed | Reusability = _missed(folder, name, self.rel)
        else:
            with about("measures", "measure"):
                result = reuse(folder, name, measure, self.family)
        show_result(result, output.format, to)
        warn(context, result.findings)


def _missed(folder: Path, name: str, rel: int) -> Missed:
    """How many relevant documents the pool missed, from the pairs sampled beyond it."""
    try:
        return missed(folder, name, rel)
    except Misuse as error:
        if error.parameter != "beyond":
            raise
        where = shlex.quote(str(folder))
        steps = f"labeler pool {where} --beyond 100, then labeler judge {where}"
        raise Misuse(f"the pool has no random sample beyond it; next: {steps}") from error
