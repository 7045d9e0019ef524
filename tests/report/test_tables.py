"""Tables in the forms that people paste and programs read: each reads back, and holds no markup by
accident.
"""

import csv
import io
import json
import math
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from every_row import every_row
from markdown_it import MarkdownIt

from labeler.errors import Misuse
from labeler.exchange.workbooks import rows_of_workbook
from labeler.report.render import FORMS, rendered_all
from labeler.report.table import Column, FormName, Interval, Table

TABLE = Table(
    "runs",
    [Column("run", align="left"), Column("nDCG@10"), Column("text")],
    [
        ["a_b & 50%", 0.123456, "x | y\nz"],
        ["[c]", -0.00001, "*d* <e> \\f"],
        ["_g_", None, "é"],
        ["nan", math.nan, "\x1b[31m"],
    ],
)

SCORES = Table(
    "scores",
    [
        Column("run", align="left"),
        Column("queries"),
        Column("nDCG@10", ends=".3f", undefined="undefined"),
        Column("difference", "gain", format="+.4f"),
        Column("", "95 % interval", format="", ends="+.2f"),
        Column("wins", only="programs"),
        Column("win/loss", only="people"),
    ],
    [
        ["bm25", 43, Interval(0.85519, 0.7041, 1.0), 0.00001, Interval(None, -0.25, 0.5), 3, "3/2"],
        ["dense", 1200, Interval(0.5, None, None), -0.5, Interval(None, None, None), 0, "0/5"],
        [
            "none",
            0,
            Interval(math.nan, math.nan, math.nan),
            math.nan,
            Interval(None, 0.0, 0.0),
            0,
            "0/0",
        ],
    ],
)


def test_people_see_a_value_and_its_interval_in_one_cell() -> None:
    assert SCORES.titles == ["run", "queries", "nDCG@10", "gain", "95 % interval", "win/loss"]
    assert SCORES.texts() == [
        ["bm25", "43", "0.8552 [0.704, 1.000]", "0.0000", "[-0.25, +0.50]", "3/2"],
        ["dense", "1,200", "0.5000", "-0.5000", "-", "0/5"],
        ["none", "0", "undefined", "-", "[0.00, 0.00]", "0/0"],
    ]


def test_programs_get_the_ends_of_an_interval_in_columns_of_their_own() -> None:
    assert SCORES.keys == [
        *("run", "queries", "nDCG@10", "nDCG@10 low", "nDCG@10 high"),
        *("difference", "low", "high", "wins"),
    ]
    assert next(SCORES.values()) == [
        *("bm25", 43, 0.85519, 0.7041, 1.0, 0.00001, -0.25, 0.5, 3),
    ]
    undefined = ("nDCG@10", "nDCG@10 low", "nDCG@10 high", "difference")
    own = {"run": "none", "queries": 0, "low": 0.0, "high": 0.0, "wins": 0}
    assert SCORES.as_json()[2] == own | dict.fromkeys(undefined)


@every_row(
    ("value", "spec", "text"),
    [
        (-0.00001, ".4f", "0.0000"),
        (-0.00001, "+.4f", "0.0000"),
        (0.00001, "+.4f", "0.0000"),
        (0.5, "+.1f", "+0.5"),
        (-0.0, "g", "0"),
        (1e-7, "g", "1e-07"),
        (-math.inf, ".2f", "-inf"),
        (0.125, ".0%", "12%"),
        (3, ".4f", "3"),
        (1200, ",.0f", "1,200"),
        (1200.0, ",.0f", "1,200"),
        (2, "+.3f", "+2"),
        (0, "+d", "0"),
    ],
)
def test_a_number_has_no_minus_zero_and_no_sign_where_it_rounds_to_zero(
    value: float, spec: str, text: str
) -> None:
    assert Column("n", format=spec).text(value) == text


def test_csv_reads_back_exactly() -> None:
    (head, *rows) = csv.reader(rendered_all([TABLE], "csv").splitlines(keepends=True))
    assert head == TABLE.keys
    assert rows[0] == ["a_b & 50%", "0.123456", "x | y\nz"]
    assert rows[3][1] == ""
    frame = pd.read_csv(
        io.StringIO(rendered_all([SCORES], "csv")), keep_default_na=False, na_values=[""]
    )
    pd.testing.assert_frame_equal(frame, SCORES.frame())


