"""How well a corpus covers users' queries, on made logs whose drift is known."""

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from labeler.errors import BadInput, Misuse
from labeler.monitoring.density.comparison import QueryDistances, rows_of
from labeler.monitoring.density.density import QueryDensity, density
from labeler.monitoring.density.proposal import Typed, distance_of_set, grouped, weighted
from labeler.monitoring.density.searches import (
    DensityOptions,
    EvaluationSet,
    Search,
    Threshold,
    by_week,
)
from labeler.report.page import Page
from labeler.stats.distances import distance_of
from tests.monitoring.made_log import LOCKS, MONDAY, made_collection, made_log


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> QueryDensity:
    folder = tmp_path_factory.mktemp("drift") / "made"
    return density(made_collection(folder), made_log(8, 100, share=0.25))


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> QueryDensity:
    folder = tmp_path_factory.mktemp("steady") / "made"
    return density(made_collection(folder), made_log(6, 60), DensityOptions(add=5))


def test_a_new_topic_is_an_alarm_that_names_its_words(drifted: QueryDensity) -> None:
    assert {alarm.about for alarm in drifted.alarms()} == {"query-drift", "uncovered-queries"}
    assert [week.is_alarm for week in drifted.weeks[:4]] == [False] * 4
    assert drifted.changes is not None
    words = {change.name for change in drifted.changes.named if change.kind == "word"}
    assert words & {"passkey", "bluetooth", "keypad", "fingerprint", "login"}
    change = next(change for change in drifted.changes.named if change.kind == "word")
    assert change.low > 0
    assert change.before.value == 0 < change.now.value


def test_what_the_classifier_says_changed_is_no_more_than_what_did(drifted: QueryDensity) -> None:
    assert drifted.changes is not None
    assert drifted.changes.area.p <= 0.05
    assert 0.05 < drifted.changes.changed[1] <= 0.25


def test_queries_of_a_new_topic_are_not_covered_and_stand_in_one_cluster_or_a_few(
    drifted: QueryDensity,
) -> None:
    shown = [text for cluster in drifted.clusters for text, _ in cluster.examples]
    assert len(set(shown) & set(LOCKS)) >= 5
    assert len(set(shown) - set(LOCKS)) <= 3
    assert len(drifted.clusters) <= 6
    last = drifted.weeks[-1]
    assert last.uncovered is not None
    assert last.uncovered.low <= 0.25 <= last.uncovered.high


def test_queries_that_make_the_set_current_hold_the_new_topic(drifted: QueryDensity) -> None:
    proposal = drifted.proposal
    assert proposal is not None
    assert sum(query.text in LOCKS for query in proposal.queries) >= 5
    assert proposal.falls[-1].weighted < 0.3 * proposal.falls[0].as_it_is
    assert proposal.weights.keys() >= {query.id for query in proposal.queries}
    assert sum(proposal.weights.values()) == pytest.approx(1)


def test_without_a_change_nothing_is_alarmed(steady: QueryDensity) -> None:
    assert steady.alarms() == []
    assert steady.changes is None
    assert all(week.drift is not None for week in steady.weeks)


def test_the_result_can_be_written_as_json_and_says_its_figures_by_week(
    steady: QueryDensity,
) -> None:
    told = json.loads(json.dumps(steady.as_json()))
    assert [row["week"] for row in told["weeks"]] == [*steady.weekly()]
    assert steady.tables()[0].name == "query density"
    assert all(len(row) == len(table.columns) for table in steady.tables() for row in table.rows)


def test_its_blocks_make_a_page(drifted: QueryDensity) -> None:
    html = Page("made", drifted.blocks()).html()
    assert html.count("<figure") >= 3
    assert "passkey" in html


def test_the_same_log_gives_the_same_figures(tmp_path: Path) -> None:
    collection, options = made_collection(tmp_path / "made"), DensityOptions(add=3)
    log = list(made_log(2, 40, share=0.5, start=1))
    first, second = (density(collection, log, options).as_json() for _ in range(2))
    backwards = density(collection, reversed(log), options).as_json()
    assert first == second
    assert [week["searches"] for week in backwards["weeks"]] == [
        week["searches"] for week in first["weeks"]
    ]


def test_of_a_week_with_few_searches_nothing_is_said(tmp_path: Path) -> None:
    log = [*made_log(3, 40), *(Search(date(2024, 2, 5), "soup", str(n)) for n in range(19))]
    result = density(made_collection(tmp_path / "made"), log, DensityOptions(add=0))
    row = result.weeks[-1]
    assert (row.searches, row.is_told, row.uncovered, row.drift) == (19, False, None, None)
    assert result.figures.last is result.weeks[-2]
    assert result.table().texts()[-1][-1] == "too few sessions"


def test_a_person_who_searches_much_is_one_person(tmp_path: Path) -> None:
    log = [*made_log(3, 40), *(Search(date(2024, 2, 5), text, "same") for text in LOCKS * 3)]
    result = density(made_collection(tmp_path / "made"), log, DensityOptions(add=0))
    assert (result.weeks[-1].is_told, result.alarms()) == (False, [])


