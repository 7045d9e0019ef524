"""`monitor`: whether yesterday's evaluation still describes today's search, once a week or so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import locked
from labeler.collection.monitoring import WatchRun, read_watch_runs, write_watch_run
from labeler.errors import BadInput, Misuse
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.monitoring.corpus.blocks import corpus_blocks
from labeler.monitoring.corpus.drift import corpus_drift
from labeler.monitoring.corpus.result import CorpusWatch
from labeler.monitoring.judge.blocks import judge_blocks
from labeler.monitoring.judge.drift import controlled_sets, judge_drift
from labeler.monitoring.logs import LogWatch, watch_logs
from labeler.monitoring.result import Monitoring
from labeler.monitoring.watched import Watched
from labeler.report.finding import Finding, Setting

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

    >>> from labeler.judging.drift import drift
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
