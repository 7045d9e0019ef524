"""`monitoring/TIME.json`: what a run of the watch over a collection said, with its figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.layout import Collection, check_locked
from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.files.boundary import reading
from labeler.files.read import check_regular, file_problems, read_bytes

LARGEST_RUN = 64 * 2**20
_STEM = "%Y%m%dT%H%M%SZ"


class WatchRun(NamedTuple):
    """One run of the watch: its file, when it was, and what it said."""

    path: Path
    time: datetime
    content: Mapping[str, Any]


def watch_files(collection: Collection) -> list[Path]:
    """The files of earlier runs, the oldest first."""
    return sorted(collection.monitoring.glob("*.json"))


def read_watch_run(path: Path) -> WatchRun:
    """One run; `BadInput` where its file is no such object, or names no time."""
    check_regular(path)
    with file_problems(path), reading(path) as position:
        content = json.loads(read_bytes(path, LARGEST_RUN).decode("utf-8"))
        if not isinstance(content, dict):
            raise position.error("expected a JSON object")
        json.dumps(content, ensure_ascii=False).encode()  # half a surrogate pair cannot be shown
        try:
            time = datetime.fromisoformat(str(content.get("time")))
        except ValueError:
            raise position.error("expected time: when the watch ran") from None
        utc = time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    return WatchRun(path, utc, content)


def read_watch_runs(collection: Collection) -> tuple[list[WatchRun], list[BadInput]]:
    """The earlier runs in the order of their times, and what is wrong with files that are none.

    A run that cannot be read is no reason not to watch.
    """
    runs, problems = list[WatchRun](), list[BadInput]()
    for path in watch_files(collection):
        try:
            runs.append(read_watch_run(path))
        except BadInput as error:
            problems.append(error)
    return sorted(runs, key=lambda run: (run.time, run.path.name)), problems


def write_watch_run(collection: Collection, time: datetime, content: Mapping[str, Any]) -> Path:
    """Keep a run beside the earlier ones; two of one second have a file each.

    The collection must be locked.
    """
    check_locked(collection.folder)
    stem = time.astimezone(UTC).strftime(_STEM)
    names = (f"{stem}{f'-{number}' if number > 1 else ''}.json" for number in count(1))
    path = next(path for name in names if not (path := collection.monitoring / name).exists())
    with replacing(path) as out:
        json.dump({"time": time.isoformat(timespec="seconds"), **content}, out, ensure_ascii=False)
        out.write("\n")
    return path
