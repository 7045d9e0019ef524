"""`labeler relabel`: the pairs of one set of judgements, judged with another prompt or model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labeler.cli import model_options, options
from labeler.cli.diff import note_next, show_diff
from labeler.cli.numbers import SEED, number
from labeler.cli.progress import control_of
from labeler.cli.reporting import check_complete, show_judging, show_judging_plan, show_outcome
from labeler.cli.screen import result_width, say
from labeler.cli.signals import run_until_stopped
from labeler.errors import Misuse
from labeler.models.settings import Limits, Proof

if TYPE_CHECKING:
    from labeler.agreement.diff.diff import Diff
    from labeler.judging.relabel import RelabelResult


def command(
    folder: options.Folder,
    *,
    source: Annotated[
        str, typer.Option("--from", help="The judgements, or human, whose pairs are judged.")
    ],
    only: Annotated[
        str,
        typer.Option(
            metavar="PART",
            help="Of them alone disagreements (with people), disagreements:SET,..., failures, "
            "sample:500 or queries:FILE.",
        ),
    ] = "",
    seed: Annotated[int, number(SEED, help="Decides which pairs a sample draws.")] = 0,
    name: model_options.NewName = None,
    prompt: Annotated[
        str | None, typer.Option(help="A prompt's name, or a file's path; else four-grades.")
    ] = None,
    model: model_options.ModelName = None,
    model_file: model_options.ModelFile = None,
    base_url: model_options.BaseUrl = None,
    reparse: Annotated[
        bool, typer.Option("--reparse", help="Read the stored replies anew; ask nothing.")
    ] = False,
    limits: Limits,
    proof: Proof,
    flags: model_options.RunFlags,
    output: options.OutputFlags,
) -> None:
    """Judge the same pairs by another prompt or model; show what moved.

    With --only, the pairs that are left out stay unjudged under the new name.
    """
    from labeler.collection.layout import open_collection
    from labeler.judging.judge import JudgeOptions
    from labeler.judging.part import PartOfSet
    from labeler.judging.relabel import aplan_relabeling, arelabel, areparse
    from labeler.models.choose import model_in

    part = PartOfSet(only, seed)
    to, asks = (
        output.made_from(open_collection(folder).folder, *part.inputs),
        model_in(model, model_file, flags.assessor),
    )
    collection = open_collection(folder)
    if reparse:
        new = _checked(name, bool(asks or base_url), only)
        result = run_until_stopped(lambda _stop: areparse(collection, source, new, prompt))
        show_outcome(_Shown(result, source), _show, output, to)
        check_complete(result.judging, asked=False)
        return
    control = control_of(flags)
    settings = (flags.concurrency, flags.retry_failed, flags.redact, limits)
    asked = JudgeOptions(prompt or "", asks, base_url, name, *settings, proof=proof)
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_relabeling(collection, source, asked, control.with_stop(stop), part)
        )
        show_outcome(plan, show_judging_plan, output, to)
        return
    result = run_until_stopped(
        lambda stop: arelabel(collection, source, asked, control.with_stop(stop), part)
    )
    show_outcome(_Shown(result, source), _show, output, to)
    check_complete(result.judging)


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
        from labeler.agreement.diff.diff import diff_of_sets

        judging = self.result.judging
        names = self.source, judging.name
        return diff_of_sets(judging.job.collection, names, self.result.sets)

    def as_json(self) -> dict[str, Any]:
        """The counts and changes, and the diff, whose moves are those of the changes."""
        figures = self.diff.as_json()
        del figures["moves"]
        return {**self.result.as_json(), "diff": figures}


def _show(shown: _Shown) -> None:
    """Print what was done, and what moved from the old judgements to the new ones."""
    show_judging(shown.result.judging)
    say()
    show_diff(shown.diff, width=result_width())
    note_next(shown.result.judging.job.collection, shown.diff)
