"""`panel`: several assessors' grades put together, and what that is worth beside people."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from labeler.agreement.align import Rules, grades_of_assessor, scale_of
from labeler.agreement.compare import Estimate, StatisticOptions, defined
from labeler.agreement.differences import Difference
from labeler.agreement.overview import between, figure, short, whom
from labeler.agreement.sources import AssessorSource, assessor_of, made_from
from labeler.agreement.statistics.registry import parse_name
from labeler.collection.layout import Collection, open_collection
from labeler.collection.user_files import Output
from labeler.collection.whose import drawn_by_chance, not_of_people, routed_of_file, routed_pairs
from labeler.data import Failure, Pair, Qrels
from labeler.errors import Misuse, about
from labeler.files.paths import true_path
from labeler.judging.changes import human_beside
from labeler.lab.beside_people import (
    Independence,
    PanelBesidePeople,
    beside_people,
    independence,
)
from labeler.lab.members import (
    Member,
    PanelOptions,
    PanelSet,
    check_panel_name,
    panel_of,
    read_member,
    save_panel,
    write_panel,
)
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import notebook_html
from labeler.report.table import Cell, Column, Interval, Row, Table
from labeler.trec.labels import number
from labeler.trec.memory import Source, as_qrels
from labeler.trec.qrels import read_qrels

if TYPE_CHECKING:
    from pandas import DataFrame

# The members of a panel, from whatever holds their grades: a collection's sets, files, dicts.


class PanelSources(NamedTuple):
    """The members, and people's grades beside them, with the name of these; empty for none.

    `notes` say what the files hold beside grades.
    """

    members: tuple[Member, ...]
    human_name: str
    human: Qrels
    collection: Collection | None = None
    notes: tuple[str, ...] = ()


def panel_sources(
    sources: Sequence[Any], people: Source | None, scale: tuple[int, ...] | None, *, clip: bool
) -> PanelSources:
    """A collection and names of its sets, or qrels: paths, dicts, DataFrames or rows.

    Without `people` a collection's own human qrels are taken, where they are no member.
    """
    if not sources:
        raise Misuse("expected a collection and names of its sets, or several qrels")
    first = sources[0]
    is_folder = isinstance(first, str | os.PathLike) and Path(cast("str", first)).is_dir()
    if isinstance(first, Collection) or is_folder:
        return _of_collection(open_collection(first), [str(name) for name in sources[1:]], people)
    if isinstance(people, str | os.PathLike):
        _refuse_member(Path(people), sources)
    notes: list[str] = []
    human_name, human = _people(people, notes)
    if scale is None and human:
        scale = scale_of(human, Rules())
    read = [assessor_of(source, f"member {n}") for n, source in enumerate(sources, start=1)]
    names = [short(source.name) for source in read]
    if len(set(names)) < len(names):
        names = [source.name for source in read]
    members = tuple(
        _member(source, name, scale, clip=clip) for source, name in zip(read, names, strict=True)
    )
    notes += [note for source in read for note in source.notes]
    return PanelSources(members, human_name, human, notes=tuple(notes))


def _refuse_member(people: Path, sources: Sequence[Any]) -> None:
    """`Misuse` where the file of people's grades is a member's too."""
    files = {true_path(Path(s)) for s in sources if isinstance(s, str | os.PathLike)}
    if true_path(people) in files:
        problem = f"{people} is a member of the panel, and cannot tell how good it is"
        raise Misuse(problem, parameter="people")


def _people(people: Source | None, notes: list[str]) -> tuple[str, Qrels]:
    if people is None:
        return "", {}
    if isinstance(people, str | os.PathLike):
        name = os.fspath(people)
        human = as_qrels(people, notes.append, name="people")
        return name, drawn_by_chance(human, routed_of_file(Path(people)), name, notes.append)
    return "human", as_qrels(people, notes.append, name="people")


def _of_collection(
    collection: Collection, names: Sequence[str], people: Source | None
) -> PanelSources:
    members = tuple(read_member(collection, name) for name in names)
    if people is not None and not isinstance(people, str):
        raise Misuse("of a collection, name its human qrels", parameter="people")
    if people in names:
        problem = f"{people} is a member of the panel, and cannot tell how good it is"
        raise Misuse(problem, parameter="people")
    human = people or human_beside(collection, *names)
    if human is None:
        return PanelSources(members, "", {}, collection)
    with about("people"):
        path = collection.existing_qrels(human)
    notes: list[str] = []
    if line := not_of_people(path):
        notes.append(line)
    routed = routed_pairs(collection, human)
    grades = drawn_by_chance(read_qrels(path), routed, path, notes.append)
    return PanelSources(members, human, grades, collection, tuple(notes))


def _member(
    source: AssessorSource, name: str, scale: tuple[int, ...] | None, *, clip: bool
) -> Member:
    """A source's labels as grades; what is no grade of the scale is a failure.

    A negative label says that a pair was not judged, unless a scale holds it.
    """
    labels = source.judged.labels
    if clip and scale is None:
        raise Misuse("clipping takes a scale, or human grades that tell it", parameter="scale")
    rules = Rules(scale=scale, clip=clip)
    graded = {} if scale is None else grades_of_assessor(labels, scale, rules)
    grades, failures = dict[Pair, int](), dict(source.judged.failures)
    for query_id, row in labels.items():
        for doc_id, label in row.items():
            value, pair = number(label), Pair(query_id, doc_id)
            grade = graded.get(query_id, {}).get(doc_id)
            if scale is None and value is not None and value.is_integer() and value >= 0:
                grade = int(value)
            if grade is not None:
                grades[pair] = grade
            elif value is None or value >= 0:
                failures[pair] = "out_of_scale"
    made = {"models": [source.model]} if source.model else {}
    return Member(name, grades, failures, source.distributions, made)


# What `panel` returns: sentences, tables, and the JSON of the command.

Json = dict[str, Any]
SHOWN = 8
"""Of more members the correlations of every two are too many to read; JSON has them."""


@dataclass(frozen=True, eq=False, repr=False)
class PanelResult:
    """A panel's grades, how they compare with people's, and how many judges the panel is worth.

    `name` is that of the set that was written to a collection; `people` is `None` without any.
    """

    panel: PanelSet
    name: str | None
    people: PanelBesidePeople | None
    worth: Independence | None
    findings: tuple[Finding, ...] = ()

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The panel's grades."""
        return self.panel.qrels

    @property
    def mean_disagreement(self) -> float | None:
        """How far two members' grades of a pair lie apart on average, in grades."""
        apart = [row.disagreement for row in self.panel.rows if row.disagreement is not None]
        return float(np.mean(apart)) if apart else None

    @property
    def sentences(self) -> list[str]:
        """What was put together, how far it agrees with people, what it is worth, who harms it."""
        parts = [self._counts(), self._agreement(), self._worth(), *self._members()]
        return [sentence for sentence in parts if sentence]

    def _counts(self) -> str:
        panel = self.panel
        pairs = count_of(panel.judged, "pair has", "pairs have")
        text = f"{panel.options.rule} of {len(panel.members)} members: {pairs} a grade"
        if panel.failed:
            text += f", {panel.failed:,} have none for want of {panel.fewest} members' grades"
        apart = self.mean_disagreement
        if apart is None:
            return f"{text}."
        return f"{text}; two members' grades lie {apart:.2f} of a grade apart on average."

    def _agreement(self) -> str:
        beside = self.people
        if beside is None or beside.best is None or beside.panel.value is None:
            return ""
        human, best = whom(beside.human), beside.best
        text = (
            f"The panel's {beside.statistic} with {human} is {_shown(beside.panel)}; that of its "
            f"closest member, {short(best.name)}, is {_shown(best.agreement)}"
        )
        verdict = best.panel_less.verdict
        if verdict == "first is closer":
            return f"{text}. The panel is closer, by more than chance."
        if verdict == "second is closer":
            return f"{text}. That member alone is closer, by more than chance."
        members = len(beside.members)
        if best.panel_less.leaves_0_out and members > 1:
            less = _shown(best.panel_less)
            return (
                f"{text}. Which of the two is closer cannot be told: the difference {less} is "
                f"of these two alone, and the verdict allows for {members} members."
            )
        return f"{text}. Which of the two is closer cannot be told."

    def _worth(self) -> str:
        worth, members = self.worth, len(self.panel.members)
        if worth is None or worth.number.value is None:
            return ""
        number = _shown(worth.number, 1)
        if not worth.by_people:
            return (
                f"Its {members} members are worth {figure(worth.number.value, 1)} independent "
                "assessors or more: without human grades, what they agree on rightly cannot be "
                "told from errors that they share."
            )
        return (
            f"Its {members} members are worth {number} independent assessors: among pairs of one "
            f"human grade their grades correlate by {_shown(worth.correlation, 2)}."
        )

    def _members(self) -> Iterator[str]:
        if self.people is None:
            return
        for verb, words in (("harms", "agrees more"), ("helps", "agrees less")):
            names = [short(m.name) for m in self.people.members if m.verdict == verb]
            for name in names:
                human = whom(self.people.human)
                yield f"Without {name} the panel {words} with {human}, by more than chance."

    def tables(self) -> list[Table]:
        """The members beside people; the grades; the correlations of members' errors."""
        tables = [self.members_table(), self.grades_table()]
        shown = self.worth is not None and len(self.panel.members) <= SHOWN
        return [*tables, self.correlations_table()] if shown else tables

    def members_table(self) -> Table:
        """A row for the panel and for each member: grades, and what people make of them."""
        columns = [Column("assessor", align="left"), Column("pairs", format=",")]
        columns += [Column("failed", format=",")]
        if self.people is not None:
            statistic = self.people.statistic
            columns += [
                Column(statistic, format=".3f", ends=".3f", undefined="undefined"),
                Column("panel less it", format="+.3f", ends="+.3f"),
                Column("without it", format="+.3f", ends="+.3f"),
                Column("verdict", "the member", align="left"),
            ]
        rows: list[Row] = [["the panel", self.panel.judged, self.panel.failed, *self._of_panel()]]
        beside = {m.name: m for m in self.people.members} if self.people else {}
        for member in self.panel.members:
            cells: list[Cell] = [short(member.name), len(member.grades), len(member.failures)]
            if own := beside.get(member.name):
                cells += [_interval(own.agreement), _ends(own.panel_less)]
                cells += [_ends(own.without), own.verdict]
            rows.append(cells)
        human = f", beside {short(self.people.human)}" if self.people else ""
        without = "; 'without it': what the panel gains by leaving it out" if human else ""
        allowed = f"; verdicts allow for {len(beside)} members" if len(beside) > 1 else ""
        title = f"{self.panel.options.rule}{human}{without}{allowed}"
        return Table("members", columns, rows, title)

    def _of_panel(self) -> list[Cell]:
        return [] if self.people is None else [_interval(self.people.panel), NONE, NONE, ""]

    def grades_table(self) -> Table:
        """How many pairs the panel gives each grade, and how its members do on average."""
        columns = [Column("grade"), Column("pairs", format=","), Column("members", format=",.1f")]
        votes = self.panel.votes
        counts = np.bincount(self.panel.grades.values, minlength=len(votes.grades))
        given = votes.counts.sum(axis=0) / max(len(votes.members), 1)
        rows: list[Row] = [
            [grade, int(pairs), float(mean)]
            for grade, pairs, mean in zip(votes.grades, counts, given, strict=True)
        ]
        title = "grades of the panel, and of a member on average"
        return Table("grades", columns, rows, title)

    def correlations_table(self) -> Table:
        """How far the errors of every two members go together."""
        worth = self.worth
        members = () if worth is None else worth.members
        numbers = [Column(str(n), format=".2f") for n in range(1, len(members) + 1)]
        rows: list[Row] = []
        for n, name in enumerate(members, start=1):
            row = worth.matrix[n - 1] if worth is not None else ()
            rows.append([f"{n} {short(name)}", *(defined(x) for x in row)])
        of = "errors" if worth is not None and worth.by_people else "grades"
        columns = [Column("member", align="left"), *numbers]
        return Table("correlations", columns, rows, f"correlation of the members' {of}")

    def frame(self) -> DataFrame:
        """The members as a pandas DataFrame."""
        return self.members_table().frame()

    def as_json(self) -> Json:
        """The figures of the command by name."""
        panel, people = self.panel, self.people
        failures = Counter(r.outcome.status for r in panel.rows if isinstance(r.outcome, Failure))
        return {
            "name": self.name,
            "rule": panel.options.rule,
            "fewest": panel.fewest,
            "seed": panel.options.seed,
            "members": {m.name: {**m.made_by, "digest": m.digest} for m in panel.members},
            "pairs": len(panel.rows),
            "judged": panel.judged,
            "failed": panel.failed,
            "failures": dict(failures),
            "left_out": panel.left_out,
            "mean_disagreement": self.mean_disagreement,
            "people": None if people is None else _people_json(people),
            "independence": None if self.worth is None else self.worth.as_json(),
            "warnings": [str(finding) for finding in self.findings],
        }

    def __repr__(self) -> str:
        panel = self.panel
        return f"PanelResult({panel.title!r}, judged={panel.judged:,} of {len(panel.rows):,})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings)


