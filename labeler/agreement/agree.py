"""How far assessors agree with human grades: pair by pair, in the order of systems, and jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from labeler.agreement.align import (
    AssessorLabels,
    GradeMatrix,
    GradeReader,
    Rules,
    grade_matrix,
    scale_of,
)
from labeler.agreement.alternative import EPSILON, FEWEST_PEOPLE, alternative_test
from labeler.agreement.calibration import Calibration, calibration, renamed
from labeler.agreement.compare import (
    INTERVALS_OF,
    StatisticOptions,
    compare_labels,
    selected_statistics,
)
from labeler.agreement.differences import differences
from labeler.agreement.joint import ceiling, together
from labeler.agreement.plan import SampleSizePlan, plan
from labeler.agreement.report import AgreementResult, AssessorReport
from labeler.agreement.shown import whom
from labeler.agreement.sources import MoreHumans, RunSources, Sources, sources_of
from labeler.agreement.statistics import find_statistic
from labeler.errors import BadInput, Misuse, about
from labeler.evaluation.inputs import short
from labeler.evaluation.options import STALE_GRADES, Stale
from labeler.messages import no_pair_in_common
from labeler.metrics import parse
from labeler.options import WIDTH, Bounds, Options, option
from labeler.report.finding import Finding, as_findings
from labeler.trec.memory import Source as QrelsSource
from labeler.trec.pairs import PairColumns

if TYPE_CHECKING:
    from labeler.evaluation.leaderboard import Leaderboard

SYSTEMS = "Systems"
PLANNED = ("kappa", "kappa-quadratic")
CEILING_STATISTICS = ("kappa-quadratic", "kappa")


@dataclass(frozen=True)
class AgreeOptions(Options):
    """What a user asks for: how grades are read, which statistics, what orders the systems.

    `width` is that of the interval for which more human grades are planned; `gated` names the
    statistics that will have to keep a gate. `epsilon` is that of `alternative_test`.
    `stale` says whether grades of texts that have changed since are left out (`drop`) or counted
    (`keep`).
    """

    rules: Rules = field(default_factory=Rules)
    statistics: StatisticOptions = field(default_factory=StatisticOptions)
    measure: str = option("nDCG@10", "What ranks the systems.", flags="-m --measure", panel=SYSTEMS)
    width: float | None = option(
        None,
        "What an interval so wide would take, in 80 of 100 cases.",
        WIDTH,
        metavar="WIDTH",
        flags="--how-many",
        panel=INTERVALS_OF,
    )
    gated: Sequence[str] = ()
    epsilon: float = option(
        EPSILON,
        "Of three people or more: how much less often than a person may it be as close?",
        Bounds(0, 0.99),
        rare=True,
    )
    stale: Stale = option("drop", STALE_GRADES)


def agree(
    human: QrelsSource,
    *assessors: QrelsSource,
    runs: RunSources = (),
    more_humans: MoreHumans = (),
    options: AgreeOptions | None = None,
) -> AgreementResult:
    """How far assessors agree with human grades, with 95 % intervals over queries.

    Each is a path, a dict `{query: {document: grade}}`, a DataFrame or rows of (query, document,
    grade); or they are a collection's folder and names of its qrels, the human ones first. What is
    no grade of the scale is left out and counted. With `runs` (paths, folders of runs, or a dict of
    runs by name) the systems are ranked by both. `more_humans` adds the ceiling: how far people
    agree among themselves.

    >>> human = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1, "d4": 0}}
    >>> llm = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1, "d4": 0}}
    >>> agree(human, llm).assessors[0].agreement.statistics["kappa"].value
    0.6363636363636364
    """
    options = options or AgreeOptions()
    sources = sources_of(human, assessors, runs, more_humans, options.stale)
    return AgreementResult(agree_all(sources, options))


def agree_all(
    sources: Sources, options: AgreeOptions, *, jointly: bool = True
) -> list[AssessorReport]:
    """How far each of the assessors agrees with the human grades, alone and beside the others.

    With `jointly`, the reports also hold what several people have among themselves.

    What cannot be answered is refused before anything is computed. One of several assessors that
    has no pair in common with the human grades is named among the warnings.
    """
    apart = [source for source in sources.assessors if not _has_human_pair(sources, source)]
    if len(apart) == len(sources.assessors):
        human, other = sources.human, apart[0]
        raise BadInput(no_pair_in_common(sources.human_name, human, other.name, other.labels))
    with about("measure"):
        parse(options.measure)
    if len(sources.runs) == 1:
        raise Misuse("an order takes two runs or more, and there is one", parameter="runs")
    scale = GradeReader.of(sources.human, options.rules).grades
    with about("require"):
        for name in options.gated:
            find_statistic(name, scale)
    reports = [_report(sources, source, options) for source in sources.assessors]
    if jointly and sources.more_humans:
        reports = _beside_everybody(sources, reports, options)
    first = next((report for report in reports if report.agreement.pairs), reports[0])
    others = len(reports) - 1
    return [
        report if report is first else _against(report, first, options, others)
        for report in reports
    ]


def _beside_everybody(
    sources: Sources, reports: list[AssessorReport], options: AgreeOptions
) -> list[AssessorReport]:
    """The reports with the ceilings, and with what people have among themselves."""
    matrix, how = _everybody(sources, options), options.statistics
    assessors = [source.name for source in sources.assessors]
    consensus = _made_from_others(sources, matrix.assessors)
    people = [name for name in matrix.assessors if name not in (*assessors, *consensus)]
    jointly = together(matrix, people, how)
    notes = [
        Finding(
            f"{short(name)} was made from the grades of {', '.join(map(short, raters))}: it is no "
            "colleague of theirs, and is left out of the ceiling and of people's alpha",
            about=name,
        )
        for name, raters in consensus.items()
    ]
    beside = {name: matrix.of(*people, name) for name in assessors}
    statistics = [find_statistic(name, matrix.grades) for name in CEILING_STATISTICS]
    return [
        replace(
            report,
            joint=jointly,
            ceilings=tuple(
                ceiling(beside[report.assessor], report.assessor, statistic, how)
                for statistic in (statistics if len(people) > 1 else ())
            ),
            alternative=alternative_test(
                beside[report.assessor], report.assessor, options.epsilon, how
            )
            if len(people) >= FEWEST_PEOPLE
            else None,
            notes=(*report.notes, *notes),
        )
        for report in reports
    ]


def _everybody(sources: Sources, options: AgreeOptions) -> GradeMatrix:
    """Every assessor's grades, those included of pairs that the first assessor lacks."""
    reader = GradeReader.of(sources.human, options.rules)
    columns = {sources.human_name: reader.of_human(sources.human)}
    for source in sources.assessors:
        columns[source.name] = reader.of_assessor(source.labels)
    for name, qrels in sources.more_humans.items():
        columns[name] = reader.of_human(qrels)
    return grade_matrix(columns, reader.grades, sources.weights)


