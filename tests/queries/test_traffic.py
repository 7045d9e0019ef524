"""Real traffic: a weighted sample estimates it, personal data is left out."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from labeler.cli import execute
from labeler.errors import BadInput, Misuse
from labeler.exchange.fields import LogFields
from labeler.exchange.queries import read_query_list
from labeler.queries.traffic import TrafficOptions, from_log, personal

HEADER = "query,count\n"


def log_of(folder: Path, counts: dict[str, int]) -> Path:
    path = folder / "log.csv"
    path.write_text(HEADER + "".join(f"{text},{count}\n" for text, count in counts.items()))
    return path


@pytest.mark.sweep
def test_a_weighted_mean_over_the_sample_estimates_the_mean_over_all_searches(
    tmp_path: Path,
) -> None:
    """Frequencies as Zipf has them, and a measure that is worse for rare queries."""
    chance = random.Random(7)
    counts = {f"query number{n}": 1 + 1000 // (n + 1) for n in range(1000)}
    scores = {
        q: min(1.0, 0.2 + 0.1 * np.log10(c) + 0.3 * chance.random()) for q, c in counts.items()
    }
    truth = sum(scores[q] * c for q, c in counts.items()) / sum(counts.values())
    path = log_of(tmp_path, counts)
    weighted, plain = [], []
    for seed in range(40):
        drawn = from_log(path, TrafficOptions(queries=90, seed=seed)).queries
        weighted.append(sum(scores[q.text] * q.metadata["weight"] for q in drawn))
        plain.append(sum(scores[q.text] for q in drawn) / len(drawn))
    error = np.std(weighted, ddof=1) / np.sqrt(len(weighted))
    assert abs(np.mean(weighted) - truth) < 3 * error + 0.002
    assert abs(np.mean(plain) - truth) > 10 * abs(np.mean(weighted) - truth)


def test_strata_have_a_third_of_the_traffic_each_and_weights_sum_to_one(tmp_path: Path) -> None:
    counts = {f"query number{n}": 1 + 3000 // (n + 1) for n in range(3000)}
    found = from_log(log_of(tmp_path, counts), TrafficOptions(queries=60))
    assert [s.name for s in found.strata] == ["head", "torso", "tail"]
    assert sum(s.searches for s in found.strata) == found.searches == sum(counts.values())
    for stratum in found.strata:
        assert abs(stratum.searches / found.searches - 1 / 3) < 0.12
    assert sum(s.drawn for s in found.strata) == 60
    assert sum(q.metadata["weight"] for q in found.queries) == pytest.approx(1)
    assert found.queries == from_log(tmp_path / "log.csv", TrafficOptions(queries=60)).queries


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("invoice jane.doe@example.org", "mail address or name with @"),
        ("jane@ login", "mail address or name with @"),
        ("who is @janedoe", "mail address or name with @"),
        ("4111 1111 1111 1111", "long number"),
        ("5500-0000-0000-0004 declined", "long number"),
        ("+49 170 1234567", "phone number"),
        ("0171 2345678", "phone number"),
        ("(030) 123 45 67", "phone number"),
        ("DE89 3704 0044 0532 0130 00", "bank account"),
        ("order 123456789012", "long number"),
    ],
)
def test_what_may_be_somebodys_is_known(text: str, kind: str) -> None:
    assert kind in personal(text)


@pytest.mark.parametrize(
    "text",
    [
        "iphone 13 pro",
        "usb 3.2 hub 10 gbit",
        "lg 55un7300",
        "rfc 2616",
        "python 3.11.4",
        "1920x1080",
    ],
)
def test_numbers_of_products_are_nobodys(text: str) -> None:
    assert personal(text) == ()


def test_personal_and_rare_queries_are_left_out_and_only_counted(tmp_path: Path) -> None:
    counts = {
        "usb hub": 9,
        "mail me@example.org": 4,
        "4111111111111111": 1,
        "typed once": 1,
        "!?": 2,
    }
    found = from_log(log_of(tmp_path, counts), TrafficOptions(min_count=2))
    assert [q.text for q in found.queries] == ["usb hub"]
    assert found.dropped == {
        "mail address or name with @": 1,
        "long number": 1,
        "too rare": 1,
        "no word": 1,
    }
    assert "example.org" not in json.dumps(found.as_json())


def test_spellings_of_one_query_are_one(tmp_path: Path) -> None:
    path = log_of(tmp_path, {"USB hub": 1, "usb  hub": 5, "\uff35SB HUB": 1})
    (query,) = from_log(path).queries
    assert (query.text, query.metadata["searches"]) == ("usb hub", 7)


SHOWN = [
    ("usb hub", "a", 1, 1),
    ("usb hub", "b", 2, 0),
    ("usb hub", "c", 4, 1),
    ("usb hub", "a", 1, 0),
    ("usb hub", "b", 2, 0),
    ("usb hub", "c", 4, 0),
]


def shown_results(folder: Path) -> Path:
    path = folder / "shown.jsonl"
    names = ("query", "doc_id", "rank", "clicked")
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in SHOWN))
    return path


def test_a_search_that_shows_several_documents_counts_once(tmp_path: Path) -> None:
    assert from_log(shown_results(tmp_path)).queries[0].metadata["searches"] == 2


def test_the_command_writes_queries_that_ingest_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, out = str(shown_results(tmp_path)), tmp_path / "real.jsonl"
    assert execute(["queries", "from-log", log, "-o", str(out)]) == 0
    assert "head: 1 of 1 query, typed 2 times" in capsys.readouterr().err
    (query,) = read_query_list(out).values()
    assert (query.text, query.metadata["stratum"], query.metadata["weight"]) == (
        "usb hub",
        "head",
        1,
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n", "no column of queries among a, b; name it"),
        ("query,count\nx,-1\n", ":2: expected a whole number of count from 0, found '-1'"),
        ("query,count\nx,nan\n", ":2: expected a whole number"),
        ("query,count\n", "no row in it"),
        ("just words\nmore\n", "expected a table whose first row names its columns"),
        ("query,count\nme@example.org,4\n", "no query is left"),
    ],
)
def test_a_log_that_is_none_is_one_line(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=problem):
        from_log(path)
    with pytest.raises(Misuse, match="expected 1 to"):
        from_log(path, TrafficOptions(queries=0))


def test_in_a_session_a_query_counts_once_however_often_it_stands_there(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = ["usb hub,a,d1,0", "usb hub,a,d2,1", "USB  hub,a,d1,0", "usb hub,b,d1,1"]
    rows += ["lcd,a,d3,0", "lcd,,d3,0", "lcd,,d3,0"]
    log.write_text("query,session_id,doc_id,clicked\n" + "\n".join(rows) + "\n")
    found = from_log(log)
    assert {q.text: q.metadata["searches"] for q in found.queries} == {"usb hub": 2, "lcd": 3}
    assert not any("session" in str(q.metadata) for q in found.queries)


def test_a_rare_query_is_one_of_few_sessions(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = [*["my secret,x"] * 9, "usb hub,x", "usb hub,y", "usb hub,z"]
    log.write_text("query,visit\n" + "\n".join(rows) + "\n")
    options = TrafficOptions(min_count=3)
    assert [query.text for query in from_log(log, options).queries] == ["usb hub"]
    named = log.read_text().replace("visit", "who")
    log.write_text(named)
    options = TrafficOptions(min_count=3, fields=LogFields(session_field="who"))
    assert [query.text for query in from_log(log, options).queries] == ["usb hub"]


def test_a_session_that_only_some_rows_name_counts_wherever_the_first_of_them_stands(
    tmp_path: Path,
) -> None:
    rows = ['{"query": "hats"}', *['{"query": "shoes", "session": "s1"}'] * 3]
    counts = []
    for order in (rows, rows[::-1]):
        log = tmp_path / "log.jsonl"
        log.write_text("\n".join(order) + "\n")
        counts.append([q.metadata["searches"] for q in from_log(log).queries if q.text == "shoes"])
    assert counts == [[1], [1]]


@pytest.mark.parametrize("setting", ["session_field", "count_field", "query_field"])
def test_a_column_of_a_log_that_is_named_has_to_be_there(tmp_path: Path, setting: str) -> None:
    log = tmp_path / "log.csv"
    log.write_text("query,count\nshoes,3\n")
    with pytest.raises(BadInput, match="no column 'nope' among query, count") as error:
        from_log(log, TrafficOptions(fields=LogFields(**{setting: "nope"})))
    assert error.value.parameter == setting


def test_a_log_with_counts_and_sessions_is_counted_by_the_one_that_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("query,count,session\nshoes,50,s1\nshoes,40,s2\n")
    with pytest.raises(BadInput, match="name the one to count by"):
        from_log(log)
    for fields, count in (
        (LogFields(count_field="count"), 90),
        (LogFields(session_field="session"), 2),
    ):
        (query,) = from_log(log, TrafficOptions(fields=fields)).queries
        assert query.metadata["searches"] == count
