"""Scores corrected by people's grades: the records, their tables, and the command's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from typing import TYPE_CHECKING, Any

from labeler.evaluation.comparison.paired import Correction
from labeler.evaluation.summary import told_apart
from labeler.evaluation.tables import P_TITLES
from labeler.messages import count_of
from labeler.metrics import parse
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Cell, Column, Interval, Table
from labeler.stats.estimates import Mean
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.ppi import CorrectedMean

if TYPE_CHECKING:
    from pandas import DataFrame

SIDES = ("human", "assessor", "corrected")


@dataclass(frozen=True)
class CorrectedScores:
    """A run's means by one measure, and the scores that they were made of.

    `unjudged` is the share of what the assessor judged among its first ten documents, in people's
    queries, that people did not: above 0 the human mean is too low. `by_query` holds the human
    score (`None` where people did not judge the query) and the assessor's.
    """

    run: str
    measure: str
    means: CorrectedMean
    unjudged: float
    by_query: Mapping[str, tuple[float | None, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class CorrectedDifference:
    """A run less the baseline by one measure, over the queries that count for both.

    `p` is of the corrected difference; `p_holm` allows for all runs compared with a baseline that
    was named beforehand, `p_hsd` for all pairs of runs, so that the best of the same scores may be
    the baseline. `correction` says which of the two the verdict goes by. `turns_at` is the shift
    that turns a verdict: by how much the difference on the queries that people did not judge would
    have to fall short of what those judged foretell; `None` where there is no verdict, or no query
    is left.
    """

    run: str
    baseline: str
    measure: str
    means: CorrectedMean
    p: float
    p_holm: float
    p_hsd: float
    correction: Correction
    lower_is_better: bool

    @property
    def p_corrected(self) -> float:
        """The p that the verdict goes by."""
        return self.p_hsd if self.correction == "hsd" else self.p_holm

    @property
    def turns_at(self) -> float | None:
        """The shift of the other queries that turns the verdict."""
        mean, left = self.means.corrected, 1 - self.means.judged / self.means.queries
        if self.verdict == "cannot tell apart" or not left or mean.low is None or mean.high is None:
            return None
        return (mean.low if mean.value > 0 else -mean.high) / left

    @property
    def verdict(self) -> str:
        """In words, at the 5 % level after the correction."""
        if not self.p_corrected < SIGNIFICANT:
            return "cannot tell apart"
        return "better" if (self.means.corrected.value > 0) != self.lower_is_better else "worse"


@dataclass(frozen=True, repr=False)
class Corrections:
    """All runs by all measures, the runs against a baseline, and what a reader should know.

    `pairs` is how many pairs people graded, where they are a sample and not all of some queries.
    """

    target: str
    scores: tuple[CorrectedScores, ...]
    comparisons: tuple[CorrectedDifference, ...] = ()
    findings: tuple[Finding, ...] = ()
    pairs: int | None = None

    @property
    def sentence(self) -> str:
        """Which run leads by the first measure, and which of the others it can be told from."""
        measure = self.scores[0].measure
        scores = [s for s in self.scores if s.measure == measure]
        sign = -1 if parse(measure).definition.lower_is_better else 1
        best = max(scores, key=lambda s: sign * s.means.corrected.value)
        mean = best.means.corrected
        ends = "" if mean.low is None else f" [{mean.low:.3f}, {mean.high:.3f}]"
        judged = count_of(self.pairs, "pair", "pairs") if self.pairs else best.means.judged
        value = f"{mean.value:.4f}{ends} {self._over}, of which people judged {judged}"
        if len(scores) == 1:
            return f"{best.run}: corrected {measure} is {value}."
        leads = f"{best.run} has the {'lowest' if sign < 0 else 'highest'} corrected {measure}"
        compared = [c for c in self.comparisons if c.measure == measure]
        if not compared:
            return f"{leads}, {value}."
        baseline = compared[0].baseline
        return (
            f"{leads}, {value}. {told_apart(compared, 'it' if baseline == best.run else baseline)}"
        )

    @property
    def coverage(self) -> str:
        """How many queries people judged, and over which the means are."""
        means = self.scores[0].means
        return f"people judged {means.judged} of {means.queries} queries; the mean {self._over}"

    @property
    def _over(self) -> str:
        queries = self.scores[0].means.queries
        return f"over {'these' if self.target == 'these' else 'all queries like these'} {queries}"

    def tables(self) -> list[Table]:
        """The tables `scores` and, of several runs, `comparisons`."""
        tables = [score_table(self.scores)]
        return [*tables, comparison_table(self.comparisons)] if self.comparisons else tables

    def query_table(self) -> Table:
        """The table `queries`: a row for each run, query and measure, with both scores."""
        return query_table(self.scores)

    def frame(self, *, per_query: bool = False) -> DataFrame:
        """The scores as a pandas DataFrame: a row for each run and measure; or each query, too."""
        return (self.query_table() if per_query else score_table(self.scores)).frame()

    def as_json(self, *, per_query: bool = False) -> dict[str, Any]:
        """The JSON of the command `correct`."""
        return {
            "target": self.target,
            "human_pairs": self.pairs,
            "scores": [_scores_as_json(scores, per_query=per_query) for scores in self.scores],
            "comparisons": [_difference_as_json(difference) for difference in self.comparisons],
            "warnings": [f.text for f in self.findings if f.level == "warning"],
        }

    def __repr__(self) -> str:
        runs = ", ".join(dict.fromkeys(scores.run for scores in self.scores))
        measures = ", ".join(dict.fromkeys(scores.measure for scores in self.scores))
        means = self.scores[0].means
        judged = f"{means.judged} of {means.queries} queries"
        judged = f"{self.pairs} pairs" if self.pairs else judged
        return f"Corrections(runs=[{runs}], measures=[{measures}], human={judged})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, [self.sentence])


def _scores_as_json(scores: CorrectedScores, *, per_query: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "run": scores.run,
        "measure": scores.measure,
        "unjudged": scores.unjudged,
        **_means_as_json(scores.means),
    }
    if per_query:
        entry["per_query"] = {
            query: {"human": human, "assessor": assessor}
            for query, (human, assessor) in scores.by_query.items()
        }
    return entry


def _difference_as_json(difference: CorrectedDifference) -> dict[str, Any]:
    pair = {"run": difference.run, "baseline": difference.baseline, "measure": difference.measure}
    names = ("p", "p_holm", "p_hsd", "correction", "verdict", "turns_at")
    chances = {name: getattr(difference, name) for name in names}
    return {**pair, **_means_as_json(difference.means), **chances}


def _means_as_json(means: CorrectedMean) -> dict[str, Any]:
    counts = {"human_queries": means.judged, "queries": means.queries}
    sides = {side: asdict(mean) for side, mean in zip(SIDES, _three(means), strict=True)}
    return {**counts, **sides, "lambda": means.weight, "freedom": means.freedom}


def score_table(scores: Sequence[CorrectedScores]) -> Table:
    """A row for each run and measure: by people alone, by the assessor alone, and corrected."""
    columns = [Column("run", align="left"), Column("measure", align="left")]
    columns += [*_mean_columns(".4f", ".3f"), Column("lambda", format=".2f")]
    rows = [[s.run, s.measure, *_mean_cells(s.means), s.means.weight] for s in scores]
    return Table("scores", columns, rows)


def comparison_table(differences: Sequence[CorrectedDifference]) -> Table:
    """A row for each comparison with the baseline, which a header for people names."""
    against = f"against {differences[0].baseline}"
    columns = [
        Column("run", title=against, align="left"),
        Column("measure", align="left"),
        *_mean_columns("+.4f", "+.3f"),
        *(Column(name, only="programs") for name in ("p", "p_holm", "p_hsd", "correction")),
        Column("p_corrected", title=P_TITLES[differences[0].correction], only="people"),
        Column("verdict"),
        Column("turns_at", only="programs"),
    ]
    rows = [list(_comparison_cells(difference)) for difference in differences]
    return Table("comparisons", columns, rows, note=_allowance(differences))


def _comparison_cells(d: CorrectedDifference) -> Iterator[Cell]:
    yield from (d.run, d.measure, *_mean_cells(d.means), d.p, d.p_holm, d.p_hsd, d.correction)
    yield from (d.p_corrected, d.verdict, d.turns_at)


def _allowance(differences: Sequence[CorrectedDifference]) -> str:
    """What the p of the table allows for, where there is more than one pair of runs."""
    runs = len({d.run for d in differences})
    if runs == 1:
        return ""
    if differences[0].correction == "holm":
        return f"p allows for the {runs} runs compared with {differences[0].baseline} (Holm)"
    return f"p allows for all {(runs + 1) * runs // 2} pairs of runs (HSD)"


def query_table(scores: Sequence[CorrectedScores]) -> Table:
    """A row for each run, query and measure, with both scores."""
    columns = [
        *(Column(name, align="left") for name in ("run", "query", "measure")),
        *map(Column, ("human", "assessor")),
    ]
    rows = [
        (s.run, query, s.measure, human, assessor)
        for s in scores
        for query, (human, assessor) in s.by_query.items()
    ]
    return Table("queries", columns, rows)


def _mean_columns(value: str, ends: str) -> list[Column]:
    titles = {"human": "human alone", "assessor": "assessor alone"}
    return [Column(side, titles.get(side, ""), value, ends) for side in SIDES]


def _mean_cells(means: CorrectedMean) -> list[Cell]:
    return [Interval(*astuple(mean)) for mean in _three(means)]


def _three(means: CorrectedMean) -> tuple[Mean, Mean, Mean]:
    """The three means, in the order of `SIDES`."""
    return means.human, means.assessor, means.corrected
