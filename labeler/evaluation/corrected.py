"""Scores corrected by people's grades: the records, their tables, and the command's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput
from labeler.evaluation.scores import UNBOUNDED, CorrectedDifference
from labeler.evaluation.verdicts import against, allowance, beside, may_be_best, told_apart
from labeler.metrics import Measure, Rankings, score
from labeler.metrics.judged import JudgedPairs
from labeler.report.finding import Finding
from labeler.report.result import Merged, Result
from labeler.report.table import Column, Row, Table, interval_text
from labeler.stats.estimates import UNIT, Design, balance
from labeler.stats.ppi import SIDES, CorrectedMean, Joint
from labeler.stats.student import SIGNIFICANT


@dataclass(frozen=True)
class CorrectedScores:
    """A run's means by one measure, and how much of what the assessor judged people did not."""

    run: str
    measure: str
    means: Merged[CorrectedMean]
    unjudged: float


@dataclass(frozen=True, repr=False)
class Corrections(Result):
    """All runs by all measures, the runs against a baseline, and what a reader should know."""

    target: str
    scores: tuple[CorrectedScores, ...]
    comparisons: tuple[CorrectedDifference, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """Which run leads by the first measure, and which of the others it can be told from."""
        measure = self.scores[0].measure
        scores = [s for s in self.scores if s.measure == measure]
        best = max(scores, key=lambda s: s.means.corrected.value)
        mean = interval_text(best.means.corrected, ".4f", ".3f")
        like, of = "these" if self.target == "these" else "all queries like these", best.means
        value = f"{mean} over {like} {of.queries}, of which people judged {of.judged}"
        if len(scores) == 1:
            return [f"{best.run}: corrected {measure} is {value}."]
        leads = f"{best.run} has the highest corrected {measure}, {value}."
        compared = [c for c in self.comparisons if c.measure == measure]
        return [*may_be_best(compared), leads, *told_apart(compared, best.run)]

    def tables(self) -> list[Table]:
        """The tables `scores` and, of several runs, `comparisons`."""
        tables = [score_table(self.scores)]
        return [*tables, comparison_table(self.comparisons)] if self.comparisons else tables


def score_table(scores: Sequence[CorrectedScores]) -> Table:
    """A row for each run and measure: by people alone, by the assessor alone, and corrected."""
    columns = [Column("run", align="left"), Column("measure", align="left")]
    columns += [*_mean_columns(".4f", ".3f"), Column("lambda", format=".2f")]
    rows = [(s.run, s.measure, *s.means.sides, s.means.weight) for s in scores]
    return Table("scores", columns, rows)


def comparison_table(differences: Sequence[CorrectedDifference]) -> Table:
    """A row for each comparison with the baseline, which a header for people names."""
    sides = beside(differences)
    columns = [
        *sides,
        Column("measure", align="left"),
        *_mean_columns("+.4f", "+.3f"),
        Column("family", only="programs"),
        Column("p"),
        Column("verdict", align="left", widest=None),
    ]
    rows: list[Row] = [
        (*(d.run, d.baseline)[: len(sides)], d.measure, *d.means.sides, d.family, d.p, d.verdict)
        for d in differences
    ]
    return Table("comparisons", columns, rows, against(differences), allowance(differences))


def _mean_columns(value: str, ends: str) -> list[Column]:
    titles = {"human": "human alone", "assessor": "assessor alone"}
    return [Column(side, titles.get(side, ""), value, ends) for side in SIDES]


# Corrected means of runs that both people and an assessor judged, and their differences.


@dataclass(frozen=True)
class ScoredByBoth:
    """One run's scores by people's grades, `(measures, judged)`, and by the assessor's.

    Those of the assessor are `(measures, queries)`; `judged` are the places among them of the
    queries that people judged. `unjudged` is the share of what the assessor judged among the first
    ten documents of those queries that people did not: above 0 the human mean is too low.
    """

    run: str
    judged: Integers
    human: Floats
    assessor: Floats
    unjudged: float


def scored_by_both(
    name: str, by_human: Rankings, by_assessor: Rankings, measures: Sequence[Measure]
) -> ScoredByBoth:
    """One run's scores from its rankings against both qrels."""
    human, assessor = (score(ranked, measures).values for ranked in (by_human, by_assessor))
    for measure, *rows in zip(measures, human, assessor, strict=True):
        if any(np.isnan(row).any() for row in rows):
            raise BadInput(
                f"{name}: {measure} is undefined for some queries, so its mean is of others "
                "with each side's grades; nothing can be corrected"
            )
    position = {query: i for i, query in enumerate(by_assessor.queries)}
    judged = np.array([position[query] for query in by_human.queries])
    shares = [np.nan_to_num(score(r, ["Judged@10"]).values[0]) for r in (by_human, by_assessor)]
    of_people, every = float(shares[0].mean()), float(shares[1][judged].mean())
    unjudged = max(every - of_people, 0.0) / every if every > 0 else 0.0
    return ScoredByBoth(name, judged, human, assessor, unjudged)


def corrected_scores(
    runs: Sequence[ScoredByBoth], measures: Sequence[Measure], target: str
) -> list[CorrectedScores]:
    """Every run by every measure, with one lambda for all runs."""
    means = [(str(m), _joint(runs, i, m, target).means()) for i, m in enumerate(measures)]
    return [
        CorrectedScores(both.run, measure, of_runs[run], both.unjudged)
        for run, both in enumerate(runs)
        for measure, of_runs in means
    ]


def _joint(group: Sequence[ScoredByBoth], index: int, measure: Measure, target: str) -> Joint:
    """The runs' scores by one measure, which are corrected with one lambda."""
    human = np.array([both.human[index] for both in group])
    assessor = np.array([both.assessor[index] for both in group])
    bounds = None if measure.name in UNBOUNDED else UNIT
    return Joint(human, assessor, Design(group[0].judged, assessor.shape[1]), target, bounds)


def corrected_differences(
    runs: Sequence[ScoredByBoth], measures: Sequence[Measure], baseline: str | None, target: str
) -> Iterator[CorrectedDifference]:
    """All runs against the baseline: the one asked for, else each measure's best corrected one."""
    names = [both.run for both in runs]
    base = None if baseline is None else names.index(baseline)
    for index, measure in enumerate(measures if len(runs) > 1 else ()):
        for means, verdict in _joint(runs, index, measure, target).compared(base):
            pair = names[verdict.first], names[verdict.second]
            yield CorrectedDifference(
                *pair, str(measure), means, verdict.p, verdict.family, verdict.word
            )


# Whether the queries that people judged were chosen, and what that could do to a verdict.


def selection_findings(
    runs: Sequence[ScoredByBoth], by_assessor: JudgedPairs, measures: Sequence[Measure]
) -> Iterator[Finding]:
    """That people's queries are no random sample of all, by what the assessor says of all.

    Its mean scores of the runs, how many documents it judged, and the share of relevant ones.
    """
    sizes = np.bincount(by_assessor.query)
    relevant = np.bincount(by_assessor.query[by_assessor.grade > 0], minlength=len(sizes))
    scores = np.mean([both.assessor for both in runs], axis=0)
    features = np.concatenate([scores, [sizes, relevant / sizes]])
    names = [*map(str, measures), "number of judged documents", "share of relevant documents"]
    test = balance(features, runs[0].judged)
    if test is None or test.p >= SIGNIFICANT:
        return
    yield Finding(
        f"the queries that people judged are not like the others (p {test.p:.2g}): the assessor's"
        f" {names[test.feature]} is {test.labelled:.3g} on them and {test.others:.3g} on the"
        " others; intervals do not"
        " allow for queries that were chosen"
    )


MOST_UNJUDGED = 0.2
"""With a larger share of documents that people left out, their scores say nothing."""


def correction_findings(
    runs: Sequence[ScoredByBoth], scores: Sequence[CorrectedScores]
) -> Iterator[Finding]:
    """All that there is to know; `BadInput` where people left out too much of their queries."""
    yield Finding("the intervals hold if the queries that people judged are a random sample of all")
    worst = max(runs, key=lambda both: both.unjudged)
    text = (
        f"people did not judge {worst.unjudged:.1%} of what the assessor did in the top ten of "
        f"{worst.run}, so their scores are too low"
    )
    if worst.unjudged > MOST_UNJUDGED:
        raise BadInput(f"{text}; correcting needs people's grades of whole queries")
    if worst.unjudged > 0:
        yield Finding(text, about=worst.run)
    partly = [row for row in scores if row.means.judged < row.means.queries]
    if count := sum(row.means.weight == 0 for row in partly):
        yield Finding(
            f"lambda is 0 for {count} of {len(partly)} scores, which are people's own: the "
            "judged queries do not show that following the assessor makes intervals narrower"
        )
