"""Times as logs write them: ISO 8601, seconds and milliseconds since 1970, and a server's log."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime

from labeler.monitoring.log.options import LogOptions, zone_of

EARLIEST = datetime(1995, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
"""Between them a log's times lie; whatever else is a mistake."""

_SCALES = (1.0, 1e3, 1e6, 1e9)
"""Seconds, milliseconds, microseconds and nanoseconds in a second: one alone fits the bounds."""

_NUMBER = re.compile(r"\d{9,20}(\.\d+)?")
_FORMATS = ("%d/%b/%Y:%H:%M:%S %z", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d", "%a, %d %b %Y %H:%M:%S %z")
_NO_TIMES = ("", "null", "none", "nan", "-", "\\n")


class Clock:
    """Turns what a log gives as a time into seconds since 1970.

    A time without a zone is one of the options' zone; `has_naive` says that there was one.

    >>> clock = Clock(LogOptions(time_zone="+02:00"))
    >>> clock("2024-05-01 02:00"), clock("2024-05-01T00:00:00Z"), clock(1714521600000)
    (1714521600.0, 1714521600.0, 1714521600.0)
    """

    def __init__(self, options: LogOptions) -> None:
        self.zone = zone_of(options.time_zone)
        self.formats = (options.time_format,) if options.time_format else _FORMATS
        self.is_usual = not options.time_format
        self.has_naive = False

    def __call__(self, value: object) -> float:
        """Seconds since 1970; nan where there is no time, infinite for what is none."""
        if isinstance(value, str):
            seconds = self._of_text(value.strip())
        elif value is None or (isinstance(value, float) and math.isnan(value)):
            seconds = math.nan
        elif isinstance(value, datetime | date):
            seconds = self._iso(value.isoformat())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = _since_1970(value)
        else:
            seconds = None
        return math.inf if seconds is None else seconds

    def _of_text(self, text: str) -> float | None:
        if text.casefold() in _NO_TIMES:
            return math.nan
        if not self.is_usual:
            return self._by_formats(text)
        if _NUMBER.fullmatch(text):
            return _since_1970(float(text))
        return self._iso(text) or self._by_formats(text)

    def _iso(self, text: str) -> float | None:
        try:
            return self._seconds(datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            return None

    def _by_formats(self, text: str) -> float | None:
        for spec in self.formats:
            try:
                return self._seconds(datetime.strptime(text, spec))
            except (ValueError, OverflowError, re.error):
                continue
        return None

    def _seconds(self, moment: datetime) -> float | None:
        """Seconds since 1970; of an hour that a clock shows twice the first."""
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self.zone)
            self.has_naive = True
        return _bounded(moment.timestamp())


def _since_1970(number: float) -> float | None:
    """Seconds since 1970 of a number of them, or of milli-, micro- or nanoseconds."""
    try:
        values = (_bounded(number / scale) for scale in _SCALES)
        return next((value for value in values if value is not None), None)
    except OverflowError:  # of an integer that no float holds
        return None


def _bounded(seconds: float) -> float | None:
    return seconds if EARLIEST <= seconds < LATEST else None
