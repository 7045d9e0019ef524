"""Which encoder is meant, before anything is loaded or asked."""

from __future__ import annotations

import os
from dataclasses import dataclass

from labeler.errors import Misuse, about

EMBEDDED_ENCODER = "wordllama"
NAME, ADDRESS = "LABELER_ENCODER", "LABELER_EMBEDDINGS_URL"


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """Which encoder makes vectors, and what it is given before each text.

    `encoder` is `wordllama`, the embedded one, or the name of a server's model; empty, it is that
    of LABELER_ENCODER, else the embedded one. `embeddings_url` is the address of an
    OpenAI-compatible server. `query_prefix` and `document_prefix` stand before every text, as some
    models want it.
    """

    encoder: str = ""
    embeddings_url: str = ""
    query_prefix: str = ""
    document_prefix: str = ""

    @property
    def name(self) -> str:
        """The encoder's name; that of the embedded one where none is given."""
        return self.encoder or os.environ.get(NAME, "") or EMBEDDED_ENCODER

    @property
    def is_embedded(self) -> bool:
        """Whether it is the encoder of this package."""
        return self.name == EMBEDDED_ENCODER

    @property
    def is_served(self) -> bool:
        """Whether a server encodes, so that vectors are asked for, and kept."""
        return not self.is_embedded

    def check(self) -> None:
        """Raise `Misuse` where what is given does not go with the encoder."""
        if self.is_served:
            from labeler.models.choose import check_model_name

            with about("encoder", "model"):
                check_model_name(self.name)
            return
        for parameter in ("embeddings_url", "query_prefix", "document_prefix"):
            if getattr(self, parameter):
                problem = (
                    f"does not go with the embedded encoder {EMBEDDED_ENCODER!r}; name another one"
                )
                raise Misuse(problem, parameter=parameter)
