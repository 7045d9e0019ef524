"""`compare`: which of some systems to take, how sure that is, and what would make it surer."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from labeler.collection.judgements import read_judgements, states_of
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.collection.stale import hash_of
from labeler.collection.user_files import COMPARED, collection_qrels, run_name
from labeler.data import Pair, Query
from labeler.errors import Misuse, about, check_known
from labeler.evaluation.equivalence import Margin, margins_by_measure
from labeler.evaluation.evaluate import Report, report_on
from labeler.evaluation.inputs import run_of
from labeler.evaluation.looks import History, Look, Policy, keep_looks, read_looks
from labeler.evaluation.options import FILL, MEASURES, SCORING, EvaluationOptions, names_of
from labeler.evaluation.rulings import cannot_show, left_open, number_needed, settled_by
from labeler.evaluation.scores import Comparison, over_common_queries
from labeler.evaluation.verdicts import check_scales, fill_paths, grade_layers
from labeler.exchange.qrels import read_qrels
from labeler.files.paths import named_file
from labeler.judging.job import JudgeResult
from labeler.judging.judge import JudgeOptions, JudgingPlan, judge_set
from labeler.messages import count_of, dollars
from labeler.metrics import Scores, parse
from labeler.models.session import Act, Control, sync
from labeler.options import DOLLARS, SEED, Options, option
from labeler.pipeline.query_lists import ShownDocument, ShownQuery, first_documents, ranks_of
from labeler.prompt import checked_prompt
from labeler.report.finding import Finding, Setting
from labeler.report.result import Result
from labeler.report.table import Column, Table
from labeler.runs.engines.in_python import PythonEngine
from labeler.runs.retrieve_run import RetrieveOptions, as_engine, ranked_by
from labeler.stats.families import smallest_p
from labeler.stats.power import pooled_deviation, queries_needed

System = Any
"""A run in any form, the name of a run of the collection, or a retriever in Python."""
DEPTH = 10
"""So many documents of each system are looked at where the measure has no cutoff."""
ENOUGH_PAIRS = 1000
"""So many pairs tell what others will cost."""
CHANCE = 0.8
"""With what chance so many queries as are asked for would tell the systems apart."""
WHOLE_RANGE = 2.0
"""An interval of a difference that is so wide excludes nothing."""


@dataclass(frozen=True)
class CompareOptions(Options):
    """By what systems are compared.

    The first of `measures` decides. `qrels` names the collection's set that scores, people's
    `human` by default, and `fill` the assessor whose grades stand where that has none. The systems
    are held against the `baseline`, by default the first. Of the measures in `margins` it is said
    whether a loss of that size is excluded. `history` is the file of earlier looks at that gate,
    and `policy` what they may err in: `each` look in 5 % of cases, or a `sequential` series. The
    `seed` is that of a decision. It is by the grades of `people` alone where their set is named, of
    whom a pair's grade costs `person_price` dollars.
    """

    measures: tuple[str, ...] = option(("nDCG@10",), MEASURES)
    qrels: str | None = option(
        None, "Which of the collection's qrels (default: human).", metavar="NAME", panel=SCORING
    )
    fill: str = option("", FILL)
    history: Path | None = option(
        None,
        "Keep each look at the gate here, and find slow losses; repeat after every commit.",
        metavar="FILE",
        panel="Gates",
    )
    policy: Policy = option(
        "each",
        "What fails by chance in 5 % of cases: each look, or any of a sequential history.",
        panel="Gates",
        rare=True,
    )
    baseline: str | None = None
    margins: Mapping[str, float] = field(default_factory=dict)
    seed: int = option(0, "Decides in which order queries are drawn.", SEED, rare=True)
    people: str | None = option(
        None, "People's qrels, which alone decide; an assessor forecasts them.", metavar="NAME"
    )
    person_price: float | None = option(
        None, "What people's grade of a pair costs.", DOLLARS, metavar="DOLLARS", rare=True
    )


# The systems: files, runs of the collection by name, or retrievers, which are asked.


def systems_of(
    collection: Collection, systems: Mapping[str, System] | Iterable[System], control: Control
) -> dict[str, Any]:
    """Runs by name; `Misuse` of fewer than two, or of two that have one name."""
    words = systems.items() if isinstance(systems, Mapping) else map(_named, systems)
    runs: dict[str, Any] = {}
    for name, system in words:
        if name in runs:
            raise Misuse(f"two systems are called {name!r}; name one: NAME=FILE")
        runs[name] = _run_of(collection, name, system, control)
    if len(runs) < 2:
        raise Misuse("two systems or more are compared; as in: labeler compare COLL old new")
    return runs


def _named(system: System) -> tuple[str, System]:
    """The name of a system that stands in a list: that of `NAME=SYSTEM`, else its file's."""
    if not isinstance(system, str | os.PathLike):
        raise Misuse("give systems that are no files as a dict of names", parameter="systems")
    name, file = named_file(Path(system))
    return (name, file) if name else (run_name(file), system)


