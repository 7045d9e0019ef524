"""A pool of a given size: each query its share, each run its turn, by rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from labeler.data import Pair, Pooled, Run
from labeler.errors import Misuse
from labeler.trec.order import ranking


@dataclass(frozen=True, slots=True)
class DepthReached:
    """How deep a budget went: every query whole to `least`, and none beyond `most`."""

    least: int
    most: int

    def as_json(self) -> dict[str, int]:
        """Both depths."""
        return {"least": self.least, "most": self.most}

    def __str__(self) -> str:
        if self.least == self.most:
            return f"depth {self.most} for every query"
        return f"depth {self.least} for every query, and {self.most} at most"


def within_budget(
    runs: Mapping[str, Run], depth: int, old: Iterable[Pair], max_pairs: int
) -> tuple[list[Pooled], DepthReached]:
    """The pairs that bring a pool to `max_pairs` in all, and the depth that they reach.

    Round by round, each query adds the pair of its next best rank, so that queries have equally
    many until they have no more. Where runs hold different documents at a rank, they take turns:
    which run is first changes from query to query. Old pairs count, and take their query's rounds.
    """
    if max_pairs < 1:
        raise Misuse("the pairs of a pool count from 1", parameter="max_pairs")
    present = set(old)
    lists = {
        query_id: _ordered(query_id, number, runs, depth)
        for number, query_id in enumerate(dict.fromkeys(q for run in runs.values() for q in run))
    }
    waiting = {q: [p for p in pairs if p.pair not in present] for q, pairs in lists.items()}
    shares = _shares(
        {query_id: len(pairs) for query_id, pairs in waiting.items()},
        {query_id: len(lists[query_id]) - len(pairs) for query_id, pairs in waiting.items()},
        max(0, max_pairs - len(present)),
    )
    added = [pooled for query_id, pairs in waiting.items() for pooled in pairs[: shares[query_id]]]
    return added, _reached(lists, present | {pooled.pair for pooled in added})


def _ordered(query_id: str, number: int, runs: Mapping[str, Run], depth: int) -> list[Pooled]:
    """A query's pairs by best rank; at each rank the runs follow one another from `number` on."""
    names = [name for name, run in runs.items() if query_id in run]
    first = number % len(names)
    turned = [*names[first:], *names[:first]]
    lists = [ranking(runs[name][query_id])[:depth] for name in turned]
    ranks: dict[str, dict[str, int]] = {}
    for rank in range(max(map(len, lists), default=0)):
        for name, documents in zip(turned, lists, strict=True):
            if rank < len(documents):
                ranks.setdefault(documents[rank], {})[name] = rank + 1
    order = {name: n for n, name in enumerate(names)}
    return [
        Pooled(
            Pair(query_id, doc_id),
            tuple(sorted(by_run, key=order.__getitem__)),
            min(by_run.values()),
        )
        for doc_id, by_run in ranks.items()
    ]


def _shares(available: Mapping[str, int], held: Mapping[str, int], budget: int) -> dict[str, int]:
    """How many pairs each query adds: those with the fewest first, one a round.

    The last round, which may not go round, begins with the first queries.
    """
    shares = dict.fromkeys(available, 0)
    while budget > 0:
        unfinished = [query_id for query_id, most in available.items() if shares[query_id] < most]
        if not unfinished:
            break
        fewest = min(held[query_id] + shares[query_id] for query_id in unfinished)
        lowest = [q for q in unfinished if held[q] + shares[q] == fewest][:budget]
        for query_id in lowest:
            shares[query_id] += 1
        budget -= len(lowest)
    return shares


def _reached(lists: Mapping[str, Sequence[Pooled]], present: set[Pair]) -> DepthReached:
    """To which rank all queries are whole, and the deepest rank of any pair.

    A query whose lists end earlier is whole at any depth.
    """
    most = max(
        (p.best_rank or 0 for pairs in lists.values() for p in pairs if p.pair in present),
        default=0,
    )
    missing = [p.best_rank or 0 for pairs in lists.values() for p in pairs if p.pair not in present]
    return DepthReached(min(min(missing) - 1, most) if missing else most, most)
