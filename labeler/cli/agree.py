"""`labeler agree`: how far assessors agree with human grades, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from labeler.agreement.agree import SYSTEMS, AgreeOptions, agree_all
from labeler.agreement.report import (
    AgreementResult,
    agreement_gates,
    held_agreement,
)
from labeler.agreement.shown import (
    joint_parts,
    overview_parts,
    report_parts,
    statistics_of_all,
)
from labeler.agreement.sources import sources_of
from labeler.cli.options import GATES, Destination, argument
from labeler.cli.output import name_unread_runs, show, show_json, warn
from labeler.cli.screen import note
from labeler.evaluation.rulings import check_gates, left_open
from labeler.judging.changes import texts_of_queries
from labeler.options import OUTPUT, option
from labeler.report.render import FORMS

IN_FULL = "one assessor named alone is shown in full, as is each of several with --details"


def command(
    sources: Annotated[
        list[str],
        argument(
            "Human qrels and other files of grades; or a collection, and names of its qrels.",
            "HUMAN OTHER... | COLL [human NAME...]",
        ),
    ],
    *,
    options: AgreeOptions,
    more_humans: tuple[str, ...] = option(
        (), "Another person's qrels: adds the ceiling; repeatable.", flags="--human"
    ),
    runs: tuple[Path, ...] = option(
        (), "A run, or a folder of runs, to rank by both; repeatable.", flags="--run", panel=SYSTEMS
    ),
    require: tuple[str, ...] = option(
        (),
        "A gate, as kappa-quadratic:0.6: exit 5 where it is shown to lie below; repeatable.",
        panel=GATES,
    ),
    require_low: tuple[str, ...] = option(
        (),
        "The same of the interval's low end (the high one where less is better).",
        panel=GATES,
        rare=True,
    ),
    details: bool = option(
        False,
        "Also by query, and calibration; all of that of each of several.",
        panel=OUTPUT,
    ),
    to: Destination,
) -> None:
    """Say how far assessors agree with people, and how sure that is.

    It says what was left out, too.
    """
    gates = [*agreement_gates(require), *agreement_gates(require_low, low_end=True)]
    statistics = options.statistics.names
    options = replace(options, gated=tuple(gate.name for gate in gates))
    opened = sources_of(sources[0], sources[1:], runs, more_humans, options.stale)
    name_unread_runs(sources[0], *runs)
    result = AgreementResult(agree_all(opened, options))
    reports = result.assessors
    rulings = held_agreement(reports, gates)
    first = left_open(rulings) if rulings else []
    for_people, is_overview = FORMS[to.form].for_people, len(reports) > 1 and not details
    if to.form == "json":
        show_json(result.as_json(details=details), to, indent=2)
    elif not for_people:
        show([statistics_of_all(reports, statistics)], to)
    elif is_overview:
        show([*first, *overview_parts(reports, statistics)], to)
    else:
        texts = {} if opened.collection is None else texts_of_queries(opened.collection)
        parts = (part for own in reports for part in report_parts(own, texts, details=details))
        show([*first, *parts, *joint_parts(reports)], to)
    warn(result.findings)
    if for_people and is_overview:
        note(IN_FULL)
    if rulings:
        check_gates(rulings)
