"""Whether users still search for what a collection asks about, on made logs with known drift."""

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from labeler.errors import BadInput
from labeler.monitoring.queries import QueryDrift, query_drift
from labeler.monitoring.searches import Search, by_week
from tests.monitoring.made_log import LOCKS, MONDAY, made_collection, made_log


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> QueryDrift:
    folder = tmp_path_factory.mktemp("drift") / "made"
    return query_drift(made_collection(folder), made_log(8, 100, share=0.25))


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> QueryDrift:
    folder = tmp_path_factory.mktemp("steady") / "made"
    return query_drift(made_collection(folder), made_log(6, 60), add=5)


def test_a_new_topic_is_an_alarm_that_names_its_words(drifted: QueryDrift) -> None:
    assert [alarm.about for alarm in drifted.alarms] == ["query-drift"]
    assert [week.is_alarm for week in drifted.weeks[:4]] == [False] * 4
    words = {change.word for change in drifted.words}
    assert words & {"passkey", "bluetooth", "keypad", "fingerprint", "login"}
    assert f"“{drifted.words[0].word}” 0.0% before" in str(drifted.alarms[0])
    assert (drifted.words[0].difference.low or 0) > 0
    assert drifted.words[0].before.value == 0 < drifted.words[0].now.value


def test_queries_that_make_the_set_current_hold_the_new_topic(drifted: QueryDrift) -> None:
    proposal = drifted.proposal
    assert proposal is not None
    assert sum(query.text in LOCKS for query in proposal.queries) >= 5
    assert proposal.candidates >= len(proposal.queries)


def test_without_a_change_nothing_is_alarmed(steady: QueryDrift) -> None:
    assert steady.alarms == []
    assert steady.words == ()
    assert all(week.words is not None for week in steady.weeks)


def test_the_result_can_be_written_as_json_and_says_its_figures_by_week(
    steady: QueryDrift,
) -> None:
    told = json.loads(json.dumps(steady.as_json()))
    assert [row["searches"] for row in told["weeks"]] == [week.searches for week in steady.weeks]
    assert steady.tables()[0].name == "weeks"
    assert all(len(row) == len(table.columns) for table in steady.tables() for row in table.rows)


def test_the_same_log_gives_the_same_figures(tmp_path: Path) -> None:
    collection = made_collection(tmp_path / "made")
    log = list(made_log(2, 40, share=0.5, start=1))
    first, second = (query_drift(collection, log, add=3).as_json() for _ in range(2))
    backwards = query_drift(collection, reversed(log), add=3).as_json()
    assert first == second
    assert [week["searches"] for week in backwards["weeks"]] == [
        week["searches"] for week in first["weeks"]
    ]


def test_of_a_week_with_few_searches_nothing_is_said(tmp_path: Path) -> None:
    log = [*made_log(3, 40), *(Search(date(2024, 2, 5), "soup", str(n)) for n in range(19))]
    result = query_drift(made_collection(tmp_path / "made"), log, add=0)
    row = result.weeks[-1]
    assert (row.searches, row.is_enough, row.words) == (19, False, None)
    assert result.last is result.weeks[-2]
    assert result.tables()[0].texts()[-1][-1] == "too few sessions"


def test_a_person_who_searches_much_is_one_person(tmp_path: Path) -> None:
    log = [*made_log(3, 40), *(Search(date(2024, 2, 5), text, "same") for text in LOCKS * 3)]
    result = query_drift(made_collection(tmp_path / "made"), log, add=0)
    assert (result.weeks[-1].words, result.alarms) == (None, [])


def test_a_query_counts_once_in_a_session_and_people_are_sessions() -> None:
    day = MONDAY
    log = by_week(
        [
            *(Search(day, "Jam", "a") for _ in range(5)),
            Search(day + timedelta(days=1), "jam", "a"),
            Search(day, "jam", "b"),
            *(Search(day, "tea") for _ in range(7)),
        ],
        most=100,
    )
    assert log.texts == ["Jam", "tea"]
    assert log.totals.tolist() == [3, 7]  # one of each of two days, and one of another session
    assert log.people.tolist() == [2, 7]


def test_what_few_people_typed_is_neither_shown_nor_proposed(tmp_path: Path) -> None:
    secret = ("divorce lawyer of erika mustermann", "mustermann debts", "erika mustermann firing")
    mail = [Search(MONDAY, "write to erika@example.org", str(n)) for n in range(50)]
    alone = [
        Search(MONDAY + timedelta(days=14 + n % 14), f"{secret[n % 3]} {n}", "one person")
        for n in range(120)
    ]
    log = [*made_log(4, 120, share=0.6, start=2), *alone, *mail]
    result = query_drift(made_collection(tmp_path / "made"), log)
    assert result.words
    told = json.dumps(result.as_json()) + " ".join(
        text for table in result.tables() for row in table.texts() for text in row
    )
    assert "mustermann" not in told
    assert "example.org" not in told
    assert "50 mail address" in told


def test_a_busy_week_is_sampled_by_whole_sessions() -> None:
    log = by_week((Search(MONDAY, f"query {n % 10}", f"s{n // 4}") for n in range(4000)), most=1000)
    (week,) = log.weeks
    assert week.searches == 4000
    assert 800 < len(week.query) < 1200
    assert set(np.bincount(np.unique(week.session, return_inverse=True)[1])) == {4}


def test_an_empty_log_is_said_in_a_line(tmp_path: Path) -> None:
    collection = made_collection(tmp_path / "made")
    with pytest.raises(BadInput, match="it is empty"):
        query_drift(collection, [])
    with pytest.raises(BadInput, match="2 no word"):
        query_drift(collection, [Search(MONDAY, "?")] * 2)
