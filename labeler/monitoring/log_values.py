"""What single values of a log mean: names, numbers, actions and times."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from labeler.errors import Misuse
from labeler.exchange.logs import EVENT_PARTS, ColumnNames
from labeler.options import option
from labeler.queries.traffic import normalized

LOG = "Log"


def columns_named(texts: Iterable[str]) -> ColumnNames:
    """The names of columns out of `PART:NAME`; `Misuse` names the parts that have one."""
    names: dict[str, str] = {}
    for text in texts:
        part, _, name = text.partition(":")
        if part not in EVENT_PARTS or not name:
            raise Misuse(
                f"expected PART:NAME, PART one of {', '.join(EVENT_PARTS)}; found {text!r}"
            )
        names[part] = name
    return names


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is read.

    `fields` are names of columns by what they hold, as `{"time": "when"}`.
    `time_zone` is where times without a zone are from, as `UTC`, `Europe/Berlin` or `+02:00`;
    `time_format` is theirs, as `%d.%m.%Y %H:%M`, where it is none of the usual ones.
    """

    fields: ColumnNames = option(
        dict,
        "A column's name where it is no usual one, as time:when; repeatable.",
        flags="--column",
        metavar="PART:NAME",
        panel=LOG,
        rare=True,
        read=columns_named,
        several=True,
    )
    time_zone: str = option("UTC", "Of times without one, as Europe/Berlin.", panel=LOG, rare=True)
    time_format: str = option("", "Of times, as %d.%m.%Y %H:%M.", panel=LOG, rare=True)

    def __post_init__(self) -> None:
        zone_of(self.time_zone)


SHOWN, CLICKED, SEARCHED, UP, DOWN = (1 << bit for bit in range(5))
"""What a row says happened."""

_LARGEST = 10**12
_MOST_RANK = 10_000
_TRUE = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0, "": 0.0}
_ACTIONS = {
    SHOWN: ("impression", "shown", "show", "view", "viewed", "display", "displayed", "resultshown"),
    CLICKED: ("click", "clicked", "itemclick", "resultclick", "select", "open", "clickthrough"),
    SEARCHED: ("search", "onsearch", "query", "viewsearchresults", "searched"),
    UP: ("thumbsup", "like", "upvote", "helpful", "thumbup"),
    DOWN: ("thumbsdown", "dislike", "downvote", "nothelpful", "thumbdown"),
}
_KIND_OF = {name: kind for kind, names in _ACTIONS.items() for name in names}
_UPS, _DOWNS = ("up", "1", "+1", "true", "yes", "good"), ("down", "-1", "0", "false", "no", "bad")
_NOTHING = ("", "null", "none", "nan", "undefined", "-", "\\n")
_AGENTS = re.compile(
    r"(?i)bot\b|bot[/;_ -]|crawl|spider|slurp|headless|phantomjs|selenium|puppeteer|playwright"
    r"|python-|curl/|wget/|httpclient|java/|go-http|okhttp|scrapy|monitor|uptime|pingdom",
)
"""What a program that asks for itself calls itself, as a rule."""


def name_of(value: Any) -> str:
    """A value as a name; empty where it is none."""
    try:
        text = "" if value is None or isinstance(value, bool) else str(value).strip()
    except ValueError:  # a number of too many digits to be written
        return ""
    return "" if text.casefold() in _NOTHING else text


def identity(value: Any) -> int:
    """The number by which rows name a document, a user or a session; 0 where there is none."""
    name = name_of(value)
    return (hash(name) or 1) if name else 0


def spread(value: Any) -> int:
    """A number that a name has in any run of the program, by which rows are spread over parts."""
    name = name_of(value)
    return zlib.crc32(normalized(name).casefold().encode("utf-8", "replace")) if name else -1


def kind_of_action(value: Any) -> int:
    """What an action means; 0 of none, -1 of one that is not read."""
    name = "".join(filter(str.isalnum, name_of(value).casefold()))
    return _KIND_OF.get(name, -1) if name else 0


def whole_number(value: Any) -> float:
    """A whole number from 0, or nan."""
    if value is None or isinstance(value, bool):
        return float(bool(value))
    if isinstance(value, str) and value.strip().casefold() in _TRUE:
        return _TRUE[value.strip().casefold()]
    return _whole(value, _LARGEST)


