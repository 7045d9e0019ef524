"""`labeler lab depth` and `labeler lab audit`: what rankings and published figures can promise."""

from __future__ import annotations

from typing import Annotated

from labeler.cli.options import Destination, argument
from labeler.cli.output import name_unread_runs, show, show_json, show_result, warn
from labeler.errors import Misuse
from labeler.evaluation.inputs import qrels_and_runs
from labeler.lab.audit import AuditOptions
from labeler.lab.audit import audit as audited
from labeler.lab.depth import DepthOptions, reader_depth


def depth(
    sources: Annotated[
        list[str],
        argument(
            "Judgements and runs; or a collection, and which of its qrels.",
            "QRELS RUNS... | COLL [NAME]",
        ),
    ],
    *,
    options: DepthOptions,
    to: Destination,
) -> None:
    """Say how many passages to hand to a reader, so that a relevant one is among them."""
    (qrels, *_), runs = qrels_and_runs(sources, 1)
    if not runs:
        raise Misuse("name a run beside the qrels", parameter="sources")
    name_unread_runs(*sources)
    depths = [reader_depth(qrels, run, options) for run in runs]
    warn(depths[0].findings)
    if to.form == "json":
        show_json({"systems": [each.as_json() for each in depths]}, to)
        return
    tables = [table for each in depths for table in each.tables()]
    show(["\n".join(line for each in depths for line in each.sentences), *tables], to)


def audit(*, options: AuditOptions, to: Destination) -> None:
    """Say what a published mean over so many queries can tell."""
    show_result(audited(options), to)
