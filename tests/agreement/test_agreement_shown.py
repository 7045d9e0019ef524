"""What is shown of an agreement: the same tables in a notebook, in a paper and in a terminal."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from labeler.agreement.agree import AgreeOptions, agree
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.shown import (
    confusion_table,
    joint_parts,
    report_parts,
    statistics_table,
    summary,
)
from labeler.report.render import rendered_all
from labeler.report.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

from simulate_assessors import false_closer

HUMAN = {f"q{q}": {f"d{d}": (q + d) % 3 for d in range(8)} for q in range(6)}
LLM = {q: {d: min(g + (d == "d1"), 2) for d, g in row.items()} for q, row in HUMAN.items()}
OTHER = {q: {d: max(g - (d == "d2"), 0) for d, g in row.items()} for q, row in HUMAN.items()}
OPTIONS = AgreeOptions(statistics=StatisticOptions(("kappa", "bias"), draws=100))
RESULT = agree(HUMAN, LLM, OTHER, options=OPTIONS)


def test_sentences_come_first_and_every_table_is_there_in_every_form() -> None:
    parts = list(report_parts(RESULT.assessors[0], {"q1": "what is it?"}, details=True))
    tables = [part for part in parts if isinstance(part, Table)]
    assert isinstance(parts[0], str)
    names = [table.name for table in tables]
    assert names == ["statistics", "confusion", "queries", "queries"]
    text = rendered_all(parts)
    assert text.startswith("human and assessor 1: 48 pairs of 6 queries that both graded\n")
    assert "q1 what is it?" in text
    assert rendered_all(parts, "latex").count(r"\begin{tabular}") == len(tables)
    assert "q1" in tables[-1].frame()["query_id"].tolist()


def test_the_statistics_are_numbers_for_programs_and_intervals_for_people() -> None:
    table = statistics_table(RESULT.assessors[0].agreement)
    assert table.keys == ["statistic", "value", "low", "high"]
    assert table.titles == ["statistic", "value", "95 % interval"]
    assert table.frame().loc[0, "value"] == RESULT.frame().loc[0, "value"]


def test_the_matrix_has_counts_for_programs_and_shares_of_rows_for_people() -> None:
    table = confusion_table(replace(RESULT.assessors[0], assessor="llm", grade_names={2: "best"}))
    assert table.keys == ["grade", "0", "1", "2", "3", "all"]
    assert [record["all"] for record in table.as_json()] == [16, 16, 16, 0]
    assert rendered_all([table]).splitlines()[0].split() == ["human", "\\", "llm", *"0123", "all"]
    assert "2 best" in rendered_all([table])
    assert "(100%)" in rendered_all([table])


def test_several_assessors_stand_beside_one_another_at_the_end() -> None:
    result = agree(HUMAN, LLM, OTHER, more_humans={"ben": OTHER}, options=OPTIONS)
    names = [part.name for part in joint_parts(result.assessors) if isinstance(part, Table)]
    assert names == ["differences", "joint"]


def test_a_notebook_shows_the_statistics_and_every_finding_once() -> None:
    html = RESULT._repr_html_()
    assert html.startswith("<table>")
    assert html.count("only 6 queries") == 1


def test_an_interval_is_said_to_be_of_all_queries_like_these_not_of_the_next_few() -> None:
    text = "\n".join(summary(RESULT.assessors[0]))
    assert "; over all queries like these " in text
    assert ", at 95 %)" in text
    assert "other queries" not in text


@pytest.mark.sweep
def test_of_two_equal_assessors_few_are_told_apart_by_any_of_many_statistics() -> None:
    """Looked at one by one, some interval of 95 % leaves 0 out more often than once in 20."""
    alone, together = false_closer(25, 12, ["kappa", "kappa>=3", "mae", "bias"])
    assert together <= alone
    assert together < 0.2


@pytest.mark.slow
def test_two_equal_assessors_are_told_apart_as_rarely_as_said() -> None:
    alone, together = false_closer(25, 300)
    assert together <= 0.055 + 2 * 0.0135
    assert alone > together
