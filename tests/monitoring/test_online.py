"""What clicks say: made users whose ways are known give their ways back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_clicks import ClickWorld, made_clicks

from labeler.monitoring.log import open_log
from labeler.monitoring.online import OnlineMeasures, less, online
from labeler.report.table import Interval


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
    path = log_file(
        tmp_path_factory.mktemp("online") / "log.csv",
        world,
        variant=np.where(is_b, "b", "a"),
        clicked=np.where(lost, 0, rows["clicked"]),
    )
    with open_log(path) as log:
        return online(log)


def test_a_worse_variant_is_told(measured: OnlineMeasures) -> None:
    rows = {(row["measure"], row["variant"]): row for row in measured.as_json()["variants"]}
    difference = rows["CTR", "b"]
    assert difference["difference high"] is not None
    assert float(difference["difference high"]) < 0
    texts = "\n".join(map(str, measured.findings))
    assert "b is worse than a by CTR" in texts


def test_differences_of_variants_hold_together_and_none_has_no_width() -> None:
    half, none = Interval(0.5, 0.45, 0.55), Interval(0.0, 0.0, 0.04)
    alone, one_of_eight = less(half, none, 1), less(half, none, 8)
    assert alone.value == one_of_eight.value == 0.5
    assert (alone.low, alone.high) == pytest.approx((0.5 - np.hypot(0.05, 0.04), 0.55))
    assert one_of_eight.low is not None
    assert one_of_eight.low < 0.5 - 1.3 * np.hypot(0.05, 0.04)
    alike = less(none, none, 1)
    assert (alike.value, alike.low, alike.high) == (0.0, -0.04, 0.04)
    assert less(half, Interval(0.5, None, None), 1).value is None


def test_the_measures_show_themselves_as_json_and_tables(measured: OnlineMeasures) -> None:
    value = json.loads(json.dumps(measured.as_json()))
    assert value["ranks"][0]["rank"] == 1
    assert 0 < value["measures"]["clicked"]["low"] < value["measures"]["clicked"]["high"]
    assert {"ranks", "measures", "variants"} <= {table.name for table in measured.tables()}


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
    assert any(str(finding).startswith(sentence) for finding in result.findings)
    json.dumps(result.as_json())


def test_names_that_stand_in_rows_left_out_alone_are_no_variants(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,user_id,query,variant,user_agent\n2024-05-01,u1,lcd,x,\n2024-05-01,u2,lcd,y,\n"
        "soon,u3,lcd,z,\n2024-05-01,u4,lcd,w,bot/1\n"
    )
    with open_log(path) as log:
        variants = online(log).variants
    assert {(row.variant, row.users) for row in variants} == {("x", 1), ("y", 1)}


def test_searches_that_showed_nothing_are_counted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,session,event,query,doc_id,rank\n2024-05-01T10:00,s1,search,lcd,,\n"
        "2024-05-01T10:00,s1,impression,lcd,d1,1\n2024-05-01T10:02,s1,search,lcdd,,\n"
        "2024-05-01T10:03,s2,search,hub,,\n2024-05-01T10:03,s2,impression,hub,d1,1\n"
    )
    with open_log(path) as log:
        assert online(log).measures["no results"].value == 1 / 3


def test_reformulations_are_other_words_of_one_visit_soon_after(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "time,session,query\n2024-05-01T10:00:00,s,usb hub\n2024-05-01T10:01:00,s,usb hub 3\n"
        "2024-05-01T10:02:00,s,lcd\n2024-05-01T10:30:00,s,lcd tv\n2024-05-01T10:31:00,t,lcd\n"
    )
    with open_log(path) as log:
        value = online(log).measures["reformulated"].value
    assert value == 1 / 5
