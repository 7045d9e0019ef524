"""Which encoder is meant, before anything is loaded or asked."""

from __future__ import annotations

import os
from dataclasses import dataclass

from labeler.errors import Misuse, about
from labeler.options import option

EMBEDDED_ENCODER = "wordllama"
FILE_KINDS = ("model2vec", "fastembed")
"""What stands before the colon and the folder of an encoder whose files the user has."""

NAME, ADDRESS = "LABELER_ENCODER", "LABELER_EMBEDDINGS_URL"


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """Which encoder makes vectors, and what it is given before each text.

    `encoder` is `wordllama`, the embedded one, `model2vec:FOLDER` or `fastembed:FOLDER`, or the
    name of a server's model; empty, it is LABELER_ENCODER's, else the embedded one.
    `embeddings_url` is the address of an OpenAI-compatible server. `query_prefix` and
    `document_prefix` stand before every text, as some models want it.
    """

    encoder: str = option(
        "",
        "wordllama, model2vec:FOLDER, fastembed:FOLDER, or a server's model (LABELER_ENCODER).",
        section="encoder",
        key="name",
        variable=NAME,
        example=EMBEDDED_ENCODER,
    )
    embeddings_url: str = option(
        "",
        "An OpenAI-compatible server (LABELER_EMBEDDINGS_URL).",
        section="encoder",
        key="server",
        variable=ADDRESS,
        is_address=True,
    )
    query_prefix: str = option(
        "", "What stands before each query that is encoded.", section="encoder"
    )
    document_prefix: str = option(
        "", "What stands before each document that is encoded.", section="encoder"
    )

    @property
    def name(self) -> str:
        """The encoder's name; that of the embedded one where none is given."""
        return self.encoder or os.environ.get(NAME, "") or EMBEDDED_ENCODER

    @property
    def is_embedded(self) -> bool:
        """Whether it is the encoder of this package."""
        return self.name == EMBEDDED_ENCODER

    @property
    def is_in_files(self) -> bool:
        """Whether it lies in files of the user's own."""
        kind, colon, _ = self.name.partition(":")
        return bool(colon) and kind in FILE_KINDS

    @property
    def is_served(self) -> bool:
        """Whether a server encodes, so that vectors are asked for."""
        return not (self.is_embedded or self.is_in_files)

    def check(self) -> None:
        """Raise `Misuse` where what is given does not go with the encoder."""
        if self.is_served:
            from labeler.models.choose import check_model_name

            with about("encoder", "model"):
                check_model_name(self.name)
            return
        prefixes = () if self.is_in_files else ("query_prefix", "document_prefix")
        for parameter in ("embeddings_url", *prefixes):
            if getattr(self, parameter):
                problem = f"does not go with the encoder {self.name!r}; name another one"
                raise Misuse(problem, parameter=parameter)
