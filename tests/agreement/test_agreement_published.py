"""Published agreement of LLM assessors with NIST's people, to the printed digits."""

import csv
import json
from pathlib import Path

import pytest

from labeler.agreement.align import AssessorLabels, Rules
from labeler.agreement.compare import Agreement, StatisticOptions, compare_labels
from labeler.cli import execute
from labeler.trec.files import read_qrels
from labeler.trec.labels import read_labels

COLUMNS = {
    "kappa": "kappa",
    "alpha": "alpha-ordinal",
    "k_0_123": "kappa>=1",
    "k_01_23": "kappa>=2",
    "k_012_3": "kappa>=3",
    "a_0_123": "alpha>=1",
    "a_01_23": "alpha>=2",
    "a_012_3": "alpha>=3",
}


def agreement(people: Path, other: Path, options: StatisticOptions) -> Agreement:
    found = read_labels(other)
    return compare_labels(
        read_qrels(people), AssessorLabels(found.labels, found.failures), Rules(), options
    )


def test_the_tables_of_llmjudge_are_reproduced(shared: Path) -> None:
    """arXiv 2502.13908, tables 3 to 5: 22 submissions, eight figures each, four decimals."""
    folder = shared / "llmjudge"
    with (folder / "published.tsv").open() as rows:
        published = list(csv.DictReader(rows, delimiter="\t"))
    assert len(published) == 22
    for row in published:
        path = folder / "labels" / f"{row['submission']}.txt"
        found = agreement(
            folder / "human.qrels", path, StatisticOptions(tuple(COLUMNS.values()), draws=100)
        )
        for column, name in COLUMNS.items():
            ours = found.statistics[name].value
            assert ours == pytest.approx(float(row[column]), abs=5.1e-5), (row["submission"], name)


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        ("gpt-4o", (0.338, 0.596, 0.533, 0.522, 0.600)),
        ("llama-3.1-8b", (0.167, 0.318, 0.254, 0.297, 0.252)),
    ],
)
def test_dl19_agrees_with_its_readme(shared: Path, judge: str, expected: tuple[float]) -> None:
    names = ("kappa", "kappa-quadratic", "kappa>=1", "kappa>=2", "alpha-ordinal")
    folder = shared / "dl19"
    found = agreement(
        folder / "nist.qrels", folder / f"{judge}.qrels", StatisticOptions(names, draws=100)
    )
    for name, figure in zip(names, expected, strict=True):
        assert found.statistics[name].value == pytest.approx(figure, abs=5.1e-4)


def test_pairs_of_one_query_are_not_independent(shared: Path) -> None:
    """What others print, from .267 to .308, takes them for independent."""
    folder = shared / "llmjudge"
    path = folder / "labels" / "willia-umbrela1.txt"
    found = agreement(folder / "human.qrels", path, StatisticOptions(("kappa",)))
    kappa = found.statistics["kappa"]
    assert (kappa.low, kappa.high) == pytest.approx((0.126, 0.409), abs=0.01)


@pytest.mark.sweep
def test_the_command_prints_the_same_as_json(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    files = [str(folder / f"{name}.qrels") for name in ("nist", "gpt-4o", "llama-3.1-8b")]
    assert execute(["agree", *files[:2], "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert set(one) == {
        "pairs",
        "queries",
        "left_out",
        "stale",
        "statistics",
        "confusion",
        "scale",
        "leaderboard",
        "next_set",
        "warnings",
    }
    assert (one["pairs"], one["queries"], one["scale"]) == (9260, 43, [0, 1, 2, 3])
    assert set(one["statistics"]["kappa"]) == {"value", "low", "high"}
    assert sum(map(sum, one["confusion"])) == 9260
    assert execute(["agree", *files, "--json"]) == 0
    several = json.loads(capsys.readouterr().out)
    assert [row["other"] for row in several] == files[1:]
    assert several[0]["statistics"]["kappa"] == one["statistics"]["kappa"]
