"""What clicks say: made users whose ways are known give their ways back."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeler.errors import LabelerError
from labeler.monitoring.log.log import open_log
from labeler.monitoring.log.made import part_of_clicks
from labeler.monitoring.log.options import LogOptions
from labeler.monitoring.online.behavior import BehaviorSums, median_delay
from labeler.monitoring.online.cascade import cascade_reading
from labeler.monitoring.online.counterfactual import RankedSums, counterfactual
from labeler.monitoring.online.interleaving import TeamSums, outcome_of, team_draft
from labeler.monitoring.online.online import OfflineSide, online
from labeler.monitoring.online.options import OnlineOptions
from labeler.monitoring.online.orders import SystemOrders, system_orders
from labeler.monitoring.online.pairs import PairsAtRanks
from labeler.monitoring.online.propensities import Propensities, propensities, strengths
from labeler.monitoring.online.result import OnlineMeasures
from labeler.monitoring.online.variants import mismatch
from labeler.report.page.document import Page
from labeler.report.table import Interval
from labeler.testing.click_log import ClickWorld, made_clicks

WORLD = ClickWorld(searches=2500, queries=40)


def attention_of(
    world: ClickWorld, seed: int = 0
) -> tuple[Propensities, PairsAtRanks, BehaviorSums]:
    part = part_of_clicks(made_clicks(world, seed))
    counts, sums = PairsAtRanks(world.depth, 1_000_000), BehaviorSums(OnlineOptions(), 0)
    counts.add(part)
    sums.add(part)
    return propensities(counts), counts, sums


def test_a_curve_of_attention_that_is_known_is_given_back() -> None:
    attention, counts, sums = attention_of(WORLD)
    for estimate, known in zip(attention.estimates[1:], WORLD.examined[1:], strict=True):
        value, low, high = np.log(np.array(estimate, dtype=float))
        assert low < value < high < 0
        assert abs(value - np.log(known)) < 1.5 * (high - low) / 2  # three standard errors
    reading = cascade_reading(counts, sums)
    assert reading.after_click.low is not None
    assert reading.after_click.low < 1 < (reading.after_click.high or 0)


def test_users_who_stop_at_a_click_are_told_from_such_as_look_by_rank() -> None:
    _, counts, sums = attention_of(ClickWorld(searches=2500, queries=40, users="cascade"))
    reading = cascade_reading(counts, sums)
    assert reading.is_cascade
    assert reading.after_click.value == pytest.approx(0.25, abs=0.1)  # 0.3 of users, or fewer
    _, counts, sums = attention_of(ClickWorld(searches=2500, queries=40, eager=1.0))
    assert cascade_reading(counts, sums).is_eager


def test_strengths_are_the_ratios_that_matches_have() -> None:
    theta = np.array([1.0, 0.5, 0.25, 0.1])
    matches = 1e6 * np.outer(theta, np.ones(4)) * (1 - np.eye(4))
    assert strengths(matches) == pytest.approx(theta, rel=1e-4)
    matches[0, 2:] = matches[2:, 0] = matches[1, 3] = matches[3, 1] = 0  # a chain alone
    assert strengths(matches) == pytest.approx(theta, rel=1e-4)


def test_a_log_whose_documents_never_move_tells_nothing_of_attention() -> None:
    attention, _, _ = attention_of(ClickWorld(searches=500, queries=20, moving=0.0))
    assert not attention.is_linked.any()
    assert all(estimate.value is None for estimate in attention.estimates)


def test_more_pairs_than_fit_are_drawn_by_query() -> None:
    part = part_of_clicks(made_clicks(WORLD))
    counts = PairsAtRanks(10, 1000)
    counts.add(part)
    assert counts.halvings > 0
    assert len(counts.pair) <= 1000
    whole = PairsAtRanks(10, 1_000_000)
    whole.add(part)
    left = np.isin(whole.pair, counts.pair)
    assert whole.counts[left] == pytest.approx(counts.counts)


def test_clicks_under_one_ranking_tell_what_a_better_one_would_get() -> None:
    attention, _, _ = attention_of(WORLD)
    attractive = WORLD.attractive()
    best = {str(q): [str(d) for d in np.argsort(-row)] for q, row in enumerate(attractive)}
    ranked = RankedSums(best, 10)
    part = part_of_clicks(made_clicks(WORLD))
    ranked.add(part)
    estimate = counterfactual("best", ranked, attention, 10.0, 0)
    truth = float((-np.sort(-attractive, axis=1) * np.array(WORLD.examined)).sum(axis=1).mean())
    assert estimate.clicks.low is not None
    assert estimate.clicks.low < truth < (estimate.clicks.high or 0)
    assert (estimate.seen, estimate.clipped) == (1.0, 0.0)
    assert 0 < estimate.effective < estimate.impressions
    half = RankedSums({query: [*documents[::2], "new"] for query, documents in best.items()}, 10)
    half.add(part)
    assert counterfactual("half", half, attention, 10.0, 0).seen == pytest.approx(5 / 6)


def test_a_draft_takes_turns_and_no_document_twice() -> None:
    first, second = ["a", "b", "c", "d"], ["c", "a", "x", "y"]
    begun = set()
    for seed in range(50):
        drafted = team_draft(first, second, 6, random.Random(seed))
        documents = [doc for doc, _ in drafted]
        assert len(set(documents)) == len(documents) == 6
        teams = [team for _, team in drafted]
        assert all(set(teams[at : at + 2]) == {"A", "B"} for at in (0, 2))
        begun.add(drafted[0])
    assert begun == {("a", "A"), ("c", "B")}
    assert [doc for doc, _ in team_draft(["a"], [], 3)] == ["a"]
    with pytest.raises(LabelerError, match="depth counts from 1"):
        team_draft(first, second, 0)


def test_users_decide_between_two_teams_each_once() -> None:
    rows = {
        "time": [1, 1, 2, 2, 3, 3, 4, 4],
        "session": [1, 1, 1, 1, 2, 2, 3, 3],
        "query": ["q"] * 8,
        "doc_id": ["a", "b"] * 4,
        "rank": [1, 2] * 4,
        "clicked": [1, 0, 1, 0, 0, 1, 0, 0],
        "team": [1, 2] * 4,
    }
    sums = TeamSums()
    sums.add(part_of_clicks(rows))
    outcome = outcome_of(sums, ("A", "B"))
    assert (outcome.wins, outcome.ties, outcome.losses, outcome.p) == (1, 1, 1, 1.0)
    assert outcome.rate.value == 0.5


def test_a_split_as_meant_is_no_mismatch_and_an_uneven_one_is() -> None:
    assert mismatch(["a", "b"], [5030, 4970], {}) > 0.5
    assert mismatch(["a", "b"], [5200, 4800], {}) < 0.001
    assert mismatch(["a", "b"], [9000, 1000], {"a": 0.9, "b": 0.1}) == 1.0
    assert mismatch(["a", "b", "c"], [500, 500, 700], {}) < 1e-6


def test_a_median_of_delays_lies_within_its_step() -> None:
    sums = BehaviorSums(OnlineOptions(), 0)
    delays = np.random.default_rng(0).lognormal(2, 1, 4001)
    columns: dict[str, Any] = {"time": np.arange(4001.0), "session": np.arange(4001)}
    rows = columns | {"query": ["q"] * 4001, "doc_id": ["d"] * 4001, "rank": np.ones(4001)}
    part = part_of_clicks(rows | {"clicked": np.ones(4001)})
    part.searches.delay[:] = delays
    sums.add(part)
    assert median_delay(sums.delays.sum(axis=0)) == pytest.approx(np.median(delays), rel=0.06)
    assert np.isnan(median_delay(np.zeros(81)))


def log_file(path: Path, world: ClickWorld, seed: int = 0, **columns: Any) -> Path:
    import pandas as pd

    rows = made_clicks(world, seed)
    frame = pd.DataFrame(rows).assign(**columns)
    frame["time"] = frame["time"].astype(int)
    frame["query"] = "words " + frame["query"].astype(str)
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> OnlineMeasures:
    """An A/B test in which variant b is worse, offline too."""
    world = ClickWorld(searches=2000, queries=40)
    rows = made_clicks(world)
    is_b = rows["session"] % 2 == 1
    lost = is_b & (np.random.default_rng(0).random(len(is_b)) < 0.3)
    dwell = np.where(rows["clicked"] > 0, 40.0, np.nan)
    path = log_file(
        tmp_path_factory.mktemp("online") / "log.csv",
        world,
        variant=np.where(is_b, "b", "a"),
        clicked=np.where(lost, 0, rows["clicked"]),
        dwell=dwell,
        team=np.where(rows["rank"] % 2 == 1, "B", "A"),
    )
    scores = {"one": {str(q): 0.5 for q in range(30)}, "two": {str(q): 0.4 for q in range(30)}}
    offline = OfflineSide("nDCG@10", scores, {}, {"a": "one", "b": "two"})
    with open_log(path) as log:
        return online(log, OnlineOptions(), offline)


def test_a_worse_variant_is_told_and_the_offline_order_held_against_it(
    measured: OnlineMeasures,
) -> None:
    rows = {(row["measure"], row["variant"]): row for row in measured.table("variants").records()}
    difference = rows["CTR", "b"]
    assert difference["difference high"] is not None
    assert float(difference["difference high"]) < 0
    assert measured.figures.variants is not None
    assert not measured.figures.variants.is_mismatched
    (pair,) = measured.table("orders").records()
    assert (pair["first"], pair["agrees"]) == ("one", "yes")
    texts = "\n".join(map(str, measured.findings()))
    assert "b is worse than a by CTR" in texts
    assert "of 1 pair of systems, 1 can be told apart" in texts
    assert measured.alarms() == []


def test_the_measures_show_themselves_as_json_tables_and_a_page(measured: OnlineMeasures) -> None:
    value = json.loads(json.dumps(measured.as_json()))
    assert value["ranks"][0]["rank"] == 1
    assert value["measures"]["satisfied"]["value"] == 1.0
    assert value["interleaving"]["teams"] == ["A", "B"]
    assert {"ranks", "measures", "variants", "interleaving", "systems", "orders"} <= {
        table.name for table in measured.tables()
    }
    html = Page("Watch", measured.blocks()).html()
    assert "Attention by rank" in html


def test_an_order_that_users_turn_round_is_an_alarm(tmp_path: Path) -> None:
    world = ClickWorld(searches=1500, queries=40)
    rows = made_clicks(world)
    is_b = rows["session"] % 3 == 1
    clicked = np.where(is_b, 0, rows["clicked"])
    path = log_file(tmp_path / "log.csv", world, variant=np.where(is_b, "b", "a"), clicked=clicked)
    scores = {"a": {str(q): 0.4 for q in range(30)}, "b": {str(q): 0.5 for q in range(30)}}
    with open_log(path) as log:
        alarms = list(map(str, online(log, None, OfflineSide("nDCG@10", scores)).alarms()))
    assert alarms[0].startswith("sample ratio mismatch: users are not split evenly")
    assert alarms[1].startswith("nDCG@10 puts b above a, users the other way round")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,session,query\n2024-05-01,s,lcd\n", "the log does not say what was shown"),
        ("query,doc_id,rank\nlcd,d1,1\n", "the log has no click"),
        ("query,doc_id,rank,clicked\nlcd,d1,1,1\n", "hardly any document was shown at two ranks"),
    ],
)
def test_what_a_log_cannot_tell_is_said(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with open_log(path) as log:
        result = online(log)
    assert any(str(finding).startswith(sentence) for finding in result.findings())
    json.dumps(result.as_json())
    assert result.tables()


def test_names_that_stand_in_rows_left_out_alone_are_no_variants(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,user_id,query,variant,team,application,user_agent\n2024-05-01,u1,lcd,x,A,shop,\n"
        "2024-05-01,u2,lcd,y,B,shop,\n2024-05-01,u3,lcd,z,C,wiki,\n2024-05-01,u4,lcd,w,A,shop,bot/1\n"
    )
    with open_log(path, LogOptions(application="shop")) as log:
        assert log.teams == ("A", "B")
        variants = online(log).figures.variants
    assert variants is not None
    assert (variants.names, variants.users) == (("x", "y"), (1, 1))
    with open_log(path, LogOptions(application="wiki")) as log:
        assert log.variants == ("z",)


def test_reformulations_are_other_words_of_one_visit_soon_after(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,session,query\n2024-05-01T10:00:00,s,usb hub\n2024-05-01T10:01:00,s,usb hub 3\n"
        "2024-05-01T10:02:00,s,lcd\n2024-05-01T10:30:00,s,lcd tv\n2024-05-01T10:31:00,t,lcd\n"
    )
    with open_log(path) as log:
        value = online(log).figures.whole["reformulated"].value
    assert value == 1 / 5


def test_an_order_online_that_one_week_of_twenty_would_show_by_chance_is_no_alarm() -> None:
    def orders(above: float) -> SystemOrders:
        drawn = np.zeros((2000, 2))
        drawn[: round(2000 * above), 1] = 1.0
        drawn[round(2000 * above) :, 0] = 1.0
        scores = {"a": {str(q): 0.5 for q in range(30)}, "b": {str(q): 0.4 for q in range(30)}}
        values = [Interval(0.1, None, None), Interval(0.2, None, None)]
        return system_orders(scores, values, drawn, ("nDCG@10", "CTR"))

    assert [len(orders(above).reversed_pairs) for above in (0.97, 0.999, 1.0)] == [0, 0, 1]
    assert orders(0.97).pairs[0].agrees is False
