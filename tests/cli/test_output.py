"""Where results go and how findings are worded: in the options of the command that prints them."""

from pathlib import Path

import pytest
import typer

from labeler.cli.options import Destination, unfolded
from labeler.cli.output import show, warn
from labeler.collection.user_files import Output
from labeler.options import option
from labeler.report.finding import Finding, Setting
from labeler.report.table import Column, Table

SETTINGS = (Setting("missing", "skip"), Setting("map_other", {1: 0}), Setting("depth", 3))
FOUND = Finding(" · ".join(map(str, SETTINGS)), settings=SETTINGS)
TABLE = Table("t", [Column("n"), Column("words", align="left")], [[1, "many words " * 20]])


def test_a_finding_names_the_options_of_the_command_that_prints_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def command(missing: str = option("zero", "What counts.", flags="-q --missing")) -> None:
        warn([FOUND, Finding("by hand", level="note")], {"map_other": "--map other:"})

    app = typer.Typer(add_completion=False)
    app.command()(unfolded(command))
    app([], standalone_mode=False)
    assert capsys.readouterr().err == (
        "warning: --missing skip · --map other:1=0 · depth=3\nby hand\n"
    )


def test_a_result_for_programs_is_one_table_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show(["a sentence", TABLE, TABLE], Destination("csv"))
    assert capsys.readouterr().out.count("n,words") == 1
    show(["a sentence", TABLE], Destination("table", Output(tmp_path / "out.txt")))
    written = (tmp_path / "out.txt").read_text()
    assert written.startswith("a sentence\n\nn  words\n1  many")
    assert len(written.splitlines()[-1]) > 200
