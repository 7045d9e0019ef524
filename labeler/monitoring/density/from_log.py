"""The searches of a log of events, with their days."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from labeler.monitoring.density.searches import Search
from labeler.monitoring.log.log import EventLog
from labeler.monitoring.log.options import zone_of


def searches_of(log: EventLog) -> Iterator[Search]:
    """The searches of a log that have a time; what they count once in is a user's day.

    Days are those of the log's time zone.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from labeler.monitoring.log.log import open_log
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("time,session,query\\n2024-05-01 10:00,s1,usb hub\\n")
    >>> with open_log(path) as log:
    ...     print([(str(search.day), search.text) for search in searches_of(log)])
    [('2024-05-01', 'usb hub')]
    """
    zone = zone_of(log.options.time_zone)
    for number, part in enumerate(log.searches()):
        texts = part.texts
        columns = (part.text, part.time, part.client, part.times)
        for text, time, client, times in zip(*(c.tolist() for c in columns), strict=True):
            if math.isfinite(time):
                day = datetime.fromtimestamp(time, zone).date()
                user = f"{number}/{client}" if client >= 0 else ""
                yield Search(day, texts[text], user, max(1, round(times)))
