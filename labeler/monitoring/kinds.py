"""The kinds of alarms, by the names with which a caller chooses among them."""

from __future__ import annotations

from collections.abc import Iterable

from labeler.errors import Misuse

KINDS: dict[str, str] = {
    "judge-drift": "grades given now are not those that the assessor gave before",
    "model-name": "the server calls its model otherwise than when the pairs were judged",
    "prompt-edited": "the prompt of that name is another text than when the pairs were judged",
    "judge-failures": "more replies without a grade than before",
    "stale-judgements": "more judged pairs are stale than `stale` allows",
    "lost-queries": "queries without a relevant document that is as it was judged",
    "query-drift": "users search for other things than in the first weeks of the log",
    "uncovered-queries": "the corpus covers fewer searches than in the first weeks of the log",
    "sample-ratio": "users of an A/B test are not split as they were meant to be",
    "mixed-users": "users were served by more than one variant of an A/B test",
    "new-documents": "new or edited documents take more of the first places than `fresh` allows",
}
"""What each kind of alarm says."""


def check_kinds(names: Iterable[str]) -> frozenset[str]:
    """The kinds that were named; `Misuse` lists those there are."""
    named = frozenset(names)
    if unknown := sorted(named - KINDS.keys()):
        raise Misuse(f"no alarm {unknown[0]!r}; there are: {', '.join(KINDS)}", parameter="require")
    return named
