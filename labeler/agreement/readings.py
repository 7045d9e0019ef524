"""How the grades of one assessor's comparison are read, counted or not."""

from __future__ import annotations

from collections.abc import Mapping

from labeler.agreement.align import Rules, scale_of, scale_of_grades
from labeler.agreement.options import rules_between, rules_for
from labeler.agreement.sources import AssessorSource, Sources


def rules_of(
    sources: Sources, source: AssessorSource, maps: Mapping[str, Mapping[int, int]], rest: Rules
) -> Rules:
    """`rest` with the maps of both sides, each for the side that it covers."""
    tally = source.judged.tally
    if tally is None:
        return rules_for(sources.human, source.judged.labels, maps, rest)
    return rules_between(tally.grades, tally.labels, maps, rest)


def scale_between(sources: Sources, source: AssessorSource, rules: Rules) -> tuple[int, ...]:
    """The scale of the comparison, before any cut."""
    tally = source.judged.tally
    return scale_of(sources.human, rules) if tally is None else scale_of_grades(tally.grades, rules)
