"""How far assessors agree with people: labels, order of systems, and each beside the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from labeler.agreement.align import LeftOut, Rules, grades_of_other, grades_of_people, scale_of
from labeler.agreement.calibration import Calibration, calibration, renamed
from labeler.agreement.ceiling import Ceiling, ceiling
from labeler.agreement.circularity import circularities
from labeler.agreement.compare import Agreement, Options, agree, chosen_statistics
from labeler.agreement.details import bias_by_grade, by_class, by_query
from labeler.agreement.differences import differences
from labeler.agreement.finding import Details, Finding
from labeler.agreement.mismatch import share_a_pair
from labeler.agreement.options import parse_maps, rules_for
from labeler.agreement.plan import Plan, plan
from labeler.agreement.raters import Ratings, joint, ratings
from labeler.agreement.sources import Source, Sources
from labeler.agreement.statistics import find_statistic
from labeler.data import Pair, Qrels
from labeler.errors import BadInput
from labeler.evaluation.leaderboard import leaderboard
from labeler.messages import no_pair_in_common
from labeler.metrics import parse

CEILING_STATISTICS = ("kappa-quadratic", "kappa")
PLANNED = ("kappa", "kappa-quadratic")


@dataclass(frozen=True)
class Wanted:
    """What a user asks for: how grades are read, which statistics, what orders the systems.

    `width` is that of the interval for which `--how-many` plans; `gated` names the statistics that
    will have to keep a gate.
    """

    rules: Rules = field(default_factory=Rules)
    maps: Mapping[str, Mapping[int, int]] = field(default_factory=lambda: parse_maps(()))
    options: Options = field(default_factory=Options)
    measure: str = "nDCG@10"
    unweighted: bool = False
    width: float | None = None
    gated: tuple[str, ...] = ()


def agree_all(sources: Sources, wanted: Wanted) -> list[Finding]:
    """How far each of the others agrees with people, alone and beside the others.

    What cannot be answered is refused before anything is computed. One of several others that has
    no pair in common with people is named among the warnings.
    """
    apart = [source for source in sources.others if not _meet(sources, source)]
    if len(apart) == len(sources.others):
        names = sources.people_name, apart[0].name
        labels = apart[0].other.labels
        raise BadInput(no_pair_in_common(names[0], sources.people, names[1], labels))
    for source in sources.others:
        _check_gates(sources, source, wanted)
    findings = [_finding(sources, source, wanted) for source in sources.others]
    if len(findings) > 1 or sources.raters:
        together = joint(_all_raters(sources, wanted), wanted.options)
        findings = [replace(finding, joint=together) for finding in findings]
    first = next((one for one in findings if one.agreement.pairs), findings[0])
    return [one if one is first else _against(one, first, wanted) for one in findings]


def _meet(sources: Sources, source: Source) -> bool:
    """Whether the other has a label or a failure of any of people's pairs."""
    people = sources.people
    failed = any(q in people and d in people[q] for q, d in source.other.failures)
    return failed or share_a_pair(people, source.other.labels)


def _check_gates(sources: Sources, source: Source, wanted: Wanted) -> None:
    """`Misuse` of a gate that this scale does not have."""
    rules = rules_for(sources.people, source.other.labels, wanted.maps, wanted.rules)
    scale = scale_of(sources.people, rules) if rules.cut is None else (0, 1)
    for name in wanted.gated:
        find_statistic(name, scale)


def _finding(sources: Sources, source: Source, wanted: Wanted) -> Finding:
    options = wanted.options
    rules = rules_for(sources.people, source.other.labels, wanted.maps, wanted.rules)
    named = replace(source.other, name=source.name)
    found = agree(sources.people, named, rules, options, _weights(sources, wanted))
    found = replace(found, left_out=_of_sample(found.left_out, sources, source))
    people, other = _mapped(sources, source, rules)
    runs = sources.runs if sources.weights is None and found.pairs else {}
    board = leaderboard(people, other, runs, parse(wanted.measure), options.seed)
    models = {"assessor": source.model, "query writer": sources.writer}
    kin = {role: model for role, model in models.items() if model}
    details = Details(
        by_class(found.confusion, found.scale),
        bias_by_grade(found, options),
        by_query(found),
        _calibration(sources, source, rules, wanted),
    )
    return Finding(
        sources.people_name,
        source.name,
        found,
        details,
        board,
        tuple(circularities(board, sources.tags, kin)) if board else (),
        ceiling=_ceilings(sources, source, rules, wanted),
        plans=_plans(found, wanted),
        notes=(*sources.notes, *source.notes, *_notes(rules, wanted)),
    )