def _run_of(collection: Collection, name: str, system: System, control: Control) -> Any:
    if not isinstance(system, str | os.PathLike):
        engine = callable(system) or hasattr(system, "invoke") or hasattr(system, "retrieve")
        return _retrieved(collection, system, control) if engine else run_of(system, name)
    text, files = os.fspath(system), collection.run_files()
    if not os.path.lexists(text):
        if text in files:
            return files[text]
        if ":" in text:
            return _retrieved(collection, PythonEngine(python=text), control)
        listed = ", ".join(files) or "none"
        problem = f"{text}: no file, and no run of {collection.folder}; its runs are {listed}"
        raise Misuse(problem, parameter="systems")
    return run_of(Path(text), name, collection)


def _retrieved(collection: Collection, engine: object, control: Control) -> Any:
    """What a retriever finds for every query of the collection."""
    with TemporaryDirectory(prefix="labeler-") as folder:
        answers = Path(folder, "answers.jsonl")
        ranked, _ = ranked_by(collection, as_engine(engine), answers, RetrieveOptions(), control)
    return {query: scores for query, scores in ranked.run.items() if scores}


# What the systems show first, and what of it nobody judged.


@dataclass(frozen=True, eq=False)
class ComparedSystems:
    """Systems to compare: the qrels that score them, their runs, and what nobody judged of them."""

    collection: Collection
    qrels: Path
    runs: Mapping[str, Any]
    options: CompareOptions

    @cached_property
    def depth(self) -> int:
        """How many first documents of each system count."""
        with about("measures"):
            cutoff = parse(self.options.measures[0]).cutoff
        return cutoff if isinstance(cutoff, int) else DEPTH

    @cached_property
    def layers(self) -> dict[str, Mapping[str, Mapping[str, int]]]:
        """The grades by who gave them, first those that count before the others."""
        fill, paths = self.options.fill, list[Path]()
        if not self.qrels.exists():  # what an assessor is to give
            return {}
        with suppress(Misuse):  # an assessor that has judged nothing yet
            paths = fill_paths(self.qrels, fill) if fill else []
        layers = grade_layers(self.qrels, fill if paths else "", lambda _line: None)
        return dict(zip([path.stem for path in (self.qrels, *paths)], layers, strict=True))

    def grade(self, query: str, doc: str) -> tuple[int | None, str]:
        """A pair's grade, and who gave it."""
        for name, grades in self.layers.items():
            if (grade := grades.get(query, {}).get(doc)) is not None:
                return grade, name
        return None, ""

    @cached_property
    def all_tops(self) -> dict[str, dict[str, list[str]]]:
        """System to query to the first documents."""
        return first_documents(self.runs, self.depth)

    @cached_property
    def tops(self) -> dict[str, dict[str, list[str]]]:
        """The same of the queries that are scored."""
        scored = {query for grades in self.layers.values() for query in grades}
        return {
            name: {query: docs for query, docs in tops.items() if query in scored}
            for name, tops in self.all_tops.items()
        }

    @cached_property
    def unjudged(self) -> dict[str, list[Pair]]:
        """System to the pairs of its first documents that nobody judged."""
        return {
            name: [
                Pair(query, doc)
                for query, docs in top.items()
                for doc in docs
                if self.grade(query, doc)[0] is None
            ]
            for name, top in self.tops.items()
        }

    @cached_property
    def missing(self) -> list[Pair]:
        """The pairs that nobody judged, of all systems together, each once."""
        return list(dict.fromkeys(pair for pairs in self.unjudged.values() for pair in pairs))


