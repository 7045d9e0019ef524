"""`cascade`: keep a cheap assessor's grades where it is sure, and ask a strong one of the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from labeler.agreement.align import check_named_once
from labeler.agreement.shares import RoutingSources, open_routing
from labeler.agreement.statistics import find_statistic
from labeler.collection.judged_set import set_of_blocks
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import AnyCollection, Collection, check_name, open_collection
from labeler.data import Judged, Pair, state_of
from labeler.errors import BadInput, Misuse, about
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, JudgingPlan, judge_set
from labeler.lab.calibrate import folds_of
from labeler.lab.members import MadeSet, Member, check_made_name, write_made
from labeler.lab.route import criterion_of
from labeler.lab.thresholds import (
    CascadeCheck,
    CascadeEvidence,
    evidence_of,
    graded_by_people,
    member_of,
)
from labeler.messages import Note, count_of
from labeler.models.session import Act, Control, sync
from labeler.options import SHARE, Options, given, option
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Table, figure_table, interval_text
from labeler.trec.pairs import taken

# What `cascade` returns: who decided how many pairs, what that saved and lost, tables, JSON.


@dataclass(frozen=True, eq=False, repr=False)
class CascadeResult(Result):
    """A cascade's set of judgements: who decided which pairs, and what is known of its worth.

    `check` is what the choice brings on queries that it was not made on. Costs are counted in
    `unit`: dollars, tokens or calls. `calls` counts those of this run.
    """

    name: str
    members: tuple[Member, Member]
    by: str
    threshold: float
    sent: frozenset[Pair]
    statistic: str
    check: CascadeCheck
    unit: str
    calls: int = 0
    findings: Sequence[Finding] = ()

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.members[0].judged)

    @property
    def failures(self) -> int:
        """How many pairs were sent and have no grade."""
        return len(self.members[1].judged.failures.keys() & self.sent)

    @property
    def sentences(self) -> list[str]:
        """Who decided, what was saved, and what that lost."""
        cheap, strong = self.members
        failed = len(cheap.judged.failures.keys() & self.sent)
        why = f", of which {failed:,} had no grade" if failed else ""
        decided = (
            f"{strong.name} decides {len(self.sent):,} of {count_of(self.pairs, 'pair')}"
            f"{why}, by {self.by}."
        )
        return [
            decided,
            f"It saves {interval_text(self.check.saving, '.0%')} of what the strong assessor alone "
            f"takes in {self.unit}. On queries that the threshold was not chosen on it loses "
            f"{interval_text(self.check.loss)} of {self.statistic} with people.",
        ]

    def tables(self) -> list[Table]:
        """Agreement, loss and saving on queries that the threshold was not chosen on."""
        statistic, check = self.statistic, self.check
        means = {
            f"{statistic}: cheap": check.cheap,
            f"{statistic}: strong": check.strong,
            f"{statistic}: cascade": check.cascade,
            "lost": check.loss,
            "cost saved, by this threshold": check.saving,
        }
        return [figure_table("check", means, "on other queries")]

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `cascade`."""
        return self.picked(
            *("name", "by", "threshold", "pairs", "statistic", "check", "unit", "calls"),
            *("failures", "findings"),
            cheap=self.members[0].name,
            strong=self.members[1].name,
            sent=len(self.sent),
        )


RULE = "cascade"
STRONG = "-strong"
FEW_QUERIES = 10


@dataclass(frozen=True)
class CascadeOptions(Options):
    """When the strong assessor is asked, and how much agreement with people that may lose.

    That the cheap one is unsure its distributions tell, or the sets that are named beside it, else
    people's grades. The threshold is the highest by which people's pairs lose at most `tolerance`
    of the `statistic`, in 95 of 100 cases. `name` is that of the cascade's judgements; None is that
    of the cheap ones with `-cascade`.
    """

    name: str | None = None
    people: str | None = option(None, "Human qrels of pairs drawn by chance.", metavar="QRELS")
    tolerance: float = option(
        0.01, "What the threshold may lose of agreement with people, in 95 of 100 cases.", SHARE
    )
    statistic: str = option(
        "kappa", "Of agreement, of which little is lost.", flags="-s --statistic"
    )
    judging: JudgeOptions = field(default_factory=JudgeOptions)


