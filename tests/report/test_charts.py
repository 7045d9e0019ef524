"""Charts: what they say is what the numbers say, and every text in them is inert."""

import math
import re
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from every_row import every_row

from labeler.report.charts import (
    Axis,
    Drawing,
    NamedValue,
    intervals,
    scale,
)
from labeler.report.svg import fitted, length

NDCG = Axis("nDCG@10")
HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e & \"'"
SYSTEMS = [
    NamedValue("dense", 0.705, 0.6, 0.8),
    NamedValue("hybrid", 0.71, 0.61, 0.81),
    NamedValue("bm25", 0.506, 0.4, 0.6),
    NamedValue("broken", math.nan),
]


def named_chart(name: str) -> Drawing:
    """A chart with a name in every place that holds one."""
    axis = Axis(name)
    return intervals(name, [NamedValue(name, 0.5, 0.4, 0.6)], axis)


def parsed(drawing: Drawing) -> ET.Element:
    return ET.fromstring(drawing.svg)


def shown_texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter() if is_text(text)]


def is_text(element: ET.Element) -> bool:
    return element.tag.endswith("}text")


def test_no_text_adds_an_element_or_a_control_character_to_a_chart() -> None:
    tame, hostile = named_chart("tame"), named_chart(HOSTILE)
    plain, attacked = parsed(tame), parsed(hostile)
    assert {e.tag for e in plain.iter()} == {e.tag for e in attacked.iter()}
    assert "\x1b" not in ET.tostring(attacked, "unicode")
    assert "\u202e" not in ET.tostring(attacked, "unicode")


def test_a_chart_has_a_title_and_a_message() -> None:
    drawing = named_chart("a name")
    title, description = list(parsed(drawing))[:2]
    assert (title.text, description.text) == ("a name", drawing.message)
    assert drawing.message


def test_the_message_of_intervals_is_read_from_the_numbers() -> None:
    drawing = intervals("Systems", SYSTEMS, NDCG)
    assert drawing.message == (
        "Highest nDCG@10: hybrid, 0.710 [0.610, 0.810]; lowest: bm25, 0.506 [0.400, 0.600]; "
        "3 in all."
    )


def test_a_line_marks_the_reference_between_values_below_and_above_it() -> None:
    rows = [NamedValue("a", 0.05, 0.01, 0.09), NamedValue("b", -0.02, -0.03, -0.01)]
    drawing = intervals("Gains", rows, Axis("gain", "+.3f", reference=0.0))
    (at,) = re.findall(r'class="reference" x1="([\d.]+)"', drawing.svg)
    first, second = re.findall(r'class="dot" cx="([\d.]+)"', drawing.svg)
    assert float(second) < float(at) < float(first)


DEGENERATE: dict[str, Callable[[], Drawing]] = {
    "no rows": lambda: intervals("t", [], NDCG),
    "one row": lambda: intervals("t", SYSTEMS[:1], NDCG),
    "undefined": lambda: intervals("t", SYSTEMS[3:], NDCG),
    "equal values": lambda: intervals("t", [NamedValue("a", 0.5, 0.5, 0.5)] * 3, NDCG),
    "zero": lambda: intervals("t", [NamedValue("a", 0.0, 0.0, 0.0)], NDCG),
    "open": lambda: intervals("t", [NamedValue("a", 0.5, -math.inf, math.inf)], NDCG),
    "huge": lambda: intervals("t", [NamedValue("a", 1e300, -1e300, 1e300)], NDCG),
    "tiny": lambda: intervals("t", [NamedValue("a", 1e-300, 0, 2e-300)], NDCG),
    "close": lambda: intervals("t", [NamedValue("a", 1.0), NamedValue("b", 1.0 + 1e-15)], NDCG),
}


@every_row("made", DEGENERATE.values(), ids=DEGENERATE)
def test_a_chart_of_little_or_odd_data_has_finite_coordinates_within_its_box(
    made: Callable[[], Drawing],
) -> None:
    svg = parsed(made())
    width, height = float(svg.attrib["width"]), float(svg.attrib["height"])
    for element in svg.iter():
        for name, most in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            assert -0.5 <= float(element.attrib.get(name, 0)) <= most + 0.5, element.attrib


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.43, 0.81], ("0.4", "0.5", "0.6", "0.7", "0.8", "0.9")),
        ([0.0, 1.0], ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
        ([3, 980], ("0", "200", "400", "600", "800", "1,000")),
        ([-0.3, 0.2], ("-0.3", "-0.2", "-0.1", "0.0", "0.1", "0.2")),
        ([0.5], ("0.44", "0.46", "0.48", "0.50", "0.52", "0.54", "0.56")),
        ([1e300, -1e300], ("-1e+300", "-5e+299", "0", "5e+299", "1e+300")),
        ([], ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
    ],
)
def test_ticks_stand_at_round_numbers(values: list[float], labels: tuple[str, ...]) -> None:
    assert scale(NDCG, values, 0, 500).labels == labels


def test_a_name_is_cut_in_its_middle_and_shown_in_full_to_a_pointer() -> None:
    name = "model-" + "x" * 48 + "-v2.1"
    drawing = intervals("t", [NamedValue(name, 0.5)], NDCG)
    assert fitted(name, 200).startswith("model-")
    assert fitted(name, 200).endswith("-v2.1")
    assert length(fitted(name, 200)) <= 200
    assert f"<title>{name}</title></text>" in drawing.svg


@pytest.mark.parametrize("systems", [1, 2, 40, 200])
def test_each_system_has_a_row_of_its_own_with_its_name_and_number(systems: int) -> None:
    rows = [NamedValue(f"system {i}", i / 200, i / 250, i / 150) for i in range(systems)]
    drawing = intervals("t", rows, NDCG)
    names = [text for text in shown_texts(drawing.svg) if text.startswith("system")]
    assert len(names) == systems
    heights = [float(y) for y in re.findall(r'class="dot"[^>]*cy="([\d.]+)"', drawing.svg)]
    assert all(b - a >= 18 for a, b in pairwise(heights))