def _made_from_others(sources: Sources, everybody: Sequence[str]) -> dict[str, list[str]]:
    """The people whose grades the card says to be made from others', with whose."""
    people = [sources.human_name, *sources.more_humans]
    raters = {name: sorted(sources.made_from.get(name, ())) for name in people}
    others = {name: {*raters[name]} & {*everybody} - {name} for name in people}
    return {name: raters[name] for name in people if others[name] and len(people) > 1}


def _part_of(sources: Sources, source: AssessorLabels) -> list[Finding]:
    """A finding that one of the two sides' grades were made from the other's, among others."""
    name, human = source.name, sources.human_name
    for whole, part in ((human, name), (name, human)):
        raters = sources.made_from.get(whole, ())
        if part in raters:
            what = f"{short(whole)} was made from the grades of {', '.join(raters)}"
            return [Finding(f"{what}: this is the agreement of a part with the whole")]
    return []


def _has_human_pair(sources: Sources, source: AssessorLabels) -> bool:
    """Whether the assessor has a label or a failure of any pair with a human grade."""
    rows = chain(source.labels.items(), PairColumns.of_pairs(source.failures).items())
    return any(row.keys() & sources.human.get(query_id, {}).keys() for query_id, row in rows)


def _report(sources: Sources, source: AssessorLabels, options: AgreeOptions) -> AssessorReport:
    rules = options.rules
    judged = replace(source, human=whom(sources.human_name))
    agreement = compare_labels(sources.human, judged, rules, options.statistics, sources.weights)
    board = _leaderboard(sources, source, options) if agreement.pairs else None
    # what the compared grades mean: human names, else the assessor's; of mapped grades neither
    human = {} if rules.map_human else sources.scale_names
    names = human or ({} if rules.map_assessor else source.scale_names)
    if rules.cut is not None:
        names = {0: f"below {rules.cut}", 1: f"at least {rules.cut}"}
    plans: list[SampleSizePlan] = []
    if options.width is not None and agreement.pairs:
        named = replace(options.statistics, names=options.statistics.names or PLANNED)
        statistics = selected_statistics(named, agreement.scale)
        plans = [p for s in statistics if (p := plan(agreement, s, options.width))]
    return AssessorReport(
        sources.human_name,
        source.name,
        agreement,
        _calibration(sources, source, rules),
        board,
        grade_names=names,
        stale=sources.stale,
        plans=tuple(plans),
        notes=(
            *as_findings([*sources.notes, *source.notes]),
            *_part_of(sources, source),
        ),
    )