def compared_systems(
    collection: Any,
    systems: Mapping[str, System] | Iterable[System],
    options: CompareOptions,
    control: Control | None = None,
    first: str = "",
) -> ComparedSystems:
    """The systems, read or asked, and the qrels that are to score them.

    By default the only ones, not counting what comparisons filled; `first` names those to come.
    """
    if options.policy == "sequential" and options.history is None:
        raise Misuse("name the file that counts the looks, as history", parameter="policy")
    opened = open_collection(collection)
    with about("qrels"):
        own = [name for name in opened.qrels_names() if not name.endswith(COMPARED)]
        is_first = bool(first) and not own and options.qrels is None
        qrels = opened.qrels(first) if is_first else collection_qrels(opened.folder, options.qrels)
    runs = systems_of(opened, systems, control or Control())
    if options.baseline is not None:
        check_known("run", options.baseline, runs, "baseline")
    return ComparedSystems(opened, qrels, runs, options)


# The holes, filled by an assessor, who judges these pairs alone.


def ajudge_missing(
    systems: ComparedSystems,
    judging: JudgeOptions,
    control: Control | None = None,
    missing: Iterable[Pair] | None = None,
) -> Act[JudgeResult, JudgingPlan]:
    """Have an assessor judge the pairs of these systems that nobody judged, or some of them.

    Its grades are kept as `NAME.compared`, as no pool chose these pairs.
    """
    collection, name = systems.collection, f"{systems.options.fill}{COMPARED}"
    prompt = checked_prompt(judging.grading_prompt)
    check_scales(systems.qrels, f"the prompt {prompt.name}", prompt.grades)
    before = [pair for pair, _ in states_of(collection.judgements(name))]
    pairs = list(dict.fromkeys([*before, *(systems.missing if missing is None else missing)]))
    asked = replace(judging, name=name)
    return judge_set(
        collection, lambda _, texts: [*filter(texts.has, pairs)], asked, control or Control()
    )


judge_missing = sync(ajudge_missing)


def price_of(collection: Collection, pairs: int, assessor: str = "") -> str:
    """What so many pairs would cost by an assessor, as its first ones did; empty without any."""
    name, mean = mean_price(collection, assessor)
    whole = dollars(None if mean is None else mean * pairs)
    return f"{whole} by {name}, as it has cost so far" if name else ""


def mean_price(collection: Collection, assessor: str = "") -> tuple[str, float | None]:
    """Who was asked, an assessor or else any, and what a pair has cost, if that is known."""
    names = collection.judgement_names()
    own = [name for name in names if name in (assessor, f"{assessor}{COMPARED}")]
    for name in (*own, *names):
        rows = [*islice(read_judgements(collection.judgements(name)), ENOUGH_PAIRS)]
        if any(row.judged.attempts for row in rows):  # a panel's set has none, and asks nobody
            priced = [row.judged.cost for row in rows if row.judged.cost is not None]
            return name, sum(priced) / len(priced) if priced else None
    return "", None


