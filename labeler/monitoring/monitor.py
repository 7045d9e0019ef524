"""`monitor`: whether yesterday's evaluation still describes today's search, once a week or so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from labeler import __version__
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.monitoring import WatchRun, read_watch_runs, write_watch_run
from labeler.errors import BadInput, Misuse
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.monitoring.corpus import CorpusWatch, corpus_blocks, corpus_drift
from labeler.monitoring.judge import controlled_sets, judge_blocks, judge_drift
from labeler.monitoring.logs import LogWatch, watch_logs
from labeler.monitoring.watched import SEARCHES, Watched, Weeks, joined_weeks, with_gaps
from labeler.report.charts import Axis, Moment, control
from labeler.report.finding import Finding, Setting
from labeler.report.page import (
    Chart,
    Disclosure,
    FactList,
    FindingList,
    Page,
    PageBlock,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.result import notebook_html
from labeler.report.table import Column, Row, Table

# The page of a run of the watch: what is wrong, then each watch over time, then the rest.

MOST_RUNS = 100
"""Runs that the page lists."""


class ShownRun(Protocol):
    """What the page shows of a run, and of the runs before it."""

    @property
    def folder(self) -> Path:
        """The collection."""

    @property
    def time(self) -> datetime:
        """When the run was."""

    @property
    def watches(self) -> Sequence[Watched]:
        """Each watch."""

    @property
    def left_out(self) -> Sequence[Finding]:
        """What was not watched."""

    @property
    def history(self) -> Sequence[WatchRun]:
        """The earlier runs, the oldest first."""

    @property
    def name(self) -> str:
        """The collection's name."""

    @property
    def looked_at(self) -> Sequence[str]:
        """Over what it watched."""

    @property
    def kinds(self) -> Mapping[str, int]:
        """The kinds of alarms."""

    def alarms(self) -> list[Finding]:
        """All alarms."""

    def weeks(self, key: str) -> Weeks:
        """The weeks of a watch over all runs."""

    def runs_table(self, most: int | None = None) -> Table:
        """The runs with their alarms."""


