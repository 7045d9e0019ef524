"""How candidates stand: agreement with people on some queries, and beside the best of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from labeler.agreement.align import AssessorLabels, Rules, align, rules_for
from labeler.agreement.compare import Agreement, Estimate, StatisticOptions, agreement_of, value_of
from labeler.agreement.differences import Difference, differences
from labeler.agreement.shown import closer
from labeler.agreement.statistics import find_statistic
from labeler.agreement.statistics.registry import Statistic, query_tables
from labeler.data import Failure, Judged, Pair, Qrels
from labeler.errors import BadInput, BudgetReached, Misuse, about
from labeler.judging.job import default_name
from labeler.messages import count_of
from labeler.models.policies.budget import Spending
from labeler.models.settings import AnyModel
from labeler.prompt import Prompt
from labeler.report.finding import Finding
from labeler.report.table import Column, Interval, Row, Table

if TYPE_CHECKING:
    from pandas import DataFrame

# What `tune` chooses among: prompts with models, and what each said of people's pairs.

LIMIT_WITHOUT_GRADE = 0.1
"""The share of pairs without a grade above which an assessor ranks behind all others."""


@dataclass(frozen=True)
class Candidate:
    """A prompt with a model, under the name that its judgements would have."""

    name: str
    prompt: Prompt
    model: AnyModel | None

    @classmethod
    def of(cls, prompt: Prompt, model: AnyModel | None, model_name: str) -> Candidate:
        """The candidate, named as `judge` names its judgements where nobody does."""
        return cls(default_name(prompt.name, model_name), prompt, model)


@dataclass
class CandidateAnswers:
    """What a candidate said of the pairs that it was asked about, and what its replies took.

    `cost` is in dollars, None where a price is not known; it counts replies that were remembered,
    so that candidates compare.
    """

    grades: Qrels = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)
    pairs: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0

    def add(self, judged: Judged) -> None:
        """Count one more pair."""
        outcome = judged.outcome
        self.pairs += 1
        self.prompt_tokens += judged.prompt_tokens
        self.completion_tokens += judged.completion_tokens
        is_priced = self.cost is not None and judged.cost is not None
        self.cost = (self.cost or 0.0) + (judged.cost or 0.0) if is_priced else None
        if isinstance(outcome, Failure):
            self.failures[outcome.pair] = outcome.status
        else:
            self.grades.setdefault(outcome.pair.query_id, {})[outcome.pair.doc_id] = outcome.grade

    def labels(self, name: str) -> AssessorLabels:
        """The grades and the failures, as agreement takes them."""
        return AssessorLabels(self.grades, self.failures, name)

    @property
    def fails_often(self) -> bool:
        """Whether more than a tenth of the pairs have no grade."""
        return len(self.failures) > LIMIT_WITHOUT_GRADE * self.pairs

    @property
    def tokens_a_pair(self) -> float:
        """Tokens of a pair, prompt and reply, on average."""
        return (self.prompt_tokens + self.completion_tokens) / max(self.pairs, 1)

    @property
    def cost_a_thousand(self) -> float | None:
        """Dollars for a thousand pairs; None where a price is not known."""
        return None if self.cost is None else 1000 * self.cost / max(self.pairs, 1)


def distinct(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates, with a number behind names that would stand twice."""
    names = [candidate.name for candidate in candidates]
    return tuple(
        candidate
        if names.count(candidate.name) == 1
        else Candidate(f"{candidate.name}-{number}", candidate.prompt, candidate.model)
        for number, candidate in enumerate(candidates, start=1)
    )


# Which queries assessors are chosen by, which are held out, and who is still asked when.
#
# Successive halving (Jamieson and Talwalkar 2016): all begin on few queries, and of each round the
# better half goes on to twice as many.

FEWEST = 5
"""Queries of the first round at least, where there are so many."""

Named = TypeVar("Named")


class QuerySplit(NamedTuple):
    """The queries by which the best is chosen, in their order by chance, and those held out."""

    chosen_by: tuple[str, ...]
    held_out: tuple[str, ...]


def split_queries(texts: Mapping[str, str], held_out: float, seed: int) -> QuerySplit:
    """Split queries by chance, a share of them held out; those of equal words stay together.

    `texts` are what the queries say, by their ids. `BadInput` where a part would have fewer than
    two queries.
    """
    by_words: dict[str, list[str]] = {}
    for query_id in sorted(texts):
        by_words.setdefault(" ".join(texts[query_id].lower().split()), []).append(query_id)
    groups = list(by_words.values())
    Random(f"tune\0{seed}").shuffle(groups)
    aim = round(held_out * len(texts))
    chosen_by, held = list[str](), list[str]()
    for group in groups:
        (held if len(held) < aim else chosen_by).extend(group)
    if min(len(chosen_by), len(held)) < 2:
        raise BadInput(
            f"people judged pairs of {len(texts)} queries, of which {len(held)} would be held out "
            f"and {len(chosen_by)} left to choose by; each part takes two at least"
        )
    return QuerySplit(tuple(chosen_by), tuple(held))