# The comparison, in three lines, as tables and as JSON.


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison(Result):
    """Which of some systems to take: scores, the verdict, holes, and every query's difference.

    `looks` are those at a gate whose history is kept.
    """

    systems: ComparedSystems
    report: Report
    looks: tuple[Look, ...] = ()

    @property
    def measure(self) -> str:
        """The measure that decides."""
        return self.report.measures[0]

    @cached_property
    def comparison(self) -> Comparison:
        """The baseline beside the other system; of several others the best one."""
        of = [c for c in self.report.comparisons if c.measure == self.measure]
        return max(of, key=lambda c: (not math.isnan(c.difference), c.difference))

    @property
    def names(self) -> tuple[str, str]:
        """The two systems whose lists are shown: the baseline, and the other one."""
        return self.comparison.baseline, self.comparison.run

    @property
    def sentences(self) -> list[str]:
        """Which system, how sure, and what would make it surer.

        Before them stands what so few queries cannot show, after them a look at a gate.
        """
        lines = [
            ("Which", self.which),
            ("How sure", self.how_sure),
            ("What would make it surer", self.surer),
            *(("This look", str(look)) for look in self.looks),
        ]
        beyond = [*map(cannot_show, self._beyond()), *left_open(self.report.gates)]
        return [*beyond, *(f"{name}: {line}" for name, line in lines)]

    def _beyond(self) -> Iterator[str]:
        """What no outcome of these queries shows: a small p, or a loss as small as a margin."""
        for c in self.report.compared():
            if c.by_test == "unresolvable":
                differing = c.wins + c.losses
                yield (
                    f"{c.run} differs from {c.baseline} on "
                    f"{count_of(differing, 'query')}, of which no outcome has a p below "
                    f"{smallest_p(differing):.2g}."
                )
        for e in self.report.equivalences:
            if e.margin < e.resolved < math.inf:
                needed = number_needed(0.0, -e.resolved, -e.margin, e.queries)
                yield (
                    f"a loss of {e.margin:g} in {e.measure}, as {e.queries:,} queries like these "
                    f"resolve {e.resolved:.3f} for {e.run}; "
                    f"{settled_by(needed, 'both are alike')}."
                )

    @cached_property
    def which(self) -> str:
        """Which system to take, by whose grades."""
        if len(self.report.runs) > 2:
            return " ".join([*self.report.sentences, f"This is by {self.report.grades.giver}."])
        c, old, new = self.comparison, *self.names
        if c.doubt is not None:  # the third line says what would change that
            return f"not known, because {c.doubt.because}."
        means = {run.name: run.means()[self.measure].value for run in self.report.runs}
        of = f"{self.measure} of {new} is {means[new]:.4f}, of {old} {means[old]:.4f}"
        over = f"over {count_of(c.queries, 'query')}, by {self.report.grades.giver}"
        verb = {"better": f"take {new}", "worse": f"keep {old}"}.get(
            c.by_test, "neither is shown to be better than the other"
        )
        return f"{verb}: {of}, {over}."

    @cached_property
    def how_sure(self) -> str:
        """By how much at least and at most, and on how many queries."""
        parts = []
        for c in self.report.compared():
            is_told = not math.isnan(c.low) and c.high - c.low < WHOLE_RANGE
            sure = f"from {loss_or_gain(c.low)} to {loss_or_gain(c.high)} (95 % sure)"
            if not is_told:
                sure = "these queries do not tell"
            elif c.low > 0 or c.high < 0:
                sides = sorted((abs(c.low), abs(c.high)))
                verb = "gains" if c.low > 0 else "loses"
                sure = f"{verb} at least {sides[0]:.4f} and at most {sides[1]:.4f} (95 % sure)"
            if c.doubt is not None:
                sure = f"not at all, for that reason; by these grades alone {sure}"
            better = count_of(c.wins, "query")
            counts = f"better on {better}, equal on {c.ties:,}, worse on {c.losses:,}"
            parts.append(f"{c.run} against {c.baseline}: {sure}; {counts}.")
            if is_told:
                parts.append(on_other_queries(c.queries, *c.next_set[1:]))
        return " ".join(parts)

    @cached_property
    def surer(self) -> str:
        """The first thing that would make the decision surer, with its price."""
        old, new = (self.systems.tops[name] for name in self.names)
        if old == new and self.comparison.ties == self.comparison.queries:
            return f"nothing, as the first {self.systems.depth} documents of both are the same."
        parts = [*self._holes(), *self._queries()]
        if (doubt := self.comparison.doubt) is not None:
            parts.insert(0, f"{doubt.command} ({doubt.price})")
        if unchecked := self.report.trust.unchecked:
            parts.append(f"{unchecked.command} ({unchecked.price}), as {unchecked.because}")
        if not parts:
            return "all of it is judged, and the queries tell the systems apart."
        return "; ".join(parts) + "."

    def _holes(self) -> Iterator[str]:
        if not (missing := len(self.systems.missing)):
            return
        of, (name, graded) = self.systems, self._graded_elsewhere
        prices = [f"{graded:,} by {name} are there"] if graded else []
        if graded < missing:
            price = price_of(of.collection, missing - graded, of.options.fill)
            prices.append(price or "at no known price: no model has judged here yet")
        pairs = f"{count_of(missing, 'pair')} among the first {of.depth} documents that have none"
        yield f"grades for the {pairs} ({', the others '.join(prices)})"

    def _queries(self) -> Iterator[str]:
        c = self.comparison
        is_told, needed = c.by_test in ("better", "worse"), self.queries_needed
        if is_told or needed is None or needed <= c.queries:
            return
        yield (
            f"about {count_of(needed, 'query')} like these {c.queries:,} would tell "
            f"{c.run} from {c.baseline}, with a chance of {CHANCE:.0%}, if the difference of "
            f"{abs(c.difference):.4f} is real"
        )

    @cached_property
    def _graded_elsewhere(self) -> tuple[str, int]:
        """Which other set of the collection has most grades of what nobody judged, and how many."""
        of, most = self.systems, ("", 0)
        for name in of.collection.qrels_names():
            grades = {} if name in of.layers else read_qrels(of.collection.qrels(name))
            graded = sum(grades.get(query, {}).get(doc, -1) >= 0 for query, doc in of.missing)
            most = max(most, (name.removesuffix(COMPARED), graded), key=lambda each: each[1])
        return most

    @cached_property
    def queries_needed(self) -> int | None:
        """How many queries would tell a difference as large as this one; None where unknown."""
        values = np.nan_to_num(np.array([self._scores[name].values[0] for name in self.names]))
        size = abs(float((values[1] - values[0]).mean()))
        deviation = pooled_deviation(values) if values.shape[1] > 1 else 0.0
        return queries_needed(size, deviation, CHANCE) if size > 0 and deviation > 0 else None

    def _findings(self) -> Iterator[Finding]:
        """What a reader of the scores should know, and how holes are filled."""
        for finding in (*self.report.of_scoring, *self.report.of_judges):
            yield finding.without_advice()
        if missing := len(self.systems.missing):
            fill = Setting(
                "fill", self.systems.options.fill or self._graded_elsewhere[0] or "ASSESSOR"
            )
            text = f"{fill} fills the {count_of(missing, 'pair')} that nobody judged"
            yield Finding(text, settings=(fill,), level="note", advice=text)

    @cached_property
    def queries(self) -> tuple[ShownQuery, ...]:
        """Every query that both systems are scored on, the largest gain first."""
        pair, path = self._scores, self.systems.collection.queries
        texts = read_queries(path) if path.is_file() else {}
        queries = pair[self.names[0]].queries
        rows = zip(*(pair[name].values[0].tolist() for name in self.names), strict=True)
        tops = {name: self.systems.tops[name] for name in self.names}
        compared = [
            ShownQuery(
                texts.get(query) or Query(query, ""),
                dict(zip(self.names, scores, strict=True)),
                [
                    ShownDocument(doc, ranks, *self.systems.grade(query, doc))
                    for doc, ranks in ranks_of(tops, query).items()
                ],
            )
            for query, scores in zip(queries, rows, strict=True)
        ]
        return tuple(sorted(compared, key=lambda q: (-self.gain(q), q.query.id)))

    def gain(self, query: ShownQuery) -> float:
        """The second system's score of a query less the first's."""
        old, new = self.names
        return query.scores[new] - query.scores[old]

    @cached_property
    def _scores(self) -> Mapping[str, Scores]:
        """The scores of the two over their common queries."""
        scores = {run.name: run.scores for run in self.report.runs}
        return over_common_queries({name: scores[name] for name in self.names})

    def hole_table(self) -> Table:
        """A row for each system: how many pairs of its first documents nobody judged."""
        depth = self.systems.depth
        columns = [Column("system", align="left"), Column("unjudged pairs")]
        rows = [(name, len(self.systems.unjudged[name])) for name in self.systems.tops]
        return Table("holes", columns, rows, f"unjudged among the first {depth} documents")

    def tables(self) -> list[Table]:
        """Scores, comparisons, margins if there are some, and what is unjudged."""
        return [*self.report.tables(), self.hole_table()]

    def as_json(self) -> dict[str, Any]:
        """The decision, the figures of `evaluate` for these systems, holes, every difference."""
        figures = self.report.as_json()
        words = "which", "how_sure", "surer", "queries_needed"
        return self.picked(
            "findings",
            decision=self.picked(*words, verdict=self.comparison.verdict),
            looks=self.looks,
            systems=list(self.systems.runs),
            holes=self.hole_table(),
            unjudged=len(self.systems.missing),
            **{name: value for name, value in figures.items() if name != "warnings"},
            differences={q.query.id: self.gain(q) for q in self.queries},
        )

    def __repr__(self) -> str:
        return f"SystemComparison({', '.join(self.systems.runs)}: {self.comparison.verdict})"


