"""`monitor`: whether yesterday's evaluation still describes today's search, once a week or so."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labeler.collection.controls import read_controls
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.errors import BadInput, Misuse, check_known
from labeler.files.paths import Paths, several
from labeler.messages import count_of
from labeler.models.session import Control
from labeler.monitoring.corpus import CorpusWatch, corpus_drift
from labeler.monitoring.judge import judge_drift
from labeler.monitoring.log import LogReading, open_log
from labeler.monitoring.log_values import LogOptions
from labeler.monitoring.online import online
from labeler.monitoring.queries import SearchedQueries, searched_queries, searches_of
from labeler.options import option
from labeler.report.finding import Finding, Setting
from labeler.report.result import Result
from labeler.report.table import Column, Table

KINDS: dict[str, str] = {
    "judge-drift": "grades given now are not those that the assessor gave before",
    "model-name": "the server calls its model otherwise than when the pairs were judged",
    "prompt-edited": "the prompt of that name is another text than when the pairs were judged",
    "judge-failures": "more than a tenth of the new replies gave no grade",
    "stale-judgements": "more judged pairs are stale than `stale` allows",
    "lost-queries": "queries without a relevant document that is as it was judged",
    "query-drift": "users search for other things than in the weeks before",
}
"""What each kind of alarm says, by the names with which a caller chooses among them."""


def check_kinds(names: Iterable[str]) -> None:
    """`Misuse` of a name that is no kind of alarm lists those there are."""
    for name in names:
        check_known("alarm", name, KINDS, "require")


ALARM, FINE, TOO_LITTLE = "alarm", "fine", "too little data"
NOT_LOOKED_AT, NO_LIMIT = "not looked at", "no limit"
"""What a watch says. Of clicks figures are shown, and nothing alarms."""
LOG_READ = "log"
"""What was read of a log, which by itself is no watch."""


@dataclass(frozen=True)
class Watched:
    """One watch: `key` names it, `basis` says over what it looked, or why it did not.

    Without data it has no `result`.
    """

    key: str
    state: str
    basis: Finding
    result: Result | None = None

    @property
    def alarms(self) -> Sequence[Finding]:
        """What is wrong."""
        return getattr(self.result, "alarms", ())

    @property
    def findings(self) -> list[Finding]:
        """What else a reader should know; without data why."""
        return list(self.result.findings) if self.result else [self.basis]


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Result):
    """One run of the watch over a collection: what each of the `watches` says."""

    folder: Path
    time: datetime
    watches: Sequence[Watched]

    @property
    def board(self) -> list[Watched]:
        """The watches, without what was read of a log."""
        return [each for each in self.watches if each.key != LOG_READ]

    @property
    def alarms(self) -> list[Finding]:
        """Every alarm; `about` says of which kind."""
        return [alarm for watched in self.watches for alarm in watched.alarms]

    @property
    def findings(self) -> list[Finding]:
        """What each watch says beside its alarms."""
        return [each for watched in self.watches for each in watched.findings]

    @property
    def kinds(self) -> dict[str, int]:
        """The kinds of alarms that were raised, with how many of each."""
        return dict(Counter(alarm.about for alarm in self.alarms))

    @property
    def headline(self) -> str:
        """The alarms by kind, then the other watches by what they say."""
        kinds = [f"{count_of(len(self.alarms), 'alarm')}: {', '.join(self.kinds)}"]
        states = {
            state: [each.key for each in self.board if each.state == state]
            for state in (TOO_LITTLE, NOT_LOOKED_AT, FINE, NO_LIMIT)
        }
        others = [f"{state}: {', '.join(keys)}" for state, keys in states.items() if keys]
        return "; ".join([*(kinds if self.kinds else []), *others])

    @property
    def sentences(self) -> list[str]:
        """What is wrong, fine, or not known; and what was looked at."""
        looked = (f"looked at: {each.basis}" for each in self.watches if each.result)
        return [self.headline, *dict.fromkeys(looked)]

    @property
    def proposed_queries(self) -> list[dict[str, Any]] | None:
        """Queries that would make the set current, as rows of a file of queries.

        Empty where the log has none to add; None where no log was looked at, or too short a one.
        """
        results = (each.result for each in self.watches)
        queries = (each.proposal for each in results if isinstance(each, SearchedQueries))
        return next((each.rows for each in queries if each), None)

    def as_json(self) -> dict[str, Any]:
        """The alarms, what each watch says, and every figure by watch."""
        (board,) = self.tables()
        return {
            "collection": str(self.folder),
            "time": self.time.isoformat(timespec="seconds"),
            "alarms": [{"kind": alarm.about, "text": str(alarm)} for alarm in self.alarms],
            "board": board.as_json(),
            "watches": {each.key: each.result.as_json() for each in self.watches if each.result},
        }

    def tables(self) -> list[Table]:
        """A row for each watch: what it says, of what, or why it does not."""
        columns = [Column(name, align="left") for name in ("watch", "says", "of, or why not")]
        return [Table("board", columns, [(w.key, w.state, str(w.basis)) for w in self.board])]

    def every_table(self) -> list[Table]:
        """The same, then the figures of each watch."""
        results = [each.result for each in self.watches if each.result]
        return [*self.tables(), *(table for each in results for table in each.tables())]


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

    `logs` are files of one log, read as one. Asks no model. What there is no data for
    is said. Writes nothing.

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
    options, documents, logs = options or MonitorOptions(), several(documents), several(logs)
    watches = (
        *_judges(opened, options.names),
        _corpus(opened, documents, options.corpus, control),
        *_logs(opened, logs, options.reading),
    )
    if not any(each.result for each in watches if each.key != LOG_READ):
        raise _nothing(opened, watches, has_sources=bool(logs))
    return Monitoring(opened.folder, now().astimezone(UTC), watches)


def _nothing(
    collection: Collection, watches: Iterable[Watched], *, has_sources: bool
) -> Misuse | BadInput:
    """Why nothing could be watched: no data were named, or those that were say nothing."""
    if not has_sources:
        return Misuse(
            f"{collection.folder}: nothing to watch: no set was controlled, no documents and no "
            "log are named; name one of them, or control a set first"
        )
    reasons = "; ".join(str(each.basis) for each in watches if each.state == TOO_LITTLE)
    return BadInput(f"{collection.folder}: nothing to watch: {reasons}")


def _watched(key: str, basis: str, result: Result, state: str = FINE) -> Watched:
    """A watch that looked at something, in this state unless it raised an alarm."""
    state = ALARM if getattr(result, "alarms", ()) else state
    return Watched(key, state, Finding(basis, level="note"), result)


def _unwatched(key: str, why: str, *settings: Setting) -> Watched:
    return Watched(key, NOT_LOOKED_AT, Finding(why, settings=settings, level="note"))


def _judges(collection: Collection, names: Sequence[str]) -> Iterator[Watched]:
    """The watch over each assessor."""
    names = names or [n for n in collection.judgement_names() if read_controls(collection, n)]
    if not names:
        how = f"labeler lab control {collection.folder}"
        yield _unwatched("judge", f"judge: no set of judgements was ever controlled; next: {how}")
    for name in names:
        drift = judge_drift(collection, name)
        days = dict.fromkeys(each.run.label for each in (*drift.checks[:1], *drift.checks[-1:]))
        controls = f"{count_of(len(drift.checks), 'control')} of {name}"
        basis = f"{controls}, {' to '.join(days)}" if days else f"{controls} that compare"
        yield _watched(f"judge {name}", basis, drift, TOO_LITTLE if drift.is_open else FINE)


def _corpus(
    collection: Collection, documents: Sequence[str | Path], options: CorpusWatch, control: Control
) -> Watched:
    """The watch over the documents."""
    if not documents:
        return _unwatched("corpus", "corpus: no documents are named", Setting("documents"))
    drift = corpus_drift(documents, collection, options, control)
    passages = count_of(sum(drift.passages.values()), "passage")
    basis = f"{passages} and {drift.judged:,} judged pairs of {drift.qrels}"
    return _watched("corpus", basis, drift, FINE if drift.judged else TOO_LITTLE)


def _logs(
    collection: Collection, names: Sequence[str | Path], options: LogOptions
) -> Iterator[Watched]:
    """What a log says of users' searches; all files are read as one."""
    if not names:
        setting = Setting("log")
        yield _unwatched("queries", f"users' queries and clicks: no {setting} is named", setting)
        return
    with open_log(log_files(names), options) as log:
        basis = _looked_at(log.reading)
        if log.reading.clicks or log.reading.impressions:
            yield _watched("clicks", basis, online(log), NO_LIMIT)
        else:
            yield _unwatched("clicks", "clicks: the log says neither what was shown nor clicked")
        try:
            queries = searched_queries(collection, searches_of(log))
            state = TOO_LITTLE if queries.shift.missing else FINE
            yield _watched("queries", basis, queries, state)
        except BadInput as error:
            yield Watched("queries", TOO_LITTLE, Finding(f"users' queries: {error}"))
        yield _watched(LOG_READ, basis, log.reading, NO_LIMIT)


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
