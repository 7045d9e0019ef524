"""`labeler compare`: which of some systems to take, how sure that is, what would make it surer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.evaluate import GateFlags
from labeler.cli.model_options import NamedModel, ShownFlags
from labeler.cli.options import Folder, OutputFlags
from labeler.cli.output import show, show_json, warn
from labeler.cli.reporting import asked, control_of, show_judging_plan
from labeler.cli.screen import note
from labeler.collection.layout import open_collection
from labeler.collection.user_files import Output
from labeler.errors import Misuse, about
from labeler.judging.judge import JudgeOptions
from labeler.models.settings import Limits
from labeler.options import OUTPUT, option
from labeler.pipeline.compare import CompareOptions, ajudge_missing, compared_systems, result_of
from labeler.pipeline.decision import write_decision


def command(
    folder: Folder,
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEM...",
            help="Names of its runs, files, or MODULE:RETRIEVER; each also as NAME=SYSTEM.",
        ),
    ],
    *,
    options: CompareOptions,
    gates: GateFlags,
    html: Path | None = option(
        None, "Write the page of the decision, with every query.", metavar="FILE", panel=OUTPUT
    ),
    prompt: str = option("", "Of the assessor that fills holes: its grading prompt."),
    who: NamedModel,
    limits: Limits,
    flags: ShownFlags,
    output: OutputFlags,
) -> None:
    """Say which of two systems to take, how sure that is, what would help.

    With --fill and --model, or an assessor declared so, what nobody judged of these systems is
    judged first.
    """
    collection = open_collection(folder)
    to = output.made_from(collection.folder)
    page = None if html is None else Output(html, output.force, (collection.folder,))
    if page is not None:
        page.check()
    held = gates.read()
    measures = (*options.measures, *(str(gate.measure) for gate in (held.scores if held else ())))
    if held and held.groups:
        raise Misuse("gates on groups are those of evaluate", parameter="require")
    how = replace(
        options,
        measures=tuple(dict.fromkeys(measures)),
        baseline=gates.no_worse_than,
        margins=gates.margins(options.measures),
    )
    with about("no_worse_than", "baseline"):
        sides = compared_systems(collection, systems, how, control_of(flags))
    judging = JudgeOptions(prompt, limits=limits)
    judging = who.asking(judging)
    if judging.model is not None and sides.missing:
        if not options.fill:
            raise Misuse("name the assessor whose grades fill the holes", parameter="fill")
        judged = asked(flags, partial(ajudge_missing, sides, judging), show_judging_plan, to)
        if judged is None:
            return
        sides = replace(sides)
    result = result_of(sides)
    if page is not None:
        write_decision(result, page)
        note(f"wrote {page.path}")
    if to.form == "json":
        show_json(result.as_json(), to)
    else:
        show(["\n".join(result.sentences), *result.tables()], to)
    warn(result.findings)
    gates.check(result.report, held)
