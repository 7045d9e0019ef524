"""The page as raters see, hear and touch it: widths, colors, focus, directions, sizes of texts."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import ViewportSize, expect
from rated_pages import WIDE, Rater, Raters, grading_of, pair, pairs

STATIC = files("labeler.annotate").joinpath("static")
PHONE: ViewportSize = {"width": 360, "height": 740}
ZOOMED: ViewportSize = {"width": 640, "height": 400}
"""1280 by 800 pixels at 200 %."""

CODE = "def f():\n    return '" + "x" * 200 + "'"
TABLE = "\n".join(
    "| " + " | ".join(f"cell {n} of a row" for n in range(12)) + " |" for _ in range(4)
)
WILD = "\n\n".join(["W" * 900, "https://example.org/" + "deep/" * 99, CODE, TABLE, "End."])


SIZES: list[ViewportSize] = [{"width": 320, "height": 640}, PHONE, ZOOMED, WIDE]


def wild_pair() -> dict[str, Any]:
    made = pair(WILD, "W" * 300 + " deep cells", title="T" * 300, path="p/" * 200)
    made["query"] |= {"description": "D" * 400, "narrative": "Relevant are " * 60}
    return made


def is_within(rater: Rater, size: ViewportSize) -> bool:
    """Whether nothing is wider than a window of that size."""
    rater.page.set_viewport_size(size)
    return bool(rater.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_no_text_makes_the_page_wider_than_its_window(raters: Raters) -> None:
    rater = raters.rater(grading_of([wild_pair()])).press("a", "n")
    assert [size for size in SIZES if not is_within(rater, size)] == []
    rater.page.keyboard.press("Escape")
    for key in "?i":
        rater.page.keyboard.press(key)
        assert [size for size in SIZES if not is_within(rater, size)] == []
        rater.page.keyboard.press("Escape")


@pytest.mark.sweep
def test_every_button_is_in_reach_of_a_thumb(raters: Raters) -> None:
    rater = raters.rater(
        grading_of([*pairs(1), wild_pair(), *pairs(1)]), size=PHONE, has_touch=True
    )
    rater.page.get_by_role("button", name="2 highly relevant").tap()
    rater.ready()
    buttons = rater.page.locator("#actions button:visible").all()
    boxes = [box for button in buttons if (box := button.bounding_box())]
    assert len(boxes) == 9
    assert all(box["height"] >= 44 and box["width"] >= 32 for box in boxes)
    assert all(box["y"] >= PHONE["height"] / 2 for box in boxes)
    assert all(box["y"] + box["height"] <= PHONE["height"] for box in boxes)


@pytest.mark.sweep
def test_the_query_stays_in_sight_while_a_text_scrolls(raters: Raters) -> None:
    rater = raters.rater(grading_of([pair("\n\n".join(["Cats sleep on a sofa."] * 55))]))
    for size in (PHONE, ZOOMED, WIDE):
        rater.page.set_viewport_size(size)
        rater.page.evaluate("scrollTo(0, 600)")
        expect(rater.page.locator("#query")).to_be_in_viewport(ratio=1)


@pytest.mark.sweep
def test_the_focus_goes_from_the_top_through_the_text_to_the_answers(raters: Raters) -> None:
    text = "\n\n".join(f"Line {n} says that nothing is asked for here." for n in range(200))
    rater = raters.rater(grading_of([pair(text + "\n\nCats sleep.\n\n" + text), *pairs(1)]))
    page = rater.press("2", "b").ready().page
    expect(page.locator("#query")).to_be_focused()  # to be read out
    names = []
    for _ in range(10):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        names.append(" ".join(focused.inner_text().split()[:3]))
        style = (
            "e => [getComputedStyle(e).outlineStyle, parseFloat(getComputedStyle(e).outlineWidth)]"
        )
        assert focused.evaluate(style) == ["solid", 3]
        expect(focused).to_be_in_viewport(ratio=1)
    folds = ["↑ 1,800 words", "↓ 1,800 words"]
    grades = ["0 irrelevant The", "1 related The", "2 highly relevant", "3 perfectly relevant"]
    assert [re.sub("1,[0-9]+", "1,800", name) for name in names[:6]] == folds + grades
    assert names[6:] == ["c Cannot judge", "s Skip", "Undo u", "Forward v"]


def test_what_a_screen_reader_says(raters: Raters) -> None:
    rater = raters.rater(grading_of(pairs(3)), size=WIDE)
    expect(rater.page.locator("body")).to_match_aria_snapshot("""
      - link "To the answers"
      - banner:
        - progressbar "Done"
        - text: 0 of 3 done
        - button "Instructions i"
        - button "Keys ?"
        - heading "where does cat 0 sleep" [level=1]
      - main "To be judged":
        - article "Document Cat 0":
          - heading "Cat 0" [level=2]
      - region "Your answer":
        - status
        - group "Answer":
          - button /0 irrelevant/
          - button /3 perfectly relevant/
        - group "Instead of an answer":
          - button "c Cannot judge"
          - button "s Skip"
        - textbox /Note/
    """)
    status = rater.page.get_by_role("status")
    assert status.get_attribute("aria-live") == "polite"
    rater.press("1").says("Saved: 1, related. Next pair.")
    keys = rater.page.locator("[aria-keyshortcuts]:visible").all()
    assert {key.get_attribute("aria-keyshortcuts") for key in keys} >= set("0123csnuib?")


@pytest.mark.sweep
def test_the_page_obeys_what_a_reader_has_set(raters: Raters) -> None:
    task = grading_of(pairs(2))
    dark = raters.rater(task, color_scheme="dark", reduced_motion="reduce", forced_colors="active")
    dark.page.emulate_media(forced_colors="none")
    luminance = "getComputedStyle(document.body).backgroundColor"
    red = int(re.findall("[0-9]+", dark.page.evaluate(luminance))[0])
    assert red < 40
    every = "[...document.querySelectorAll('*')]"
    durations = f"{every}.map(e => getComputedStyle(e).transitionDuration)"
    assert set(dark.page.evaluate(durations)) == {"0s"}
    dark.page.emulate_media(forced_colors="active")
    mark = "getComputedStyle(document.querySelector('mark')).textDecorationLine"
    assert dark.page.evaluate(mark) == "underline"
    dark.press("1", "b").ready()
    pressed = "getComputedStyle(document.querySelector('[aria-pressed=true]')).borderTopWidth"
    assert dark.page.evaluate(pressed) == "3px"


@pytest.mark.sweep
def test_texts_read_from_the_side_on_which_their_script_begins(raters: Raters) -> None:
    arabic, chinese = "كيف تنام القطط؟", "猫在哪里睡觉"
    items = [pair("القطط تنام.\n\nCats sleep.", arabic), pair("猫在沙发上睡觉。", chinese)]
    rater = raters.rater(grading_of(items))
    direction = "e => getComputedStyle(e).direction"
    of_texts = [p.evaluate(direction) for p in rater.page.locator("#query, .text p").all()]
    assert of_texts == ["rtl", "rtl", "ltr"]
    assert rater.page.locator("mark").all_inner_texts() == ["القطط", "تنام"]
    rater.press("1").asks(chinese)
    assert rater.page.locator("mark").all_inner_texts() == ["猫在", "睡觉"]


@pytest.mark.sweep
def test_an_empty_document_says_so_and_can_be_graded(raters: Raters) -> None:
    rater = raters.rater(grading_of([pair("  \n"), *pairs(1)]))
    expect(rater.page.get_by_role("article")).to_contain_text("This document has no text.")
    rater.press("0").says("Saved: 0")


@pytest.mark.sweep
def test_a_text_of_a_megabyte_takes_keys_at_once(raters: Raters) -> None:
    line = "A line of this very long text tells of nothing that anybody asked for."
    text = "\n\n".join([" ".join([line] * 8)] * 1900)
    assert len(text) > 1_000_000
    rater = raters.rater(grading_of([pair(text + " Cats sleep.", "cats"), *pairs(1)]))
    count = "document.querySelectorAll('.text > *').length"
    assert rater.page.evaluate(count) < 30  # what is folded is not laid out
    rater.page.keyboard.press("a")
    assert rater.page.evaluate(count) == 1900
    skipped = "getComputedStyle(document.querySelector('.text > *')).contentVisibility"
    assert rater.page.evaluate(skipped) == "auto"  # nor is what is out of sight
    rater.press("2").says("Saved: 2")


def colors(scheme: str) -> dict[str, str]:
    """The colors of the style sheet by name, as they are in a light or a dark scheme."""
    css = STATIC.joinpath("page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{([^}]*--paper[^}]*)\}", css)
    pattern = r"--([a-z-]+): (#[0-9a-f]{6});"
    return dict(re.findall(pattern, light)) | (
        dict(re.findall(pattern, dark)) if scheme == "dark" else {}
    )


def contrast(one: str, other: str) -> float:
    """The contrast of two colors, from 1 to 21; WCAG 2.2, relative luminance."""

    def luminance(color: str) -> float:
        parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


TEXTS = [
    *[(text, under) for under in ("paper", "panel") for text in ("ink", "quiet", "accent", "good")],
    ("on-mark", "mark"),
    ("on-accent", "accent"),
    ("on-alarm", "alarm"),
]
EDGES = [(edge, under) for under in ("paper", "panel") for edge in ("line", "accent")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_enough_to_be_read(scheme: str) -> None:
    values = colors(scheme)
    assert {
        name: contrast(*(values[n] for n in name))
        for name in TEXTS
        if contrast(*(values[n] for n in name)) < 4.5
    } == {}
    assert {
        name: contrast(*(values[n] for n in name))
        for name in EDGES
        if contrast(*(values[n] for n in name)) < 3
    } == {}
    assert set(values) == {name for both in TEXTS + EDGES for name in both}


def test_the_contrast_of_black_and_white_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_the_page_has_no_script_or_style_within_itself_and_asks_nobody_else() -> None:
    sources = {f.name: f.read_text(encoding="utf-8") for f in STATIC.iterdir()}
    assert not re.search(r"<style|<script(?![^>]* src=)|\son[a-z]+=|\sstyle=", sources["page.html"])
    assert {
        name for name, text in sources.items() if re.search("https?:|//[a-z]+[.]", text)
    } == set()
    markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
    assert {name for name, text in sources.items() if re.search(markup, text)} == set()
    assert max(len(text.splitlines()) for text in sources.values()) <= 300
