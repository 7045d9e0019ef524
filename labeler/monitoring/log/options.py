"""How a log is read: its columns, its time zone, and what counts as a bot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from labeler.errors import Misuse
from labeler.exchange.fields import EventFields

AGENTS = re.compile(
    r"bot\b|bot[/;_ -]|crawl|spider|slurp|headless|phantomjs|selenium|puppeteer|playwright"
    r"|python-|curl/|wget/|httpclient|java/|go-http|okhttp|scrapy|monitor|uptime|pingdom",
    re.IGNORECASE,
)
"""What a program that asks for itself calls itself, as a rule."""


@dataclass(frozen=True, slots=True)
class BotRules:
    """From when on a user, or a session where no user is named, is taken for a program.

    More searches within any minute, or within any 24 hours, than this; or so many searches
    without a click, where the log has clicks; or a user agent that says so. 0 turns a rule off.
    The thresholds are this tool's own: far above what a person does, as a look at a log tells.
    """

    searches_a_minute: int = 30
    searches_a_day: int = 500
    searches_without_click: int = 200
    by_agent: bool = True

    def __post_init__(self) -> None:
        for name in ("searches_a_minute", "searches_a_day", "searches_without_click"):
            if getattr(self, name) < 0:
                raise Misuse("expected a number from 0, which turns the rule off", parameter=name)


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is read.

    `time_zone` is where times without a zone are from, as `UTC`, `Europe/Berlin` or `+02:00`;
    `time_format` is theirs, as `%d.%m.%Y %H:%M`, where it is none of the usual ones.
    `application` is the one to read where a log mixes several. `first_rank` is 0 or 1, the rank
    that the log gives the first result; None finds that out, and says it. `pause` is how many
    minutes without a search end a visit, and make the same query a new search.
    """

    fields: EventFields = field(default_factory=EventFields)
    time_zone: str = "UTC"
    time_format: str = ""
    application: str = ""
    first_rank: int | None = None
    pause: float = 30.0
    bots: BotRules = field(default_factory=BotRules)

    def __post_init__(self) -> None:
        zone_of(self.time_zone)
        if self.first_rank not in (None, 0, 1):
            raise Misuse("ranks count from 0 or from 1", parameter="first_rank")
        if not 0 < self.pause <= 24 * 60:
            raise Misuse("expected minutes, more than 0 and up to 1,440", parameter="pause")


_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


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
        problem = f"no time zone {name!r:.60}; expected one as UTC, Europe/Berlin or +02:00"
        raise Misuse(problem, parameter="time_zone") from error