def queries_by_round(assessors: int, queries: int, *, halving: bool = True) -> tuple[int, ...]:
    """How many queries each round has judged when it ends: twice those of the one before.

    The last round has all of them. There are as many rounds as it takes to halve the assessors
    down to one, fewer where the first would have fewer than `FEWEST` queries.
    """
    rounds = max(1, math.ceil(math.log2(assessors))) if halving and assessors > 1 else 1
    sizes = [math.ceil(queries / 2**later) for later in reversed(range(rounds))]
    fewest = min(FEWEST, queries)
    return tuple(dict.fromkeys(max(size, fewest) for size in sizes))


def better_half(ranking: Sequence[Named]) -> list[Named]:
    """The first half of a ranking whose best is first, the one in the middle with it."""
    return list(ranking[: math.ceil(len(ranking) / 2)])


@dataclass(frozen=True)
class HumanPart:
    """People's grades of some queries, with the weights of pairs that were sampled."""

    name: str
    grades: Qrels
    weights: Mapping[Pair, float] | None = None

    def of(self, queries: Iterable[str]) -> HumanPart:
        """The grades of these queries alone."""
        part = {query: self.grades[query] for query in queries}
        return HumanPart(self.name, part, self.weights)

    @property
    def pairs(self) -> list[Pair]:
        """The pairs with a grade, query by query."""
        return [
            Pair(query, document)
            for query, row in self.grades.items()
            for document, grade in row.items()
            if grade >= 0
        ]


@dataclass(frozen=True)
class Yardstick:
    """By what candidates are measured: a statistic of how far they agree with people."""

    human: HumanPart
    rules: Rules
    maps: Mapping[str, Mapping[int, int]]
    options: StatisticOptions

    def on(self, queries: Iterable[str]) -> Yardstick:
        """The same on some queries alone."""
        return Yardstick(self.human.of(queries), self.rules, self.maps, self.options)

    def agreement(self, name: str, answers: CandidateAnswers) -> Agreement:
        """How far a candidate agrees with people."""
        labels = answers.labels(name)
        human, rules = self.human, self._rules(labels)
        return agreement_of(human.grades, labels, rules, self.options, human.weights)

    def worth(self, name: str, answers: CandidateAnswers) -> float:
        """Its value of the statistic, more of which is better; an undefined one is the least."""
        labels = answers.labels(name)
        pairs = align(self.human.grades, labels, self._rules(labels), self.human.weights).pairs
        statistic = self.statistic(pairs.grades)
        table = query_tables(pairs).sum(axis=0)
        value = value_of(statistic, table, np.array(pairs.grades, dtype=np.float64))
        return -math.inf if value is None else statistic.better * value

    def _rules(self, labels: AssessorLabels) -> Rules:
        maps = {"human": {}, "assessor": {}, "": {}, **self.maps}
        return rules_for(self.human.grades, labels.labels, maps, self.rules)

    def statistic(self, scale: tuple[int, ...]) -> Statistic:
        """The statistic; `Misuse` of one that does not say who is closer to people."""
        with about("statistic"):
            statistic = find_statistic((self.options.names or ("kappa",))[0], scale)
        if not statistic.better:
            problem = f"{statistic.name} does not say who is closer to people"
            raise Misuse(problem, parameter="statistic")
        return statistic


@dataclass(frozen=True)
class Standing:
    """A candidate on the queries that it was asked about.

    `value` is its agreement with people, `beside` its difference from the best on the pairs that
    both graded; None of the best itself. `warnings` are those of the comparison with people.
    """

    name: str
    answers: CandidateAnswers
    queries: int
    value: Estimate
    beside: Difference | None = None
    warnings: tuple[Finding, ...] = ()


def ranked(
    names: Sequence[str], answers: Mapping[str, CandidateAnswers], by: Yardstick
) -> list[str]:
    """The names, the best first; who fails often stands behind all others, ties as named."""
    keys = {name: (answers[name].fails_often, -by.worth(name, answers[name])) for name in names}
    return sorted(names, key=lambda name: keys[name])


