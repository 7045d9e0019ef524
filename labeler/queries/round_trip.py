"""Whether the passage that a query was written for is found by it again."""

from __future__ import annotations

from dataclasses import replace

from labeler.collection.corpus import CorpusTexts
from labeler.collection.layout import Collection
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.queries.writing.candidates import Generated
from labeler.queries.writing.search import CorpusSearch
from labeler.queries.writing.writer import Writer


async def search_of_new(
    generated: Generated,
    writer: Writer,
    encoding: Encoding | None,
    collection: Collection,
    control: Control,
) -> CorpusSearch | None:
    """What looks for the sources of the new queries.

    With `encoding`, that encoder is given these queries first; the collection keeps its vectors.
    """
    texts = [query.text for query in generated.queries[len(writer.already) :]]
    if encoding is None or writer.search is None or not texts:
        return writer.search
    searched = EncoderTexts(CorpusTexts(collection.corpus), texts)
    encoder = await encoding.aready(collection.vectors, searched, control)
    return writer.search.with_encoder(encoder)


def flag_round_trips(generated: Generated, writer: Writer, search: CorpusSearch | None) -> int:
    """Say with each new query at which rank its source is found; how many are not found at all.

    A source that nobody finds is no reason to drop a query: the hard ones tell systems apart.
    """
    new = enumerate(generated.queries[len(writer.already) :], start=len(writer.already))
    with_source = {at: query for at, query in new if "source" in query.metadata}
    if search is None or not with_source:
        return 0
    not_found, several = 0, search.ranks([*with_source.values()])
    for (at, query), ranks in zip(with_source.items(), several, strict=True):
        is_found = any(rank is not None for rank in ranks.values())
        not_found += not is_found
        flags = {"source_ranks": ranks, "round_trip": is_found}
        generated.queries[at] = replace(query, metadata={**query.metadata, **flags})
    return not_found