def _of_sample(out: LeftOut, sources: Sources, source: Source) -> LeftOut:
    """With what a sample tells of the pairs that people did not grade: never drawn, or skipped."""
    if sources.weights is None:
        return out
    drawn, people = sources.weights.keys(), sources.people
    skipped = {pair for pair in drawn if pair.doc_id not in people.get(pair.query_id, {})}
    labels = source.other.labels
    alone = {Pair(q, d) for q, row in labels.items() for d in row if d not in people.get(q, {})}
    return replace(
        out,
        only_other=0,
        skipped_by_people=len(skipped),
        not_drawn=len(alone - drawn),
    )


def _calibration(
    sources: Sources, source: Source, rules: Rules, wanted: Wanted
) -> list[Calibration]:
    """At each cut of the uncut scale, or at the one cut; none that people's map leaves no grade at.

    A distribution is over the other's grades, so that it is mapped as they are.
    """
    scale = scale_of(sources.people, rules)
    people = grades_of_people(sources.people, scale, replace(rules, cut=None))
    held = {grade for row in people.values() for grade in row.values()}
    cuts = [cut for cut in scale[1:] if cut in held or cut not in rules.map_people]
    cuts = cuts if rules.cut is None else [rules.cut]
    shares = renamed(source.distributions, rules.map_other)
    return calibration(people, shares, cuts, _weights(sources, wanted))


def _notes(rules: Rules, wanted: Wanted) -> tuple[str, ...]:
    """Which side a map was taken for that names none."""
    if not wanted.maps[""]:
        return ()
    side = "people's" if wanted.maps[""].items() <= rules.map_people.items() else "the other's"
    return (f"--map was taken for {side} grades; people:… or other:… says whose are meant",)


def _plans(found: Agreement, wanted: Wanted) -> tuple[Plan, ...]:
    """For the statistics that were asked for by name, else for the two kappas."""
    if wanted.width is None or not found.pairs:
        return ()
    names = wanted.options.names or PLANNED
    chosen = chosen_statistics(replace(wanted.options, names=names), found.scale)
    plans = (plan(found, one, wanted.width, wanted.options) for one in chosen)
    return tuple(one for one in plans if one is not None)


def _mapped(sources: Sources, source: Source, rules: Rules) -> tuple[Qrels, Qrels]:
    """Both sides' grades as the rules read them."""
    scale = scale_of(sources.people, rules)
    people = grades_of_people(sources.people, scale, rules)
    return people, grades_of_other(source.other.labels, scale, rules)


def _ceilings(
    sources: Sources, source: Source, rules: Rules, wanted: Wanted
) -> tuple[Ceiling, ...]:
    if not sources.raters:
        return ()
    people, other = _mapped(sources, source, rules)
    scale = scale_of(sources.people, rules)
    more = {name: grades_of_people(labels, scale, rules) for name, labels in sources.raters.items()}
    raters = {sources.people_name: people, **more, source.name: other}
    grades = scale if rules.cut is None else (0, 1)
    side_by_side = ratings(raters, grades, _weights(sources, wanted))
    chosen = [find_statistic(name, grades) for name in CEILING_STATISTICS]
    return tuple(ceiling(side_by_side, source.name, one, wanted.options) for one in chosen)


def _all_raters(sources: Sources, wanted: Wanted) -> Ratings:
    """Everybody's grades, on pairs too that the first lacks: whoever it is, the figures agree."""
    raters: dict[str, Qrels] = {}
    for source in sources.others:
        rules = rules_for(sources.people, source.other.labels, wanted.maps, wanted.rules)
        people, other = _mapped(sources, source, rules)
        raters.setdefault(sources.people_name, people)
        raters[source.name] = other
    scale = scale_of(sources.people, rules)
    for name, labels in sources.raters.items():
        raters[name] = grades_of_people(labels, scale, rules)
    return ratings(raters, scale if rules.cut is None else (0, 1), _weights(sources, wanted))


def _weights(sources: Sources, wanted: Wanted) -> Mapping[Pair, float] | None:
    return None if wanted.unweighted else sources.weights


def _against(finding: Finding, first: Finding, wanted: Wanted) -> Finding:
    """The finding with its differences from the first assessor; none where scales differ."""
    mine, others = finding.agreement, first.agreement
    if mine.scale != others.scale:
        return finding
    chosen = chosen_statistics(wanted.options, mine.scale)
    found = differences(mine.paired, others.paired, chosen, wanted.options)
    return replace(finding, against=first.other, differences=tuple(found))


def scale_names(sources: Sources, source: Source, wanted: Wanted) -> Mapping[int, str]:
    """What the compared grades mean: people's names, else the other's; of mapped grades neither."""
    cut, maps = wanted.rules.cut, wanted.maps
    if cut is not None:
        return {0: f"below {cut}", 1: f"at least {cut}"}
    if maps[""]:
        return {}
    people = {} if maps["people"] else sources.scale_names
    return people or ({} if maps["other"] else source.scale_names)
