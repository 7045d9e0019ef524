"""`labeler lab cascade`: a strong assessor's grades where a cheap one is unsure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from labeler.cli import model_options, options
from labeler.models.settings import Limits, Proof
from labeler.options import SEED, SHARE, option

if TYPE_CHECKING:
    from labeler.lab.cascade.cascade import CascadePlan, CascadeResult


def command(
    context: typer.Context,
    folder: options.Folder,
    cheap: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="The cheap assessor's judgements; further sets help to tell where it is unsure.",
        ),
    ],
    *,
    name: str | None = option(None, "The judgements' name; else NAME-cascade.", flags="--as"),
    people: str | None = option(None, "Human qrels of pairs drawn by chance.", metavar="QRELS"),
    by: Literal["doubt", "entropy", "disagreement"] | None = option(
        None, "What tells that it is unsure (default: disagreement, or doubt)."
    ),
    share: float | None = option(None, "Send this share of the pairs; choose no threshold.", SHARE),
    tolerance: float = option(
        0.01, "How much agreement with people the threshold may lose.", SHARE
    ),
    statistic: str = option(
        "kappa", "Of agreement, of which little is lost.", flags="-s --statistic"
    ),
    prompt: str = option("", "The strong assessor's prompt."),
    model: str | None = option(None, model_options.MODEL_NAME),
    model_file: Path | None = option(None, model_options.MODEL_FILE),
    base_url: str | None = option(None, model_options.BASE_URL),
    seed: int = option(0, "Of the folds of queries, and of ties in doubt.", SEED),
    limits: Limits,
    proof: Proof,
    flags: model_options.RunFlags,
    output: options.OutputFlags,
) -> None:
    """Ask a strong assessor about the pairs of which a cheap one is unsure.

    It asks about the pairs that the cheap one failed on, too.

    From where on it is unsure is chosen on people's grades, and checked on other queries of theirs.
    """
    from labeler.cli.output import warn
    from labeler.cli.progress import control_of
    from labeler.cli.reporting import show_outcome
    from labeler.cli.signals import run_until_stopped
    from labeler.collection.layout import open_collection
    from labeler.errors import Incomplete
    from labeler.judging.judge import JudgeOptions
    from labeler.lab.cascade.cascade import CascadeOptions, acascade, aplan_cascade
    from labeler.models.choose import model_in

    to = output.made_from(open_collection(folder).folder)
    settings = (flags.concurrency, flags.retry_failed, flags.redact, limits)
    judging = JudgeOptions(
        prompt, model_in(model, model_file, flags.assessor), base_url, None, *settings, proof=proof
    )
    asked = CascadeOptions(name, people, by, share, tolerance, statistic, seed, judging)
    control = control_of(flags)
    if flags.dry_run:
        plan = run_until_stopped(
            lambda stop: aplan_cascade(folder, cheap, asked, control.with_stop(stop))
        )
        show_outcome(plan, _show_plan, output, to)
        return
    result = run_until_stopped(lambda stop: acascade(folder, cheap, asked, control.with_stop(stop)))
    show_outcome(result, _show, output, to)
    warn(context, result.findings)
    if result.failures:
        problem = f"{len(result.failures):,} of {result.pairs:,} pairs have no grade"
        raise Incomplete(problem, again={"retry_failed": True})


def _show(result: CascadeResult) -> None:
    from labeler.cli.output import show

    show(["\n".join(result.sentences), *result.tables()], "table")


def _show_plan(plan: CascadePlan) -> None:
    from labeler.cli.reporting import show_judging_plan
    from labeler.cli.screen import say

    say("to choose the threshold:")
    show_judging_plan(plan.threshold)
    say("\nat most, were all pairs sent:")
    show_judging_plan(plan.whole)
