"""Logs as they are in the world: every row is read, or left out for a reason that is counted."""

import gzip
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import numpy as np
import pytest

from labeler.errors import BadInput, LabelerError, Misuse
from labeler.monitoring.log import EventLog, open_log
from labeler.monitoring.log_values import Clock, LogOptions
from labeler.monitoring.online import online

SRW = Path(__file__).parents[3] / "shared/data/foreign/opensearch-srw"
SHOWN = "time,session,query,doc_id,rank,clicked\n"


def log_of(
    path: Path, text: str, options: LogOptions | None = None
) -> AbstractContextManager[EventLog]:
    path.write_text(text, encoding="utf-8")
    return open_log(path, options)


def queries(log: EventLog) -> list[str]:
    return [log.texts[text] for part in log.parts() for text in part.searches["text"]]


def reasons(log: EventLog) -> dict[str, int]:
    return {reason: rows for reason, rows, _ in log.reading.left_out}


def shown(log: EventLog) -> list[tuple[int, float, float]]:
    """Rank, impressions and clicks of each document that a search showed."""
    parts = [part.impressions for part in log.parts()]
    return sorted(
        row
        for part in parts
        for row in part[["rank", "shown", "clicks"]].itertuples(index=False, name=None)
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-01T00:00:00Z", 1714521600.0),
        ("2024-05-01 00:00:00", 1714521600.0),
        ("2024-05-01T02:00:00.500+02:00", 1714521600.5),
        ("2024-05-01", 1714521600.0),
        ("1714521600", 1714521600.0),
        ("1714521600123", 1714521600.123),
        (1714521600123456, 1714521600.123456),
        ("01/May/2024:02:00:00 +0200", 1714521600.0),
        ("2024/05/01 00:00:00", 1714521600.0),
    ],
)
def test_times_are_read_as_logs_write_them(text: object, seconds: float) -> None:
    assert Clock(LogOptions())(text) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("text", ["2024-13-01", "05/01/2024", "yesterday", "12", "0", True, [1]])
def test_what_is_no_time_or_could_be_two_is_none(text: object) -> None:
    assert Clock(LogOptions())(text) == np.inf


def test_a_time_without_a_zone_is_of_the_zone_that_is_named() -> None:
    assert Clock(LogOptions(time_zone="Europe/Berlin"))("2024-05-01 02:00") == 1714521600.0
    assert Clock(LogOptions(time_format="%d.%m.%Y %H:%M"))("01.05.2024 00:00") == 1714521600.0
    with pytest.raises(Misuse, match="no time zone 'Berlin'"):
        LogOptions(time_zone="Berlin")


def test_bad_dates_are_counted_with_the_line_of_the_first(tmp_path: Path) -> None:
    text = "date,session,query\n2024-05-01,a,usb hub\nsoon,b,lcd\n,c,dvd\n05/02/2024,d,cable\n"
    with log_of(tmp_path / "log.csv", text) as log:
        assert queries(log) == ["usb hub"]
        assert reasons(log) == {"a date that cannot be read": 2, "no date": 1}
        assert log.reading.left_out[0].first == f"{tmp_path}/log.csv:3"
        assert log.reading.retained == 1


def test_a_log_of_which_no_date_can_be_read_is_refused_with_the_first(tmp_path: Path) -> None:
    refused = pytest.raises(LabelerError, match=r"log.csv:2: no date can be read; name the column")
    with refused as e, log_of(tmp_path / "log.csv", "date,query\nMay 1st,usb hub\n"):
        pass
    assert e.value.parameter == "time_format"


BAD_LINES = (
    *("2024-05-01,s1,usb hub\n", "2024-05-01,s2\n", '2024-05-01,s3,"left open\n'),
    *("2024-05-01,s4,lcd\n", '2024-05-01,s5,"two\nlines"\n', "\n", "2024-05-01,s6,a,b\n"),
    "2024-05-01,s7,dvd\n",
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_bad_line_loses_no_other_whatever_a_block_holds(tmp_path: Path, end: str) -> None:
    text = "time,session,query\n" + "".join(BAD_LINES)
    with log_of(tmp_path / "log.csv", text.replace("\n", end)) as log:
        assert sorted(queries(log)) == ["dvd", "lcd", "usb hub"]
        told = {(reason, rows, first[-2:]) for reason, rows, first in log.reading.left_out}
        wrong = "more or fewer columns than the first row"
        assert told == {(wrong, 3, ":3"), ("a quote left open", 2, ":4")}
        assert log.reading.rows == 8


def test_a_line_that_is_not_utf8_or_no_json_is_left_out_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"time,query\n2024-05-01,caf\xe9\n2024-05-01,lcd\n")
    with open_log(path) as log:
        assert (queries(log), reasons(log)) == (["lcd"], {"not UTF-8": 1})
    lines = '{"time": 1714521600, "query": "usb"}\n{"time":\n[1]\n{"time": "2024-05-01"}\n'
    with log_of(tmp_path / "log.jsonl", lines) as log:
        assert (queries(log), reasons(log)) == (["usb"], {"not a JSON object": 2, "no query": 1})