def _whole(value: Any, most: int) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if 0 <= number <= most and number.is_integer() else math.nan


def rank_of(value: Any) -> int:
    """A rank, or -1 where the value is none."""
    number = math.nan if isinstance(value, bool) else _whole(value, _MOST_RANK)
    return -1 if math.isnan(number) else int(number)


def thumb_of(value: Any) -> int:
    """`UP`, `DOWN`, or 0 where the value is neither."""
    name = ("1" if value else "0") if isinstance(value, bool) else name_of(value).casefold()
    return UP if name in _UPS else DOWN if name in _DOWNS else 0


def is_program(value: Any) -> bool:
    """Whether a user agent is that of a program."""
    return bool(_AGENTS.search(name_of(value)))


# Times as logs write them: ISO 8601, seconds and milliseconds since 1970, and a server's log.

EARLIEST = datetime(1995, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
"""Between them a log's times lie; whatever else is a mistake."""

_SCALES = (1.0, 1e3, 1e6, 1e9)
"""Seconds, milliseconds, microseconds and nanoseconds in a second: one alone fits the bounds."""

_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
_NUMBER = re.compile(r"\d{9,20}(\.\d+)?")
_FORMATS = ("%d/%b/%Y:%H:%M:%S %z", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d", "%a, %d %b %Y %H:%M:%S %z")


def zone_of(name: str) -> tzinfo:
    """The time zone of a name as `Europe/Berlin`, or of an offset as `+02:00`.

    >>> zone_of("-03:30").utcoffset(None)
    datetime.timedelta(days=-1, seconds=73800)
    """
    if name.casefold() in ("utc", "z"):
        return UTC
    if match := _OFFSET.fullmatch(name):
        away = timedelta(hours=int(match[2]), minutes=int(match[3]))
        if away < timedelta(hours=24):
            return timezone(-away if match[1] == "-" else away)
    try:
        return ZoneInfo(name)
    except Exception as error:  # of a name with odd characters it raises what the system does
        raise Misuse(
            f"no time zone {name!r:.60}; expected one as UTC, Europe/Berlin or +02:00",
            parameter="time_zone",
        ) from error


class Clock:
    """Turns what a log gives as a time into seconds since 1970.

    A time without a zone is one of the options' zone; `has_naive` says that there was one.

    >>> clock = Clock(LogOptions(time_zone="+02:00"))
    >>> clock("2024-05-01 02:00"), clock("2024-05-01T00:00:00Z"), clock(1714521600000)
    (1714521600.0, 1714521600.0, 1714521600.0)
    """

    def __init__(self, options: LogOptions) -> None:
        self.zone = zone_of(options.time_zone)
        self.formats = (options.time_format,) if options.time_format else ("", *_FORMATS)
        self.has_naive = False

    def __call__(self, value: object) -> float:
        """Seconds since 1970; nan where there is no time, infinite for what is none."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return math.nan
        if isinstance(value, str):
            return self._of_text(value.strip())
        if isinstance(value, datetime | date):
            return self._by(value.isoformat(), "")
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return _since_1970(value) if is_number else math.inf  # type: ignore[arg-type]

    def _of_text(self, text: str) -> float:
        if text.casefold() in _NOTHING:
            return math.nan
        if "" in self.formats and _NUMBER.fullmatch(text):
            return _since_1970(float(text))
        readings = (self._by(text, spec) for spec in self.formats)
        return next((seconds for seconds in readings if seconds < math.inf), math.inf)

    def _by(self, text: str, spec: str) -> float:
        """The time by a format; by ISO 8601 without one."""
        try:
            moment = datetime.strptime(text, spec) if spec else datetime.fromisoformat(text)
            return self._seconds(moment)
        except (ValueError, OverflowError, re.error):
            return math.inf

    def _seconds(self, moment: datetime) -> float:
        """Seconds since 1970; of an hour that a clock shows twice the first."""
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self.zone)
            self.has_naive = True
        return _bounded(moment.timestamp())


def _since_1970(number: float) -> float:
    """Seconds since 1970 of a number of them, or of milli-, micro- or nanoseconds."""
    try:
        return min(_bounded(number / scale) for scale in _SCALES)
    except OverflowError:  # of an integer that no float holds
        return math.inf


def _bounded(seconds: float) -> float:
    return seconds if EARLIEST <= seconds < LATEST else math.inf