def _people_json(people: PanelBesidePeople) -> Json:
    return {
        "human": people.human,
        "statistic": people.statistic,
        "pairs": people.pairs,
        "queries": people.queries,
        "panel": _estimate_json(people.panel),
        "members": {
            member.name: {
                "agreement": _estimate_json(member.agreement),
                "panel_less_it": _difference_json(member.panel_less),
                "without_it_less_panel": _difference_json(member.without),
                "verdict": member.verdict,
            }
            for member in people.members
        },
    }


def _estimate_json(e: Estimate) -> Json:
    return {"value": e.value, "low": e.low, "high": e.high}


def _difference_json(d: Difference | None) -> Json | None:
    return None if d is None else {"value": d.value, "low": d.low, "high": d.high}


def _interval(e: Estimate) -> Interval:
    return Interval(e.value, e.low, e.high)


NONE = Interval(None, None, None)


def _ends(d: Difference | None) -> Interval:
    return NONE if d is None else Interval(d.value, d.low, d.high)


def _shown(e: Estimate | Difference, digits: int = 3) -> str:
    if e.low is None or e.high is None:
        return figure(e.value, digits)
    ends = f"[{figure(e.low, digits)}, {figure(e.high, digits)}]"
    return f"{figure(e.value, digits)} {ends if digits != 3 else between(e.low, e.high)}"


