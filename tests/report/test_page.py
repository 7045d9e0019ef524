"""Pages: one file that asks nothing of a network, inert whatever its texts hold."""

import re
from html.parser import HTMLParser

from examples import steadily
from hypothesis import given

from labeler.report.charts import Axis, NamedValue, intervals
from labeler.report.finding import Finding
from labeler.report.page import (
    Chart,
    Disclosure,
    DisclosureRows,
    FindingList,
    Page,
    PageBlock,
    PageSection,
    Paragraph,
    RankedItem,
    SideBySide,
    TableBlock,
    style,
)
from labeler.report.table import Column, Interval, Table
from tests.report.test_neutral import active, hostile

JOINERS = "\xad\u200c\u200d\u200e\u200f"
"""Format characters that words are written with: in users' texts they stay."""
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202e\" ' & ``` | </style>"


def every_block(text: str) -> list[PageBlock]:
    """One block of each kind, with a text in every place that holds one."""
    columns = [Column(text or "n", align="left"), Column("nDCG@10", ends=".3f")]
    table = Table("t", columns, [(text, Interval(0.5, 0.4, 0.6))], text, text)
    chart = intervals(text, [NamedValue(text, 0.5, 0.4, 0.6)], Axis(text))
    inner: list[PageBlock] = [
        Paragraph(text),
        Paragraph(text, lead=True),
        FindingList([Finding(text, level="note"), Finding(text)]),
        TableBlock(table, text),
        Chart(chart),
        Disclosure(text, [Paragraph(text)], [text]),
        DisclosureRows(text, [text], [Disclosure(text, [Paragraph(text)], [text])]),
    ]
    return [PageSection(text, inner), PageSection(text, [PageSection(text, [Paragraph(text)])])]


_OF_LENGTH = {"class", "textlength", "lengthadjust"}


class _Elements(HTMLParser):
    """The elements of a page with their attributes, and whether each that opens closes."""

    VOID = frozenset({"meta", "input", "br", "line", "rect", "circle", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.comments: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def shape(self) -> list[tuple[str, list[str]]]:
        """The elements with the names of their attributes, less what the length of a text adds."""
        shape = [(tag, sorted({*attributes} - _OF_LENGTH)) for tag, attributes in self.elements]
        return [element for element in shape if element[0] != "title"]


def page(text: str) -> Page:
    return Page(text, every_block(text), text)


@steadily(25)
@given(hostile)
def test_no_text_adds_an_element_an_attribute_or_a_control_character(text: str) -> None:
    attacked = _Elements(page(f"x{text}").html())
    assert attacked.shape() == _Elements(page("x").html()).shape()
    assert attacked.open == attacked.comments == []
    assert set(active(page(text).html())) <= set(JOINERS)


def test_a_page_has_no_script_no_handler_and_no_address() -> None:
    html = page(HOSTILE).html()
    elements = _Elements(html).elements
    assert not {tag for tag, _ in elements} & {"script", "link", "img", "iframe", "object", "base"}
    for tag, attributes in elements:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not {"src", "srcset", "style", "action", "data"} & set(attributes), tag
        assert (attributes.get("href") or "#").startswith("#"), tag
    assert not re.search(r"url\(|@import|https?:", style())
    assert html.count("http://") == html.count('xmlns="http://www.w3.org/2000/svg"')


def test_a_page_forbids_whatever_it_does_not_need() -> None:
    metas = [a for tag, a in _Elements(page("x").html()).elements if tag == "meta"]
    (policy,) = [m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'",
        policy,
    )


def test_headings_go_down_by_one_and_each_section_has_a_name_of_its_own() -> None:
    elements = _Elements(page("Same words").html()).elements
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels == [1, 2, 2, 3]
    names = [a["id"] for _, a in elements if "id" in a]
    assert len(names) == len(set(names))
    links = {a["href"] for tag, a in elements if tag == "a"}
    assert links <= {f"#{name}" for name in names}


def test_tables_have_captions_and_headers_with_a_scope() -> None:
    elements = _Elements(page("x").html()).elements
    tags = [tag for tag, _ in elements]
    assert tags.count("caption") == tags.count("table") == 1
    assert {a.get("scope") for tag, a in elements if tag == "th"} == {"col", "row"}


def test_warnings_stand_before_notes_and_say_in_words_what_they_are() -> None:
    block = FindingList([Finding("b", level="note"), Finding("a")])
    assert re.findall(r"<b>(\w+):</b> (\w)", Page("t", [block]).html()) == [
        ("Warning", "a"),
        ("Note", "b"),
    ]


def test_only_a_page_of_several_sections_has_contents() -> None:
    sections = [PageSection(name, [Paragraph("x")]) for name in ("One", "Two")]
    assert 'aria-label="Contents"' in Page("t", sections).html()
    assert 'aria-label="Contents"' not in Page("t", sections[:1]).html()


def test_the_contents_are_a_list_where_it_is_wide_and_a_line_that_opens_where_it_is_narrow() -> (
    None
):
    sections = [PageSection(name, [Paragraph("x")]) for name in ("One", "Two")]
    contents = Page("t", sections).html().partition("<nav")[2].partition("</nav>")[0]
    wide, _, narrow = contents.partition('<details class="narrow">')
    assert 'class="wide"' in wide
    assert re.findall(r'href="(#[^"]+)"', wide) == re.findall(r'href="(#[^"]+)"', narrow)
    assert " open" not in narrow


def test_words_of_every_language_stay_as_they_are_and_overrides_are_written_out() -> None:
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    html = Page("t", [SideBySide({"a": [RankedItem(f"{persian} \u202eabc", "1")]})]).html()
    assert f"<li>{persian} \\u202eabc <small>1</small>" in html