def standings(
    names: Sequence[str], answers: Mapping[str, CandidateAnswers], by: Yardstick
) -> tuple[Standing, ...]:
    """Each candidate on its own queries, and beside the first named on those of both."""
    best = by.agreement(names[0], answers[names[0]])
    statistic = by.statistic(best.scale)
    rows = []
    for name in names:
        own = best if name == names[0] else by.agreement(name, answers[name])
        beside = None
        if name != names[0]:
            others = max(1, len(names) - 1)
            (beside,) = differences(own.paired, best.paired, [statistic], by.options, others)
        value = own.statistics[statistic.name]
        rows.append(Standing(name, answers[name], len(own.queries), value, beside, own.warnings))
    return tuple(rows)


# What `tune` gave: who agrees best with people, at what cost, and what halving saved.

FEW_HELD_OUT = 10


@dataclass(frozen=True)
class TuneRound:
    """How many queries were judged when a round ended, and how its candidates ranked by them."""

    queries: int
    ranking: tuple[str, ...]


class Selected(NamedTuple):
    """The best on the queries held out, and the candidate named first, where that is another.

    `baseline` is the score of similar words with cut points fitted on people's grades of other
    queries; where there is none, `no_baseline` says why. `beside` of both is the value less that of
    the best.
    """

    best: Standing
    first: Standing | None
    baseline: Standing | None = None
    no_baseline: str = ""


class Effort(NamedTuple):
    """How many pairs were asked about, and how many it had been if all were asked about all."""

    pairs: int
    without_halving: int


def ranking_of(rounds: Sequence[TuneRound]) -> list[str]:
    """All candidates: those of the last round by its ranking, before them who left it earlier."""
    return list(dict.fromkeys(name for r in reversed(rounds) for name in r.ranking))


