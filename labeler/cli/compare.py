"""`labeler compare`: which of some systems to take, how sure that is, what would make it surer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from labeler.cli.evaluate import GateFlags
from labeler.cli.model_options import NamedModel, ShownFlags
from labeler.cli.options import GATES, Destination, Opened, argument
from labeler.cli.output import show_result
from labeler.cli.reporting import asked, control_of, show_judging_plan
from labeler.cli.screen import note
from labeler.errors import Incomplete, Misuse, about
from labeler.evaluation.equivalence import DEFAULT_MARGIN, margins_by_measure, read_margins
from labeler.evaluation.gates import outcome_of
from labeler.evaluation.looks import keep_looks, slow_losses
from labeler.evaluation.rulings import check_gates
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.models.settings import Limits
from labeler.options import OUTPUT, option
from labeler.pipeline.compare import (
    CompareOptions,
    ajudge_missing,
    compared_systems,
    result_of,
)
from labeler.pipeline.decide import Decision, adecide
from labeler.pipeline.decision import decision_page


@dataclass(frozen=True, slots=True)
class LossFlags:
    """How much a system may lose against another one; else the command ends with exit code 5."""

    no_worse_than: str | None = option(
        None,
        "A gate: exit 5 unless runs are shown to lose less than a margin against it.",
        metavar="RUN",
        panel=GATES,
    )
    margin: tuple[str, ...] = option(
        (),
        "What may be lost, or does not matter: 0.05 (the default) or AP:0.02; repeatable.",
        panel=GATES,
    )

    def margins(self, measures: Sequence[str]) -> dict[str, float]:
        """The margins by measure; a gate has a default one, by what `-m` names or else nDCG@10."""
        is_gate = bool(self.no_worse_than)
        return margins_by_measure(read_margins(self.margin), measures, default=is_gate)

    def deciding(self, options: CompareOptions, *others: object) -> dict[str, Any]:
        """By what is decided: the first measure, its margin; `Misuse` with any gate or `others`."""
        if any((self.no_worse_than, options.history, options.policy != "each", *others)):
            raise Misuse(
                "gates and pages need all grades; fill holes first, by one assessor",
                parameter="fill",
            )
        if len(options.measures) > 1:
            raise Misuse("a decision is by one measure", parameter="measures")
        measure = str(parse(options.measures[0]))
        margins = self.margins([measure])
        if margins and measure not in margins:
            raise Misuse(f"the decision is by {measure}, the margin is not", parameter="margin")
        return {
            "measure": measure,
            "margin": margins.get(measure, DEFAULT_MARGIN),
            "qrels": options.qrels,
            "seed": options.seed,
            "people": options.people,
            "person_price": options.person_price,
        }


def _show_decision(decision: Decision, to: Destination, sheet: Path | None) -> None:
    """What is decided, and what becomes of a sheet; raises what ended it before."""
    show_result(decision, to)
    if decision.sheet:
        folder, name = decision.systems.collection.folder, decision.systems.qrels.stem
        note(f"when graded: labeler people import {sheet} {folder} --as {name}")
        note(f"or on a page: labeler annotate {folder} --sample {decision.sheet.id}")
    if decision.stopped:
        raise decision.stopped
    if decision.sheet:
        raise Incomplete(f"not known yet; people grade {count_of(decision.sheet.pairs, 'pair')}")
    if decision.verdict == "not known yet":
        raise Incomplete("not known yet, as some pairs have no grade")


def command(
    collection: Opened,
    systems: Annotated[
        list[str],
        argument(
            "Names of its runs, files, or MODULE:RETRIEVER; each also as NAME=SYSTEM.", "SYSTEM..."
        ),
    ],
    *,
    options: CompareOptions,
    gates: GateFlags,
    loss: LossFlags,
    html: Path | None = option(
        None, "Write the page of the decision, with every query.", metavar="FILE", panel=OUTPUT
    ),
    sheet: Path | None = option(
        None,
        "Decide by people's grades: write the pairs that they are to grade next.",
        metavar="FILE",
    ),
    prompt: str = option("", "Of the assessor that fills holes: its grading prompt.", rare=True),
    who: NamedModel,
    limits: Limits,
    flags: ShownFlags,
    to: Destination,
) -> None:
    """Say which of two systems to take, how sure that is, what would help.

    With --assessor, it judges no more pairs than that takes, or than a margin that does not matter;
    with --sheet or --people, people do, and the assessor forecasts them.
    With --fill and --model, or --assessor, all that nobody judged of these systems is judged first.
    """
    judging = who.asking(JudgeOptions(prompt, limits=limits))
    is_of_people = bool(sheet or options.people)
    if is_of_people or (who.assessor and not options.fill):
        how = loss.deciding(options, gates.require, html, options.fill)
        if flags.dry_run and not who.assessor:
            raise Misuse("without an assessor no model is asked; leave it out", parameter="dry_run")
        how |= {"sheet": to.beside(sheet), "judging": judging if who.assessor else None}
        decide = partial(adecide, collection, systems, **how)
        _show_decision(asked(flags, decide, show_judging_plan, to), to, sheet)
        return
    page = to.beside(html)
    held, is_gate = gates.read(), bool(loss.no_worse_than or options.history)
    measures = (*options.measures, *(gate.name for gate in held))
    if any(gate.by for gate in held):
        raise Misuse("gates on groups are those of evaluate", parameter="require")
    sides_by = replace(
        options,
        measures=tuple(dict.fromkeys(measures)),
        baseline=loss.no_worse_than,
        margins=loss.margins(options.measures),
    )
    with about("no_worse_than", "baseline"):
        sides = compared_systems(collection, systems, sides_by, control_of(flags))
    judged: JudgeResult | None = None
    if judging.model is not None and sides.missing:
        if not options.fill:
            raise Misuse("name the assessor whose grades fill the holes", parameter="fill")
        judged = asked(flags, partial(ajudge_missing, sides, judging), show_judging_plan, to)
        sides = replace(sides)
    result = result_of(sides)
    if held or is_gate:
        of = outcome_of(result.report, held, no_worse_than=is_gate)
        report = replace(result.report, gates=[*of, *slow_losses(result.looks)])
        result = replace(result, report=report)
    if page is not None:
        page.write(decision_page(result).html())
        note(f"wrote {page.path}")
    show_result(result, to)
    if options.history:  # the look is kept, whatever did not pass
        keep_looks(options.history, result.looks)
    check_gates(result.report.gates)
    if judged and judged.stopped:
        raise judged.stopped
