"""Which sets of grades a report is about: what scores systems, and who is compared with whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labeler.collection.whose import HUMAN
from labeler.collection_report.contents import CollectionContents
from labeler.collection_report.options import ReportOptions
from labeler.errors import Misuse
from labeler.report.finding import Finding

TIMES = 2
"""People's grades score the systems, unless another set holds more than so many times as many."""


@dataclass(frozen=True)
class ChosenSets:
    """The set that scores systems, people's sets, and the assessors, the main one first.

    `rule` says why this set scores the systems.
    """

    scoring: str | None
    human: str | None = None
    more_humans: tuple[str, ...] = ()
    assessors: tuple[str, ...] = ()
    rule: str = ""
    findings: tuple[Finding, ...] = ()


def choose_sets(contents: CollectionContents, options: ReportOptions) -> ChosenSets:
    """The sets that a report is about; `Misuse` where a name is none of the collection's."""
    for name in options.humans:
        _check(contents, name, "human")
    if options.qrels is not None:
        _check(contents, options.qrels, "qrels")
    people = options.humans or _people(contents)
    if not contents.qrels:
        return ChosenSets(None)
    scoring, rule = _scoring(contents, options, people)
    human = people[0] if people else None
    others = [name for name in contents.qrels if name not in (*contents.people, *people)]
    ordered = sorted(others, key=lambda name: (name != scoring, -contents.grades(name), name))
    findings = tuple(_findings(contents, options, people, scoring))
    return ChosenSets(scoring, human, tuple(people[1:]), tuple(ordered), rule, findings)


def _check(contents: CollectionContents, name: str, parameter: str) -> None:
    if name in contents.qrels:
        return
    listed = ", ".join(contents.qrels) or "none"
    problem = f"no qrels {name!r} with a grade in {contents.collection.folder}; there are: {listed}"
    raise Misuse(problem, parameter=parameter)


def _people(contents: CollectionContents) -> tuple[str, ...]:
    """`human`, else the first set of people's by name; nothing where nobody judged."""
    if HUMAN in contents.people:
        return (HUMAN,)
    return tuple(contents.people[:1])


def _scoring(
    contents: CollectionContents, options: ReportOptions, people: Sequence[str]
) -> tuple[str, str]:
    if options.qrels is not None:
        return options.qrels, "as asked for"
    if len(contents.qrels) == 1:
        return next(iter(contents.qrels)), "the only set of grades"
    first = min(contents.qrels, key=lambda name: _order(contents, people, name))
    if people and TIMES * contents.grades(people[0]) >= contents.grades(first):
        return people[0], f"people's, as no set holds more than {TIMES} times as many grades"
    return first, "the set with most grades"


def _order(contents: CollectionContents, people: Sequence[str], name: str) -> tuple[object, ...]:
    """The set with most grades first; of equally large ones people's, then the first by name."""
    return -contents.grades(name), name not in people, name not in contents.people, name


def _findings(
    contents: CollectionContents, options: ReportOptions, people: Sequence[str], scoring: str
) -> Iterator[Finding]:
    alike = [
        name
        for name in contents.qrels
        if name not in (*contents.people, *people)
        and contents.grades(name) == contents.grades(scoring)
    ]
    if options.qrels is None and scoring in alike and len(alike) > 1:
        listed = ", ".join(name for name in alike if name != scoring)
        text = (
            f"{scoring} scores the systems as the first by name of those with most grades: {listed}"
        )
        yield Finding(text, level="note")
    if not options.humans and HUMAN not in contents.people and len(contents.people) > 1:
        others = ", ".join(contents.people[1:])
        text = f"assessors are compared with {people[0]}, the first by name; there is also {others}"
        yield Finding(text, level="note")