def test_json_reads_back_exactly_and_what_is_undefined_is_null() -> None:
    assert json.loads(rendered_all([SCORES], "json")) == SCORES.as_json()
    lines = rendered_all([TABLE], "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == TABLE.as_json()


def test_latex_escapes_what_is_special_to_it() -> None:
    text = rendered_all([TABLE], "latex")
    assert r"a\_b \& 50\% & 0.1235 & x | y z \\" in text
    assert r"{}[c] & 0.0000 & *d* <e> \textbackslash{}f \\" in text
    assert text.startswith("\\begin{tabular}{lrr}\n")


def test_markdown_escapes_what_is_special_to_it() -> None:
    lines = rendered_all([TABLE], "markdown").splitlines()
    assert lines[1] == "| --- | ---: | ---: |"
    assert lines[2] == r"| a_b & 50% | 0.1235 | x \| y z |"
    assert lines[3] == r"| [c] | 0.0000 | \*d\* \<e> \\f |"
    assert lines[4] == r"| \_g\_ | - | é |"


@pytest.mark.parametrize("table", [TABLE, SCORES], ids=lambda table: table.name)
def test_markdown_reads_back_as_the_table_that_people_see(table: Table) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(rendered_all([table], "markdown"))
    cells = [_plain(token.children or []) for token in tokens if token.type == "inline"]
    texts = [cell for row in [table.titles, *table.texts()] for cell in row]
    assert cells == texts


def _plain(tokens: list) -> str:
    assert {token.type for token in tokens} <= {"text", "text_special"}
    return "".join(token.content for token in tokens)


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in {"td", "th", "caption"}:
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts and data.strip():
            self.texts[-1] += data


def test_html_reads_back_as_the_table_that_people_see_with_nothing_in_it_run() -> None:
    hostile = Table("t", [Column("<b>")], [["<script>alert(1)</script> & 'x' \"y\""]], title="<i>")
    html = hostile._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    reader = _Cells()
    reader.feed(html)
    assert reader.texts == ["<i>", "<b>", "<script>alert(1)</script> & 'x' \"y\""]


TEXTS = [name for name, form in FORMS.items() if not form.in_bytes]


@pytest.mark.parametrize("form", TEXTS)
def test_a_small_negative_number_is_no_negative_zero_for_people(form: str) -> None:
    assert "-0.0000 " not in rendered_all([TABLE], form)


@pytest.mark.parametrize("form", TEXTS)
def test_a_row_is_one_line_in_all_but_csv(form: str) -> None:
    extra = {"latex": 6, "markdown": 2, "table": 1, "csv": 2, "html": 7}.get(form, 0)
    assert len(rendered_all([TABLE], form).splitlines()) == len(TABLE.rows) + extra


@pytest.mark.parametrize("form", TEXTS)
def test_nothing_that_drives_a_terminal_is_sent_by_a_form_for_people(form: str) -> None:
    if FORMS[form].for_people:
        assert "\x1b" not in rendered_all([TABLE], form)


@pytest.mark.parametrize("form", TEXTS)
def test_a_table_without_rows_keeps_its_header(form: str) -> None:
    empty = Table("t", SCORES.columns, [])
    text = rendered_all([empty], form)
    assert text.endswith("\n") or form == "jsonl"
    assert ("nDCG@10 low" in text) == (form == "csv")


def test_sentences_stand_between_tables_where_a_form_has_room_for_them() -> None:
    one = Table("t", [Column("n")], [[1]], title="above", note="below")
    assert rendered_all(["a *b*", one]) == "a *b*\n\nabove\nn\n1\nbelow\n"
    assert rendered_all(["a *b*", one], "markdown").startswith("a \\*b\\*\n\nabove\n\n| n |")
    assert rendered_all(["a *b*", one], "csv") == "n\n1\n"
    assert rendered_all(["a *b*", one], "latex").startswith("% above\n\\begin{tabular}")


def test_an_unknown_form_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(Misuse, match="no format 'xml'; known: table, csv, json"):
        rendered_all([TABLE], "xml")


def test_the_type_of_a_form_names_every_form() -> None:
    assert get_args(FormName) == tuple(FORMS)


def test_a_workbook_and_parquet_hold_what_csv_holds(tmp_path: Path) -> None:
    rows = [list(row) for row in SCORES.values()]
    sheet = tmp_path / "a.xlsx"
    sheet.write_bytes(in_bytes("xlsx"))
    read = rows_of_workbook(sheet)
    assert list(read.columns) == SCORES.keys
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    assert [[*row.values()] for _, row in read.rows] == cells
    frame = pd.read_parquet(io.BytesIO(in_bytes("parquet")))
    assert list(frame.columns) == SCORES.keys
    assert len(frame) == len(rows)
    with pytest.raises(Misuse, match="write it to a file"):
        rendered_all([SCORES], "xlsx")


def in_bytes(form: FormName) -> bytes:
    write = FORMS[form].in_bytes
    assert write is not None
    return write(SCORES)
