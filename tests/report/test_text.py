"""Text that fits a terminal: words give way, numbers never do."""

import pytest
from every_row import every_row

from labeler.report.neutral import cut, one_line, width_of
from labeler.report.render import rendered_all
from labeler.report.table import Column, Interval, Table

QUERIES = Table(
    "queries",
    [
        Column("run", align="left"),
        Column("query", align="left"),
        Column("nDCG@10", ends=".3f"),
        Column("p"),
    ],
    [
        [
            "bm25",
            "how do I read a file that is larger than memory",
            Interval(0.5, 0.25, 0.75),
            0.01,
        ],
        ["dense", "字" * 30, Interval(0.125, None, None), 0.5],
    ],
)


def widest(text: str) -> int:
    return max(map(width_of, text.splitlines()))


def test_without_a_width_a_table_is_as_wide_as_it_needs() -> None:
    lines = rendered_all([QUERIES]).splitlines()
    assert lines[1].endswith("larger than memory               0.5000 [0.250, 0.750]  0.0100")
    assert len({width_of(line) for line in lines}) == 1


@every_row("width", range(54, 101))
def test_where_words_can_give_way_a_table_fits_and_every_number_is_whole(width: int) -> None:
    text = rendered_all([QUERIES], width=width)
    assert widest(text) <= width
    assert "0.5000 [0.250, 0.750]  0.0100" in text
    assert text.count("\n") == 3


def test_where_they_cannot_an_interval_stands_below_its_value() -> None:
    lines = rendered_all([QUERIES], width=50).splitlines()
    assert [line.split()[-2:] for line in lines[1:3]] == [
        ["0.5000", "0.0100"],
        ["[0.250,", "0.750]"],
    ]
    assert max(map(width_of, lines)) <= 50
    assert len(lines) == 4


@pytest.mark.parametrize("width", [31, 36])
def test_columns_for_which_there_is_no_room_stand_in_another_table(width: int) -> None:
    first, second = rendered_all([QUERIES], width=width).split("\n\n")
    assert [block.splitlines()[0].split()[0] for block in (first, second)] == ["run", "run"]
    assert "nDCG@10" in second
    assert widest(f"{first}\n{second}") <= width


@pytest.mark.parametrize("width", [36, 42, 50])
def test_in_each_table_of_one_that_is_too_wide_the_rows_can_be_told_apart(width: int) -> None:
    columns = [Column("run", align="left"), Column("measure", align="left")]
    columns += [Column(name) for name in ("by people", "by the assessor", "corrected", "lambda")]
    rows = [[run, m, 0.5, 0.25, 0.75, 0.0] for run in ("bm25", "dense") for m in ("AP", "RR")]
    blocks = (
        rendered_all([Table("scores", columns, rows)], "table", width=width).strip().split("\n\n")
    )
    assert len(blocks) > 1
    for block in blocks:
        names = [line.split()[:2] for line in block.splitlines()[-4:]]
        assert names == [["bm25", "AP"], ["bm25", "RR"], ["dense", "AP"], ["dense", "RR"]]


def test_a_column_of_words_is_cut_to_its_widest_in_the_text_form_alone() -> None:
    table = Table("t", [Column("text", align="left", widest=5)], [["abcdefgh"]])
    assert rendered_all([table]) == "text\nabcd…\n"
    assert "abcdefgh" in rendered_all([table], "markdown")


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("字字字", 6, "字字字"),
        ("字字字", 5, "字字…"),
        ("字字字", 4, "字…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
    ],
)
def test_text_is_cut_by_the_columns_that_it_takes(text: str, width: int, expected: str) -> None:
    assert cut(text, width) == expected
    assert width_of(cut(text, width)) <= width


def test_one_line_shows_what_would_drive_a_terminal() -> None:
    assert one_line("a\n b\x1b[2J\u202e", 40) == "a b\\x1b[2J\\u202e"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_what_names_a_row_and_what_must_be_copied_is_whole_at_any_width(width: int) -> None:
    name, identifier = "path/to/what-names-the-row", "docs/a-long-page.md#0123456789abcdef"
    columns = [
        Column("name", align="left"),
        Column("doc_id", align="left", widest=None),
        Column("text", align="left"),
    ]
    text = rendered_all([Table("t", columns, [[name, identifier, "words " * 20]])], width=width)
    assert name in text
    assert identifier in text
    assert "words …" in text or "words w" in text