def test_a_collection_without_grades_says_what_it_takes_for_covered(tmp_path: Path) -> None:
    collection = made_collection(tmp_path / "made")
    collection.qrels("human").unlink()
    result = density(collection, made_log(2, 40), DensityOptions(add=0))
    assert any("No grades say" in finding for finding in result.findings())


def test_a_threshold_needs_nineteen_queries() -> None:
    assert Threshold.of(np.arange(18.0), answered=True).value is None
    assert Threshold.of(np.arange(19.0), answered=True).value == 18.0


def test_no_more_than_a_twentieth_of_queries_alike_is_farther_than_the_threshold() -> None:
    rng, farther = np.random.default_rng(0), []
    for _ in range(2000):
        distances = rng.random(60)
        value = Threshold.of(distances[:-1], answered=True).value
        assert value is not None
        farther.append(distances[-1] > value)
    assert 0.03 < np.mean(farther) < 0.06


def test_a_query_counts_once_in_a_session_and_people_are_sessions() -> None:
    day = MONDAY
    log = by_week(
        [
            *(Search(day, "Jam", "a") for _ in range(5)),
            Search(day + timedelta(days=1), "jam", "a"),
            Search(day, "jam", "b"),
            Search(day, "tea", times=7),
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
    log = [*made_log(4, 40, share=0.6, start=2), *alone, *mail]
    result = density(made_collection(tmp_path / "made"), log)
    assert result.changes is not None
    assert result.changes.named
    told = json.dumps(result.as_json()) + " ".join(
        text for table in result.tables() for row in table.texts() for text in row
    )
    assert "mustermann" not in told
    assert "example.org" not in told
    assert "50 mail address" in told


def test_the_proposed_weights_are_the_best_there_are() -> None:
    rng = np.random.default_rng(1)
    points = rng.standard_normal((40, 6)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    times = rng.integers(1, 9, 40).astype(np.float64)
    counts = times.astype(np.int64)
    typed = Typed([str(n) for n in range(40)], points, times, counts, counts, np.arange(40))
    own = EvaluationSet(("a", "b", "c"), frozenset(), points[:3] * 1, np.full(3, 1 / 3))
    energy = distance_of("energy", points)
    best = distance_of_set(weighted(own, typed, energy), typed, energy)
    grid = [np.array([a, b, 20 - a - b]) / 20 for a in range(1, 19) for b in range(1, 20 - a)]
    others = [distance_of_set(replace(own, weights=w), typed, energy) for w in grid]
    assert best <= min(others) + 1e-6


def test_distances_of_days_are_those_of_their_blocks() -> None:
    points = np.random.default_rng(0).standard_normal((90, 4)).astype(np.float32)
    weeks = by_week(made_log(3, 30, share=0.5, start=0), most=1000).weeks
    compared = QueryDistances(points, distance_of("energy", points))
    for week in weeks:
        rows = rows_of(week, [other for other in weeks if other is not week])
        days, blocks = compared.of_days(rows), compared.of_blocks(rows)
        merged = blocks.merged(np.unique(rows.day, return_inverse=True)[1])
        assert np.allclose(days.sums, merged.sums, rtol=1e-5)
        assert days.mass.tolist() == merged.mass.tolist()


def test_a_busy_week_is_sampled_by_whole_sessions() -> None:
    log = by_week((Search(MONDAY, f"query {n % 10}", f"s{n // 4}") for n in range(4000)), most=1000)
    (week,) = log.weeks
    assert week.searches == 4000
    assert 800 < len(week.query) < 1200
    assert set(np.bincount(np.unique(week.session, return_inverse=True)[1])) == {4}


def test_groups_are_joined_the_nearest_first_whatever_the_order() -> None:
    angles = np.array([0.0, 0.1, 0.2, 1.5, 1.6, 3.0])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)]).astype(np.float32)
    texts, ones = [f"t{n}" for n in range(6)], np.ones(6)
    some = np.ones(6, dtype=np.int64)
    for order in (np.arange(6), np.arange(6)[::-1], np.array([3, 0, 5, 1, 4, 2])):
        typed = Typed([texts[n] for n in order], vectors[order], ones, some, some, order)
        groups = {frozenset(typed.texts[n] for n in group) for group in grouped(typed, 0.1)}
        assert groups == {
            frozenset({"t0", "t1", "t2"}),
            frozenset({"t3", "t4"}),
            frozenset({"t5"}),
        }


def test_an_empty_log_and_impossible_options_are_said_in_a_line(tmp_path: Path) -> None:
    collection = made_collection(tmp_path / "made")
    with pytest.raises(BadInput, match="it is empty"):
        density(collection, [])
    with pytest.raises(BadInput, match="2 no word"):
        density(collection, [Search(MONDAY, "?", times=2)])
    with pytest.raises(Misuse, match="passages counts from 1"):
        DensityOptions(passages=0)
    with pytest.raises(Misuse, match="fewer than 10"):
        DensityOptions(fewest=5)
