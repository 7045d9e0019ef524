"""`monitor`: whether yesterday's evaluation still describes today's search, once a week or so."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labeler import __version__
from labeler.collection.controls import read_controls
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.errors import BadInput, Misuse
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.models.session import Control
from labeler.monitoring.corpus import CorpusWatch, corpus_drift
from labeler.monitoring.judge import judge_drift
from labeler.monitoring.log import LogReading, open_log
from labeler.monitoring.log_values import LogOptions
from labeler.monitoring.online import online
from labeler.monitoring.queries import searched_queries, searches_of
from labeler.options import option
from labeler.report.finding import Finding, Setting
from labeler.report.page import (
    Disclosure,
    FindingList,
    Page,
    PageBlock,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.result import Result
from labeler.report.table import Column, Table

OPEN, MOST_ROWS = 20, 200
"""A table of more rows than the first is closed on the page; it lists no more than the second."""

Paths = str | Path | Iterable[str | Path]

KINDS: dict[str, str] = {
    "judge-drift": "grades given now are not those that the assessor gave before",
    "model-name": "the server calls its model otherwise than when the pairs were judged",
    "prompt-edited": "the prompt of that name is another text than when the pairs were judged",
    "judge-failures": "more replies without a grade than before",
    "stale-judgements": "more judged pairs are stale than `stale` allows",
    "lost-queries": "queries without a relevant document that is as it was judged",
}
"""What each kind of alarm says, by the names with which a caller chooses among them."""


def check_kinds(names: Iterable[str]) -> frozenset[str]:
    """The kinds that were named; `Misuse` lists those there are."""
    named = frozenset(names)
    if unknown := sorted(named - KINDS.keys()):
        raise Misuse(f"no alarm {unknown[0]!r}; there are: {', '.join(KINDS)}", parameter="require")
    return named


@dataclass(frozen=True)
class Watched:
    """One watch of a run: `key` names it for programs, `looked_at` says in words over what."""

    key: str
    heading: str
    looked_at: str
    watch: Result

    @property
    def alarms(self) -> Sequence[Finding]:
        """What is wrong."""
        return getattr(self.watch, "alarms", ())

    @property
    def findings(self) -> list[Finding]:
        """What else a reader should know."""
        return [finding for finding in self.watch.findings if finding not in self.alarms]

    def section(self) -> PageSection:
        """What a page says of it; a long table opens, and has its first rows."""
        blocks: list[PageBlock] = [FindingList([*self.alarms, *self.findings])]
        for table in self.watch.tables():
            rows = len(table.rows)
            few = TableBlock(replace(table, rows=table.rows[:MOST_ROWS]))
            if rows:
                blocks.append(few if rows <= OPEN else Disclosure(f"{table.name}: {rows:,}", [few]))
        return PageSection(self.heading, blocks)


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Result):
    """One run of the watch over a collection.

    `left_out` says what was not watched, and why.
    """

    folder: Path
    time: datetime
    watches: Sequence[Watched]
    left_out: Sequence[Finding] = ()

    @property
    def alarms(self) -> list[Finding]:
        """Every alarm; `about` says of which kind."""
        return [alarm for watched in self.watches for alarm in watched.alarms]

    @property
    def findings(self) -> list[Finding]:
        """What each watch says beside its alarms, and what was left out."""
        return [each for watched in self.watches for each in watched.findings] + list(self.left_out)

    @property
    def kinds(self) -> dict[str, int]:
        """The kinds of alarms that were raised, with how many of each."""
        return dict(Counter(alarm.about for alarm in self.alarms))

    @property
    def sentences(self) -> list[str]:
        """What is wrong, or that nothing is; and what was looked at."""
        alarms = f"{count_of(len(self.alarms), 'alarm')}: {', '.join(self.kinds)}"
        looked = dict.fromkeys(f"looked at: {watched.looked_at}" for watched in self.watches)
        return [alarms if self.alarms else "nothing alarming", *looked]

    @property
    def proposed_queries(self) -> list[dict[str, Any]] | None:
        """Queries that would make the set current, as rows of a file of queries.

        Empty where the log has none to add; None where no log was looked at, or too short a one.
        """
        figures = next((w.watch.as_json() for w in self.watches if w.key == "queries"), {})
        proposal = figures.get("proposal")
        return None if proposal is None else list(proposal["queries"])

    def as_json(self) -> dict[str, Any]:
        """The alarms, every figure by watch, and what was left out."""
        return self.picked(
            "left_out",
            collection=self.folder,
            time=self.time.isoformat(timespec="seconds"),
            alarms=[{"kind": alarm.about, "text": str(alarm)} for alarm in self.alarms],
            watches={watched.key: watched.watch for watched in self.watches},
        )

    def tables(self) -> list[Table]:
        """A row for each watch: what it looked at, and its alarms."""
        columns = [Column(name, align="left") for name in ("watch", "looked at", "alarms")]
        rows = [
            (each.key, each.looked_at, ", ".join(a.about for a in each.alarms) or "none")
            for each in self.watches
        ]
        return [Table("watch", columns, rows)]

    def page(self) -> Page:
        """One page: what is wrong, each watch, and what was left out."""
        raised, *looked = self.sentences
        blocks: list[PageBlock] = [
            Paragraph(f"{raised.capitalize()}.", lead=True),
            *([FindingList(self.alarms)] if self.alarms else []),
            *map(Paragraph, looked),
            *(each.section() for each in self.watches),
        ]
        if self.left_out:
            blocks.append(PageSection("Left out", [FindingList(self.left_out)]))
        when = f"{self.time:%Y-%m-%d %H:%M UTC}, labeler {__version__}"
        return Page(f"Watch over {true_path(self.folder).name}", blocks, subtitle=when)


@dataclass(frozen=True)
class MonitorOptions:
    """What is watched, and from where on it alarms.

    `names` are the sets of judgements whose controls count; without any, all that were controlled.
    `reading` says how logs are read.
    """

    names: tuple[str, ...] = option(
        (),
        "Judgements whose controls count; repeatable. Default: all.",
        flags="--judgements",
        metavar="NAME",
    )
    corpus: CorpusWatch = field(default_factory=CorpusWatch)
    reading: LogOptions = field(default_factory=LogOptions)


def monitor(  # noqa: PLR0913  what is watched, and how
    collection: AnyCollection,
    documents: Paths = (),
    logs: Paths = (),
    *,
    options: MonitorOptions | None = None,
    control: Control | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Monitoring:
    """Watch over a collection: its assessor by past controls, its documents, and users' searches.

    `logs` are files of one log, read as one. Asks no model. What there is no data for is left out,
    and said. Writes nothing.

    >>> from labeler.lab.control import drift
    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection, mild = small_collection(), fake_model('{"grade": 2}')
    >>> first = judge(collection, model=mild, name="first")
    >>> check = drift(collection, "first", model=mild, pairs=4)
    >>> monitor(collection).alarms
    []
    """
    opened, control = open_collection(collection), control or Control()
    documents, logs = _several(documents), _several(logs)
    run = _Run(opened, options or MonitorOptions(), control, [])
    watches = [*run.judges(), *run.corpus(documents), *run.logs(logs)]
    if not watches:
        raise _nothing(opened, run.missing, has_sources=bool(logs))
    return Monitoring(opened.folder, now().astimezone(UTC), tuple(watches), tuple(run.missing))


def _several(paths: Paths) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _nothing(
    collection: Collection, missing: Sequence[Finding], *, has_sources: bool
) -> Misuse | BadInput:
    """Why nothing could be watched: no data were named, or those that were say nothing."""
    if not has_sources:
        return Misuse(
            f"{collection.folder}: nothing to watch: no set was controlled, no documents and no "
            "log are named; name one of them, or control a set first"
        )
    reasons = "; ".join(str(finding) for finding in missing if finding.level == "warning")
    return BadInput(f"{collection.folder}: nothing to watch: {reasons}")


@dataclass(frozen=True)
class _Run:
    """A run in the making; what there is no data for becomes `missing`."""

    collection: Collection
    options: MonitorOptions
    control: Control
    missing: list[Finding]

    def _miss(self, text: str, *settings: Setting) -> None:
        self.missing.append(Finding(text, settings=settings, level="note"))

    def judges(self) -> Iterator[Watched]:
        """The watch over each assessor."""
        coll = self.collection
        names = self.options.names or [n for n in coll.judgement_names() if read_controls(coll, n)]
        if not names:
            how = f"labeler lab control {coll.folder}"
            self._miss(f"judge drift: no set of judgements was ever controlled; next: {how}")
        for name in names:
            drift = judge_drift(self.collection, name)
            if not drift.controls:
                self.missing.extend(drift.left_out)
                self._miss(f"judge drift of {name}: no control of it is comparable")
                continue
            days = dict.fromkeys(run.label for run in (drift.controls[0], drift.controls[-1]))
            controls = count_of(len(drift.controls), "control")
            looked_at = f"{controls} of {name}, {' to '.join(days)}"
            yield Watched(f"judge {name}", f"Judge drift: {name}", looked_at, drift)

    def corpus(self, documents: Sequence[str | Path]) -> Iterator[Watched]:
        """The watch over the documents."""
        if not documents:
            self._miss("corpus drift: no documents are named", Setting("documents"))
            return
        drift = corpus_drift(documents, self.collection, self.options.corpus, self.control)
        passages = count_of(sum(drift.passages.values()), "passage")
        looked_at = f"{passages} and {drift.judged:,} judged pairs of {drift.qrels}"
        yield Watched("corpus", "Corpus drift", looked_at, drift)

    def logs(self, names: Sequence[str | Path]) -> Iterator[Watched]:
        """The watches over users' searches; all files are read as one log."""
        if not names:
            setting = Setting("log")
            self._miss(f"users' queries and online measures: no {setting} is named", setting)
            return
        with open_log(log_files(names), self.options.reading) as log:
            looked_at = _looked_at(log.reading)
            watches = []
            if log.reading.clicks or log.reading.impressions or log.variants:
                clicks = online(log)
                heading = "Clicks and online measures"
                watches.append(Watched("online", heading, looked_at, clicks))
            else:
                text = "online measures: the log says neither what was shown nor what was clicked"
                self._miss(text)
            try:
                queries = searched_queries(self.collection, searches_of(log))
                watches.append(Watched("queries", "Users' queries", looked_at, queries))
            except BadInput as error:
                self.missing.append(Finding(f"users' queries: {error}"))
            yield from watches
            if watches:
                yield Watched("log", "What was read of the log", looked_at, log.reading)


def log_files(names: Sequence[str | Path]) -> list[Path]:
    """The files of logs, where a name that is no file's may be a pattern, as `logs/*.jsonl`."""
    files: list[Path] = []
    for name in map(str, names):
        matching = [] if Path(name).exists() else sorted(glob.glob(name, recursive=True))
        files += map(Path, matching or [name])
    return list(dict.fromkeys(files))


def _looked_at(reading: LogReading) -> str:
    """How many searches of which files, and from when to when."""
    searches = count_of(reading.searches, "search", "searches")
    files = reading.files[0] if len(reading.files) == 1 else f"{len(reading.files):,} files"
    days = [at[:10] for at in (reading.first, reading.last) if at]
    dated = f", {days[0]} to {days[-1]}" if days else ""
    return f"{searches} of {files}{dated}"
