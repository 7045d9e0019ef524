"""How candidates stand: their agreement with people on some queries, and what they took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from labeler.agreement.align import AssessorLabels, PairWeights, Rules, align
from labeler.agreement.compare import Agreement, StatisticOptions, compare_labels, defined
from labeler.agreement.plan import told_apart
from labeler.agreement.statistics import Statistic, find_statistic
from labeler.collection.judged_set import JudgedSet
from labeler.collection.judgements import Spent
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, BudgetReached, Misuse, about
from labeler.messages import count_of
from labeler.models.policies.limits import Spending
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, interval_text

LIMIT_WITHOUT_GRADE = 0.1
"""The share of pairs without a grade above which an assessor ranks behind all others."""
FEW_HELD_OUT = 10


@dataclass(frozen=True, eq=False)
class CandidateAnswers:
    """What a candidate said of the pairs that it was asked about, and what its replies took.

    Replies that were remembered count, so that candidates compare.
    """

    judged: JudgedSet

    @property
    def pairs(self) -> int:
        """How many pairs it was asked about."""
        return len(self.judged)

    @property
    def labels(self) -> AssessorLabels:
        """Its grades and failures."""
        return AssessorLabels(self.judged.grades, self.judged.failures)

    @cached_property
    def spent(self) -> Spent:
        """What its replies took."""
        return self.judged.spent() or Spent()

    @property
    def without_grade(self) -> float:
        """The share of pairs that have no grade."""
        return len(self.judged.failures) / max(self.pairs, 1)

    @property
    def fails_often(self) -> bool:
        """Whether more than a tenth of the pairs have no grade."""
        return self.without_grade > LIMIT_WITHOUT_GRADE

    @property
    def tokens_a_pair(self) -> float:
        """Tokens of a pair, prompt and reply, on average."""
        return (self.spent.prompt_tokens + self.spent.completion_tokens) / max(self.pairs, 1)

    @property
    def cost_a_thousand(self) -> float | None:
        """Dollars for a thousand pairs; None where a price is not known."""
        cost = self.spent.cost
        return None if cost is None else 1000 * cost / max(self.pairs, 1)

    @property
    def price(self) -> tuple[float, float]:
        """What is cheaper is less: by dollars where these are known, else by tokens."""
        dollars = self.cost_a_thousand
        return math.inf if dollars is None else dollars, self.tokens_a_pair


# Which queries assessors are chosen by, which are held out, and who is still asked when.
#
# Successive halving (Jamieson and Talwalkar 2016): all begin on few queries, and of each round the
# better half goes on to twice as many.

FEWEST = 5
"""Queries of the first round at least, where there are so many."""


class QuerySplit(NamedTuple):
    """The queries by which the best is chosen, in their order by chance, and those held out."""

    chosen_by: Sequence[str]
    held_out: Sequence[str]


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


def queries_by_round(assessors: int, queries: int) -> Sequence[int]:
    """How many queries each round has judged when it ends: twice those of the one before.

    The last round has all of them. There are as many rounds as it takes to halve the assessors
    down to one, fewer where the first would have fewer than `FEWEST` queries.
    """
    rounds = math.ceil(math.log2(assessors))
    sizes = [math.ceil(queries / 2**later) for later in reversed(range(rounds))]
    fewest = min(FEWEST, queries)
    return tuple(dict.fromkeys(max(size, fewest) for size in sizes))


def better_half(ranking: Sequence[str]) -> list[str]:
    """The first half of a ranking whose best is first, the one in the middle with it."""
    return list(ranking[: math.ceil(len(ranking) / 2)])


@dataclass(frozen=True)
class Yardstick:
    """By what candidates are measured: a statistic of how far they agree with people.

    `weights` are those of people's pairs where these were sampled.
    """

    human: Qrels
    options: StatisticOptions
    weights: PairWeights = None

    def on(self, queries: Iterable[str]) -> Yardstick:
        """The same on some queries alone."""
        human = {query: self.human[query] for query in queries}
        return Yardstick(human, self.options, self.weights)

    @property
    def pairs(self) -> list[Pair]:
        """The pairs with a grade by people, query by query."""
        rows = self.human.items()
        return [Pair(query, doc) for query, row in rows for doc, grade in row.items() if grade >= 0]

    def agreement(self, name: str, answers: CandidateAnswers) -> Agreement:
        """How far a candidate agrees with people."""
        labels = replace(answers.labels, name=name)
        return compare_labels(self.human, labels, Rules(), self.options, self.weights)

    def worth(self, answers: CandidateAnswers) -> float:
        """Its value of the statistic, more of which is better; an undefined one is the least."""
        pairs = align(self.human, answers.labels, Rules(), self.weights).pairs
        statistic = self.statistic(pairs.grades)
        value = defined(statistic(pairs.tables().sum(axis=0)))
        return -math.inf if value is None else statistic.better * value

    def statistic(self, scale: Sequence[int]) -> Statistic:
        """The statistic; `Misuse` of one that does not say who is closer to people."""
        with about("statistic"):
            statistic = find_statistic((self.options.names or ("kappa",))[0], scale)
        if not statistic.better:
            raise Misuse(
                f"{statistic.name} does not say who is closer to people", parameter="statistic"
            )
        return statistic


@dataclass(frozen=True)
class Standing:
    """A candidate on the queries that it was asked about.

    `value` is its agreement with people; `warnings` are those of the comparison with people.
    """

    name: str
    answers: CandidateAnswers
    pairs: int
    queries: int
    value: Interval
    warnings: Sequence[Finding] = ()

    @classmethod
    def of(cls, name: str, answers: CandidateAnswers, by: Yardstick) -> Standing:
        """How a candidate stands by what it answered."""
        own = by.agreement(name, answers)
        value = own.statistics[by.statistic(own.scale).name]
        return cls(name, answers, own.pairs, len(own.queries), value, own.warnings)


def ranked(
    names: Sequence[str], answers: Mapping[str, CandidateAnswers], by: Yardstick
) -> list[str]:
    """The names, the best first, of equals the cheaper; who fails often stands behind all others.

    Ties stand as named.
    """
    keys = {
        name: (of.fails_often, -round(by.worth(of), 9), of.price)
        for name in names
        for of in [answers[name]]
    }
    return sorted(names, key=lambda name: keys[name])


# What `tune` gave: who agrees best with people, and at what cost.


class TuneRound(NamedTuple):
    """How many queries were judged when a round ended, and how its candidates ranked by them."""

    queries: int
    ranking: Sequence[str]


@dataclass(frozen=True, eq=False, repr=False)
class TuneResult(Result):
    """The candidates by their agreement with people, the best first.

    `standings` are on the queries by which the best was chosen, so the best's own is too high as a
    rule; `held_out` is the best on the queries held out, `None` where a budget stopped it before.
    No other is said to be worse: that takes more pairs than people grade as a rule. `notes`
    say which of people's pairs were left out.
    """

    human: str
    statistic: str
    split: QuerySplit
    rounds: Sequence[TuneRound]
    standings: Sequence[Standing]
    held_out: Standing | None
    pairs_asked: int
    spent: Spending
    is_priced: bool
    stopped: BudgetReached | None = None
    notes: Sequence[str] = ()

    @property
    def best(self) -> str | None:
        """The name of the best; None where a budget stopped it before."""
        return None if self.held_out is None else self.held_out.name

    @property
    def sentences(self) -> list[str]:
        """Who agrees best, how sure that is, and how many pairs that took."""
        best = self.held_out
        if best is None:
            return ["Stopped before the queries held out were judged, so no best can be reported."]
        own = self.standings[0]
        queries, many = count_of(best.queries, "query"), len(self.standings)
        return [
            f"Of {many} assessors {best.name} agrees best with {self.human}: {self.statistic} "
            f"{interval_text(best.value)} on {queries} held out.",
            f"On the {own.queries} queries that it was chosen by it has "
            f"{interval_text(own.value.value)}, which is too high as a rule: it was chosen as the "
            f"best of {many}.",
            *([f"{told_apart(own.pairs, own.queries)}."] if self.statistic == "kappa" else []),
            *self._cheaper(own),
            f"Asked about {self.pairs_asked:,} pairs: of each round the better half went on (to "
            f"{', '.join(str(r.queries) for r in self.rounds)} queries).",
        ]

    def _cheaper(self, best: Standing) -> Iterator[str]:
        """The cheapest of the last round within the interval of the best, where that is another."""
        _, low, high = best.value
        if low is None or high is None:
            return
        last = self.standings[: len(self.rounds[-1].ranking)]
        near = [each for each in last if low <= (each.value.value or 0.0) <= high]
        cheapest = min(near, key=lambda each: each.answers.price, default=best)
        if cheapest is not best:
            value, ends = interval_text(cheapest.value.value), interval_text(best.value)
            yield f"{cheapest.name} is cheaper, and has {value} there, within the best's {ends}."

    def tables(self) -> list[Table]:
        """A row for each candidate: on the queries by which the best was chosen, and its cost."""
        columns = [
            Column("assessor", align="left"),
            Column("queries"),
            Column("value", self.statistic, ".3f", ".3f"),
            Column("without grade", "no grade", format=".1%"),
            Column("tokens a pair", "tokens", format=",.0f"),
            Column("dollars a thousand", "$ / 1,000", format=",.2f", undefined="unknown"),
        ]
        rows = [
            (
                s.name,
                s.queries,
                s.value,
                s.answers.without_grade,
                s.answers.tokens_a_pair,
                s.answers.cost_a_thousand,
            )
            for s in self.standings
        ]
        title = (
            f"agreement with {self.human} on the queries that the best was chosen by; "
            "tokens of a pair, dollars of 1,000"
        )
        return [Table("candidates", columns, rows, title)]

    def _findings(self) -> Iterator[Finding]:
        if best := self.held_out:
            if best.queries < FEW_HELD_OUT:
                few = count_of(best.queries, "query is", "queries are")
                yield Finding(f"only {few} held out: the interval is wide, and itself uncertain")
            yield from best.warnings
        for standing in self.standings:
            if standing.answers.fails_often:
                yield Finding(
                    f"{standing.name} gave {standing.answers.without_grade:.0%} of its pairs no "
                    f"grade, so it ranks last (above {LIMIT_WITHOUT_GRADE:.0%})",
                    about=standing.name,
                )

    def as_json(self) -> dict[str, Any]:
        """The best, the candidates, the rounds and the cost by name."""
        return self.picked(
            *("human", "statistic", "best", "rounds", "stopped", "pairs_asked"),
            held_out=self.held_out and self._entry(self.held_out),
            assessors=[self._entry(standing) for standing in self.standings],
            calls=self.spent.calls,
            cost=self.spent.dollars(is_priced=self.is_priced)[0],
            queries=self.split,
            warnings=[*self.notes, *self.findings],
        )

    def _entry(self, standing: Standing) -> dict[str, Any]:
        answers = standing.answers
        return {
            "name": standing.name,
            "queries": standing.queries,
            **standing.value._asdict(),
            "pairs": answers.pairs,
            "without_grade": len(answers.judged.failures),
            "tokens_a_pair": answers.tokens_a_pair,
            "dollars_a_thousand": answers.cost_a_thousand,
        }
