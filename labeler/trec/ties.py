"""The order in which trec_eval reads a run, and where a run's own ranks say another."""

from __future__ import annotations

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.trec.columns import Keys


def in_order(
    group: Integers, score: Floats, documents: Keys, hits: Integers | None = None
) -> Integers:
    """Where the lines of ascending groups go in trec_eval's order: by score, then by document id.

    Both descend; ids compare by their bytes. Where only the places of some `hits` lines count,
    ties without any of them are left as they are.
    """
    order = np.arange(len(group))
    same = group[1:] == group[:-1]
    rising = same & (score[1:] > score[:-1])
    if rising.any():  # only the groups that are not sorted yet are
        unsorted = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
        unsorted[group[1:][rising]] = True
        lines = np.flatnonzero(unsorted[group])
        order[lines] = lines[np.lexsort((-score[lines], group[lines]))]
    score = score[order]
    tied = same & (score[1:] == score[:-1])
    if tied.any():
        part = np.append(tied, False) | np.append(False, tied)
        runs = np.cumsum(np.append(True, ~tied))  # a number for each run of equal scores
        if hits is not None:
            part &= _with_a_hit(runs, order, hits)
        runs = runs[part]
        words = documents.words[order[part]]
        # ids descend: the complement of big-endian words orders them so; the last key counts most
        by_id = [~words[:, i] for i in reversed(range(words.shape[1]))]
        order[part] = order[part][np.lexsort((*by_id, runs))]
    return order


def _with_a_hit(runs: Integers, order: Integers, hits: Integers) -> Flags:
    """Which places lie in a run of ties that holds one of the `hits` lines."""
    is_hit = np.zeros(len(order), dtype=np.bool_)
    is_hit[hits] = True
    holds = np.zeros(int(runs[-1]) + 1, dtype=np.bool_)
    holds[runs[is_hit[order]]] = True
    in_such_ties: Flags = holds[runs]
    return in_such_ties


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
