"""The order in which trec_eval reads a run, and where a run's own ranks say another."""

from __future__ import annotations

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.trec.columns import Keys


def in_order(
    group: Integers, score: Floats, documents: Keys, wanted: Integers | None = None
) -> Integers:
    """Where the lines of ascending groups go in trec_eval's order: by score, then by document id.

    Both descend; ids compare by their bytes. Where only the places of some `wanted` lines count,
    ties without any of them are left as they are.
    """
    order = np.arange(len(group))
    same = group[1:] == group[:-1]
    rising = same & (score[1:] > score[:-1])
    if rising.any():
        unsorted = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
        unsorted[group[1:][rising]] = True
        chosen = np.flatnonzero(unsorted[group])
        order[chosen] = chosen[np.lexsort((-score[chosen], group[chosen]))]
    score = score[order]
    tied = same & (score[1:] == score[:-1])
    if tied.any():
        part = np.append(tied, False) | np.append(False, tied)
        runs = np.cumsum(np.append(True, ~tied))
        if wanted is not None:
            part &= _with_a_wanted(runs, order, wanted)
        runs = runs[part]
        words = documents.words[order[part]]
        by_id = [~words[:, i] for i in reversed(range(words.shape[1]))]
        order[part] = order[part][np.lexsort((*by_id, runs))]
    return order


def _with_a_wanted(runs: Integers, order: Integers, wanted: Integers) -> Flags:
    """Which places lie in a run of ties that holds one of the `wanted` lines."""
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[wanted] = True
    holds = np.zeros(int(runs[-1]) + 1, dtype=np.bool_)
    holds[runs[chosen[order]]] = True
    found: Flags = holds[runs]
    return found


def tied_pairs(group: Integers, score: Floats) -> int:
    """How many pairs of one query's documents have one score, in lines that are in order."""
    tied = (score[1:] == score[:-1]) & (group[1:] == group[:-1])
    if not tied.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
    sizes = edges[1::2] - edges[::2] + 1
    return int((sizes * (sizes - 1) // 2).sum())


def contradictions(group: Integers, declared: Integers, score: Floats) -> int:
    """How many lines have a higher score than the line that the rank column puts before them.

    A rank of -1 is none.
    """
    numbered = declared >= 0
    if not numbered.all():
        group, declared, score = group[numbered], declared[numbered], score[numbered]
    same = group[1:] == group[:-1]
    if (same & (declared[1:] < declared[:-1])).any():
        order = np.lexsort((declared, group))
        declared, score = declared[order], score[order]
    return int((same & (declared[1:] > declared[:-1]) & (score[1:] > score[:-1])).sum())
