"""Texts of others act in no output: a property for each kind, and what must stay exact."""

import csv
import io
import json
import re
import unicodedata
from dataclasses import dataclass
from html.parser import HTMLParser

import pytest
from examples import steadily
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from labeler.report.neutral import (
    flat,
    github_comment,
    html_passage,
    html_text,
    json_text,
    latex_text,
    markdown_prose,
    markdown_text,
    printable,
    spreadsheet_cell,
    spreadsheet_passage,
)
from labeler.report.render import FORMS, rendered_all
from labeler.report.result import Result
from labeler.report.table import Column, Table

PIECES = (
    *("\x1b[2J", "\x1b]0;x\x07", "\x07", "\x08", "\r", "\n", "\t", "\x7f", "\x85", "\x9b31m"),
    *("\u202e", "\u2066", "\u200b", "\u2028", "\ufeff", "\U000e0041", "\ud83d", "\xad"),
    *("=1+1", "+1", "-1", "@x", "=cmd|' /C calc'!A0", ";=1", "\t=1", "＝1", "'=1", "-0.5", '"'),
    *("<script>alert(1)</script>", "<b>", "<!--", "&lt;", "&#x3c;", "[a](http://x)", "![a](x)"),
    *("[a]: http://x", "http://x.example", "www.x.example", "`", "```", "*", "_", "__", "~~", "|"),
    *("# ", "> ", "- ", "+ ", "1. ", "1) ", "===", "---", "    ", "$x$", "\\", "$", "%", "{", "}"),
    *("^", "~", "&", "a", "é", "字", "0", "x_y", "[", "]", "(", ")", ":", "!", "#", ","),
)
hostile = st.lists(st.sampled_from(PIECES) | st.integers(0, 0x10FFFF).map(chr), max_size=6).map(
    "".join
)
ACTIVE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
FORMULA = tuple("=+-@\t\r＝＋－＠")
NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")


def active(text: str) -> list[str]:
    """The characters that drive a terminal or the direction of text, line ends and tabs aside."""
    return [c for c in text if unicodedata.category(c) in ACTIVE and c not in "\n\t"]


@steadily(200)
@given(hostile)
def test_a_terminal_is_sent_letters_alone(text: str) -> None:
    assert active(printable(text)) == []
    assert not set(flat(text)) & set("\n\t")


@steadily(300)
@given(hostile)
@example("-0.5")
def test_a_spreadsheet_sees_no_formula_and_numbers_stay(text: str) -> None:
    assert active(spreadsheet_cell(text)) == []
    # words of some languages are spelt with the other format characters, which act on nothing
    kinds = {c: unicodedata.category(c) for c in active(spreadsheet_passage(text))}
    assert [c for c, kind in kinds.items() if kind != "Cf" or c in OVERRIDES] == []
    for cell in (spreadsheet_cell(text), spreadsheet_passage(text)):
        begins = [part.lstrip(" \xa0\u3000\u200b\ufeff") for part in re.split(r"[;]", cell)]
        assert NUMBER.fullmatch(cell) or not any(part.startswith(FORMULA) for part in begins)


@pytest.mark.parametrize("number", ["-0.5", "+1", "1e-5", "-.5", "-1", "12"])
def test_a_number_is_never_marked(number: str) -> None:
    assert spreadsheet_cell(number) == number


RULES = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def kinds(markdown: str) -> set[str]:
    """The kinds of what Markdown makes of a text, but for paragraphs of words."""
    tokens = RULES.parse(markdown)
    inner = [child.type for token in tokens for child in token.children or ()]
    return {token.type for token in tokens} | set(inner) - {"text", "text_special", "softbreak"}


@steadily(400)
@given(hostile)
@example("1986. A year")
@example("a\n===")
@example("\t# a")
def test_markdown_holds_words_alone(text: str) -> None:
    prose = markdown_prose(text)
    assert active(prose) == []
    assert kinds(prose) <= {"paragraph_open", "paragraph_close", "inline"}
    assert not re.search(r"(?<!\\)://|\bwww\.", prose)


