"""What users search for by week, and which queries a collection lacks, on made logs."""

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from labeler.errors import BadInput
from labeler.monitoring.queries import (
    Search,
    SearchedQueries,
    counted,
    searched_queries,
    shift_of_weeks,
)
from tests.monitoring.made_log import LOCKS, MONDAY, made_collection, made_log


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> SearchedQueries:
    folder = tmp_path_factory.mktemp("turned") / "made"
    return searched_queries(made_collection(folder), made_log(8, 100, share=0.25))


def test_queries_that_make_the_set_current_hold_the_new_topic(turned: SearchedQueries) -> None:
    proposal = turned.proposal
    assert proposal is not None
    assert sum(query.text in LOCKS for query in proposal.queries) >= 5
    assert proposal.candidates >= len(proposal.queries)


def test_the_result_can_be_written_as_json_and_says_its_figures_by_week(
    turned: SearchedQueries,
) -> None:
    told = json.loads(json.dumps(turned.as_json()))
    assert [row["searches"] for row in told["weeks"]] == [week.searches for week in turned.weeks]
    assert [table.name for table in turned.tables()] == ["weeks", "queries to add"]
    assert all(len(row) == len(table.columns) for table in turned.tables() for row in table.rows)


def test_the_same_log_gives_the_same_figures(tmp_path: Path) -> None:
    collection = made_collection(tmp_path / "made")
    log = list(made_log(2, 40, share=0.5, start=1))
    first, second = (searched_queries(collection, log, add=3).as_json() for _ in range(2))
    backwards = searched_queries(collection, reversed(log), add=3).as_json()
    assert first == second
    assert [week["searches"] for week in backwards["weeks"]] == [
        week["searches"] for week in first["weeks"]
    ]


def weeks_of(shares: list[float], searches: int = 1000, seed: int = 0) -> np.ndarray:
    """Weeks in which that share of the searches goes to queries that nobody used before."""
    rng = np.random.default_rng(seed)
    usual = np.append(np.arange(1, 101) ** -0.7, np.zeros(10))
    others = np.append(np.zeros(100), np.full(10, 0.1))
    chances = [(1 - share) * usual / usual.sum() + share * others for share in shares]
    return np.array([rng.multinomial(searches, of) for of in chances]).T


def test_a_week_of_other_searches_is_an_alarm_that_stays_and_one_like_the_others_is_none() -> None:
    calm, turned = [0.0] * 12, [0.3] * 4
    assert not any(shift_of_weeks(weeks_of(calm, seed=seed)).alarms for seed in range(20))
    for since in range(1, 5):
        (alarm,) = shift_of_weeks(weeks_of(calm + turned[:since])).alarms
        assert alarm.size == pytest.approx(0.25, abs=0.07)
    assert not shift_of_weeks(weeks_of([*calm, 0.3, 0.0, 0.0])).alarms


def test_where_weeks_differ_by_themselves_one_more_is_no_alarm() -> None:
    varying = [0.3, 0.0, 0.2, 0.4, 0.1, 0.25, 0.05, 0.35, 0.3]
    assert not shift_of_weeks(weeks_of(varying)).alarms


def test_fewer_searches_are_no_other_searches_and_few_weeks_tell_nothing() -> None:
    weeks = weeks_of([0.0] * 9)
    weeks[:, -1] = weeks_of([0.0], 600)[:, 0]
    assert not shift_of_weeks(weeks).alarms
    weeks[:, 4] = weeks_of([1.0], 20)[:, 0]  # too few to count
    assert shift_of_weeks(weeks).others == 7
    assert shift_of_weeks(weeks[:, :5]).missing == 2
    assert shift_of_weeks(weeks[:, :0]).missing == 5


def test_weeks_that_the_log_holds_in_part_are_not_compared(tmp_path: Path) -> None:
    log = list(made_log(8, 100))
    collection = made_collection(tmp_path / "made")
    whole = searched_queries(collection, log).shift
    assert whole.others == 7
    assert not whole.alarms
    part = [search for search in log if search.day < MONDAY + timedelta(days=53)]
    assert searched_queries(collection, part).shift.others == 6
    turned = searched_queries(collection, made_log(8, 400, share=0.5, start=7))
    assert [alarm.about for alarm in turned.alarms] == ["query-drift"]
    assert json.loads(json.dumps(turned.as_json()))["shift"]["departures"]


def test_of_few_searches_no_query_is_proposed(tmp_path: Path) -> None:
    few = [Search(MONDAY, "soup", str(n)) for n in range(19)]
    result = searched_queries(made_collection(tmp_path / "made"), few)
    assert result.proposal is None
    assert "have fewer than 20 searches" in str(result.findings[0])


def test_a_query_counts_once_in_a_session_and_people_are_sessions() -> None:
    day = MONDAY
    log = counted(
        [
            *(Search(day, "Jam", "a") for _ in range(5)),
            Search(day + timedelta(days=1), "jam", "a"),
            Search(day, "jam", "b"),
            *(Search(day, "tea") for _ in range(7)),
        ]
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
    result = searched_queries(made_collection(tmp_path / "made"), log)
    assert result.proposal
    told = json.dumps(result.as_json()) + " ".join(
        text for table in result.tables() for row in table.texts() for text in row
    )
    assert "mustermann" not in told
    assert "example.org" not in told
    assert "50 mail address" in told


def test_a_wording_that_one_person_typed_often_keeps_no_other_from_being_proposed(
    tmp_path: Path,
) -> None:
    alone = [Search(MONDAY + timedelta(days=n), "passkey reset", "a") for n in range(14)]
    many = [Search(MONDAY, "reset passkey", str(n)) for n in range(10)]
    proposal = searched_queries(made_collection(tmp_path / "made"), [*alone, *many]).proposal
    assert proposal is not None
    assert [query.text for query in proposal.queries] == ["reset passkey"]
    assert proposal.too_rare == 1


def test_an_empty_log_is_said_in_a_line(tmp_path: Path) -> None:
    collection = made_collection(tmp_path / "made")
    with pytest.raises(BadInput, match="it is empty"):
        searched_queries(collection, [])
    with pytest.raises(BadInput, match="2 no word"):
        searched_queries(collection, [Search(MONDAY, "?")] * 2)