@dataclass(frozen=True, eq=False, repr=False)
class CascadePlan(Result):
    """What choosing the threshold would take, and what all takes at most, every pair being sent."""

    threshold: JudgingPlan
    whole: JudgingPlan


Judging = Callable[[list[Pair]], Act[JudgeResult, JudgingPlan]]
"""Has the strong assessor judge pairs."""


def acascade(
    collection: AnyCollection,
    *cheap: str,
    options: CascadeOptions | None = None,
    control: Control | None = None,
    **settings: Any,
) -> Act[CascadeResult, CascadePlan]:
    """Have a strong assessor judge the pairs of which a cheap one is unsure, or that it failed on.

    `cheap` names a set of judgements, and others that help to tell where it is unsure: further
    prompts, models, or times that it was asked. The strong assessor first judges the pairs that
    people graded, to choose the threshold; its judgements are the set NAME-strong. The cascade's
    own set says of every pair who decided. `settings` are fields of `CascadeOptions`, and of
    `JudgeOptions` in it, which say who the strong assessor is.

    >>> import labeler
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> for name in ("a", "b"):
    ...     model = fake_model('{"grade": 1}' if name == "a" else '{"grade": 2}', name)
    ...     _ = labeler.judge(collection, model=model, name=name)
    >>> strong = fake_model('{"grade": 3}', "strong")
    >>> people = "q1 0 cats 3\\nq1 0 fish 0\\nq2 0 cats 0\\n"
    >>> _ = collection.qrels("human").write_text(people)
    >>> cascade(collection, "a", "b", name="both", model=strong)
    CascadeResult(name='both', by='disagreement', statistic='kappa', unit='calls', calls=3)
    """
    opened, watch = open_collection(collection), control or Control()
    asked = _named(opened, cheap, given(CascadeOptions, options, settings))

    def judging(pairs: list[Pair]) -> Act[JudgeResult, JudgingPlan]:
        return judge_set(opened, lambda _collection, _texts: pairs, asked.judging, watch)

    async def plan() -> CascadePlan:
        first, sources = member_of(opened, cheap[0]), _open(opened, cheap, asked)
        states = first.judged.states
        graded = judging(list(states.keep(graded_by_people(sources, first)).pairs()))
        return CascadePlan(await graded.plan(), await judging(list(states.pairs())).plan())

    return Act(lambda: _cascade(opened, cheap, asked, judging, watch.note), plan)


cascade = sync(acascade)


async def _cascade(
    opened: Collection,
    cheap: Sequence[str],
    options: CascadeOptions,
    judging: Judging,
    note: Note,
) -> CascadeResult:
    name, strong_name = str(options.name), str(options.judging.name)
    first, sources = member_of(opened, cheap[0]), _open(opened, cheap, options)
    by = criterion_of(sources)
    states, graded = first.judged.states, graded_by_people(sources, first)
    strong, calls = await _judged(opened, strong_name, judging, list(states.keep(graded).pairs()))
    others = [member_of(opened, n) for n in cheap[1:] if opened.judgements(n).exists()]
    evidence = evidence_of(sources, (first, *others, strong), options.statistic)
    of_pool = evidence.doubts().of_pool
    threshold, checked = _threshold_of(evidence, options)
    unsure = taken(of_pool >= threshold, states.rows_in(sources.matrix.pairs), False)
    is_sent = unsure | ~first.judged.is_graded
    left = list(states.keep(is_sent | graded).pairs())
    strong, more = await _judged(opened, strong_name, judging, left)
    sent = frozenset(states.keep(is_sent).pairs())
    settings = {
        "rule": RULE,
        "by": by,
        **({"threshold": threshold} if threshold < math.inf else {}),
        "people": sources.human_name,
        "statistic": options.statistic,
        "tolerance": options.tolerance,
    }
    made = MadeSet(
        f"{RULE} of {first.name}, {strong.name}",
        settings,
        (first, strong),
        _made_rows(opened, (first, strong), sent),
        [strong.name],
    )
    write_made(opened, name, made, note, sent=len(sent))
    return CascadeResult(
        name,
        (first, strong),
        by,
        threshold,
        sent,
        options.statistic,
        checked,
        evidence.unit,
        calls + more,
        tuple(_findings(sources, evidence)),
    )