@steadily(200)
@given(hostile)
def test_markdown_shows_the_words_as_they_are(text: str) -> None:
    (inline,) = [t for t in RULES.parse(f"x{markdown_text(flat(text))}x") if t.type == "inline"]
    assert "".join(child.content for child in inline.children or ()) == f"x{flat(text)}x"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_comment(self, data: str) -> None:
        self.tags.append(f"<!--{data}")


@steadily(200)
@given(hostile)
def test_html_gets_no_element_and_no_attribute(text: str) -> None:
    reader = _Tags()
    reader.feed(f'<p title="{html_text(text)}">{html_text(text)}</p>')
    assert reader.tags == ["p"]
    assert active(html_text(text)) == []


@steadily(200)
@given(hostile)
def test_a_passage_of_html_has_no_element_and_overrides_no_direction(text: str) -> None:
    reader = _Tags()
    reader.feed(f'<p title="{html_passage(text)}">{html_passage(text)}</p>')
    assert reader.tags == ["p"]
    assert set(active(html_passage(text))) <= set("\xad\u200c\u200d\u200e\u200f")


@steadily(200)
@given(hostile)
def test_latex_gets_no_command(text: str) -> None:
    ours = r"\\text(asciitilde|asciicircum|backslash)\{\}|\\[&%$#_{}]|^\{\}"
    assert not set(re.sub(ours, "", latex_text(text))) & set("\\&%$#_{}~^")
    assert active(latex_text(text)) == []


@steadily(150)
@given(st.dictionaries(hostile, hostile | st.sampled_from([-0.5, 1e300, None, 3]), max_size=3))
def test_json_stays_exact_and_sends_a_terminal_nothing(value: dict[str, object]) -> None:
    assert json.loads(json_text(value)) == value
    assert active(json_text(value, indent=1)) == []


@dataclass(frozen=True)
class Shown(Result):
    """A result that is tables alone."""

    made: list[Table]

    def tables(self) -> list[Table]:
        return self.made


@steadily(60)
@given(hostile, hostile)
def test_every_form_of_a_table_is_inert_wherever_the_text_stands(cell: str, name: str) -> None:
    columns = [Column(name or "n", align="left"), Column("m")]
    table = Table("t", columns, [[cell, -0.5]], title=cell, note=cell)
    for form in (name for name, how in FORMS.items() if how.in_bytes is None):
        shown = rendered_all([cell, table], form)
        assert active(shown) == [], form
    assert active(Shown([table])._repr_html_()) == []
    rows = list(csv.reader(io.StringIO(rendered_all([table], "csv"))))
    assert rows[1][1] == "-0.5"
    (record,) = json.loads(rendered_all([table], "json"))
    assert record[name or "n"] == cell


@pytest.mark.parametrize("text", ["ask @octocat", "@org/team", "see #12", "a/b#3", "GH-7", "é@x"])
def test_a_comment_mentions_nobody_and_refers_to_no_issue(text: str) -> None:
    comment = github_comment(f"# {text}\n\n| {markdown_text(text)} |\n\n{markdown_prose(text)}\n")
    assert not re.search(r"(?<![a-zA-Z0-9_])@\w|(?<!&)#\d|\bGH-\d", comment)
    assert comment.count("&#8203;") == 3


def test_measures_are_no_mentions() -> None:
    assert github_comment("nDCG@10") == "nDCG@10"


@pytest.mark.parametrize("limit", [300, 1000, 5000])
def test_a_comment_that_is_too_long_ends_with_a_line_that_says_so(limit: int) -> None:
    lines = [f"{number} " + "word " * 20 for number in range(60)]
    *shown, last = github_comment("\n\n".join(lines), limit).split("\n\n")
    assert last == "*More is left out, to fit a comment.*\n"
    assert shown == lines[: len(shown)]
    assert limit - 160 < len("\n\n".join([*shown, last])) <= limit
    assert github_comment("\n\n".join(lines)) == "\n\n".join(lines)
