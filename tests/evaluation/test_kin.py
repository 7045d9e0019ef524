"""What an assessor does to systems' scores, who is kin to it, and whether that favors them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import labeler
from labeler.cli import execute
from labeler.data import Qrels, Run
from labeler.evaluation.inputs import Kin, kin_of
from labeler.trec.write import write_qrels, write_run


def many_runs() -> tuple[Qrels, Qrels, dict[str, Run]]:
    """Ten systems of unequal worth; the assessor grades two of them up."""
    rng = np.random.default_rng(2)
    people: Qrels = {
        f"q{q:02}": {f"d{d:02}": int(rng.integers(0, 3)) for d in range(30)} for q in range(40)
    }
    runs: dict[str, Run] = {}
    for number in range(10):
        name = {0: "rank_zephyr", 1: "codestral-rerank"}.get(number, f"run{number}")
        runs[name] = {
            q: {d: g + float(rng.normal(0, 0.6 + 0.2 * number)) for d, g in row.items()}
            for q, row in people.items()
        }
    raised = {
        q: {
            d
            for name in ("rank_zephyr", "codestral-rerank")
            for d in sorted(runs[name][q], key=runs[name][q].__getitem__)[-6:]
        }
        for q in people
    }
    assessor = {
        q: {d: 3 if d in raised[q] else max(g, int(rng.random() < 0.3)) for d, g in row.items()}
        for q, row in people.items()
    }
    return people, assessor, runs


def test_a_system_akin_to_two_models_by_two_families_has_one_sentence() -> None:
    kin = kin_of(
        ["bm25-gpt-hybrid", "x"],
        {"x": "claude"},
        {"assessor": "similarity", "query writer": "gpt-4o"},
    )
    assert kin == [
        Kin(
            "bm25-gpt-hybrid",
            ("BM25", "GPT"),
            (("assessor", "similarity"), ("query writer", "gpt-4o")),
        )
    ]
    expected = "the assessor similarity and the query writer gpt-4o are all BM25 and GPT"
    assert str(kin[0]) == f"bm25-gpt-hybrid and {expected}"


@pytest.fixture
def coll(tmp_path: Path) -> Path:
    """A collection whose card alone says that `llm` is of the embedded judge."""
    people, assessor, runs = many_runs()
    folder = tmp_path / "coll"
    for name, qrels in (("human", people), ("llm", assessor)):
        write_qrels(folder / f"qrels/{name}.qrels", qrels)
    for name, run in runs.items():
        write_run(folder / f"runs/{name}.trec", run, "bm25" if name == "run2" else "t")
    model = "similarity [0.3*terms; 0.38, 0.69, 0.8] wordllama-0.4"
    card = {"judge": {"llm": {"model": model, "served": ["similarity"]}}}
    (folder / "card.json").write_text(json.dumps(card))
    return folder


NOT_FOR_DECISIONS = "such grades are for trying the tool, not for decisions"


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "{coll}", "--qrels", "llm"],
        ["evaluate", "{coll}/qrels/llm.qrels", "{coll}/runs"],
        ["lab", "leaderboard", "{coll}", "human", "llm"],
        ["lab", "leaderboard", "{coll}/qrels/human.qrels", "{coll}/qrels/llm.qrels", "{coll}/runs"],
        ["power", "{coll}", "llm"],
        ["agree", "{coll}", "human", "llm"],
        ["agree", "{coll}/qrels/human.qrels", "{coll}/qrels/llm.qrels"],
        ["correct", "{coll}/qrels/human.qrels", "{coll}/qrels/llm.qrels", "{coll}/runs"],
    ],
)
def test_what_embedded_grades_are_worth_stands_beside_every_figure_once(
    coll: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert execute([word.format(coll=coll) for word in command]) == 0
    said = capsys.readouterr().err
    assert said.count(NOT_FOR_DECISIONS) == 1


def test_a_file_named_from_within_its_folder_is_known_too(
    coll: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(coll / "qrels")
    assert execute(["evaluate", "llm.qrels", "../runs"]) == 0
    said = capsys.readouterr().err
    assert NOT_FOR_DECISIONS in said
    assert "circular: run2 and the assessor similarity are both BM25" in said
    assert execute(["evaluate", "human.qrels", "../runs"]) == 0
    assert "circular" not in capsys.readouterr().err


def test_grades_of_kin_are_not_proposed_for_holes(coll: Path) -> None:
    path = coll / "qrels/human.qrels"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[::3]))
    card = coll / "card.json"
    for what in ("similarity", "gpt-4o"):
        card.write_text(card.read_text().replace("similarity", what))
        doubts = [
            str(each.doubt) for each in labeler.evaluate(path, coll / "runs", "P@2").comparisons
        ]
        named = [text for text in doubts if "run2" in text]
        assert named
        assert all(("--fill llm" in text) == (what == "gpt-4o") for text in named)


def test_kin_of_a_model_are_named_where_its_grades_score_them(
    coll: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(coll / "qrels/llm.qrels", tmp_path / "mistral-large.qrels")
    human = str(coll / "qrels/human.qrels")
    qrels, runs = str(tmp_path / "mistral-large.qrels"), str(coll / "runs")
    assert execute(["evaluate", qrels, runs]) == 0
    said = capsys.readouterr().err
    both = "codestral-rerank (Mistral) and rank_zephyr (Mistral) are kin to the assessor"
    assert f"circular: {both} mistral-large; whether that favors them" in said
    assert execute(["lab", "leaderboard", human, qrels, runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(f"circular: {both}" in line for line in found["warnings"]) == 1
    assert execute(["evaluate", human, runs]) == 0
    assert "circular" not in capsys.readouterr().err
