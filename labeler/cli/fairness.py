"""What a pool leaves open, as `labeler evaluate` says it of a collection where it is asked to."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labeler.cli.options import OutputFlags
from labeler.cli.output import said_to, show, show_json
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import say
from labeler.collection.layout import open_collection
from labeler.collection.user_files import collection_qrels
from labeler.errors import Misuse, about
from labeler.options import TOP_GRADE, option
from labeler.pools.missed import missed
from labeler.pools.reuse import reuse

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

    def show(self, folder: Path, qrels: str | None, measure: str, output: OutputFlags) -> None:
        """Write what the pool of a collection leaves open."""
        with about("qrels"):
            name = collection_qrels(folder, qrels).stem
        if self.missed:
            _show_missed(folder, name, self.rel, output)
        else:
            _show_reuse(folder, name, measure, self.family, output)


def _show_missed(folder: Path, name: str, rel: int, output: OutputFlags) -> None:
    """How many relevant documents the pool missed, from the pairs sampled beyond it."""
    to = output.made_from(open_collection(folder).folder)
    try:
        result = missed(folder, name, rel)
    except Misuse as error:
        if error.parameter != "beyond":
            raise
        where = shlex.quote(str(folder))
        steps = f"labeler pool {where} --beyond 100, then labeler judge {where}"
        raise Misuse(f"the pool has no random sample beyond it; next: {steps}") from error
    show_outcome(result, lambda each: say(str(each)), output, to)


def _show_reuse(
    folder: Path, name: str, measure: str, families: Sequence[str], output: OutputFlags
) -> None:
    """How fair the pool is to a system that did not help to fill it."""
    to = output.made_from(open_collection(folder).folder)
    with about("measures", "measure"):
        result = reuse(folder, name, measure, families)
    if output.format == "json":
        show_json(result.as_json(), to)
    elif output.format == "table":
        with said_to(to):
            show(result.tables())
            for line in result.sentences():
                say(line)
    else:
        show(result.tables(), output.format, to)
