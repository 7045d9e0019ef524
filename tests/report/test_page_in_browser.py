"""A page as a browser shows it: nothing leaves it, nothing overlaps, and keys are enough."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize
from playwright.sync_api import Page as BrowserPage

from labeler.report.charts import (
    Axis,
    NamedValue,
    intervals,
)
from labeler.report.page import (
    Chart,
    Disclosure,
    DisclosureRows,
    FilterForm,
    Page,
    PageSection,
    RankedItem,
    SideBySide,
    TableBlock,
)
from labeler.report.table import Column, Table
from tests.browser import chromium
from tests.report.test_page import HOSTILE, every_block

PHONE: ViewportSize = {"width": 360, "height": 740}
DESK: ViewportSize = {"width": 1280, "height": 800}
LONG = "a name of sixty letters, as some people give to their models"
AXIS = Axis("nDCG@10")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def shown(browser: Browser) -> Iterator[BrowserPage]:
    context = browser.new_context(viewport=DESK, color_scheme="light")
    yield context.new_page()
    context.close()


def opened(tab: BrowserPage, page: Page, folder: Path) -> BrowserPage:
    path = folder / "page.html"
    path.write_text(page.html(), encoding="utf-8")
    tab.goto(path.as_uri())
    return tab


def test_a_page_full_of_attacks_asks_for_nothing_and_runs_nothing(
    shown: BrowserPage, tmp_path: Path
) -> None:
    asked, told = [], []
    shown.on("request", lambda request: asked.append(request.url))
    shown.on("console", lambda message: told.append(message.text))
    shown.on("dialog", lambda dialog: told.append(dialog.message))
    opened(shown, Page(HOSTILE, every_block(HOSTILE)), tmp_path)
    assert asked == [(tmp_path / "page.html").as_uri()]
    assert told == []
    assert shown.locator("img, script").count() == 0


def systems(number: int, name: str) -> list[NamedValue]:
    values = [(i * 0.37) % 1 for i in range(number)]
    return [NamedValue(f"{name} {i}", v, v - 0.1, v + 0.1) for i, v in enumerate(values)]


def every_chart() -> list[Chart]:
    drawings = [
        *(intervals("intervals", systems(number, "s"), AXIS) for number in (1, 2, 40, 200)),
        intervals("long names", systems(9, LONG), AXIS),
        intervals("wide", systems(3, LONG), Axis(LONG, "+.9f", reference=0.0)),
        intervals("equal", [NamedValue(LONG, 0.5, 0.5, 0.5)] * 3, AXIS),
        intervals("costs", [NamedValue(LONG, 1e6), NamedValue("b", 3.0)], Axis("dollars")),
    ]
    return [Chart(drawing) for drawing in drawings]


COLLISIONS = """() => {
  const problems = [];
  for (const chart of document.querySelectorAll('svg.chart')) {
    const frame = chart.getBoundingClientRect();
    if (!frame.width) continue;
    const words = [...chart.querySelectorAll('text')].map(text => {
      const box = text.getBoundingClientRect();
      return {text: text.firstChild.data, left: box.left + 1, right: box.right - 1,
              top: box.top + 2, bottom: box.bottom - 2};
    }).sort((a, b) => a.top - b.top);
    const title = chart.querySelector('title').textContent;
    words.forEach((a, i) => {
      if (a.left < frame.left - 2 || a.right > frame.right + 2 || a.bottom > frame.bottom + 1)
        problems.push(`${title}: ${a.text} is cut off`);
      for (const b of words.slice(i + 1)) {
        if (b.top > a.bottom) break;
        if (a.left < b.right && b.left < a.right) problems.push(`${title}: ${a.text} | ${b.text}`);
      }
    });
  }
  return problems;
}"""


@pytest.mark.parametrize(
    "size",
    [pytest.param(DESK, id="desk"), pytest.param(PHONE, id="phone", marks=pytest.mark.sweep)],
)
def test_no_words_of_a_chart_overlap_or_are_cut_off(
    shown: BrowserPage, tmp_path: Path, size: ViewportSize
) -> None:
    shown.set_viewport_size(size)
    opened(shown, Page("Charts", every_chart()), tmp_path)
    assert shown.evaluate(COLLISIONS) == []
    for font in ("bold 12px monospace", "12px serif"):  # as on a machine with other fonts
        script = "font => document.querySelectorAll('.chart').forEach(c => c.style.font = font)"
        shown.evaluate(script, font)
        assert shown.evaluate(COLLISIONS) == [], font


def full() -> Page:
    columns = [Column("run", align="left"), *(Column(f"measure {i}") for i in range(14))]
    table = Table("scores", columns, [[LONG, *([0.5] * 14)] for _ in range(40)])
    unbroken = SideBySide({"a": [RankedItem("y" * 300, "1", text="x" * 3000)]})
    blocks = [
        *every_block(LONG),
        PageSection("More", [TableBlock(table), unbroken, *every_chart()]),
    ]
    return Page("z" * 200, blocks)


@pytest.mark.sweep
def test_a_page_never_scrolls_sideways_but_its_wide_tables_do(
    shown: BrowserPage, tmp_path: Path
) -> None:
    opened(shown, full(), tmp_path)
    box = shown.get_by_role("region", name="scores", exact=True)
    for width in (320, 360, 640, 768, 1280):  # 640 is 1280 at 200 % zoom
        shown.set_viewport_size({"width": width, "height": 800})
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert box.evaluate("box => box.scrollWidth > box.clientWidth")
        box.evaluate("box => { box.scrollTop = 300 }")
        head, edge = box.locator("thead th").first.bounding_box(), box.bounding_box()
        assert head is not None
        assert edge is not None
        assert head["y"] == pytest.approx(edge["y"], abs=1)


def test_keys_alone_reach_the_content_and_open_a_row(shown: BrowserPage, tmp_path: Path) -> None:
    opened(shown, Page("Shop", every_block("tea")), tmp_path)
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.textContent") == "Skip to content"
    shown.keyboard.press("Enter")
    assert shown.evaluate("document.activeElement.id") == "content"
    row = shown.locator(".rows summary")
    row.focus()
    assert not shown.locator(".rows details p").is_visible()
    shown.keyboard.press("Enter")
    assert shown.locator(".rows details p").is_visible()


@pytest.mark.sweep
def test_who_hears_a_page_gets_its_landmarks_and_what_charts_say(
    shown: BrowserPage, tmp_path: Path
) -> None:
    chart = intervals("Systems by nDCG@10", systems(3, "s"), AXIS)
    sections = [PageSection("Systems", [Chart(chart)]), PageSection("Cost", [])]
    opened(shown, Page("Shop", sections), tmp_path)
    for role, name in (("navigation", "Contents"), ("region", "Systems"), ("heading", "Shop")):
        assert shown.get_by_role(role, name=name, exact=True).count() == 1, role  # type: ignore[arg-type]
    assert shown.get_by_role("main").count() == shown.get_by_role("banner").count() == 1
    pictures = shown.get_by_role("img", name="Systems by nDCG@10")
    assert pictures.count() == 1
    client = shown.context.new_cdp_session(shown)
    nodes = client.send("Accessibility.getFullAXTree")["nodes"]
    told = [n.get("description", {}).get("value") for n in nodes if n["role"]["value"] == "image"]
    assert told == [chart.message]


def test_colors_follow_the_system_until_the_reader_chooses(
    shown: BrowserPage, tmp_path: Path
) -> None:
    opened(shown, Page("Shop", every_block("tea")), tmp_path)

    def paper() -> str:
        return str(shown.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    light = paper()
    shown.emulate_media(color_scheme="dark")
    dark = paper()
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    shown.get_by_role("radio", name="light").check()
    assert paper() == light
    shown.emulate_media(color_scheme="light")
    shown.get_by_role("radio", name="dark").check()
    assert paper() == dark


@pytest.mark.sweep
def test_on_paper_all_is_open_and_nothing_is_dark(shown: BrowserPage, tmp_path: Path) -> None:
    opened(shown, Page("Shop", every_block("tea")), tmp_path)
    shown.get_by_role("radio", name="dark").check()
    closed = shown.locator("details p").first
    assert not closed.is_visible()
    shown.emulate_media(media="print", color_scheme="dark")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    assert shown.evaluate(background) == "rgb(255, 255, 255)"
    inside = "details:not(.filtered *)"  # rows stand there without their lists
    assert shown.locator(f"{inside} p").count() > 0
    assert all(p.is_visible() for p in shown.locator(f"{inside} p, {inside} table").all())
    assert not shown.locator(".themes, nav, .skip").first.is_visible()
    assert shown.locator(".picture svg").first.is_visible()


def test_a_reader_sorts_rows_by_a_column_and_back(shown: BrowserPage, tmp_path: Path) -> None:
    figures = ["0.500", "1,200.0", "-0.900", "30.0", "-"]
    rows = [Disclosure(f"q{at}", [], ["x", figure]) for at, figure in enumerate(figures)]
    columns = ["words", "score"]
    blocks = [FilterForm({}, columns), DisclosureRows("query", columns, rows)]
    opened(shown, Page("rows", blocks, filters=True), tmp_path)
    orders = {"1 1": [2, 0, 3, 1, 4], "1 -1": [1, 3, 0, 2, 4], "": [0, 1, 2, 3, 4]}
    for order, places in orders.items():
        shown.select_option("[name=order]", order)
        names = shown.locator("details .words").all_text_contents()
        assert names == [f"q{place}" for place in places]