EVEN = (
    "an even number of members: between two middle grades the mean of all decides, so that leaving "
    "any member out changes more than that member's say"
)


@dataclass(frozen=True)
class PanelReportOptions:
    """How grades are put together, and by which one statistic panel and people are compared.

    With `clip`, labels outside of the scale are moved to its ends; else they are failures.
    """

    panel: PanelOptions = field(default_factory=PanelOptions)
    statistics: StatisticOptions = field(default_factory=lambda: StatisticOptions(("kappa",)))
    clip: bool = False


def panel(
    *sources: Source | Collection,
    people: Source | None = None,
    name: str | None = None,
    output: Output | Path | str | None = None,
    options: PanelReportOptions | None = None,
) -> PanelResult:
    """Put several assessors' grades of the same pairs together into one grade each.

    `sources` are a collection and the names of sets of its judgements (or qrels), or qrels: paths,
    dicts, DataFrames or rows. In a collection the panel is kept as the set `name`; `output` is a
    file of qrels, or of judgements where its name ends in .jsonl. `people` are human qrels, or a
    name of the collection's (by default its own, where it has some).

    >>> first, second, third = {"q": {"d": 2}}, {"q": {"d": 1}}, {"q": {"d": 2}}
    >>> panel(first, second, third)
    PanelResult('median of member 1, member 2, member 3', judged=1 of 1)
    """
    options = options or PanelReportOptions()
    if options.statistics.names is None or len(options.statistics.names) != 1:
        raise Misuse("a panel is compared by one statistic", parameter="statistics")
    with about("statistic"):
        parse_name(options.statistics.names[0])
    read = panel_sources(sources, people, options.panel.scale, clip=options.clip)
    members = [member.name for member in read.members]
    if name is not None:
        if read.collection is None:
            raise Misuse(
                "files have no collection to keep a set in; write a file", parameter="name"
            )
        check_panel_name(read.collection, name, options.panel.rule, members)
    of_people = options.panel
    if of_people.scale is None and read.human:
        of_people = replace(of_people, scale=_common_scale(read))
    judged = panel_of(read.members, of_people)
    if name is not None and read.collection is not None:
        write_panel(read.collection, name, judged)
    if output is not None:
        save_panel(judged, output if isinstance(output, Output) else Path(output))
    return _result(judged, read, name, options)