def test_all_kinds_of_files_say_the_same(tmp_path: Path) -> None:
    import pandas as pd

    rows = [
        {"time": f"2024-05-0{1 + n % 9} 10:00:00", "session": f"s{n // 3}", "query": f"q {n // 3}"}
        | {"doc_id": f"d{n % 3}", "rank": n % 3 + 1, "clicked": n % 2}
        for n in range(30)
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    frame.to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    frame.to_json(tmp_path / "log.json", orient="records")
    frame.assign(time=pd.to_datetime(frame["time"])).to_parquet(tmp_path / "log.parquet")
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress((tmp_path / "log.csv").read_bytes()))
    figures = []
    for path in sorted(tmp_path.glob("log.*")):
        with open_log(path) as log:
            reading = log.reading
            times = sorted(time for part in log.parts() for time in part.searches["time"])
            figures.append((shown(log), times, reading.rows, reading.left_out, reading.clicks))
    assert len(figures) == 6
    assert figures.count(figures[0]) == 6


def test_no_user_no_session_and_no_query_stands_in_what_is_said_of_a_log(tmp_path: Path) -> None:
    text = (
        "time,user_id,session,query_id,query,doc_id,rank,clicked\n"
        "2024-05-01,jane@example.org,visit-1,s1,invoice of jane,d1,1,1\n"
        "2024-05-01,jane@example.org,visit-1,s1,,d2,2,0\nsoon,u2,visit-2,s2,lcd,d1,1,1\n"
    )
    with log_of(tmp_path / "log.csv", text) as log:
        assert queries(log) == ["invoice of jane"]
        told = json.dumps([log.reading.as_json(), online(log).as_json()])
        assert not [name for name in ("jane", "u2", "visit", "invoice") if name in told]


def test_the_same_event_counts_once_and_the_same_search_too(tmp_path: Path) -> None:
    row = "2024-05-01T10:00:00,s1,lcd,d1,1,1\n"
    again = "2024-05-01T10:05:00,s1,LCD ,d1,1,0\n"  # the page, loaded again
    later = "2024-05-01T12:00:00,s1,lcd,d1,1,0\n"
    with log_of(
        tmp_path / "log.csv", SHOWN + row + row + again.replace("LCD ", "lcd") + later
    ) as log:
        assert reasons(log) == {"the same event again": 1}
        assert queries(log) == ["lcd", "lcd"]
        assert shown(log) == [(1, 1.0, 0.0), (1, 1.0, 1.0)]


def test_events_out_of_order_make_the_same_searches(tmp_path: Path) -> None:
    rows = [
        f"2024-05-01T10:{n % 60:02d}:00,s{n // 5 % 4},q{n // 5},d{n % 5},{n % 5 + 1},{n % 2}\n"
        for n in range(60)
    ]
    with log_of(tmp_path / "a.csv", SHOWN + "".join(rows)) as log:
        in_order = shown(log)
    random.Random(0).shuffle(rows)
    with log_of(tmp_path / "b.csv", SHOWN + "".join(rows)) as log:
        assert shown(log) == in_order


def test_clicks_and_impressions_in_rows_of_their_own_belong_together(tmp_path: Path) -> None:
    text = (
        "time,session,event,query,doc_id,position\n"
        "2024-05-01T10:00:00,s1,search,lcd,,\n2024-05-01T10:00:01,s1,impression,lcd,d1,1\n"
        "2024-05-01T10:00:01,s1,impression,lcd,d2,2\n2024-05-01T10:00:09,s1,click,lcd,d2,2\n"
        "2024-05-01T10:00:30,s1,click,lcd,d9,7\n2024-05-01T10:00:31,s1,hover,lcd,d9,7\n"
    )
    with log_of(tmp_path / "log.csv", text) as log:
        (part,) = log.parts()
        assert part.searches["is_clicked"].tolist() == [True]
        assert shown(log) == [(1, 1.0, 0.0), (2, 1.0, 1.0), (7, 0.0, 1.0)]
        assert log.reading.clicks_on_nothing_shown == 1
        assert reasons(log) == {"another action (hover)": 1}


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([0, 1, 2], [1, 2, 3]),
        ([1, 2, 3], [1, 2, 3]),
        ([0, 1, 1, 1], [0, 1, 1, 1]),
        ([-3, "x", 2], [0, 0, 2]),
    ],
)
def test_ranks_count_from_1_whatever_the_log_counts_from(
    tmp_path: Path, ranks: Sequence[object], expected: list[int]
) -> None:
    rows = "".join(f"2024-05-01,s1,lcd,d{n},{rank},0\n" for n, rank in enumerate(ranks))
    with log_of(tmp_path / "log.csv", SHOWN + rows) as log:
        assert [rank for rank, _, _ in shown(log)] == expected
        if 0 in ranks:
            meaning = "0 to mean no rank" if 0 in expected else "ranks are taken to count from 0"
            assert meaning in str(log.reading.findings[0])