def on_other_queries(queries: int, low: float | None, high: float | None) -> str:
    """Between what a difference lies on another set of as many queries."""
    if low is None or high is None:
        return "Other queries may differ."
    ends = f"from {loss_or_gain(low)} to {loss_or_gain(high)}"
    return f"On {queries:,} other queries like these: {ends}."


def loss_or_gain(value: float) -> str:
    """A difference in words."""
    return f"a {'loss' if value < 0 else 'gain'} of {abs(value):.4f}"


def result_of(systems: ComparedSystems) -> SystemComparison:
    """The comparison of systems whose runs are there."""
    options = systems.options
    baseline = options.baseline or next(iter(systems.runs))
    # an assessor that has judged nothing yet is not missed where there is nothing to fill
    fill = options.fill if systems.missing or len(systems.layers) > 1 else ""
    how = EvaluationOptions(options.measures, baseline=baseline, fill=fill, margins=options.margins)
    report = report_on(systems.qrels, systems.runs, how)
    if options.history is None:
        return SystemComparison(systems, report)
    with about("history"):
        if len(systems.runs) > 2 or not report.equivalences:
            raise Misuse("a history is kept of two systems and a margin")
        looks = read_looks(options.history)
    grades = hash_of(json.dumps([*systems.layers.values()], sort_keys=True))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    made = History(looks, options.policy, grades, now).look_at(report)
    held = [look.holds(e) for look, e in zip(made, report.equivalences, strict=True)]
    return SystemComparison(systems, replace(report, equivalences=tuple(held)), made)


