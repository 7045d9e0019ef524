"""Whether vectors of others are those of an encoder: documents searched for by their own texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection
from labeler.data import Document
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.loop import run_to_end
from labeler.runs.engines.databases.engine import VectorEngine
from labeler.runs.engines.databases.opening import opened_vectors
from labeler.runs.matching import id_in
from labeler.store.vectors import Vectors
from labeler.text.terms import text_to_search

DOCUMENTS = 5
NEAREST = 10


def note_of_own_texts(
    collection: Collection, engine: VectorEngine, encoding: Encoding, match_id: str, watch: Control
) -> None:
    """Say how many of some documents are among the nearest to the vector of their own text.

    With another encoder of as many dimensions, hardly any is: such a run would be noise.
    """
    with_text = (d for d in distinct_documents(collection.corpus) if d.text.strip())
    documents = [*islice(with_text, DOCUMENTS)]
    texts = [*map(text_to_search, documents)]
    if not texts:
        return
    quiet = replace(watch, note=lambda _line: None)
    encoder = encoding.ready(collection.vectors, EncoderTexts(documents=texts), quiet)
    vectors = encoder.documents(texts)
    near = run_to_end(lambda _stop: _near_itself(engine, documents, vectors, match_id))
    doubt = "" if 2 * near >= len(texts) else "; they may be of another encoder, or of other texts"
    watch.note(f"{near} of {len(texts)} documents are among the {NEAREST} nearest vectors{doubt}")


async def _near_itself(
    engine: VectorEngine, documents: Sequence[Document], vectors: Vectors, match_id: str
) -> int:
    near, settings = 0, replace(engine.settings, filter="")
    async with opened_vectors(engine.address) as database:
        for document, vector in zip(documents, vectors.tolist(), strict=True):
            hits = await database.search(vector, NEAREST, settings) if any(vector) else []
            near += id_in(document, match_id) in {hit.id for hit in hits}
    return near
