"""`labeler relabel`: the pairs of one set of judgements, judged with another prompt or model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from labeler.cli.diff import note_next, show_diff
from labeler.cli.model_options import NamedModel, ShownFlags
from labeler.cli.options import Destination, Opened
from labeler.cli.process import run_until_stopped
from labeler.cli.reporting import (
    asked,
    check_complete,
    show_judging,
    show_judging_plan,
    show_outcome,
)
from labeler.cli.screen import say
from labeler.errors import Misuse
from labeler.judging.judge import JudgeOptions
from labeler.judging.relabel import PartOfSet, RelabelResult, arelabel, areparse
from labeler.options import REQUIRED, option

if TYPE_CHECKING:
    from labeler.agreement.diff.diff import Diff


def command(
    collection: Opened,
    *,
    source: str = option(
        REQUIRED, "The judgements, or human, whose pairs are judged.", flags="--from"
    ),
    part: PartOfSet,
    options: JudgeOptions,
    who: NamedModel,
    reparse: bool = option(False, "Read the stored replies anew; ask nothing."),
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Judge the same pairs by another prompt or model; show what moved.

    With --only, the pairs that are left out stay unjudged under the new name.
    """
    how = who.asking(options)
    if reparse:
        new = _checked(how.name, bool(how.model or how.base_url), part.only)
        prompt = how.prompt or None
        result = run_until_stopped(lambda _stop: areparse(collection, source, new, prompt))
        show_outcome(_Shown(result, source), _show, to)
        check_complete(result.judging, asked=False)
        return
    act = partial(arelabel, collection, source, how, only=part)
    new_set = asked(flags, act, show_judging_plan, to)
    show_outcome(_Shown(new_set, source), _show, to)
    check_complete(new_set.judging)


def _checked(name: str | None, names_model: bool, only: str) -> str:
    """The name of the judgements that reading replies anew makes."""
    if not name:
        raise Misuse("--reparse needs --as NAME for the new judgements")
    if names_model:
        raise Misuse("--reparse asks no model; --model and --base-url do not go with it")
    if only:
        raise Misuse("--reparse reads all replies anew, at no cost; --only does not go with it")
    return name


@dataclass(frozen=True)
class _Shown:
    """The new judgements, with the diff from the old ones."""

    result: RelabelResult
    source: str

    @cached_property
    def diff(self) -> Diff:
        """What moved from the old judgements to the new ones, and what that brought."""
        from labeler.agreement.diff.diff import diff_of
        from labeler.agreement.diff.sides import sides_of_sets

        judging = self.result.judging
        return diff_of(
            sides_of_sets(judging.job.collection, (self.source, judging.name), self.result.sets)
        )

    def as_json(self) -> dict[str, Any]:
        """The counts and changes, and the diff, whose moves are those of the changes."""
        figures = self.diff.as_json()
        del figures["moves"]
        return {**self.result.as_json(), "diff": figures}


def _show(shown: _Shown) -> None:
    """Print what was done, and what moved from the old judgements to the new ones."""
    show_judging(shown.result.judging)
    say()
    show_diff(shown.diff)
    note_next(shown.result.judging.job.collection, shown.diff)