def compare(  # noqa: PLR0913 - whoever calls it names the few that are needed
    collection: Any,
    systems: Mapping[str, System] | Iterable[System],
    measures: str | Sequence[object] = "nDCG@10",
    *,
    qrels: str | None = None,
    fill: str = "",
    no_worse_than: str | None = None,
    margin: Margin = None,
    history: str | os.PathLike[str] | None = None,
    policy: Policy = "each",
    judging: JudgeOptions | None = None,
    control: Control | None = None,
) -> SystemComparison:
    """Compare two systems or more by a collection's grades: which, how sure, what would help.

    `systems` are runs in any form by name, names of the collection's runs, or retrievers, which are
    asked for every query. The first of `measures` decides. The first system is the baseline, or the
    one that others may be `no_worse_than` by a `margin`. `history` is the file of the looks at that
    gate; by the `sequential` policy all of them together fail by chance in 5 % of cases at most.
    `fill` names the assessor whose grades stand where `qrels` has none; with `judging` it judges
    what of these systems nobody judged.

    >>> import labeler
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> _ = labeler.judge(collection, model=fake_model('{"grade": 2}'), name="first")
    >>> two = {"old": {"q1": {"cats": 1.0}}, "new": {"q1": {"dogs": 1.0}}}
    >>> labeler.compare(collection, two).comparison.verdict
    'not known'
    """
    names = names_of(measures)
    margins = margins_by_measure(margin, names, default=no_worse_than is not None)
    path = None if history is None else Path(history)
    options = CompareOptions(names, qrels, fill, path, policy, no_worse_than, margins)
    whole = compared_systems(collection, systems, options, control)
    if judging is not None and whole.missing:
        if not fill:
            raise Misuse("name the assessor whose grades fill the holes", parameter="fill")
        judge_missing(whole, judging, control=control)
        whole = replace(whole)  # without what was gathered before these grades were there
    result = result_of(whole)
    if path is not None:
        keep_looks(path, result.looks)
    return result