def monitoring_page(run: ShownRun) -> Page:
    """Alarms or that there are none, each watch, what was left out, and where figures come from."""
    blocks: list[PageBlock] = [*_first_screen(run)]
    blocks += [PageSection(watched.heading, list(_part(run, watched))) for watched in run.watches]
    blocks.append(PageSection("Runs of the watch", list(_runs(run))))
    if run.left_out:
        blocks.append(PageSection("Left out", [FindingList(run.left_out)]))
    facts = [
        ("collection", str(run.folder)),
        ("time of this run", run.time.strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("labeler", __version__),
    ]
    blocks.append(PageSection("Where this comes from", [FactList(facts)]))
    when = run.time.strftime("%Y-%m-%d %H:%M UTC")
    return Page(f"Watch over {run.name}", blocks, subtitle=when)


def _first_screen(run: ShownRun) -> Iterator[PageBlock]:
    """What is wrong, or that nothing is, and what was looked at."""
    alarms = run.alarms()
    looked = "; ".join(run.looked_at)
    if alarms:
        raised = "1 alarm was raised" if len(alarms) == 1 else f"{len(alarms)} alarms were raised"
        yield Paragraph(f"{raised}: {', '.join(run.kinds)}.", lead=True)
        yield FindingList(alarms)
    else:
        yield Paragraph("Nothing alarming.", lead=True)
    yield Paragraph(f"Looked at: {looked}.")


def _part(run: ShownRun, watched: Watched) -> Iterator[PageBlock]:
    """What a watch says, its own charts, and its weeks over all runs."""
    if watched.alarms or watched.findings:
        yield FindingList([*watched.alarms, *watched.findings])
    yield from watched.blocks
    weeks = run.weeks(watched.key)
    names = dict.fromkeys(name for week in weeks.values() for name in week)
    charts = [_weekly(run, watched, name) for name in names] if len(weeks) > 1 else []
    searches = [name for name in names if name == SEARCHES]
    if charts:
        title = f"Week by week, over all runs: {count_of(len(weeks), 'week', 'weeks')}"
        yield Disclosure(title, [*charts[len(searches) :], *charts[: len(searches)]])


def _weekly(run: ShownRun, watched: Watched, name: str) -> Chart:
    """A figure of each week; a line breaks where weeks are missing."""
    weeks = with_gaps(run.weeks(watched.key))
    moments = [Moment(monday.isoformat(), week.get(name), at=monday) for monday, week in weeks]
    axis = Axis(name.replace("_", " "), format=",.0f" if name == SEARCHES else ".3f")
    return Chart(control(f"{watched.heading}: {axis.label}", moments, axis))


def _runs(run: ShownRun) -> Iterator[PageBlock]:
    """When the watch ran, and which alarms each run raised."""
    if not run.history:
        yield Paragraph("This is the first run; the next ones show figures over time.")
        return
    runs = 1 + len(run.history)
    first = run.history[0].time.strftime("%Y-%m-%d")
    yield Paragraph(f"This is run {runs:,}; the first was on {first}.")
    moments = [
        Moment(each.time.strftime("%Y-%m-%d"), float(_alarms(each.content)), at=each.time)
        for each in run.history
    ]
    now = Moment(run.time.strftime("%Y-%m-%d"), float(len(run.alarms())), at=run.time)
    yield Chart(
        control("Alarms at each run", [*moments, now], Axis("alarms", format=".0f", least=0.0))
    )
    left = [Paragraph(f"The last {MOST_RUNS} of {runs:,}.")] if runs > MOST_RUNS else []
    table = TableBlock(run.runs_table(MOST_RUNS))
    yield Disclosure(f"All alarms: {count_of(runs, 'run', 'runs')}", [*left, table])


def _alarms(content: object) -> int:
    alarms = content.get("alarms") if isinstance(content, dict) else None
    return len(alarms) if isinstance(alarms, list) else 0


# What a run of the watch says: its alarms first, then each watch, and what was left out.

OF_WEEKS = ("application", "encoder")
"""Figures of a watch over a log that say of what its weeks are: those of others do not compare."""


@dataclass(frozen=True, repr=False)
class Monitoring:
    """One run of the watch over a collection, with the runs before it.

    `left_out` says what was not watched, and why.
    """

    folder: Path
    time: datetime
    watches: tuple[Watched, ...]
    left_out: tuple[Finding, ...] = ()
    history: tuple[WatchRun, ...] = ()

    def alarms(self) -> list[Finding]:
        """Every alarm; `about` says of which kind."""
        return [alarm for watched in self.watches for alarm in watched.alarms]

    def findings(self) -> list[Finding]:
        """What each watch says beside its alarms, and what was left out."""
        return [each for watched in self.watches for each in watched.findings] + list(self.left_out)

    @property
    def kinds(self) -> dict[str, int]:
        """The kinds of alarms that were raised, with how many of each."""
        return dict(Counter(alarm.about for alarm in self.alarms()))

    @property
    def name(self) -> str:
        """The collection's name, which is its folder's."""
        return true_path(self.folder).name

    def sentences(self) -> Iterator[str]:
        """What is wrong, or that nothing is; and what was looked at."""
        alarms = self.alarms()
        if alarms:
            yield f"{count_of(len(alarms), 'alarm', 'alarms')}: {', '.join(self.kinds)}"
        else:
            yield "nothing alarming"
        yield from (f"looked at: {sight}" for sight in self.looked_at)

    @property
    def looked_at(self) -> list[str]:
        """Over what it watched, each once."""
        return list(dict.fromkeys(watched.looked_at for watched in self.watches))

    def weeks(self, key: str) -> dict[str, dict[str, float | None]]:
        """The weeks of a watch over a log, joined over all runs."""
        own = next((watched for watched in self.watches if watched.key == key), None)
        if own is None:
            return {}
        runs = [self._earlier_weeks(run, own) for run in self.history]
        return joined_weeks([*runs, {week: dict(figures) for week, figures in own.weekly.items()}])

    @staticmethod
    def _earlier_weeks(run: WatchRun, own: Watched) -> Any:
        """The weeks that an earlier run kept; None of a run over something else."""
        watches, weekly = run.content.get("watches"), run.content.get("weekly")
        figures = watches.get(own.key) if isinstance(watches, dict) else None
        if not isinstance(weekly, dict) or not isinstance(figures, dict):
            return None
        is_same = all(figures.get(name) == own.figures.get(name) for name in OF_WEEKS)
        return weekly.get(own.key) if is_same else None

    @property
    def proposed_queries(self) -> list[dict[str, Any]] | None:
        """Queries that would make the set current, as rows of a file of queries.

        Empty where the log has none to add; None where no log was looked at, or too short a one.
        """
        figures = next((each.figures for each in self.watches if each.key == "density"), {})
        proposal = figures.get("proposal")
        return None if proposal is None else list(proposal["queries"])

    def as_history(self) -> dict[str, Any]:
        """What the history of runs keeps: alarms, and the figures that are drawn over time."""
        return {
            "alarms": self._alarms_json(),
            "watches": {watched.key: watched.as_history() for watched in self.watches},
            "weekly": {watched.key: watched.weekly for watched in self.watches if watched.weekly},
        }

    def as_json(self) -> dict[str, Any]:
        """The alarms, every figure by watch, and what was left out."""
        return {
            "collection": str(self.folder),
            "time": self.time.isoformat(timespec="seconds"),
            "alarms": self._alarms_json(),
            "watches": {watched.key: dict(watched.figures) for watched in self.watches},
            "weekly": {watched.key: self.weeks(watched.key) for watched in self.watches},
            "left_out": [str(finding) for finding in self.left_out],
        }

    def _alarms_json(self) -> list[dict[str, str]]:
        return [{"kind": alarm.about, "text": str(alarm)} for alarm in self.alarms()]

    def table(self) -> Table:
        """A row for each watch: what it looked at, and its alarms."""
        columns = [Column(name, align="left") for name in ("watch", "looked at", "alarms")]
        rows: list[Row] = [
            [watched.key, watched.looked_at, ", ".join(a.about for a in watched.alarms) or "none"]
            for watched in self.watches
        ]
        return Table("watch", columns, rows)

    def runs_table(self, most: int | None = None) -> Table:
        """The runs, this one first, with the kinds of their alarms."""
        columns = [Column("run", align="left"), Column("alarms", align="left")]
        earlier = [
            [run.time.strftime("%Y-%m-%d %H:%M"), ", ".join(_kinds(run)) or "none"]
            for run in reversed(self.history)
        ]
        this = [self.time.strftime("%Y-%m-%d %H:%M"), ", ".join(self.kinds) or "none"]
        rows: Sequence[Row] = [this, *earlier][:most]
        return Table("runs", columns, rows)

    def page(self) -> Page:
        """One page for people."""
        return monitoring_page(self)

    def __repr__(self) -> str:
        watches = count_of(len(self.watches), "watch", "watches")
        alarms = count_of(len(self.alarms()), "alarm", "alarms") if self.alarms() else "no alarm"
        return f"Monitoring({watches}, {alarms})"

    def _repr_html_(self) -> str:
        return notebook_html([self.table()], [*self.alarms(), *self.findings()])


def _kinds(run: WatchRun) -> list[str]:
    """The kinds of an earlier run's alarms."""
    alarms = run.content.get("alarms")
    listed = alarms if isinstance(alarms, list) else []
    kinds = [each.get("kind") for each in listed if isinstance(each, dict)]
    return list(dict.fromkeys(kind for kind in kinds if isinstance(kind, str)))


Paths = str | Path | Iterable[str | Path]


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class MonitorOptions:
    """What is watched, and from where on it alarms.

    `names` are the sets of judgements whose controls count; without any, all that were controlled.
    """

    names: tuple[str, ...] = ()
    corpus: CorpusWatch = field(default_factory=CorpusWatch)
    logs: LogWatch = field(default_factory=LogWatch)


def monitor(  # noqa: PLR0913  what is watched, and how
    collection: Collection | Path | str,
    documents: Paths = (),
    logs: Paths = (),
    *,
    options: MonitorOptions | None = None,
    left_out: Sequence[Finding] = (),
    control: Control | None = None,
    now: Callable[[], datetime] = _utc_now,
) -> Monitoring:
    """Watch over a collection: its assessor by past controls, its documents, and users' searches.

    `logs` are files of one log, read as one. Asks no model. What there is no data for is left out,
    and said. The figures are kept in `monitoring/TIME.json` of the collection, so that the next run
    can show them over time. `left_out` are findings of a caller about what it did not watch.

    >>> from labeler.lab.control import drift
    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection, mild = small_collection(), fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> check = drift(collection, "first", model=mild, pairs=4, fixed=True)
    >>> monitor(collection)
    Monitoring(1 watch, no alarm)
    """
    opened, control = open_collection(collection), control or Control()
    options, time = options or MonitorOptions(), now().astimezone(UTC)
    history, problems = read_watch_runs(opened)
    missing = [*left_out, *(Finding(f"passed over: {problem}") for problem in problems)]
    parts = [*_judges(opened, options, missing)]
    parts += _documents(opened, documents, options, (history, time, missing, control))
    parts += _logs(opened, logs, options.logs, missing, control)
    if not parts:
        raise _nothing(opened, missing, has_sources=bool(_several(logs)))
    run = Monitoring(opened.folder, time, tuple(parts), tuple(missing), tuple(history))
    with locked(opened, control.note):
        write_watch_run(opened, time, run.as_history())
    return run


def _nothing(
    collection: Collection, missing: Sequence[Finding], *, has_sources: bool
) -> Misuse | BadInput:
    """Why nothing could be watched: no data were named, or those that were say nothing."""
    if not has_sources:
        problem = "nothing to watch: no set was controlled, no documents and no log are named"
        return Misuse(f"{collection.folder}: {problem}; name one of them, or control a set first")
    reasons = "; ".join(str(finding) for finding in missing if finding.level == "warning")
    return BadInput(f"{collection.folder}: nothing to watch: {reasons}")


def _judges(
    collection: Collection, options: MonitorOptions, missing: list[Finding]
) -> Iterator[Watched]:
    """The watch over each assessor."""
    names = options.names or controlled_sets(collection)
    if not names:
        setting = Setting("control", 50)
        text = f"judge drift: no set of judgements was ever controlled; {setting} does so"
        missing.append(Finding(text, settings=(setting,), level="note"))
    for name in names:
        drift = judge_drift(collection, name)
        if not drift.controls:
            missing.extend(drift.left_out)
            text = f"judge drift of {name}: no control of it is comparable"
            missing.append(Finding(text, level="note"))
            continue
        first, last = drift.controls[0], drift.controls[-1]
        controls = count_of(len(drift.controls), "control", "controls")
        yield Watched(
            f"judge {name}",
            f"Judge drift: {name}",
            f"{controls} of {name}, {_days(first.label, last.label)}",
            drift.alarms(),
            drift.findings(),
            judge_blocks(drift),
            drift.as_json(),
        )


def _several(paths: Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _logs(
    collection: Collection,
    logs: Paths,
    how: LogWatch,
    missing: list[Finding],
    control: Control,
) -> Iterator[Watched]:
    """The watches over users' searches."""
    several = _several(logs)
    if several:
        yield from watch_logs(collection, several, how, missing, control)
        return
    setting = Setting("log")
    text = f"query drift and online measures: no {setting} is named"
    missing.append(Finding(text, settings=(setting,), level="note"))


def _days(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


_Around = tuple[Sequence[WatchRun], datetime, list[Finding], Control]


def _documents(
    collection: Collection, documents: Paths, options: MonitorOptions, around: _Around
) -> Iterator[Watched]:
    """The watch over the documents."""
    history, time, missing, control = around
    several = _several(documents)
    if not several:
        text = "corpus drift: no documents are named"
        missing.append(Finding(text, settings=(Setting("documents"),), level="note"))
        return
    drift = corpus_drift(several, collection, options.corpus, control)
    earlier = [
        (run.time, float(share))
        for run in history
        if (figures := _figures(run, "corpus")).get("qrels") == drift.qrels
        and isinstance(share := figures.get("stale_share"), int | float)
    ]
    passages = count_of(sum(drift.passages.values()), "passage", "passages")
    yield Watched(
        "corpus",
        "Corpus drift",
        f"{passages} and {drift.judged:,} judged pairs of {drift.qrels}",
        drift.alarms(),
        drift.findings(),
        corpus_blocks(drift, [*earlier, (time, drift.share)]),
        drift.as_json(),
    )


def _figures(run: WatchRun, key: str) -> dict[str, object]:
    """What an earlier run kept of a watch; empty where it kept nothing of it."""
    watches = run.content.get("watches")
    figures = watches.get(key) if isinstance(watches, dict) else None
    return figures if isinstance(figures, dict) else {}
