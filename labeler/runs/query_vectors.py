"""The vectors of queries, for search systems that are asked with vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.runs.engines.templates import QueryEncoder
from labeler.text.vectors import can_encode


def query_encoder(
    collection: Collection | Path | str, encoding: Encoding, control: Control | None = None
) -> QueryEncoder | None:
    """What gives a query's vector; None where the encoder is the embedded one, and is not there.

    A server is asked for the vectors of all queries of the collection before it is used.
    """
    opened = open_collection(collection)
    encoding.options.check()
    texts: list[str] = []
    if not encoding.options.is_embedded:
        texts = [query.text for query in read_queries(opened.queries).values()]
    elif not can_encode():
        return None
    encoder = encoding.ready(opened.vectors, EncoderTexts(queries=texts), control)

    def encode(text: str) -> Sequence[float]:
        vector: list[float] = encoder.queries([text])[0].tolist()
        return vector

    return QueryEncoder(encoder.query_identity, encode, encoder.id)