def test_bots_are_told_by_their_rate_their_number_and_their_name(tmp_path: Path) -> None:
    head = "time,user_id,query,clicked,user_agent\n"
    fast = "".join(f"2024-05-01T10:00:{n:02d},fast,q{n},1,Mozilla\n" for n in range(31))
    many = "".join(
        f"2024-05-01T{n // 30:02d}:{n % 30 * 2:02d}:00,many,q{n},1,Mozilla\n" for n in range(501)
    )
    named = "2024-05-01,named,q,0,Googlebot/2.1\n"
    person = "".join(f"2024-05-01T10:{n:02d}:00,person,q{n},{n % 2},Mozilla\n" for n in range(6))
    with log_of(tmp_path / "log.csv", head + fast + many + named + person) as log:
        assert reasons(log) == {
            "a bot (more than 500 searches within a day)": 501,
            "a bot (more than 30 searches within a minute)": 31,
            "a bot (its user agent)": 1,
        }
        assert len(queries(log)) == 6


def test_a_log_that_only_counts_is_refused(tmp_path: Path) -> None:
    text = "date,query,count\n2024-05-01,lcd,12\n"
    refused = pytest.raises(BadInput, match="'count' counts searches; expected a row for each")
    with refused, log_of(tmp_path / "log.csv", text):
        pass


def test_a_column_with_an_unusual_name_is_named(tmp_path: Path) -> None:
    text = "wann,client,user,query\n2024-05-01,c1,u1,lcd\n"
    fields = {"time": "wann"}
    with log_of(tmp_path / "log.csv", text, LogOptions(fields=fields)) as log:
        assert log.reading.first == "2024-05-01T00:00:00Z"
    of_when = LogOptions(fields={"time": "when"})
    refused = pytest.raises(LabelerError, match="no column 'when' among wann")
    with refused, log_of(tmp_path / "log.csv", text, of_when):
        pass


@pytest.mark.skipif(not SRW.exists(), reason="needs the files of shared/data")
def test_user_behavior_insights_are_read_by_the_names_of_their_nested_fields() -> None:
    inside = "event_attributes"
    fields = {
        "query": "user_query",
        "user": "client_id",
        "document": f"{inside}.object.object_id",
        "rank": f"{inside}.position.ordinal",
    }
    with open_log(SRW / "ubi_queries_events.ndjson.gz", LogOptions(fields)) as log:
        assert log.reading.rows == 473 + 3448
        assert (log.reading.impressions, log.reading.clicks) == (1932, 186)
        assert {1, 2, 3, 4, 5} < {rank for rank, _, _ in shown(log)}


DIRT = (
    *("", "x", '"', '""', ",", "\t", "\n", "nan", "-1", "1e999", "9" * 30, "\u202e", "\0", "é"),
    *("2024-05-01", "1714521600", "2024-02-30", "null", "true", "{}", "[", "\\", "jane@x.org"),
)


NAMES = (
    *("time", "session", "user_id", "query_id", "doc_id", "rank", "clicked", "count"),
    *("event", "variant", "thumbs", "user_agent"),
)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(30))
def test_no_dirt_raises_an_error_of_ours_or_is_lost_in_silence(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ["query", *chance.sample(NAMES, 8)]
    rows = [
        [chance.choice(DIRT) if chance.random() < 0.3 else f"{n % 5}" for _ in names]
        for n in range(30)
    ]
    if seed % 2:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        lines = [
            line[: chance.randrange(len(line))] if not n % 7 else line
            for n, line in enumerate(lines, start=1)
        ]
    else:
        lines = [",".join(names), *(",".join(row) for row in rows)]
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with suppress(BadInput), open_log(path) as log:
        reading = log.reading
        assert reading.rows == reading.retained + sum(row.rows for row in reading.left_out)
        assert reading.searches <= reading.retained
        assert reading.searches == sum(len(part.searches) for part in log.parts())


@pytest.mark.sweep
def test_users_are_numbered_alike_in_every_run_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    names = [f"u{number * 7 % 40}" for number in range(120)]
    rows = [
        f"2026-01-05T{n // 60:02d}:{n % 60:02d},{name},cats {n}" for n, name in enumerate(names)
    ]
    path.write_text("\n".join(["time,user,query", *rows]) + "\n")
    code = (
        "import sys; from labeler.monitoring.log import open_log\n"
        "with open_log(sys.argv[1]) as log:\n"
        "    print([part.searches['client'].tolist() for part in log.parts()])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