async def _judged(
    collection: Collection, name: str, judging: Judging, pairs: list[Pair]
) -> tuple[Member, int]:
    """What the strong assessor says of pairs, and the calls that took; what stops it is raised."""
    if not pairs:
        return Member(name, set_of_blocks([])), 0
    result = await judging(pairs)
    if result.stopped:
        raise result.stopped
    return member_of(collection, name), result.spent.calls


def _made_rows(
    collection: Collection, members: tuple[Member, Member], sent: frozenset[Pair]
) -> Iterator[tuple[Judged, Mapping[str, Any]]]:
    """The cascade's rows: each says who decided it, and what both said.

    A pair that was sent has the strong member's grade, or its failure; every other pair the cheap
    one's grade.
    """
    cheap, strong = (each.name for each in members)
    files = map(collection.judgements, (cheap, strong))
    by_cheap, of_strong = (read_judgements(f) if f.exists() else () for f in files)
    by_strong = {row.judged.outcome.pair: row.judged for row in of_strong}
    for judged in (row.judged for row in by_cheap):
        pair = judged.outcome.pair
        other, is_sent = by_strong.get(pair), pair in sent
        says = {
            cheap: state_of(judged.outcome).answer,
            strong: state_of(other.outcome).answer if other else None,
        }
        decided = strong if is_sent else cheap
        yield by_strong[pair] if is_sent else judged, {"members": says, "decided": decided}


def _named(collection: Collection, cheap: Sequence[str], options: CascadeOptions) -> CascadeOptions:
    """The options with the names of the cascade and of the strong assessor's judgements."""
    if not cheap:
        raise Misuse("expected the name of the cheap assessor's judgements")
    check_named_once(cheap)
    name = check_name(options.name or f"{cheap[0]}-cascade")
    strong = f"{name}{STRONG}"
    if {name, strong} & set(cheap):
        raise Misuse(
            f"{name} is taken by what it is made from; give another name", parameter="name"
        )
    check_made_name(collection, name, RULE, [cheap[0], strong])
    return replace(options, name=name, judging=replace(options.judging, name=strong))


def _open(collection: Collection, cheap: Sequence[str], options: CascadeOptions) -> RoutingSources:
    sources = open_routing([str(collection.folder), *cheap], options.people)
    if sources.human is None:
        problem = "the threshold is chosen on people's grades, and there are none"
        raise Misuse(f"{problem}; next: labeler people sample", parameter="people")
    if not graded_by_people(sources, member_of(collection, cheap[0])).any():
        raise BadInput(f"{sources.human_name} has no grade of a pair that {cheap[0]} judged")
    graded = {*sources.matrix.grades, *(g for row in sources.human.values() for g in row.values())}
    with about("statistic"):  # before any call
        find_statistic(options.statistic, range(max(0, min(graded)), max(graded) + 1))
    return sources


def _threshold_of(evidence: CascadeEvidence, options: CascadeOptions) -> tuple[float, CascadeCheck]:
    """The threshold, and how the choice does on other queries."""
    pairs, held_out = evidence.pairs, np.zeros(len(evidence.pairs.query), bool)
    for part in folds_of(pairs.query):
        doubts = evidence.doubts(part)
        level = pairs.threshold_for(~part, doubts, options.tolerance)
        held_out[part] = doubts.of_pairs[part] >= level
    everywhere = evidence.doubts()
    at = pairs.threshold_for(np.ones(len(held_out), bool), everywhere, options.tolerance)
    return at, pairs.check(held_out, everywhere.of_pairs >= at)


def _findings(sources: RoutingSources, evidence: CascadeEvidence) -> Iterator[Finding]:
    yield from map(Finding, sources.notes)
    if evidence.pairs.queries < FEW_QUERIES:
        text = f"people graded pairs of {evidence.pairs.queries} queries: what is lost is guessed"
        yield Finding(text)
    if evidence.without:
        text = f"{evidence.without} of people's pairs have no grade by the strong assessor"
        yield Finding(f"{text}: left out")