@dataclass(frozen=True, repr=False)
class TuneResult:
    """The candidates by their agreement with people, the best first.

    `standings` are on the queries by which the best was chosen, so the best's own is too high as a
    rule; `selected` is what the queries held out say, None where a budget stopped it before.
    `better` is 1 where more of the statistic is closer to people, -1 where less is; `bounds` are
    those of its values, None where it has none. `notes` say which of people's pairs were left out.
    """

    human: str
    statistic: str
    split: QuerySplit
    rounds: tuple[TuneRound, ...]
    standings: tuple[Standing, ...]
    selected: Selected | None
    effort: Effort
    spent: Spending
    is_priced: bool
    better: int = 1
    bounds: tuple[float | None, float | None] = (None, None)
    stopped: BudgetReached | None = None
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> str | None:
        """The name of the best; None where a budget stopped it before."""
        return self.selected.best.name if self.selected else None

    @cached_property
    def efficient(self) -> frozenset[str]:
        """The candidates such that no other is at least as good and costs less (Pareto's front).

        The cost is in dollars where every price is known, else in tokens.
        """
        return frozenset(
            name
            for name, cost, quality in self._points
            if not any(
                (c <= cost and q >= quality) and (c < cost or q > quality)
                for _, c, q in self._points
            )
        )

    @cached_property
    def _points(self) -> list[tuple[str, float, float]]:
        """Each candidate's cost and quality, more of which is better."""
        points = []
        for standing in self.standings:
            quality = self.quality(standing).value
            if quality is not None and not standing.answers.fails_often:
                points.append((standing.name, self.cost(standing), self.better * quality))
        return points

    def cost(self, standing: Standing) -> float:
        """Dollars for a thousand pairs where every price is known, else tokens of a pair."""
        cost = standing.answers.cost_a_thousand
        return cost if self.has_costs and cost is not None else standing.answers.tokens_a_pair

    @property
    def has_costs(self) -> bool:
        """Whether every candidate's price is known."""
        return all(standing.answers.cost is not None for standing in self.standings)

    def quality(self, standing: Standing) -> Interval:
        """A candidate's agreement, as it would be on all queries that the best was chosen by.

        That of the best, and the candidate's difference from it on the pairs that both graded, so
        that a candidate is not better for having been asked about easier queries.
        """
        best = self.standings[0].value
        beside = standing.beside
        if beside is None or best.value is None:
            return Interval(standing.value.value, standing.value.low, standing.value.high)
        ends = (beside.value, beside.low, beside.high)
        return Interval(*(None if end is None else self._within(best.value + end) for end in ends))

    def _within(self, value: float) -> float:
        low, high = self.bounds
        value = value if low is None else max(value, low)
        return value if high is None else min(value, high)

    def table(self) -> Table:
        """A row for each candidate, on the queries by which the best was chosen."""
        columns = [
            Column("assessor", align="left"),
            Column("queries", format=",d"),
            Column("value", self.statistic, ".3f", ".3f"),
            Column("difference", "beside the best", "+.3f", "+.3f"),
        ]
        title = f"agreement with {self.human} on the queries that the best was chosen by"
        return Table("candidates", columns, [self._row(s) for s in self.standings], title)

    def cost_table(self) -> Table:
        """A row for each candidate: whether it can be told from the best, and what it takes."""
        columns = [
            Column("assessor", align="left"),
            Column("verdict", align="left"),
            Column("without grade", "no grade", format=".1%"),
            Column("tokens a pair", "tokens", format=",.0f"),
            Column("dollars a thousand", "$ / 1,000", format=",.2f", undefined="unknown"),
            Column("efficient", align="left"),
        ]
        title = "tokens of a pair; dollars of 1,000; efficient: no other is as good for less"
        return Table("costs", columns, [self._cost_row(s) for s in self.standings], title)

    def _row(self, standing: Standing) -> Row:
        beside, value = standing.beside, standing.value
        ends = (beside.value, beside.low, beside.high) if beside else (None, None, None)
        own = Interval(value.value, value.low, value.high)
        return [standing.name, standing.queries, own, Interval(*ends)]

    def _cost_row(self, standing: Standing) -> Row:
        beside, answers = standing.beside, standing.answers
        return [
            standing.name,
            closer(beside.verdict, (standing.name, "the best")) if beside else "the best",
            len(answers.failures) / max(answers.pairs, 1),
            answers.tokens_a_pair,
            answers.cost_a_thousand,
            "yes" if standing.name in self.efficient else "",
        ]

    @property
    def findings(self) -> list[Finding]:
        """What a reader of the figures should know."""
        return list(self._findings())

    def _findings(self) -> Iterator[Finding]:
        if self.selected and self.selected.best.queries < FEW_HELD_OUT:
            few = count_of(self.selected.best.queries, "query is", "queries are")
            yield Finding(f"only {few} held out: the interval is wide, and itself uncertain")
        if self.selected:
            yield from self.selected.best.warnings
        if self.selected and self.selected.no_baseline:
            yield Finding(f"no baseline beside the best: {self.selected.no_baseline}", level="note")
        for standing in self.standings:
            if standing.answers.fails_often:
                share = len(standing.answers.failures) / standing.answers.pairs
                text = f"{standing.name} gave {share:.0%} of its pairs no grade, so it ranks last"
                yield Finding(f"{text} (above {LIMIT_WITHOUT_GRADE:.0%})", about=standing.name)

    def as_json(self) -> dict[str, Any]:
        """The best, the candidates, the rounds and the cost by name."""
        return {
            "human": self.human,
            "statistic": self.statistic,
            "best": self.best,
            "held_out": None if self.selected is None else self._held_out(self.selected),
            "assessors": [self._entry(standing) for standing in self.standings],
            "rounds": [{"queries": r.queries, "ranking": list(r.ranking)} for r in self.rounds],
            "pairs_asked": self.effort.pairs,
            "pairs_without_halving": self.effort.without_halving,
            "calls": self.spent.calls,
            "cost": self.spent.dollars(is_priced=self.is_priced)[0],
            "stopped": str(self.stopped) if self.stopped else None,
            "queries": {"chosen_by": [*self.split.chosen_by], "held_out": [*self.split.held_out]},
            "warnings": [*self.notes, *(str(finding) for finding in self.findings)],
        }

    def _held_out(self, selected: Selected) -> dict[str, Any]:
        standings = (selected.best, selected.first, selected.baseline)
        return {standing.name: self._entry(standing) for standing in standings if standing}

    def _entry(self, standing: Standing) -> dict[str, Any]:
        beside, answers = standing.beside, standing.answers
        value = standing.value
        return {
            "name": standing.name,
            "queries": standing.queries,
            "value": value.value,
            "low": value.low,
            "high": value.high,
            "beside_best": None
            if beside is None
            else {"value": beside.value, "low": beside.low, "high": beside.high},
            "pairs": answers.pairs,
            "without_grade": len(answers.failures),
            "tokens_a_pair": answers.tokens_a_pair,
            "dollars_a_thousand": answers.cost_a_thousand,
            "efficient": standing.name in self.efficient,
        }

    def frame(self) -> DataFrame:
        """The candidates as a pandas DataFrame."""
        return self.table().frame()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        if self.selected is None:
            return "TuneResult(stopped)"
        best = self.selected.best
        held_out = f"{self.statistic} {figure_of(best)} on {best.queries} queries held out"
        return f"TuneResult({best.name!r} of {len(self.standings)}, {held_out})"


def figure_of(standing: Standing) -> str:
    """The value of the statistic, as text."""
    return "undefined" if standing.value.value is None else f"{standing.value.value:.3f}"
