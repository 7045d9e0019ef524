"""The order in which trec_eval ranks documents: by score, then by id, both descending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def ranking(scores: Mapping[str, float]) -> list[str]:
    """The documents as trec_eval orders them: score descending, then document id descending.

    Ids compare by their UTF-8 bytes, which is the order of their code points.
    """
    return sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)


def best(scores: npt.NDArray[np.float32], ids: Sequence[str], depth: int) -> dict[str, float]:
    """The `depth` ids of the highest finite scores, highest first, ties by id descending.

    `scores` is `(documents,)`; documents scored `-inf` are left out.
    """
    candidates = np.flatnonzero(np.isfinite(scores))
    if len(candidates) > depth:
        floor = np.partition(scores[candidates], -depth)[-depth]
        candidates = candidates[scores[candidates] >= floor]
    ranked = sorted(((float(scores[i]), ids[i]) for i in candidates.tolist()), reverse=True)
    return {doc_id: score for score, doc_id in ranked[:depth]}
