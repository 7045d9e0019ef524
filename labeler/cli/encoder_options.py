"""Options of the commands that encode texts: with which encoder, and within which limits."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from labeler.cli.model_options import LIMITS
from labeler.cli.options import OPTIONS_OF
from labeler.models.encoder_options import EncoderOptions

ENCODER = "Encoder"

_TEXTS = {
    "encoder": (
        "NAME",
        "wordllama, model2vec:FOLDER, fastembed:FOLDER, or a server's model (LABELER_ENCODER).",
    ),
    "embeddings_url": ("URL", "An OpenAI-compatible server (LABELER_EMBEDDINGS_URL)."),
    "query_prefix": ("TEXT", "What stands before each query that is encoded."),
    "document_prefix": ("TEXT", "What stands before each document that is encoded."),
}

OPTIONS_OF[EncoderOptions] = {
    name: Annotated[str, typer.Option(metavar=metavar, help=text, rich_help_panel=ENCODER)]
    for name, (metavar, text) in _TEXTS.items()
}

MaxTokens: Any = LIMITS["max_tokens"]
MaxCost: Any = LIMITS["max_cost"]
