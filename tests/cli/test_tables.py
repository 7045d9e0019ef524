"""Tables in the formats that people paste: each reads back, and holds no markup by accident."""

import csv
import json

import pytest

from labeler.cli.tables import FORMATS, rendered

HEADER = ["run", "nDCG@10", "text"]
ROWS: list[list[str | int | float | None]] = [
    ["a_b & 50%", 0.123456, "x | y\nz"],
    ["[c]", -0.00001, "*d* <e> \\f"],
    ["_g_", None, "é"],
]


def test_csv_and_json_read_back_exactly() -> None:
    (head, *rows) = csv.reader(rendered(HEADER, ROWS, "csv").splitlines(keepends=True))
    assert head == HEADER
    assert rows[0] == ["a_b & 50%", "0.123456", "x | y\nz"]
    wanted = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    assert json.loads(rendered(HEADER, ROWS, "json")) == wanted
    lines = rendered(HEADER, ROWS, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == wanted


def test_latex_escapes_what_is_special_to_it() -> None:
    text = rendered(HEADER, ROWS, "latex")
    assert r"a\_b \& 50\% & 0.1235 & x | y z \\" in text
    assert r"{}[c] & 0.0000 & *d* <e> \textbackslash{}f \\" in text


def test_markdown_escapes_what_is_special_to_it() -> None:
    lines = rendered(HEADER, ROWS, "markdown").splitlines()
    assert lines[1] == "| --- | ---: | ---: |"
    assert lines[2] == r"| a_b & 50% | 0.1235 | x \| y z |"
    assert lines[3] == r"| [c] | 0.0000 | \*d\* \<e> \\f |"
    assert lines[4] == r"| \_g\_ | - | é |"


@pytest.mark.parametrize("form", FORMATS)
def test_a_small_negative_number_is_no_negative_zero_for_people(form: str) -> None:
    assert "-0.0000 " not in rendered(HEADER, ROWS, form)


@pytest.mark.parametrize("form", FORMATS)
def test_a_row_is_one_line_in_all_but_csv(form: str) -> None:
    extra = {"latex": 6, "markdown": 2, "table": 1, "csv": 2, "jsonl": 0, "json": 0}[form]
    assert len(rendered(HEADER, ROWS, form).splitlines()) == len(ROWS) + extra
