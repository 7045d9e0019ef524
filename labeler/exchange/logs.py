"""Logs of a search engine: what people typed, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from labeler.errors import BadInput, BadRow
from labeler.exchange.fields import LogFields, has_field, value_at
from labeler.exchange.formats import rows_of_any
from labeler.exchange.ratings import number_of
from labeler.exchange.tables import QUERY_TEXT, RANK, RowPart, in_words, part_of
from labeler.files.boundary import reading
from labeler.files.jsonl import JsonObject
from labeler.files.read import rereadable
from labeler.messages import tell
from labeler.trec.values import DOCUMENT_ID

# What the columns of logs of search engines are usually called.

COUNT = ("count", "frequency", "freq", "searches", "impressions", "volume", "hits", "n")
SESSION = ("session", "sessionid", "searchsession", "searchsessionid", "visit", "visitid")

EVENT_PARTS = {
    "query": QUERY_TEXT,
    "document": DOCUMENT_ID,
    "rank": RANK,
    "clicks": ("clicks", "click", "clicked", "isclicked"),
    "session": SESSION,
    "time": (
        *("time", "timestamp", "datetime", "date", "eventtime", "searchtime", "querytime"),
        *("logtime", "createdat", "requesttime", "day", "ts"),
    ),
    "user": (
        *("userid", "user", "clientid", "client", "visitorid", "visitor", "anonid", "cookieid"),
        *("cookie", "deviceid", "customerid"),
    ),
    "search": ("queryid", "searchid", "requestid", "qid", "serpid", "impressionid"),
    "action": ("actionname", "action", "eventtype", "eventname", "event", "eventaction"),
    "thumbs": ("thumbs", "thumb", "feedback", "vote", "helpful"),
    "variant": (
        *("variant", "bucket", "arm", "treatment", "testgroup", "abgroup", "experiment"),
        "system",
    ),
    "agent": ("useragent", "agent", "browser", "httpuseragent"),
}
"""What a row holds, and the usual names of its column."""

ColumnNames = Mapping[str, str]
"""The names of a log's columns by what they hold, where these are no usual ones."""

_COUNTED = {
    "count": COUNT,
    "query": QUERY_TEXT,
    "document": DOCUMENT_ID,
    "session": SESSION,
}
"""What a row holds that says how often a query was typed."""

_LARGEST_COUNT = 10**12
_SHOWN = 40
"""Names of columns that a message shows at most."""


class LogRow(NamedTuple):
    """A row of a log: a query that was typed `times` times; perhaps a document it showed.

    `session` is empty where the log does not say in which visit the query was typed.
    """

    number: int
    query: str
    times: int = 1
    doc_id: str = ""
    session: str = ""


def read_log(path: Path | str, fields: LogFields | None = None) -> Iterator[LogRow]:
    """The rows of a log in CSV, TSV, JSON, JSON Lines or Parquet; those without a query left out.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("query,count\\nusb hub,12\\n")
    >>> next(read_log(path)).times
    12
    """
    path = Path(path)
    with rereadable(), reading(path) as position:
        rows = rows_of_any(path, "query, and perhaps its count or session")
        fields = fields or LogFields()
        own = {name.removesuffix("_field"): column for name, column in asdict(fields).items()}
        parts = parts_of(path, rows.columns, own, _COUNTED)
        parts.pop(_unread(path, parts, fields), None)
        columns = {name: part.column for name, part in parts.items()}
        tell(path, rows.kind("a log", columns.values()))
        is_empty = True
        for number, row in position.follow(rows.checked(parts.values())):
            is_empty = False
            if log_row := _read(number, row, columns):
                yield log_row
        if is_empty:
            raise BadInput(f"{path}: no row in it")


def parts_of(
    path: Path,
    names: Sequence[str],
    fields: ColumnNames,
    parts: Mapping[str, Sequence[str]] = EVENT_PARTS,
) -> dict[str, RowPart]:
    """Those of the parts of a row that the columns hold."""
    shown = in_words(names[:_SHOWN])
    held = {}
    for what, alike in parts.items():
        own = fields.get(what, "")
        setting = f"{what}_field"
        if own and not has_field(names, own):
            raise BadInput(f"{path}: no column {own!r:.60} among {shown}", parameter=setting)
        part = RowPart(own, what) if own else part_of(names, alike, what, setting)
        if part is not None:
            held[what] = part
    if "query" not in held:
        raise BadInput(
            f"{path}: no column of queries among {shown}; name it", parameter="query_field"
        )
    return held


def _unread(path: Path, parts: Mapping[str, RowPart], fields: LogFields) -> str:
    """Which of a count and a session is not to be read; `BadInput` where both would do."""
    if not {"count", "session"} <= parts.keys():
        return ""
    if bool(fields.count_field) == bool(fields.session_field):
        raise BadInput(
            f"{path}: {parts['count'].column!r} is a count and {parts['session'].column!r} a "
            "session: each says how often a query was searched for; name the one to count by",
            parameter="count_field",
        )
    return "session" if fields.count_field else "count"


def _read(number: int, row: JsonObject, columns: dict[str, str]) -> LogRow | None:
    """A row of a log; None where nobody typed anything."""
    cells = {part: value_at(row, name) for part, name in columns.items()}
    text = cells["query"]
    if text is None or (isinstance(text, str) and not text.strip()):
        return None
    if not isinstance(text, str | int | float):
        raise BadRow(f"expected a query, found {text!r:.80}")
    count = _count(cells["count"]) if "count" in cells else 1
    doc_id, session = (cells.get(part) for part in ("document", "session"))
    doc_id = "" if doc_id is None else str(doc_id)
    session = "" if session is None else str(session).strip()
    return LogRow(number, str(text), count, doc_id, session)


def _count(value: object) -> int:
    """A count of a log: a whole number from 0."""
    exact = 0.0 if value is None else number_of(value)
    if exact is None or not (0 <= exact <= _LARGEST_COUNT and exact.is_integer()):
        raise BadRow(f"expected a whole number of count from 0, found {value!r:.40}")
    return int(exact)
