"""BM25 of a query over many texts, by the package bm25s (Lucene's variant)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labeler.text.terms import K1, B, terms


class Bm25:
    """An index of texts; `scores` gives each text's score for a query, 0 where no term matches."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        self._count = len(texts)
        self._index = bm25s.BM25(k1=K1, b=B, method="lucene")
        if texts:
            self._index.index([terms(text) for text in texts], show_progress=False)

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        """The scores of all texts, float32, in their order."""
        indexed: list[str] = []
        if self._count:
            indexed = [term for term in terms(query) if term in self._index.vocab_dict]
        if not indexed:
            return np.zeros(self._count, dtype=np.float32)
        scores: npt.NDArray[np.float32] = self._index.get_scores(indexed)
        return scores
