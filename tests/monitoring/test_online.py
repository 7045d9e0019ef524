"""What clicks say: made users whose ways are known give their ways back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labeler.monitoring.log.log import open_log
from labeler.monitoring.log.searches import part_of_clicks
from labeler.monitoring.log.values import LogOptions
from labeler.monitoring.online.behavior import BehaviorSums, OnlineOptions, median_delay, mismatch
from labeler.monitoring.online.online import OnlineMeasures, online
from labeler.report.page import Page
from labeler.testing.click_log import ClickWorld, made_clicks


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


def log_file(path: Path, world: ClickWorld, **columns: Any) -> Path:
    import pandas as pd

    rows = made_clicks(world)
    frame = pd.DataFrame(rows).assign(**columns)
    frame["time"] = frame["time"].astype(int)
    frame["query"] = "words " + frame["query"].astype(str)
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> OnlineMeasures:
    """An A/B test in which variant b is worse."""
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
    )
    with open_log(path) as log:
        return online(log, OnlineOptions())


def test_a_worse_variant_is_told(measured: OnlineMeasures) -> None:
    rows = {(row["measure"], row["variant"]): row for row in measured.table("variants").records()}
    difference = rows["CTR", "b"]
    assert difference["difference high"] is not None
    assert float(difference["difference high"]) < 0
    assert measured.figures.variants is not None
    assert not measured.figures.variants.is_mismatched
    texts = "\n".join(map(str, measured.findings()))
    assert "b is worse than a by CTR" in texts
    assert measured.alarms() == []


def test_the_measures_show_themselves_as_json_tables_and_a_page(measured: OnlineMeasures) -> None:
    value = json.loads(json.dumps(measured.as_json()))
    assert value["ranks"][0]["rank"] == 1
    assert value["measures"]["satisfied"]["value"] == 1.0
    assert {"ranks", "measures", "variants"} <= {table.name for table in measured.tables()}
    html = Page("Watch", measured.blocks()).html()
    assert "Clicks by rank" in html


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,session,query\n2024-05-01,s,lcd\n", "the log does not say what was shown"),
        ("query,doc_id,rank\nlcd,d1,1\n", "the log has no click"),
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
        "time,user_id,query,variant,application,user_agent\n2024-05-01,u1,lcd,x,shop,\n"
        "2024-05-01,u2,lcd,y,shop,\n2024-05-01,u3,lcd,z,wiki,\n2024-05-01,u4,lcd,w,shop,bot/1\n"
    )
    with open_log(path, LogOptions(application="shop")) as log:
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
