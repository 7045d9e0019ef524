"""`labeler index`: the vectors of a corpus in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli import encoder_options  # noqa: F401  registers options
from labeler.cli.model_options import DryRun
from labeler.cli.options import Folder, OutputFlags, unfolded
from labeler.cli.progress import control_of
from labeler.cli.reporting import show_encoding_plan, show_outcome
from labeler.cli.screen import note, say
from labeler.cli.vector_options import ADDRESS, DATABASE
from labeler.messages import count_of
from labeler.models.encoder_options import EncoderOptions
from labeler.models.limits import Limits

if TYPE_CHECKING:
    from labeler.runs.uploading import IndexResult


@unfolded
def command(
    folder: Folder,
    *,
    vectors: Annotated[
        str, typer.Option(metavar="ADDRESS", help=f"Where to: {ADDRESS}", rich_help_panel=DATABASE)
    ],
    hnsw: Annotated[
        bool,
        typer.Option(
            "--hnsw",
            help="Let PostgreSQL build an HNSW index in the end; Qdrant always builds one.",
            rich_help_panel=DATABASE,
        ),
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="Bring another collection's vectors to this one's state.",
            rich_help_panel=DATABASE,
        ),
    ] = False,
    encoder: EncoderOptions,
    limits: Limits,
    dry_run: DryRun = False,
    output: OutputFlags,
) -> None:
    """Put the documents' vectors into a database, where `retrieve` and `pool` search them.

    Run it again after a kill or after `update`: only what is missing there is encoded and sent.
    """
    from labeler.collection.layout import open_collection
    from labeler.models.encoders import Encoding
    from labeler.runs.index import index, plan_index
    from labeler.runs.uploading import IndexOptions

    to = output.made_from(open_collection(folder).folder)
    encoding = Encoding(encoder, limits)
    if dry_run:
        show_encoding_plan(plan_index(folder, vectors, encoding), output, to)
        return
    options = IndexOptions(hnsw, take_over)
    result = index(folder, vectors, encoding, options, control_of())
    show_outcome(result, _show, output, to)
    note(f"next: labeler retrieve {folder} --as NAME --vectors '{result.address}'")


def _show(result: IndexResult) -> None:
    documents = count_of(result.documents, "document", "documents")
    removed = f"; {result.removed:,} removed" if result.removed else ""
    say(
        f"{documents} at {result.address}: {result.new:,} new, {result.changed:,} changed, "
        f"{result.same:,} as before{removed}"
    )
    say(f"encoder {result.encoder}, {result.dimensions:,} numbers a vector; {result.index}")
