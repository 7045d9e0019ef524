"""`panel`: several assessors' grades put together, and how many assessors that really is.

A member is what an assessor is everywhere here: a prompt and a model. Each one's judgements are a
set of their own, which can be looked at, compared or put into another panel. How far the panel and
its members agree with people, `agree` says, as of any set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeler.agreement.align import Rules, scale_of
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.shown import short
from labeler.agreement.sources import human_grades, made_from
from labeler.collection.layout import AnyCollection, open_collection
from labeler.data import Qrels
from labeler.errors import Misuse, about
from labeler.judging.changes import human_beside
from labeler.lab.independence import (
    Independence,
    independence,
)
from labeler.lab.members import (
    PanelOptions,
    PanelSet,
    check_made_name,
    panel_of,
    read_member,
    write_made,
)
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Table, interval_text
from labeler.trec.pairs import PairColumns


@dataclass(frozen=True, eq=False, repr=False)
class PanelResult(Result):
    """A panel's grades, and how many independent assessors it is worth.

    `name` is that of the set that was written to a collection. `people` are the human qrels by
    which members' errors are told; `None` without any.
    """

    panel: PanelSet
    name: str | None
    people: str | None
    independence: Independence | None
    findings: Sequence[Finding] = ()

    @property
    def qrels(self) -> Qrels:
        """The panel's grades."""
        return self.panel.qrels

    @property
    def sentences(self) -> list[str]:
        """What was put together, and what it is worth."""
        return [self._counts(), *self._worth()]

    def _counts(self) -> str:
        panel = self.panel
        pairs = count_of(panel.judged, "pair has", "pairs have")
        text = f"{panel.options.rule} of {len(panel.members)} members: {pairs} a grade"
        if panel.failed:
            text += f", {panel.failed:,} have none for want of {panel.fewest} members' grades"
        return f"{text}."

    def _worth(self) -> Iterator[str]:
        worth, members = self.independence, len(self.panel.members)
        if worth is None or (number := worth.effective_number).value is None:
            return
        if worth.by_people:
            yield (
                f"Its {members} members are worth {interval_text(number, '.1f')} independent "
                "assessors: among pairs of one human grade their grades correlate by "
                f"{interval_text(worth.correlation, '.2f')}."
            )
        else:
            yield (
                f"Its {members} members are worth {number.value:.1f} independent assessors "
                "or more: without human grades, what they agree on rightly cannot be told from "
                "errors that they share."
            )

    def tables(self) -> list[Table]:
        """A row for the panel and for each member: its grades, and how many pairs have none."""
        columns = [Column("assessor", align="left"), Column("pairs"), Column("failed")]
        of_panel = ("the panel", self.panel.judged, self.panel.failed)
        rows = [
            (short(m.name), m.judged.grades.size, len(m.judged.failures))
            for m in self.panel.members
        ]
        return [Table("members", columns, [of_panel, *rows], self.panel.options.rule)]

    def as_json(self) -> dict[str, Any]:
        """The figures of the command by name."""
        panel = self.panel
        return self.picked(
            *("name", "people", "independence", "findings"),
            rule=panel.options.rule,
            fewest=panel.fewest,
            seed=panel.options.seed,
            members={member.name: member.origin for member in panel.members},
            pairs=len(panel),
            judged=panel.judged,
            failed=panel.failed,
            failures=panel.failures,
            left_out=panel.left_out,
        )


def panel(
    collection: AnyCollection,
    *names: str,
    people: str | None = None,
    name: str | None = None,
    options: PanelOptions | None = None,
) -> PanelResult:
    """Put several assessors' grades of the same pairs together into one grade each.

    `names` are sets of the collection's judgements, or of its qrels. The panel is kept as the set
    `name`. `people` names human qrels of the collection (by default its own, where it has some).

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> said = {"lax": '{"grade": 3}', "strict": '{"grade": 0}'}
    >>> sets = [judge(collection, model=fake_model(r, m), name=m) for m, r in said.items()]
    >>> panel(collection, "lax", "strict").sentences[0]
    'median of 2 members: 4 pairs have a grade.'
    """
    options, notes = options or PanelOptions(), list[str]()
    opened = open_collection(collection)
    members = [read_member(opened, name) for name in names]
    if people in names:
        problem = f"{people} is a member of the panel, and cannot tell how good it is"
        raise Misuse(problem, parameter="people")
    human_name = people or human_beside(opened, *names) or ""
    graded: Qrels = {}
    if human_name:
        with about("people"):
            graded, _ = human_grades(opened, human_name, notes.append)
    if name is not None:
        check_made_name(opened, name, options.rule, names)
    if options.scale is None and graded:
        # from the lowest to the highest grade of the members and of people
        used = {grade for member in members for grade in member.judged.grades.used()}
        every = used.union(scale_of(graded, Rules()))
        options = replace(options, scale=tuple(range(min(every), max(every) + 1)))
    judged = panel_of(members, options)
    if name is not None:
        write_made(opened, name, judged.made)
    how = StatisticOptions(draws=options.draws, seed=options.seed)
    human = PairColumns.of(graded, np.int64)
    human = human.keep(human.value >= 0)
    is_beside = bool(judged.votes.among(human).pairs.size)
    if len(human) and not is_beside:
        notes.append(f"{human_name} and the panel have no pair in common")
    worth = independence(judged.votes, human if is_beside else None, how) if judged.judged else None
    parts = [name for name in names if name in made_from(opened).get(human_name, ())]
    findings = (*map(Finding, notes), *_findings(judged, human_name, parts))
    return PanelResult(judged, name, human_name if is_beside else None, worth, findings)


def _findings(judged: PanelSet, human: str, parts: Sequence[str]) -> Iterator[Finding]:
    """What was left out, and that the human grades were made from those of some members."""
    if judged.left_out:
        pairs = count_of(judged.left_out, "pair is", "pairs are")
        asked = f"fewer than {judged.fewest} members were asked about"
        yield Finding(f"{pairs} left out, which {asked}", level="note")
    if parts:
        yield Finding(
            f"{human} was made from the grades of {', '.join(parts)}: panel and members agree "
            "with what they are part of, and errors are none of people's"
        )