def _leaderboard(
    sources: Sources, source: AssessorLabels, options: AgreeOptions
) -> Leaderboard | None:
    """The systems by both; `None` without runs, or where a sample of pairs was graded."""
    if sources.weights is not None or not sources.runs:
        return None

    from labeler.evaluation.inputs import kin_of
    from labeler.evaluation.leaderboard import leaderboard_of
    from labeler.evaluation.two_sided import two_qrels

    models = {"assessor": source.model, "query writer": sources.writer}
    named = {role: model for role, model in models.items() if model}
    kin = kin_of(list(sources.runs), sources.tags, named)
    reader = GradeReader.of(sources.human, options.rules)
    two = two_qrels(reader.of_human(sources.human), reader.of_assessor(source.labels))
    seed = options.statistics.seed
    board = leaderboard_of(two, sources.runs, parse(options.measure), seed, kin)
    return board and replace(board, qrels=(sources.human_name, source.name))


def _calibration(sources: Sources, source: AssessorLabels, rules: Rules) -> list[Calibration]:
    """At each cut of the uncut scale, or at the one cut; none without a mapped human grade at it.

    A distribution is over the assessor's grades, so that it is mapped as they are.
    """
    if source.distributions is None:
        return []
    scale = scale_of(sources.human, rules)
    human = GradeReader(scale, replace(rules, cut=None)).of_human(sources.human)
    held = set(human.coded[0])
    cuts = [cut for cut in scale[1:] if cut in held or cut not in rules.map_human]
    cuts = cuts if rules.cut is None else [rules.cut]
    shares = renamed(source.distributions, rules.map_assessor)
    return calibration(human, shares, cuts, sources.weights)


def _against(
    report: AssessorReport, first: AssessorReport, options: AgreeOptions, others: int
) -> AssessorReport:
    """The report with its differences from the first assessor's; none where scales differ."""
    own, reference = report.agreement, first.agreement
    if own.scale != reference.scale:
        return report
    statistics = selected_statistics(options.statistics, own.scale)
    rows = differences(own.paired, reference.paired, statistics, options.statistics, others)
    return replace(report, against=first.assessor, differences=tuple(rows))