def _common_scale(read: PanelSources) -> tuple[int, ...]:
    """From the lowest to the highest grade of the members and of people."""
    scale = scale_of(read.human, Rules())
    used = {grade for member in read.members for grade in member.grades.values()}
    low, high = min(used, default=scale[0]), max(used, default=scale[-1])
    return tuple(range(min(low, scale[0]), max(high, scale[-1]) + 1))


def _result(
    judged: PanelSet, read: PanelSources, name: str | None, options: PanelReportOptions
) -> PanelResult:
    human = {Pair(q, d): g for q, row in read.human.items() for d, g in row.items() if g >= 0}
    common = any(pair in human for pair in judged.votes.pairs)
    compared = None
    if common:
        compared = beside_people(judged, read.human, read.human_name, options.statistics)
    worth = None
    if judged.judged:
        worth = independence(judged.votes, human if common else None, options.statistics)
    findings = [Finding(note) for note in read.notes]
    if read.human and not common:
        findings.append(Finding(f"{read.human_name} and the panel have no pair in common"))
    if judged.left_out:
        pairs = count_of(judged.left_out, "pair is", "pairs are")
        asked = f"fewer than {judged.fewest} members were asked about"
        findings.append(Finding(f"{pairs} left out, which {asked}", level="note"))
    findings += [*_mixed(read), *_parts(read)]
    if options.panel.rule == "median" and len(judged.members) % 2 == 0:
        findings.append(Finding(EVEN, level="note"))
    return PanelResult(judged, name, compared, worth, tuple(findings))


def _parts(read: PanelSources) -> list[Finding]:
    """A finding where the human grades were made from members' grades."""
    if read.collection is None:
        return []
    raters = made_from(read.collection).get(read.human_name, ())
    names = [member.name for member in read.members if member.name in raters]
    if not names:
        return []
    what = f"{read.human_name} was made from the grades of {', '.join(names)}"
    why = "panel and members agree with what they are part of, and errors are none of people's"
    return [Finding(f"{what}: {why}")]


def _mixed(read: PanelSources) -> list[Finding]:
    """A finding where people's grades and models' grades are put together."""
    if read.collection is None:
        return []
    by_model = {m.name: bool(m.made_by.get("models")) for m in read.members}
    if len(set(by_model.values())) < 2:
        return []
    people = ", ".join(name for name, is_model in by_model.items() if not is_model)
    problem = "the panel is neither people's nor a model's"
    return [Finding(f"no model is known to have made {people}: {problem} if people did")]
