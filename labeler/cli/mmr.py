"""`labeler runs mmr`: a run re-ranked for diversity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import FORCE, OUTPUT
from labeler.cli.progress import control_of
from labeler.cli.screen import note
from labeler.models.encoder_options import EncoderOptions
from labeler.models.settings import Limits
from labeler.options import COUNT, REQUIRED, SHARE, option


def command(
    run: Annotated[Path, typer.Argument(help="The run to re-rank; - is standard input.")],
    collection: Annotated[Path, typer.Argument(metavar="COLL", help="Whose documents it ranks.")],
    *,
    output: Path = option(
        REQUIRED, "The run to write (.gz is compressed).", flags="--output -o", panel=OUTPUT
    ),
    balance: float = option(
        0.5, "1 keeps the run's order, 0 looks at novelty alone.", SHARE, flags="--lambda"
    ),
    depth: int = option(100, "Documents to re-rank and keep a query.", COUNT),
    tag: str = option("mmr", "The run's last column.", panel=OUTPUT),
    encoder: EncoderOptions,
    limits: Limits,
    force: bool = option(False, FORCE),
) -> None:
    """Re-rank a run by maximal marginal relevance, with an encoder's vectors."""
    from labeler.collection.layout import open_collection
    from labeler.collection.user_files import Output
    from labeler.files.read import rereadable
    from labeler.models.encoders import EncoderTexts, Encoding
    from labeler.runs.mmr import Diversity, diversify, texts_to_diversify

    opened = open_collection(collection)
    to = Output(output, force, (run, opened.corpus))
    to.check()
    diversity = Diversity(balance, depth, tag)
    encoder.check()
    with rereadable():
        texts = [] if encoder.is_embedded else texts_to_diversify(run, opened.corpus, depth)
        ready = Encoding(encoder, limits).ready(opened.vectors, EncoderTexts(texts), control_of())
        lines = diversify(run, opened.corpus, ready.documents, to, diversity)
    note(f"wrote {output}: {lines:,} lines")
